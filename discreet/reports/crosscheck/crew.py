"""One backend through a list of instances, in as few processes as its behaviour allows.

Starting a process and importing a modelling library takes longer than solving a small instance, so one process serves the
whole list. A crash, or an attempt past its time limit, costs that attempt and a new process for the rest. A process that
is not even ready in time, or three deaths in a row, end the list: what is left is failed with the reason.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from discreet.backends.contract import Answer
from discreet.backends.isolated import GRACE_SECONDS
from discreet.backends.run import Attempt
from discreet.backends.solution import Status, Timings
from discreet.problems.problem import Problem

__all__ = ["NOT_REACHED", "attempts"]

NOT_REACHED = "not reached: the time given to this backend was over"
"""Message of an attempt that was never made."""

_STARTUP_SECONDS = 60.0
_DEATHS = 3
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")


def attempts(backend: str, problems: Sequence[Problem], gap: float, time_limit: float, seconds: float) -> list[Attempt]:
    """What the backend made of each problem, not yet judged.

    time_limit   seconds per attempt, then its process is killed
    seconds      for all of them; those not begun by then are timed out with the message `NOT_REACHED`
    """
    ends = time.monotonic() + seconds
    done: dict[int, Attempt] = {}
    deaths = 0
    while len(done) < len(problems) and deaths < _DEATHS and (not done or time.monotonic() < ends):
        before = len(done)
        fault = _shift(backend, problems, done, gap, time_limit, ends)
        if fault is not None:
            done[_next(done)] = fault
        deaths = 0 if len(done) > before + 1 or fault is None else deaths + 1
    if deaths == _DEATHS:
        rest = Attempt(backend, None, Status.FAILED, f"given up after {_DEATHS} processes ended", None, None, Timings(), {})
    else:
        rest = Attempt(backend, None, Status.TIMED_OUT, NOT_REACHED, None, None, Timings(), {})
    return [done.get(k, rest) for k in range(len(problems))]


def _next(done: dict[int, Attempt]) -> int:
    return len(done)  # instances are served in order


def _shift(
    backend: str, problems: Sequence[Problem], done: dict[int, Attempt], gap: float, time_limit: float, ends: float
) -> Attempt | None:
    """Serve in one process until the list or the time is over (None), or until it ends early: the attempt that did it."""
    with tempfile.TemporaryDirectory(prefix="discreet-", ignore_cleanup_errors=True) as name:
        folder, left = Path(name), range(len(done), len(problems))
        for k in left:
            model = problems[k]
            np.savez(folder / f"problem-{k}.npz", p_xz=model.p_xz, loss=model.loss, budget=np.float64(model.budget))
        request = {"backend": backend, "instances": list(left), "gap": gap, "time_limit": time_limit}
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        with _Process(folder) as process:
            if process.word(_STARTUP_SECONDS) != "ready":
                return _ended(backend, Status.FAILED, f"the process {process.fate()} before it was ready", 0.0)
            for k in left:
                if time.monotonic() > ends:
                    return None
                began = time.monotonic()
                word = process.word(time_limit + GRACE_SECONDS)
                spent = time.monotonic() - began
                if word == str(k):
                    done[k] = _read(folder, k, backend)
                elif word is None:
                    return _ended(backend, Status.FAILED, f"the process {process.fate()} while solving", spent)
                else:
                    return _ended(backend, Status.TIMED_OUT, f"killed {GRACE_SECONDS:g} s after {time_limit:g} s", spent)
    return None


def _ended(backend: str, status: Status, message: str, seconds: float) -> Attempt:
    return Attempt(backend, None, status, message, None, None, Timings(solve_seconds=seconds), {})


def _read(folder: Path, number: int, backend: str) -> Attempt:
    reply = json.loads((folder / f"reply-{number}.json").read_text(encoding="utf-8"))
    status = None if reply["status"] is None else Status(reply["status"])
    answer = _answer(folder / f"answer-{number}.npz") if status is None else None
    return Attempt(
        backend, answer, status, reply["message"], reply["claimed"], reply["iterations"], Timings(**reply["timings"]),
        reply["versions"],
    )  # fmt: skip


def _answer(path: Path) -> Answer:
    with np.load(path, allow_pickle=False) as arrays:
        anchors = sorted((name for name in arrays.files if name.startswith("anchor")), key=lambda name: int(name[6:]))
        multiplier = float(arrays["multiplier"]) if "multiplier" in arrays else None
        return Answer(arrays["estimator"], arrays.get("tilt"), multiplier, tuple(arrays[name] for name in anchors))


class _Process:
    """The running process in a group of its own, and what it says."""

    def __init__(self, folder: Path) -> None:
        self._words: queue.Queue[str | None] = queue.Queue()
        self._complaints = (folder / "stderr.txt").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "discreet.reports.crosscheck.worker", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env=_environment(),
            start_new_session=True,  # to be killed as one; Ctrl-C reaches it through us only
        )
        assert self._process.stdout is not None  # PIPE was asked for
        self._listener = threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True)
        self._listener.start()
        self._errors = folder / "stderr.txt"

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()
        self._listener.join(timeout=GRACE_SECONDS)
        self._complaints.close()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not self._listener.is_alive():
                pipe.close()

    def word(self, patience: float) -> str | None:
        """The next word; None when the process has closed its output, "" when patience ended."""
        try:
            return self._words.get(timeout=patience)
        except queue.Empty:
            return ""

    def fate(self) -> str:
        """How the process ended, and the last line it wrote."""
        try:
            code = self._process.wait(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "stopped speaking"
        how = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
        lines = self._errors.read_bytes()[-4096:].decode("utf-8", "replace").strip().splitlines()
        return f"{how} (it wrote last: {lines[-1].strip()})" if lines else how

    def _listen(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._words.put(line.decode("ascii", "replace").strip())
        self._words.put(None)


def _environment() -> dict[str, str]:
    """Ours, with our own import path, and one thread each: several crews work at once."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return dict(os.environ) | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"} | dict.fromkeys(_THREADS, "1")
