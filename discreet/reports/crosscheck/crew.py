"""One backend through a list of instances, in as few processes as its behaviour allows.

Starting a process and importing a modelling library takes longer than solving a small instance, so one process serves the
whole list. A crash, or an attempt past its time limit, costs that attempt and a new process for the rest. A process that
is not even ready in time, or three deaths in a row, end the list: what is left is failed with the reason.

`main` is the inside. Standard input carries the request: backend, problems and options. Standard output carries `ready`
once the libraries are there, then every attempt as it is made; what solvers print is sent to standard error. Both are
pickles, which only this process and its own child exchange. When standard input ends, the parent is gone and so is the
child.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import IO, Any

from discreet.backends.contract import Options
from discreet.backends.isolated import GRACE_SECONDS
from discreet.backends.registry import load_backend, require_libraries
from discreet.backends.run import Attempt, attempt
from discreet.backends.solution import Status, Timings
from discreet.problems.problem import Problem

__all__ = ["NOT_REACHED", "attempts", "main"]

NOT_REACHED = "not reached: the time given to this backend was over"
"""Message of an attempt that was never made."""


def attempts(backend: str, problems: Sequence[Problem], gap: float, time_limit: float, seconds: float) -> list[Attempt]:
    """What the backend made of each problem, not yet judged.

    time_limit   seconds per attempt, then its process is killed
    seconds      for all of them; those not begun by then are timed out with the message `NOT_REACHED`
    """
    ends = time.monotonic() + seconds
    done: list[Attempt] = []
    deaths, most = 0, 3
    while len(done) < len(problems) and deaths < most and (not done or time.monotonic() < ends):
        before = len(done)
        fault = _shift(backend, problems, done, Options(gap, time_limit), ends)
        deaths = 0 if len(done) > before or fault is None else deaths + 1
        if fault is not None:
            done.append(fault)
    rest = _ended(backend, Status.TIMED_OUT, NOT_REACHED, 0.0)
    if deaths == most:
        rest = _ended(backend, Status.FAILED, f"given up after {most} processes ended", 0.0)
    return [*done, *[rest] * (len(problems) - len(done))]


def _shift(backend: str, problems: Sequence[Problem], done: list[Attempt], options: Options, ends: float) -> Attempt | None:
    """Serve in one process until the list or the time is over (None), or until it ends early: the attempt that did it."""
    limit = options.time_limit or 0.0
    with _Process((backend, problems[len(done) :], options)) as process:
        if process.word(60.0) != "ready":
            return _ended(backend, Status.FAILED, f"the process {process.fate()} before it was ready", 0.0)
        while len(done) < len(problems) and time.monotonic() <= ends:
            began = time.monotonic()
            found = process.word(limit + GRACE_SECONDS)
            spent = time.monotonic() - began
            if found is None:
                return _ended(backend, Status.FAILED, f"the process {process.fate()} while solving", spent)
            if found == "":
                return _ended(backend, Status.TIMED_OUT, f"killed {GRACE_SECONDS:g} s after {limit:g} s", spent)
            done.append(found)
    return None


def _ended(backend: str, status: Status, message: str, seconds: float) -> Attempt:
    return Attempt(backend, None, status, message, None, None, Timings(solve_seconds=seconds), {})


class _Process:
    """The running process in a group of its own, and what it says."""

    def __init__(self, request: Any) -> None:
        self._words: queue.Queue[Any] = queue.Queue()
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from discreet.reports.crosscheck.crew import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env=_environment(),
            start_new_session=True,  # to be killed as one; Ctrl-C reaches it through us only
        )
        assert self._process.stdin is not None  # PIPE was asked for
        assert self._process.stdout is not None
        self._listener = threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True)
        self._listener.start()
        with contextlib.suppress(BrokenPipeError):  # it is gone already: `word` says so
            pickle.dump(request, self._process.stdin)
            self._process.stdin.flush()

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
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def word(self, patience: float) -> Any:
        """The next thing it says; None when it has closed its output, "" when patience ended."""
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
        self._complaints.seek(0)
        lines = self._complaints.read()[-4096:].decode("utf-8", "replace").strip().splitlines()
        return f"{how} (it wrote last: {lines[-1].strip()})" if lines else how

    def _listen(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(EOFError, pickle.UnpicklingError):
            while True:
                self._words.put(pickle.load(stream))
        self._words.put(None)


def _environment() -> dict[str, str]:
    """Ours, with our own import path, and one thread each: several crews work at once."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    threads = ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")
    return dict(os.environ) | {"PYTHONPATH": path} | {f"{name}_NUM_THREADS": "1" for name in threads}


# -- the inside ----------------------------------------------------------------------------------------------------------


def main() -> None:
    """Serve the request of standard input."""
    exchange = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    backend, problems, options = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(Exception):  # met again, and turned into a status, by `attempt`
        require_libraries(load_backend(backend))
    _say("ready", exchange)
    for problem in problems:
        _say(attempt(problem, backend, options), exchange)


def _say(word: Any, exchange: IO[bytes]) -> None:
    pickle.dump(word, exchange)
    exchange.flush()


def _end_with_parent() -> None:
    while os.read(0, 1024):
        continue
    if os.name == "posix" and os.getpgrp() == os.getpid():  # take along what the solver started
        os.killpg(0, signal.SIGKILL)
    os._exit(70)
