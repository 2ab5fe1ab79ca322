"""Blends of an answer with estimators that leak less, to satisfy a budget.

Leakage is convex along P_θ = (1 − θ) P + θ P⁰, and zero at θ = 1 if P⁰ leaks nothing. So the least
θ that satisfies a budget is the root of a scalar function. Its values are computed from m·n
numbers, since the law of (X, Ŷ) is linear in P. The judge and the backends compute the leakage of a
proposed blend themselves.

Source: docs/theory.md, section 9 (repair).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from discreet.numerics.rounding import UNIT
from discreet.problems.laws import Law


class BlendEnd(Protocol):
    """An estimator to blend towards: its law of (X, Ŷ) and its error probability."""

    @property
    def law(self) -> Law: ...
    @property
    def error(self) -> float: ...


def least_share(start: Law, end: Law, target: float, slack: float) -> float | None:
    """Return the smallest θ with leakage((1 − θ)·start + θ·end) ≤ target, rounded upward.

    The laws have one constraint. Return None if even θ = 1 leaks too much. Leakage, or the level it
    is a function of, is convex in θ. So the line through two infeasible points has its root at an
    infeasible θ, and the line through an infeasible and a feasible point has its root at a feasible
    one. Alternating both converges faster than either of them.
    """

    def excess(share: float) -> float:
        return float(start.blend(end, share).ceilings(slack)[0]) - target

    low = 0.0
    high = 1.0
    step = 0.0
    above = excess(0.0)
    below = excess(1.0)
    # Relative tolerance of the share and of the target; sums of many terms are not more accurate.
    tolerance = 1024.0 * UNIT
    if above <= 0.0:
        return 0.0
    if below > 0.0:
        return None
    for _ in range(100):
        if high - low <= tolerance * high or (target > 0.0 and below >= -tolerance * target):
            break
        chord = low + (high - low) * above / (above - below)
        for share in (low + step, chord, 0.5 * (low + high)):
            if not low < share < high:
                continue
            value = excess(share)
            if value <= 0.0:
                high = share
                below = value
            else:
                if value < above:
                    step = (share - low) * value / (above - value)
                low = share
                above = value
    return high


def least_common_share(
    start: Law, end: Law, targets: Sequence[float], slack: float
) -> float | None:
    """Return the smallest θ, rounded upward, with which the leakage under each constraint is at
    most its target; None if there is none.

    Each leakage is within its target for all shares from its own least share on, so the largest of
    these is the least common share. A target of inf is ignored.
    """
    largest = 0.0
    for number, target in enumerate(targets):
        if target == np.inf:
            continue
        share = least_share(start.of(number), end.of(number), target, slack)
        if share is None:
            return None
        largest = max(largest, share)
    return largest


def blends(
    start: Law,
    error: float,
    ends: Sequence[BlendEnd],
    budgets: Sequence[float],
    slack: float,
    leaked: Callable[[], Sequence[float]],
) -> Iterator[tuple[int, float]]:
    """Yield proposals, each the index of an end and its share; `leaked` returns the leakage of the
    last proposal under each constraint.

    Proposals come in the order of their increase of the error probability. If a blend exceeds a
    budget because of rounding, the next proposal for its end has a lower target; if the budget
    applies to each guess, this may be worse than another end. A budget of 0 cannot be lowered, so
    there the assumed uncertainty of the law grows instead. slack: the relative uncertainty of the
    law of a blend.
    """
    # Cost, index, share, number of failures, targets, slack.
    proposals: list[tuple[float, int, float, int, list[float], float]] = []

    def propose(which: int, failed: int, targets: list[float], slack: float) -> None:
        rise = ends[which].error - error
        share = least_common_share(start, ends[which].law, targets, slack)
        if share is not None:  # an end whose error is not larger replaces the answer
            proposal = (
                min(share * rise, rise),
                which,
                share if rise > 0.0 else 1.0,
                failed,
                targets,
                slack,
            )
            heapq.heappush(proposals, proposal)

    for which in range(len(ends)):
        propose(which, 0, list(budgets), slack)
    while proposals:
        _, which, share, failed, targets, slack = heapq.heappop(proposals)
        yield which, share
        over = [leakage - budget for leakage, budget in zip(leaked(), budgets, strict=True)]
        aims = [
            target - 2.0 * more if more > 0.0 else target
            for target, more in zip(targets, over, strict=True)
        ]
        aims = [aim if budget > 0.0 else 0.0 for aim, budget in zip(aims, budgets, strict=True)]
        slack *= (
            4.0
            if any(more > 0.0 and budget == 0.0 for more, budget in zip(over, budgets, strict=True))
            else 1.0
        )
        if (
            share < 1.0
            and failed < 7
            and all(aim > 0.0 or budget == 0.0 for aim, budget in zip(aims, budgets, strict=True))
        ):
            propose(which, failed + 1, aims, slack)
