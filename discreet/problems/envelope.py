"""A bracket of the whole privacy–utility curve from finitely many certificates.

The best error probability E(ε) is convex and non-increasing in the budget ε. So certificates at a few budgets bracket it at
*every* budget: above by chords, as a mixture of estimators keeps the mixed budget; below by tangents, as feasible duals (t,
μ) prove E(ε) ≥ D(t, μ) − μ ε for every ε. Without any certificate E lies between the error probability of the Bayes rule,
which it reaches at I_MAP, and that of the best constant guess. Duals of perfect privacy (μ = ∞) give a bound at budget 0
only. An estimator that is private only within a number leaks a little, so it counts at what it leaks. All bounds are
rounded outward. The bracket is widest where two tangents cross.

Source: docs/theory.md §3 and §6; sandwich algorithms: G. Rote, "The convergence rate of the sandwich algorithm for
approximating convex functions", Computing 48 (1992) 337–361.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.problems.certificate import Certificate
from discreet.problems.errors import InputError
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.rounding import TOTAL_ROUNDING, UNIT
from discreet.problems.problem import Problem


@dataclass(frozen=True)
class Bound:
    """What one certificate proves of the curve: E(budget) ≤ upper; E(ε) ≥ lower − multiplier·(ε − budget) for every ε.

    reached_at: at budget 0, of an answer that is private only within a number, what it leaks at most: E(reached_at) ≤ upper
    """

    budget: float
    lower: float
    upper: float
    multiplier: float
    reached_at: float = 0.0

    @classmethod
    def of(cls, certificate: Certificate, multiplier: float) -> Bound:
        """From the judge's certificate and the multiplier of the duals that prove its lower bound."""
        tolerant = 0.0 < certificate.private_within < math.inf
        at = certificate.leakage_ceiling if tolerant else 0.0
        return cls(certificate.budget, certificate.lower, certificate.upper, multiplier, at)


@dataclass(frozen=True, eq=False)
class Envelope:
    """Two convex, non-increasing functions with lower(ε) ≤ E(ε) ≤ upper(ε) at every ε ≥ 0, and lower ≤ upper.

    vertices   (ε, error probability) [k, 2] of the upper function, from ε = 0 on; constant after the last
    tangents   (ε, error probability, slope ≥ 0) [r, 3]: the lower function is the greatest of error − slope·(· − ε)
    at_zero    the lower bound at ε = 0, where the lower function may jump
    horizon    I_MAP, rounded upward: E is constant beyond it
    start      what the answer at budget 0 leaks at most; below it nothing better than a constant guess may be proven
    """

    vertices: Array
    tangents: Array
    at_zero: float
    horizon: float
    start: float = 0.0

    def upper(self, budgets: Any) -> Array:
        """An error probability reached at each budget (nats, ≥ 0), rounded upward."""
        asked = _budgets(budgets)
        at, value = self.vertices.T
        if at.size == 1:
            return np.full(asked.shape, value[0])
        right = np.minimum(np.maximum(np.searchsorted(at, asked, side="left"), 1), at.size - 1)
        left = right - 1
        inside = np.minimum(np.maximum(asked, at[left]), at[right])
        share = (at[right] - inside) / (at[right] - at[left])  # two terms ≥ 0: nothing cancels
        mixed = (share * value[left] + (1.0 - share) * value[right]) * (1.0 + 8.0 * UNIT)
        return np.asarray(np.where(share >= 1.0, value[left], np.where(share <= 0.0, value[right], mixed)))

    def lower(self, budgets: Any) -> Array:
        """An error probability that no estimator beats at each budget (nats, ≥ 0), rounded downward."""
        asked = _budgets(budgets)
        proven = self._tangential(np.minimum(asked, self.horizon))
        return np.asarray(np.where(asked == 0.0, np.maximum(proven, self.at_zero), proven))

    def width(self, budgets: Any) -> Array:
        """upper − lower ≥ 0 at each budget; at budget 0 its limit from the right."""
        asked = _budgets(budgets)
        return np.asarray(np.maximum(0.0, self.upper(asked) - self._tangential(np.minimum(asked, self.horizon))))

    @property
    def height(self) -> float:
        """Upper bound of the fall of the curve from `start` to no constraint."""
        return float(self.upper(self.start) - self.lower(self.horizon))

    def candidates(self) -> tuple[Array, Array]:
        """Budgets from `start` to I_MAP among which the bracket is widest, widest first, and its widths there.

        Between two kinks of the lower function the width is convex, as the upper function is. So the width is largest at a
        kink of the lower function or at an end.
        """
        kinks = np.sort(np.concatenate([[self.start, self.horizon], _kinks(self.tangents)]))
        kinks = kinks[(kinks >= self.start) & (kinks <= self.horizon)]
        widths = self.width(kinks)
        order = np.argsort(-widths, kind="stable")
        return kinks[order], widths[order]

    def _tangential(self, asked: Array) -> Array:
        at, value, slope = self.tangents.T
        return np.asarray(np.max(value - slope * (asked[..., None] - at), axis=-1))


