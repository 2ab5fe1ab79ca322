"""Results of asv over commits: reads them as plain records, and makes a figure, a table and a CSV of them.

A record is one benchmark at one point of its grid on one commit. A line of the picture is one benchmark at one point of its
grid on one machine, measured on two commits or more. The table has the oldest and the newest value of every line; ratios to
a target (their unit begins with ×) that are at most 1 on every commit are only counted.

asv 0.6 keeps one JSON file for each commit and environment, under a folder for each machine. Values are flat lists over the
grid of parameters, the last parameter varying fastest. NaN is a skip, null a failure or a timeout; they stay distinct here.
The files hold absolute paths of the machine (the interpreter): nothing of them gets into a record.

Source: asv 0.6.6, `asv.results.Results` (api version 2); read here from the files themselves, so that asv need not be
installed.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, Literal

from discreet.problems.errors import FileError
from discreet.problems.files.texts import read_text
from discreet.reports import wording
from discreet.reports.figures import Figure, Series
from discreet.reports.outputs import csv_text, plain

_Outcome = Literal["measured", "skipped", "failed"]


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
    outcome: _Outcome
    value: float
    low: float
    high: float
    unit: str

    @property
    def place(self) -> str:
        """Its point of the grid in words."""
        return ", ".join(f"{name}={value}" for name, value in self.parameters)


def read_asv(folder: str | Path) -> tuple[AsvRecord, ...]:
    """Every record under a `results_dir` of asv, by benchmark, date, commit and parameters.

    Raises FileError, naming the file, where one is damaged or of another version, and where there are no results at all.
    """
    root = Path(folder)
    if not root.is_dir():
        raise FileError(f"{root} is not a folder; give the results_dir of asv.conf.json, which asv run fills")
    paths = [path for path in sorted(root.glob("*/*.json")) if path.name not in ("machine.json", "benchmarks.json")]
    if not paths:
        raise FileError(f"{root} holds no results of asv; run asv run --set-commit-hash first, which saves them")
    about = _json(root / "benchmarks.json") if (root / "benchmarks.json").exists() else {}
    records = [record for path in paths for record in _records(path, about)]
    return tuple(sorted(records, key=lambda r: (r.benchmark, r.date, r.commit, r.machine, r.parameters)))


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_text(path, 1 << 27))
    except FileError:
        raise
    except (ValueError, RecursionError) as error:
        raise FileError(f"cannot read {path}: {error}; remove the file, or restore it from asv") from None
    if not isinstance(found, dict):
        raise FileError(f"cannot read {path}: it holds no mapping; remove the file, or restore it from asv")
    return found


def _records(path: Path, about: dict[str, Any]) -> Iterator[AsvRecord]:
    held = _json(path)
    if held.get("version") != 2:
        raise FileError(f"{path} is of version {held.get('version')!r} of asv's format and 2 is read; run asv update")
    try:
        columns = held["result_columns"]
        date = datetime.fromtimestamp(held["date"] / 1000.0, UTC).isoformat(timespec="seconds")
        for name, cells in held["results"].items():
            known = about.get(name, {})
            row = dict(zip(columns, cells, strict=False))
            for parameters, numbers in _points(row, known.get("param_names", [])):
                value, low, high = (math.nan if number is None else float(number) for number in numbers)
                outcome: _Outcome = "failed" if numbers[0] is None else "skipped" if math.isnan(value) else "measured"
                yield AsvRecord(
                    name, parameters, str(held["commit_hash"]), date, path.parent.name, outcome,
                    value, low, high, str(known.get("unit", "")),
                )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
        raise FileError(f"{path} is damaged ({type(error).__name__}: {error}); remove it and run asv run again") from None


def _points(row: dict[str, Any], names: list[str]) -> Iterator[tuple[tuple[tuple[str, str], ...], list[float | None]]]:
    """The parameters of every point of the grid, with its value and quartiles; None for what there is not."""
    grid = list(product(*(row["params"] or [])))
    lists = (row["result"], row.get("stats_q_25"), row.get("stats_q_75"))
    columns = [[None] * len(grid) if values is None else values for values in lists]
    if short := next((values for values in columns if len(values) != len(grid)), None):
        raise ValueError(f"{len(short)} values for a grid of {len(grid)} points")
    for place, *numbers in zip(grid, *columns, strict=True):
        labels = names if len(names) == len(place) else [f"param{k + 1}" for k in range(len(place))]
        yield tuple((label, str(word).strip("'\"")) for label, word in zip(labels, place, strict=True)), numbers


# -- over commits -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Line:
    """One benchmark at one point of its grid; `values` has an entry for every commit that measured it."""

    label: str
    method: str
    unit: str
    values: dict[str, AsvRecord]

    @property
    def numbers(self) -> list[float]:
        """The values, oldest first."""
        return [record.value for record in self.values.values()]


def commits_figure(records: Sequence[AsvRecord]) -> Figure | None:
    """Seconds over commits of the lines that changed most, of the kind of time that was measured most; None without."""
    every = [line for line in _lines(records) if line.unit == "seconds"]
    if not every:
        return None
    kinds = Counter(line.method for line in every)
    method = min(kinds, key=lambda name: (-kinds[name], name))
    timed = [line for line in every if line.method == method]
    moved = sorted(timed, key=lambda line: (-max(line.numbers) / min(line.numbers), line.label))[:8]
    shown = [line for line in timed if line in moved]
    dates = {record.commit: record.date for record in records}
    order = sorted({commit for line in timed for commit in line.values}, key=lambda commit: (dates[commit], commit))
    place = {commit: k for k, commit in enumerate(order)}
    series = tuple(
        Series(
            line.label,
            tuple(float(place[commit]) for commit in line.values),
            tuple(line.numbers),
            "both",
            tone,
            hints=tuple(f"{line.label}, {commit[:8]}: {each.value:.3g} s" for commit, each in line.values.items()),
            owner=line.label,
        )
        for tone, line in enumerate(shown)
    )
    told = "; ".join(
        f"{line.label}: {wording.told(line.numbers[0])} s, then {wording.told(line.numbers[-1])} s" for line in shown
    )
    stride = math.ceil(len(order) / 6)
    return Figure(
        "commits",
        "Time over commits",
        f"the {len(shown)} of {len(timed)} lines that moved most, oldest commit first",
        "commit",
        f"seconds ({method})",
        series,
        f"Seconds on {len(order)} commits. {told}.",
        log_y=True,
        categories=tuple(commit[:7] if k % stride == 0 else "" for k, commit in enumerate(order)),
    )


def commits_section(records: Sequence[AsvRecord]) -> str:
    """The Markdown below the picture: the ends of every line; there are some records."""
    lines = _lines(records)
    if not lines:
        return "asv measured one commit only, so there is nothing to compare; [commits.csv](commits.csv) holds its values.\n"
    known = {record.commit: record.date for record in records if record.outcome == "measured"}
    days = sorted(date[:10] for date in known.values())
    machines = ", ".join(sorted({record.machine for record in records}))
    when = " … ".join(dict.fromkeys((days[0], days[-1])))
    kept = [line for line in lines if line.unit.startswith("×") and max(line.numbers) <= 1.0005]
    shown = [line for line in lines if line not in kept]
    ratios = (
        f" Left out are {len(kept)} ratios to a target (certified gap ÷ gap asked for, true leakage ÷ budget) that are at "
        "most 1 on every commit."
    )
    rows = [
        [f"{line.method}: {line.label}", line.unit, str(len(line.numbers)), wording.told(line.numbers[0]),
         wording.told(line.numbers[-1]), wording.number(line.numbers[0] / line.numbers[-1], 2)]
        for line in shown
    ]  # fmt: skip
    heads = ("benchmark", "unit", "commits", "oldest", "newest", "oldest ÷ newest")
    return (
        f"Results of asv on {len(known)} commits ({when}), measured on {machines}; all are in [commits.csv](commits.csv)."
        f"{ratios if kept else ''}\n\n{wording.markdown_table(heads, rows)}"
    )


def commits_csv(records: Sequence[AsvRecord]) -> str:
    """One line for every value; what was skipped has none."""
    columns = ("benchmark", "parameters", "commit", "date", "machine", "outcome", "value", "low", "high", "unit")
    lines = (
        (r.benchmark, r.place, r.commit[:12], r.date, r.machine, r.outcome, *plain((r.value, r.low, r.high)), r.unit)
        for r in records
        if r.outcome != "skipped"
    )
    return csv_text(columns, lines)


def _lines(records: Sequence[AsvRecord]) -> list[_Line]:
    """By kind of benchmark, the native solver first, sizes in the order of numbers."""
    several = len({record.machine for record in records}) > 1
    groups: dict[tuple[str, tuple[tuple[str, str], ...], str], dict[str, AsvRecord]] = {}
    for record in sorted(records, key=lambda each: (each.date, each.commit)):
        if record.outcome == "measured" and record.value > 0.0:
            groups.setdefault((record.benchmark, record.parameters, record.machine), {}).setdefault(record.commit, record)
    found = []
    for (benchmark, parameters, machine), values in groups.items():
        if len(values) > 1:
            label = _label(benchmark, parameters) + (f" on {machine}" if several else "")
            found.append(_Line(label, benchmark.rpartition(".")[2], next(iter(values.values())).unit, values))
    return sorted(found, key=lambda line: (line.method, not line.label.startswith("tilt,"), _natural(line.label)))


def _label(benchmark: str, parameters: Sequence[tuple[str, str]]) -> str:
    """conic, Bins 10000: the backend first, then suite and size; other benchmarks keep their own words."""
    suite = benchmark.split(".")[-2] if "." in benchmark else benchmark
    ends = ("Steps", "Answers", "Memory")  # they say nothing beside the benchmark's own name
    suite = next((suite.removesuffix(end) for end in ends if suite.endswith(end)), suite)
    who = [value for name, value in parameters if name == "backend"]
    rest = [value for name, value in parameters if name != "backend"]
    return ", ".join([*who, " ".join([suite, *rest])])


def _natural(label: str) -> list[tuple[str, float]]:
    return [("", float(word)) if word.isdigit() else (word, 0.0) for word in label.replace("=", " ").split()]
