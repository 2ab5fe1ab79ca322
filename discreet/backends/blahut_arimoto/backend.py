"""Backend `blahut-arimoto`: it chooses the loop, runs it, and returns the best answer met."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.backends.blahut_arimoto.outcomes import Bracket, Outcomes
from discreet.backends.blahut_arimoto.plain import plain_sweeps
from discreet.backends.blahut_arimoto.proximal import proximal_sweeps
from discreet.backends.blahut_arimoto.several import Secrets, sweeps
from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime, Unlifted
from discreet.backends.precision import Precision
from discreet.backends.repairs import within_budget
from discreet.backends.settings import choice
from discreet.backends.slack import SLACK, bayes_answer
from discreet.problems.constraint import is_plain
from discreet.problems.numerics.estimators import normalise
from discreet.problems.problem import Problem


@dataclass(frozen=True)
class _Lowered:
    problem: Problem
    precision: Precision
    outcomes: Outcomes | Secrets
    acceleration: str


class BlahutArimoto(Unlifted):
    """Sweeps that multiply an estimator and normalise it, to a certified gap.

    acceleration "none" runs the constrained fixed-point sweeps of `plain`: every iterate keeps the
    budget, the error probability never rises, and the gap falls like one over the number of sweeps.
    "proximal", the default, runs the exact sweeps of `proximal`. At budget 0 the fixed-point step
    vanishes with 1/μ, so both run exact sweeps, "none" with a constant step, and so they do with
    several secrets or groups of rows. The answer is the best feasible estimator and the best duals
    met, whatever ended the run.
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
            "sweeps (at budget 0: proximal sweeps of constant step)"
        },
    )

    def lower(self, problem: Problem, options: Options) -> _Lowered:
        """Conditional losses and features per unit of mass; raises InputError for an unknown
        acceleration.
        """
        acceleration = choice(options, self.name, "acceleration", ("proximal", "none"), "proximal")
        precision = Precision.at(problem, 0, options.gap)
        plain = is_plain(problem.terms)
        outcomes = Outcomes.of(problem, precision) if plain else Secrets.of(problem, options.gap)
        return _Lowered(problem, precision, outcomes, acceleration)

    def solve(self, lowered: _Lowered, options: Options) -> Raw[Answer]:
        """Iterate until the bracket is as narrow as asked or a limit is reached."""
        deadline = options.deadline()
        if isinstance(lowered.outcomes, Secrets):
            return _several(lowered, lowered.outcomes, options, deadline)
        slack = bayes_answer(lowered.problem, lowered.precision)
        if slack is not None:
            return Raw(SLACK, slack, 0)
        outcomes = lowered.outcomes
        accelerated = lowered.acceleration == "proximal"
        most = options.max_iterations or (3_000 if accelerated else 200_000)
        bracket = Bracket(outcomes, lowered.precision.small, most, deadline)
        with np.errstate(under="ignore"):
            if outcomes.perfect or accelerated:
                claimed = proximal_sweeps(outcomes, bracket, growing=accelerated)
            else:
                claimed = plain_sweeps(outcomes, bracket)
        anchors = () if outcomes.perfect else (bracket.leak_free,)
        estimator = normalise(bracket.estimator)
        duals = bracket.duals
        kept = within_budget(lowered.problem, estimator) if outcomes.perfect else estimator
        return Raw(
            claimed, Answer(kept, duals.tilt, np.array([duals.multiplier]), anchors), bracket.passes
        )


def _several(lowered: _Lowered, secrets: Secrets, options: Options, deadline: float) -> Raw[Answer]:
    """The sweeps for several secrets, or groups of one."""
    problem = lowered.problem
    prices = np.where(secrets.budget == 0.0, math.inf, 0.0)
    if all(
        most <= budget
        for most, budget in zip(problem.bayes_leakages, secrets.budget.tolist(), strict=True)
    ):
        slack = Answer(problem.bayes_estimator, np.zeros((problem.m, problem.n)), prices)
        return Raw(SLACK, slack, 0)
    bracket = Bracket(secrets, lowered.precision.small, options.max_iterations or 3_000, deadline)
    with np.errstate(under="ignore"):
        claimed = sweeps(secrets, bracket, growing=lowered.acceleration == "proximal")
    tilt, found = bracket.duals
    multiplier = np.asarray(found) + np.zeros_like(prices) if np.any(tilt) else prices
    return Raw(
        claimed,
        Answer(normalise(bracket.estimator), tilt, multiplier, (bracket.leak_free,)),
        bracket.passes,
    )
