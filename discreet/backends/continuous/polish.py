"""Newton's method on the boundaries: the last digits of a rule whose labels are known.

The unknowns and equations are those of docs/theory.md, section 17 ("Solving"); ties are divided by
p(b_k). At budget 0 the equations have redundant members, so steps are least-squares steps of least
norm. With wrong labels the iteration fails. That is harmless: the result is only a proposal, and is
judged like any other.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.backends.continuous.boundaries import Boundaries, relative_difference
from discreet.backends.equations import solve_equilibrated
from discreet.backends.precision import Precision
from discreet.measures.law import OutputLaw
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.numerics.double_double import Array
from discreet.problems.continuous.model import ContinuousProblem


@dataclass(frozen=True, eq=False)
class Polished:
    """Boundaries with the duals they determine: tilt [m, n] and μ (inf at budget 0)."""

    boundaries: Boundaries
    tilt: Array
    multiplier: float


@dataclass(frozen=True, eq=False)
class _System:
    """Residuals [R], their Jacobian [R, unknowns], and the duals at a point."""

    residual: Array
    jacobian: Array
    tilt: Array

    @property
    def merit(self) -> float:
        return float(np.abs(self.residual).max(initial=0.0))


def polish(
    problem: ContinuousProblem,
    start: Boundaries,
    tilt: Array,
    multiplier: float,
    precision: Precision,
    deadline: float = math.inf,
) -> Polished | None:
    """Polish a rule that is near its optimum, until `time.perf_counter()` has passed the deadline;
    None if no finite system was found.
    """
    free = np.flatnonzero(~start.pinned)
    if not free.size:
        return None
    perfect = problem.constraint.perfect
    at = Polished(start, tilt, math.inf if perfect else multiplier)
    slopes = tilt / max(multiplier, Precision.nonzero)
    best = None
    least = math.inf
    waiting = 0
    for _ in range(40):
        if time.perf_counter() > deadline:
            break
        system = (
            _perfect_system(problem, at, free)
            if perfect
            else _priced_system(problem, at, free, slopes, precision)
        )
        if not (np.isfinite(system.residual).all() and np.isfinite(system.jacobian).all()):
            break
        if system.merit < least:
            best = replace(at, tilt=system.tilt)
            least = system.merit
            waiting = 0
        else:
            waiting += 1
        if waiting >= 4:
            break
        step = solve_equilibrated(system.jacobian, -system.residual)
        if step is None:
            break
        at = _take_step(problem, at, free, step)
        # An interval has shrunk to nothing: wrong labels.
        if not (np.diff(at.boundaries.positions) > 0.0).all():
            break
    return best


def _take_step(
    problem: ContinuousProblem, at: Polished, free: NDArray[np.intp], step: Array
) -> Polished:
    """Take the step, shortened so that boundaries keep their order and μ its sign."""
    moves = np.zeros(at.boundaries.positions.size)
    moves[free] = step[: free.size]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = float(
            np.nanmin(0.4 * _room(problem, at.boundaries.positions) / np.abs(moves), initial=1.0)
        )
    tilt = at.tilt
    multiplier = at.multiplier
    if problem.constraint.perfect:
        tilt = tilt + share * step[free.size :].reshape(tilt.shape)
    else:
        if step[-1] < 0.0:
            share = min(share, 0.5 * multiplier / -step[-1])
        multiplier += share * step[-1]
    positions = at.boundaries.positions + share * moves
    return Polished(replace(at.boundaries, positions=positions), tilt, multiplier)


def _room(problem: ContinuousProblem, positions: Array) -> Array:
    """The distance from each boundary to its nearest neighbour, at most the spread of the
    measurement.
    """
    spread = (
        problem.quantiles[-10] - problem.quantiles[9]
        if problem.quantiles.size > 20
        else np.ptp(problem.quantiles)
    )
    gaps = np.concatenate([[spread], np.diff(positions), [spread]])
    return np.asarray(np.minimum(np.minimum(gaps[1:], gaps[:-1]), spread))


def _changes(problem: ContinuousProblem, at: Boundaries, free: NDArray[np.intp]) -> Array:
    """∂u_ij/∂b_k [m, n, K]."""
    change = np.zeros((problem.m, problem.n, free.size))
    with np.errstate(invalid="ignore"):  # 0 · inf at a pole: such a system is rejected
        densities = problem.private @ problem.densities(at.positions[free])
    for k in range(free.size):
        change[at.labels[free[k]], :, k] += densities[:, k]
        change[at.labels[free[k] + 1], :, k] -= densities[:, k]
    return change


def _ties(
    problem: ContinuousProblem, at: Boundaries, free: NDArray[np.intp], tilt: Array
) -> tuple[Array, Array, Array]:
    """Ties [K], their derivative along z at fixed tilt [K], and along the tilt [K, m, n]."""
    z = at.positions[free]
    left = at.labels[free]
    right = at.labels[free + 1]
    # About the cube root of u, for central differences; they only steer.
    h = 1e-5 * _room(problem, at.positions)[free]
    slope = relative_difference(problem, tilt, z + h, left, right) - relative_difference(
        problem, tilt, z - h, left, right
    )
    along = np.zeros((free.size, *tilt.shape))
    posterior = problem.posterior(z).T
    rows = np.arange(free.size)
    np.add.at(along, (rows, left), posterior)
    np.subtract.at(along, (rows, right), posterior)
    # Where boundaries coincide, the system is rejected.
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = slope / (2.0 * h)
    return relative_difference(problem, tilt, z, left, right), slope, along


def aim_within(problem: ContinuousProblem, law: OutputLaw) -> float:
    """The leakage to aim at so that the proven ceiling of a law near this one keeps the budget; at
    least half the budget.
    """
    hidden = law.leakage_ceiling() - law.leakage() if 0.0 < problem.budget < math.inf else 0.0
    return max(0.5 * problem.budget, problem.budget - Precision.ceiling * hidden)


def _priced_system(
    problem: ContinuousProblem,
    at: Polished,
    free: NDArray[np.intp],
    slopes: Array,
    precision: Precision,
) -> _System:
    """Ties and budget in the unknowns (b, μ).

    slopes: t/μ [m, n] at the start, which stand in for the gradient of a guess that is never made.
    """
    law = at.boundaries.rule(problem.m).output_law(problem)
    gradient = MUTUAL_INFORMATION.slope(law.ratio_minus_one(), law.p_x)  # ∇g
    tilt = at.multiplier * np.where(law.mass[:, None] > 0.0, gradient, slopes)
    change = _changes(problem, at.boundaries, free)
    joint = law.mass[:, None] * law.p_x + law.deviation
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        curved = (
            change / joint[:, :, None] - change.sum(axis=1, keepdims=True) / law.mass[:, None, None]
        )
    curved[~np.isfinite(curved)] = 0.0
    ties, slope, along = _ties(problem, at.boundaries, free, tilt)
    by_boundary = at.multiplier * np.einsum("kij,ijl->kl", along, curved) + np.diag(slope)
    by_price = np.einsum("kij,ij->k", along, gradient)
    budget_row = np.einsum("ij,ijl->l", gradient, change) / problem.budget
    aim = aim_within(problem, law) - problem.budget * precision.vertex
    residual = np.concatenate([ties, [(law.leakage() - aim) / problem.budget]])
    jacobian = np.block([[by_boundary, by_price[:, None]], [budget_row[None, :], np.zeros((1, 1))]])
    return _System(residual, jacobian, tilt)


def _perfect_system(problem: ContinuousProblem, at: Polished, free: NDArray[np.intp]) -> _System:
    """Ties, Φ P = 0 and the gauge π·t_i = 0 in the unknowns (b, t)."""
    m, n = at.tilt.shape
    law = at.boundaries.rule(problem.m).output_law(problem)
    change = _changes(problem, at.boundaries, free)
    deviating = change - change.sum(axis=1, keepdims=True) * law.p_x[None, :, None]
    ties, slope, along = _ties(problem, at.boundaries, free, at.tilt)
    gauge = np.kron(np.eye(m), law.p_x)
    jacobian = np.block(
        [
            [np.diag(slope), along.reshape(free.size, m * n)],
            [deviating.reshape(m * n, free.size), np.zeros((m * n, m * n))],
            [np.zeros((m, free.size)), gauge],
        ]
    )
    residual = np.concatenate([ties, law.deviation.ravel(), gauge @ at.tilt.ravel()])
    return _System(residual, jacobian, at.tilt)
