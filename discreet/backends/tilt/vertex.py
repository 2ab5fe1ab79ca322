"""A vertex: labels, ties, and the square system that determines them.

At a vertex all outcomes but a few *ties* are certain of their guess, their label. Every unknown
*share* moves a tie from its label to another guess, so the law of (X, Ŷ) is linear in the shares.
What determines them and μ is one equality of tilted losses per share and leakage = ε, with tilts
t_i = μ log ratio; Newton's method takes a few steps to rounding, because what the labels deviate
from independence is summed once. At ε = 0 the shares solve leakage-free equations, and the tilts
the equalities of tilted losses; both are linear. The former are solved a second time, relative to
the mass of each guess.

Source: discreet, docs/theory.md, section 14 (the crossover).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.backends.equations import bordered, least_norm, sizes
from discreet.backends.precision import Precision
from discreet.backends.repairs import log_ratio
from discreet.backends.tilt.point import Point
from discreet.backends.tilt.stationary import Part, Shares
from discreet.measures.law import OutputLaw, distance_from_private, phi_residual
from discreet.measures.mutual_information import MUTUAL_INFORMATION, phi_divergence
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import UNIT
from discreet.problems.problem import Problem

_Index = NDArray[np.intp]
_STEPS = 12  # of Newton's method, which takes four to seven from a start worth having


class Vertex(Shares):
    """Labels and ties, and the equations for what is still to be decided: a share for every guess
    but the label of a tie.

    certain: the law where every outcome gets its label; the rest as in `Shares`.
    """

    def __init__(
        self, problem: Problem, certain: OutputLaw, ties: _Index, own: _Index, start: Array
    ) -> None:
        super().__init__(problem, ties, own, start)
        self._certain = certain
        count = self._tied.size
        self._by_mass = self._moves * problem.p_z[self._tied, None]
        self._by_entry = self._by_deviation.reshape(count, -1)
        self._by_joint = self._by_entry + (self._by_mass[:, :, None] * problem.p_x).reshape(
            count, -1
        )
        never = (certain.mass == 0.0) & ~self._by_mass.any(axis=0)
        self._mass = certain.mass + never  # any number will do for a guess that never occurs

    def law(self, columns: Array) -> OutputLaw:
        """The law of (X, Ŷ) for columns of the ties [m, K]."""
        shares = columns[self._guesses, self._places]
        return OutputLaw(
            self._certain.mass + shares @ self._by_mass, self._deviation(shares), self._certain.p_x
        )

    def _deviation(self, shares: Array) -> Array:
        found = self._certain.deviation + (shares @ self._by_entry).reshape(
            self._certain.deviation.shape
        )
        # What rounding left would make a guess dearer everywhere.
        found -= found.sum(axis=1)[:, None] * self._certain.p_x
        return found

    def solve(
        self, columns: Array, tilt: Array, multipliers: Array, precision: Precision
    ) -> Point | None:
        """Columns of the ties [m, K] and duals, from columns to start from; None where there are
        none.

        Some probability may be outside [0, 1]. tilt [m, n]: at ε = 0 the nearest that the ties
        allow is taken, and for guesses that never occur its rows are. At ε > 0 the leakage is as
        little inside the budget as rounding allows. Masses and their sums are rounded by 2⁻⁵³, so
        it grows by at most 2⁻⁵¹ Σ u |log r|, as by a perturbation of 2⁻⁵² of the ratios r; more
        where ties cancel a guess's mass. Where that is above the budget, the next law aims further
        inside.
        """
        if self._problem.constraint.perfect:
            return self._solve_perfect(columns, tilt, precision)
        budget = self._problem.budget
        multiplier = float(multipliers[0])
        inside = precision.vertex
        shares = columns[self._guesses, self._places]
        while inside < 1.0:
            found = self.newton(shares, multiplier, budget * (1.0 - inside))
            if found is None:
                return None
            shares, multiplier = found
            columns = self.columns(shares)
            law = self.law(columns)
            never = law.mass == 0.0
            excess = (
                law.leakage_ceiling(
                    Precision.entry * max(1.0, (self._mass / law.mass)[~never].max())
                )
                / budget
                - 1.0
            )
            if excess <= 0.0:
                duals = multiplier * log_ratio(law.ratio_minus_one())
                if never.any():  # less h_i
                    duals[never] = (
                        tilt[never]
                        - multiplier
                        * np.log1p(np.expm1(tilt[never] / multiplier) @ law.p_x)[:, None]
                    )
                equal = self._equal(
                    duals, np.maximum(law.mass[:, None] * law.p_x + law.deviation, UNIT * law.p_x)
                )
                return None if equal is None else Point(columns, equal, np.array([multiplier]))
            inside = 2.0 * (inside + excess)
        return None

    def newton(self, shares: Array, multiplier: float, budget: float) -> tuple[Array, float] | None:
        """Shares [F] and multiplier for that leakage, from some to start from; None when Newton's
        method does not settle.
        """
        size = math.inf
        shares = np.maximum(shares, Precision.settled)
        for _ in range(_STEPS):
            moved = self._step(shares, multiplier, budget)
            if moved is None:
                return None
            last = size
            (shares, multiplier, size) = moved
            # Converging steps shrink quadratically, the next to size³ / last²; what rounding leaves
            # does not shrink.
            following = size * (size / last) * (size / last) if last < 1.0 else math.inf
            if (
                size <= Precision.settled
                or following <= Precision.settled
                or 0.5 * last <= size <= 1e3 * Precision.settled
            ):
                return shares, multiplier
        return (shares, multiplier) if size <= 1e6 * Precision.settled else None

    def _step(
        self, shares: Array, multiplier: float, budget: float
    ) -> tuple[Array, float, float] | None:
        """Shares, multiplier and the size of the step by V_i = diag(1/u_i) − 1 1'/s_i; None outside
        the domain.
        """
        mass = self._mass + shares @ self._by_mass
        deviation = self._deviation(shares).ravel()
        expected = (mass[:, None] * self._certain.p_x).ravel()
        ratio = deviation / expected
        if not (mass.min() > 0.0 and ratio.min() >= -1.0 - Precision.settled):
            return None
        # Of a guess that excludes a private value, up to rounding.
        ratio = np.maximum(ratio, -1.0 + UNIT)
        joint = expected + expected * ratio
        slopes = self._by_joint @ np.log1p(ratio)
        curvature = (self._by_joint / joint) @ self._by_joint.T - (
            self._by_mass / mass
        ) @ self._by_mass.T
        unequal = -slopes - self._lost / multiplier
        unused = budget - float(expected @ phi_divergence(ratio))
        step = bordered(curvature, slopes, unequal, unused)
        if step is None or not step[-1] > -1.0:
            return None
        return shares + step[:-1], multiplier * (1.0 + float(step[-1])), float(np.abs(step).max())

    def _solve_perfect(self, columns: Array, tilt: Array, precision: Precision) -> Point | None:
        private = self._refined(columns)
        if private is None:
            return None
        law = self.law(private)
        if (
            not phi_residual(law) <= precision.leak_free
            or distance_from_private(law) > precision.private
        ):
            return None  # too few ties to cancel what others leak, or what a rare guess does
        equal = self._equal(tilt - (tilt @ law.p_x)[:, None], np.tile(law.p_x, (len(tilt), 1)))
        return None if equal is None else Point(private, equal, np.array([math.inf]))

    def _refined(self, columns: Array) -> Array | None:
        """The columns of ties [m, K] after one more solution for what rounding has left of the
        law's deviation.

        The equations of each guess are divided by its mass, so that a rare guess becomes as private
        as a frequent one.
        """
        shares = columns[self._guesses, self._places]
        mass = self.law(columns).mass
        scale = self._scale * np.repeat(np.where(mass > 0.0, mass, 1.0), self._problem.n)
        effect = self._by_entry / scale
        size = sizes(effect)
        step = least_norm((effect / size[:, None]).T, -self._deviation(shares).ravel() / scale)
        return None if step is None else self.columns(shares + step / size)

    def _equal(self, tilt: Array, joint: Array) -> Array | None:
        """The tilt [m, n] that costs least for the law u [m, n] and makes the losses of ties equal
        once shares are rounded.

        A change δ with Σ_j u_ij δ_ij = 0 leaves h_i as it is to first order, and costs Σ_ij u_ij
        δ_ij² / (2 μ).
        """
        posterior = joint / joint.sum(axis=1)[:, None]
        scale = np.sqrt(joint).ravel()
        effect = (
            self._by_joint - (self._by_mass[:, :, None] * posterior).reshape(self._by_joint.shape)
        ) / scale
        size = sizes(effect)
        unequal = (
            -self._lost - self._by_entry @ tilt.ravel() - self._by_mass @ (tilt @ self._problem.p_x)
        )
        move = least_norm(effect / size[:, None], unequal / size)
        return None if move is None else tilt + (move / scale).reshape(tilt.shape)


def is_entropic(problem: Problem) -> bool:
    """Whether there is one secret, and leakage is mutual information or none is allowed: then its
    vertex is a `Vertex`.
    """
    return len(problem.terms) == 1 and (
        problem.measure == MUTUAL_INFORMATION or problem.constraint.perfect
    )


def plain_law(problem: Problem, estimator: Array) -> OutputLaw:
    """The law of (X, Ŷ) under an estimator [m, N], by plain sums."""
    return OutputLaw(estimator @ problem.p_z, estimator @ problem.deviations.T, problem.p_x)


def proven_width(problem: Problem, at: Point, precision: Precision) -> float:
    """Relative, of the bracket that a vertex proves for the budgets aimed at, up to rounding.

    It adds up terms ≥ 0: what the columns lose to the best guess of each outcome, what tilts lack
    of being feasible, and what budgets leave unused. For a vertex Σ t·u is Σ μ times the leakages.
    """
    losses = problem.loss + at.tilt @ problem.p_xz
    prices = at.multipliers.tolist()
    used = np.zeros(len(problem.terms))
    wasted = 0.0
    for part in Part.of(problem):
        term = problem.terms[part.term]
        tilt = at.tilt[:, part.rows]
        mass = at.columns @ part.mass
        if term.budget.perfect:
            over = tilt @ part.p_x
        else:
            deviation = at.columns @ problem.deviations[part.rows].T
            own = deviation - deviation.sum(axis=1)[:, None] * part.p_x
            law = OutputLaw(mass, own, part.p_x, measure=term.measure)
            used[part.term] += law.level
            over = term.measure.ceiling(tilt, part.p_x, prices[part.term], term.level)
            over = np.maximum(over, 0.0)
        losses -= over[:, None] * part.mass
        wasted += float(mass @ over)
    for term, price, level in zip(problem.terms, prices, used.tolist(), strict=True):
        if term.priced and price > 0.0:
            wasted += price * max(0.0, term.level * (1.0 - precision.undercut) - level)
    losses -= losses.min(axis=0)
    error = max(float(np.vdot(at.columns, problem.loss)), Precision.nonzero)
    return (wasted + float(np.vdot(at.columns, losses))) / error
