"""One attempt in a process of its own: a crash becomes a status, a time limit is enforced, and the
judge stays in this process.

The process (started by `process`) imports the libraries of the backend, lowers one tiny problem to
warm up, and reports `ready`. Only then does the time limit start. At the limit plus `GRACE_SECONDS`
its whole process group is killed: status timed-out. If the process ends otherwise, by a signal or
with an exit code, the status is failed, with the reason and the end of its standard error.
"""

from __future__ import annotations

import contextlib
import json
import math
import pickle
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from discreet.backends.attempts import Attempt
from discreet.backends.contract import AnyProblem, Backend, Options
from discreet.backends.environments import Environment
from discreet.backends.process import GRACE_SECONDS, STARTUP_SECONDS, Child
from discreet.backends.registry import (
    Availability,
    availability,
    capabilities_of,
    load_backend,
    refuse_unknown_names,
    require_libraries,
)
from discreet.backends.run import attempt, conclude
from discreet.backends.solution import Solution, Status, Timings
from discreet.checks import brief, freeze
from discreet.errors import Absent, InputError
from discreet.problems.constraint import LeakageBudget, kind_of
from discreet.problems.problem import Problem

NOT_BEGUN = "not begun: the time for this backend was over"
"""Message of an attempt for which `attempt_all` had no time left; it is not a result of the
backend.
"""


def solve_isolated(
    problem: AnyProblem,
    backend: str = "auto",
    *,
    gap: float = 1e-9,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    settings: Mapping[str, Any] | None = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    environment: str = "",
) -> Solution:
    """Do the same as `run.solve` with the backend in a process of its own; the judge certifies in
    this one.

    time_limit     seconds after the backend's libraries are imported; at the limit the process is
                   killed
    memory_limit   bytes of private memory the attempt may take in addition to the imports (Linux
                   only)
    threads        threads of BLAS and OpenMP in the process; None leaves them as in this process
    settings       numbers, strings, booleans, None and lists of them
    environment    requirements separated by spaces, such as "clarabel==0.9.0": the process runs in
                   an environment that has them, which is made if need be (`environments`)

    Raises InputError for an unknown backend or setting, and for a value that cannot be sent to
    another process. Every other failure is a status of the Solution.
    """
    kind_of(problem)
    options = Options(gap, time_limit, max_iterations, {} if settings is None else settings)
    tried = attempt_isolated(
        problem, backend, options, memory_limit, threads, environment=environment
    )
    return conclude(problem, tried, options)


def attempt_isolated(
    problem: AnyProblem,
    backend: str,
    options: Options,
    memory_limit: int | None = None,
    threads: int | None = None,
    *,
    repeat_seconds: float = 0.0,
    environment: str = "",
) -> Attempt:
    """Do the same as `run.attempt` in a process of its own; raises InputError only.

    repeat_seconds: a shorter attempt is repeated within these seconds, up to seven runs in total.
    The timings are then medians over all runs except the first. The answer is always from the
    first run.
    environment: see `solve_isolated`
    """
    _check_request(backend, options, memory_limit, threads)
    try:
        python = environment_of(environment, backend).python
    except Absent as error:
        return Attempt(backend, None, Status.ABSENT, str(error))
    with spawn([problem], backend, options, memory_limit, threads, repeat_seconds, python) as child:
        return failed_start(child, backend) or next_attempt(
            child, backend, options.time_limit, repeat_seconds
        )


def environment_of(words: str, backend: str) -> Environment:
    """The environment of requirements, together with the libraries of a backend."""
    able = capabilities_of(backend)
    return Environment.of(words, able.libraries if able else ())


def spawn(
    problems: Sequence[AnyProblem],
    backend: str,
    options: Options,
    memory_limit: int | None = None,
    threads: int | None = None,
    repeat_seconds: float = 0.0,
    python: str = sys.executable,
) -> Child:
    """Start a process that attempts the problems one after another; see `failed_start` and
    `next_attempt`. InputError for a problem that cannot be pickled.
    """
    asked = replace(options, settings=dict(options.settings), progress=None)
    bare = [_without_caches(each) for each in problems]
    request = bare, backend, asked, memory_limit, repeat_seconds
    try:
        return Child("discreet.backends.isolated:serve_attempts", request, threads, python)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise InputError(
            f"this problem cannot be handed to another process ({error}); solve it in this one"
        ) from None


def _without_caches(problem: AnyProblem) -> AnyProblem:
    """Return the problem without its cached results."""
    bare = object.__new__(type(problem))
    freeze(bare, **{each.name: vars(problem)[each.name] for each in fields(problem)})
    return bare


