"""A vertex: labels, ties, and the square system that determines them.

At a vertex all outcomes but a few *ties* are certain of their guess, their label. Every unknown *share* moves a tie from
its label to another guess, so the law of (X, Ŷ) is linear in the shares. What determines them and μ is one equality of
tilted losses per share and leakage = ε, with tilts t_i = μ log ratio; Newton's method takes a few steps to rounding, because
the law of the determined outcomes is summed once, in twice the working precision. At ε = 0 the shares solve leakage-free
equations, and the tilts the equalities of tilted losses; both are linear.

Source: discreet, docs/theory.md (finishing by ties).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.problems.measures.law import OutputLaw
from discreet.problems.measures.mutual_information import phi_divergence
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["Finished", "Solved", "Vertex", "contradicted"]

_GRID = 2.0**53
_INSIDE = 2.0**-44  # relative: the budget is undercut by that, and more where rounding the shares to the grid leaks
_ROUNDINGS = 2.0**-51  # of the sizes of what is added up to a deviation
_MERGED = 2.0**-53  # relative, of the sums over outcomes that were merged
_AIMS = 6
_NEWTON_STEPS = 12
_LEAK_FREE = 1e-14  # ‖Φ P‖∞ that rounding leaves
_SETTLED = 1e-14  # relative change of the multiplier and absolute change of probabilities that ends Newton's method
_ROUNDING = 1e-11  # the same, where steps that no longer halve are rounding
_REFINEMENTS = 3
_TINY = 1e-200  # squares below that have lost digits


@dataclass(frozen=True, eq=False)
class Finished:
    """A consistent vertex: deterministic but for the ties.

    labels      the guess of every outcome      [N]
    ties        the outcomes that randomise     [K]
    columns     their columns                   [m, K]
    tilt        duals of u_i                    [m, n]
    multiplier  μ (inf at ε = 0)
    width       what it leaves between its error probability and its tilt's bound, relative, up to rounding
    """

    labels: NDArray[np.intp]
    ties: NDArray[np.intp]
    columns: Array
    tilt: Array
    multiplier: float
    width: float = math.inf

    def estimator(self, m: int) -> Array:
        """The dense estimator [m, N]."""
        found = np.zeros((m, self.labels.size))
        found[self.labels, np.arange(self.labels.size)] = 1.0
        found[:, self.ties] = self.columns
        return found


@dataclass(frozen=True, eq=False)
class Solved:
    """What the equations of a vertex determine.

    columns     of the ties, where some probability may be outside [0, 1]   [m, K]
    mass        Pr(Ŷ = y_i), exactly 0 for a guess that is nowhere active   [m]
    tilt        duals of u_i                                                [m, n]
    multiplier  μ (inf at ε = 0)
    """

    columns: Array
    mass: Array
    tilt: Array
    multiplier: float


def contradicted(problem: Problem, vertex: Vertex, tilt: Array) -> NDArray[np.intp]:
    """Determined outcomes whose label is not best under the tilt, by more than rounding."""
    losses = problem.loss + tilt @ problem.p_xz
    chosen = losses[vertex.labels, np.arange(problem.N)]
    rounding = 2.0**-50 * (problem.loss.max(axis=0) + np.abs(tilt).max(axis=0) @ problem.p_xz)
    wrong = chosen - losses.min(axis=0) > rounding
    wrong[vertex.ties] = False
    return np.flatnonzero(wrong)


class Vertex:
    """Labels and ties with the law of the determined outcomes; unknowns are the shares of all but one guess of each tie.

    active [m, N]: the guesses an outcome may give; labels and first shares come from the estimator [m, N].
    """

    def __init__(self, problem: Problem, active: NDArray[np.bool_], estimator: Array) -> None:
        self._problem = problem
        self.labels = np.where(active, estimator, -1.0).argmax(axis=0)
        self.ties = np.flatnonzero(np.add.reduce(active, 0) > 1)
        m, count = problem.m, self.ties.size
        parts = self.labels.copy()  # each tie is a part of its own
        parts[self.ties] = np.arange(m, m + count)
        law = problem.labelled_law(parts, m + count)
        self._fixed = OutputLaw(law.mass[:m], law.deviation[:m], law.p_x)
        self._tied_mass, self._tied_deviation = law.mass[m:], law.deviation[m:]
        self._own = self.labels[self.ties]
        self._guesses, self._places = np.nonzero(active[:, self.ties] & (np.arange(m)[:, None] != self._own))
        self._start = estimator[self._guesses, self.ties[self._places]]
        self._moves = np.zeros((self._start.size, m))  # ∂ Pr(Ŷ = y_i given the tie) / ∂ share
        every = np.arange(self._start.size)
        self._moves[every, self._guesses] = 1.0
        self._moves[every, self._own[self._places]] = -1.0
        self._by_deviation = self._moves[:, :, None] * self._tied_deviation[self._places][:, None, :]  # [F, m, n]
        self._unmoved = self._law(self._columns(np.zeros_like(self._start)))

    def _columns(self, shares: Array) -> Array:
        """[m, K] the ties' columns for the free shares, rounded to multiples of 2^-53: such columns sum to one exactly."""
        found = np.zeros((self._problem.m, self.ties.size))
        found[self._guesses, self._places] = np.rint(shares * _GRID) / _GRID
        found[self._own, np.arange(self.ties.size)] = 1.0 - found.sum(axis=0)
        return found

    def _law(self, columns: Array) -> OutputLaw:
        return OutputLaw(
            self._fixed.mass + columns @ self._tied_mass,
            self._fixed.deviation + columns @ self._tied_deviation,
            self._fixed.p_x,
        )

    def start_next_to(self, deviation: Array) -> None:
        """Let the first shares be those whose law deviates from independence most nearly as given [m, n]."""
        scale = np.sqrt(self._fixed.p_x)
        effect = (self._by_deviation / scale).reshape(self._start.size, -1)
        shares = _least_squares(effect.T, ((deviation - self._unmoved.deviation) / scale).ravel())
        if shares is not None:
            self._start = shares

    def solve(self, multiplier: float) -> Solved | None:
        """The vertex; None when Newton's method does not settle. Shares may be outside [0, 1]."""
        if self._start.size == 0:
            return None
        return self._solve_perfect() if self._problem.constraint.perfect else self._solve_constrained(multiplier)

    def _loss_differences(self) -> Array:
        """L_guess − L_label of every unknown share."""
        outcomes = self.ties[self._places]
        loss = self._problem.loss
        return np.asarray(loss[self._guesses, outcomes] - loss[self.labels[outcomes], outcomes])

    def _solve_constrained(self, multiplier: float) -> Solved | None:
        """Newton's method for a leakage just inside the budget: as little inside as rounding the shares allows."""
        system = _System(self, multiplier)
        inside = _INSIDE
        for _ in range(_AIMS):
            if not system.settle(self._problem.budget * (1.0 - inside)):
                return None
            columns = self._columns(system.shares)
            law = self._law(columns)
            ratio = law.ratio_minus_one()  # 0 where the guess never occurs
            if not ratio.min() > -1.0:
                return None
            log_ratio = np.log1p(ratio)
            summed = np.abs(self._fixed.deviation) + np.abs(columns) @ np.abs(self._tied_deviation)
            whole = law.mass[:, None] * law.p_x  # outcomes merged before had their masses rounded
            doubt = float(np.vdot(np.abs(log_ratio), _ROUNDINGS * summed + _MERGED * whole))
            excess = (law.leakage_ceiling() + doubt) / self._problem.budget - 1.0
            if excess <= 0.0:
                break
            inside = 2.0 * inside + 1.5 * excess
        return Solved(columns, law.mass, system.multiplier * log_ratio, system.multiplier)

    def _solve_perfect(self) -> Solved | None:
        problem = self._problem
        scale = np.sqrt(problem.p_x)
        flat = (self._by_deviation / scale).reshape(self._start.size, -1)
        shares = self._start
        for _ in range(_REFINEMENTS):  # linear: the repeats only refine
            residual = (self._law(self._columns(shares)).deviation / scale).ravel()
            step = _least_squares(flat.T, -residual)
            if step is None:
                return None
            shares = shares + step
        columns = self._columns(shares)
        law = self._law(columns)
        if not np.abs(law.excess).max() <= _LEAK_FREE:  # too few ties to cancel what the others leak
            return None
        tilt = _least_squares(flat, -self._loss_differences())
        if tilt is None:
            return None
        tilt = tilt.reshape(problem.m, problem.n) / scale
        return Solved(columns, law.mass, tilt - (tilt @ problem.p_x)[:, None], math.inf)


