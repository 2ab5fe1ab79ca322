"""Backend `blahut-arimoto`: it chooses the iteration, runs it, and returns the best answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.backends.blahut_arimoto.bracket import Bracket, Outcomes
from discreet.backends.blahut_arimoto.plain import plain_sweeps
from discreet.backends.blahut_arimoto.proximal import proximal_sweeps
from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime, Unlifted
from discreet.backends.precision import Precision
from discreet.backends.repairs import within_budget
from discreet.backends.settings import choice
from discreet.backends.slack import SLACK, bayes_answer
from discreet.numerics.estimators import normalise
from discreet.problems.problem import Problem


@dataclass(frozen=True)
class _Lowered:
    problem: Problem
    precision: Precision
    outcomes: Outcomes
    acceleration: str

    @property
    def plain(self) -> bool:
        """True if the plain sweeps run: they are requested, and exactly one constraint, with a
        positive budget, bounds the guess.
        """
        outcomes = self.outcomes
        bounded = np.isfinite(outcomes.budget).sum()
        return self.acceleration == "none" and bounded == outcomes.priced.size == 1


class BlahutArimoto(Unlifted):
    """Sweeps that multiply an estimator and normalise it, to a certified gap.

    acceleration "none" runs the constrained fixed-point sweeps of `plain`: every iterate satisfies
    the budget, the error probability never increases, and the gap decreases like one over the
    number of sweeps. "proximal", the default, runs the exact sweeps of `proximal`. At budget 0 the
    fixed-point step vanishes with 1/μ, so both run exact sweeps, "none" with a constant step; the
    same applies to several constraints. The answer is the best feasible estimator and the best
    duals, whatever ended the run.
    """

    name = "blahut-arimoto"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=1_000_000,
        gives_duals=True,
        method=(
            "constrained Blahut–Arimoto sweeps; accelerated: exact entropic proximal sweeps, "
            "Newton on m·n + 1 duals"
        ),
        citation=(
            "Blahut 1972, Arimoto 1972; Chen et al., arXiv 2305.02650; Tseng, Bertsekas, "
            "Math. Program. 60 (1993)"
        ),
        method_class="fixed point",
        measures=frozenset({"conditional-mutual-information"}),
        several=True,
        settings={
            "acceleration": '"proximal" (default): exact proximal sweeps of growing step; "none": '
            "the plain fixed-point "
            "sweeps (at budget 0 and under several constraints: proximal sweeps of constant step)"
        },
    )

    def lower(self, problem: Problem, options: Options) -> _Lowered:
        """Return conditional losses and features per unit of mass; raises InputError for an unknown
        acceleration.
        """
        acceleration = choice(options, self.name, "acceleration", ("proximal", "none"), "proximal")
        precision = Precision.of(problem, options.gap)
        return _Lowered(problem, precision, Outcomes.of(problem, options.gap), acceleration)

    def solve(self, lowered: _Lowered, options: Options) -> Raw[Answer]:
        """Iterate until the bracket is as narrow as requested or a limit is reached."""
        slack = bayes_answer(lowered.problem, lowered.precision)
        if slack is not None:
            return Raw(SLACK, slack, 0)
        outcomes = lowered.outcomes
        most = options.max_iterations or (200_000 if lowered.plain else 3_000)
        bracket = Bracket(outcomes, lowered.precision.small, most, options.deadline())
        with np.errstate(under="ignore"):
            if lowered.plain:
                claimed = plain_sweeps(outcomes, bracket)
            else:
                growing = lowered.acceleration == "proximal"
                claimed = proximal_sweeps(outcomes, bracket, growing=growing)
        estimator = normalise(bracket.estimator)
        if (outcomes.budget == 0.0).any():
            estimator = within_budget(lowered.problem, estimator)
        anchors = (bracket.leak_free,) if outcomes.priced.size else ()
        return Raw(claimed, Answer(estimator, *bracket.prices, anchors), bracket.passes)
