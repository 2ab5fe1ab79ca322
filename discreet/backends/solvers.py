"""What backends share that hand a `Program` to a solver of another project.

Such a backend states which program it takes, the solver's model of it, and how to run the solver.
Options, limits, statuses and the way back to an answer are the same for all, and stand here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.backends.cones import ConeProgram
from discreet.backends.contract import Answer, Options, Raw, Regime, Unlifted
from discreet.backends.lowering import Lowered, Program
from discreet.backends.peers.tuning import Tuning, native
from discreet.errors import BackendError, Interrupted
from discreet.measures.measure import Cone
from discreet.measures.registry import LINEAR, linear_or_of
from discreet.numerics.double_double import Array
from discreet.problems.problem import Problem

_Model = TypeVar("_Model")

PEER: Mapping[str, Any] = {"gives_duals": True, "several": True, "extra": "peers", "peer": True}
"""Capabilities that peers with duals share."""

ANY_BUDGET: Mapping[str, Any] = {
    "regimes": frozenset(Regime),
    "measures": linear_or_of(*Cone),
}
"""Budgets and measures of solvers of cones or of smooth programs."""

LINEAR_BUDGETS: Mapping[str, Any] = {
    "regimes": frozenset({Regime.PERFECT, Regime.OBLIVIOUS}),
    "measures": LINEAR,
}
"""Budgets and measures of solvers of linear programs."""


@dataclass(frozen=True)
class SolverResult:
    """How a run of a solver ended.

    claimed     its own status text
    late        True if its time limit ended it
    variables   the point in the order of the program, estimator first; None without one
    prices      of the rows, as `Program.answer` takes them
    """

    claimed: str
    late: bool
    variables: ArrayLike | None
    prices: Array
    iterations: int | None = None


class ProgramSolver(Unlifted, Generic[_Model]):
    """A backend whose solver takes a `Program`.

    solver   the name of the solver in messages
    tuning   its settings
    limits   its names for the limits on iterations and on seconds; "" where it has none
    """

    name: str
    solver: str
    tuning: Tuning = ()
    limits: tuple[str, str] = ("", "")

    def program(self, problem: Problem) -> Program:
        """Return the program that the solver gets."""
        return Program.of(problem)

    def settings(self, options: Options, problem: Problem) -> Any:
        """Return the solver's settings, by its own names."""
        return native(self.tuning, options, problem.N, *self.limits)

    def model(self, program: Program) -> _Model:
        """Return the solver's model of a program."""
        raise NotImplementedError

    def run(self, lowered: Lowered[_Model, Any], options: Options) -> SolverResult:
        """Run the solver once, and return how it ended."""
        raise NotImplementedError

    def solver_name(self, lowered: Lowered[_Model, Any]) -> str:
        """Return the name of the solver in messages."""
        return self.solver

    def lower(self, problem: Problem, options: Options) -> Lowered[_Model, Any]:
        """Return the program, the solver's model of it, and its settings."""
        settings = self.settings(options, problem)
        program = self.program(problem)
        return Lowered(program, self.model(program), settings)

    def solve(self, lowered: Lowered[_Model, Any], options: Options) -> Raw[Answer]:
        """Run the solver; `claimed` is its status. Raises Interrupted at the time limit,
        BackendError without a finite point.
        """
        result = self.run(lowered, options)
        solver = self.solver_name(lowered)
        if result.late:
            raise Interrupted(f"{solver} stopped at its time limit of {options.time_limit:g} s")
        if result.variables is None or not np.isfinite(result.variables).all():
            raise BackendError(f"{solver} ended with {result.claimed!r} and no point")
        answer = lowered.program.answer(np.asarray(result.variables), result.prices)
        return Raw(result.claimed, answer, result.iterations)


class LinearSolver(ProgramSolver[_Model]):
    """A backend whose solver takes linear programs."""

    def program(self, problem: Problem) -> Program:
        """Return the linear program, in the scale that suits it."""
        return Program.linear(problem)


class ConeSolver(ProgramSolver[ConeProgram]):
    """A backend whose solver takes standard cones."""

    def model(self, program: Program) -> ConeProgram:
        """Return the program in standard cones."""
        return ConeProgram.of(program)


def is_late(limit: float | None, seconds: float | None) -> bool:
    """Return True if a solver that ended without an optimum after these seconds reached its time
    limit.

    Some solvers do not report it.
    """
    if limit is None or seconds is None:
        return False
    return seconds >= 0.9 * limit


def time_guard(solver: str, options: Options) -> Callable[[], None]:
    """Return a function for the callback of a solver without a time limit: it raises Interrupted
    when the time limit, which starts now, has passed.
    """
    deadline = options.deadline()

    def watch() -> None:
        if time.perf_counter() > deadline:
            raise Interrupted(f"{solver} stopped at its time limit of {options.time_limit:g} s")

    return watch
