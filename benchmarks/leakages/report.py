"""The results as a page of Markdown, a CSV file and figures."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from large.machine import described
from large.table import Row

from discreet.measures.registry import CONDITIONAL, MEASURES
from discreet.reports.measurements import Measurement, group_by
from discreet.reports.outputs import write_pages
from discreet.reports.wording import TIMES, limitations_section
from discreet.showing.figures import Figure, Series
from discreet.showing.numerals import NOTHING, number, scientific, span
from discreet.showing.values import Facts, Part, Section, Table

__all__ = ["Found", "write"]


@dataclass(frozen=True)
class Found:
    """Everything that a run found.

    attempts   of the study; rows: of the timed cases
    against    geometric mean, largest and number of the ratios of times to another checkout, mutual
               information only; and its commit
    """

    attempts: tuple[Measurement, ...]
    rows: tuple[Row, ...]
    against: tuple[float, float, int, str] | None
    started: float
    quick: bool

    @property
    def tried(self) -> list[Measurement]:
        """The attempts that were made."""
        return [row for row in self.attempts if row.wall_seconds > 0.0]


def write(stem: Path, found: Found) -> None:
    """STEM.md, STEM.csv, and STEM-….svg for every figure that there are rows for."""
    write_pages(stem, _page(found), _records(found))


def _records(found: Found) -> list[dict[str, Any]]:
    """A record for each attempt and each timed case, with the measure first."""
    records = []
    for row in sorted(found.attempts, key=lambda row: (row.measure, row.problem, row.backend)):
        answered = {
            "gap": row.relative_gap,
            "seconds": row.seconds,
            "leakage_over_budget": row.leakage_over_budget,
        }
        records.append(
            dict.fromkeys(_COLUMNS)
            | {
                "measure": row.measure,
                "problem": _plain(row.problem),
                "private_values": row.private_values,
            }
            | {
                "guesses": row.guesses,
                "outcomes": row.outcomes,
                "backend": row.label,
                "status": row.status.value,
            }
            | (answered if row.answered else {"note": row.message})
        )
    for row in found.rows:
        values = int(row.size) or None
        records.append(
            dict.fromkeys(_COLUMNS)
            | {name: getattr(row, name) for name in _COLUMNS if hasattr(row, name)}
            | {
                "measure": _measure_of(row),
                "problem": row.work,
                "private_values": values,
                "guesses": values,
            }
            | {"leakage_over_budget": row.leakage_share}
        )
    return records


_COLUMNS = (
    "measure",
    "problem",
    "private_values",
    "guesses",
    "outcomes",
    "backend",
    "status",
    "gap",
    "seconds",
    "leakage_over_budget",
    "reference",
    "reference_seconds",
    "target",
    "verdict",
    "note",
)


# -- the page
# --------------------------------------------------------------------------------------------------


def _page(found: Found) -> Section:
    def rows_of(*cases: str) -> list[Row]:
        return [row for row in found.rows if row.case.partition("-")[0] in cases]

    timed = {row.case.partition("-")[0] for row in found.rows}
    targets = rows_of(*(timed - {"sizes", "curves"}))
    sizes = rows_of("sizes")
    curves = rows_of("curves")
    against = ""
    if found.against is not None:
        mean, largest, count, commit = found.against
        against = _AGAINST.format(count=count, mean=mean, largest=largest, commit=commit)
    return Section(
        "Measures of leakage: who solves which",
        [
            *_head(found),
            Section("People and secrets", [_PEOPLE, _targets(targets)] if targets else []),
            Section(
                "200,000 outcomes", [_SIZES, *_by_size(sizes), _ratios(found)] if sizes else []
            ),
            Section("Curves", [_CURVES, _curves(curves)] if curves else []),
            Section("Mutual information alone", [against]),
            Section(
                "Small problems, every backend",
                [_STUDY, _who(found), _gaps(found), _times(found)] if found.tried else [],
            ),
            limitations_section(_LIMITATIONS),
        ],
    )


_PEOPLE = """Each person is an outcome: a point of a Gaussian mixture with two groups and two labels. Seconds are
those of the fastest of several solves, including the judge. The reference writes the linear program
with cvxpy and lets HiGHS solve it, in the same run."""

_SIZES = """`tilt` on a Gaussian mixture of 200,000 points with n = m private values and guesses, under half of what
the Bayes rule leaks by the measure. The table shows seconds, judge included, and in brackets the ratio to the time
of mutual information, which was measured in turn. Each was certified to 1e-9 unless the table states otherwise."""

_CURVES = """`discreet frontier` with at most 50 budgets, ends included, and the same budgets solved one by one: a random
joint and a Gaussian mixture, processor time with the judge, in turn. A curve ends early if its bracket has no width
left, as under linear measures with few outcomes. The last column is the largest width of the bracket, relative to
the height of the curve."""

_AGAINST = """`tilt` under mutual information takes {mean:.2f} times as long as at commit {commit}, in the geometric
mean over {count} tasks of the study `quick`, and {largest:.2f} times at most: processor time of the two checkouts in
turn (`benchmarks/against.py`)."""

_STUDY = """The study `measures`: a random joint, a census, a chain of binary variables, the paper's sensor, a smart
meter, the release of X itself, and three mixtures, the largest of 100,000 people. A cell shows how many of the
problems the backend certified to a relative gap of 1e-9, the widest gap of its answers, and the geometric mean of its
seconds over those it certified. Backends may have been tried on different problems; the picture of times is about
one problem. A dash means that the backend does not serve the measure."""


def _head(found: Found) -> list[Part]:
    day = time.strftime("%Y-%m-%d", time.gmtime(found.started))
    minutes = f"{(time.time() - found.started) / 60:.0f} minutes"
    text = f"""Measured on {day} in one run of {minutes} by `python benchmarks/by_measure.py`.
