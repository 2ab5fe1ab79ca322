"""A vertex: labels, ties, and the square system that determines them.

At a vertex all outcomes but a few *ties* are certain of their guess, their label. Every unknown *share* moves a tie from
its label to another guess, so the law of (X, Ŷ) is linear in the shares. What determines them and μ is one equality of
tilted losses per share and leakage = ε, with tilts t_i = μ log ratio; Newton's method takes a few steps to rounding, because
the law of the determined outcomes is summed once, in twice the working precision. At ε = 0 the shares solve leakage-free
equations, and the tilts the equalities of tilted losses; both are linear.

Source: discreet, docs/theory.md, section 14 (the crossover).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.backends.labelled import labelled_law
from discreet.backends.precision import Precision
from discreet.backends.tilt.point import Point
from discreet.problems.measures.law import OutputLaw
from discreet.problems.measures.mutual_information import phi_divergence, support_ceiling
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

_GRID = 2.0**53  # shares are multiples of 1 / this, so that a tie's column sums to one exactly
_STEPS = 12  # of Newton's method, which takes four to seven from a start worth having
_SETTLED = 1e-14  # relative change of the multiplier and absolute change of shares that ends it


class Shares:
    """What may still be decided: a share for every guess but the label that a tie may get.

    labels [N]; ties [K]: outcomes; start [m, K]: their columns at first, positive at the guesses that each may get.
    """

    def __init__(self, problem: Problem, labels: NDArray[np.intp], ties: NDArray[np.intp], start: Array) -> None:
        self.problem, self.labels, self.ties, self.own = problem, labels, ties, labels[ties]
        every = np.eye(problem.m)
        self.guesses, self.places = np.nonzero((start > 0.0) & (every[:, self.own] == 0.0))
        self.moves = every[self.guesses] - every[self.own[self.places]]  # ∂ Pr(Ŷ = y_i given the tie) / ∂ share [F, m]
        self.scale = np.sqrt(np.tile(problem.p_x, problem.m))
        self._start = start

    def columns(self, shares: Array) -> Array:
        """[m, K] the ties' columns for the free shares [F]."""
        found = np.zeros((self.problem.m, self.ties.size))
        found[self.guesses, self.places] = np.rint(shares * _GRID) / _GRID
        found[self.own, np.arange(self.ties.size)] = 1.0 - found.sum(axis=0)
        return found

    def effect(self, tied: Array) -> Array:
        """∂ deviation / ∂ share [F, m n] for the deviations [K, n] of the ties' own laws from independence."""
        return (self.moves[:, :, None] * tied[self.places][:, None, :]).reshape(self.places.size, -1)

    def near(self, deviation: Array | None, law: Array) -> Array | None:
        """The columns [m, K] next to the start with about that deviation of the law from independence [m, n].

        law [m, n]: the sums of p_xz by label; plain, as the answer only is a start. Some probability may be outside [0, 1].
        The start itself where no deviation is given, None beyond the range of numbers.
        """
        if deviation is None:
            return self._start
        p_x, held = self.problem.p_x, self.problem.p_xz[:, self.ties].T
        effect = self.effect(held - held.sum(axis=1)[:, None] * p_x)
        missing, shares = deviation - law + law.sum(axis=1)[:, None] * p_x, self._start[self.guesses, self.places]
        step = _step_towards(effect / self.scale, (missing.ravel() - shares @ effect) / self.scale)
        return None if step is None else self.columns(shares + step)


class Vertex:
    """Labels and ties with the law of the determined outcomes, in twice the working precision."""

    def __init__(self, shares: Shares) -> None:
        problem, m, ties = shares.problem, shares.problem.m, shares.ties
        law = labelled_law(problem.p_xz, shares.labels, m, problem.marginal, apart=ties)
        self._problem, self._shares, self._fixed = problem, shares, OutputLaw(law.mass[:m], law.deviation[:m], law.p_x)
        self._tied = OutputLaw(law.mass[m:], law.deviation[m:], law.p_x)
        self._by_mass = shares.moves * self._tied.mass[shares.places, None]
        self._by_deviation = shares.effect(self._tied.deviation)
        loss, own = problem.loss[:, ties], shares.own[shares.places]
        self._lost = loss[shares.guesses, shares.places] - loss[own, shares.places]  # L_guess − L_label

    def law(self, columns: Array) -> OutputLaw:
        """The law of (X, Ŷ) for columns of the ties [m, K]."""
        mass, deviation = columns @ self._tied.mass, columns @ self._tied.deviation
        return OutputLaw(self._fixed.mass + mass, self._fixed.deviation + deviation, self._fixed.p_x)

    def solve(self, columns: Array, tilt: Array, multiplier: float, precision: Precision) -> Point | None:
        """Columns of the ties [m, K] and duals, from columns to start from; None where there are none.

        Some probability may be outside [0, 1]. tilt [m, n]: at ε = 0 the nearest that the ties allow is taken, and for
        guesses that never occur its rows are.
        """
        shares = columns[self._shares.guesses, self._shares.places]
        if self._problem.constraint.perfect:
            return self._solve_perfect(shares, tilt, precision)
        return self._solve_constrained(shares, tilt, multiplier, precision)

    def _solve_perfect(self, shares: Array, tilt: Array, precision: Precision) -> Point | None:
        scale = self._shares.scale
        effect = self._by_deviation / scale
        for _ in range(3):  # a linear system: the repeats only refine
            step = _step_towards(effect, -self.law(self._shares.columns(shares)).deviation.ravel() / scale)
            if step is None:
                return None
            shares = shares + step
        columns = self._shares.columns(shares)
        if not np.abs(self.law(columns).excess).max() <= precision.leak_free:  # too few ties to cancel what others leak
            return None
        size = _sizes(effect)
        move = _least_squares(effect / size[:, None], -(self._lost + self._by_deviation @ tilt.ravel()) / size)
        if move is None:
            return None
        tilt = tilt + (move / scale).reshape(tilt.shape)
        return Point(columns, tilt - (tilt @ self._problem.p_x)[:, None], math.inf)

    def _solve_constrained(self, shares: Array, tilt: Array, multiplier: float, precision: Precision) -> Point | None:
        """Newton's method for a leakage just inside the budget: as little inside as rounding allows.

        Outcomes that were merged before had their masses rounded, by 2⁻⁵³ of themselves: leakage grows by at most
        2⁻⁵³ Σ u |log r| with that, which is what a perturbation of 2⁻⁵⁴ of the ratios r costs.
        """
        budget, inside = self._problem.budget, precision.vertex
        certain = self.law(self._shares.columns(np.zeros_like(shares)))
        newton = _Newton(certain, self._by_mass, self._by_deviation, self._lost)
        while inside < 1.0:
            found = newton.solve(shares, multiplier, budget * (1.0 - inside))
            if found is None:
                return None
            shares, multiplier = found
            columns = self._shares.columns(shares)
            law = self.law(columns)
            ratio, never = law.ratio_minus_one(), law.mass == 0.0
            if not ratio.min() > -1.0:
                return None
            excess = law.leakage_ceiling(2.0**-54) / budget - 1.0
            if excess <= 0.0:
                duals = multiplier * np.log1p(ratio)
                if never.any():
                    duals[never] = tilt[never] - support_ceiling(tilt[never], law.p_x, multiplier)[:, None]
                return Point(columns, duals, multiplier)
            inside = 2.0 * inside + 1.5 * excess
        return None


