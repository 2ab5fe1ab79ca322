"""Another budget of a model whose neighbours are solved: predict the duals, then the same rounds.

Along the curve tilts are smooth in √ε (t tends to a limit and μ grows like 1/√ε as ε → 0), so interpolating the nearest
solved budgets gives duals that decide all but a few outcomes rightly. The rounds start from them: their first pass retains
the smallest margins, and the crossover usually finds the vertex without an iteration. At a kink of the curve, where the
number of ties changes, the prediction is worse, and another round or a few iterations make up for it.

Source: discreet, docs/theory.md, section 14 (continuation along the curve).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.backends.contract import Known
from discreet.backends.tilt.point import Point
from discreet.problems.problem import Problem

__all__ = ["predicted"]

_NEIGHBOURS = 3


def predicted(problem: Problem, known: Sequence[Known]) -> Point | None:
    """Duals at the problem's budget, positive and finite; None where what is known says too little. It has no columns."""
    place = math.sqrt(problem.budget)
    distinct = {point.budget: point for point in known if point.multiplier > 0.0}
    nearest = sorted(distinct.values(), key=lambda point: abs(math.sqrt(point.budget) - place))[:_NEIGHBOURS]
    if not any(point.multiplier < math.inf for point in nearest):
        return None  # budget 0 alone says nothing of the multiplier
    roots = [math.sqrt(point.budget) for point in nearest]
    weights = [
        math.prod((place - other) / (root - other) for k, other in enumerate(roots) if k != own)
        for own, root in enumerate(roots)
    ]
    tilt = sum(weight * point.tilt for weight, point in zip(weights, nearest, strict=True))
    slowness = sum(weight / point.multiplier for weight, point in zip(weights, nearest, strict=True))
    if not slowness > 0.0:  # beyond a kink: scale the multiplier of the largest by √ε
        largest = max(nearest, key=lambda point: point.budget)
        slowness = place / (largest.multiplier * math.sqrt(largest.budget))
    return Point(np.zeros((problem.m, 0)), np.asarray(tilt), 1.0 / slowness)
