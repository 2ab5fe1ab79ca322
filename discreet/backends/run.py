"""The loop around every backend, written once: check, reduce, lower, solve, lift, restore, judge.

`attempt` runs the backend and turns whatever it raises into a status; `conclude` hands its answer to the judge. They are
apart so that an attempt can run in a process of its own (`isolated`) while the judge stays here.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.backends.contract import Answer, AnyBackend, Options, refuse_unserved
from discreet.backends.registry import capabilities, load_backend, require_libraries, versions_of
from discreet.backends.solution import Solution, Status, Timings, derive_status
from discreet.problems.errors import Absent, BackendError, Broken, InputError, Interrupted, Unsupported
from discreet.problems.judge import certify
from discreet.problems.numerics.compiled import compile_seconds
from discreet.problems.problem import Problem
from discreet.problems.reduction import Reduced, reduce

__all__ = ["Attempt", "attempt", "conclude", "restore", "solve"]


@dataclass(frozen=True)
class Attempt:
    """What a backend did, not yet judged. `answer` is None exactly when `status` is set.

    traceback     text, where the backend raised what it did not mean to
    samples       seconds of every run in the process, the first (which is the one answered with) first; see `isolated`
    peak_bytes    largest resident memory of the process, where a process of its own measured it
    solve_bytes   of those, what the attempt took beyond the imports and the problem
    """

    backend: str
    answer: Answer | None
    status: Status | None
    message: str
    claimed: str | None
    iterations: int | None
    timings: Timings
    versions: Mapping[str, str]
    traceback: str = ""
    samples: tuple[float, ...] = ()
    peak_bytes: int | None = None
    solve_bytes: int | None = None


def solve(
    problem: Problem,
    backend: str = "auto",
    *,
    gap: float = 1e-9,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Solution:
    """Solve a problem with one backend, in this process, and have the judge certify the answer.

    gap: relative certified gap aimed at. time_limit: seconds, honoured as far as the backend can (`isolated.solve_isolated`
    kills). Raises InputError for an unknown backend or setting; every other outcome is a status of the Solution.
    """
    options = Options(gap, time_limit, max_iterations, dict(settings or {}))
    return conclude(problem, attempt(problem, backend, options), options)


def attempt(problem: Problem, backend: str, options: Options, reduced: Reduced | None = None) -> Attempt:
    """Run a backend on a problem; never raises but InputError (unknown backend or setting) and KeyboardInterrupt.

    reduced: the problem's reduction, where it is at hand.
    """
    clock = _Clock()
    trace = ""
    try:
        solver = load_backend(backend)
        refuse_unserved(backend, solver.capabilities, problem, options, capabilities)
        require_libraries(solver)
        return _run(solver, problem, reduced, options, clock)
    except InputError:
        raise
    except Unsupported as error:
        status, message = Status.UNSUPPORTED, str(error)
    except (Absent, Broken) as error:
        status, message = Status.ABSENT, str(error)
    except Interrupted as error:
        status, message = Status.TIMED_OUT, str(error)
    except BackendError as error:
        status, message = Status.FAILED, str(error)
    except Exception as error:  # solvers raise anything; the user gets a row, not a traceback
        status, message = Status.FAILED, f"{type(error).__name__}: {error}"
        trace = traceback.format_exc()
    return Attempt(backend, None, status, message, None, None, clock.timings(), {}, trace)


def conclude(problem: Problem, tried: Attempt, options: Options) -> Solution:
    """Judge an attempt; the status follows from the certificate, never from the backend's word."""
    if tried.answer is None:
        status = tried.status or Status.FAILED
        return Solution(
            problem, tried.backend, status, tried.message, tried.claimed, None, None, None, None,
            tried.iterations, tried.timings, tried.versions,
        )  # fmt: skip
    started = time.perf_counter()
    answer = tried.answer
    verdict = certify(problem, np.asarray(answer.estimator), answer.tilt, answer.multiplier, anchors=answer.anchors)
    timings = replace(tried.timings, certify_seconds=time.perf_counter() - started)
    status = derive_status(verdict.certificate, options.gap)
    return Solution(
        problem, tried.backend, status, status.meaning, tried.claimed, verdict.estimator, verdict.tilt, verdict.multiplier,
        verdict.certificate, tried.iterations, timings, tried.versions,
    )  # fmt: skip


def _run(solver: AnyBackend, problem: Problem, reduced: Reduced | None, options: Options, clock: _Clock) -> Attempt:
    with clock.step("lower_seconds"):
        reduced = reduce(problem) if reduced is None else reduced
        lowered = solver.lower(reduced.problem, options)
    with clock.step("solve_seconds"):
        raw = solver.solve(lowered, options)
    with clock.step("lift_seconds"):
        answer = restore(reduced, _well_shaped(reduced.problem, solver.lift(raw)))
    return Attempt(solver.name, answer, None, "", raw.claimed, raw.iterations, clock.timings(), versions_of(solver))


def _well_shaped(problem: Problem, answer: Answer) -> Answer:
    """The answer, if its shapes fit; a backend's wrong shape is its failure and must not look like bad input of the user."""
    expected = [
        ("estimator", np.asarray(answer.estimator), (problem.m, problem.N)),
        ("tilt", answer.tilt, (problem.m, problem.n)),
    ]
    expected += [("anchor", anchor, (problem.m, problem.N)) for anchor in answer.anchors]
    for what, array, shape in expected:
        if array is not None and np.shape(array) != shape:
            raise BackendError(f"the backend's {what} has shape {list(np.shape(array))} where {list(shape)} is due")
    return answer


def restore(reduced: Reduced, answer: Answer) -> Answer:
    """The answer for the original problem."""
    return Answer(
        reduced.restore(np.asarray(answer.estimator)),
        None if answer.tilt is None else reduced.restore_tilt(answer.tilt),
        answer.multiplier,
        tuple(reduced.restore(anchor) for anchor in answer.anchors),
    )


class _Clock:
    """Seconds per step, kept also when a step raises."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._compiled = compile_seconds()
        self._step = ""
        self._started = 0.0

    def step(self, name: str) -> _Clock:
        self._step = name
        return self

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._seconds[self._step] = time.perf_counter() - self._started

    def timings(self) -> Timings:
        return Timings(**self._seconds, compile_seconds=compile_seconds() - self._compiled)
