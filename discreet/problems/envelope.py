"""A bracket of the whole privacy–utility curve from finitely many certificates.

The best error probability E is convex and non-increasing in the *level* B: the budget in the form
that its measure compares with sums over guesses, which is the budget itself unless the measure is a
logarithm (`Measure.level`). So certificates at a few budgets bracket E at *every* budget: from
above by chords, since a mixture of estimators satisfies the mixed level; from below by tangents,
since feasible duals (t, μ) prove E ≥ D(t, μ) − μ B for every B. With several secrets, all levels
are proportional, and the curve is a function of their common factor. Measures that bound each guess
by its posterior have no such curve, and are refused.

Without any certificate, E lies between the error probabilities of the Bayes rule and of the best
constant guess; it reaches the former at the leakage of the Bayes rule (I_MAP). Duals of perfect
privacy (μ = ∞) give a bound at budget 0 only. An estimator that is private only within a number
leaks a little, so it counts at its leakage. All bounds are rounded outward. The bracket is widest
where two tangents cross.

Source: docs/theory.md §3, §6 and §22; sandwich algorithms: G. Rote, "The convergence rate of the
sandwich algorithm for approximating convex functions", Computing 48 (1992) 337–361.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.lazy import cached_property
from discreet.measures.measure import Measure, Scope
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import SMALLEST, TOTAL_ROUNDING, UNIT
from discreet.problems.certificate import Certificate
from discreet.problems.constraint import Term, are_numbered
from discreet.problems.problem import Problem

_LEAST = 1e-100  # smallest level that a curve of several secrets can scale


@dataclass(frozen=True)
class Bound:
    """What one certificate proves about the curve, on its scale: E ≤ upper and E ≥ lower at
    `budget`, and a tangent there.

    multiplier   E ≥ lower − multiplier·(B − the level of the budget) at every level B
    reached_at   at budget 0, for an answer that is private only within a number, an upper bound of
                 its leakage: E(reached_at) ≤ upper
    """

    budget: float
    lower: float
    upper: float
    multiplier: float
    reached_at: float = 0.0


@dataclass(frozen=True, eq=False)
class Scale:
    """The axis of a curve, along which the levels of all constraints are proportional.

    terms     the constraints of the problem
    measure   a place is a budget of this measure; with several constraints a common factor, which
              counts as a level
    steps     level of each constraint at the place whose level is 1 [C]
    own       the place of the problem's own budgets
    horizon   from this place on, the Bayes rule satisfies all budgets, and E is constant
    title     description of places, for records
    label     description of places, for axes
    unit      unit of places; empty for plain numbers
    """

    terms: tuple[Term, ...]
    measure: Measure
    steps: Array
    own: float
    horizon: float
    title: str
    label: str
    unit: str

    @classmethod
    def of(cls, problem: Problem) -> Scale:
        """Return the scale of a problem; InputError if E need not be convex, or if several budgets
        have no common factor.
        """
        terms = problem.terms
        for term in terms:
            if term.measure.scope is Scope.POSTERIOR:
                raise InputError(
                    f"a budget of {term.measure.name} bounds each guess, however rare, so the "
                    "least error probability need "
                    "not be convex in it and nothing would be proven between solved budgets; "
                    "solve single budgets instead "
                    "(problem.with_budget)"
                )
        if are_numbered(terms):
            return cls._of_factor(terms, problem.bayes_leakages)
        return cls._of_budget(terms[0], problem.bayes_leakage)

    @classmethod
    def _of_budget(cls, term: Term, leakage: float) -> Scale:
        """Return the scale whose places are budgets of the only constraint."""
        measure = term.measure
        label = "leakage budget ε"
        if measure != MUTUAL_INFORMATION:
            label = f"budget of {measure}"
        if measure.unit:
            label = f"{label}, {measure.unit}"
        own = term.budget.amount
        return cls((term,), measure, np.ones(1), own, leakage, str(measure), label, measure.unit)

    @classmethod
    def _of_factor(cls, terms: tuple[Term, ...], leakages: Array) -> Scale:
        """Return the scale whose places are factors of the levels of all constraints, with 1 at the
        stated budgets.
        """
        for number, term in enumerate(terms):
            if not _LEAST < term.level < 1.0 / _LEAST:
                raise InputError(
                    f"the budget of constraints[{number}] is {term.budget}, and a "
                    "curve of several secrets "
                    "scales all budgets together; give each a positive, finite one (1e-100 or "
                    "more), or solve single problems"
                )
        steps = np.array([term.level for term in terms])
        title = " and ".join(str(term.budget) for term in terms)
        label = f"factor of the budgets {title}"
        scale = cls(terms, MUTUAL_INFORMATION, steps, 1.0, math.inf, title, label, "")
        # Amounts at the horizon are also rounded.
        return replace(scale, horizon=scale.place(leakages.tolist()) * (1.0 + 2.0**-40))

    def budgets(self, at: float) -> list[float]:
        """Return the budgets of all constraints at a place."""
        if at == self.own:
            return [term.budget.amount for term in self.terms]
        level = self._level(at)
        pairs = zip(self.terms, self.steps.tolist(), strict=True)
        return [term.measure.amount(level * step) for term, step in pairs]

    def price(self, multipliers: Array) -> float:
        """Return the coefficient of the level in the bound of these duals."""
        return float(multipliers @ self.steps)

    def _level(self, at: float) -> float:
        """Return the level of a place, rounded upward."""
        return self.measure.level(at) if at > 0.0 else 0.0

    @cached_property
    def doubt(self) -> float:
        """An upper bound of the relative difference of the levels of the budgets at a place from
        their share of the steps; 0 if budgets are levels.
        """
        end = self._level(self.horizon)
        exponents = [
            math.log1p(step * end)
            for term, step in zip(self.terms, self.steps.tolist(), strict=True)
            if term.measure.growth > 0.0
        ]
        if not exponents and (self.steps == 1.0).all():
            return 0.0
        return (20.0 + 8.0 * max(exponents, default=0.0)) * UNIT

    def ends(self, at: Any) -> tuple[Array, Array]:
        """Return lower and upper bounds of the levels at places, up to the horizon."""
        levels = np.asarray(np.minimum(at, self.horizon))
        if self.measure.growth > 0.0:
            levels = np.vectorize(self._level, otypes=[np.float64])(levels)
        least = np.maximum(levels * (1.0 - self.doubt) - 2.0 * SMALLEST, 0.0)
        return np.asarray(least), np.asarray(levels * (1.0 + self.doubt))

    def at(self, levels: Array) -> Array:
        """Return the places of these levels, with an error of a few units in the last place, at
        most the horizon.
        """
        if self.measure.growth > 0.0:
            levels = np.vectorize(self.measure.amount, otypes=[np.float64])(levels)
        return np.asarray(np.minimum(levels, self.horizon))

    def place(self, leakages: Sequence[float]) -> float:
        """Return the place of these leakages under the constraints: the largest of their places,
        with an error of a few units in the last place.
        """
        each = zip(self.terms, leakages, self.steps.tolist(), strict=True)
        levels = [term.measure.level(leaked) / step for term, leaked, step in each if leaked > 0.0]
        return self.measure.amount(max(levels, default=0.0))

    def bound(self, certificate: Certificate, multipliers: Array, at: float) -> Bound:
        """Return what a certificate at a place proves, with the multipliers of the duals that prove
        its lower bound.
        """
        leaked = 0.0
        relaxed = any(term.gain_is_bounded for term in certificate.terms)
        if 0.0 < certificate.private_within < math.inf or relaxed:
            leaked = self.place([term.leakage_ceiling for term in certificate.terms])
            leaked *= 1.0 + 16.0 * UNIT
        return Bound(at, certificate.lower, certificate.upper, self.price(multipliers), leaked)


@dataclass(frozen=True, eq=False)
class Envelope:
    """Two non-increasing functions with lower(ε) ≤ E(ε) ≤ upper(ε) at every ε ≥ 0, convex in the
    level, and lower ≤ upper.

    vertices   (level, error probability) [k, 2] of the upper function, beginning at level 0;
               constant after the last
    tangents   (level, error probability, slope ≥ 0) [r, 3]: the lower function is the maximum of
               error − slope·(· − level)
    at_zero    the lower bound at ε = 0, where the lower function may jump
    scale      the axis: budgets and their levels
    start      upper bound of the leakage of the answer at budget 0; below it, possibly nothing
               better than a constant guess is proven
    """

    vertices: Array
    tangents: Array
    at_zero: float
    scale: Scale
    start: float = 0.0

    @property
    def horizon(self) -> float:
        """I_MAP, rounded upward: E is constant beyond it."""
        return self.scale.horizon

    def upper(self, budgets: Any) -> Array:
        """Return an error probability that is reached at each budget (≥ 0, in the unit of the
        measure), rounded upward.
        """
        asked = self.scale.ends(_budgets(budgets))[0]
        at, value = self.vertices.T
        if at.size == 1:
            return np.full(asked.shape, value[0])
        right = np.minimum(np.maximum(np.searchsorted(at, asked, side="left"), 1), at.size - 1)
        left = right - 1
        inside = np.minimum(np.maximum(asked, at[left]), at[right])
        share = (at[right] - inside) / (at[right] - at[left])  # two terms ≥ 0: nothing cancels
        mixed = (share * value[left] + (1.0 - share) * value[right]) * (1.0 + 8.0 * UNIT)
        return np.asarray(
            np.where(share >= 1.0, value[left], np.where(share <= 0.0, value[right], mixed))
        )

    def lower(self, budgets: Any) -> Array:
        """Return a lower bound of the error probability at each budget (≥ 0, in the unit of the
        measure), rounded downward.
        """
        asked = _budgets(budgets)
        proven = self._tangential(self.scale.ends(asked)[1])
        return np.asarray(np.where(asked == 0.0, np.maximum(proven, self.at_zero), proven))

    def width(self, budgets: Any) -> Array:
        """Return upper − lower ≥ 0 at each budget; at budget 0, its limit from the right."""
        asked = _budgets(budgets)
        return np.asarray(
            np.maximum(0.0, self.upper(asked) - self._tangential(self.scale.ends(asked)[1]))
        )

    @property
    def height(self) -> float:
        """An upper bound of the decrease of the curve from `start` to no constraint."""
        return float(self.upper(self.start) - self.lower(self.horizon))

    def candidates(self) -> tuple[Array, Array]:
        """Return the budgets from `start` to I_MAP at which the bracket can be widest, in order of
        decreasing width, and the widths.

        Between two kinks of the lower function the width is convex in the level, since the upper
        function is convex. So the width is largest at a kink of the lower function or at an end.
        """
        kinks = np.sort(
            np.concatenate([[self.start, self.horizon], self.scale.at(_kinks(self.tangents))])
        )
        kinks = kinks[(kinks >= self.start) & (kinks <= self.horizon)]
        widths = self.width(kinks)
        order = np.argsort(-widths, kind="stable")
        return kinks[order], widths[order]

    def _tangential(self, asked: Array) -> Array:
        at, value, slope = self.tangents.T
        return np.asarray(np.max(value - slope * (asked[..., None] - at), axis=-1))


def envelope_of(problem: Problem, bounds: Iterable[Bound]) -> Envelope:
    """Return the tightest envelope that certificates of one model prove; the problem's own budget
    is not used.

    Law: with more certificates the bracket is nowhere wider (up to rounding). Raises InputError as
    `Scale.of` does.
    """
    scale = Scale.of(problem)
    known = [bound for bound in bounds if bound.budget <= scale.horizon]
    floor = problem.bayes_error * (1.0 - 16.0 * UNIT)  # a total may differ from one by 8
    low, high = scale.ends([bound.budget for bound in known])
    reached_at = scale.ends([bound.reached_at for bound in known])[1]
    end = float(scale.ends(scale.horizon)[1])
    tangents = [(end, floor, 0.0)]
    for bound, at in zip(known, low.tolist(), strict=True):
        # A lower bound of 0 proves nothing.
        if bound.lower > 0.0 and math.isfinite(bound.multiplier):
            terms = bound.lower + bound.multiplier * end
            # Rounding of the terms, and of Σ π, which is one within TOTAL_ROUNDING.
            rounding = 4.0 * TOTAL_ROUNDING * terms
            tangents.append((at, bound.lower - rounding, bound.multiplier))
    lines = np.array(tangents)
    at_zero = float((lines[:, 1] + lines[:, 2] * lines[:, 0]).max())
    perfect = [bound.lower for bound in known if bound.budget == 0.0]
    each = zip(known, high.tolist(), reached_at.tolist(), strict=True)
    reached = [
        (at or leaked, max(bound.upper, 0.0 if at else at_zero)) for bound, at, leaked in each
    ]
    reached = [(at, value) for at, value in reached if math.isfinite(value)]
    reached += [(0.0, problem.constant_error), (end, problem.bayes_error)]
    vertices = _lower_hull((level, value * (1.0 + 16.0 * UNIT)) for level, value in reached)
    start = min((bound.reached_at for bound in known if bound.budget == 0.0), default=0.0)
    return Envelope(
        vertices,
        lines,
        min(max([at_zero, *perfect]), float(vertices[0, 1])),
        scale,
        min(start, scale.horizon),
    )


def _budgets(values: Any) -> Array:
    asked = np.asarray(values, dtype=np.float64)
    if not (asked >= 0.0).all():
        raise InputError(
            "a budget asked of the curve is negative or not a number; give numbers ≥ 0"
        )
    return asked


def _lower_hull(points: Iterable[tuple[float, ...]]) -> Array:
    """Return the vertices [k, ·] of the greatest convex non-increasing function below points
    (abscissa, ordinate, …), in order.
    """
    hull: list[tuple[float, ...]] = []
    for point in sorted(points):
        if hull and point[1] >= hull[-1][1]:  # a point to the left is at least as low
            continue
        while len(hull) >= 2 and _is_above_chord(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return np.array(hull)


def _is_above_chord(
    left: tuple[float, ...], middle: tuple[float, ...], right: tuple[float, ...]
) -> bool:
    """Return True if the middle point lies on or above the chord of its neighbours."""
    return (middle[1] - left[1]) * (right[0] - left[0]) >= (right[1] - left[1]) * (
        middle[0] - left[0]
    )


def _kinks(tangents: Array) -> Array:
    """Return the budgets > 0 at which the maximum changes from one tangent to the next.

    By duality, the tangents that are the maximum somewhere form the hull of the points (slope,
    −value at budget 0).
    """
    at, value, slope = tangents.T
    greatest = _lower_hull(
        zip(slope.tolist(), (-value - slope * at).tolist(), range(at.size), strict=True)
    )[:, 2]
    at, value, slope = tangents[greatest.astype(np.intp)].T
    rise = np.diff(value) + slope[1:] * np.diff(at)  # steeper − flatter at the flatter one's budget
    return np.asarray(at[:-1] + rise / np.diff(slope))
