"""Rows as a page of Markdown, a CSV file and figures of the cost on logarithmic axes."""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from large.table import Row

from discreet.reports.outputs import write_pages
from discreet.reports.wording import TIMES, limitations_section
from discreet.showing.data import remove_guard
from discreet.showing.figures import Figure, Series
from discreet.showing.markdown import table
from discreet.showing.numerals import NOTHING, scientific
from discreet.showing.values import Facts, Part, Section, Sentences, Table

__all__ = ["head_with", "read", "write"]

_SMALL = "**Small sizes: a trial run, in which no target is judged.**"
_FEWEST = 3  # rows for an exponent and a figure
_COSTS = (
    (
        "cost-outcomes",
        "outcomes",
        "outcomes N",
        "paper-single, ε = 0.01, solved in blocks from memory and judged",
    ),
    (
        "cost-entries",
        "entries",
        "entries of the tilt n·m",
        "mixtures with n = m, a fixed number of outcomes, ds.solve",
    ),
    (
        "cost-sensors",
        "sensors",
        "sensors M",
        "4 bins, σ = 1: lattice, solution and judge, what is left out within 1e-15",
    ),
)


def write(
    stem: Path,
    rows: Sequence[Row],
    machine: Mapping[str, str],
    started: float,
    *,
    quick: bool,
    head: str = "",
) -> None:
    """STEM.md, STEM.csv and one STEM-….svg for every cost that was measured; head: of the page, in
    place of its own.
    """
    write_pages(
        stem, _page(rows, machine, started, head, quick=quick), [_record(row) for row in rows]
    )


def head_with(
    stem: Path, machine: Mapping[str, str], started: float, names: Sequence[str], *, quick: bool
) -> str:
    """The head of STEM.md with a sentence on rows added to it; ValueError where it is of other
    sizes or machines.
    """
    head = (
        stem.with_name(f"{stem.name}.md")
        .read_text(encoding="utf-8")
        .partition("\n\n## ")[0]
        .partition("\n\n")[2]
    )
    if quick is not (_SMALL in head):
        raise ValueError(
            f"{stem.name}.md is {'not ' * quick}of small sizes; "
            f"{'leave out' if quick else 'give'} --quick"
        )
    if table(("", ""), list(machine.items())).partition("--- |\n")[2] not in head:
        raise ValueError(
            f"{stem.name}.md is of another machine or other versions; measure all rows again"
        )
    day = time.strftime("%Y-%m-%d", time.gmtime(started))
    command = (
        f"python benchmarks/large_scale.py --add {' '.join(f'--only {name}' for name in names)}"
    )
    return f"{head}\n\nAdded on {day}, measured on the same machine by `{command}`."


def read(stem: Path) -> list[Row]:
    """Read the rows of STEM.csv."""
    kinds = {each.name: each.type for each in fields(Row)}
    found = []
    with stem.with_name(f"{stem.name}.csv").open(encoding="utf-8", newline="") as stream:
        for record in csv.DictReader(stream):
            told = {
                name: _value(kinds[name], text) for name, text in record.items() if name in kinds
            }
            verdict, _, missed = record["verdict"].partition(": ")
            judged = verdict in ("met", "not met")
            found.append(Row(**told, judged=judged, missed=missed.split("; ") if missed else []))
    return found


def _value(kind: str, text: str) -> str | int | float | None:
    if not text and kind != "str":
        return None
    return (
        int(text)
        if kind.startswith("int")
        else float(text)
        if kind.startswith("float")
        else remove_guard(text)
    )


def _record(row: Row) -> dict[str, Any]:
    own = {name: value for name, value in asdict(row).items() if name not in ("judged", "missed")}
    more = {
        "compile_seconds": row.compile_seconds,
        "multiple_of_reference": row.multiple,
        "verdict": row.verdict,
    }
    return {**own, **more}


# -- the page
# --------------------------------------------------------------------------------------------------


