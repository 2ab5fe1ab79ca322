"""One model under many budgets, one after the other: the model is reduced once, and every answer is
judged on the original.

A backend that can use the budgets already solved has a method `continue_from` (see `Continuation`).
If its answer is not certified, the budget is solved without a start. So no answer of a sweep is
worse than the answer of `solve`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from discreet.backends.attempts import Attempt, restore_answer
from discreet.backends.continuation import Known, predict_duals
from discreet.backends.contract import Continuation, Options, Regime
from discreet.backends.registry import load_backend, versions_of
from discreet.backends.run import attempt, conclude
from discreet.backends.solution import Solution, Status, Timings
from discreet.problems.envelope import Scale
from discreet.problems.problem import Problem
from discreet.problems.reduction import reduce


class Sweep:
    """Solve budgets of one model on demand. Law: every solution has the status and, within the gap,
    the value of `solve`.
    """

    def __init__(
        self,
        problem: Problem,
        backend: str,
        *,
        gap: float,
        time_limit: float | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Reduce the model. `time_limit` is for each budget, in seconds.

        Raises InputError for an unknown backend, and for constraints without a curve.
        """
        self._scale = Scale.of(problem)
        self._backend = backend
        self._solver = load_backend(backend)
        self._continuation = self._solver if isinstance(self._solver, Continuation) else None
        self._options = Options(gap, time_limit, None, {} if settings is None else settings)
        self._reduced = reduce(problem)
        self._known: dict[float, Known] = {}

    def solve(self, at: float) -> tuple[Solution, float]:
        """Return the judged solution at a budget, or at a common factor of several budgets, and the
        seconds it took.
        """
        started = time.perf_counter()
        # This keeps cached results about the model.
        self._reduced = self._reduced.with_budget(self._scale.budgets(at))
        problem = self._reduced.original
        options = self._options
        solution = self._continue_at(at) or conclude(
            problem, attempt(problem, self._backend, options, self._reduced), options
        )
        if (
            solution.status is Status.CERTIFIED
            and solution.tilt is not None
            and solution.multipliers is not None
        ):
            self._known[at] = Known(
                at, solution.tilt[:, self._reduced.private_values], solution.multipliers
            )
        return solution, time.perf_counter() - started

    def _continue_at(self, at: float) -> Solution | None:
        """Return the backend's answer from the budgets already solved, if it is certified."""
        solver = self._continuation
        problem = self._reduced.problem
        if solver is None or not self._known or Regime.of(problem) is not Regime.CONSTRAINED:
            return None
        started = time.perf_counter()
        try:
            raw = solver.continue_from(
                problem, self._options, predict_duals(problem, list(self._known.values()), at)
            )
        except (ArithmeticError, ValueError):  # linear algebra may fail on a bad prediction
            return None
        if raw is None:
            return None
        timings = Timings(solve_seconds=time.perf_counter() - started)
        answer = restore_answer(self._reduced, solver.lift(raw))
        tried = Attempt(
            self._backend,
            answer,
            None,
            "",
            raw.claimed,
            raw.iterations,
            timings,
            versions_of(self._solver),
        )
        solution = conclude(self._reduced.original, tried, self._options)
        return solution if solution.status is Status.CERTIFIED else None
