"""Another budget of a model whose neighbours are solved: predict the duals, then the same rounds.

Along the curve tilts are smooth in √ε (t tends to a limit and μ grows like 1/√ε as ε → 0), so interpolating the nearest
solved budgets gives duals that decide all but a few outcomes rightly. The rounds start from them: their first pass retains
the smallest margins, and the crossover usually finds the vertex without an iteration. At a kink of the curve, where the
number of ties changes, the prediction is worse, and another round or a few iterations make up for it.

Source: discreet, docs/theory.md, section 14 (continuation along the curve).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.backends.contract import Known
from discreet.backends.tilt.point import Point
from discreet.problems.problem import Problem

__all__ = ["predicted"]

_NEIGHBOURS = 3


def predicted(problem: Problem, known: Sequence[Known]) -> Iterator[Point]:
    """Duals at the problem's budget, likeliest first, positive and finite; none where what is known says too little.

    First from the nearest budgets on both sides; then, should there be a kink between these, from one side alone. The
    points have no columns.
    """
    place = math.sqrt(problem.budget)
    distinct = {point.budget: point for point in known if point.multiplier > 0.0}
    ordered = sorted(distinct.values(), key=lambda point: abs(math.sqrt(point.budget) - place))
    sides = (
        [point for point in ordered if point.budget > problem.budget],
        [point for point in ordered if point.budget < problem.budget],
    )
    for nearest in (ordered[:_NEIGHBOURS], *(side[:_NEIGHBOURS] for side in sides)):
        if any(point.multiplier < math.inf for point in nearest):  # budget 0 alone says nothing of the multiplier
            yield _interpolated(nearest, place)


def _interpolated(nearest: Sequence[Known], place: float) -> Point:
    """By the polynomial in √ε through solved budgets, all distinct (of 1/μ, which is 0 at budget 0)."""
    roots = [math.sqrt(point.budget) for point in nearest]
    weights = [
        math.prod((place - other) / (root - other) for k, other in enumerate(roots) if k != own)
        for own, root in enumerate(roots)
    ]
    tilt = np.asarray(sum(weight * point.tilt for weight, point in zip(weights, nearest, strict=True)))
    slowness = sum(weight / point.multiplier for weight, point in zip(weights, nearest, strict=True))
    if not slowness > 0.0:  # beyond a kink: scale the multiplier of the largest by √ε
        largest = max(nearest, key=lambda point: point.budget)
        slowness = place / (largest.multiplier * math.sqrt(largest.budget))
    return Point(np.zeros((tilt.shape[0], 0)), tilt, 1.0 / slowness)
