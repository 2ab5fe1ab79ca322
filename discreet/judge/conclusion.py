"""From sums to a conclusion: the single path by which every answer is judged.

A `JudgedAnswer` computes the sums: the `Worth` of an answer, the worth of its blend with another
estimator, and a lower bound of the sum of the least tilted losses (`DualBound`). From these
`conclude` forms

    upper   the error probability, rounded upward, of the answer, blended until its leakage
            *provably* satisfies the budget
    lower   Σ_l min_i (L_il + Σ_j t_ij a_jl) − μ B, rounded downward, for feasible duals (t, μ); B
            is the level of the budget ε

With several constraints, every budget is satisfied, j runs over the rows of all constraints, and
Σ_c μ_c B_c replaces μ B.

By weak duality lower ≤ optimum ≤ upper. At budget 0 both bounds are about estimators that are
private within the number δ of the certificate (`privacy`) or, if several actions of an adversary
are best, about estimators that leak at most δ. The gap is the sum of the three residuals of the
paper's Lemma 3, each ≥ 0, and the cost of δ:

    upper − lower = Σ_il P_il r_il  +  Σ_i (μ g(u_i) − t_i·u_i)  +  μ (B − Σ_i g(u_i))
                    complementarity    alignment                    slackness

with r_il = L_il + a_l·t_i − min_k (L_kl + a_l·t_k). The loss of the bound to rounding counts as
complementarity.

The judge does not search: `problems/blend` proposes how far to blend, and the caller supplies the
duals and the estimators to blend towards. Each proposal is summed and checked like any other
answer.

Source: docs/theory.md, sections 8 and 9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checks import real_numbers
from discreet.judge.privacy import (
    PRIVATE_LIMIT,
    Moves,
    is_private,
)
from discreet.lazy import cached_property
from discreet.measures.law import OutputLaw, phi_residual
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import column_error
from discreet.numerics.rounding import SMALLEST, TOTAL_ROUNDING, UNIT
from discreet.problems.blend import blends
from discreet.problems.certificate import Certificate, KKTResiduals, TermLeakage, Verdict
from discreet.problems.constraint import Constrained, Term, asks_privacy
from discreet.problems.duals import feasible_for, no_multipliers
from discreet.problems.laws import Law
from discreet.problems.rule import Rule

if TYPE_CHECKING:
    from discreet.judge.cases import JudgedAnswer


@dataclass(frozen=True, eq=False)
class Worth:
    """The value of an answer, for a total probability of one.

    law       the joint law of (X, Ŷ), or the laws of all constraints
    error     error probability
    upper     upper bound of the exact error probability; at budget 0, of an estimator that is
              private within `within`
    doubt     upper bound of the relative error of every entry Pr(X = x_j, Ŷ = y_i) of the law
    within    at budget 0: the proven δ of `privacy`; else inf
    moves     at budget 0: moves to an estimator with perfect privacy, if it is not the stored one
    change    upper bound of the relative change that the moves make to any entry of the laws of
              other constraints
    tied      indices of constraints with budget 0 for the gain of an adversary with several best
              actions
    """

    law: Law
    error: float
    upper: float
    doubt: float = 0.0
    within: float = math.inf
    moves: Moves | None = None
    change: float = 0.0
    tied: tuple[int, ...] = ()

    @cached_property
    def leakage_ceilings(self) -> Array:
        """Return upper bounds of the leakage of the answer under each constraint [C]."""
        return self.law.ceilings(self.doubt + self.change)

    @cached_property
    def phi_residual(self) -> float:
        """Return ‖Φ P‖∞ of the answer."""
        return max(map(phi_residual, self.law.groups))

    def keeps_budgets(self, terms: Sequence[Term]) -> list[bool]:
        """Return whether the answer is proven to satisfy each budget [C]."""
        kept = []
        for number, term in enumerate(terms):
            if term.budget.perfect:
                kept.append(is_private(self.within, self.doubt))
                continue
            most = PRIVATE_LIMIT if number in self.tied else term.budget.amount
            kept.append(term.budget.oblivious or bool(self.leakage_ceilings[number] <= most))
        return kept


@dataclass(frozen=True, eq=False)
class End:
    """An answer to blend towards, or the probabilities [m] of a guess that is independent of the
    outcome; and its worth.

    moved: the probability that the guess changes when this end replaces the answer.
    """

    answer: Array
    worth: Worth
    moved: float = 1.0


@dataclass(frozen=True, eq=False)
class DualBound:
    """Feasible duals (t [m, n], μ [C]), and a lower bound of the sum of the least tilted losses.

    parts    numbers whose exact sum is at most Σ_l min_i (L_il + Σ_j t_ij a_jl); a part that is not
             finite means "unknown"
    surplus  upper bound of the excess over 1 of the ratio of the total mass of another constraint
             to the total mass of the first
    """

    tilt: Array
    multipliers: Array
    parts: tuple[float, ...]
    surplus: float = 0.0


def worth_of_guess(column: Array, errors: Array, law: Law) -> Worth:
    """Return the worth of a guess that is drawn from a column [m] at every outcome.

    errors: error probabilities of the constant guesses [m]; law: supplies p(x).
    """
    error = float(errors @ column)
    # Underflow of quotients and of products.
    vanished = 2 * SMALLEST * column.size if error < 1e-290 and errors[column > 0.0].any() else 0.0
    upper = round_up(error, column_error(column[:, None]), vanished)
    return Worth(law.under_guess(column), error, upper, within=0.0)


def round_up(error: float, column_error: float, missed: float) -> float:
    """Return an upper bound of an error probability.

    column_error: of its columns; missed: upper bound of the effect of products that underflow. A
    sum, a total and the operations that gave `error` are rounded, 15 in all.
    """
    return error * (1.0 + column_error + 16 * UNIT) + missed


def conclude(case: JudgedAnswer) -> Verdict[Any]:
    """Repair the answer of a case and return its verdict: bracket and residuals. Law: lower ≤ upper
    for every case.
    """
    answer, worth, share = _within_budget(case)
    duals, bound = max(
        ((each, _bound(case.terms, each, worth)) for each in case.duals()), key=itemgetter(1)
    )
    # A lower bound above the upper bound would be wrong, so claim nothing.
    lower = max(0.0, bound) if bound <= worth.upper else 0.0
    lower, upper = _of_either_total(lower, worth.upper, case.totals.off)
    private = asks_privacy(case.terms)
    own = case.own
    certificate = Certificate(
        lower=lower,
        upper=upper,
        phi_residual=worth.phi_residual,
        private_within=worth.within if private else math.inf,
        blend=share,
        own_error=own.error,
        own_phi_residual=own.phi_residual,
        own_private_within=own.within if private else math.inf,
        kkt=_residuals(case.terms, worth, duals, case.worst_entry(answer, duals.tilt)),
        terms=_term_leakages(case.terms, worth, own),
    )
    made = worth.moves
    moved = (
        np.array([made.outcomes, made.towards])
        if made is not None
        else np.zeros((2, 0), dtype=np.intp)
    )
    return Verdict(answer.answer, duals.tilt, duals.multipliers, certificate, case.blocks, moved)


def _of_either_total(lower: float, upper: float, off: float) -> tuple[float, float]:
    """Widen a bracket for the stored masses so that it also holds after division by a total that is
    `off` from one.
    """
    if off == 0.0:
        return lower, upper
    share = 2.0 * off + 4.0 * UNIT
    return max(0.0, lower * (1.0 - share) - SMALLEST), upper * (1.0 + share) + (
        SMALLEST if upper > 0.0 else 0.0
    )


def _term_leakages(terms: Sequence[Term], worth: Worth, own: Worth) -> tuple[TermLeakage, ...]:
    """Return the proven leakages of each constraint, for the repaired answer and for the answer as
    given.
    """
    columns = (worth.law.leakages, worth.leakage_ceilings, own.law.leakages, own.leakage_ceilings)
    numbers = [column.tolist() for column in columns]
    rows = zip(terms, *numbers, own.keeps_budgets(terms), strict=True)
    return tuple(
        [
            TermLeakage(
                term.budget.amount,
                str(term.measure),
                leakage,
                ceiling,
                own_leakage,
                own_ceiling,
                own_budget_kept,
                term.budget.perfect,
            )
            for term, leakage, ceiling, own_leakage, own_ceiling, own_budget_kept in rows
        ]
    )


def _independent_guesses(case: JudgedAnswer) -> list[End]:
    """Return guesses that are independent of the outcome and so leak nothing: every constant, best
    first, and a draw from the law of Ŷ.
    """
    errors = case.totals.errors
    law = case.own.law
    mass = law.mass
    columns = [*np.eye(errors.size)[np.argsort(errors, kind="stable")], mass / mass.sum()]
    return [End(column, worth_of_guess(column, errors, law)) for column in columns]


def _within_budget(case: JudgedAnswer) -> tuple[Rule, Worth, float]:
    """Return the answer if it satisfies the budgets, otherwise its best blend that does; its worth;
    and the share blended in, which is then > 0.
    """
    own = case.own
    worth = case.own
    if all(own.keeps_budgets(case.terms)):
        return case.answer, own, 0.0
    ends = [*_independent_guesses(case), *case.anchors]
    perfect = asks_privacy(case.terms)
    # A blend that includes any share of this answer is not private.
    if perfect and not is_private(own.within, own.doubt):
        best = min(
            (end for end in ends if all(end.worth.keeps_budgets(case.terms))),
            key=lambda end: end.worth.error,
        )
        return *case.blended(1.0, best), max(best.moved, SMALLEST)

    def leaked() -> Sequence[float]:
        return tuple(worth.leakage_ceilings.tolist())

    ends = [end for end in ends if not perfect or is_private(end.worth.within, end.worth.doubt)]
    budgets = [term.budget.amount if term.priced else math.inf for term in case.terms]
    slack = case.blend_doubt + own.change
    for which, share in blends(
        own.law, own.error, [end.worth for end in ends], budgets, slack, leaked
    ):
        answer, worth = case.blended(share, ends[which])
        if all(worth.keeps_budgets(case.terms)):
            return answer, worth, max(share, SMALLEST)
    return *case.blended(1.0, ends[0]), 1.0


def usable_duals(
    problem: Constrained,
    tilt: Array | None,
    multipliers: Array | None,
) -> tuple[Array, Array]:
    """Return duals that are feasible for a problem: tilt [m, n] and multipliers [C].

    If the duals cannot be made feasible, return t = 0 with the best μ, which proves the Bayes
    error.

    Raises InputError for a tilt of a wrong shape or with entries that are not real numbers.
    """
    shape = (problem.m, problem.n)
    given = np.zeros(shape) if tilt is None else real_numbers("tilt", tilt, shape)
    if given.any():
        if multipliers is None:
            multipliers = np.full(len(problem.terms), math.nan)
        feasible = feasible_for(given, multipliers, problem.p_x, problem.terms)
        if feasible[0].any():
            return feasible
    return np.zeros(shape), no_multipliers(problem.terms)


def _bound(terms: Sequence[Term], duals: DualBound, reached: Worth) -> float:
    """Return the bound that feasible duals prove, rounded downward: Σ parts − Σ_c μ_c B_c.

    A constraint of perfect privacy costs δ·spread instead of μ B. At budget 0 for the gain of an
    adversary with several best actions, B is the level of the leakage that is reached. μ B assumes
    a total probability of one; stored problems satisfy this within `TOTAL_ROUNDING`.
    """
    cost = 0.0
    for number, (term, price) in enumerate(zip(terms, duals.multipliers.tolist(), strict=True)):
        if term.budget.perfect:
            if reached.within != 0.0:
                groups = reached.law.constraints[number]
                cost += reached.within * _spread(term, duals.tilt, groups)
        elif price > 0.0:
            level = term.level
            if number in reached.tied:
                level = term.measure.level(float(reached.leakage_ceilings[number]))
            cost += price * level * (1.0 + TOTAL_ROUNDING) + SMALLEST
    # The last term covers the rounding of the sum over groups.
    cost *= 1.0 + duals.surplus + 8.0 * (len(reached.law.groups) - 1) * UNIT
    if not all(map(math.isfinite, (cost, *duals.parts))):
        return -math.inf
    bound = math.fsum([*duals.parts, -cost])
    return bound - 4.0 * UNIT * (abs(bound) + cost)


def _spread(term: Term, tilt: Array, groups: Sequence[OutputLaw]) -> float:
    """Return an upper bound of max_i min_c Σ_j π_j |t_ij − c|, summed over groups by the
    probability of the given value; the minimum is at one of the t_ij.
    """
    total = 0.0
    for rows, law in zip(term.groups, groups, strict=True):
        own = tilt[:, rows]
        apart = np.abs(own[:, :, None] - own[:, None, :])
        widest = float((apart @ law.p_x).min(axis=1).max()) * (1.0 + 2.0**-30) + SMALLEST
        total += float(law.mass.sum()) * widest
    return total


def _residuals(
    terms: Sequence[Term], worth: Worth, duals: DualBound, worst_entry: float
) -> KKTResiduals:
    joint = [law.mass[:, None] * law.p_x + law.deviation for law in worth.law.groups]
    tilted = float((duals.tilt * np.concatenate(joint, axis=1)).sum())
    spent = 0.0
    unused = 0.0
    levels = worth.law.levels.tolist()
    for term, price, level in zip(terms, duals.multipliers.tolist(), levels, strict=True):
        if term.priced:
            spent += price * level
            unused += max(0.0, price * (term.level - level))
    return KKTResiduals(
        complementarity=max(
            0.0, math.fsum([worth.error, tilted, *(-part for part in duals.parts)])
        ),
        alignment=max(0.0, spent - tilted),
        slackness=unused,
        worst_entry=worst_entry,
    )
