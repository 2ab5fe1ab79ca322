"""The `tilt` backend: the structured interior point behind the contract of a backend.

It serves every budget. Where the Bayes rule already keeps the budget (always when X has one value or there is one guess)
that rule is optimal and returned as it is, with no tilt. All outcomes have to be in memory.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Known, Options, Raw, Regime
from discreet.backends.settings import choice, whole
from discreet.backends.slack import bayes_answer
from discreet.backends.tilt.aggregation import NO_BUDGET, individuals, price_of_nothing, solve_aggregated, spread
from discreet.backends.tilt.condense import RARE, Condensed, condense
from discreet.backends.tilt.finish import shortcut
from discreet.backends.tilt.follow import follow
from discreet.backends.tilt.interior_point import Outcome, solve_interior
from discreet.backends.tilt.model import Model, model_of
from discreet.backends.tilt.rescue import rescued
from discreet.problems.blocks import BlockProblem
from discreet.problems.measures.leak_free import remove_leakage, share_within
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.estimators import column_error, normalise
from discreet.problems.problem import Problem

__all__ = ["Tilt"]

_KERNELS = {"auto": None, "numpy": False, "compiled": True}
_MAX_ITERATIONS = 100
_MARGIN = 0.1  # of the asked gap: what the iteration aims at, since the judge adds its roundings
_AGGREGATE_MARGIN = 0.5  # the same for aggregates, whose bracket is exact
_AGGREGATE_FROM = 16  # times the outcomes that a first round keeps individually
_THREADS_FROM = 1 << 20  # outcomes from which a pass takes longer than sharing it out
_FINEST_GAP = 1e-13


@dataclass(frozen=True, eq=False)
class _Lowered:
    """The problem; whether the Bayes rule keeps its budget; and, if it is solved whole, its condensed form and model.

    budget: the one asked for, where it is so small that perfect privacy is solved in its place.
    """

    problem: Problem
    slack: bool
    condensed: Condensed | None = None
    model: Model | None = None
    budget: float = 0.0


class Tilt:
    """Structured primal–dual interior point; no 1/ε anywhere, so tiny budgets are as easy as large ones."""

    name = "tilt"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=100_000_000,
        gives_duals=True,
        method="structured primal–dual interior point, on aggregates when there are many outcomes",
        citation="discreet, docs/theory.md; predictor–corrector: S. Mehrotra, SIAM J. Optim. 2 (1992) 575–601",
        method_class="structured",
        settings={
            "threads": "cores for the passes over many outcomes (default: all, from a million outcomes)",
            "kernels": "numpy, compiled (numba), or auto: compiled where that pays (default)",
        },
    )

    def lower(self, problem: Problem, options: Options) -> _Lowered:
        """Centre and scale the problem, unless the Bayes rule keeps the budget or outcomes are many enough to aggregate."""
        if problem.N >= _AGGREGATE_FROM * individuals(problem.n, problem.m):
            return _Lowered(problem, False, budget=problem.budget if 0.0 < problem.budget < NO_BUDGET else 0.0)
        if bayes_answer(problem) is not None:
            return _Lowered(problem, slack=True)
        budget = problem.budget
        if 0.0 < budget < NO_BUDGET:
            problem = problem.with_budget(0.0)
            if bayes_answer(problem) is not None:  # its leakage is rounding
                return _Lowered(problem, slack=True, budget=budget)
        condensed = condense(problem, RARE * options.gap)
        return _Lowered(problem, False, condensed, model_of(condensed.problem), budget)

    def solve(self, lowered: _Lowered, options: Options) -> Raw[Outcome]:
        """Iterate to a share of the asked gap, or as far as double precision goes."""
        problem = lowered.problem
        deadline = None if options.time_limit is None else time.perf_counter() + options.time_limit
        iterations = options.max_iterations or _MAX_ITERATIONS
        if lowered.slack:
            duals = np.zeros((problem.m, problem.n)), 0.0
            outcome = Outcome(problem.bayes_estimator, *duals, 0, "optimal: the Bayes rule keeps the budget")
        elif lowered.model is None:
            threads = whole(options, self.name, "threads", 0) or (1 if problem.N < _THREADS_FROM else 0)
            gap = max(_FINEST_GAP, _AGGREGATE_MARGIN * options.gap)
            blocks = BlockProblem.of(problem)
            wanted = choice(options, self.name, "kernels", _KERNELS, "auto")
            found = solve_aggregated(
                blocks, gap=gap, max_iterations=iterations, deadline=deadline, threads=threads, vertex=True,
                compiled=_KERNELS[wanted],
            )  # fmt: skip
            estimator = spread(blocks.blocks, found, threads=threads)
            outcome = Outcome(estimator, found.tilt, found.multiplier, found.iterations, found.ended)
        else:
            assert lowered.condensed is not None
            gap = max(_FINEST_GAP, _MARGIN * options.gap)
            condensed = lowered.condensed.problem
            outcome = solve_interior(
                lowered.model,
                condensed.bayes_estimator,
                gap=gap,
                max_iterations=iterations,
                deadline=deadline,
                shortcut=shortcut(condensed, gap),
            )
            if options.max_iterations is None:
                outcome = rescued(condensed, outcome, gap, deadline)
            outcome = replace(outcome, estimator=lowered.condensed.restore(outcome.estimator))
            if math.isinf(outcome.multiplier) and lowered.budget > 0.0:
                outcome = replace(outcome, multiplier=price_of_nothing(outcome.tilt, problem.p_x, lowered.budget))
        if lowered.budget > 0.0:
            outcome = replace(outcome, estimator=_kept(problem.with_budget(lowered.budget), outcome.estimator))
        return Raw(outcome.ended, outcome, outcome.iterations)

    def follow(self, problem: Problem, options: Options, known: Sequence[Known]) -> Raw[Outcome] | None:
        """The solution next to other budgets of the same model; None where it has to be solved afresh."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a prediction may be far off
            outcome = follow(problem, known, max(_FINEST_GAP, _AGGREGATE_MARGIN * options.gap))
        return None if outcome is None else Raw(f"{outcome.ended} (followed)", outcome, outcome.iterations)

    def lift(self, raw: Raw[Outcome]) -> Answer:
        """The estimator, tilt and multiplier as they stand."""
        outcome = raw.value
        multiplier = None if math.isinf(outcome.multiplier) else outcome.multiplier
        return Answer(outcome.estimator, outcome.tilt, multiplier)


def _kept(problem: Problem, estimator: Array) -> Array:
    """What a budget that rounding alone may exceed leaves of an estimator [m, N]: all, a blend, or a constant guess."""
    stochastic = normalise(estimator)
    law = problem.output_law(stochastic)
    if law.leakage_ceiling(column_error(stochastic)) <= problem.budget:
        return stochastic
    constant = np.zeros_like(stochastic)
    constant[int(np.argmin(problem.constant_errors))] = 1.0
    ends = [(constant, problem.output_law(constant))]
    projected = remove_leakage(problem.p_xz, stochastic, problem.marginal)
    if projected is not None:
        ends.insert(0, projected)
    for end, its_law in ends:

        def stored(share: float, end: Array = end) -> Array:
            return normalise((1.0 - share) * stochastic + share * end)

        def ceiling(share: float, stored: Callable[[float], Array] = stored) -> float:
            return problem.output_law(stored(share)).leakage_ceiling(column_error(stored(share)))

        share = share_within(law, its_law, problem.budget, 2.0 * (problem.m + 1) * 2.0**-53, ceiling)
        if share is not None:
            return stored(share)
    return constant
