"""The upper side of a certificate: any matrix turned into a feasible estimator.

1. `normalise`: clip to [0, ∞), make every column sum to one.
2. `remove_leakage`: move the estimator, as little as its own randomisation allows, onto Φ P = 0. At budget 0 this is the
   repair itself; at small budgets it supplies a leak-free estimator far better than a constant.
3. `blend`: P_θ = (1 − θ) P + θ P⁰ with P⁰ leaking nothing. Leakage is convex in θ and zero at 1, so the smallest θ that
   meets the budget is a scalar root; it is found on [m, n] numbers, since the law of (X, Ŷ) is linear in P.

Source: discreet design §2 (docs/theory.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from discreet.problems.accurate import Array
from discreet.problems.information import OutputLaw
from discreet.problems.problem import Problem

__all__ = ["Repaired", "normalise", "phi_residual", "remove_leakage", "repair"]

LEAK_FREE = 1e-13  # ‖Φ P‖∞ that counts as zero in double precision
_BUDGET_SHARE = 1.0 - 1e-13  # the repair aims this far inside the budget, so that rounding cannot carry it out
_AIMS = 24
_PROJECTION_STEPS = 8
_ROOM = (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1e-1)  # shares of a constant tried, to give the projection room to move


@dataclass(frozen=True)
class Repaired:
    """A feasible estimator [m, N], its law, and the share θ of a leak-free estimator that was blended in."""

    estimator: Array
    law: OutputLaw
    share: float


def normalise(estimator: Array) -> Array:
    """A column-stochastic copy: non-finite and negative entries become 0, an empty column becomes uniform."""
    clipped = np.where(np.isfinite(estimator), np.clip(estimator, 0.0, 1e300), 0.0)
    largest = clipped.max(axis=0)
    clipped = np.where(largest > 0.0, clipped, 1.0) / np.where(largest > 0.0, largest, 1.0)
    return clipped / clipped.sum(axis=0)


def phi_residual(law: OutputLaw) -> float:
    """‖Φ P‖∞ = max_ij |p(ŷ_i given x_j) − p(ŷ_i)|."""
    residual = np.divide(law.deviation, law.p_x, out=np.zeros_like(law.deviation), where=law.p_x > 0)
    return float(np.abs(residual).max())


def repair(problem: Problem, estimator: Array, law: OutputLaw, anchors: Iterable[Array] = ()) -> Repaired:
    """The best feasible estimator on the segments from a column-stochastic one to leak-free ones.

    Candidates for the far end are the constants, every anchor whose Φ P⁰ = 0 is verified here, and the estimator's own
    projection onto Φ P = 0. At budget 0 only the far ends themselves are feasible.
    """
    start = Repaired(estimator, law, 0.0)
    if not _too_much(problem, law):
        return start
    ends = [*_constants(problem), *_verified(problem, anchors)]
    projected = remove_leakage(problem, estimator, law)
    if projected is not None:
        ends.append(projected)
    if problem.constraint.perfect:
        best = min(ends, key=lambda end: problem.error_probability(end.estimator))
        return Repaired(best.estimator, best.law, 0.0 if best is projected else 1.0)
    return _best_blend(problem, start, ends)


def remove_leakage(problem: Problem, estimator: Array, law: OutputLaw) -> Repaired | None:
    """Move a column-stochastic estimator onto Φ P = 0; None when its own randomisation does not reach.

    Newton steps P_il ← P_il (1 + y_i·f_l − Σ_k P_kl y_k·f_l), f_l = a_l/w_l − π: zero entries stay zero, columns stay
    stochastic, and y [m, n] solves the normal equations. Small shares of a constant are blended in when a vertex leaves
    no room.
    """
    for room in _ROOM:
        moved = (1.0 - room) * estimator + room * law.mass[:, None] / law.mass.sum()
        found = _project(problem, normalise(moved))
        if found is not None:
            return found
    return None


def _project(problem: Problem, estimator: Array) -> Repaired | None:
    feature = np.divide(
        problem.p_xz - problem.p_x[:, None] * problem.p_z,
        problem.p_z,
        out=np.zeros_like(problem.p_xz),
        where=problem.p_z > 0,
    )
    best: Repaired | None = None
    residual = np.inf
    for _ in range(_PROJECTION_STEPS):
        law = problem.output_law(estimator)
        now = phi_residual(law)
        if now >= 0.5 * residual:
            break
        best, residual = Repaired(estimator, law, 0.0), now
        step = _projection_step(problem, estimator, feature, law.deviation)
        if not np.isfinite(step).all() or step.min() < -0.5:
            break
        estimator = normalise(estimator * (1.0 + step))
    return best if residual <= LEAK_FREE else None


def _projection_step(problem: Problem, estimator: Array, feature: Array, deviation: Array) -> Array:
    m, n = estimator.shape[0], problem.n
    mass = estimator * problem.p_z
    system = np.zeros((m, n, m, n))
    for i in range(m):
        for k in range(i, m):
            weight = -mass[i] * estimator[k] + (mass[i] if i == k else 0.0)
            block = (feature * weight) @ feature.T
            system[i, :, k, :] = block
            system[k, :, i, :] = block
    y = np.linalg.lstsq(system.reshape(m * n, m * n), -deviation.ravel(), rcond=1e-14)[0].reshape(m, n)
    move = y @ feature
    return np.asarray(move - (estimator * move).sum(axis=0))


def _too_much(problem: Problem, law: OutputLaw) -> bool:
    if problem.constraint.perfect:
        return phi_residual(law) > LEAK_FREE
    return law.leakage() > problem.budget


def _constants(problem: Problem) -> list[Repaired]:
    """The estimators that always give the same guess; only those that can be best: one per least loss."""
    guess = int(np.argmin(problem.loss.sum(axis=1)))
    estimator = np.zeros((problem.m, problem.N))
    estimator[guess] = 1.0
    return [Repaired(estimator, problem.output_law(estimator), 1.0)]


def _verified(problem: Problem, anchors: Iterable[Array]) -> list[Repaired]:
    found = []
    for anchor in anchors:
        if anchor.shape != (problem.m, problem.N):
            continue
        estimator = normalise(anchor)
        law = problem.output_law(estimator)
        if phi_residual(law) <= LEAK_FREE:
            found.append(Repaired(estimator, law, 1.0))
            continue
        projected = remove_leakage(problem, estimator, law)
        if projected is not None:
            found.append(projected)
    return found


def _best_blend(problem: Problem, start: Repaired, ends: list[Repaired]) -> Repaired:
    error = problem.error_probability(start.estimator)

    def blended_error(end: Repaired) -> float:
        share = _least_share(start.law, end.law, problem.budget * _BUDGET_SHARE)
        return (1.0 - share) * error + share * problem.error_probability(end.estimator)

    ranked = sorted(ends, key=blended_error)
    for end in ranked:
        found = _blend(problem, start, end)
        if found is not None:
            return found
    return _constants(problem)[0]  # leaks exactly nothing


def _blend(problem: Problem, start: Repaired, end: Repaired) -> Repaired | None:
    """Blend just far enough; rounding of the entries themselves leaks a little, so aim lower until the result is inside."""
    inside = 1.0 - _BUDGET_SHARE
    for _ in range(_AIMS):
        share = _least_share(start.law, end.law, problem.budget * (1.0 - inside))
        estimator = normalise((1.0 - share) * start.estimator + share * end.estimator)
        law = problem.output_law(estimator)
        excess = law.leakage() / problem.budget - 1.0
        if excess <= 0.0:
            return Repaired(estimator, law, share)
        inside = min(0.5, max(4.0 * inside, 2.0 * (excess + inside)))
    return None


def _least_share(start: OutputLaw, end: OutputLaw, target: float) -> float:
    """Smallest θ with leakage((1 − θ)·start + θ·end) ≤ target, from the safe side; 1 if there is none."""
    if start.leakage() <= target:
        return 0.0
    low, high = 0.0, 1.0
    while high - low > 1e-16 * high and high > 1e-300:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if start.blend(end, middle).leakage() <= target:
            high = middle
        else:
            low = middle
    return high
