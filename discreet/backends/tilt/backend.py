"""The `tilt` backend: the structured interior point behind the contract of a backend.

It serves every budget. Problems of few outcomes are solved whole and answered by a matrix. Many
outcomes, in arrays or blocks, are solved in rounds and answered by a rule; they need not be in
memory. Linear measures use small linear programs instead of the interior point. Where the
Bayes rule already keeps the budget (always when X has one value or there is one guess) that rule is
optimal and returned as it is, with no tilt.

A budget that double precision cannot distinguish from 0 is solved as perfect privacy. Rounding may
leak more than such a budget; the answer is then blended with the best constant guess until it keeps
the budget.

Source: discreet, docs/theory.md, sections 13, 14 and 18.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from discreet.backends.continuation import price_of_perfect
from discreet.backends.contract import (
    Answer,
    Capabilities,
    Duals,
    Kind,
    Options,
    Raw,
    Regime,
    Unlifted,
)
from discreet.backends.precision import Precision
from discreet.backends.repairs import constant_share, within_budget
from discreet.backends.settings import choice, number
from discreet.backends.slack import SLACK, bayes_answer
from discreet.backends.tilt.crossover import crossover
from discreet.backends.tilt.model import Ending, Point
from discreet.backends.tilt.program import is_linear
from discreet.backends.tilt.rounds import (
    ROUNDS_FROM,
    WorkLimits,
    first_retained,
    solve_in_rounds,
    solve_whole,
)
from discreet.backends.tilt.statement import rule_of
from discreet.backends.tilt.vertex import is_entropic
from discreet.measures.registry import CONDITIONAL, OTHERS
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import normalise
from discreet.problems.blocks import BlockProblem
from discreet.problems.outcome_rules import OutcomeRule
from discreet.problems.problem import Problem

_KERNELS = {"auto": None, "numpy": False, "compiled": True}


class Tilt(Unlifted):
    """Structured primal–dual interior point. It contains no 1/ε, so tiny budgets are as easy as
    large ones.
    """

    name = "tilt"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=100_000_000,
        gives_duals=True,
        method="structured primal–dual interior point, on aggregates when there are many outcomes",
        citation=(
            "discreet, docs/theory.md; predictor–corrector: S. Mehrotra, SIAM J. Optim. 2 "
            "(1992) 575–601"
        ),
        kinds=frozenset({Kind.ARRAYS, Kind.BLOCKS}),
        method_class="structured",
        measures=OTHERS | frozenset(CONDITIONAL),
        several=True,
        settings={
            "threads": (
                "cores for the passes over many outcomes (default: all; one for arrays of "
                "up to a million outcomes)"
            ),
            "kernels": "numpy, compiled (numba), or auto: compiled where that pays (default)",
        },
    )

    def lower(self, problem: Problem | BlockProblem, options: Options) -> Problem | BlockProblem:
        """Keep arrays of few outcomes, and convert everything else to blocks."""
        if problem.kind is Kind.ARRAYS and _has_many(problem):
            return BlockProblem.of(problem)
        return problem

    def solve(self, lowered: Problem | BlockProblem, options: Options) -> Raw[Answer]:
        """Iterate to a fraction of the requested gap, or as far as double precision allows."""
        precision = Precision.of(lowered, options.gap)
        limits = _limits(options)
        if lowered.kind is Kind.ARRAYS:
            return _whole(lowered, precision, limits)
        return _in_blocks(lowered, precision, limits)

    def continue_from(
        self, problem: Problem, options: Options, starts: Iterable[Duals]
    ) -> Raw[Answer] | None:
        """Return the solution close to predicted duals; None if the problem has to be solved from
        scratch.

        For mutual information with two guesses and two private values, and for linear measures with
        few outcomes, this is usually the vertex closest to the duals, which the judge proves;
        otherwise the interior point is as fast from scratch. With more outcomes the rounds start
        from the most likely duals.
        """
        precision = Precision.of(problem, options.gap)
        if precision.unresolved:
            return None
        if (slack := bayes_answer(problem, precision)) is not None:
            return Raw(SLACK, slack, 0)
        entropic = is_entropic(problem)
        many = _has_many(problem)
        if (entropic and problem.n == problem.m == 2) or (is_linear(problem) and not many):
            deadline = options.deadline()
            vertices = (
                crossover(problem, *duals, precision, deadline=deadline) for duals in starts
            )
            answers = (
                Answer(at.columns, at.tilt, at.multipliers) for at in vertices if at is not None
            )
            return next((Raw("optimal (continued)", answer, 0) for answer in answers), None)
        first = next(iter(starts), None)
        if first is None or not (entropic or many):
            return None
        # a prediction may be far from the optimum
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            raw = _in_blocks(BlockProblem.of(problem), precision, _limits(options), first)
        return replace(raw, claimed="optimal (continued)") if raw.claimed == "optimal" else None


def _has_many(problem: Problem | BlockProblem) -> bool:
    """Return True if there are enough outcomes for rounds to pay."""
    return problem.N >= ROUNDS_FROM * first_retained(problem.n, problem.m)


def _limits(options: Options) -> WorkLimits:
    threads = number(options, Tilt.name, "threads", int, 0)
    kernels = choice(options, Tilt.name, "kernels", _KERNELS, "auto")
    return WorkLimits(
        options.max_iterations or 100,
        options.deadline(),
        threads,
        _KERNELS[kernels],
        options.progress,
    )


def _whole(problem: Problem, precision: Precision, limits: WorkLimits) -> Raw[Answer]:
    """Return an answer with a matrix. Outcomes and private values need positive probability."""
    resolved = precision.resolvable(problem) if precision.unresolved else problem
    if bayes_answer(problem, precision) or (
        resolved is not problem and bayes_answer(resolved, precision)
    ):
        point = Point.bayes(problem)
        ending = Ending(SLACK)
        # Otherwise there are more private estimators.
        laws = zip(resolved.terms, problem.bayes_law.constraints, strict=True)
        done = not any(
            group.deviation.any()
            for term, groups in laws
            if term.budget.perfect
            for group in groups
        )
    else:
        (point, ending) = solve_whole(resolved, precision, precision.bracket, limits)
        done = False
    columns = point.columns if done else within_budget(problem, point.columns, precision.bracket)
    if not (done or ending.optimal):
        columns = _like_bayes(problem, point.columns, precision.bracket, columns)
    return Raw(
        ending.reason, _answer(columns, point.tilt, point.multipliers, problem), ending.iterations
    )


def _like_bayes(problem: Problem, drawn: Array, gap: float, columns: Array) -> Array:
    """Return an estimator [m, N] that randomises among guesses of minimal loss, with the error of
    the Bayes rule, if it keeps the budgets; else `columns`.

    If the optimal error is almost zero, a bracket relative to it does not become narrow.
    """
    least = problem.loss.min(axis=0)
    tied = problem.loss - least <= gap * problem.bayes_error / problem.N
    kept = within_budget(problem, normalise(drawn * tied), gap)
    as_bayes = problem.error_probability(kept) <= problem.bayes_error * (1.0 + gap)
    return kept if as_bayes else columns


def _in_blocks(
    problem: BlockProblem,
    precision: Precision,
    limits: WorkLimits,
    start: tuple[Array, Array] | None = None,
) -> Raw[Answer]:
    """Return an answer with a rule. start: duals that may be nearly optimal."""
    resolved = precision.resolvable(problem) if precision.unresolved else problem
    ended = solve_in_rounds(resolved, precision, limits, start)
    rule = rule_of(resolved, ended, precision, limits)
    if precision.unresolved:
        columns = ended.result.source.scan.columns
        small = Problem.of_rows(columns[: problem.n], columns[problem.n :], problem.terms)
        rule = rule.blended(*constant_share(small, ended.result.point.columns))
    return Raw(
        ended.ending.reason,
        _answer(rule, *ended.duals, problem),
        ended.ending.iterations,
        ended.passes,
    )


def _answer(
    estimator: Array | OutcomeRule,
    tilt: Array,
    multipliers: Array,
    problem: Problem | BlockProblem,
) -> Answer:
    """Return the answer. If perfect privacy was solved instead of a tiny budget, μ is the cheapest
    multiplier for that tilt.
    """
    prices = multipliers.copy()
    for c, term in enumerate(problem.terms):
        if math.isinf(prices[c]) and term.budget.amount > 0.0:
            prices[c] = price_of_perfect(tilt[:, term.rows], problem.p_x[term.rows], term)
    return Answer(estimator, tilt, prices)
