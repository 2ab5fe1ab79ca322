"""Predicted duals at a budget, from the duals at other budgets of the same model: a start close to
the optimum.

Method: between kinks of the curve the log ratios t/μ and the price μ√ε are smooth in √ε. As ε → 0
the ratios decrease like √ε and the price tends to a limit. Towards I_MAP, from which on the budget
is slack, the price decreases to 0. So both are interpolated by polynomials in √ε through the
nearest solved budgets. At a kink, where the number of ties changes, the prediction is worse. With
several secrets, ε is the common factor of their levels, each has its own price, and μ in the ratios
is the sum of the multipliers, since some of them may be 0.

Under linear measures duals are constant between kinks. The chord between the solved budgets on both
sides is exact if no kink lies between them, and as good as a polynomial if many do.

Source: discreet, docs/theory.md, sections 14 (continuation along the curve) and 22.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.backends.contract import Duals
from discreet.lazy import cached_property
from discreet.measures.measure import Scope
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.registry import LINEAR
from discreet.numerics.double_double import Array
from discreet.problems.constraint import Term
from discreet.problems.problem import Problem

_NEIGHBOURS = 4  # number of solved budgets that a prediction interpolates


@dataclass(frozen=True, eq=False)
class Known:
    """A place on the curve, with tilt [m, n] and multipliers [C] (inf at 0) of its certified
    solution.

    budget   the budget, or with several secrets the common factor of their levels
    """

    budget: float
    tilt: Array
    multipliers: Array

    @cached_property
    def root(self) -> float:
        """The square root √ε of the budget."""
        return math.sqrt(self.budget)

    @cached_property
    def total(self) -> float:
        """The sum Σ μ: 0 if all budgets are slack, inf at budget 0."""
        return float(self.multipliers.sum())

    @cached_property
    def prices(self) -> Array:
        """The prices μ √ε [C], which are finite for positive budgets."""
        return np.asarray(self.multipliers * self.root)

    @cached_property
    def log_ratio(self) -> Array:
        """The log ratios t/Σ μ [m, n], unless all budgets are slack; 0 at budget 0."""
        return np.asarray(self.tilt / self.total)


def predict_duals(problem: Problem, known: Sequence[Known], at: float) -> Iterator[Duals]:
    """Yield predicted duals at a place; none if the known places, all distinct, are too few.
    problem: the problem under its budgets at that place.
    """
    if all(term.measure.name in LINEAR for term in problem.terms):
        return _on_the_chord(known, at)
    return _interpolate_duals(problem, known, at)


def _on_the_chord(known: Sequence[Known], at: float) -> Iterator[Duals]:
    ordered = sorted(known, key=lambda point: point.budget)
    for below, above in pairwise(ordered):
        if below.budget < at < above.budget:
            share = (at - below.budget) / (above.budget - below.budget)
            multipliers = above.multipliers
            if below.budget > 0.0:
                multipliers = (1.0 - share) * below.multipliers + share * above.multipliers
            yield Duals((1.0 - share) * below.tilt + share * above.tilt, multipliers)


def _interpolate_duals(problem: Problem, known: Sequence[Known], at: float) -> Iterator[Duals]:
    """Yield the prediction under smooth measures, from the nearest budgets."""
    place = math.sqrt(at)
    nearest = sorted(known, key=lambda point: abs(point.root - place))
    larger = next((point for point in nearest if point.budget > at), None)
    # A slack budget is useful only for the budgets next to it.
    if larger is not None and larger.total > 0.0:
        nearest = [point for point in nearest if point.total > 0.0]
    priced = [point for point in nearest if point.total < math.inf][:_NEIGHBOURS]
    tilted = [point for point in nearest if point.total > 0.0][:_NEIGHBOURS]
    prices = np.zeros(len(problem.terms))
    for weight, point in _interpolation_weights(priced, place):
        prices += weight * point.prices
    log_ratio = np.zeros((problem.m, problem.n))
    for weight, point in _interpolation_weights(tilted, place):
        log_ratio += weight * point.log_ratio
    multipliers = np.maximum(prices / place, 0.0)
    if multipliers.any() and log_ratio.any():
        yield Duals(multipliers.sum() * log_ratio, multipliers)


def price_of_perfect(tilt: Array, p_x: Array, term: Term) -> float:
    """Return the best μ of a constraint for the tilt t of perfect privacy, which minimises to
    second order μ ε + max_i Σ_j π_j t_ij² / (2 μ); tilt [m, n] and π [n] of its rows.

    Under other measures it is the best of several powers of two; 0 if the measure needs no
    multiplier.
    """
    if term.measure == MUTUAL_INFORMATION or term.measure.conditional:
        squares = ((tilt * np.sqrt(p_x)) ** 2).sum(axis=1)
        return math.sqrt(float(squares.max()) / (2.0 * term.budget.amount))
    if term.measure.scope is not Scope.TOTAL:
        return 0.0
    possible = p_x > 0.0
    tilt = tilt[:, possible]
    p_x = p_x[possible]
    prices = np.abs(tilt).max() * 2.0 ** np.arange(-2.0, 64.0)
    costs = [
        price * term.level + term.measure.ceiling(tilt, p_x, price, term.level).max()
        for price in prices
    ]
    return float(prices[int(np.argmin(costs))])


def _interpolation_weights(points: Sequence[Known], place: float) -> Iterator[tuple[float, Known]]:
    """Yield distinct budgets, each with its weight at √ε = place in the polynomial in √ε through
    their values.
    """
    for own in points:
        others = (at.root for at in points if at is not own)
        yield math.prod((place - other) / (own.root - other) for other in others), own