def _page(
    rows: Sequence[Row], machine: Mapping[str, str], started: float, head: str, *, quick: bool
) -> Section:
    day = time.strftime("%Y-%m-%d", time.gmtime(started))
    main = [row for row in rows if not row.case.startswith(("ablation-", "cost-"))]
    asked = [row for row in main if not row.case.endswith("/reference")]
    peers = [row for row in main if row.case.endswith("/reference")]
    ablation = [row for row in rows if row.case.startswith("ablation-")]
    met = sum(row.verdict == "met" for row in asked)
    judged = sum(row.judged for row in asked)
    said = f"{met} of {judged} judged rows meet their target." * bool(judged)
    notes = [f"{row.work}: {row.note}" for row in asked if row.note]
    return Section(
        "Large problems",
        [
            *([head] if head else _head(day, machine, time.time() - started, quick=quick)),
            Section(
                "Targets",
                [said, _targets(asked), Sentences(notes) if notes else None] if asked else [],
            ),
            Section("The references", [_PEERS, _references(peers)] if peers else []),
            Section("What each part brings", [_ABLATION, _ablation(ablation)] if ablation else []),
            Section("Cost against size", [_cost(rows, *cost) for cost in _COSTS]),
            limitations_section(_LIMITATIONS),
        ],
    )


_PEERS = """Other solvers on the same problems through backends of discreet, in the same run. Seconds are the time
of their own steps, without the judge; the gap is certified by the judge after repair; leakage and ‖ΦP‖∞ are those
of their answer before repair."""

_ABLATION = """paper-single, ε = 0.01, warm `ds.solve` with judge, seconds; in brackets how many times faster than the line
above. The first two lines run where numba cannot be imported; all but the last on one thread."""


def _head(day: str, machine: Mapping[str, str], seconds: float, *, quick: bool) -> list[Part]:
    command = "python benchmarks/large_scale.py" + " --quick" * quick
    return [
        f"Measured on {day} in one run of {seconds / 60:.0f} minutes by `{command}`.",
        Facts("machine", list(machine.items())),
        """Seconds are the median of warm runs, solving and judging together; *compile* is the additional time of
the first run, which has an empty cache of compiled code. Every row has a process of its own, whose peak memory is given
(including building the problem), and in brackets the part that is not pages of a file. BLAS has one thread. Gap is
the certified (upper − lower)/upper. Leakage ÷ budget is that of the returned rule.""",
        *([_SMALL] if quick else []),
    ]


def _targets(rows: Iterable[Row]) -> Table:
    heads = [
        "work",
        "outcomes",
        "seconds",
        "compile",
        "reference",
        "ratio",
        "gap",
        "leakage ÷ budget",
        "‖ΦP‖∞",
        "MiB",
        "target",
        "verdict",
    ]
    return Table(
        "",
        heads,
        [
            [
                row.work,
                f"{row.outcomes:,}",
                _seconds(row.seconds),
                _seconds(row.compile_seconds),
                _reference(row),
                _ratio(row),
                _small(row.gap),
                _share(row.leakage_share),
                _small(row.phi_residual),
                _memory(row),
                row.target or NOTHING,
                row.verdict or NOTHING,
            ]
            for row in rows
        ],
    )


def _references(rows: Iterable[Row]) -> Table:
    heads = ["work", "outcomes", "seconds", "says", "is", "gap", "leakage ÷ budget", "‖ΦP‖∞"]
    return Table(
        "",
        heads,
        [
            [
                row.work,
                f"{row.outcomes:,}",
                _seconds(row.seconds),
                row.note or NOTHING,
                row.status,
                _small(row.gap),
                _share(row.leakage_share),
                _small(row.phi_residual),
            ]
            for row in rows
        ],
    )


def _ablation(rows: Sequence[Row]) -> Table:
    sizes = sorted({row.outcomes for row in rows})
    last: dict[int, float] = {}
    lines = []
    for words in dict.fromkeys(row.work for row in rows):
        line = [words]
        for size in sizes:
            found = next(
                (row.seconds for row in rows if (row.work, row.outcomes) == (words, size)), None
            )
            brought = f" ({last[size] / found:.3g}×)" if found and size in last else ""
            line.append(_seconds(found) + brought)
            if found:
                last[size] = found
        lines.append(line)
    return Table("", ["", *(f"N = {size:,}" for size in sizes)], lines)


