"""Rows as a page of Markdown and a CSV file: a line for every backend and kind of problem, and what
is remarkable.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from campaigns import instances
from campaigns.batches import Asked, Row
from large.machine import described

from discreet.backends.registry import load_backend, versions_of
from discreet.backends.solution import Status
from discreet.reports.outputs import write_pages
from discreet.reports.wording import limitations_section
from discreet.showing.numerals import scientific
from discreet.showing.values import Facts, Part, Section, Sentences, Table

__all__ = ["Run", "write"]

_WIDE = 1e-8
_LISTED = 20  # problems of a sort that the page names; the others are in the scratch folder
# Nats. Below 6e-27, a leakage of the size of the budget is rounding of the likelihood ratios.
_BUDGETS = (0.0, 6e-27, 1e-12, math.inf)


@dataclass(frozen=True)
class Run:
    """By backend what was asked for, by which code, and seconds of its batches; batches not done;
    backends not installed.
    """

    asked: Mapping[str, Asked]
    codes: Mapping[str, str]
    seconds: Mapping[str, float]
    missing: int
    absent: Sequence[str]


@dataclass(frozen=True)
class Line:
    """The results of one kind of problem under one backend.

    wide                   certified gap over 1e-8
    worst_gap, worst       the largest gap and its problem
    slowest_seconds, slowest
    """

    backend: str
    kind: str
    problems: int
    certified: int
    inaccurate: int
    violated: int
    failed: int
    timed_out: int
    checked: int
    false: int
    unconfirmed: int
    wide: int
    worst_gap: float
    worst: str
    median_seconds: float
    slowest_seconds: float
    slowest: str

    @classmethod
    def of(cls, backend: str, kind: str, rows: Sequence[Row]) -> Line:
        """The line of rows of which there is at least one."""
        status = Counter(row.status for row in rows)
        worst = max(
            (row for row in rows if math.isfinite(row.gap)),
            key=lambda row: row.gap,
            default=rows[0],
        )
        slowest = max(rows, key=lambda row: row.seconds)
        return cls(
            backend=backend,
            kind=kind,
            problems=len(rows),
            certified=status[Status.CERTIFIED.value],
            inaccurate=status[Status.INACCURATE.value],
            violated=status[Status.VIOLATED_PRIVACY.value],
            failed=status[Status.FAILED.value],
            timed_out=status[Status.TIMED_OUT.value],
            checked=sum(row.checked for row in rows),
            false=sum(bool(row.false) for row in rows),
            unconfirmed=sum(bool(row.unconfirmed) for row in rows),
            wide=sum(_WIDE < row.gap < math.inf for row in rows),
            worst_gap=worst.gap,
            worst=worst.problem,
            median_seconds=statistics.median(row.seconds for row in rows),
            slowest_seconds=slowest.seconds,
            slowest=slowest.problem,
        )


def write(stem: Path, rows: Sequence[Row], run: Run) -> None:
    """Write the page STEM.md and the rows STEM.csv."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.backend != "tilt", row.backend)):
        groups.setdefault((row.backend, row.kind), []).append(row)
    lines = [Line.of(*key, found) for key, found in groups.items()]
    write_pages(stem, _page(lines, rows, run), [asdict(line) for line in lines])


# -- the page
# --------------------------------------------------------------------------------------------------


def _page(lines: Sequence[Line], rows: Sequence[Row], run: Run) -> Section:
    checked = sum(line.checked for line in lines)
    false = sum(line.false for line in lines)
    tilt = [row for row in rows if row.backend == "tilt"]
    largest_first = sorted(rows, key=lambda row: -row.budget)
    missed = "`tilt` without an answer that is certified within 10⁻⁸, largest budgets first"
    unconfirmed = "Certificates that their files do not confirm"
    return Section(
        "A campaign against the certificates",
        [
            f"**{len(rows):,} problems, {checked:,} certificates checked by exact arithmetic, "
            f"{false} false.**",
            *_head(run),
            Section("What became of them", [_outcomes(lines)]),
            Section("What `tilt` makes of budgets", [_by_budget(tilt)]),
            Section("Worst and slowest", [_extremes(lines)]),
            _listed("False certificates", rows, lambda row: "; ".join(row.false)),
            _listed(unconfirmed, rows, lambda row: "; ".join(row.unconfirmed)),
            _listed(missed, largest_first, _missed_by_tilt),
            limitations_section(_LIMITATIONS),
        ],
    )


