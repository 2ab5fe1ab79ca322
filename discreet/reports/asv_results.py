"""Results of asv over commits, read as plain records, with a figure and a CSV file of them.

A record is one benchmark at one point of its parameter grid on one commit.

asv 0.6 keeps one JSON file for each commit and environment, in a folder for each machine. Values
are flat lists over the grid of parameters, with the last parameter varying fastest. NaN means
skipped, null a failure or a timeout; they remain distinct here. The files hold absolute paths of
the machine (the interpreter), which are not copied into a record.

Source: asv 0.6.6, `asv.results.Results` (api version 2); the files are read directly here, so that
asv need not be installed.
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

from discreet.errors import FileError
from discreet.reports.measurements import group_by
from discreet.showing import numerals
from discreet.showing.data import chosen, records_csv
from discreet.showing.figures import Figure, Series
from discreet.showing.values import OneOf, Part, Section, Table
from discreet.storage.texts import read_text

_Outcome = Literal["measured", "skipped", "failed"]


@dataclass(frozen=True)
class AsvRecord:
    """One value of a benchmark. `value` is nan unless `outcome` is "measured"; `low` and `high` are
    its quartiles (nan if asv kept none).

    benchmark    dotted name, as `asv run --bench` takes it
    parameters   dictionary from name to value as asv prints it; names are param1, … if
                 benchmarks.json is missing
    unit         seconds, bytes, …; empty if benchmarks.json is missing
    date         date of the commit, UTC, ISO 8601
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
        """Describe the point of the parameter grid."""
        return ", ".join(f"{name}={value}" for name, value in self.parameters)

    @property
    def method(self) -> str:
        """Return the kind of benchmark, which is the last part of its name."""
        return self.benchmark.rpartition(".")[2]

    @property
    def label(self) -> str:
        """Return the backend, then suite and size, such as conic, Bins 10000; other benchmarks keep
        their own names.
        """
        suite = self.benchmark.split(".")[-2] if "." in self.benchmark else self.benchmark
        # These add nothing to the benchmark's own name.
        for ending in ("Steps", "Answers", "Lowering", "Judging", "Memory"):
            suite = suite.removesuffix(ending)
        who = [value for name, value in self.parameters if name == "backend"]
        rest = [value for name, value in self.parameters if name != "backend"]
        return ", ".join([*who, " ".join([suite, *rest])])


def read_asv(folder: str | Path) -> tuple[AsvRecord, ...]:
    """Return every record under a `results_dir` of asv, by benchmark, date, commit and parameters.

    Raises FileError, naming the file, if a file is damaged or of another version, and if the folder
    contains no results.
    """
    root = Path(folder)
    if not root.is_dir():
        raise FileError(
            f"{root} is not a folder; give the results_dir of asv.conf.json, which asv run fills"
        )
    paths = [
        path
        for path in sorted(root.glob("*/*.json"))
        if path.name not in ("machine.json", "benchmarks.json")
    ]
    if not paths:
        raise FileError(
            f"{root} holds no results of asv; run asv run --set-commit-hash first, which saves them"
        )
    about = _json(root / "benchmarks.json") if (root / "benchmarks.json").exists() else {}
    records = [record for path in paths for record in _records(path, about)]
    return tuple(
        sorted(records, key=lambda r: (r.benchmark, r.date, r.commit, r.machine, r.parameters))
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_text(path, 1 << 27))
    except FileError:
        raise
    except (ValueError, RecursionError) as error:
        raise FileError(
            f"cannot read {path}: {error}; remove the file, or restore it from asv"
        ) from None
    if type(content) is not dict:
        raise FileError(
            f"cannot read {path}: it holds no mapping; remove the file, or restore it from asv"
        )
    return content


def _records(path: Path, about: dict[str, Any]) -> Iterator[AsvRecord]:
    held = _json(path)
    if held.get("version") != 2:
        raise FileError(
            f"{path} is of version {held.get('version')!r} of asv's format and 2 is "
            "read; run asv update"
        )
    try:
        columns = held["result_columns"]
        date = datetime.fromtimestamp(held["date"] / 1000.0, UTC).isoformat(timespec="seconds")
        for name, cells in held["results"].items():
            known = about.get(name, {})
            row = dict(zip(columns, cells, strict=False))
            for parameters, numbers in _points(row, known.get("param_names", [])):
                value, low, high = (
                    math.nan if number is None else float(number) for number in numbers
                )
                yield AsvRecord(
                    name, parameters, str(held["commit_hash"]), date, path.parent.name,
                    _outcome(numbers[0]), value, low, high, str(known.get("unit", "")),
                )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
        raise FileError(
            f"{path} is damaged ({type(error).__name__}: {error}); remove it and run asv run again"
        ) from None


def _outcome(number: float | None) -> _Outcome:
    if number is None:
        return "failed"
    return "skipped" if math.isnan(number) else "measured"


def _points(
    row: dict[str, Any], names: list[str]
) -> Iterator[tuple[tuple[tuple[str, str], ...], list[float | None]]]:
    """Yield the parameters of every point of the grid, with its value and quartiles; missing
    numbers are None.
    """
    grid = list(product(*(row["params"] or [])))
    lists = (row["result"], row.get("stats_q_25"), row.get("stats_q_75"))
    columns = [[None] * len(grid) if values is None else values for values in lists]
    if short := next((values for values in columns if len(values) != len(grid)), None):
        raise ValueError(f"{len(short)} values for a grid of {len(grid)} points")
    for place, *numbers in zip(grid, *columns, strict=True):
        labels = names if len(names) == len(place) else [f"param{k + 1}" for k in range(len(place))]
        yield (
            tuple(
                (label, str(word).strip("'\"")) for label, word in zip(labels, place, strict=True)
            ),
            numbers,
        )


