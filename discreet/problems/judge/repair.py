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

from discreet.problems.measures.information import OutputLaw
from discreet.problems.numerics.double_double import Array, sum_pair
from discreet.problems.numerics.estimator_sums import Split, Sums, certain
from discreet.problems.problem import Problem

__all__ = [
    "LEAK_FREE",
    "End",
    "Repaired",
    "blind_ends",
    "column_error",
    "least_share",
    "normalise",
    "phi_residual",
    "remove_leakage",
    "repair",
]

LEAK_FREE = 1e-13  # ‖Φ P‖∞ that counts as zero in double precision
_UNIT = 2.0**-53
_AIMS = 8
_ROOT_STEPS = 100
_ROOT_TOLERANCE = 1e-13  # of the share, and of the budget
_NEGLIGIBLE = 1e-13  # rise of the error probability, relative, that no better leak-free estimator is sought for
_PROJECTION_STEPS = 8
_ROOM = (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1e-1)  # shares of a constant tried, to give the projection room to move


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


def normalise(estimator: Array) -> Array:
    """A column-stochastic copy: non-finite and negative entries become 0, an empty column becomes uniform.

    Columns that sum to one already are left as they are.
    """
    estimator = np.add(estimator, 0.0, order="C")  # a copy, in which −0 is 0
    with np.errstate(over="ignore", invalid="ignore"):
        totals = estimator.sum(axis=0)
    if bool((totals == 1.0).all()) and estimator.min() >= 0.0:
        return np.asarray(estimator)
    clipped = np.where(np.isfinite(estimator), np.clip(estimator, 0.0, 1e300), 0.0)
    stochastic = clipped.sum(axis=0) == 1.0
    if stochastic.all():
        return clipped
    largest = np.where(stochastic, 1.0, clipped.max(axis=0))
    if not largest.all():
        clipped[:, largest == 0.0] = 1.0
        largest = np.where(largest > 0.0, largest, 1.0)
    clipped /= largest
    clipped /= np.where(stochastic, 1.0, clipped.sum(axis=0))
    return np.asarray(clipped)


def column_error(estimator: Array, split: Split | None = None) -> float:
    """How far the columns of a normalised estimator [m, N] are from summing to one: 0 without randomisation."""
    drawn = estimator[:, ~certain(estimator).any(axis=0) if split is None else split.rest]
    if not drawn.size:
        return 0.0
    high, low = sum_pair(np.ascontiguousarray(drawn.T))
    return float(np.abs((high - 1.0) + low).max()) * (1.0 + 2.0**-40)


def phi_residual(law: OutputLaw) -> float:
    """‖Φ P‖∞ = max_ij |p(ŷ_i given x_j) − p(ŷ_i)|."""
    return float(np.abs(law.excess).max())


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


def remove_leakage(problem: Problem, estimator: Array, law: OutputLaw) -> Repaired | None:
    """Move a column-stochastic estimator onto Φ P = 0; None when its own randomisation does not reach.

    Newton steps P_il ← P_il (1 + y_i·f_l − Σ_k P_kl y_k·f_l), f_l = a_l/w_l − π: zero entries stay zero, columns stay
    stochastic, and y [m, n] solves the normal equations. Small shares of a constant are blended in when a vertex leaves
    no room. `share` of the result is the probability that the guess was changed.
    """
    posterior = np.divide(problem.p_xz, problem.p_z, out=np.zeros_like(problem.p_xz), where=problem.p_z > 0)
    feature = np.where(problem.p_z > 0, posterior - problem.p_x[:, None], 0.0)
    for room in _ROOM:
        moved = (1.0 - room) * estimator + room * law.mass[:, None] / law.mass.sum()
        found = _project(problem, normalise(moved), feature)
        if found is not None:
            changed = 0.5 * float(np.abs(found[0] - estimator).sum(axis=0) @ problem.p_z)
            return Repaired(*found, problem.error_probability(found[0]), changed)
    return None


def _project(problem: Problem, estimator: Array, feature: Array) -> tuple[Array, OutputLaw] | None:
    best: tuple[Array, OutputLaw] | None = None
    residual = np.inf
    for _ in range(_PROJECTION_STEPS):
        law = problem.output_law(estimator)
        now = phi_residual(law)
        if now >= 0.5 * residual:
            break
        best, residual = (estimator, law), now
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
    with np.errstate(over="ignore", invalid="ignore"):  # hopeless steps are recognised by not being finite
        move = y @ feature
        return np.asarray(move - (estimator * move).sum(axis=0))


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
        projected = remove_leakage(problem, estimator, law)
        if projected is not None:
            found.append(End(projected.estimator, projected.law, projected.error))
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


def least_share(start: OutputLaw, end: OutputLaw, target: float, slack: float) -> float | None:
    """Smallest θ with leakage((1 − θ)·start + θ·end) ≤ target, from the safe side; None if even θ = 1 leaks too much.

    Leakage is convex in θ: a tangent at the infeasible side stays infeasible, a chord lands on the feasible side, and
    the two close in on the root faster than either alone.
    """

    def excess(share: float) -> float:
        return start.blend(end, share).leakage_ceiling(slack) - target

    low, high, above, below = 0.0, 1.0, excess(0.0), excess(1.0)
    if above <= 0.0:
        return 0.0
    if below > 0.0:
        return None
    for _ in range(_ROOT_STEPS):
        if high - low <= _ROOT_TOLERANCE * high or below >= -_ROOT_TOLERANCE * target:
            break
        chord = low + (high - low) * above / (above - below)
        for share in (_tangent(start, end, low, above), chord, 0.5 * (low + high)):
            if not low < share < high:
                continue
            value = excess(share)
            if value <= 0.0:
                high, below = share, value
            else:
                low, above = share, value
    return high


def _tangent(start: OutputLaw, end: OutputLaw, share: float, excess: float) -> float:
    """Where the tangent of leakage − target at `share` meets zero."""
    here = start.blend(end, share)
    ratio = np.maximum(here.ratio_minus_one(), -1.0 + _UNIT)  # where r = 0 the slope is infinite: nearly so will do
    change = (end.mass - start.mass)[:, None] * start.p_x + end.deviation - start.deviation
    slope = float((change * np.log1p(ratio)).sum())
    return share - excess / slope if slope < 0.0 else share
