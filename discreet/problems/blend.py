"""Blends of an answer with estimators that leak less, to keep a budget.

Leakage is convex along P_θ = (1 − θ) P + θ P⁰, and zero at θ = 1 if P⁰ leaks nothing. So the least θ that keeps a budget is
the root of a scalar function. Its values are computed from m·n numbers, since the law of (X, Ŷ) is linear in P. The judge
and the backends compute the leakage of a proposed blend themselves.

Source: docs/theory.md, section 9 (repair).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from discreet.problems.measures.law import OutputLaw
from discreet.problems.measures.measure import Scope
from discreet.problems.numerics.rounding import UNIT


class End(Protocol):
    """An estimator to blend towards: the law of (X, Ŷ) under it and its error probability."""

    @property
    def law(self) -> OutputLaw: ...
    @property
    def error(self) -> float: ...


def least_share(start: OutputLaw, end: OutputLaw, target: float, slack: float) -> float | None:
    """Smallest θ with leakage((1 − θ)·start + θ·end) ≤ target, rounded upward; None if even θ = 1 leaks too much.

    Leakage, or what it is a function of, is convex in θ. So the tangent at an infeasible θ has its root at an infeasible θ,
    and the chord at a feasible one. Both together close in on the root faster than either alone.
    """

    def excess(share: float) -> float:
        return start.blend(end, share).leakage_ceiling(slack) - target

    low, high, above, below = 0.0, 1.0, excess(0.0), excess(1.0)
    tolerance = 1024.0 * UNIT  # relative, of the share and of the target: sums of many terms are no more accurate
    if above <= 0.0:
        return 0.0
    if below > 0.0:
        return None
    for _ in range(100):
        if high - low <= tolerance * high or (target > 0.0 and below >= -tolerance * target):
            break
        chord = low + (high - low) * above / (above - below)
        for share in (_tangent(start, end, low, above), chord, 0.5 * (low + high)):
            if not low < share < high:
                continue
            value = excess(share)
            if value <= 0.0:
                high, below = share, value
            else:
                low, above = share, value
    return high


def _tangent(start: OutputLaw, end: OutputLaw, share: float, excess: float) -> float:
    """Where the tangent of leakage − target at `share` meets zero; far away where the worst guess counts."""
    here = start.blend(end, share)
    if here.measure.scope is not Scope.TOTAL:
        return np.inf
    change = (end.mass - start.mass)[:, None] * start.p_x + end.deviation - start.deviation
    with np.errstate(over="ignore", invalid="ignore"):
        slope = float((change * here.measure.slope(here.ratio_minus_one(), here.p_x)).sum())
    if here.measure.growth:
        slope /= here.measure.growth * (1.0 + here.level)
    return share - excess / slope if slope < 0.0 else share


def blends(
    start: OutputLaw, error: float, ends: Sequence[End], budget: float, slack: float, leaked: Callable[[], float]
) -> Iterator[tuple[int, float]]:
    """Proposals, each the index of an end and its share; `leaked` gives the leakage of the last one, nats.

    The end that raises the error probability least comes first. If a blend leaks more than the budget (nats) because of
    rounding, the next proposal aims further below it. slack: the relative uncertainty of a blend's law.
    """
    costs = []
    for which, end in enumerate(ends):
        share = least_share(start, end.law, budget, slack)
        if share is not None:
            rise = end.error - error
            costs.append((min(share * rise, rise), which))
    for _, which in sorted(costs):
        end, target = ends[which], budget
        for _ in range(8):
            keep = end.error > error  # otherwise the end itself is the better answer
            share = least_share(start, end.law, target, slack) if keep else 1.0
            if share is None:
                break
            yield which, share
            target -= 2.0 * (leaked() - budget)
            if share == 1.0 or target <= 0.0:
                break
