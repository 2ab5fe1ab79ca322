"""The upper side of a certificate: any matrix turned into a feasible estimator.

1. `normalise`: clip to [0, ∞), make every column sum to one.
2. `remove_leakage`: move the estimator, as little as its own randomisation allows, onto Φ P = 0. At budget 0 this is the
   repair itself; at small budgets it supplies a leak-free estimator far better than a constant.
3. `blend`: P_θ = (1 − θ) P + θ P⁰ with P⁰ leaking nothing. Leakage is convex in θ and zero at 1, so the smallest θ that
   meets the budget is a scalar root; it is found on [m, n] numbers, since the law of (X, Ŷ) is linear in P.

"Meets the budget" is proven, not computed: the leakage that has to fit is an upper bound that covers rounding and the one
unit in the last place by which stored columns fail to sum to one. Budgets under about 1e-30 nats are therefore met by
estimators without randomisation only, in the end by a constant; no other can be told apart from its rounding errors.

Source: docs/theory.md, section 9 (repair).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from discreet.problems.measures.law import LEAK_FREE, OutputLaw, phi_residual
from discreet.problems.measures.leak_free import least_share, remove_leakage
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.estimators import Split, Sums, column_error, normalise
from discreet.problems.problem import Problem

__all__ = ["End", "Repaired", "blind_ends", "repair"]

_UNIT = 2.0**-53
_AIMS = 8
_NEGLIGIBLE = 1e-13  # rise of the error probability, relative, that no better leak-free estimator is sought for


@dataclass(frozen=True)
class Repaired:
    """A feasible estimator [m, N], its law, its error probability, and how much was changed.

    share: of the leak-free estimator that was blended in; at budget 0, the probability that the guess was changed.
    """

    estimator: Array
    law: OutputLaw
    error: float
    share: float


@dataclass(frozen=True)
class End:
    """A leak-free estimator [m, N] to blend towards, or [m, 1] for one that ignores the outcome."""

    estimator: Array
    law: OutputLaw
    error: float


def repair(
    problem: Problem, estimator: Array, law: OutputLaw, anchors: Iterable[Array] = (), sums: Sums | None = None
) -> Repaired:
    """The best feasible estimator on the segments from a column-stochastic one to leak-free ones.

    Candidates for the far end are estimators that ignore the outcome, every anchor whose Φ P⁰ = 0 is verified here, and
    the estimator's own projection onto Φ P = 0. At budget 0 only the far ends themselves are feasible. sums: those of the
    estimator, if they are at hand.
    """
    sums = problem.sums(estimator) if sums is None else sums
    start = Repaired(estimator, law, sums.error, 0.0)
    if _keeps_budget(problem, estimator, law, sums.split):
        return start
    if problem.constraint.perfect:
        ends = [*blind_ends(problem.constant_errors, law), *_leak_free(problem, start, anchors)]
        best = min(ends, key=lambda end: end.error)
        full = np.broadcast_to(best.estimator, estimator.shape)
        moved = 0.5 * float(np.abs(full - estimator).sum(axis=0) @ problem.p_z)
        return Repaired(np.array(full), best.law, best.error, moved)
    ranked = _ranked(problem, start, blind_ends(problem.constant_errors, law))
    if not ranked or ranked[0][0] > _NEGLIGIBLE * start.error:
        ranked = sorted([*ranked, *_ranked(problem, start, _leak_free(problem, start, anchors))], key=lambda entry: entry[0])
    for _, end in ranked:
        found = _blend(problem, start, end)
        if found is not None:
            return found
    constant = blind_ends(problem.constant_errors, law)[0]  # leaks exactly nothing
    return Repaired(np.array(np.broadcast_to(constant.estimator, estimator.shape)), constant.law, constant.error, 1.0)


def _keeps_budget(problem: Problem, estimator: Array, law: OutputLaw, split: Split | None = None) -> bool:
    if problem.constraint.perfect:
        return phi_residual(law) <= LEAK_FREE
    return problem.constraint.oblivious or law.leakage_ceiling(column_error(estimator, split)) <= problem.budget


def blind_ends(errors: Array, law: OutputLaw) -> list[End]:
    """Estimators that ignore the outcome, best first: every constant, and a guess drawn by the law `law` gives Ŷ.

    errors: of the constants [m].
    """
    columns = [*np.eye(errors.size)[np.argsort(errors, kind="stable")], law.mass / law.mass.sum()]
    nothing = np.zeros_like(law.deviation)
    return [End(column[:, None], OutputLaw(column, nothing, law.p_x), float(errors @ column)) for column in columns]


def _leak_free(problem: Problem, start: Repaired, anchors: Iterable[Array]) -> list[End]:
    """The projections onto Φ P = 0 of the estimator itself and of every anchor of the right shape, where they exist."""
    candidates = [(start.estimator, start.law)]
    for anchor in anchors:
        if np.shape(anchor) == (problem.m, problem.N):
            estimator = normalise(np.asarray(anchor, dtype=np.float64))
            candidates.append((estimator, problem.output_law(estimator)))
    found = []
    for estimator, law in candidates:
        if phi_residual(law) <= LEAK_FREE:
            found.append(End(estimator, law, problem.error_probability(estimator)))
            continue
        projected = remove_leakage(problem.p_xz, estimator, problem.marginal)
        if projected is not None:
            found.append(End(*projected, problem.error_probability(projected[0])))
    return found


def _ranked(problem: Problem, start: Repaired, ends: list[End]) -> list[tuple[float, End]]:
    """The ends that can meet the budget, with the rise of the error probability each would cost, least first."""
    slack = 2.0 * (problem.m + 1) * _UNIT  # rounding of the blended entries, and of their columns
    costs = []
    for end in ends:
        share = least_share(start.law, end.law, problem.budget, slack)
        if share is not None:
            costs.append((min(share * (end.error - start.error), end.error - start.error), end))
    return sorted(costs, key=lambda entry: entry[0])


def _blend(problem: Problem, start: Repaired, end: End) -> Repaired | None:
    """Blend just far enough, proven; None if rounding keeps even ever deeper aims outside."""
    slack = 2.0 * (problem.m + 1) * _UNIT
    target = problem.budget
    for _ in range(_AIMS):
        share = 1.0 if end.error <= start.error else least_share(start.law, end.law, target, slack)
        if share is None:
            return None
        estimator = normalise((1.0 - share) * start.estimator + share * end.estimator)
        law = problem.output_law(estimator)
        if _keeps_budget(problem, estimator, law):
            return Repaired(estimator, law, problem.error_probability(estimator), share)
        target -= 2.0 * (law.leakage_ceiling(column_error(estimator)) - problem.budget)
        if share == 1.0 or target <= 0.0:
            return None
    return None
