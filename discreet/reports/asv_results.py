"""Results that asv wrote, as plain records: one benchmark at one point of its grid on one commit.

asv 0.6 keeps one JSON file for each commit and environment, under a folder for each machine. Values are flat lists over the
grid of parameters, the last parameter running fastest. NaN is a skip, null a failure or a timeout; they stay distinct here.
The files hold absolute paths of the machine (the interpreter): nothing of them gets into a record.

Source: asv 0.6.6, `asv.results.Results` (api version 2); read here from the format itself, so that asv need not be there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, Literal

from discreet.problems.errors import FileError

__all__ = ["AsvRecord", "read_asv"]

_Point = tuple[tuple[tuple[str, str], ...], float | None, float, float]

_VERSION = 2
_NO_RESULTS = frozenset({"machine.json", "benchmarks.json"})


@dataclass(frozen=True)
class AsvRecord:
    """One value. `value` is nan unless `outcome` is "measured"; low, high are its quartiles (nan where asv kept none).

    benchmark    dotted name, as `asv run --bench` takes it
    parameters   name -> value as asv prints it; names are param1, … where benchmarks.json is missing
    unit         seconds, bytes, …; empty where benchmarks.json is missing
    date         of the commit, UTC, ISO 8601
    """

    benchmark: str
    parameters: tuple[tuple[str, str], ...]
    commit: str
    date: str
    machine: str
    outcome: Literal["measured", "skipped", "failed"]
    value: float
    low: float
    high: float
    unit: str


def read_asv(folder: str | Path) -> tuple[AsvRecord, ...]:
    """Every record under a `results_dir` of asv, by benchmark, date, commit and parameters.

    Raises FileError, naming the file, where one is damaged or of another version, and where there are no results at all.
    """
    root = Path(folder)
    if not root.is_dir():
        raise FileError(f"{root} is not a folder; give the results_dir of asv.conf.json, which asv run fills")
    paths = [path for path in sorted(root.glob("*/*.json")) if path.name not in _NO_RESULTS]
    if not paths:
        raise FileError(f"{root} holds no results of asv; run asv run --set-commit-hash first, which saves them")
    about = _json(root / "benchmarks.json") if (root / "benchmarks.json").exists() else {}
    records = [record for path in paths for record in _records(path, about)]
    return tuple(sorted(records, key=lambda r: (r.benchmark, r.date, r.commit, r.machine, r.parameters)))


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"cannot read {path}: {error}; remove the file, or restore it from asv") from None
    if not isinstance(found, dict):
        raise FileError(f"cannot read {path}: it holds no mapping; remove the file, or restore it from asv")
    return found


def _records(path: Path, about: dict[str, Any]) -> Iterator[AsvRecord]:
    held = _json(path)
    if held.get("version") != _VERSION:
        raise FileError(
            f"{path} is of version {held.get('version')!r} of asv's format and {_VERSION} is read; run asv update"
        )
    try:
        columns = held["result_columns"]
        date = datetime.fromtimestamp(held["date"] / 1000.0, UTC).isoformat(timespec="seconds")
        for name, cells in held["results"].items():
            known = about.get(name, {})
            row = dict(zip(columns, cells, strict=False))
            for parameters, value, low, high in _points(row, known.get("param_names", [])):
                yield AsvRecord(
                    name, parameters, str(held["commit_hash"]), date, path.parent.name, _outcome(value),
                    value if value is not None else math.nan, low, high, str(known.get("unit", "")),
                )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
        raise FileError(f"{path} is damaged ({type(error).__name__}: {error}); remove it and run asv run again") from None


def _points(
    row: dict[str, Any], names: list[str]
) -> Iterator[tuple[tuple[tuple[str, str], ...], float | None, float, float]]:
    grid = list(product(*(row["params"] or [])))
    values = row["result"] if row["result"] is not None else [None] * len(grid)
    if len(values) != len(grid):
        raise ValueError(f"{len(values)} values for a grid of {len(grid)} points")
    lows, highs = (_spread(row.get(f"stats_q_{quarter}"), len(grid)) for quarter in (25, 75))
    for place, value, low, high in zip(grid, values, lows, highs, strict=True):
        labels = names if len(names) == len(place) else [f"param{k + 1}" for k in range(len(place))]
        words = tuple((label, str(word).strip("'\"")) for label, word in zip(labels, place, strict=True))
        yield words, None if value is None else float(value), low, high


def _spread(values: list[float | None] | None, size: int) -> list[float]:
    if values is None:
        return [math.nan] * size
    if len(values) != size:
        raise ValueError(f"{len(values)} quartiles for a grid of {size} points")
    return [math.nan if value is None else float(value) for value in values]


def _outcome(value: float | None) -> Literal["measured", "skipped", "failed"]:
    if value is None:
        return "failed"
    return "skipped" if math.isnan(value) else "measured"