def envelope_of(problem: Problem, bounds: Iterable[Bound]) -> Envelope:
    """The tightest envelope that certificates of one model prove; the problem's own budget is not used.

    Law: with more certificates the bracket is nowhere wider (up to rounding).
    """
    problem.refuse_other_measures("curves are")
    horizon = problem.bayes_leakage
    known = [bound for bound in bounds if bound.budget <= horizon]
    floor = problem.bayes_error * (1.0 - 16.0 * UNIT)  # a total may differ from one by 8
    tangents = [(horizon, floor, 0.0)]
    perfect = [bound.lower for bound in known if bound.budget == 0.0]
    for bound in known:
        if bound.lower > 0.0 and math.isfinite(bound.multiplier):  # a lower bound of 0 stands for "nothing proven"
            terms = bound.lower + bound.multiplier * horizon
            rounding = 4.0 * TOTAL_ROUNDING * terms  # of the terms, and of Σ π, which is one within TOTAL_ROUNDING
            tangents.append((bound.budget, bound.lower - rounding, bound.multiplier))
    lines = np.array(tangents)
    at_zero = float((lines[:, 1] + lines[:, 2] * lines[:, 0]).max())
    reached = [(bound.budget, bound.upper) for bound in known if math.isfinite(bound.upper) and bound.budget > 0.0]
    private = [(bound.reached_at, max(bound.upper, at_zero)) for bound in known if bound.budget == 0.0]
    reached += [*private, (0.0, problem.constant_error), (horizon, problem.bayes_error)]
    vertices = _lower_hull((budget, value * (1.0 + 16.0 * UNIT)) for budget, value in reached)
    start = min((at for at, _ in private), default=0.0)
    return Envelope(vertices, lines, min(max([at_zero, *perfect]), float(vertices[0, 1])), horizon, min(start, horizon))


def _budgets(values: Any) -> Array:
    asked = np.asarray(values, dtype=np.float64)
    if not (asked >= 0.0).all():
        raise InputError("a budget asked of the curve is negative or not a number; give nats ≥ 0")
    return asked


def _lower_hull(points: Iterable[tuple[float, ...]]) -> Array:
    """The vertices [k, ·] of the greatest convex non-increasing function under points (abscissa, ordinate, …), in order."""
    hull: list[tuple[float, ...]] = []
    for point in sorted(points):
        if hull and point[1] >= hull[-1][1]:  # a point to the left is as low
            continue
        while len(hull) >= 2 and _above(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return np.array(hull)


def _above(left: tuple[float, ...], middle: tuple[float, ...], right: tuple[float, ...]) -> bool:
    """Whether the middle point lies on or above the chord of its neighbours."""
    return (middle[1] - left[1]) * (right[0] - left[0]) >= (right[1] - left[1]) * (middle[0] - left[0])


def _kinks(tangents: Array) -> Array:
    """Budgets > 0 at which the greatest tangent changes from one to the next.

    By duality the tangents that are the greatest somewhere are the hull of the points (slope, −value at budget 0).
    """
    at, value, slope = tangents.T
    greatest = _lower_hull(zip(slope.tolist(), (-value - slope * at).tolist(), range(at.size), strict=True))[:, 2]
    at, value, slope = tangents[greatest.astype(np.intp)].T
    rise = np.diff(value) + slope[1:] * np.diff(at)  # steeper − flatter at the flatter one's budget
    return np.asarray(at[:-1] + rise / np.diff(slope))
