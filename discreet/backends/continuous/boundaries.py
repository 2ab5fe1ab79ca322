"""Where the label of a tilted Bayes rule changes: roots of differences of tilted densities, to the
last bit.

The certified subdivision has bracketed every change of label; bisection on the sign of F_l − F_r,
all brackets at once, finds the root inside. Where the difference jumps over zero (a density has an
edge there), or in a tail that the subdivision left open, the change is *pinned*: it is an exact
boundary but no root, and Newton's method must not move it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.backends.precision import Precision
from discreet.numerics.double_double import Array
from discreet.problems.continuous.bound import SweptCells
from discreet.problems.continuous.model import ContinuousProblem
from discreet.problems.continuous.rule import IntervalRule
from discreet.problems.roots import bisect


@dataclass(frozen=True, eq=False)
class Boundaries:
    """A deterministic rule as numbers: increasing positions [K − 1], labels [K], and which
    positions are pinned.
    """

    positions: Array
    labels: NDArray[np.intp]
    pinned: NDArray[np.bool_]

    def rule(self, guesses: int) -> IntervalRule:
        """The rule with these boundaries."""
        return IntervalRule.from_labels(self.positions, self.labels, guesses)


def trace(problem: ContinuousProblem, tilt: Array, swept: SweptCells) -> Boundaries:
    """The boundaries of the tilted Bayes rule of a tilt [m, n], given its subdivision."""
    left = swept.labels[:-1]
    right = swept.labels[1:]
    low = swept.brackets[:, 0].copy()
    high = swept.brackets[:, 1].copy()
    apart = np.isfinite(low) & np.isfinite(high)
    at_low = relative_difference(problem, tilt, low, left, right)
    at_high = relative_difference(problem, tilt, high, left, right)
    rooted = apart & (at_low <= 0.0) & (at_high >= 0.0)
    brackets = np.where(rooted, low, 0.0), np.where(rooted, high, 0.0)
    low, high = bisect(
        lambda z: relative_difference(problem, tilt, z, left, right) <= 0.0, *brackets
    )
    values = (relative_difference(problem, tilt, side, left, right) for side in (low, high))
    jump = np.maximum(*map(np.abs, values)) > Precision.certain  # at the last bit
    rooted &= ~jump
    # Where a density jumps, the edge of the subdivision is on the right side of it.
    positions = np.where(rooted, low, swept.edges[1:-1])
    return _drop_empty(Boundaries(positions, swept.labels, ~rooted))


def relative_difference(
    problem: ContinuousProblem,
    tilt: Array,
    z: Array,
    left: NDArray[np.intp],
    right: NDArray[np.intp],
) -> Array:
    """(F_l − F_r)/p at points z [K], for labels left and right [K]; 0 where no
    density is positive.
    """
    if not z.size:
        return np.empty(0)
    densities = problem.densities(z)
    coefficients = problem.tilted(tilt)
    with np.errstate(invalid="ignore", over="ignore"):
        value = ((coefficients[left] - coefficients[right]).T * densities).sum(axis=0)
        total = problem.private.sum(axis=0) @ densities
        ratio = np.divide(value, total, out=np.zeros(z.size), where=total > 0.0)
    return np.asarray(np.nan_to_num(ratio))


def _drop_empty(boundaries: Boundaries) -> Boundaries:
    """Drop intervals that vanished because rounding made roots equal or crossed them; join
    neighbours of one label.
    """
    rising = (
        boundaries.positions > np.maximum.accumulate(np.append(-np.inf, boundaries.positions))[:-1]
    )
    positions = boundaries.positions[rising]
    pinned = boundaries.pinned[rising]
    labels = boundaries.labels[np.append(rising, True)]
    changes = labels[1:] != labels[:-1]
    return Boundaries(positions[changes], labels[np.append(True, changes)], pinned[changes])
