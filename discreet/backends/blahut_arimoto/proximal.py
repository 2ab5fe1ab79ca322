"""The iteration: exact proximal sweeps, each solved by Newton in the dual unknowns.

The fixed-point sweep of docs/theory.md, section 12, minimises a model of the leakage plus a
Kullback–Leibler distance of fixed weight μ. Here the leakage is exact and the weight decreases:

    P⁺ = argmin ⟨L, P'⟩ + (1/η) Σ_l w_l KL(P'_l ‖ P_l)   over estimators within the budgets,

whose dual is smooth, concave and unconstrained for every N. With one multiplier for each constraint
c and tilts of all its groups g,

    c_il(t, μ) = c_il + Σ_g (f^g_l·t_i^g − ω^g_l cost(t_i^g, μ_c)),
    D(t, μ) = −(1/η) Σ_l w_l log Σ_i P_il exp(−η c_il(t, μ)) − Σ_c μ_c ε_c,
    P⁺_il ∝ P_il exp(−η c_il(t, μ)).

The gradient is dev_i^g − s_i^g (q_i^g − π^g) with respect to t_i^g and Σ_i s_i^g KL(q_i^g ‖ π^g) −
ε_c with respect to μ_c, summed over the groups of c. −Hessian is η times a covariance over guesses
plus s_i^g times the Hessian of the cost of the tilt. Each t is dual feasible, so the bound of the
stopping rule costs nothing. Under perfect privacy μ does not exist and a tilt costs nothing, so the
same equations solve Φ P = 0 exactly. A constraint takes part only in sweeps that would violate it
otherwise: a constraint whose multiplier decreases quickly is left out, and returns if the sweep
without it violates it.

The error after k sweeps is at most log m / Σ η_k, and superlinear once the rows that randomise are
known (an exponential method of multipliers on the dual). Sources: M. Teboulle, Math. Oper. Res. 17
(1992); P. Tseng, D. P. Bertsekas, Math. Program. 60 (1993); A. N. Iusem, M. Teboulle, Math. Oper.
Res. 20 (1995).

Precision: a tilt common to all guesses does not change any decision (Σ_i P_il = 1), so its
curvature is computed only from the costs of the tilts, never as a difference of covariances. Within
a sweep, costs are stored as differences from the start of the sweep, so the large η does not
multiply rounding errors of the tilts.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.backends.blahut_arimoto.bracket import Incumbent, Outcomes, TiltedLaw
from discreet.backends.contract import Duals
from discreet.backends.precision import Precision
from discreet.numerics.double_double import Array

_IDLE = 0.05
"""If the multiplier of a budget decreases below this share of its value in one sweep, the sweep is
tried without the budget.
"""


def proximal_sweeps(outcomes: Outcomes, incumbent: Incumbent) -> str:
    """Run exact proximal sweeps from the uniform guess, and return the reason for stopping.

    The step η grows eightfold after a solved sweep, and shrinks again after a failed one.
    """
    eta = 1.0 / outcomes.spread
    log_estimator = np.full(outcomes.cost.shape, -math.log(len(outcomes.cost)))
    tilt = np.zeros_like(incumbent.prices.tilt)
    multipliers = outcomes.first_multipliers
    active = set(np.flatnonzero(outcomes.budget == 0.0).tolist())
    dropped = False
    while not (verdict := incumbent.verdict()):
        useful = 1.0 / Precision.longest < eta * outcomes.spread < Precision.longest
        if incumbent.stalled >= 6 or not useful:  # rounding level
            return "stopped: no further progress"
        counts = np.isin(np.arange(multipliers.size), list(active))
        rows = counts[outcomes.row_term]
        start = Duals(np.where(rows, tilt, 0.0), np.where(counts, multipliers, 0.0))
        sweep = ProximalSweep(outcomes, log_estimator, start, eta)
        solved = sweep.run(incumbent, set() if dropped else active)
        if sweep.idle:
            active -= sweep.idle
            dropped = True
            continue
        point = sweep.point
        incumbent.offer(point.estimator, point.prices)
        leakages = outcomes.law(point.estimator).leakages
        broken = set(np.flatnonzero(leakages > outcomes.budget).tolist()) - active
        # Without a constraint, or with short steps, a sweep need not narrow the bracket.
        if broken or not active or eta * outcomes.spread <= 1.0:
            incumbent.stalled = 0
        if broken:  # add one at a time, since it may also satisfy the others
            active.add(max(broken, key=lambda c: leakages[c] / outcomes.target[c]))
            continue
        # Also after a failed sweep, whose prices are closer than those it started from.
        tilt = np.where(rows, point.prices.tilt, tilt)
        multipliers = np.where(counts, point.prices.multipliers, multipliers)
        if solved:
            log_estimator = point.log_estimator
            dropped = False
            eta *= 8.0
        else:
            eta /= 8.0
    return verdict


# -- one sweep
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Point:
    """The dual function at a point of a sweep: the change from its start, prices and law, P⁺,
    masses s_i^g, value and gradient.

    At the end of the sweep the gradient is zero: dev_i = s_i (q_i − π), and Σ s_i KL_i = ε.
    """

    change: Duals
    prices: Duals
    law: TiltedLaw
    log_estimator: Array
    estimator: Array
    mass: Array
    value: float
    gradient: Duals


class ProximalSweep:
    """One exact sweep from log P [m, N] with step η. `step` is one Newton step; `point` is the
    present point.

    A constraint with multiplier 0 in `start` takes no part. idle: constraints that may not be
    binding.
    """

    def __init__(self, outcomes: Outcomes, log_estimator: Array, start: Duals, eta: float) -> None:
        self._outcomes = outcomes
        self._eta = eta
        self._start = start
        self._start_law = outcomes.tilted_law(start)
        self._rows = np.flatnonzero(start.multipliers[outcomes.row_term] > 0.0)
        self._priced = outcomes.priced[start.multipliers[outcomes.priced] > 0.0]
        costs = outcomes.tilted_costs(start.tilt, self._start_law)
        self._base = log_estimator - eta * (costs - costs.min(axis=0))
        self._scale = float(outcomes.mass @ np.abs(costs).max(axis=0))
        self.idle = set[int]()
        self.point = self._at(np.zeros_like(start.tilt), np.zeros_like(start.multipliers))

    def run(self, incumbent: Incumbent, droppable: Set[int]) -> bool:
        """Make Newton steps until the sweep is solved; return False if it was not, because its step
        η was too long, or once budgets are `idle`.
        """
        start = self._start.multipliers
        for _ in range(40):
            gain = self.step() if self._rows.size else 0.0
            incumbent.passes += 1
            prices = self.point.prices.multipliers
            self.idle = {c for c in droppable if prices[c] < _IDLE * start[c]}
            if self.idle:
                return False
            if gain <= 0.5 * Precision.searched**2 * self._outcomes.spread:
                return self._is_solved()
            if incumbent.verdict():
                return False
        return False

    def _is_solved(self) -> bool:
        """Return True if the budgets are satisfied with equality, or not used up at a negligible
        multiplier, and perfect privacy holds.

        Without curvature, because η is too long, no gain is predicted either.
        """
        outcomes = self._outcomes
        point = self.point
        leaks = np.abs(point.gradient.tilt).max(axis=0)
        if leaks[outcomes.budget[outcomes.row_term] == 0.0].max(initial=0.0) > Precision.leak_free:
            return False
        off = point.gradient.multipliers[self._priced]
        budget = outcomes.budget[self._priced]
        paid = point.prices.multipliers[self._priced] * budget
        spare = (off < 0.0) & (paid <= Precision.searched * outcomes.spread)
        return bool((spare | (np.abs(off) <= Precision.off_budget * budget)).all())

    def step(self) -> float:
        """Make one Newton step, damped until the dual increases, and return the predicted gain
        (half the squared decrement, in error probability).

        Returns 0 if no step improves: the rounding level is reached. Differences of the dual below
        the noise of its sums are rounding errors; then the gradient decides.
        """
        tilt, multipliers, slope = self._direction()
        here = self.point
        if not slope > 0.0:
            return 0.0
        noise = Precision.contradicted * self._scale
        share = 1.0
        for _ in range(30):
            trial = self._at(
                here.change.tilt + share * tilt, here.change.multipliers + share * multipliers
            )
            ahead = trial.gradient
            slope_there = float((ahead.tilt * tilt).sum() + ahead.multipliers @ multipliers)
            risen = trial.value >= here.value + 1e-4 * share * slope
            accept = risen if slope > noise else abs(slope_there) <= 0.5 * slope
            if np.isfinite(trial.value) and accept:
                self.point = trial
                return 0.5 * slope
            secant = slope / (slope - slope_there) if slope_there < 0.0 else 0.5
            share *= min(max(secant, 0.1), 0.5)
        return 0.0

    def _at(self, tilt_change: Array, change: Array) -> _Point:
        """Return the point at these changes from the start of the sweep, which are stored
        separately because η multiplies them.
        """
        outcomes = self._outcomes
        eta = self._eta
        tilt_change = outcomes.centre(tilt_change)
        prices = Duals(self._start.tilt + tilt_change, self._start.multipliers + change)
        law = outcomes.tilted_law(prices)
        rise = law.cost - self._start_law.cost
        exponent = self._base - eta * (tilt_change @ outcomes.feature - rise @ outcomes.share)
        largest = exponent.max(axis=0)
        weights = np.exp(exponent - largest)
        total = weights.sum(axis=0)
        log_total = largest + np.log(total)
        estimator = weights / total
        mass, deviation = outcomes.sums(estimator)
        target = outcomes.target[self._priced]
        spent = outcomes.by_term((mass * law.divergence).sum(axis=0))
        off = np.zeros_like(change)
        off[self._priced] = spent[self._priced] - target
        gradient = np.zeros_like(prices.tilt)
        gap = deviation - mass[:, outcomes.group] * law.excess
        gradient[:, self._rows] = gap[:, self._rows]
        return _Point(
            change=Duals(tilt_change, change),
            prices=prices,
            law=law,
            log_estimator=exponent - log_total,
            estimator=estimator,
            mass=mass,
            value=float(-(outcomes.mass @ log_total) / eta - change[self._priced] @ target),
            gradient=Duals(gradient, off),
        )

    def _direction(self) -> tuple[Array, Array, float]:
        """Return the Newton direction (dt [m, n], dμ [C]) and its slope gᵀ H⁻¹ g.

        Coordinates: t_i − t_r for every guess except the likeliest, the reference r; the tilts of
        constraints with a multiplier that are common to all guesses; the multipliers.
        """
        point = self.point
        outcomes = self._outcomes
        n = outcomes.prior.size
        reference = int(np.argmax(point.estimator @ outcomes.mass))
        # Use that Σ_i dev_i = 0 exactly.
        common = -(point.mass[:, outcomes.group] * point.law.excess).sum(axis=0)
        others = np.delete(point.gradient.tilt, reference, axis=0)[:, self._rows]
        off = point.gradient.multipliers[self._priced]
        gradient = np.concatenate([others.ravel(), common[self._common_rows], off])
        steps = self._coordinates(reference)
        solution = self._within_reach(self._curvature(steps), gradient)
        direction = steps @ solution  # [m, n + C]
        return direction[:, :n] @ outcomes.seen, direction[0, n:], float(gradient @ solution)

    @property
    def _common_rows(self) -> NDArray[np.intp]:
        """The rows whose tilt has a cost."""
        return self._rows[np.isin(self._outcomes.row_term[self._rows], self._priced)]

    def _coordinates(self, reference: int) -> Array:
        """Return the derivative of (t_i, μ) of every guess with respect to each coordinate [m, n +
        C, size].
        """
        m, n = self.point.prices.tilt.shape
        unit = np.eye(n + self.point.prices.multipliers.size)
        others = np.delete(np.eye(m), reference, axis=1)  # [m, m − 1]
        tilts = np.kron(others, unit[:, self._rows]).reshape(m, len(unit), -1)
        common = unit[:, np.concatenate([self._common_rows, n + self._priced])]
        return np.concatenate([tilts, np.tile(common, (m, 1, 1))], axis=2)

    def _within_reach(self, matrix: Array, gradient: Array) -> Array:
        """Return the solution, or the best one among those that keep every μ between 0.3 and 3
        times its present value.
        """
        solution = solve_scaled(matrix, gradient)
        multipliers = self.point.prices.multipliers[self._priced]
        tilts = gradient.size - multipliers.size
        free = np.ones(gradient.size, dtype=bool)
        for _ in multipliers:
            asked = solution[tilts:]
            prices = np.clip(asked, -0.7 * multipliers, 2.0 * multipliers)
            if (prices == asked).all():
                break
            free[tilts:] &= prices == asked
            solution[tilts:] = prices
            rest = gradient[free] - matrix[np.ix_(free, ~free)] @ solution[~free]
            solution[free] = solve_scaled(matrix[np.ix_(free, free)], rest)
        return solution

    def _curvature(self, steps: Array) -> Array:
        """Return −Hessian of D in the coordinates with these `steps` [m, n + C, size].

        The derivative of c_il by (t_i^g, μ_c) is (f^g_l − ω^g_l ρ_i^g, ω^g_l κ_i^g), with ρ the
        excess and κ the divergence of the tilted law; η times the covariance over guesses is
        Σ_{i<k} w_l P_il P_kl (∂c_il − ∂c_kl)(∂c_il − ∂c_kl)ᵀ, where 1 − P is never computed. For a
        tilt common to all guesses, f_l cancels exactly from the differences.
        """
        outcomes = self._outcomes
        point = self.point
        law = point.law
        m, n = law.excess.shape
        extended = np.vstack([outcomes.feature, outcomes.share])
        constant = outcomes.by_group(law.excess[:, :, None] * steps[:, :n])
        constant -= law.divergence[:, :, None] * steps[:, n + outcomes.term]
        own = steps[:, :n].copy()
        own[:, :, (m - 1) * self._rows.size :] = 0.0
        # Coefficients of (f_l, ω_l) in the derivatives of c_il [m, n + G, size].
        slopes = np.concatenate([own, -constant], axis=1)
        matrix = np.zeros((steps.shape[2], steps.shape[2]))
        for i in range(m):
            for k in range(i + 1, m):
                difference = slopes[i] - slopes[k]
                weights = outcomes.mass * point.estimator[i] * point.estimator[k]
                moments = (extended * weights) @ extended.T
                matrix += difference.T @ (self._eta * moments) @ difference
        for curvature, step in zip(self._cost_curvature(), steps, strict=True):
            matrix += step.T @ curvature @ step
        return matrix + self._gauge(matrix)

    def _cost_curvature(self) -> Array:
        """Return s_i^g times the Hessian of cost(t_i^g, μ_c) [m, n + C, n + C]: a perspective,
        hence flat along (t_i, μ) itself.
        """
        outcomes = self._outcomes
        law = self.point.law
        group = outcomes.group
        n = group.size
        multipliers = np.full(outcomes.budget.size, math.inf)
        multipliers[self._priced] = self.point.prices.multipliers[self._priced]
        posterior = outcomes.prior + law.excess
        together = group[:, None] == group
        covariance = -posterior[:, :, None] * posterior[:, None, :] * together
        covariance[:, range(n), range(n)] += posterior
        covariance *= (self.point.mass / multipliers[outcomes.term])[:, group, None]
        own = np.arange(multipliers.size)[:, None] == outcomes.row_term
        identity = np.broadcast_to(np.eye(n), covariance.shape)
        ray = np.concatenate([identity, -law.log_ratio[:, None, :] * own], axis=1)
        return np.asarray(ray @ covariance @ np.transpose(ray, (0, 2, 1)))

    def _gauge(self, matrix: Array) -> Array:
        """Return curvature for the directions without effect: one constant added to all tilts of a
        guess in one group.
        """
        group = self._outcomes.group
        m = len(self.point.estimator)
        blocks = [group[self._rows] + (group.size * i) for i in range(m - 1)]
        labels = np.concatenate([*blocks, group[self._common_rows] + group.size * m])
        together = labels[:, None] == labels
        size = together.sum(axis=0)
        level = together @ matrix.diagonal()[: labels.size] / size
        gauge = np.zeros_like(matrix)
        gauge[: labels.size, : labels.size] = together * (level / size)
        return gauge


def solve_scaled(matrix: Array, right: Array) -> Array:
    """Solve a positive semidefinite system after Jacobi scaling; a small ridge makes its null
    directions harmless.
    """
    diagonal = matrix.diagonal()
    scale = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 0.0)
    scaled = matrix * scale[:, None] * scale
    scaled[range(len(right)), range(len(right))] = 1.0 + Precision.ridge
    return np.asarray(scale * np.linalg.solve(scaled, scale * right))
