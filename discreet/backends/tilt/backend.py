"""The `tilt` backend: the structured interior point behind the contract of a backend.

It serves every budget. Where the Bayes rule already keeps the budget (always when X has one value or there is one guess)
that rule is optimal and returned as it is, with no tilt. It does not yet stream, and works on all outcomes at once.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime
from discreet.backends.slack import bayes_answer
from discreet.backends.tilt.condense import Condensed, condense
from discreet.backends.tilt.interior_point import Outcome, solve_interior
from discreet.backends.tilt.model import Model, model_of
from discreet.problems.accurate import Array
from discreet.problems.problem import Problem

__all__ = ["Tilt"]

_MAX_ITERATIONS = 100
_MARGIN = 0.1  # of the asked gap: what the iteration aims at, since the judge adds its roundings
_RARE = 0.01  # of the asked gap: what merging the rarest outcomes may cost
_FINEST_GAP = 1e-13


@dataclass(frozen=True, eq=False)
class _Lowered:
    """The condensed problem with its Bayes rule, and the model (None when the Bayes rule keeps the budget)."""

    condensed: Condensed
    bayes: Array
    model: Model | None


class Tilt:
    """Structured primal–dual interior point; no 1/ε anywhere, so tiny budgets are as easy as large ones."""

    name = "tilt"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=5_000_000,
        gives_duals=True,
        method="structured primal–dual interior point",
        citation="discreet, docs/theory.md; predictor–corrector: S. Mehrotra, SIAM J. Optim. 2 (1992) 575–601",
    )

    def lower(self, problem: Problem, options: Options) -> _Lowered:
        """Centre and scale the problem, unless the Bayes rule already keeps the budget."""
        if bayes_answer(problem) is not None:
            return _Lowered(Condensed(problem, None), problem.bayes_estimator, None)
        condensed = condense(problem, _RARE * options.gap)
        return _Lowered(condensed, condensed.problem.bayes_estimator, model_of(condensed.problem))

    def solve(self, lowered: _Lowered, options: Options) -> Raw:
        """Iterate to a tenth of the asked gap, or as far as double precision goes."""
        if lowered.model is None:
            problem = lowered.condensed.problem
            outcome = Outcome(
                lowered.bayes, np.zeros((problem.m, problem.n)), 0.0, 0, "optimal: the Bayes rule keeps the budget"
            )
            return Raw(outcome.ended, (lowered.condensed, outcome), 0)
        deadline = None if options.time_limit is None else time.perf_counter() + options.time_limit
        outcome = solve_interior(
            lowered.model,
            lowered.bayes,
            gap=max(_FINEST_GAP, _MARGIN * options.gap),
            max_iterations=options.max_iterations or _MAX_ITERATIONS,
            deadline=deadline,
        )
        return Raw(outcome.ended, (lowered.condensed, outcome), outcome.iterations)

    def lift(self, raw: Raw) -> Answer:
        """The estimator, tilt and multiplier as they stand."""
        condensed, outcome = raw.value
        multiplier = None if math.isinf(outcome.multiplier) else outcome.multiplier
        return Answer(condensed.restore(outcome.estimator), outcome.tilt, multiplier)
