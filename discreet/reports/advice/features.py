"""What an instance is like, in the few numbers that decide who certifies it and how long that takes.

In decades (log10): outcomes N that differ (proportional ones are merged before a backend sees them), n·m (the dual has
n·m + 1 unknowns), the budget relative to the Bayes leakage and in nats (tiny budgets break conic solvers), and the Bayes
error over that of the best constant guess. The kind of budget is not a number: instances are only compared within perfect
privacy, a constraint that binds, or a slack one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem
from discreet.problems.reduction import reduce
from discreet.reports.measurements import Measurement

__all__ = ["NAMES", "Features"]

NAMES = ("outcomes", "n·m", "budget ÷ Bayes leakage", "budget in nats", "Bayes error ÷ constant error")
"""What the entries of `Features.decades` are."""

_NO_LEAK = 1e-26  # nats, where ‖ΦP‖ is about 1e-13: a Bayes rule that leaks no more keeps any budget
_APART = np.array([0.75, 0.5, 1.5, 2.0, 2.0])  # decades in each of them that make two instances unlike
_LEAST = (1.0, 1.0, 1e-6, 1e-14, 1e-8)  # smaller values are told no further apart


@dataclass(frozen=True)
class Features:
    """An instance as the advice sees it; `kind` is perfect, constrained or slack."""

    kind: str
    outcomes: int
    products: int
    budget_share: float
    budget_nats: float
    error_share: float

    @classmethod
    def of_problem(cls, problem: Problem) -> Features:
        """The features of a problem."""
        return cls._of(
            problem.budget,
            problem.bayes_leakage,
            reduce(problem).problem.N,
            problem.n * problem.m,
            problem.bayes_error,
            problem.constant_error,
        )

    @classmethod
    def of_measurement(cls, row: Measurement) -> Features:
        """The features of what a row measured."""
        products = row.private_values * row.guesses
        outcomes = row.distinct_outcomes or row.outcomes
        return cls._of(row.budget_nats, row.bayes_leakage_nats, outcomes, products, row.bayes_error, row.constant_error)

    @classmethod
    def _of(cls, budget: float, leakage: float, outcomes: int, products: int, error: float, constant: float) -> Features:
        slack = budget >= leakage or leakage <= _NO_LEAK
        kind = "slack" if slack else "perfect" if budget == 0.0 else "constrained"
        share = budget / leakage if kind == "constrained" else 1.0
        nats = budget if kind == "constrained" else 1.0
        return cls(kind, outcomes, products, share, nats, error / constant if constant > 0.0 else 1.0)

    @cached_property
    def decades(self) -> Array:
        """The numbers [5] in decades, in the order of `NAMES`."""
        values = (self.outcomes, self.products, self.budget_share, self.budget_nats, self.error_share)
        return np.array([math.log10(min(1e12, max(least, value))) for value, least in zip(values, _LEAST, strict=True)])

    def distances(self, others: Array) -> Array:
        """How unlike this instance each row of decades [K, 5] is: 0 the same, 1 as far as experience still carries well."""
        return np.asarray(np.sqrt((((others - self.decades) / _APART) ** 2).sum(axis=1)))
