"""Represent the result of the rounds as a rule: a tilt with a few ties, or with tie classes of
outcomes that randomise together.

The margins of many outcomes may agree in more digits than a tilt can resolve; which of these
outcomes randomise is then not determined. All outcomes within a band of margins that share their
two best guesses form a *tie class* with one common column. Like cells, classes restrict the
estimator, so the rule stays feasible. The band is the narrowest one, among those that the last
pass distinguishes, whose optimum is within the gap, or else the one with the smallest error.

Source: discreet, docs/theory.md, section 18 (ties and tie classes).
"""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import NDArray

from discreet.backends.precision import Precision
from discreet.backends.repairs import amounts_to_keep
from discreet.backends.tilt.passes import (
    SHELLS,
    TIES,
    Grouping,
    Pass,
    Scan,
    classify,
    scan,
    shell_top,
)
from discreet.backends.tilt.rounds import MOST_RETAINED, Ended, RoundResult, WorkLimits, solve_whole
from discreet.numerics.double_double import Array
from discreet.problems.blocks import BlockProblem
from discreet.problems.outcome_rules import OutcomeRule
from discreet.problems.outcomes import is_stored
from discreet.problems.problem import Problem


def rule_of(
    problem: BlockProblem, ended: Ended, precision: Precision, limits: WorkLimits
) -> OutcomeRule:
    """Return the rule that represents the result of the rounds."""
    best = ended.result
    (tilt, _) = ended.duals
    passed = ended.proof.scan
    if best.vertex or not best.source.scan.counts.size:
        return _listing(
            best.point.tilt if best.vertex else tilt, best.source.scan, best.point.columns
        )
    if passed.tilt is not tilt:  # the rounds ended without a pass under their last tilt
        request = Pass(tilt)
        passed = scan(problem.blocks, request, threads=limits.threads, compiled=limits.compiled)
    classes = _in_classes(problem, passed, best.upper, precision, limits)
    if classes is not None and classes[0] <= best.upper * (1.0 + precision.bracket):
        return classes[1]
    if problem.N <= MOST_RETAINED or is_stored(problem.blocks):
        return _members(problem, best, tilt)
    return _listing(tilt, best.source.scan, best.point.columns) if classes is None else classes[1]


def _listing(tilt: Array, passed: Scan, columns: Array) -> OutcomeRule:
    """Return the rule of a tilt, with the columns of those retained outcomes that randomise or,
    having equal margins, deviate from the tilt.
    """
    n = tilt.shape[1]
    count = passed.retained.size
    rule = OutcomeRule.of(
        tilt, columns[:, :count], passed.columns[:n, :count], passed.columns[n:, :count]
    )
    return OutcomeRule(tilt, passed.retained[rule.ties], rule.columns)


def _members(problem: BlockProblem, result: RoundResult, tilt: Array) -> OutcomeRule:
    """Return the rule that lists the column of every outcome that deviates from the tilt."""
    source = result.source.scan
    columns = result.point.columns
    count = source.retained.size
    ties = [np.zeros(0, dtype=np.int64)]
    drawn = [np.zeros((problem.m, 0))]
    for chunk in problem.blocks.chunks():
        p_xz, loss = chunk.read()
        key = classify(p_xz, loss, source.tilt, source.screen)[1]
        place = count + np.minimum(np.searchsorted(source.keys, key), source.keys.size - 1)
        inside = slice(
            *np.searchsorted(source.retained, (chunk.start, chunk.start + chunk.count)).tolist()
        )
        place[source.retained[inside] - chunk.start] = np.arange(count)[inside]
        rule = OutcomeRule.of(tilt, columns.take(place, axis=1), p_xz, loss)
        ties.append(chunk.start + rule.ties)
        drawn.append(rule.columns)
    return OutcomeRule(tilt, np.concatenate(ties), np.concatenate(drawn, axis=1))


def _in_classes(
    problem: BlockProblem, passed: Scan, reached: float, precision: Precision, limits: WorkLimits
) -> tuple[float, OutcomeRule] | None:
    """Return the error probability and rule of the best band, or of the first whose error is as
    small as `reached`; None if no band keeps the budget.
    """
    n = problem.n
    m = problem.m
    count = passed.retained.size
    _, retained, _ = classify(passed.columns[:n, :count], passed.columns[n:, :count], passed.tilt)
    keys = np.concatenate([retained, passed.keys])
    label, second = np.divmod(keys // SHELLS, m)
    # Screened outcomes are in no band.
    shell = np.where(label == second, SHELLS, np.maximum(keys % SHELLS, TIES - 1))
    # Both orders of a pair form one class.
    pair = m + np.minimum(label, second) * m + np.maximum(label, second)
    best: tuple[float, OutcomeRule] | None = None
    for last in np.unique(shell[shell < SHELLS]).tolist():
        if shell_top(last) > passed.screen:  # beyond this margin some outcomes are screened
            break
        if (
            tried := _draw_columns(
                problem, passed.columns, np.where(shell <= last, pair, label), precision, limits
            )
        ) is not None:
            error, columns = tried
            if best is not None and error > best[0] * (1.0 + precision.gap):
                break
            if best is None or error < best[0]:
                best = (
                    error,
                    OutcomeRule(passed.tilt, band=float(shell_top(last)), tie_classes=columns),
                )
            if best[0] <= reached * (1.0 + precision.bracket):
                break
        if limits.late:
            break
    return best


def _draw_columns(
    problem: BlockProblem,
    columns: Array,
    group: NDArray[np.intp],
    precision: Precision,
    limits: WorkLimits,
) -> tuple[float, Array] | None:
    """Return the error probability and the columns [m·m, m] of pairs, where groups below m get
    their label and classes randomise.
    """
    n = problem.n
    m = problem.m
    classes = Grouping.of(group)
    terms = tuple(term.tightened(precision.summed) for term in problem.terms)
    small = Problem.of_rows(classes.merge(columns[:n]), classes.merge(columns[n:]), terms)
    if _keeps(small, small.bayes_leakages):
        return None
    point, ending = solve_whole(small, precision, precision.small, limits)
    if not ending.optimal:
        return None
    drawn_columns = point.columns
    sure = point.columns.max(axis=0) >= 1.0 - precision.bracket
    drawn_columns[:, sure] = np.eye(m)[:, np.argmax(drawn_columns[:, sure], axis=0)]
    determined = classes.keys < m
    own = bool((drawn_columns[classes.keys[determined], np.flatnonzero(determined)] == 1.0).all())
    if not own or not _keeps(problem, small.leakages(drawn_columns)):
        return None
    drawn = np.repeat(np.eye(m), m, axis=0)
    for place in np.flatnonzero(~determined):
        i, k = divmod(int(classes.keys[place]) - m, m)
        drawn[[i * m + k, k * m + i]] = drawn_columns[:, place]
    return small.error_probability(drawn_columns), drawn


def _keeps(problem: Problem | BlockProblem, leakages: Array) -> bool:
    return all(map(operator.le, leakages.tolist(), amounts_to_keep(problem)))
