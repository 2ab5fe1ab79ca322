"""What the parts of the solver hand on: a primal–dual point, how an iteration ended, and groups of
outcomes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.double_double import Array
from discreet.problems.problem import Problem


@dataclass(frozen=True, eq=False)
class Point:
    """A primal–dual pair of a problem, which may be one of K aggregated outcomes. Nothing is
    certified.

    columns      column-stochastic estimator                              [m, K]
    tilt         duals of u_i                                             [m, n]
    multipliers  μ ≥ 0 of each constraint: inf at ε = 0, 0 where none is  [C]
    """

    columns: Array
    tilt: Array
    multipliers: Array

    @classmethod
    def bayes(cls, problem: Problem) -> Point:
        """The Bayes rule under no tilt: the optimum where it keeps the budget."""
        nothing = np.zeros((problem.m, problem.n))
        return cls(problem.bayes_estimator, nothing, np.zeros(len(problem.terms)))


@dataclass(frozen=True)
class Ending:
    """How an iteration ended.

    reason      "optimal", or what stopped it before: "stalled", "time limit", "iteration limit", …
    iterations  interior-point iterations
    width       of the bracket that the point proves, relative to its error probability, up to
                rounding
    """

    reason: str
    iterations: int = 0
    width: float = math.inf

    @property
    def optimal(self) -> bool:
        """Whether the bracket is as narrow as was asked."""
        return self.reason == "optimal"


@dataclass(frozen=True, eq=False)
class Grouping:
    """Outcomes of equal key as one group; groups are in the order of their keys.

    Treating the members of a group alike restricts the estimator. So what is feasible for the
    groups is feasible for all outcomes, with the same law and error probability (docs/theory.md,
    aggregation is a restriction).

    index   the group of every outcome     [N]
    keys    of the groups, increasing      [K]
    counts  how many outcomes each holds   [K]
    """

    index: NDArray[np.intp]
    keys: NDArray[np.intp]
    counts: NDArray[np.intp]

    @classmethod
    def of(cls, keys: NDArray[np.intp]) -> Grouping:
        """Group by keys ≥ 0 [N]."""
        every = np.bincount(keys)  # several times as fast as sorting
        used = np.flatnonzero(every)
        return cls((np.cumsum(every > 0) - 1)[keys], used, every[used])

    def merge(self, rows: Array) -> Array:
        """Sums over the members of each group: [r, N] → [r, K]."""
        return np.stack(
            [np.bincount(self.index, weights=row, minlength=self.keys.size) for row in rows]
        )