[How to choose a measure](../docs/how-to/choose-a-measure.md) explains what each measure bounds. All rows are in
[by-measure.csv](by-measure.csv)."""
    small = "**Small sizes: a trial run, in which no target is judged.**" * found.quick
    return [text, Facts("machine", list(described().items())), *filter(None, [small])]


def _targets(rows: Sequence[Row]) -> Table:
    heads = [
        "work",
        "seconds",
        "reference",
        "times faster",
        "status",
        "gap",
        "leakage ÷ budget",
        "target",
        "verdict",
    ]
    return Table(
        "",
        heads,
        [
            [
                row.work,
                _seconds(row.seconds),
                _reference(row),
                _faster(row),
                row.status,
                _small(row.gap),
                _share(row.leakage_share),
                row.target or NOTHING,
                row.verdict or row.note or NOTHING,
            ]
            for row in rows
        ],
    )


def _by_size(rows: Sequence[Row]) -> list[Part]:
    sizes = sorted({int(row.size) for row in rows})
    named = group_by(rows, _measure_of)
    lines = []
    for measure, own in named.items():
        by_size = {int(row.size): row for row in own}
        lines.append(
            [measure, *(_sized(by_size[size]) if size in by_size else NOTHING for size in sizes)]
        )
    met = [row for row in rows if row.judged]
    count = sum(row.verdict == "met" for row in met)
    said = f"{count} of {len(met)} rows meet the target: {met[0].target}." if met else ""
    return [Table("", ["measure", *(f"n = m = {size}" for size in sizes)], lines), said]


def _sized(row: Row) -> str:
    if row.seconds is None:
        return row.status
    ratio = "" if row.multiple is None else f" ({row.multiple:.2g}×)"
    return f"{_seconds(row.seconds)}{ratio}" + (
        "" if row.status == "certified" else " (not certified)"
    )


def _curves(rows: Sequence[Row]) -> Table:
    heads = [
        "measure",
        "work",
        "curve",
        "one by one",
        "ratio",
        "status",
        "gap of a point",
        "bracketed",
    ]
    return Table(
        "",
        heads,
        [
            [
                _measure_of(row),
                row.work,
                _seconds(row.seconds),
                _seconds(row.reference_seconds),
                NOTHING if row.multiple is None else f"{row.multiple:.2f}",
                row.status,
                _small(row.gap),
                row.note,
            ]
            for row in rows
        ],
    )


def _who(found: Found) -> Table:
    backends = list(
        dict.fromkeys(row.label for row in sorted(found.tried, key=lambda row: _order(row.label)))
    )
    cells = group_by(found.tried, lambda row: (_kind(row), row.label))
    measures = _in_order(kind for kind, _ in cells)
    lines = [
        [name, *(_solved(cells.get((name, label), [])) for label in backends)] for name in measures
    ]
    return Table("", ["measure", *(f"`{label}`" for label in backends)], lines)


def _solved(rows: Sequence[Measurement]) -> str:
    if not rows:
        return NOTHING
    certified = [row for row in rows if row.certified]
    gaps = [row.relative_gap for row in rows if row.answered]
    widest = f", gap ≤ {scientific(max(gaps), 0)}" if gaps else ""
    mean = (
        f", {span(statistics.geometric_mean(row.seconds for row in certified))}"
        if certified
        else ""
    )
    return f"{len(certified)} of {len(rows)}{widest}{mean}"


# -- figures
# --------------------------------------------------------------------------------------------------


def _gaps(found: Found) -> Figure | None:
    """Certified gaps of all answers, a line for each measure and a mark for each backend."""
    answered = [row for row in found.tried if row.answered]
    told = "every answer of the study; the shaded part is more than was asked for"
    return _strips(
        "gaps",
        "Certified gap by measure",
        told,
        "relative gap, certified",
        answered,
        lambda row: min(1.0, max(row.relative_gap, 1e-16)),
        zone=1e-9,
    )


def _times(found: Found) -> Figure | None:
    """Seconds of every backend on the census."""
    chosen = [row for row in found.tried if row.certified and row.entry == "census"]
    return _strips(
        "times",
        "Seconds by measure, on the census",
        "certified answers; lowering, solving and lifting",
        "seconds",
        chosen,
        lambda row: row.seconds,
    )


def _strips(
    name: str,
    title: str,
    subtitle: str,
    x_label: str,
    rows: Sequence[Measurement],
    value: Any,
    zone: float | None = None,
) -> Figure | None:
    if not rows:
        return None
    measures = _in_order(map(_kind, rows))
    labels = sorted({row.label for row in rows}, key=_order)
    series = []
    for tone, label in enumerate(labels):
        own = [row for row in rows if row.label == label]
        lane = 0.5 * (tone - 0.5 * (len(labels) - 1)) / max(1, len(labels) - 1)
        places = tuple(measures.index(_kind(row)) + lane for row in own)
        series.append(Series(label, tuple(map(value, own)), places, "points", tone))
    told = "; ".join(
        f"{each.label} {scientific(min(each.x))} to {scientific(max(each.x))}" for each in series
    )
    return Figure(
        name,
        title,
        subtitle,
        x_label,
        "",
        tuple(series),
        f"{title}: {told}.",
        log_x=True,
        rows=tuple(measures),
        zone_from=zone,
    )


def _ratios(found: Found) -> Figure | None:
    """How many times as long as mutual information `tilt` took, a mark for each
    number of values.
    """
    rows = [row for row in found.rows if row.multiple is not None and row.case.startswith("sizes")]
    if not rows:
        return None
    measures = _in_order(_named(_measure_of(row)) for row in rows)
    sizes = sorted({int(row.size) for row in rows})
    series = []
    for tone, size in enumerate(sizes):
        own = [row for row in rows if int(row.size) == size]
        places = tuple(
            measures.index(_named(_measure_of(row))) + 0.11 * (tone - 0.5 * (len(sizes) - 1))
            for row in own
        )
        series.append(
            Series(
                f"n = m = {size}",
                tuple(row.multiple or math.nan for row in own),
                places,
                "points",
                tone,
            )
        )
    told = "; ".join(
        f"{name} up to {max(row.multiple or 0.0 for row in rows if _named(_measure_of(row)) == name):.2g}"
        for name in measures
    )
    subtitle = "tilt, 200,000 outcomes; the shaded part is more than five times"
    description = f"Times as long as mutual information: {told}."
    return Figure(
        "ratios",
        "Time ÷ that of mutual information",
        subtitle,
        "times as long as mutual information",
        "",
        tuple(series),
        description,
        log_x=True,
        rows=tuple(measures),
        zone_from=5.0,
    )


# -- words
# --------------------------------------------------------------------------------------------------

_FIRST = ("tilt", "blahut-arimoto", "highs", "conic")


def _order(label: str) -> tuple[int, str]:
    return (_FIRST.index(label) if label in _FIRST else len(_FIRST), label)


def _named(measure: str) -> str:
    return measure.partition(":")[0]


def _kind(row: Measurement) -> str:
    """The family of its measure, and how many secrets there are if there are several."""
    return _named(row.measure) + (f", {row.secrets} secrets" if row.secrets > 1 else "")


def _in_order(kinds: Iterable[str]) -> list[str]:
    """Each once: one secret before several, and by the order of the reference."""
    order = [*MEASURES, *CONDITIONAL]

    def place(kind: str) -> tuple[str, int]:
        name, _, secrets = kind.partition(", ")
        return secrets, order.index(name)

    return sorted(set(kinds), key=place)


def _measure_of(row: Row) -> str:
    case, _, measure = row.case.partition("-")
    fixed = {
        "parity": "parity-difference",
        "streamed": "parity-difference",
        "conditional": "conditional-mutual-information",
        "secrets": "several",
    }
    return fixed.get(case, measure)


def _plain(problem: str) -> str:
    """The problem without its measure, which has a column."""
    head, _, rest = problem.partition("measure=")
    return head.rstrip(":,") if rest else problem


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else span(value)


def _small(value: float | None) -> str:
    return NOTHING if value is None or not math.isfinite(value) else scientific(value)


def _share(value: float | None) -> str:
    return NOTHING if value is None else number(value, 7)


def _reference(row: Row) -> str:
    return (
        NOTHING
        if row.reference_seconds is None
        else f"{row.reference}: {span(row.reference_seconds)}"
    )


def _faster(row: Row) -> str:
    return NOTHING if not row.multiple else number(1.0 / row.multiple, 3)


_LIMITATIONS = (
    TIMES,
    "Problems are random mixtures and one census; other laws may rank the backends differently.",
    "Each backend runs in one configuration, tuned for accuracy.",
)
