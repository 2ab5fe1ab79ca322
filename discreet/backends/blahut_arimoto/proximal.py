"""The accelerated iteration: exact proximal sweeps with a growing step, each solved by Newton in
m·n + 1 unknowns.

The plain sweep minimises a model of the leakage plus a Kullback–Leibler distance of fixed weight μ.
Here the leakage is exact and the weight falls:

    P⁺ = argmin ⟨L, P'⟩ + (1/η) Σ_l w_l KL(P'_l ‖ P_l)   over estimators that keep the budget,

whose dual is smooth, concave and free of constraints whatever N is. With c_il(t, μ) = c_il +
f_l·t_i − cost_i(t_i, μ),

    D(t, μ) = −(1/η) Σ_l w_l log Σ_i P_il exp(−η c_il(t, μ)) − μ ε,     P⁺_il ∝ P_il exp(−η c_il(t,
                                                                        μ)),

the gradient is (dev_i − s_i (q_i − π), Σ_i s_i KL(q_i ‖ π) − ε) and −Hessian is η times a
covariance over guesses plus s_i times the Hessian of the tilt's cost. Each t is itself dual
feasible, so the bound of the stopping rule is free. At budget 0 there is no μ and a tilt costs
nothing: the same code without that row solves Φ P = 0 exactly.

The error after k sweeps is at most log m / Σ η_k, and superlinear once the rows that randomise are
known (an exponential method of multipliers on the dual). Sources: M. Teboulle, Math. Oper. Res. 17
(1992); P. Tseng, D. P. Bertsekas, Math. Program. 60 (1993); A. N. Iusem, M. Teboulle, Math. Oper.
Res. 20 (1995).

Precision: a tilt common to all guesses changes no decision (Σ_i P_il = 1), so its curvature is
formed from the costs of the tilts alone, never as a difference of covariances. Within a sweep,
costs are stored as differences from the sweep's start, so the large η multiplies no rounding error
of the tilts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from discreet.backends.blahut_arimoto.outcomes import Bracket, Outcomes, TiltedLaw
from discreet.backends.blahut_arimoto.plain import first_multiplier, log_normalise, uniform_start
from discreet.backends.contract import Duals
from discreet.backends.precision import Precision
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.rounding import UNIT

_STALLED = "stopped: no further progress"


def proximal_sweeps(outcomes: Outcomes, bracket: Bracket, *, growing: bool = True) -> str:
    """Exact proximal sweeps from the uniform guess, of growing or constant step η. Returns why it
    stopped.
    """
    pace = Pace(1.0 / outcomes.spread, growing)
    log_estimator = uniform_start(outcomes)
    duals = Duals(bracket.duals.tilt, math.inf if outcomes.perfect else first_multiplier(outcomes))
    while not (verdict := bracket.verdict()):
        if (bracket.stalled >= 6 and growing) or pace.ended(outcomes.spread):  # rounding is reached
            return _with_perfect_privacy(outcomes, bracket, log_estimator)
        free = None if outcomes.perfect else _free_sweep(outcomes, log_estimator, pace.eta)
        bracket.passes += 1
        if free is not None:
            log_estimator = free
            bracket.offer(np.exp(free), None)
            bracket.stalled = 0
            pace.faster()
            continue
        sweep = ProximalSweep(outcomes, log_estimator, duals, pace.eta)
        solved = _newton(outcomes, sweep, bracket)
        bracket.offer(sweep.point.estimator, sweep.point.duals)
        # Also after a failed sweep: its duals are nearer than those it started from.
        duals = sweep.point.duals
        if pace.eta * outcomes.spread <= 1.0:  # steps so short need not narrow the bracket
            bracket.stalled = 0
        if solved:
            log_estimator = sweep.point.log_estimator
            pace.faster()
        else:
            pace.slower()
    return verdict


def _with_perfect_privacy(outcomes: Outcomes, bracket: Bracket, log_estimator: Array) -> str:
    """When rounding ends the sweeps: the perfect-privacy optimum, to blend towards and for its
    tilt.

    It is far better than a constant guess, and nearly optimal itself at budgets so small that
    rounding matters.
    """
    if outcomes.perfect:
        return _STALLED
    private = replace(outcomes, budget=0.0, target=0.0)
    inner = Bracket(private, bracket.gap, bracket.most_passes - bracket.passes, bracket.deadline)
    proximal_sweeps(private, inner)
    bracket.passes += inner.passes
    bracket.leak_free = inner.estimator
    bracket.offer(inner.estimator, _priced(outcomes, inner))
    for candidate in (np.exp(log_estimator), bracket.estimator):
        bracket.offer(candidate, None)
    return bracket.verdict() or _STALLED


def _priced(outcomes: Outcomes, private: Bracket) -> Duals | None:
    """The perfect-privacy tilt at the multiplier where it proves most.

    It costs Σ_i s_i Var_π(t_i)/(2 μ) + μ ε to second order; a tilt common to all guesses is
    subtracted first.
    """
    mass = private.estimator @ outcomes.mass
    tilt = private.duals.tilt - mass @ private.duals.tilt
    tilt = tilt - (tilt @ outcomes.prior)[:, None]
    variance = float(mass @ (tilt**2 @ outcomes.prior))
    return Duals(tilt, math.sqrt(0.5 * variance / outcomes.budget)) if variance > 0.0 else None


class Pace:
    """The step η: it grows eightfold after a sweep that was solved, and backs off after one that
    was not.
    """

    def __init__(self, eta: float, growing: bool) -> None:
        self.eta = eta
        self._solved = math.inf
        self._growth = 8.0 if growing else 1.0

    def faster(self) -> None:
        """After a sweep that was solved."""
        self._solved = self.eta
        self.eta *= self._growth

    def slower(self) -> None:
        """After a sweep that Newton's method did not solve: nearer to the last step that it solved,
        and at last below it.
        """
        self.eta = (
            math.sqrt(self.eta * self._solved) if self._solved < 0.5 * self.eta else self.eta / 8.0
        )

    def ended(self, spread: float) -> bool:
        """Whether η has left the range in which it means anything."""
        return not 1.0 / Precision.longest < self.eta * spread < Precision.longest


def _newton(outcomes: Outcomes, sweep: ProximalSweep, bracket: Bracket) -> bool:
    """Newton steps until the sweep is solved; False if it was not, because its step η
    was too long.
    """
    for _ in range(30):
        gain = sweep.step()
        bracket.passes += 1
        if gain <= 0.5 * Precision.searched**2 * outcomes.spread:
            if outcomes.perfect:  # without curvature, as η is too long, no gain is predicted either
                return float(np.abs(sweep.point.gradient).max()) <= Precision.leak_free
            return abs(sweep.point.price_gradient) <= Precision.off_budget * outcomes.budget
        if bracket.verdict():
            return False
    return False


def _free_sweep(outcomes: Outcomes, log_estimator: Array, eta: float) -> Array | None:
    """log P⁺ of the sweep without a constraint when it keeps the budget; else None."""
    free = log_normalise(log_estimator - eta * outcomes.cost)
    return free if outcomes.law(np.exp(free)).leakage() <= outcomes.target else None


# -- one sweep
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Point:
    """The dual function at a point of a sweep: the change from its start, duals and law, P⁺, value
    and gradient.

    At the end of the sweep the gradient is zero: dev_i = s_i (q_i − π), and Σ s_i KL_i = ε.
    """

    change: Array
    price_change: float
    duals: Duals
    law: TiltedLaw
    log_estimator: Array
    estimator: Array
    value: float
    gradient: Array
    price_gradient: float


class _DualPoint(Protocol):
    """Where a concave dual function is known: changes from a start, value and gradient."""

    @property
    def change(self) -> Array: ...
    @property
    def price_change(self) -> Any: ...
    @property
    def value(self) -> float: ...
    @property
    def gradient(self) -> Array: ...
    @property
    def price_gradient(self) -> Any: ...


_Where = TypeVar("_Where", bound=_DualPoint)


def damped(
    at: Callable[[Array, Any], _Where],
    here: _Where,
    direction: Array,
    price: Any,
    slope: float,
    noise: float,
) -> tuple[_Where, float]:
    """The point after a Newton step, damped until the dual rises, and the gain predicted; `here`
    and 0 if none does.

    slope is that of the dual along (direction, price). Differences of its value below the noise are
    rounding, where the gradient still counts.
    """
    if not slope > 0.0:
        return here, 0.0
    share = 1.0
    for _ in range(30):
        trial = at(here.change + share * direction, here.price_change + share * price)
        slope_there = float(
            (trial.gradient * direction).sum() + np.dot(trial.price_gradient, price)
        )
        risen = trial.value >= here.value + 1e-4 * share * slope
        accept = risen if slope > noise else abs(slope_there) <= 0.5 * slope
        if np.isfinite(trial.value) and accept:
            return trial, 0.5 * slope
        secant = slope / (slope - slope_there) if slope_there < 0.0 else 0.5
        share *= min(max(secant, 0.1), 0.5)
    return here, 0.0


class ProximalSweep:
    """One exact sweep from log P [m, N] with step η. `step` is one Newton step; `point` is where it
    stands.
    """

    def __init__(self, outcomes: Outcomes, log_estimator: Array, duals: Duals, eta: float) -> None:
        self._outcomes = outcomes
        self._eta = eta
        self._start = duals
        self._start_law = outcomes.tilted_law(*duals)
        self._seen = _projector(outcomes.feature)
        costs = outcomes.tilted_costs(duals.tilt, self._start_law)
        self._base = log_estimator - eta * (costs - costs.min(axis=0))
        self._scale = float(outcomes.mass @ np.abs(costs).max(axis=0))
        self.point = self._at(np.zeros_like(duals.tilt), 0.0)

    def step(self) -> float:
        """One damped Newton step; returns the gain it predicted (half the squared decrement, in
        error probability).

        Returns 0 when no step improves: rounding is reached.
        """
        self.point, gain = damped(
            self._at, self.point, *self._direction(), Precision.contradicted * self._scale
        )
        return gain

    def _at(self, change: Array, price_change: float) -> _Point:
        """The point at these changes from the sweep's start, kept apart from it: η
        multiplies them.
        """
        outcomes = self._outcomes
        eta = self._eta
        change = change - (change @ outcomes.prior)[:, None]
        duals = Duals(self._start.tilt + change, self._start.multiplier + price_change)
        law = outcomes.tilted_law(*duals)
        exponent = self._base - eta * (
            change @ outcomes.feature - (law.cost - self._start_law.cost)[:, None]
        )
        largest = exponent.max(axis=0)
        weights = np.exp(exponent - largest)
        total = weights.sum(axis=0)
        log_total = largest + np.log(total)
        estimator = weights / total
        output = outcomes.law(estimator)
        price = 0.0 if outcomes.perfect else price_change * outcomes.target
        return _Point(
            change,
            price_change,
            duals,
            law,
            exponent - log_total,
            estimator,
            -float(outcomes.mass @ log_total) / eta - price,
            output.deviation - output.mass[:, None] * law.excess,
            0.0 if outcomes.perfect else float(output.mass @ law.divergence) - outcomes.target,
        )

    def _direction(self) -> tuple[Array, float, float]:
        """The Newton direction (dt [m, n], dμ) and its slope gᵀ H⁻¹ g.

        Coordinates: t_i − t_r for every guess but the likeliest, the reference r. Except at budget
        0 also the tilt common to all guesses, and μ.
        """
        point = self.point
        outcomes = self._outcomes
        m, n = point.gradient.shape
        mass = point.estimator @ outcomes.mass
        steps = coordinates(m, n, int(np.argmax(mass)), outcomes.perfect)
        common = -mass @ point.law.excess  # Σ_i dev_i = 0 exactly
        others = np.delete(point.gradient, int(np.argmax(mass)), axis=0).ravel()
        gradient = (
            others if outcomes.perfect else np.concatenate([others, common, [point.price_gradient]])
        )
        matrix = self._curvature(steps)
        solution = solve_scaled(matrix, gradient)
        if not outcomes.perfect:
            solution = self._within_reach(matrix, gradient, solution)
        found = steps @ solution  # [m, n + 1]
        tilt = found[:, :n]
        if outcomes.perfect:
            tilt = tilt @ self._seen
        return tilt, float(found[0, n]), float(gradient @ solution)

    def _within_reach(self, matrix: Array, gradient: Array, solution: Array) -> Array:
        """The solution, or the best one among those that keep μ between 0.3 and 3 times its present
        value.
        """
        multiplier = self.point.duals.multiplier
        price = min(max(float(solution[-1]), -0.7 * multiplier), 2.0 * multiplier)
        if price == solution[-1]:
            return solution
        rest = solve_scaled(matrix[:-1, :-1], gradient[:-1] - price * matrix[:-1, -1])
        return np.append(rest, price)

    def _curvature(self, steps: Array) -> Array:
        """−Hessian of D in the coordinates with these `steps` [m, n + 1, size].

        The derivative of c_il by (t_i, μ) is (f_l − ρ_i, κ_i), with ρ the excess and κ the
        divergence of the tilted law; η times the covariance over guesses is Σ_{i<k} w_l P_il P_kl
        (∂c_il − ∂c_kl)(∂c_il − ∂c_kl)ᵀ, where 1 − P is never formed. A tilt common to all guesses
        leaves f_l out of the differences, exactly.
        """
        outcomes = self._outcomes
        law = self.point.law
        m, n = law.excess.shape
        estimator = self.point.estimator
        extended = np.vstack([outcomes.feature, np.ones_like(outcomes.mass)])
        constant = np.einsum("ia,iax->ix", np.column_stack([law.excess, -law.divergence]), steps)
        own = steps[:, :n].copy()
        own[:, :, (m - 1) * n :] = 0.0
        # Of c_il by (f_l, 1), [m, n + 1, size].
        slopes = np.concatenate([own, -constant[:, None, :]], axis=1)
        matrix = np.zeros((steps.shape[2], steps.shape[2]))
        for i in range(m):
            for k in range(i + 1, m):
                difference = slopes[i] - slopes[k]
                moments = (extended * (outcomes.mass * estimator[i] * estimator[k])) @ extended.T
                matrix += difference.T @ (self._eta * moments) @ difference
        if outcomes.perfect:
            return matrix + _gauge(matrix, n)
        for curvature, step in zip(self._cost_curvature(), steps, strict=True):
            matrix += step.T @ curvature @ step
        matrix[:-1, :-1] += _gauge(matrix[:-1, :-1], n)
        return matrix

    def _cost_curvature(self) -> Array:
        """s_i times the Hessian of cost_i(t_i, μ) [m, n + 1, n + 1]: a perspective, so flat along
        (t_i, μ) itself.
        """
        law = self.point.law
        multiplier = self.point.duals.multiplier
        posterior = self._outcomes.prior + law.excess
        covariance = -posterior[:, :, None] * posterior[:, None, :]
        n = posterior.shape[1]
        covariance[:, range(n), range(n)] += posterior
        mass = (self.point.estimator @ self._outcomes.mass)[:, None, None] / multiplier
        ray = np.concatenate(
            [np.broadcast_to(np.eye(n), covariance.shape), -law.log_ratio[:, None, :]], axis=1
        )
        return np.asarray(mass * (ray @ covariance @ np.transpose(ray, (0, 2, 1))))


def coordinates(m: int, n: int, reference: int, perfect: bool) -> Array:
    """How (t_i, μ) of every guess changes with each coordinate, [m, n + 1, size]."""
    others = np.delete(np.eye(m), reference, axis=1)  # [m, m − 1]
    tilts = np.kron(others, np.eye(n)).reshape(m, n, -1)
    if perfect:
        return np.concatenate([tilts, np.zeros((m, 1, tilts.shape[2]))], axis=1)
    both = np.concatenate([tilts, np.tile(np.eye(n), (m, 1, 1)), np.zeros((m, n, 1))], axis=2)
    price = np.zeros((m, 1, both.shape[2]))
    price[:, :, -1] = 1.0
    return np.concatenate([both, price], axis=1)


def _gauge(matrix: Array, n: int) -> Array:
    """Curvature for the directions that change nothing: one constant added to all of a block's n
    tilts.
    """
    blocks = matrix.shape[0] // n
    level = np.repeat(matrix.diagonal().reshape(blocks, n).mean(axis=1), n)
    return np.kron(np.eye(blocks), np.ones((n, n))) * (level / n)[:, None]


def _projector(feature: Array) -> Array:
    """The projector [n, n] onto what features [n, N] span.

    At budget 0 a tilt counts only as far as features see it. With fewer outcomes than private
    values some directions are not seen, and a Newton step has nothing but rounding there.
    """
    left, values, _ = np.linalg.svd(feature, full_matrices=False)
    seen = left[:, values > len(feature) * UNIT * values[0]]
    return np.asarray(seen @ seen.T)


def solve_scaled(matrix: Array, right: Array) -> Array:
    """Solve a positive semidefinite system after Jacobi scaling; a small ridge keeps its null
    directions harmless.
    """
    diagonal = matrix.diagonal()
    scale = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 0.0)
    scaled = matrix * scale[:, None] * scale
    scaled[range(len(right)), range(len(right))] = 1.0 + Precision.ridge
    return np.asarray(scale * np.linalg.solve(scaled, scale * right))
