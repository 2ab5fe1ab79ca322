"""The inside of an isolated process: one attempt, its timings and its memory; see `isolated` for the outside.

What it says is `ready`, once the backend's libraries are imported, and then the attempt; or an InputError, which the caller
raises again.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.backends.contract import Backend, Options
from discreet.backends.registry import availability, load_backend, require_libraries
from discreet.backends.run import Attempt, attempt
from discreet.backends.solution import Timings
from discreet.problems.errors import InputError
from discreet.problems.problem import Problem

__all__ = ["serve_attempt", "serve_probe", "status_bytes"]


def serve_probe(say: Callable[[Any], None], backend: str) -> None:
    """Say whether a backend can run here."""
    say(availability(backend))


def serve_attempt(
    say: Callable[[Any], None],
    model: tuple[Any, Any, float, str],
    backend: str,
    asked: tuple[Any, ...],
    memory_limit: int | None,
    repeat_seconds: float,
) -> None:
    """Say `ready`, and then the attempt at the problem of a model (p_xz, loss, budget, name) with the options asked for."""
    p_xz, loss, budget, name = model
    problem, options = Problem(p_xz, loss, budget, name=name), Options(*asked)
    _preload(backend, problem, options)
    _limit_memory(memory_limit)
    memory = _Memory()
    say("ready")
    try:
        tried = attempt(problem, backend, options)
        peak_bytes, solve_bytes = memory.used()
        runs = [tried, *_again(problem, tried, options, repeat_seconds)]
    except InputError as error:
        say(error)
        return
    seconds = tuple(_seconds(run) for run in runs)
    say(replace(tried, timings=_typical(runs), samples=seconds, peak_bytes=peak_bytes, solve_bytes=solve_bytes))


def _again(problem: Problem, first: Attempt, options: Options, repeat_seconds: float) -> list[Attempt]:
    """Further runs of a short attempt, for timing only: as many as fit into the seconds asked for, seven runs in all."""
    runs: list[Attempt] = []
    room = min(repeat_seconds, math.inf if options.time_limit is None else options.time_limit) - _seconds(first)
    longest = _seconds(first)
    while first.answer is not None and len(runs) < 6 and longest <= room:
        started = time.perf_counter()
        runs.append(attempt(problem, first.backend, options))
        longest = time.perf_counter() - started
        room -= longest
    return [run for run in runs if run.answer is not None]


def _seconds(tried: Attempt) -> float:
    times = tried.timings
    return times.lower_seconds + times.solve_seconds + times.lift_seconds


def _typical(runs: list[Attempt]) -> Timings:
    """The timings of the median run, the first (which loads and compiles what comes late) left out where there are more."""
    ordered = sorted(runs[1:] or runs, key=_seconds)
    return ordered[(len(ordered) - 1) // 2].timings


def _preload(backend: str, problem: Problem, options: Options) -> None:
    """Import what the backend needs, and lower a problem of four outcomes once: modelling libraries load half of themselves
    only then. The time limit and the timings pay for solving, not for imports.
    """
    budget = problem.budget if problem.budget in (0.0, math.inf) else 0.01
    tiny = Problem([[0.3, 0.2, 0.0, 0.1], [0.0, 0.1, 0.2, 0.1]], [[0.0, 0.1, 0.1, 0.2], [0.3, 0.2, 0.1, 0.0]], budget)
    with contextlib.suppress(Exception):  # met again, and turned into a status, by `attempt`
        solver = load_backend(backend)
        require_libraries(solver)
        if isinstance(solver, Backend):
            solver.lower(tiny, options)


def _limit_memory(room: int | None) -> None:
    if room is None:
        return
    import resource

    held = resource.RLIMIT_DATA  # private memory only: address space that libraries merely reserve is not counted
    used = status_bytes("VmData")  # what this limit counts
    if used is None:
        raise OSError("/proc/self/status has no VmData line")
    resource.setrlimit(held, (used + room, resource.getrlimit(held)[1]))


def status_bytes(field: str, process: int | str = "self") -> int | None:
    """A field of /proc/PROCESS/status in bytes; None where there is no such file or field (not Linux, or gone)."""
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith(f"{field}:")), None)


class _Memory:
    """Resident memory from now on. Linux forgets the imports' peak on request; elsewhere only the whole peak is known."""

    def __init__(self) -> None:
        self._peak_of_imports = status_bytes("VmHWM")
        self._held = status_bytes("VmRSS") if _forget_peak() else None

    def used(self) -> tuple[int | None, int | None]:
        """The peak up to now, and what it is beyond what was held before; None where it is not known."""
        peak = status_bytes("VmHWM")
        if peak is None:
            return _peak_elsewhere(), None
        beyond = None if self._held is None else max(0, peak - self._held)
        return max(peak, self._peak_of_imports or 0), beyond


def _forget_peak() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:  # not Linux, or not allowed here
        return False
    return True


def _peak_elsewhere() -> int | None:
    """The peak where there is no /proc; what a child inherits from its parent on Linux does not happen there."""
    if sys.platform != "darwin":
        return None
    import resource

    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
