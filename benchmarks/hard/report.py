"""The report: instances with their brackets and digests, and which solver gets which right, as
Markdown and CSV.
"""

from __future__ import annotations

import hashlib
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from hard.main import WITHIN, Row
from hard.solvers import SOLVERS

import discreet as ds
from discreet.reports.outputs import replace_file, write_pages
from discreet.reports.second_opinion import second_opinion
from discreet.reports.study.exported import InstanceFile
from discreet.reports.wording import limitations_section
from discreet.showing.data import records_csv
from discreet.showing.values import Section, Table

__all__ = ["MARKS", "Instance", "arithmetic", "kind_of", "mark", "write"]

MARKS = {
    "right": "✓",
    "wrong": "✗",
    "none": "·",
    "limit": "t",
    "missing": "?",
}
"""The mark of each outcome in the table."""

KINDS = {"EXP": "exponential", "Q": "second-order", "POW": "power", "": "linear"}
"""Words in a CBF file, and what the tables call a program with such cones."""


@dataclass(frozen=True)
class Instance:
    """A line of the table: the columns of its first file, its kind of cones, its certified bracket,
    and what `verify` says.

    faults   statements of the certificate that exact arithmetic contradicts
    """

    columns: Mapping[str, Any]
    kind: str
    lower: float
    upper: float
    faults: Sequence[str]


def write(stem: Path, files: Sequence[InstanceFile], rows: Sequence[Row], seconds: int) -> None:
    """Write STEM.md, STEM.csv with a line for every file, and STEM-solvers.csv with one for every
    solver and instance.
    """
    found = _instances(files)
    lines = [{**file.record(), **_bracket(found[file.instance.slug])} for file in files]
    ordered = sorted(
        rows, key=lambda row: (list(found).index(row.name), list(SOLVERS).index(row.solver))
    )
    replace_file(
        stem.with_name(f"{stem.name}-solvers.csv"), records_csv([asdict(row) for row in ordered])
    )
    write_pages(stem, _page(found, ordered, files, seconds), lines)


def mark(row: Row | None) -> str:
    """The mark of a row: right, claimed to be an optimum and wrong, no claim, time limit, or not
    there yet.
    """
    if row is None:
        return MARKS["missing"]
    if row.right:
        return MARKS["right"]
    if row.status == "time limit":
        return MARKS["limit"]
    return MARKS["wrong"] if row.claims else MARKS["none"]


def kind_of(path: Path) -> str:
    """The kind of cones of a CBF file."""
    with path.open(encoding="ascii") as stream:
        words = {
            line.split()[0].partition(":")[2] or line.split()[0]
            for line in stream
            if line[:1] in "EQ@"
        }
    return KINDS[next((word for word in KINDS if word in words), "")]


def arithmetic() -> str:
    """16 hex digits of how elementary functions and decompositions round here: where they agree, so
    do the files.
    """
    grid = np.linspace(0.01, 30.0, 3001)
    square = np.cos(np.add.outer(np.arange(12.0), np.arange(12.0) ** 2))
    parts = (
        np.exp(-grid),
        np.log(grid),
        grid**0.3,
        np.sin(grid),
        *np.linalg.svd(square),
        square @ square,
    )
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]


def _instances(files: Sequence[InstanceFile]) -> dict[str, Instance]:
    found = dict[str, Instance]()
    for file in files:
        if file.path.suffix == ".cbf":
            solution = ds.solve(file.instance.problem)
            judged = solution.certificate
            (asked, faults) = second_opinion(solution, 1e-9)
            assert judged is not None
            assert asked is not None, "the extra verify is missing"
            found[file.instance.slug] = Instance(
                file.record(), kind_of(file.path), judged.lower, judged.upper, faults
            )
    return found


def _bracket(instance: Instance) -> dict[str, float]:
    return {"lower_bound": instance.lower, "upper_bound": instance.upper}


def _page(
    found: Mapping[str, Instance], rows: Sequence[Row], files: Sequence[InstanceFile], seconds: int
) -> Section:
    by_pair = {(row.name, row.solver): row for row in rows}
    widest = max(1.0 - each.lower / each.upper for each in found.values())
    contradicted = sum(bool(each.faults) for each in found.values())
    names = ("highspy", "clarabel", "scs", "ecos", "cvxpy", "numpy")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    settings = [(name, f"`{each.ending}`", each.settings) for name, each in SOLVERS.items()]
    megabytes = round(sum(file.size for file in files) / 1e6)
    intro = _INTRODUCTION.format(
        count=len(found),
        files=len(files),
        megabytes=megabytes,
        widest=f"{widest:.0e}",
        contradicted=contradicted,
    )
    return Section(
        "Hard instances: which solver gets which right",
        [
            intro,
            Section(
                "What counts as right",
                [
                    _RIGHT.format(seconds=seconds, within=f"{WITHIN:g}"),
                    Table("", ("solver", "reads", "settings"), settings),
                    _READERS,
                ],
            ),
            Section("How many", [_MANY, _summary(found, rows)]),
            Section("Which", [_WHICH.format(**MARKS), _table(found, by_pair)]),
            Section(
                "Measured with",
                [
                    _MEASURED.format(
                        python=platform.python_version(), versions=versions, arithmetic=arithmetic()
                    )
                ],
            ),
            limitations_section(_LIMITATIONS),
        ],
    )