class _System:
    """The vertex's equations at a positive budget, in flat arrays: (deviations, π s, s) are linear in the shares."""

    def __init__(self, vertex: Vertex, multiplier: float) -> None:
        fixed, moves, places = vertex._fixed, vertex._moves, vertex._places
        self.shares, self.multiplier = vertex._start, multiplier
        self._loss_differences = vertex._loss_differences()
        mass = vertex._unmoved.mass
        if not mass.all():
            mass = np.where((mass == 0.0) & ~moves.any(axis=0), 1.0, mass)  # of a guess that never occurs: nothing sees it
        self._at = np.concatenate([vertex._unmoved.deviation.ravel(), (mass[:, None] * fixed.p_x).ravel(), mass])
        by_mass = moves * vertex._tied_mass[places][:, None]
        by_deviation = vertex._by_deviation.reshape(places.size, -1)
        by_expected = (by_mass[:, :, None] * fixed.p_x).reshape(places.size, -1)
        self._by_share = np.concatenate([by_deviation, by_expected, by_mass], axis=1)
        self._by_joint = by_deviation + by_expected
        self._bent = np.concatenate([self._by_joint, by_mass], axis=1)
        self._entries = by_deviation.shape[1]
        self._sign = np.ones(self._bent.shape[1])
        self._sign[self._entries :] = -1.0

    def settle(self, budget: float) -> bool:
        """Newton's method from the shares and multiplier at hand for that leakage; False when it does not settle."""
        size = math.inf
        for _ in range(_NEWTON_STEPS):
            step = self._step(budget)
            if step is None:
                return False
            self.shares = self.shares + step[:-1]
            change, largest = float(step[-1]), float(np.abs(self.shares).max())
            self.multiplier += change
            if not self.multiplier > 0.0 or not largest <= 1e3:
                return False
            last, size = size, max(float(np.abs(step[:-1]).max()), abs(change) / self.multiplier)
            # converging steps shrink quadratically, the next to size³ / last²; what rounding leaves does not
            if size <= _SETTLED or size**3 <= _SETTLED * last**2 < math.inf or 0.5 * last <= size <= _ROUNDING:
                break
        return True

    def _step(self, budget: float) -> Array | None:
        """Changes of the shares and of μ, from derivatives by V_i = diag(1/u_i) − 1 1'/s_i; None outside the domain."""
        law = self._at + self.shares @ self._by_share
        deviation, expected = law[: self._entries], law[self._entries : 2 * self._entries].copy()
        held = law[self._entries :]  # becomes (joint law, masses)
        held[: self._entries] += deviation
        if not held.min() > 0.0:
            return None
        ratio = deviation / expected
        slopes = self._by_joint @ np.log1p(ratio)
        curvature = (self._bent * (self._sign / held)) @ self._bent.T
        unbalanced = self._loss_differences + self.multiplier * slopes
        excess = float(expected @ phi_divergence(ratio)) - budget
        if slopes.size == 1:
            return _alone(float(curvature[0, 0]), float(slopes[0]), float(unbalanced[0]), excess, self.multiplier)
        matrix = np.zeros((slopes.size + 1, slopes.size + 1))
        matrix[:-1, :-1] = self.multiplier * curvature
        matrix[:-1, -1], matrix[-1, :-1] = slopes, self.multiplier * slopes
        return _least_squares(matrix, -np.append(unbalanced, self.multiplier * excess))


