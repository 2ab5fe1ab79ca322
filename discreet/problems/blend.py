"""Blends of an answer with estimators that leak less, to satisfy a budget.

Leakage is convex along P_θ = (1 − θ) P + θ P⁰, and zero at θ = 1 if P⁰ leaks nothing. So the least
θ that satisfies a budget is the root of a scalar function. Its values are computed from m·n
numbers, since the law of (X, Ŷ) is linear in P. The judge and the backends compute the leakage of a
proposed blend themselves.

Source: docs/theory.md, section 9 (repair).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from discreet.numerics.rounding import UNIT
from discreet.problems.laws import Law

_ATTEMPTS = 8  # blends with one end; rounding hardly ever makes the first exceed a budget


class BlendEnd(Protocol):
    """An estimator to blend towards: its law of (X, Ŷ) and its error probability."""

    @property
    def law(self) -> Law: ...
    @property
    def error(self) -> float: ...


def least_share(start: Law, end: Law, targets: ArrayLike, slack: float) -> float | None:
    """Return the smallest θ, rounded upward, with which (1 − θ)·start + θ·end leaks at most the
    target under each constraint [C]; None if even θ = 1 leaks too much. A target of inf is ignored.

    Leakage, or the level it is a function of, is convex in θ. So the line through two infeasible
    points has its root at an infeasible θ, and the line through an infeasible and a feasible point
    has its root at a feasible one. Alternating both converges faster than either of them.
    """
    limits = np.atleast_1d(targets)
    finite = limits < np.inf
    if not finite.any():
        return 0.0
    limits = limits[finite]
    units = np.where(limits > 0.0, limits, 1.0)

    def excess(share: float) -> float:
        ceilings = start.blend(end, share).ceilings(slack)[finite]
        with np.errstate(over="ignore"):  # a budget may be a subnormal number
            return float(((ceilings - limits) / units).max())

    low = 0.0
    high = 1.0
    step = 0.0
    above = excess(0.0)
    below = excess(1.0)
    # Relative tolerance of the share and of the targets; sums of many terms are not more accurate.
    tolerance = 1024.0 * UNIT
    close = -tolerance if (limits > 0.0).all() else np.inf
    if above <= 0.0:
        return 0.0
    if below > 0.0:
        return None
    for _ in range(100):
        if high - low <= tolerance * high or below >= close:
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

    Ends come in the order of their increase of the error probability; an end whose error is not
    larger replaces the answer. If a blend exceeds a budget because of rounding, the next proposal
    has a lower target. A budget of 0 cannot be lowered, so there the assumed uncertainty of the law
    grows instead. slack: the relative uncertainty of the law of a blend.
    """
    candidates = []
    for which, end in enumerate(ends):
        share = least_share(start, end.law, budgets, slack)
        if share is not None:
            rise = end.error - error
            share = share if rise > 0.0 else 1.0
            candidates.append((share * rise, which, share))
    for _, which, first in sorted(candidates):
        share = first
        targets = list(budgets)
        doubt = slack
        for _ in range(_ATTEMPTS):
            yield which, share
            if share == 1.0:
                break
            for number, leakage in enumerate(leaked()):
                excess = leakage - budgets[number]
                if excess > 0.0:
                    targets[number] = max(0.0, targets[number] - 2.0 * excess)
                    doubt *= 4.0 if budgets[number] == 0.0 else 1.0
            share = least_share(start, ends[which].law, targets, doubt)
            if share is None:
                break
