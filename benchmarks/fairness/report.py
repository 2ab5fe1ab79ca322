"""What was found, as a page of Markdown with figures; the rows are in the CSV file next to it."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fairness.methods import METHODS
from fairness.split import CONSTRAINTS, PROMISED, SELDONIAN, Row
from fairness.tables import LOADERS
from large.machine import described

from discreet.reports.measurements import group_by
from discreet.reports.outputs import write_pages
from discreet.reports.wording import TIMES, limitations_section
from discreet.showing.figures import Figure, Series
from discreet.showing.numerals import NOTHING, scientific, span
from discreet.showing.values import Facts, Part, Section, Sentences, Table

__all__ = ["write"]

_PROGRAM = "program of LinearPost"
_PUBLISHED = "LinearPost through cvxpy"
_ORDER = [*(method.name for method in METHODS), PROMISED, SELDONIAN]
_ROUNDING = 1e-9  # of an error probability
_FASTER = {"ThresholdOptimizer": 4.0, _PROGRAM: 20.0, _PUBLISHED: 20.0}


def write(stem: Path, rows: Sequence[Row]) -> None:
    """STEM.md, and STEM-….svg for each figure that there are rows for."""
    figures = [_plane(rows, constraint) for constraint in CONSTRAINTS]
    summary = Section(
        "In short", [*_summary(rows), *(figure for figure in figures if figure.series), _NOTES]
    )
    tables = [Section(name, [_about(own), *_tables(own)]) for name, own in _by_table(rows).items()]
    parts = [*_head(rows, stem), summary, *tables, limitations_section(_LIMITATIONS)]
    write_pages(stem, Section("Rules for people, side by side", parts))


_NOTES = """How to read the tables. Every table of people is divided at random, once for each split; no method sees the
held-out part. In the setting *blind* a rule sees the features; in *aware* it also needs the group of each person.
*Fitted error* and *leakage* are the numbers of the judge for the rule, under the calibrated probabilities of the
fitted people: parity as a difference of rates, equalized odds as information
about the group given the truth, in nats. *Above the least* is the error minus the certified error of the best rule
that leaks as much. *Held-out* figures count people: wrong guesses, and the largest difference of rates
between groups (of the same truth, for equalized odds). *Over* counts the splits where that difference is above
the tolerance, and in brackets the splits where this is shown at 95 %. Means are over the splits that a method
solved. ThresholdOptimizer uses the truths of the fitted people as their probabilities, so the rates that it makes
equal are not quite equal on the fitted law. `discreet, promised` is `ds.PrivateClassifier`, which keeps two fifths of
the fitted people apart, and falls back to one guess for everyone if they are too few to show that the tolerance is
kept. `Seldonian engine, promised` is a logistic regression by seldonian-engine 0.8.11, whose guesses are drawn. It
keeps as many people apart for its safety test, also at 5 %, and returns no solution if the test fails.

What is timed: seconds are medians over the splits of processor time, on one core, of the fastest of three tries
(of one for ExponentiatedGradient, LinearPost through cvxpy and `discreet, promised`). All get the same arrays of
probabilities, p(y given z), p(x given z) and p(x, y given z), which are computed beforehand. *discreet*:
`ds.design_rule`, from the checks of these arrays to a rule that can be saved, with its certificate.
*ThresholdOptimizer*: `fit` at its defaults, with the scores as a fitted classifier. *Program of LinearPost*: the
linear program stated in sparse matrices, solved by HiGHS through SciPy, with the multipliers that are needed for
held-out people, but without the random perturbation that its authors add to the probabilities.
*LinearPost through cvxpy*: the same program as its authors publish it, perturbed and stated in cvxpy, but solved by HiGHS where they use Gurobi;
its time limit is a minute. The times of ExponentiatedGradient and `discreet, promised` include fitting their
classifiers. No method but discreet proves anything about its answer."""


_FITTED = """On the fitted law, {better} of {count} answers have an error more than 1e-9 below the certified least
  error at their leakage. The errors of the others exceed it by up to {excess:.2g}."""

_PROMISED = """The promise is kept in {kept} of {count} splits: the held-out people do not show, at 95 %, a
  difference above the tolerance. In {over} of them the observed difference is above it. {constant} of the rules
  are constant, and {lottery} make the same guess for some of the people by a lottery."""

_SAFE = """The Seldonian engine returns a model in {solved} of {count} splits, and no solution in the others. In
  {broken} of them the held-out people show, at 95 %, a difference above the tolerance."""

_SLOWER = """Time of the other methods relative to discreet to design a rule for {people:,} people: median over the
splits and, in brackets, the smallest ratio:"""


def _head(rows: Sequence[Row], stem: Path) -> list[Part]:
    splits = max((row.split for row in rows), default=-1) + 1
    day = time.strftime("%Y-%m-%d", time.gmtime())
    text = f"""Written on {day} by `python benchmarks/people_side_by_side.py --census PATH`, {splits} splits
