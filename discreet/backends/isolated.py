"""One attempt in a process of its own: a crash is a status, a time limit is kept, and the judge stays here.

The process (`process` starts it, `worker` is its inside) imports what the backend needs, lowers one tiny problem to warm up,
and says `ready`; only then does the time limit start. At the limit plus `GRACE_SECONDS` its whole process group is killed:
status timed-out. A process that dies otherwise, of a signal or with an exit code, leaves status failed with the reason and
the end of what it wrote to standard error.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from typing import Any

from discreet.backends.contract import Options
from discreet.backends.process import GRACE_SECONDS, STARTUP_SECONDS, Child
from discreet.backends.registry import Availability, refuse_unknown_names
from discreet.backends.run import Attempt, conclude
from discreet.backends.solution import Solution, Status, Timings
from discreet.backends.worker import status_bytes
from discreet.problems.errors import InputError
from discreet.problems.problem import Problem

__all__ = ["attempt_isolated", "failed_start", "next_attempt", "probe", "solve_isolated"]


def solve_isolated(
    problem: Problem,
    backend: str = "auto",
    *,
    gap: float = 1e-9,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    settings: Mapping[str, Any] | None = None,
    memory_limit: int | None = None,
    threads: int | None = None,
) -> Solution:
    """`run.solve` of arrays with the backend in a process of its own; the judge certifies in this one.

    time_limit     seconds from the moment the backend's libraries are imported; at the limit the process is killed
    memory_limit   bytes of private memory the attempt may take beyond what the imports took (Linux only)
    threads        threads of BLAS and OpenMP in the process; None leaves them as they are here
    settings       numbers, strings, booleans, None and lists of them

    Raises InputError for an unknown backend or setting and for a value that cannot be handed over; everything else that
    can happen is a status of the Solution.
    """
    options = Options(gap, time_limit, max_iterations, dict(settings or {}))
    return conclude(problem, attempt_isolated(problem, backend, options, memory_limit, threads), options)


def attempt_isolated(
    problem: Problem,
    backend: str,
    options: Options,
    memory_limit: int | None = None,
    threads: int | None = None,
    *,
    repeat_seconds: float = 0.0,
) -> Attempt:
    """`run.attempt` in a process of its own; raises InputError only.

    repeat_seconds   an attempt that is answered sooner is run again within these seconds, up to seven times in all, for its
                     timings: they are then those of the median run but the first. The answer is always the first run's.
    """
    _check_request(backend, options, memory_limit, threads)
    model = problem.p_xz, problem.loss, problem.budget, problem.name  # and nothing else that is known of the problem
    asked = options.gap, options.time_limit, options.max_iterations, dict(options.settings)
    with Child(
        "discreet.backends.worker:serve_attempt", (model, backend, asked, memory_limit, repeat_seconds), threads
    ) as child:
        return failed_start(child, backend) or next_attempt(child, backend, options.time_limit, repeat_seconds)


def failed_start(child: Child, backend: str) -> Attempt | None:
    """None once the process has said that it is ready; else what is said of its attempt."""
    try:
        child.word(STARTUP_SECONDS)
    except EOFError:
        return Attempt(backend, None, Status.FAILED, child.obituary("before it was ready to solve"))
    except TimeoutError:
        return Attempt(backend, None, Status.FAILED, f"the process was not ready to solve within {STARTUP_SECONDS:g} s")
    return None


def next_attempt(child: Child, backend: str, limit: float | None, extra: float = 0.0) -> Attempt:
    """The attempt that the process makes next, or the one that ended it; InputError if it says so. `extra`: for repeats."""
    started = time.perf_counter()
    try:
        found = child.word(None if limit is None else limit + extra + GRACE_SECONDS)
    except (EOFError, TimeoutError) as error:
        timings = Timings(solve_seconds=time.perf_counter() - started)
        if isinstance(error, EOFError):
            return Attempt(backend, None, Status.FAILED, child.obituary("while solving"), timings=timings)
        message = f"the process was killed {GRACE_SECONDS:g} s after the time limit of {limit:g} s"
        peak = status_bytes("VmHWM", child.pid)
        return Attempt(backend, None, Status.TIMED_OUT, message, timings=timings, peak_bytes=peak)
    if isinstance(found, InputError):
        raise found
    assert isinstance(found, Attempt)  # the only other word there is
    return found


def probe(backend: str) -> Availability:
    """`registry.availability` in a process of its own: a library that kills the process at import is *broken*."""
    _check_request(backend, Options(), None, None)
    with Child("discreet.backends.worker:serve_probe", (backend,), 1) as child:
        try:
            found = child.word(STARTUP_SECONDS)
        except EOFError:
            reason = child.obituary("while importing it")
        except TimeoutError:
            reason = f"the process had not imported it within {STARTUP_SECONDS:g} s"
        else:
            assert isinstance(found, Availability)  # the only word there is
            return found
    return Availability(backend, "broken", f"backend {backend} does not import: {reason}")


def _check_request(backend: str, options: Options, memory_limit: int | None, threads: int | None) -> None:
    refuse_unknown_names([backend])
    if threads is not None and threads < 1:
        raise InputError(f"threads is {threads}; give at least 1")
    for name, value in options.settings.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            raise InputError(
                f"setting {name!r} is {value!r}, which cannot be handed to another process; "
                "give a number, a string, a boolean, None or a list of these"
            ) from None
    if memory_limit is not None and memory_limit < 1:
        raise InputError(f"the memory limit is {memory_limit} bytes; give a positive number of bytes")
    if memory_limit is not None and sys.platform != "linux":
        raise InputError(f"a memory limit cannot be kept on {sys.platform}, only on Linux; leave it out")
