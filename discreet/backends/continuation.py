"""Predicted duals at a budget, from the duals at other budgets of the same model: a start close to the optimum.

Method: between kinks of the curve the log ratios t/μ and the price μ√ε are smooth in √ε. As ε → 0 the ratios fall like √ε
and the price tends to a limit. Towards I_MAP, from which on the budget is slack, the price falls to 0. So both are
interpolated by polynomials in √ε through the nearest solved budgets. At a kink, where the number of ties changes, the
prediction is worse.

Source: discreet, docs/theory.md, section 14 (continuation along the curve).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.backends.contract import Duals
from discreet.problems.constraint import Constrained
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

_NEIGHBOURS = 4  # solved budgets that a prediction interpolates


@dataclass(frozen=True, eq=False)
class Known:
    """A budget of a model, in nats, with the tilt [m, n] and multiplier (inf at budget 0) of its certified solution."""

    budget: float
    tilt: Array
    multiplier: float


def predicted(problem: Problem, known: Sequence[Known]) -> Iterator[Duals]:
    """Duals at the problem's budget, the likeliest first; none if the known budgets do not suffice.

    The first prediction uses the nearest budgets on both sides, two more one side alone, since a kink may lie between. If
    only perfect privacy and slack budgets are known, its tilt comes first, scaled in √ε to 0 at the least slack budget.
    """
    place, perfect = math.sqrt(problem.budget), [at.tilt for at in known if at.multiplier == math.inf and at.tilt.any()]
    if perfect and all(at.multiplier in (0.0, math.inf) for at in known):
        left = 1.0 - place / min((math.sqrt(at.budget) for at in known if at.multiplier == 0.0), default=math.inf)
        yield left * perfect[0], left * price_of_perfect(perfect[0], problem)
    nearest = sorted({at.budget: at for at in known}.values(), key=lambda at: abs(math.sqrt(at.budget) - place))
    larger = [at for at in nearest if at.budget > problem.budget]
    if larger and larger[0].multiplier > 0.0:  # a slack budget is of use for the budgets next to it only
        nearest = [at for at in nearest if at.multiplier > 0.0]
    for sides in ((True, False), (True,), (False,)):
        points = [at for at in nearest if (at.budget > problem.budget) in sides]
        priced = [at for at in points if at.multiplier < math.inf][:_NEIGHBOURS]
        tilted = [at for at in points if at.multiplier > 0.0][:_NEIGHBOURS]
        price = _interpolated(priced, [at.multiplier * math.sqrt(at.budget) for at in priced], place)
        log_ratio = _interpolated(tilted, [at.tilt / at.multiplier for at in tilted], place)
        if price > 0.0 and np.any(log_ratio):
            yield price / place * log_ratio, price / place


def price_of_perfect(tilt: Array, problem: Constrained) -> float:
    """The μ that costs least with the tilt t of perfect privacy: to second order μ ε + max_i Σ_j π_j t_ij² / (2 μ)."""
    return math.sqrt(float((tilt**2 @ problem.p_x).max()) / (2.0 * problem.budget))


def _interpolated(points: Sequence[Known], values: Sequence[Any], place: float) -> Any:
    """The value at √ε = place of the polynomial in √ε through the values at distinct budgets; 0 without any."""
    roots = [math.sqrt(at.budget) for at in points]
    weights = [
        math.prod((place - other) / (root - other) for k, other in enumerate(roots) if k != own)
        for own, root in enumerate(roots)
    ]
    return sum(weight * value for weight, value in zip(weights, values, strict=True))
