"""The inside of a crew's process: one backend works through a list of instances; see `crew` for the outside.

    python -m discreet.reports.crosscheck.worker FOLDER

FOLDER holds `request.json` (backend, the numbers of the instances, options) and `problem-K.npz` for each K; the answers go
to `reply-K.json` and `answer-K.npz`. Never pickle. On standard output, one word a line: `ready` once the libraries are
there, then every K as it is done. What solvers print is sent to standard error. When standard input ends, the parent is
gone and so is this process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.backends.contract import Answer, Options
    from discreet.backends.run import Attempt
    from discreet.problems.problem import Problem

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """Serve the request in the folder named by the only argument."""
    exchange = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    threading.Thread(target=_end_with_parent, daemon=True).start()
    folder = Path(arguments[0])
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    _load(request["backend"])
    print("ready", file=exchange, flush=True)
    for number in request["instances"]:
        reply = _serve(folder, number, request)
        (folder / f"reply-{number}.json").write_text(json.dumps(reply), encoding="utf-8")
        print(number, file=exchange, flush=True)
    return 0


def _end_with_parent() -> None:
    while os.read(0, 1024):
        continue
    if os.name == "posix" and os.getpgrp() == os.getpid():  # take along what the solver started
        os.killpg(0, signal.SIGKILL)
    os._exit(70)


def _load(backend: str) -> None:
    import contextlib

    from discreet.backends.registry import load_backend, require_libraries

    with contextlib.suppress(Exception):  # met again, and turned into a status, by `attempt`
        require_libraries(load_backend(backend))


def _serve(folder: Path, number: int, request: dict[str, Any]) -> dict[str, Any]:
    from discreet.backends.contract import Options
    from discreet.backends.run import attempt

    options: Options = Options(request["gap"], request["time_limit"])
    tried = attempt(_problem(folder / f"problem-{number}.npz"), request["backend"], options)
    if tried.answer is not None:
        _write(folder / f"answer-{number}.npz", tried.answer)
    return _describe(tried)


def _problem(path: Path) -> Problem:
    import numpy as np

    from discreet.problems.problem import Problem

    with np.load(path, allow_pickle=False) as arrays:
        return Problem(arrays["p_xz"], arrays["loss"], float(arrays["budget"]))


def _write(path: Path, answer: Answer) -> None:
    import numpy as np

    arrays: dict[str, Any] = {"estimator": answer.estimator, "tilt": answer.tilt, "multiplier": answer.multiplier}
    arrays |= {f"anchor{k}": anchor for k, anchor in enumerate(answer.anchors)}
    plain: dict[str, Any] = {k: np.asarray(v, dtype=np.float64) for k, v in arrays.items() if v is not None}
    np.savez(path, **plain)


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