def _alone(curvature: float, slope: float, unbalanced: float, excess: float, multiplier: float) -> Array | None:
    """The step for a single share, where the two equations are solved one after the other."""
    if slope == 0.0:
        return None
    share = -excess / slope
    return np.array([share, -(unbalanced + multiplier * curvature * share) / slope])


def _least_squares(matrix: Array, right: Array) -> Array | None:
    """The least-norm solution after equilibrating rows and columns; None where numbers are beyond range.

    For a single unknown, the projection: as good, and one array operation instead of a decomposition.
    """
    if matrix.shape[1] == 1 and _TINY < (square := float(np.vdot(matrix, matrix))) < 1.0 / _TINY:
        return np.asarray((right @ matrix) / square)
    with np.errstate(over="ignore", invalid="ignore"):  # ties of next to no mass
        rows = np.abs(matrix).max(axis=1)
        rows[rows == 0.0] = 1.0
        scaled = matrix / rows[:, None]
        columns = np.abs(scaled).max(axis=0)
        columns[columns == 0.0] = 1.0
        scaled, right = scaled / columns, right / rows
        if not (np.isfinite(scaled).all() and np.isfinite(right).all()):
            return None
        solution = np.linalg.lstsq(scaled, right, rcond=1e-13)[0] / columns
    return np.asarray(solution) if np.isfinite(solution).all() else None