class _Newton:
    """The equations at a positive budget: masses and deviations are linear in the shares, from a law at shares 0."""

    def __init__(self, law: OutputLaw, by_mass: Array, by_deviation: Array, lost: Array) -> None:
        never = (law.mass == 0.0) & ~by_mass.any(axis=0)
        self._mass = law.mass + never  # any number will do for a guess that never occurs
        self._deviation = law.deviation.ravel()
        self._by_mass, self._by_deviation, self._lost = by_mass, by_deviation, lost
        self._p_x = np.tile(law.p_x, law.mass.size)
        self._by_joint = by_deviation + np.repeat(by_mass, law.p_x.size, axis=1) * self._p_x

    def solve(self, shares: Array, multiplier: float, budget: float) -> tuple[Array, float] | None:
        """Shares and multiplier for that leakage; None when Newton's method does not settle."""
        size = math.inf
        for _ in range(_STEPS):
            step = self._step(shares, multiplier, budget)
            if step is None:
                return None
            shares, multiplier = shares + step[:-1], multiplier + float(step[-1])
            if not (multiplier > 0.0 and np.isfinite(shares).all()):
                return None
            last, size = size, max(float(np.abs(step[:-1]).max()), abs(float(step[-1])) / multiplier)
            # converging steps shrink quadratically, the next to size³ / last²; what rounding leaves does not shrink
            following = size * (size / last) * (size / last) if last < math.inf else math.inf
            if size <= _SETTLED or following <= _SETTLED or 0.5 * last <= size <= 1e3 * _SETTLED:
                return shares, multiplier
        return (shares, multiplier) if size <= 1e6 * _SETTLED else None

    def _step(self, shares: Array, multiplier: float, budget: float) -> Array | None:
        """Changes of the shares and of μ, from derivatives by V_i = diag(1/u_i) − 1 1'/s_i; None outside the domain."""
        mass, deviation = self._mass + shares @ self._by_mass, self._deviation + shares @ self._by_deviation
        expected = np.repeat(mass, deviation.size // mass.size) * self._p_x
        joint = expected + deviation
        if not min(mass.min(), joint.min()) > 0.0:
            return None
        ratio = deviation / expected
        slopes = self._by_joint @ np.log1p(ratio)
        excess = float(expected @ phi_divergence(ratio)) - budget
        matrix = np.zeros((slopes.size + 1, slopes.size + 1))
        matrix[:-1, :-1] = (self._by_joint / joint) @ self._by_joint.T - (self._by_mass / mass) @ self._by_mass.T
        matrix[:-1] *= multiplier
        matrix[:-1, -1], matrix[-1, :-1] = slopes, multiplier * slopes
        right = -np.append(self._lost + multiplier * slopes, multiplier * excess)
        rows = _sizes(matrix)
        matrix /= rows[:, None]
        columns = _sizes(matrix.T)
        step = _least_squares(matrix / columns, right / rows)
        return None if step is None else step / columns


def _sizes(matrix: Array) -> Array:
    """The largest entry of each row, 1 for a row of zeros: what equilibrates it."""
    sizes = np.abs(matrix).max(axis=1)
    return np.where(sizes > 0.0, sizes, 1.0)


def _step_towards(effect: Array, missing: Array) -> Array | None:
    """The change of shares [F] of least norm, counted in effects [F, ·], that does what is missing; None beyond range."""
    size = _sizes(effect)
    step = _least_squares((effect / size[:, None]).T, missing)
    return None if step is None else step / size


def _least_squares(matrix: Array, right: Array) -> Array | None:
    """The solution of least norm; None where numbers are beyond range, as ties of next to no mass may make them."""
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return None
    solution = np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-13)[0])
    return solution if np.isfinite(solution).all() else None
