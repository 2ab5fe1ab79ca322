"""The one value that goes through the solver: columns, tilt and multiplier of a problem, and how an iteration ended."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["Ending", "Point"]


@dataclass(frozen=True, eq=False)
class Point:
    """A primal–dual pair of the problem it belongs to, which may be one of K aggregated outcomes; nothing is certified.

    columns     column-stochastic estimator      [m, K]
    tilt        duals of u_i                     [m, n]
    multiplier  μ ≥ 0 of leakage ≤ ε (inf at ε = 0)
    """

    columns: Array
    tilt: Array
    multiplier: float

    @classmethod
    def bayes(cls, problem: Problem) -> Point:
        """The Bayes rule under no tilt: the optimum where it keeps the budget."""
        return cls(problem.bayes_estimator, np.zeros((problem.m, problem.n)), 0.0)

    @property
    def finite(self) -> bool:
        """Whether the duals are numbers: a tilt without inf or nan and 0 < μ < inf."""
        return bool(np.isfinite(self.tilt).all()) and 0.0 < self.multiplier < math.inf


@dataclass(frozen=True)
class Ending:
    """How an iteration ended.

    reason      "optimal", or what stopped it before: "stalled", "time limit", "iteration limit", …
    iterations  interior-point iterations
    width       of the bracket that the point proves, relative to its error probability, up to rounding
    """

    reason: str
    iterations: int = 0
    width: float = math.inf

    @property
    def optimal(self) -> bool:
        """Whether the bracket is as narrow as was asked."""
        return self.reason == "optimal"