def _summary(found: Mapping[str, Instance], rows: Sequence[Row]) -> Table:
    """For every kind of cones and solver: how many right of those tried, and how many claims were
    wrong.
    """
    lines = []
    for kind in KINDS.values():
        names = {name for name, instance in found.items() if instance.kind == kind}
        cells = []
        for solver in SOLVERS:
            marks = Counter(mark(row) for row in rows if row.solver == solver and row.name in names)
            total = sum(marks.values())
            count = marks[MARKS["wrong"]]
            wrong = f", {count} wrong claim{'s' * (count > 1)}" if count else ""
            cells.append(f"{marks[MARKS['right']]} of {total}{wrong}" if total else "")
        lines.append([kind, str(len(names)), *cells])
    return Table("", ("cones", "instances", *SOLVERS), lines)


def _table(found: Mapping[str, Instance], rows: Mapping[tuple[str, str], Row]) -> Table:
    heads = (
        "instance",
        "cones",
        "n",
        "m",
        "N",
        "least error probability",
        "digest",
        *SOLVERS,
        "what it breaks",
    )
    lines = []
    for name, each in found.items():
        told = each.columns
        sizes = (told["private_values"], told["guesses"], told["outcomes"])
        marks = (
            mark(rows.get((name, solver))) if _reads(solver, each.kind) else ""
            for solver in SOLVERS
        )
        cells = (
            f"`{name}`",
            each.kind,
            *sizes,
            _common(each.lower, each.upper),
            told["digest"],
            *marks,
            told["note"],
        )
        lines.append([str(cell) for cell in cells])
    return Table("", heads, lines)


def _reads(solver: str, kind: str) -> bool:
    """Return whether a solver reads a file of programs with such cones."""
    lacks = {KINDS[word] for word in SOLVERS[solver].lacks}
    return kind not in lacks and (kind == "linear" or SOLVERS[solver].ending != ".mps")


def _common(lower: float, upper: float) -> str:
    """The digits that both bounds share once rounded, at most ten."""
    return next(
        (f"{upper:.{k}g}" for k in range(10, 1, -1) if f"{upper:.{k}g}" == f"{lower:.{k}g}"),
        f"{upper:.1g}",
    )


_INTRODUCTION = """{count} problems of the study `hard` as {files} files ({megabytes} MB), for authors and users of
solvers: exponential, second-order and power cones (CBF, and Clarabel's JSON) and linear programs (also MPS). They are made by one command,
`discreet export hard --study --out FOLDER` ([Test a solver](../docs/how-to/test-a-solver.md)).
[instances.csv](instances.csv) lists every file with its SHA-256 and its certified bracket, whose relative width is at
most {widest}. `discreet verify` checked all {count} and contradicts {contradicted}.
[instances-solvers.csv](instances-solvers.csv) contains the claim of each solver, its seconds, and the result of the
judge.

This page comes from `python benchmarks/hard_instances.py --files FOLDER`."""

_RIGHT = """A solver reads the file and solves it with the settings below, in {seconds} seconds of one processor,
reading included.
The answer is right if three things hold: its objective and the error probability of the lifted estimator lie within a
share {within} of the certified bracket, and the judge finds that the estimator leaks at most a share {within} more than
the budget. At budget 0 no guess, however rare, may change the probability of a private value by a larger share."""

_READERS = """SCS and ECOS get the program through cvxpy, from a reader of CBF that shares nothing with the writer.
ECOS has no power
cones."""

_MANY = (
    "Right answers of the instances tried. A wrong claim is an answer that is called optimal, or "
    "nearly so, but is not right."
)

_WHICH = """{right} right, {wrong} claimed and wrong, {none} no claim and not right, {limit} time limit, {missing}
not run yet;
empty where a solver reads no such file. n private values, m guesses, N outcomes. The certified bracket agrees in the
digits shown."""

_MEASURED = """Python {python}, {versions}; processor time on shared cores. Digests and hashes are those of files
that were made with the same rounding of elementary functions and decompositions as here
(fingerprint `{arithmetic}`); elsewhere last digits of numbers may differ,
and with them the files."""


_LIMITATIONS = (
    "Each solver has one setting and a limit of processor time; with more of it some would get more instances right.",
    "The instances were chosen because some solver gets them wrong, so the shares say nothing about ordinary problems.",
)