def _head(run: Run) -> Iterable[Part]:
    kinds = (instances.__doc__ or "").split("\n\n")[1]
    asked = next(iter(run.asked.values()))
    minutes = sum(run.seconds.values()) / 60.0
    day = time.strftime("%Y-%m-%d", time.gmtime())
    command = f"python benchmarks/campaign.py --seed {asked.seed}"
    yield f"""Written on {day} by `{command}`, whose processes together took {minutes:.0f} minutes.
Each backend is asked for a gap of {asked.gap:g} within the seconds of the second table. `tilt` gets all kinds of
problem except `small` and `chains`, and `sequence-form` only `chains`. Every other backend gets `small`,
`measures`, `secrets`, `gains` and `catalog`. `benchmarks/campaigns/batches.py`
defines *false*, without any tolerance. A certificate is *unconfirmed* if it is not false but the solution file
proves less than it states.
Gap: (upper − lower)/(upper + 2·10⁻⁶). Seconds are the time of the backend's own steps, on a machine that also did
other work."""
    yield f"```text\n{kinds}\n```"
    yield Facts("machine", list(described().items()))
    heads = ("backend", "seconds for a problem", "minutes of its processes", "libraries", "code")
    lines = [
        (
            f"`{name}`",
            f"{asked.time_limit:g}",
            f"{run.seconds[name] / 60.0:.1f}",
            _libraries(name),
            run.codes[name],
        )
        for name, asked in run.asked.items()
    ]
    yield Table("", heads, lines)
    if run.missing:
        yield f"**{run.missing} batches that were asked for are not done yet.**"
    if run.absent:
        yield f"Not installed here: {', '.join(run.absent)}."


def _libraries(backend: str) -> str:
    """Libraries of the backend with their versions, without the libraries of the machine's table."""
    versions = versions_of(load_backend(backend)).items()
    return ", ".join(
        f"{name} {version}"
        for name, version in versions
        if name not in ("discreet", "numpy", "scipy")
    )


def _outcomes(lines: Sequence[Line]) -> Table:
    heads = [
        "backend",
        "kind",
        "problems",
        "certified",
        "inaccurate",
        "violated",
        "failed",
        "timed out",
        "checked",
        "**false**",
        "unconfirmed",
        "gap > 10⁻⁸",
    ]
    return Table(
        "",
        heads,
        [
            [
                f"`{line.backend}`",
                line.kind,
                *(
                    f"{count:,}"
                    for count in (
                        line.problems,
                        line.certified,
                        line.inaccurate,
                        line.violated,
                        line.failed,
                        line.timed_out,
                        line.checked,
                        line.false,
                        line.unconfirmed,
                        line.wide,
                    )
                ),
            ]
            for line in lines
        ],
    )


def _by_budget(rows: Sequence[Row]) -> Table:
    """A line for budget 0, and one for the budgets up to each of the others."""
    heads = ["budget in nats", "problems", "certified", "gap > 10⁻⁸"]
    groups = [
        (
            "0" if high == 0.0 else f"up to {high:g}" if high < math.inf else f"above {low:g}",
            [row for row in rows if low < row.budget <= high],
        )
        for low, high in itertools.pairwise((-1.0, *_BUDGETS))
    ]
    return Table(
        "",
        heads,
        [
            [
                words,
                f"{len(found):,}",
                f"{sum(row.status == Status.CERTIFIED.value for row in found):,}",
                f"{sum(_WIDE < row.gap < math.inf for row in found):,}",
            ]
            for words, found in groups
        ],
    )


def _extremes(lines: Sequence[Line]) -> Table:
    heads = ["backend", "kind", "worst gap", "of", "median s", "slowest s", "of"]
    return Table(
        "",
        heads,
        [
            [
                f"`{line.backend}`",
                line.kind,
                scientific(line.worst_gap),
                f"`{line.worst}`",
                f"{line.median_seconds:.3g}",
                f"{line.slowest_seconds:.3g}",
                f"`{line.slowest}`",
            ]
            for line in lines
        ],
    )


def _missed_by_tilt(row: Row) -> str:
    if row.backend != "tilt" or row.gap <= _WIDE:
        return ""
    return (
        f"{row.status}, gap {row.gap:.1e}"
        if math.isfinite(row.gap)
        else f"{row.status}: {row.message}"
    )


def _listed(title: str, rows: Iterable[Row], words: Callable[[Row], str]) -> Section:
    """A section with the first problems of which there are words."""
    found = [(row, said) for row in rows if (said := words(row))]
    lines = [
        f"`{row.backend}`, {row.kind} {row.index}, `{row.problem}`: {said}"
        for row, said in found[:_LISTED]
    ]
    if len(found) > _LISTED:
        lines.append(f"… and {len(found) - _LISTED:,} more")
    return Section(title, [Sentences(lines)] if lines else [])


_LIMITATIONS = (
    "The campaign can only find false certificates among the kinds of problem that it draws.",
    "Certificates are checked against the doubles of the problem, not against the data that they came from.",
)