# -- over commits ----------------------------------------------------------------------------------

_MOST_LINES = 8
"""Of the figure: those that changed most."""


def commits_figure(records: Sequence[AsvRecord]) -> Figure:
    """Draw the seconds over commits of the lines that changed most, for the most frequent kind of
    benchmark.

    A line is one benchmark at one point of its grid on one machine, measured on at least two
    commits.
    """
    dates = {record.commit: record.date for record in records}
    lines = _lines(records)
    kinds = Counter(record.method for record, *_ in lines.values())
    method = min(kinds, key=lambda name: (-kinds[name], name), default="")
    timed = {label: line for label, line in lines.items() if line[0].method == method}
    order = sorted(
        {each.commit for line in timed.values() for each in line},
        key=lambda each: (dates[each], each),
    )
    moved = sorted(timed, key=lambda label: (-_change(timed[label]), label))[:_MOST_LINES]
    shown = [label for label in timed if label in moved]
    series = []
    sentences = []
    for tone, label in enumerate(shown):
        line = timed[label]
        values = tuple(each.value for each in line)
        places = tuple(float(order.index(each.commit)) for each in line)
        hints = tuple(f"{label}, {each.commit[:8]}: {each.value:.3g} s" for each in line)
        series.append(Series(label, places, values, "both", tone, hints=hints, owner=label))
        sentences.append(
            f"{label}: {numerals.in_words(values[0])} s, then {numerals.in_words(values[-1])} s"
        )
    stride = math.ceil(len(order) / 6) or 1
    return Figure(
        "commits",
        "Time over commits",
        f"the {len(shown)} of {len(timed)} lines that moved most, oldest commit first",
        "commit",
        f"seconds ({method})",
        tuple(series),
        f"Seconds on {len(order)} commits. {'; '.join(sentences)}.",
        log_y=True,
        categories=tuple(commit[:7] if k % stride == 0 else "" for k, commit in enumerate(order)),
    )


def commits_section(records: Sequence[AsvRecord]) -> dict[str, list[Part]]:
    """Return the section `commits` of a report: the figure, a sentence on its values, and for each
    benchmark a table of them. Nothing without records.
    """
    if not records:
        return {}
    days = sorted({record.date[:10] for record in records})
    commits = len({record.commit for record in records})
    machines = ", ".join(sorted({record.machine for record in records}))
    when = " … ".join(dict.fromkeys((days[0], days[-1])))
    measured = "one commit only" if commits == 1 else f"{commits} commits"
    benchmarks = group_by(records, lambda each: each.benchmark)
    names = sorted(benchmarks, key=lambda name: (".time_solve" not in name, name))
    tables = [Section(name, _over_commits(benchmarks[name])) for name in names]
    said = f"asv measured {measured} ({when}) on {machines}."
    return {"commits": [said, commits_figure(records), OneOf("asv", "Benchmark", tables)]}


def _over_commits(own: Sequence[AsvRecord]) -> list[Part]:
    """Return the values of one benchmark: a line for each point of its grid that was not skipped on
    every commit.
    """
    commits = list(dict.fromkeys(each.commit for each in sorted(own, key=lambda each: each.date)))
    points = group_by(own, lambda each: (each.place or "no parameters", each.machine))
    lines = []
    for point in sorted(points, key=lambda point: _natural(point[0])):
        words = {each.commit: _value_words(each) for each in points[point]}
        if {*words.values()} != {"skipped"}:
            lines.append((*point, *(words.get(commit, numerals.NOTHING) for commit in commits)))
    heads = ("parameters", "machine", *(commit[:8] for commit in commits))
    unit = f" ({own[0].unit})" if own[0].unit else ""
    skipped = len(points) - len(lines)
    return [
        Table(f"{own[0].benchmark}{unit}", heads, lines, heads[2:], folded=True),
        f"Points of the grid that were skipped on every commit: {skipped}." if skipped else "",
    ]


def _value_words(record: AsvRecord) -> str:
    measured = record.outcome == "measured"
    return str(numerals.in_words(record.value)) if measured else record.outcome


def commits_csv(records: Sequence[AsvRecord]) -> str:
    """Return one line for every value; skipped benchmarks have an empty value."""
    return records_csv(
        [
            {
                "benchmark": each.benchmark,
                "parameters": each.place,
                "commit": each.commit[:12],
                **chosen(each, ("date", "machine", "outcome", "value", "low", "high", "unit")),
            }
            for each in records
            if each.outcome != "skipped"
        ]
    )


def _change(line: Sequence[AsvRecord]) -> float:
    values = [each.value for each in line]
    return max(values) / min(values)


def _lines(records: Sequence[AsvRecord]) -> dict[str, list[AsvRecord]]:
    """Return the times by label, oldest commit first. The native solver's lines come first, and
    sizes are sorted as numbers.
    """
    several = len({record.machine for record in records}) > 1
    timed = (record for record in records if record.unit == "seconds" and record.value > 0.0)
    groups = group_by(
        sorted(timed, key=lambda each: (each.date, each.commit)),
        lambda each: f"{each.label} on {each.machine}" if several else each.label,
    )
    order = sorted(groups, key=lambda label: (not label.startswith("tilt,"), _natural(label)))
    return {label: groups[label] for label in order if len(groups[label]) > 1}


def _natural(label: str) -> list[tuple[str, float]]:
    return [
        ("", float(word)) if word.isdigit() else (word, 0.0)
        for word in label.replace("=", " ").split()
    ]
