"""The inside of an isolated process: one request, one attempt, one answer; see `isolated` for the outside.

    python -m discreet.backends.worker FOLDER

FOLDER holds `request.json` and, for an attempt, `problem.npz`; the answer goes to `reply.json` and `answer.npz` beside them.
Never pickle. The exchange itself is two lines on standard output, `ready` and `done`. Solvers print what they like, from C
as well as from Python: before any of them loads, file descriptor 1 is pointed at standard error, and the exchange keeps a
private copy of the old one. Standard input carries nothing; when it ends, the parent is gone and so is this process.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.backends.contract import Options
    from discreet.backends.run import Attempt
    from discreet.backends.solution import Timings
    from discreet.problems.problem import Problem

__all__ = ["BAD_INPUT", "ORPHANED", "main", "status_bytes"]

BAD_INPUT = "bad-input"  # a reply that is not a status: the caller's own mistake, raised again in the parent
ORPHANED = 70  # exit code of a worker whose parent is gone
_MOST_RUNS = 7


def main(arguments: list[str]) -> int:
    """Serve the request in the folder named by the only argument; the exit code is 0 whenever a reply was written."""
    say = _take_over_stdout()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    folder = Path(arguments[0])
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    serve = {"attempt": _serve_attempt, "probe": _serve_probe}[request["kind"]]
    reply = serve(folder, request, lambda: say("ready"))
    (folder / "reply.json").write_text(json.dumps(reply), encoding="utf-8")
    say("done")
    return 0


def _take_over_stdout() -> Callable[[str], None]:
    exchange = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    sys.stdout = sys.stderr

    def say(word: str) -> None:
        exchange.write(word + "\n")
        exchange.flush()

    return say


def _end_with_parent() -> None:
    while os.read(0, 1024):
        continue
    if os.name == "posix" and os.getpgrp() == os.getpid():  # the group is our own: take along what the solver started
        os.killpg(0, signal.SIGKILL)
    os._exit(ORPHANED)


def _serve_attempt(folder: Path, request: dict[str, Any], ready: Callable[[], None]) -> dict[str, Any]:
    from discreet.backends.contract import Options
    from discreet.backends.packed import read_problem, write_answer
    from discreet.backends.run import attempt
    from discreet.problems.errors import InputError

    problem = read_problem(folder / "problem.npz")
    options = Options(request["gap"], request["time_limit"], request["max_iterations"], request["settings"])
    _preload(request["backend"], problem, options)
    _limit_memory(request["memory_limit"])
    memory = _Memory()
    ready()
    try:
        tried = attempt(problem, request["backend"], options)
        used = memory.used()
        runs = [tried, *_again(problem, tried, request, options)]
    except InputError as error:
        return {"status": BAD_INPUT, "message": str(error)}
    if tried.answer is not None:
        write_answer(folder / "answer.npz", tried.answer)
    return _describe(tried) | used | {"timings": asdict(_typical(runs)), "samples": [_seconds(run) for run in runs]}


def _again(problem: Problem, first: Attempt, request: dict[str, Any], options: Options) -> list[Attempt]:
    """Further runs of a short attempt, for timing only: as many as fit into the seconds asked for, `_MOST_RUNS` in all."""
    from discreet.backends.run import attempt

    runs: list[Attempt] = []
    room = min(request["repeat_seconds"], math.inf if options.time_limit is None else options.time_limit)
    room -= _seconds(first)
    longest = _seconds(first)
    while first.answer is not None and len(runs) < _MOST_RUNS - 1 and longest <= room:
        started = time.perf_counter()
        runs.append(attempt(problem, request["backend"], options))
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


def _serve_probe(folder: Path, request: dict[str, Any], ready: Callable[[], None]) -> dict[str, Any]:
    from discreet.backends.registry import availability, load_backend
    from discreet.problems.errors import Broken

    del folder
    ready()
    reply = asdict(availability(request["backend"]))
    try:
        load_backend(request["backend"])
    except Broken:
        return reply | {"loads": False}
    return reply | {"loads": True}


def _preload(backend: str, problem: Problem, options: Options) -> None:
    """Import what the backend needs, and lower a problem of four outcomes once: modelling libraries load half of themselves
    only then. The time limit and the timings pay for solving, not for imports.
    """
    import contextlib
    import math

    from discreet.backends.contract import Backend
    from discreet.backends.registry import load_backend, require_libraries
    from discreet.problems.problem import Problem

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
    used = _private_bytes()
    resource.setrlimit(held, (used + room, resource.getrlimit(held)[1]))


def _private_bytes() -> int:
    """What RLIMIT_DATA counts now, in bytes."""
    found = status_bytes("VmData")
    if found is None:
        raise OSError("/proc/self/status has no VmData line")
    return found


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

    def used(self) -> dict[str, int | None]:
        """peak_bytes and solve_bytes up to now."""
        peak = status_bytes("VmHWM")
        if peak is None:
            return {"peak_bytes": _peak_elsewhere(), "solve_bytes": None}
        beyond = None if self._held is None else max(0, peak - self._held)
        return {"peak_bytes": max(peak, self._peak_of_imports or 0), "solve_bytes": beyond}


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


def _describe(tried: Attempt) -> dict[str, Any]:
    return {
        "status": None if tried.status is None else tried.status.value,
        "message": tried.message,
        "claimed": tried.claimed,
        "iterations": tried.iterations,
        "timings": asdict(tried.timings),
        "versions": dict(tried.versions),
        "passes": tried.passes,
        "traceback": tried.traceback,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
