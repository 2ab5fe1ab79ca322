"""The backend `blahut-arimoto`: which loop runs, what is claimed, and what is handed to the judge."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from discreet.backends.blahut_arimoto.iterate import Bracket, Limits, plain_sweeps, proximal_sweeps
from discreet.backends.blahut_arimoto.outcomes import GuessLaw, Outcomes
from discreet.backends.contract import Answer, Capabilities, Options, Raw, Regime
from discreet.backends.settings import choice
from discreet.backends.slack import bayes_answer
from discreet.problems.measures.law import LEAK_FREE, phi_residual
from discreet.problems.measures.leak_free import remove_leakage
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.estimators import normalise
from discreet.problems.problem import Problem

__all__ = ["BlahutArimoto"]

_ACCELERATIONS = ("proximal", "none")
_MOST_PASSES = {"proximal": 3_000, "none": 200_000}
_OWN_SHARE = 0.1  # of the asked gap: the rest is for what the judge rounds outward


@dataclass(frozen=True)
class _Lowered:
    problem: Problem
    outcomes: Outcomes


class BlahutArimoto:
    """Sweeps that multiply an estimator and normalise it, to a certified gap.

    acceleration "none" runs the constrained fixed-point sweeps of `sweep`: every iterate keeps the budget, the error
    probability never rises, and the gap falls like one over the number of sweeps. "proximal", the default, runs the exact
    sweeps of `proximal`. At budget 0 the fixed-point step vanishes with 1/μ, so both run exact sweeps, "none" with a
    constant step. An answer is the best feasible estimator and the best duals met, whatever ended the run.
    """

    @property
    def name(self) -> str:
        """The name in the registry."""
        return "blahut-arimoto"

    @property
    def capabilities(self) -> Capabilities:
        """All budgets; first-order storage, so a million outcomes."""
        return Capabilities(
            regimes=frozenset(Regime),
            largest_outcomes=1_000_000,
            gives_duals=True,
            method="constrained Blahut–Arimoto sweeps; accelerated: exact entropic proximal sweeps, Newton on m·n + 1 duals",
            citation="Blahut 1972, Arimoto 1972; Chen et al., arXiv 2305.02650; Tseng, Bertsekas, Math. Program. 60 (1993)",
            method_class="fixed point",
            settings={
                "acceleration": '"proximal" (default): exact proximal sweeps of growing step; "none": the plain fixed-point '
                "sweeps (at budget 0: proximal sweeps of constant step)"
            },
        )

    def lower(self, problem: Problem, options: Options) -> _Lowered:
        """Conditional losses and features per unit of mass; raises InputError for an unknown acceleration."""
        _acceleration(options)
        return _Lowered(problem, Outcomes.of(problem))

    def solve(self, lowered: _Lowered, options: Options) -> Raw[Answer]:
        """Iterate until the certified gap is as asked or a limit is reached."""
        started = time.perf_counter()
        problem, outcomes = lowered.problem, lowered.outcomes
        slack = bayes_answer(problem)
        if slack is not None:
            return Raw("optimal: the Bayes rule keeps the budget", slack, 0)
        acceleration = _acceleration(options)
        deadline = math.inf if options.time_limit is None else started + options.time_limit
        limits = Limits(_OWN_SHARE * options.gap, options.max_iterations or _MOST_PASSES[acceleration], deadline)
        bracket = Bracket(outcomes, limits)
        with np.errstate(under="ignore"):
            if outcomes.perfect or acceleration == "proximal":
                claimed = proximal_sweeps(outcomes, bracket, growing=acceleration == "proximal")
            else:
                claimed = plain_sweeps(outcomes, bracket)
        return Raw(claimed, _answer(problem, outcomes, bracket), bracket.passes)

    def lift(self, raw: Raw[Answer]) -> Answer:
        """The answer as it is: its arrays are already the problem's own."""
        return raw.value


def _acceleration(options: Options) -> str:
    return choice(options, "blahut-arimoto", "acceleration", _ACCELERATIONS, "proximal")


def _answer(problem: Problem, outcomes: Outcomes, bracket: Bracket) -> Answer:
    """The bracket's pair, with a leak-free estimator for the judge to blend towards."""
    tilt, multiplier = outcomes.feasible_duals(bracket.duals.tilt, bracket.duals.multiplier)
    estimator = _kept(problem, outcomes, bracket)
    return Answer(estimator, tilt, multiplier, () if outcomes.perfect else (bracket.leak_free,))


def _kept(problem: Problem, outcomes: Outcomes, bracket: Bracket) -> Array:
    """The estimator, within the budget also by the problem's own double-length arithmetic."""
    estimator = normalise(bracket.estimator)
    law = problem.output_law(estimator)
    if not problem.constraint.perfect:
        return outcomes.keep_budget(estimator, GuessLaw(law.mass, law.deviation, outcomes.prior), bracket.leak_free)
    if phi_residual(law) <= LEAK_FREE:
        return estimator
    moved = remove_leakage(problem.p_xz, estimator, problem.marginal)
    return estimator if moved is None else moved[0]
