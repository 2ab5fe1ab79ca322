"""One model under many budgets, one after the other: the model is reduced once, every answer is judged on the original.

This is the one place where points of a privacy–utility curve are solved, and so the place where a backend may be told what
its earlier answers were.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from discreet.backends.contract import Options
from discreet.backends.registry import load_backend
from discreet.backends.run import attempt, conclude
from discreet.backends.solution import Solution
from discreet.problems.problem import Problem
from discreet.problems.reduction import reduce

__all__ = ["Sweep"]


class Sweep:
    """Solve budgets of one model on demand. Law: a solution is what `solve` would give at that budget."""

    def __init__(
        self,
        problem: Problem,
        backend: str,
        *,
        gap: float,
        time_limit: float | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Reduce the model. `time_limit` is for each budget, in seconds. Raises InputError for an unknown backend."""
        load_backend(backend)
        self._backend = backend
        self._options = Options(gap, time_limit, None, dict(settings or {}))
        self._reduced = reduce(problem)

    def solve(self, budget: float) -> tuple[Solution, float]:
        """The judged solution at a budget in nats, and the seconds it took."""
        started = time.perf_counter()
        reduced = self._reduced.with_budget(budget)
        tried = attempt(reduced.original, self._backend, self._options, reduced)
        return conclude(reduced.original, tried, self._options), time.perf_counter() - started
