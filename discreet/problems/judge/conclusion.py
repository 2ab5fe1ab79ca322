"""From sums to conclusion: the one path by which everything is judged, whatever holds its outcomes.

A `Case` knows the sums. It says what an answer is worth (`Worth`: the law of (X, Ŷ), the error probability, and by how much
rounding may have spoilt both), what is left of it when part of it is exchanged for an estimator that leaks nothing, and what
tilted losses add up to at least (`Duals`). From these `conclude` forms

    upper   the error probability, rounded upward, of the answer blended until its leakage *provably* keeps the budget
    lower   Σ_l min_i (L_il + Σ_j t_ij a_jl) − μ ε, rounded downward, for feasible duals (t, μ)

By weak duality lower ≤ optimum ≤ upper. At budget 0 what is returned is private within `LEAK_FREE` only; there the bound is
lowered by Σ_ij |t_ij| |deviation_ij|, so that it holds for everything as private as what is returned. The gap splits exactly
into the three residuals of the paper's Lemma 3, each ≥ 0:

    upper − lower = Σ_il P_il r_il  +  Σ_i (μ g(u_i) − t_i·u_i)  +  μ (ε − leakage)
                    complementarity    alignment                    slackness

with r_il = L_il + a_l·t_i − min_k (L_kl + a_l·t_k); what rounding takes from the bound counts as complementarity.

"Keeps the budget" is proven, not computed: the ceiling of the leakage covers rounding and the one unit in the last place by
which stored columns fail to sum to one. Budgets under about 1e-30 nats are therefore met by answers without randomisation
only, in the end by a constant. Nothing is searched for here. How far to blend is proposed by `problems/blend`, estimators to
blend towards, and duals, are handed in; all of it is added up and checked like any other answer.

Source: docs/theory.md, sections 8 and 9.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.problems.blend import blends, next_blend
from discreet.problems.certificate import Certificate, KKTResiduals, Verdict
from discreet.problems.checks import real_numbers
from discreet.problems.constraint import LeakageBudget
from discreet.problems.measures.law import LEAK_FREE, OutputLaw, law_of, phi_residual
from discreet.problems.measures.mutual_information import feasible_duals
from discreet.problems.numerics.double_double import Array, DoubleDouble
from discreet.problems.numerics.rounding import SMALLEST, SUM_ROUNDING, TOTAL_ROUNDING, UNIT
from discreet.problems.numerics.sums import Sums

if TYPE_CHECKING:
    from discreet.problems.blocks import BlockProblem, Blocks
    from discreet.problems.continuous.model import ContinuousProblem
    from discreet.problems.problem import Problem


@dataclass(frozen=True, eq=False)
class Worth:
    """What an answer adds up to, for a total probability of one.

    law       the joint law of (X, Ŷ)
    error     error probability
    upper     what the exact one does not exceed
    doubt     relative amount by which every entry Pr(X = x_j, Ŷ = y_i) may differ from the law's
    """

    law: OutputLaw
    error: float
    upper: float
    doubt: float = 0.0


@dataclass(frozen=True, eq=False)
class End:
    """An answer believed to leak less, or the probabilities [m] of a guess that ignores the outcome; and its worth.

    moved: the probability that taking it in place of what was judged changes the guess.
    """

    answer: Array
    worth: Worth
    moved: float = 1.0


@dataclass(frozen=True, eq=False)
class Duals:
    """Feasible duals (t [m, n], μ), and what tilted losses add up to at least.

    parts: numbers whose exact sum is at most Σ_l min_i (L_il + Σ_j t_ij a_jl); one that is not finite says "unknown"
    """

    tilt: Array
    multiplier: float
    parts: tuple[float, ...]


def worth_of(sums: Sums, marginal: DoubleDouble, lift: NDArray[np.int32], total: float = 1.0) -> Worth:
    """The worth of an answer with these sums; a total probability other than one is divided out. marginal: Σ_l a_l.

    A sum of terms ≥ 0 in twice the working precision loses next to nothing. Columns sum to one within m + 1 units, and as
    far as they do not, that is a doubt about the part of every entry that is drawn.
    """
    law = law_of(sums.joint, marginal, lift)
    if total != 1.0:  # its ratios stay as they are
        law = OutputLaw(law.mass / total, law.deviation / total / total, law.p_x / total)
    error = max(0.0, float(sums.loss[0] + sums.loss[1])) / total
    doubt = sums.column_error * sums.drawn_share() + SUM_ROUNDING
    return Worth(law, error, rounded_up(error, law.mass.size, sums.missed), doubt)


def rounded_up(error: float, m: int, missed: float) -> float:
    """What an error probability of m guesses is at most; missed: what products too small for a number may add to it."""
    return error * (1.0 + (m + 16) * UNIT) + missed


class Case(Protocol):
    """An answer to a problem, as sums.

    answer, own       what is judged and its worth
    constant_errors   error probability of always guessing y_i [m]
    anchors           answers to blend towards, beyond those that ignore the outcome; looked at only where that is needed
    blended_doubt     `doubt` of what `blended` gives, at most
    """

    constraint: LeakageBudget
    answer: Any
    own: Worth
    blended_doubt: float

    @property
    def constant_errors(self) -> Array: ...

    @property
    def anchors(self) -> Iterable[End]: ...

    def blended(self, share: float, end: End) -> tuple[Any, Worth]:
        """The answer with probability 1 − share, else the end; and what it is worth as it is stored."""

    def duals(self) -> Iterable[Duals]:
        """Feasible duals to choose from, at least one."""

    def worst_entry(self, answer: Any, tilt: Array) -> float:
        """max_il P_il r_il / w_l of a (repaired) answer, or an upper bound of it."""


def conclude(case: Case, blocks: Blocks | None = None) -> Verdict[Any]:
    """Repair, bracket and residuals of a case; blocks: the outcomes of a rule. Law: lower ≤ upper, whatever is given."""
    answer, worth, share = _within_budget(case)
    duals, bound = _best_duals(case, worth.law)
    certificate = Certificate(
        lower=max(0.0, bound) if bound <= worth.upper else 0.0,  # a bound above what is reached would disprove the proof
        upper=worth.upper,
        leakage=worth.law.leakage(),
        phi_residual=phi_residual(worth.law),
        budget=case.constraint.nats,
        blend=share,
        own_error=case.own.error,
        own_leakage=case.own.law.leakage(),
        own_phi_residual=phi_residual(case.own.law),
        kkt=_residuals(case.constraint, worth, duals, case.worst_entry(answer, duals.tilt)),
    )
    return Verdict(answer, duals.tilt, duals.multiplier, certificate, blocks)


# -- the upper side ----------------------------------------------------------------------------------------------------


def _keeps_budget(constraint: LeakageBudget, worth: Worth) -> bool:
    if constraint.perfect:
        return phi_residual(worth.law) <= LEAK_FREE
    return constraint.oblivious or worth.law.leakage_ceiling(worth.doubt) <= constraint.nats


def _ignoring(case: Case) -> list[End]:
    """Guesses that ignore the outcome, which leak nothing: every constant, best first, and one drawn by the law of Ŷ."""
    errors, law = case.constant_errors, case.own.law
    m, nothing = errors.size, np.zeros_like(law.deviation)
    ends = []
    for column in [*np.eye(m)[np.argsort(errors, kind="stable")], law.mass / law.mass.sum()]:
        error = float(errors @ column)
        vanished = SMALLEST * m if error < 1e-290 and column.max() < 1.0 and errors.any() else 0.0
        ends.append(End(column, Worth(OutputLaw(column, nothing, law.p_x), error, rounded_up(error, m, vanished))))
    return ends


def _within_budget(case: Case) -> tuple[Any, Worth, float]:
    """The answer if it keeps the budget, else the best of its blends that do; its worth; the share blended in."""
    if _keeps_budget(case.constraint, case.own):
        return case.answer, case.own, 0.0
    ends = [*_ignoring(case), *case.anchors]
    if case.constraint.perfect:
        best = min((end for end in ends if _keeps_budget(case.constraint, end.worth)), key=lambda end: end.worth.error)
        return *case.blended(1.0, best), best.moved
    own, worths = case.own, [end.worth for end in ends]
    search, leaked = blends(own.law, own.error, worths, case.constraint.nats, case.blended_doubt), None
    while (proposal := next_blend(search, leaked)) is not None:
        which, share = proposal
        answer, worth = case.blended(share, ends[which])
        if _keeps_budget(case.constraint, worth):
            return answer, worth, share
        leaked = worth.law.leakage_ceiling(worth.doubt)
    return *case.blended(1.0, ends[0]), 1.0


# -- the lower side ----------------------------------------------------------------------------------------------------


def usable_duals(
    problem: Problem | BlockProblem | ContinuousProblem, tilt: Array | None, multiplier: float | None
) -> tuple[Array, float]:
    """Duals of a problem made feasible; t = 0 with the cheapest μ, which proves the Bayes error, where they cannot be.

    Raises InputError for a tilt of a wrong shape, or that is not made of real numbers.
    """
    price = math.nan if multiplier is None else float(multiplier)
    given = None if tilt is None else real_numbers("tilt", tilt, (problem.m, problem.n))
    found = None if given is None else feasible_duals(given, price, problem.p_x, problem.budget)
    if found is None or not found[0].any():
        return np.zeros((problem.m, problem.n)), math.inf if problem.constraint.perfect else 0.0
    return found


def _best_duals(case: Case, reached: OutputLaw) -> tuple[Duals, float]:
    """The duals of the best bound, and that bound."""
    return max(((each, _bound(case.constraint, each, reached)) for each in case.duals()), key=lambda entry: entry[1])


def _bound(constraint: LeakageBudget, duals: Duals, reached: OutputLaw) -> float:
    """What feasible duals prove, rounded downward: least − μ ε, at budget 0 least − Σ |t_ij| |deviation_ij|.

    μ ε is that of a total probability of one, which stored problems have within `TOTAL_ROUNDING`.
    """
    cost = 0.0
    if constraint.perfect:
        with np.errstate(over="ignore"):
            cost = float((np.abs(duals.tilt) * (np.abs(reached.deviation) + SMALLEST)).sum()) * (1.0 + 2.0**-30)
    elif duals.multiplier > 0.0:
        cost = duals.multiplier * constraint.nats * (1.0 + TOTAL_ROUNDING) + SMALLEST
    if not all(map(math.isfinite, (cost, *duals.parts))):
        return -math.inf
    bound = math.fsum([*duals.parts, -cost])
    return bound - 4.0 * UNIT * (abs(bound) + cost)


def _residuals(constraint: LeakageBudget, worth: Worth, duals: Duals, worst_entry: float) -> KKTResiduals:
    law, multiplier = worth.law, duals.multiplier
    leakage = law.leakage()
    tilted = float((duals.tilt * (law.mass[:, None] * law.p_x + law.deviation)).sum())
    priced = not (constraint.perfect or constraint.oblivious)
    return KKTResiduals(
        complementarity=max(0.0, math.fsum([worth.error, tilted, *(-part for part in duals.parts)])),
        alignment=max(0.0, (multiplier * leakage if priced else 0.0) - tilted),
        slackness=max(0.0, multiplier * (constraint.nats - leakage)) if priced else 0.0,
        worst_entry=worst_entry,
    )