def failed_start(child: Child, backend: str) -> Attempt | None:
    """Return None once the process reports that it is ready; otherwise the attempt that states why
    it is not.
    """
    try:
        child.receive(STARTUP_SECONDS)
    except EOFError:
        return Attempt(backend, None, Status.FAILED, child.ending("before it was ready to solve"))
    except TimeoutError:
        return Attempt(
            backend,
            None,
            Status.FAILED,
            (f"the process was not ready to solve within {STARTUP_SECONDS:g} s"),
        )
    return None


def next_attempt(child: Child, backend: str, limit: float | None, extra: float = 0.0) -> Attempt:
    """Return the next attempt of the process, or an attempt that describes how it ended; raises its
    InputError. `extra`: seconds for repeats.
    """
    started = time.perf_counter()
    try:
        answer = child.receive(None if limit is None else limit + extra + GRACE_SECONDS)
    except EOFError:
        timings = Timings(solve_seconds=time.perf_counter() - started)
        return Attempt(backend, None, Status.FAILED, child.ending("while solving"), timings=timings)
    except TimeoutError:
        timings = Timings(solve_seconds=time.perf_counter() - started)
        message = f"the process was killed {GRACE_SECONDS:g} s after the time limit of {limit:g} s"
        peak = _status_bytes("VmHWM", child.pid)
        return Attempt(backend, None, Status.TIMED_OUT, message, timings=timings, peak_bytes=peak)
    if isinstance(answer, InputError):
        raise answer
    tried: Attempt = answer
    return tried


def attempt_all(
    backend: str, problems: Sequence[AnyProblem], options: Options, seconds: float
) -> list[Attempt]:
    """Return the backend's attempt at each problem, not yet judged, using as few processes as
    possible.

    Starting a process takes longer than solving a small problem, so one process serves the list.
    After a crash, or an attempt past its time limit, a new process continues with the rest. After
    three such ends in a row, the rest fails.

    options   their time limit is per attempt, then its process is killed
    seconds   for all of them; attempts that have not begun by then are timed out
    """
    ends = time.monotonic() + seconds
    done: list[Attempt] = []
    deaths = 0
    most = 3
    while len(done) < len(problems) and deaths < most and (not done or time.monotonic() < ends):
        before = len(done)
        fault = _serve(backend, problems, done, options, ends)
        deaths = 0 if len(done) > before or fault is None else deaths + 1
        if fault is not None:
            done.append(fault)
    rest = Attempt(backend, None, Status.TIMED_OUT, NOT_BEGUN)
    if deaths == most:
        rest = Attempt(backend, None, Status.FAILED, f"given up after {most} processes ended")
    return [*done, *[rest] * (len(problems) - len(done))]


def _serve(
    backend: str, problems: Sequence[AnyProblem], done: list[Attempt], options: Options, ends: float
) -> Attempt | None:
    """Run attempts in one process until the list or the time ends (returns None), or until the
    process ends early (returns the last attempt).
    """
    # One thread, because several backends run at the same time.
    with spawn(problems[len(done) :], backend, options, threads=1) as child:
        fault = failed_start(child, backend)
        while fault is None and len(done) < len(problems) and time.monotonic() <= ends:
            attempt = next_attempt(child, backend, options.time_limit)
            if child.ended:
                return attempt
            done.append(attempt)
    return fault


def probe(backend: str) -> Availability:
    """Do the same as `registry.availability` in a process of its own: a library that kills the
    process at import is *broken*.
    """
    _check_request(backend, Options(), None, None)
    with Child("discreet.backends.isolated:serve_probe", (backend,), 1) as child:
        try:
            availability: Availability = child.receive(STARTUP_SECONDS)
        except EOFError:
            reason = child.ending("while importing it")
        except TimeoutError:
            reason = f"the process had not imported it within {STARTUP_SECONDS:g} s"
        else:
            return availability
    return Availability(backend, "broken", f"backend {backend} does not import: {reason}")


def _check_request(
    backend: str, options: Options, memory_limit: int | None, threads: int | None
) -> None:
    refuse_unknown_names([backend])
    if threads is not None and threads < 1:
        raise InputError(f"threads is {threads}; give at least 1")
    for name, value in options.settings.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            raise InputError(
                f"setting {brief(name)} is {brief(value)}, which cannot be handed to another "
                "process; "
                "give a number, a string, a boolean, None or a list of these"
            ) from None
    if memory_limit is not None and memory_limit < 1:
        raise InputError(
            f"the memory limit is {memory_limit} bytes; give a positive number of bytes"
        )
    if memory_limit is not None and sys.platform != "linux":
        raise InputError(
            f"a memory limit cannot be kept on {sys.platform}, only on Linux; leave it out"
        )


