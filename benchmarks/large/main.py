"""The command line. Every case has a process of its own, so that its first run shows what compiling
costs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from large.cases import CASES, Setting
from large.child import case_rows, leave
from large.machine import described
from large.measure import Memory
from large.report import head_with, read, write
from large.table import Row, Target

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[2]
_LIMIT_SECONDS = 3600.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the report; 1 when a target is missed, 0 otherwise."""
    asked = _parser().parse_args(arguments)
    if asked.child:
        return _child(asked)
    chosen = [
        case
        for case in CASES
        if _wanted(case.name, asked.only) and not (case.slow and asked.no_peers)
    ]
    if asked.list:
        print("\n".join(case.name for case in chosen))
        return 0
    if not chosen:
        print(
            f"no row is called {' or '.join(asked.only)}; --list prints the names",
            file=sys.stderr,
        )
        return 2
    out = Path(asked.out)
    rows = list[Row]()
    started = time.time()
    head = ""
    if asked.add:
        try:
            head = head_with(out, described(), started, asked.only, quick=asked.quick)
        except (OSError, ValueError) as error:
            print(error, file=sys.stderr)
            return 2
    more = ["--quick"] if asked.quick else []
    more += ["--scratch", asked.scratch] if asked.scratch else []
    for case in chosen:
        found = case_rows("large_scale.py", case.name, more, _LIMIT_SECONDS)
        rows += found
        for row in found:
            print(f"{case.name:32} {_said(row)}", flush=True)
    _compare(rows)
    for case in chosen:
        for row in rows:
            if row.case == case.name and case.target is not None:
                _judge(row, case.target, quick=asked.quick)
    if asked.add:
        names = [case.name for case in CASES]
        again = {row.case for row in rows}
        rows = sorted(
            [*(row for row in read(out) if row.case not in again), *rows],
            key=lambda row: names.index(row.case),
        )
    write(out, rows, described(), started, quick=asked.quick, head=head)
    return 1 if any(row.missed for row in rows) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="What large problems cost, measured.")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes, a minute or two: to see that everything runs",
    )
    parser.add_argument(
        "--no-peers", action="store_true", help="leave out the references that take minutes"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="rows whose names begin so; repeatable",
    )
    parser.add_argument(
        "--add",
        action="store_true",
        help="put the rows into the report that is there, and keep its others",
    )
    parser.add_argument(
        "--out",
        default=str(_ROOT / "reports" / "large-scale"),
        help="the report, without its ending",
    )
    parser.add_argument(
        "--scratch",
        metavar="FOLDER",
        help="where a file of 6.4 GB may be made (default: temporary folder)",
    )
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--result", help=argparse.SUPPRESS)
    return parser


def _wanted(name: str, only: Sequence[str]) -> bool:
    return not only or any(name.startswith(start) for start in only)


def _child(asked: argparse.Namespace) -> int:
    """Run one case and leave its rows."""
    case = next(case for case in CASES if case.name == asked.child)
    if not case.numba:
        sys.modules["numba"] = None  # type: ignore[assignment]  # importing it now fails, as where it is not installed
    memory = Memory()
    rows = case.run(Setting(asked.quick, Path(asked.scratch) if asked.scratch else None))
    peaks = memory.peaks()
    leave((replace(row, case=case.name, **peaks) for row in rows), asked.result)
    return 0


def _compare(rows: list[Row]) -> None:
    """Add the seconds of every `…/reference` to the rows of its case, in their order."""
    for name in {row.case for row in rows if not row.case.endswith("/reference")}:
        own = [row for row in rows if row.case == name]
        others = [row for row in rows if row.case == f"{name}/reference"]
        for row, other in zip(own, others, strict=False):
            row.reference = other.work
            row.reference_seconds = other.seconds


def _judge(row: Row, target: Target, *, quick: bool) -> None:
    """Small sizes prove nothing, and a ratio needs its reference."""
    row.target = target.words
    row.judged = not quick and (
        target.faster is None or row.reference_seconds is not None or row.seconds is None
    )
    row.missed = target.missed(row) if row.judged else []


def _said(row: Row) -> str:
    if row.seconds is None:
        return f"{row.work}: {row.status} {row.note}"
    gap = "" if row.gap is None else f", gap {row.gap:.1e}"
    return f"{row.work}, N = {row.outcomes:,}: {row.seconds:.4g} s, {row.status}{gap}"
