"""Backend `blahut-arimoto`: it runs the sweeps and returns the best answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.backends.blahut_arimoto.bracket import Incumbent, Outcomes
from discreet.backends.blahut_arimoto.proximal import proximal_sweeps
from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime, Unlifted
from discreet.backends.precision import Precision
from discreet.backends.repairs import within_budget
from discreet.backends.slack import SLACK, bayes_answer
from discreet.numerics.estimators import normalise
from discreet.problems.problem import Problem


@dataclass(frozen=True)
class _Lowered:
    problem: Problem
    precision: Precision
    outcomes: Outcomes


class BlahutArimoto(Unlifted):
    """Sweeps that multiply an estimator and normalise it, to a certified gap.

    The answer is the best feasible estimator and the best duals, whatever ended the run.
    """

    name = "blahut-arimoto"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=1_000_000,
        gives_duals=True,
        method=(
            "accelerated Blahut–Arimoto: exact entropic proximal sweeps of growing step, Newton "
            "on m·n + 1 duals"
        ),
        citation=(
            "Blahut 1972, Arimoto 1972; Chen et al., arXiv 2305.02650; Tseng, Bertsekas, "
            "Math. Program. 60 (1993)"
        ),
        method_class="fixed point",
        measures=frozenset({"conditional-mutual-information"}),
        several=True,
    )

    def lower(self, problem: Problem, options: Options) -> _Lowered:
        """Return conditional losses and features per unit of mass."""
        precision = Precision.of(problem, options.gap)
        return _Lowered(problem, precision, Outcomes.of(problem, options.gap))

    def solve(self, lowered: _Lowered, options: Options) -> Raw[Answer]:
        """Iterate until the bracket is as narrow as requested or a limit is reached."""
        slack = bayes_answer(lowered.problem, lowered.precision)
        if slack is not None:
            return Raw(SLACK, slack, 0)
        outcomes = lowered.outcomes
        most = options.max_iterations or 3_000
        incumbent = Incumbent(outcomes, lowered.precision.small, most, options.deadline())
        with np.errstate(under="ignore"):
            claimed = proximal_sweeps(outcomes, incumbent)
        estimator = normalise(incumbent.estimator)
        if (outcomes.budget == 0.0).any():
            estimator = within_budget(lowered.problem, estimator)
        return Raw(claimed, Answer(estimator, *incumbent.prices), incumbent.passes)
