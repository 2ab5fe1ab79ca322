"""One run of one backend: reduce, lower, solve, lift, restore. The answer is not judged.

A backend that streams gets arrays of many outcomes unreduced, in blocks, since a search for
proportional outcomes would take longer than solving. Its answer is then an `OutcomeRule`, and the
matrix is computed only on demand. Conversely, it gets few outcomes in blocks as reduced arrays, and
its answer is converted to a rule.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from discreet.backends.contract import Answer, AnyProblem, Backend, Kind, Options
from discreet.backends.registry import versions_of
from discreet.backends.solution import Status, Timings
from discreet.errors import BackendError
from discreet.numerics.compiled import compile_seconds
from discreet.numerics.double_double import Array
from discreet.problems.blocks import BlockProblem
from discreet.problems.outcome_rules import OutcomeRule, as_rule
from discreet.problems.problem import Problem
from discreet.problems.reduction import Reduced, reduce, without_known_secrets

_L = TypeVar("_L")  # what `lower` returns
_F = TypeVar("_F")  # what `solve` finds
# Arrays with at least this many outcomes are not reduced: a search for proportional outcomes takes
# 0.1 µs for each outcome and value, several times as long as the passes of a solve.
_IN_BLOCKS_FROM = 1 << 15


@dataclass(frozen=True)
class Attempt:
    """The result of one backend, not yet judged. `answer` is None exactly if `status` is set.

    traceback     text, after an unexpected exception of the backend
    samples       seconds of every run in the process; the first run gave the answer; see `isolated`
    peak_bytes    largest resident memory of the process, if the attempt had a process of its own
    solve_bytes   the part of `peak_bytes` that the attempt took in addition to imports and problem
    """

    backend: str
    answer: Answer | None
    status: Status | None
    message: str = ""
    claimed: str | None = None
    iterations: int | None = None
    timings: Timings = field(default_factory=Timings)
    versions: Mapping[str, str] = field(default_factory=dict)
    traceback: str = ""
    samples: tuple[float, ...] = ()
    peak_bytes: int | None = None
    solve_bytes: int | None = None
    passes: int | None = None


def ask(
    solver: Backend[Any, _L, _F],
    problem: AnyProblem,
    options: Options,
    reduced: Reduced | None = None,
    clock: Clock | None = None,
) -> Attempt:
    """Return the answer of a backend that serves the problem. Exceptions of its solver are passed
    on.

    reduced: the reduction of the problem, if it is already known.
    """
    clock = Clock() if clock is None else clock
    clock.begin("lower_seconds")
    reduced = _reduce(solver, problem) if reduced is None else reduced
    if reduced is not None:
        whole: AnyProblem = reduced.problem
    elif problem.kind is Kind.ARRAYS:
        whole = BlockProblem.of(problem)
    else:
        whole = problem
    lowered = solver.lower(without_known_secrets(whole), options)
    clock.begin("solve_seconds")
    raw = solver.solve(lowered, options)
    clock.begin("lift_seconds")
    answer = solver.lift(raw)
    passes = raw.passes
    if reduced is None:
        _check_shapes(problem, answer)
    else:
        answer = restore_answer(reduced, answer)
        if problem.kind is Kind.BLOCKS:
            answer = _as_rule(reduced.original, answer)
            passes = 1
    return Attempt(
        solver.name,
        answer,
        None,
        "",
        raw.claimed,
        raw.iterations,
        clock.timings(),
        versions_of(solver),
        passes=passes,
    )


def _reduce(solver: Backend[Any, _L, _F], problem: AnyProblem) -> Reduced | None:
    """Return the reduction of arrays, and of few outcomes in blocks; None if the outcomes are
    passed on in blocks.
    """
    if problem.kind is Kind.ARRAYS:
        in_blocks = Kind.BLOCKS in solver.capabilities.kinds and problem.N >= _IN_BLOCKS_FROM
        return None if in_blocks else reduce(problem)
    if problem.kind is Kind.BLOCKS and problem.few:
        return reduce(problem.in_memory())
    return None


def _as_rule(problem: Problem, answer: Answer) -> Answer:
    """Return the answer with its matrix [m, N] converted to a rule. Outcomes of probability zero
    follow the tilt.
    """
    tilt = np.zeros((problem.m, problem.n)) if answer.tilt is None else answer.tilt
    rule = OutcomeRule.of(tilt, matrix(problem, answer.estimator), problem.p_xz, problem.loss)
    seen = problem.p_z[rule.ties] > 0.0
    return Answer(
        OutcomeRule(tilt, rule.ties[seen], rule.columns[:, seen]), answer.tilt, answer.multipliers
    )


def _check_shapes(problem: AnyProblem, answer: Answer) -> None:
    """Raise BackendError for a wrong shape: it is an error of the backend and must not look like
    wrong input of the user.
    """
    due: tuple[int, ...] = (problem.m, getattr(problem, "N", 0))
    shapes = [("anchor", np.shape(anchor), due) for anchor in answer.anchors]
    if answer.tilt is not None:
        shapes.append(("tilt", np.shape(answer.tilt), (problem.m, problem.n)))
    if answer.multipliers is not None:
        shapes.append(("multipliers", np.shape(answer.multipliers), (len(problem.terms),)))
    if (own_shape := as_rule(answer.estimator).shape) is not None:
        shapes.append(("estimator", own_shape, due))
    for what, shape, expected in shapes:
        if shape != expected:
            raise BackendError(
                f"the backend's {what} has shape {list(shape)} where {list(expected)} is due"
            )


def restore_answer(reduced: Reduced, answer: Answer) -> Answer:
    """Return the answer for the original problem. Raises BackendError for arrays of a wrong
    shape.
    """
    _check_shapes(reduced.problem, answer)
    return Answer(
        reduced.restore(matrix(reduced.problem, answer.estimator)),
        None if answer.tilt is None else reduced.restore_tilt(answer.tilt),
        answer.multipliers,
        tuple(reduced.restore(anchor) for anchor in answer.anchors),
    )


def matrix(problem: Problem, estimator: Any) -> Array:
    """Return the estimator [m, N] of a small problem."""
    return as_rule(estimator).matrix(problem)


class Clock:
    """Seconds of each step; the last step lasts until `timings` is called."""

    def __init__(self) -> None:
        self._begun: list[tuple[str, float]] = []
        self._compiled = compile_seconds()

    def begin(self, step: str) -> None:
        """Begin a step, under a field name of `Timings`, where the step before ends."""
        self._begun.append((step, time.perf_counter()))

    def timings(self) -> Timings:
        """Return the seconds of the steps so far."""
        begun = [*self._begun, ("", time.perf_counter())]
        seconds = {step: end - start for (step, start), (_, end) in pairwise(begun)}
        return Timings(**seconds, compile_seconds=compile_seconds() - self._compiled)