# -- in the child process
# --------------------------------------------------------------------------------------------------


def serve_probe(send: Callable[[Any], None], backend: str) -> None:
    """Send the availability of a backend."""
    send(availability(backend))


def serve_attempts(
    send: Callable[[Any], None],
    problems: list[AnyProblem],
    backend: str,
    options: Options,
    memory_limit: int | None,
    repeat_seconds: float,
) -> None:
    """Send `ready`, then the attempt at each problem with the given options."""
    _preload(backend, problems[0], options)
    _limit_memory(memory_limit)
    send("ready")
    for problem in problems:
        memory = _Memory()
        try:
            tried = attempt(problem, backend, options)
            peak_bytes, solve_bytes = memory.used()
            runs = [tried, *_repeat_attempt(problem, tried, options, repeat_seconds)]
        except InputError as error:
            send(error)
            return
        seconds = tuple(run.timings.backend_seconds for run in runs)
        # The first of several runs also loads and compiles code.
        ordered = sorted(runs[1:] or runs, key=lambda run: run.timings.backend_seconds)
        typical = ordered[(len(ordered) - 1) // 2].timings
        send(
            replace(
                tried,
                timings=typical,
                samples=seconds,
                peak_bytes=peak_bytes,
                solve_bytes=solve_bytes,
            )
        )


def _repeat_attempt(
    problem: AnyProblem, first: Attempt, options: Options, repeat_seconds: float
) -> list[Attempt]:
    """Return further runs of a short attempt, for timing only: as many as fit into the seconds, up
    to seven runs in total.
    """
    runs: list[Attempt] = []
    room = (
        min(repeat_seconds, math.inf if options.time_limit is None else options.time_limit)
        - first.timings.backend_seconds
    )
    longest = first.timings.backend_seconds
    while first.answer is not None and len(runs) < 6 and longest <= room:
        started = time.perf_counter()
        runs.append(attempt(problem, first.backend, options))
        longest = time.perf_counter() - started
        room -= longest
    return [run for run in runs if run.answer is not None]


def _preload(backend: str, problem: AnyProblem, options: Options) -> None:
    """Import the libraries of the backend, and lower a problem of four outcomes once, because
    modelling libraries import more modules at that point.

    Neither the time limit nor the timings include imports.
    """
    first = problem.terms[0].budget
    amount = first.amount if first.amount in (0.0, math.inf) else 0.01
    with contextlib.suppress(Exception):  # `attempt` raises it again and turns it into a status
        tiny = Problem(
            [[0.3, 0.2, 0.0, 0.1], [0.0, 0.1, 0.2, 0.1]],
            [[0.0, 0.1, 0.1, 0.2], [0.3, 0.2, 0.1, 0.0]],
            LeakageBudget(amount, first.measure.given_one),
        )
        solver = load_backend(backend)
        require_libraries(solver)
        if isinstance(solver, Backend):
            solver.lower(tiny, options)


def _limit_memory(room: int | None) -> None:
    if room is None:
        return
    import resource

    # Only private memory counts, not address space that libraries reserve.
    held = resource.RLIMIT_DATA
    used = _status_bytes("VmData")  # what this limit counts
    if used is None:
        raise OSError("/proc/self/status has no VmData line")
    resource.setrlimit(held, (used + room, resource.getrlimit(held)[1]))


def _status_bytes(field: str, process: int | str = "self") -> int | None:
    """Return a field of /proc/PROCESS/status in bytes; None if there is no such file or field (not
    Linux, or process ended).
    """
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return next(
        (int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith(f"{field}:")),
        None,
    )


class _Memory:
    """Resident memory from now on. Linux can reset the peak after the imports; other systems only
    report the whole peak.
    """

    def __init__(self) -> None:
        self._peak_of_imports = _status_bytes("VmHWM")
        self._held = None
        with contextlib.suppress(OSError):  # not Linux, or not allowed here
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
            self._held = _status_bytes("VmRSS")

    def used(self) -> tuple[int | None, int | None]:
        """Return the peak up to now, and its excess over the memory used before; None if
        unknown.
        """
        peak = _status_bytes("VmHWM")
        if peak is not None:
            beyond = None if self._held is None else max(0, peak - self._held)
            return max(peak, self._peak_of_imports or 0), beyond
        if sys.platform != "darwin":
            return None, None
        import resource

        # On Linux the peak of the parent would be inherited.
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss), None
