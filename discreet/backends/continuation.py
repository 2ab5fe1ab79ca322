"""Predicted duals at a budget, from the duals at other budgets of the same model: a start close to
the optimum.

Method: between kinks of the curve the log ratios t/μ and the price μ√ε are smooth in √ε. As ε → 0
the ratios fall like √ε and the price tends to a limit. Towards I_MAP, from which on the budget is
slack, the price falls to 0. So both are interpolated by polynomials in √ε through the nearest
solved budgets. At a kink, where the number of ties changes, the prediction is worse. Of several
secrets ε is the common factor of the budgets, and tilts take the place of ratios, as some of the
prices may be 0.

Under linear measures duals are constant between kinks. The chord between the solved budgets on both
sides is exact where no kink lies between them, and as good as a polynomial where many do.

Source: discreet, docs/theory.md, sections 14 (continuation along the curve) and 22.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np

from discreet.backends.contract import Duals
from discreet.lazy import cached_property
from discreet.measures.measure import Scope
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.registry import LINEAR
from discreet.numerics.double_double import Array
from discreet.problems.constraint import Term
from discreet.problems.problem import Problem

_NEIGHBOURS = 4  # solved budgets that a prediction interpolates


@dataclass(frozen=True, eq=False)
class Known:
    """A budget of a model, or a factor of several, with tilt [m, n] and multiplier (inf at 0) of
    its certified solution.
    """

    budget: float
    tilt: Array
    multiplier: Any

    @cached_property
    def root(self) -> float:
        """√ε."""
        return math.sqrt(self.budget)

    @cached_property
    def price(self) -> Any:
        """μ √ε, which is finite for positive budgets."""
        return self.multiplier * self.root

    @cached_property
    def log_ratio(self) -> Array:
        """t/μ [m, n] for μ > 0: 0 at budget 0."""
        return np.asarray(self.tilt / self.multiplier)


def predicted(problem: Problem, known: Sequence[Known], at: float) -> Iterator[Duals]:
    """Duals at that budget or factor, the likeliest first; none if the known ones, all distinct, do
    not suffice.
    """
    if all(term.measure.name in LINEAR for term in problem.terms):
        return _on_the_chord(known, at)
    return _interpolated(known, at) if len(problem.terms) > 1 else _of_one_secret(problem, known)


def _on_the_chord(known: Sequence[Known], at: float) -> Iterator[Duals]:
    ordered = sorted(known, key=lambda point: point.budget)
    for below, above in pairwise(ordered):
        if below.budget < at < above.budget:
            share = (at - below.budget) / (above.budget - below.budget)
            price = (
                (1.0 - share) * below.multiplier + share * above.multiplier
                if below.budget > 0.0
                else above.multiplier
            )
            yield Duals((1.0 - share) * below.tilt + share * above.tilt, price)


def _interpolated(known: Sequence[Known], at: float) -> Iterator[Duals]:
    place = math.sqrt(at)
    nearest = sorted(known, key=lambda point: abs(point.root - place))
    priced = [point for point in nearest if np.max(point.multiplier) < math.inf]
    tilts = [weight * point.tilt for weight, point in _weighted(nearest[:_NEIGHBOURS], place)]
    prices = [weight * point.price for weight, point in _weighted(priced[:_NEIGHBOURS], place)]
    if np.any(sum(prices) > 0.0):
        yield Duals(np.sum(tilts, axis=0), np.maximum(sum(prices) / place, 0.0))


def _of_one_secret(problem: Problem, known: Sequence[Known]) -> Iterator[Duals]:
    """Under a smooth measure.

    The first prediction uses the nearest budgets on both sides, two more one side alone, since a
    kink may lie between. If only perfect privacy and slack budgets are known, its tilt comes first,
    scaled in √ε to 0 at the least slack budget.
    """
    budget = problem.budget
    place = math.sqrt(problem.budget)
    if all(at.multiplier in (0.0, math.inf) for at in known):
        left = 1.0 - place / min(
            (at.root for at in known if at.multiplier == 0.0), default=math.inf
        )
        for tilt in (at.tilt for at in known if at.multiplier == math.inf and at.tilt.any()):
            yield Duals(left * tilt, left * price_of_perfect(tilt, problem.p_x, problem.terms[0]))
    none = np.zeros((problem.m, problem.n))
    nearest = sorted(known, key=lambda at: abs(at.root - place))
    larger = [at for at in nearest if at.budget > budget]
    # a slack budget is of use for the budgets next to it only
    if larger and larger[0].multiplier > 0.0:
        nearest, larger = (
            [at for at in points if at.multiplier > 0.0] for points in (nearest, larger)
        )
    for points in (nearest, larger, [at for at in nearest if at.budget <= budget]):
        priced = list(islice((at for at in points if at.multiplier < math.inf), _NEIGHBOURS))
        tilted = list(islice((at for at in points if at.multiplier > 0.0), _NEIGHBOURS))
        weighted = list(_weighted(priced, place))
        price = sum(weight * at.price for weight, at in weighted)
        weighted = weighted if tilted == priced else list(_weighted(tilted, place))
        log_ratio = sum((weight * at.log_ratio for weight, at in weighted), start=none)
        if price > 0.0 and log_ratio.any():
            yield Duals(price / place * log_ratio, price / place)


def price_of_perfect(tilt: Array, p_x: Array, term: Term) -> float:
    """The μ of a constraint that costs least with the tilt t of perfect privacy: to second order μ
    ε + max_i Σ_j π_j t_ij² / (2 μ); tilt [m, n] and π [n] of its rows.

    Under a measure of another kind one of several powers of two; 0 where it reads none.
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


def _weighted(points: Sequence[Known], place: float) -> Iterator[tuple[float, Known]]:
    """Distinct budgets, each with its weight at √ε = place in the polynomial in √ε through their
    values.
    """
    for own in points:
        others = (at.root for at in points if at is not own)
        yield math.prod((place - other) / (own.root - other) for other in others), own