of each table. All rows are in [{stem.name}.csv]({stem.name}.csv). [Theory, section 23](../docs/theory.md), explains
how far a tolerance for a model also holds for people."""
    return [text, Facts("machine", list(described().items()))]


def _summary(rows: Sequence[Row]) -> list[Part]:
    lines = []
    judged = [row for row in rows if row.fitted_error is not None and row.least_error is not None]
    better = sum(_above(row) < -_ROUNDING for row in judged)
    if judged:
        lines.append(
            _FITTED.format(better=better, count=len(judged), excess=max(map(_above, judged)))
        )
    promised = [row for row in rows if row.method == PROMISED and row.difference is not None]
    if promised:
        kept = sum(not _broken(row) for row in promised)
        over = sum(map(_over, promised))
        constant = sum(row.note == "constant" for row in promised)
        lottery = sum(row.note.startswith("lottery") for row in promised)
        counts = {"over": over, "constant": constant, "lottery": lottery}
        lines.append(_PROMISED.format(kept=kept, count=len(promised), **counts))
    tried = [row for row in rows if row.method == SELDONIAN and row.seconds is not None]
    if tried:
        solved = [row for row in tried if row.difference is not None]
        broken = sum(map(_broken, solved))
        lines.append(_SAFE.format(solved=len(solved), count=len(tried), broken=broken))
    if few := _few(rows):
        lines.append(few)
    return [Sentences(lines), *_speed(rows)]


def _few(rows: Sequence[Row]) -> str:
    """Return a sentence about methods that were tried on only some splits of the largest table."""
    large = [row for row in rows if row.fitted == _largest(rows)]
    splits = {
        method: len({row.split for row in own})
        for method, own in group_by(large, lambda row: row.method).items()
    }
    most = max(splits.values())
    words = [
        f"{method} on {count} of {most} splits of the table of {large[0].table}"
        for method, count in splits.items()
        if count < most
    ]
    return f"Tried so far: {', '.join(words)}." if words else ""


def _speed(rows: Sequence[Row]) -> list[Part]:
    """Seconds ÷ those of discreet, by method, constraint and setting."""
    large = [row for row in rows if row.fitted == _largest(rows) and row.seconds]
    own = {_place(row): row.seconds for row in large if row.method == "discreet"}
    found = group_by(
        [
            row
            for row in large
            if row.method not in ("discreet", PROMISED, SELDONIAN) and _place(row) in own
        ],
        lambda row: (row.method, row.constraint, row.setting),
    )
    columns = [
        (constraint, setting) for constraint in CONSTRAINTS for setting in ("blind", "aware")
    ]
    lines = []
    for method in _ORDER:
        each = [
            [row.seconds / own[_place(row)] for row in found.get((method, *column), [])]
            for column in columns
        ]
        if any(each):
            told = [
                f"{statistics.median(ratios):.3g} ({min(ratios):.3g})" if ratios else NOTHING
                for ratios in each
            ]
            lines.append([method, *told, f"{_FASTER[method]:g}" if method in _FASTER else NOTHING])
    if not lines:
        return []
    heads = [
        "method",
        *(f"{constraint}, {setting}" for constraint, setting in columns),
        "asked for",
    ]
    return [_SLOWER.format(people=_largest(rows)), Table("", heads, lines)]


def _largest(rows: Sequence[Row]) -> int:
    return max(row.fitted for row in rows)


def _place(row: Row) -> tuple[str, int, str, str]:
    return row.table, row.split, row.constraint, row.setting


def _above(row: Row) -> float:
    return (row.fitted_error or 0.0) - (row.least_error or 0.0)


def _over(row: Row) -> bool:
    return row.difference is not None and row.difference > row.tolerance


def _broken(row: Row) -> bool:
    return row.difference_low is not None and row.difference_low > row.tolerance


# -- tables
# --------------------------------------------------------------------------------------------------


def _by_table(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found = group_by(rows, lambda row: row.table)
    return {name: found[name] for name in reversed(LOADERS) if name in found}


def _about(rows: Sequence[Row]) -> str:
    words = (LOADERS[rows[0].table].__doc__ or "").partition(" path:")[0]
    return f"{words} Fitted to {rows[0].fitted:,}, held out {rows[0].held_out:,}."


def _tables(rows: Sequence[Row]) -> Iterable[Part]:
    for constraint, tolerance in CONSTRAINTS.items():
        heads = [
            "rule",
            "setting",
            "fitted error",
            "leakage",
            "above the least",
            "held-out error",
            "held-out difference",
            "over",
            "seconds",
        ]
        named = group_by(
            [row for row in rows if row.constraint == constraint],
            lambda row: (row.method, row.setting),
        )
        order = sorted(named, key=lambda key: (key[1] == "aware", _ORDER.index(key[0])))
        wanted = f"tolerance {tolerance:g}" if tolerance else "no difference"
        yield f"**{constraint}**, {wanted}"
        yield Table("", heads, [_line(key, named[key]) for key in order])


def _line(key: tuple[str, str], rows: Sequence[Row]) -> list[str]:
    method, setting = key
    done = [row for row in rows if row.error is not None]
    if not done:
        return [method, setting, *[NOTHING] * 6, rows[0].note]
    solved = f" ({len(done)} of {len(rows)} splits)" if len(done) < len(rows) else ""
    over = NOTHING
    if done[0].tolerance:
        over = f"{sum(map(_over, done))} ({sum(map(_broken, done))}) of {len(done)}"
    judged = [row for row in done if row.fitted_error is not None]
    return [
        method + solved,
        setting,
        _mean(judged, lambda row: row.fitted_error, "{:.5f}"),
        NOTHING
        if not judged
        else scientific(statistics.fmean(row.fitted_leakage or 0.0 for row in judged)),
        NOTHING if not judged else scientific(max(0.0, statistics.fmean(map(_above, judged)))),
        _mean(done, lambda row: row.error, "{:.5f}"),
        _mean(done, lambda row: row.difference, "{:.4f}"),
        over,
        span(statistics.median(row.seconds or 0.0 for row in done))
        if method != "plain"
        else NOTHING,
    ]


def _mean(rows: Sequence[Row], value: Callable[[Row], float | None], style: str) -> str:
    found = [number for row in rows if (number := value(row)) is not None]
    return style.format(statistics.fmean(found)) if found else NOTHING


# -- figures
# --------------------------------------------------------------------------------------------------


def _plane(rows: Sequence[Row], constraint: str) -> Figure:
    """Held-out error against held-out difference on the largest table, a mark for each split."""
    table = max(rows, key=lambda row: row.fitted).table if rows else ""
    chosen = [
        row
        for row in rows
        if row.table == table and row.constraint == constraint and row.difference is not None
    ]
    # Its marks lie on those of its program.
    chosen = [row for row in chosen if row.method != _PUBLISHED]
    series = []
    named = group_by(chosen, lambda row: (row.method, row.setting))
    # On top of what agrees with it.
    for method, setting in sorted(named, key=lambda key: key[0] == "discreet"):
        own = named[method, setting]
        x = tuple(row.difference or 0.0 for row in own)
        y = tuple(row.error if row.error is not None else math.nan for row in own)
        aware = setting == "aware"
        label = f"{method}, told the group" if aware else method
        series.append(Series(label, x, y, "points", _ORDER.index(method), hollow=aware))
    told = "; ".join(
        f"{each.label}: difference {statistics.fmean(each.x):.3g}, error "
        f"{statistics.fmean(each.y):.4g}"
        for each in series
    )
    tolerance = CONSTRAINTS[constraint]
    name = constraint.replace(" ", "-")
    people = max((row.held_out for row in chosen), default=0)
    subtitle = f"{table}, {people:,} people held out; a mark for each split"
    if tolerance and series:
        errors = [value for each in series for value in each.y]
        series.append(
            Series("tolerance", (tolerance, tolerance), (min(errors), max(errors)), "line", 5)
        )
    x_label = "largest difference of rates between groups"
    description = f"Held-out error against difference of rates. {told}."
    far = bool(series) and not tolerance and all(value > 0.0 for each in series for value in each.x)
    return Figure(
        name,
        f"Error and {constraint}",
        subtitle,
        x_label,
        "error",
        tuple(series),
        description,
        log_x=far,
        log_y=far,
    )


_LIMITATIONS = (
    "Five tables say little about other populations, and the splits of one table are not independent.",
    "Held-out people come from the same table as the fitted ones, so no change of the population is measured.",
    TIMES,
)