def _cost(rows: Sequence[Row], case: str, name: str, words: str, what: str) -> Section:
    own = [row for row in rows if row.case == case and row.seconds is not None]
    if not own:
        return Section("", [])
    heads = [words, "outcomes", "seconds", "gap", "status"]
    lines = [
        [
            f"{row.size:,.0f}",
            f"{row.outcomes:,}",
            _seconds(row.seconds),
            _small(row.gap),
            row.status,
        ]
        for row in own
    ]
    if case == "cost-outcomes":  # the size is the number of outcomes
        heads = heads[1:]
        lines = [line[1:] for line in lines]
    figure = _figure(own, name, words, what) if len(own) >= _FEWEST else None
    return Section(
        f"Against {words}", [f"{what}. {_exponents(own)}", Table("", heads, lines), figure]
    )


def _exponents(rows: Sequence[Row]) -> str:
    if len(rows) < _FEWEST:
        return ""
    upper = rows[len(rows) // 2 :] if len(rows) >= 4 else rows
    whole = f"Seconds grow like size^{_exponent(rows):.2f} over all sizes"
    return whole + (
        f", ^{_exponent(upper):.2f} over the larger half." if len(upper) < len(rows) else "."
    )


def _exponent(rows: Sequence[Row]) -> float:
    """The slope of a straight line through (log size, log seconds), least squares."""
    sizes = np.log([row.size for row in rows])
    seconds = np.log([row.seconds or math.nan for row in rows])
    return float(np.polyfit(sizes, seconds, 1)[0])


def _figure(own: Sequence[Row], name: str, words: str, what: str) -> Figure:
    exponent = _exponent(own)
    sizes = tuple(row.size for row in own)
    middle = math.exp(float(np.mean(np.log([row.seconds or math.nan for row in own]))))
    centre = math.exp(float(np.mean(np.log(sizes))))
    fitted = tuple(middle * (size / centre) ** exponent for size in sizes)
    return Figure(
        name=name,
        title=f"Seconds against {words}",
        subtitle=what,
        x_label=words,
        y_label="seconds",
        series=(
            Series(
                "measured",
                sizes,
                tuple(row.seconds or math.nan for row in own),
                kind="both",
                tone=0,
            ),
            Series(f"size^{exponent:.2f}", sizes, fitted, tone=1),
        ),
        description=f"Seconds against {words} on logarithmic axes; the fitted exponent is {exponent:.2f}.",
        log_x=True,
        log_y=True,
    )


# -- numbers in cells
# --------------------------------------------------------------------------------------------------


def _cell(style: Callable[[float], str]) -> Callable[[float | None], str]:
    return lambda value: NOTHING if value is None or not math.isfinite(value) else style(value)


_seconds = _cell(lambda value: f"{value:.3g}" if value < 100 else f"{value:.0f}")
_small = _cell(lambda value: "0" if value == 0.0 else scientific(value))
_share = _cell(lambda value: f"{value:.6g}" if value < 10 else f"{value:.3g}")


def _reference(row: Row) -> str:
    return (
        NOTHING
        if row.reference_seconds is None
        else f"{row.reference}: {_seconds(row.reference_seconds)} s"
    )


def _ratio(row: Row) -> str:
    if row.multiple is None:
        return NOTHING
    return f"{row.multiple:.3g}×" if row.multiple >= 1.0 else f"{1.0 / row.multiple:.3g}× faster"


def _memory(row: Row) -> str:
    if row.peak_mib is None:
        return NOTHING
    return f"{row.peak_mib:.0f}" + ("" if row.private_mib is None else f" ({row.private_mib:.0f})")


_LIMITATIONS = (
    TIMES,
    "References were run only at sizes that they can hold in memory and finish in the time allowed.",
)
