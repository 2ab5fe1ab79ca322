"""The answer of the rounds as a rule: a tilt and a few ties, or tie classes of outcomes that decide together.

Many outcomes may agree in margin to more digits than a tilt can tell apart; which of them randomise is then not determined.
All outcomes within a band of margin and of the same two best guesses form a *tie class* with one column. That is a
restriction like that of cells, so the rule stays feasible. Of the bands that the last pass distinguishes, the narrowest
whose optimum is within the gap is taken, else the one of least error.

Source: discreet, docs/theory.md, section 18 (ties and tie classes).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.backends.precision import Precision
from discreet.backends.tilt.cells import SHELLS, Scan, classified, shell_top
from discreet.backends.tilt.passes import scan
from discreet.backends.tilt.point import Grouping
from discreet.backends.tilt.rounds import MOST_RETAINED, Ended, Found, Limits, solve_whole
from discreet.problems.blocks import BlockProblem
from discreet.problems.constraint import LeakageBudget
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.tilted_losses import in_order_losses
from discreet.problems.rule import Rule


def rule_of(problem: BlockProblem, ended: Ended, precision: Precision, limits: Limits) -> Rule:
    """The rule that states what the rounds found."""
    found, (tilt, _), last = ended.found, ended.duals, ended.proof
    if found.vertex:
        return _listing(found.point.tilt, found.source.scan, found.point.columns)
    listing = _listing(tilt, found.source.scan, found.point.columns)
    if not found.source.scan.counts.size:
        return listing
    passed = last.scan  # unless the rounds ended without a pass under their last tilt
    if passed.tilt is not tilt:
        passed = scan(problem.blocks, tilt, -1.0, threads=limits.threads, compiled=limits.compiled)
    classes = _with_classes(problem, passed, tilt, found.upper, precision, limits)
    if classes is not None and classes[0] <= found.upper * (1.0 + precision.bracket):
        return classes[1]
    if problem.N <= MOST_RETAINED:
        return _members(problem, found, tilt)
    return listing if classes is None else classes[1]


def _members(problem: BlockProblem, found: Found, tilt: Array) -> Rule:
    """The rule that gives every outcome its column; the outcomes are read all at once."""
    source, columns = found.source.scan, found.point.columns
    chunks = [np.concatenate(chunk.read()) for chunk in problem.blocks.chunks()]
    p_xz, loss = np.split(np.concatenate(chunks, axis=1), [problem.n])
    key = classified(p_xz, loss, source.tilt, source.screen)[1]
    place = source.retained.size + np.minimum(np.searchsorted(source.keys, key), source.keys.size - 1)
    place[source.retained] = np.arange(source.retained.size)
    return Rule.of(tilt, columns[:, place], p_xz, loss)


def _listing(tilt: Array, passed: Scan, columns: Array) -> Rule:
    """The rule of a tilt with the columns of those retained outcomes that randomise or, equal in margin, go another way."""
    n, count = tilt.shape[1], passed.retained.size
    held = passed.columns[:, :count]
    labels = np.argmin(in_order_losses(held[:n], held[n:], tilt), axis=0)
    ties = np.flatnonzero(columns[labels, np.arange(count)] < 1.0)
    return Rule(tilt, passed.retained[ties], columns[:, ties])


def _with_classes(
    problem: BlockProblem, passed: Scan, tilt: Array, reached: float, precision: Precision, limits: Limits
) -> tuple[float, Rule] | None:
    """Error probability and rule with tie classes under the tilt of a pass; None if no band can meet the budget."""
    n, count = problem.n, passed.retained.size
    _, keys, _ = classified(passed.columns[:n, :count], passed.columns[n:, :count], tilt)
    keys = np.concatenate([keys, passed.keys])
    screened = np.concatenate([np.zeros(count, bool), passed.screened])
    shell = np.where(screened, SHELLS, keys % SHELLS)
    best: tuple[float, Rule] | None = None
    for last in np.unique(shell[shell < SHELLS]).tolist():
        tried = _banded(problem, passed.columns, keys // SHELLS, shell <= last, precision, limits)
        if tried is not None and (best is None or tried[0] < best[0]):
            best = tried[0], Rule(tilt, band=float(shell_top(last)), tie_classes=tried[1])
        enough = best is not None and best[0] <= reached * (1.0 + precision.small)
        if enough or limits.late or (best is not None and tried is not None and tried[0] > best[0] * (1.0 + precision.gap)):
            break
    return best


def _banded(
    problem: BlockProblem,
    columns: Array,
    pair: NDArray[np.intp],
    within: NDArray[np.bool_],
    precision: Precision,
    limits: Limits,
) -> tuple[float, Array] | None:
    """Error probability and columns [m·m, m] of the classes, by pair, of the outcomes and cells within the band."""
    n, m = problem.n, problem.m
    best, second = pair // m, pair % m
    both = np.minimum(best, second) * m + np.maximum(best, second)  # both orders of a pair are one class
    classes = Grouping.of(np.where(within, m + both, best))
    small = classes.problem(columns[:n], columns[n:], LeakageBudget(problem.budget * (1.0 - precision.summed)))
    if small.bayes_leakage <= small.budget:
        return None
    point, ending = solve_whole(small, precision, precision.small, limits)
    if not ending.optimal:
        return None
    found, sure = point.columns, point.columns.max(axis=0) >= 1.0 - precision.bracket
    found[:, sure] = np.eye(m)[:, np.argmax(found[:, sure], axis=0)]
    determined = classes.keys < m
    own = bool((found[classes.keys[determined], np.flatnonzero(determined)] == 1.0).all())
    if not own or small.leakage(found) > problem.budget:
        return None
    drawn = np.repeat(np.eye(m), m, axis=0)
    for place in np.flatnonzero(~determined):
        i, k = divmod(int(classes.keys[place]) - m, m)
        drawn[[i * m + k, k * m + i]] = found[:, place]
    return small.error_probability(found), drawn
