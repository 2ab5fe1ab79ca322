"""The inside of an isolated process: one request, one attempt, one answer; see `isolated` for the outside.

    python -m discreet.backends.worker FOLDER

FOLDER holds `request.json` and, for an attempt, `problem.npz`; the answer goes to `reply.json` and `answer.npz` beside them.
Never pickle. The exchange itself is two lines on standard output, `ready` and `done`. Solvers print what they like, from C
as well as from Python: before any of them loads, file descriptor 1 is pointed at standard error, and the exchange keeps a
private copy of the old one. Standard input carries nothing; when it ends, the parent is gone and so is this process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.backends.contract import Answer, Options
    from discreet.backends.run import Attempt
    from discreet.problems.problem import Problem

__all__ = ["BAD_INPUT", "ORPHANED", "main"]

BAD_INPUT = "bad-input"  # a reply that is not a status: the caller's own mistake, raised again in the parent
ORPHANED = 70  # exit code of a worker whose parent is gone


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
    from discreet.backends.run import attempt
    from discreet.problems.errors import InputError

    problem = _read_problem(folder, request)
    options = Options(request["gap"], request["time_limit"], request["max_iterations"], request["settings"])
    _preload(request["backend"], problem, options)
    _limit_memory(request["memory_limit"])
    ready()
    try:
        tried = attempt(problem, request["backend"], options)
    except InputError as error:
        return {"status": BAD_INPUT, "message": str(error)}
    if tried.answer is not None:
        _write_answer(folder, tried.answer)
    return _describe(tried)


def _serve_probe(folder: Path, request: dict[str, Any], ready: Callable[[], None]) -> dict[str, Any]:
    from discreet.backends.registry import availability, load_backend
    from discreet.problems.errors import Broken

    del folder
    ready()
    found = availability(request["backend"])
    try:
        able = load_backend(request["backend"]).capabilities
    except Broken:
        return {"availability": asdict(found), "capabilities": None}
    plain = {name: getattr(able, name) for name in able.__dataclass_fields__}
    plain |= {"regimes": sorted(regime.name for regime in able.regimes), "settings": dict(able.settings)}
    return {"availability": asdict(found), "capabilities": plain}


def _read_problem(folder: Path, request: dict[str, Any]) -> Problem:
    import numpy as np

    from discreet.problems.problem import Problem

    with np.load(folder / "problem.npz", allow_pickle=False) as arrays:
        return Problem(arrays["p_xz"], arrays["loss"], float(arrays["budget"]), name=request["problem"])


def _preload(backend: str, problem: Problem, options: Options) -> None:
    """Import what the backend needs, and lower a problem of four outcomes once: modelling libraries load half of themselves
    only then. The time limit and the timings pay for solving, not for imports.
    """
    import contextlib
    import math

    from discreet.backends.registry import load_backend, require_libraries
    from discreet.problems.problem import Problem

    budget = problem.budget if problem.budget in (0.0, math.inf) else 0.01
    tiny = Problem([[0.3, 0.2, 0.0, 0.1], [0.0, 0.1, 0.2, 0.1]], [[0.0, 0.1, 0.1, 0.2], [0.3, 0.2, 0.1, 0.0]], budget)
    with contextlib.suppress(Exception):  # met again, and turned into a status, by `attempt`
        solver = load_backend(backend)
        require_libraries(solver)
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
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no VmData line")


def _write_answer(folder: Path, answer: Answer) -> None:
    import numpy as np

    arrays: dict[str, Any] = {"estimator": answer.estimator}
    if answer.tilt is not None:
        arrays["tilt"] = answer.tilt
    if answer.multiplier is not None:
        arrays["multiplier"] = answer.multiplier
    for k, anchor in enumerate(answer.anchors):
        arrays[f"anchor{k}"] = anchor
    plain: dict[str, Any] = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    np.savez(folder / "answer.npz", **plain)


def _describe(tried: Attempt) -> dict[str, Any]:
    return {
        "status": None if tried.status is None else tried.status.value,
        "message": tried.message,
        "claimed": tried.claimed,
        "iterations": tried.iterations,
        "timings": asdict(tried.timings),
        "versions": dict(tried.versions),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
