"""One attempt in a process of its own: a crash is a status, a time limit is kept, and the judge stays here.

The worker (`worker`) imports what the backend needs, lowers one tiny problem to warm up, and says `ready`; only then does
the time limit start. At the limit plus `GRACE_SECONDS` (a backend that stops by itself needs a moment to hand over) its
whole process group is killed: status timed-out. A worker that dies otherwise, of a signal or with an exit code, leaves
status failed with the reason and the end of what it wrote to standard error. Whatever ends the call here (Ctrl-C too) ends
the worker, and a worker whose parent was itself killed notices and leaves.

Problem and answer travel as `.npz` in a private temporary folder, never as pickles. On Windows only the worker itself is
killed, not processes it started.
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
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from discreet.backends.contract import Capabilities, Options
from discreet.backends.packed import read_answer, write_problem
from discreet.backends.registry import Availability, backend_names, load_backend
from discreet.backends.run import Attempt, conclude
from discreet.backends.solution import Solution, Status, Timings
from discreet.backends.worker import BAD_INPUT, status_bytes
from discreet.problems.errors import InputError
from discreet.problems.problem import Problem

__all__ = ["GRACE_SECONDS", "STARTUP_SECONDS", "Probe", "attempt_isolated", "probe", "solve_isolated"]

GRACE_SECONDS = 1.0
"""Seconds past the time limit before the worker is killed."""

STARTUP_SECONDS = 120.0
"""Seconds a worker may take to start and import its libraries; they do not count towards the time limit."""


@dataclass(frozen=True)
class Probe:
    """Whether a backend can run here, and what it can do (None when its module does not even load)."""

    availability: Availability
    capabilities: Capabilities | None


_TAIL_BYTES = 4096  # of standard error kept for the message
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


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
    _check_request(backend, memory_limit, threads)
    request: dict[str, Any] = {"kind": "attempt", "backend": backend, "memory_limit": memory_limit}
    request["repeat_seconds"] = repeat_seconds
    with tempfile.TemporaryDirectory(prefix="discreet-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        _write_request(folder, request | _plain_options(options))
        write_problem(folder / "problem.npz", problem)
        with _Worker(folder, threads) as worker:
            ending = worker.wait(options.time_limit, repeat_seconds)
        if ending is not None:
            status, message = ending
            timings = Timings(solve_seconds=worker.seconds)
            return Attempt(backend, None, status, message, None, None, timings, {}, peak_bytes=worker.peak_bytes)
        return _read_reply(folder, backend)


def probe(backend: str) -> Probe:
    """`registry.availability` in a process of its own: a library that kills the process at import is *broken*."""
    _check_request(backend, None, None)
    with tempfile.TemporaryDirectory(prefix="discreet-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        _write_request(folder, {"kind": "probe", "backend": backend})
        with _Worker(folder, 1) as worker:
            ending = worker.wait(STARTUP_SECONDS)
        if ending is not None:
            return Probe(Availability(backend, "broken", f"backend {backend} does not import: {ending[1]}", {}), None)
        reply = json.loads((folder / "reply.json").read_text(encoding="utf-8"))
        loads = reply.pop("loads")
        return Probe(Availability(**reply), load_backend(backend).capabilities if loads else None)


# -- what travels --------------------------------------------------------------------------------------------------------


def _check_request(backend: str, memory_limit: int | None, threads: int | None) -> None:
    names = backend_names()
    if backend not in names:
        raise InputError(f"there is no backend {backend!r}; choose one of: {', '.join(names)}")
    if threads is not None and threads < 1:
        raise InputError(f"threads is {threads}; give at least 1")
    if memory_limit is None:
        return
    if memory_limit < 1:
        raise InputError(f"the memory limit is {memory_limit} bytes; give a positive number of bytes")
    if sys.platform != "linux":
        raise InputError(f"a memory limit cannot be kept on {sys.platform}, only on Linux; leave it out")


def _plain_options(options: Options) -> dict[str, Any]:
    for name, value in options.settings.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            raise InputError(
                f"setting {name!r} is {value!r}, which cannot be handed to another process; "
                "give a number, a string, a boolean, None or a list of these"
            ) from None
    return {
        "gap": options.gap,
        "time_limit": options.time_limit,
        "max_iterations": options.max_iterations,
        "settings": dict(options.settings),
    }


def _write_request(folder: Path, request: dict[str, Any]) -> None:
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")


def _read_reply(folder: Path, backend: str) -> Attempt:
    reply = json.loads((folder / "reply.json").read_text(encoding="utf-8"))
    if reply["status"] == BAD_INPUT:
        raise InputError(reply["message"])
    status = None if reply["status"] is None else Status(reply["status"])
    answer = read_answer(folder / "answer.npz") if status is None else None
    return Attempt(
        backend, answer, status, reply["message"], reply["claimed"], reply["iterations"], Timings(**reply["timings"]),
        reply["versions"], reply["traceback"], tuple(reply["samples"]), reply["peak_bytes"], reply["solve_bytes"],
        reply["passes"],
    )  # fmt: skip


# -- the process ---------------------------------------------------------------------------------------------------------


class _Worker:
    """The running process, with one thread that listens to it and one that keeps the end of its complaints."""

    def __init__(self, folder: Path, threads: int | None) -> None:
        self.seconds = 0.0
        self.peak_bytes: int | None = None
        self._words: queue.Queue[str | None] = queue.Queue()
        self._tail: deque[bytes] = deque()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "discreet.backends.worker", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(threads),
            start_new_session=True,  # a group of its own, to be killed as one; Ctrl-C reaches it through us only
        )
        assert self._process.stdout is not None  # PIPE was asked for
        assert self._process.stderr is not None
        self._listeners = [
            threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._keep_tail, args=(self._process.stderr,), daemon=True),
        ]
        for listener in self._listeners:
            listener.start()

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        for listener in self._listeners:
            listener.join(timeout=GRACE_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None and not any(listener.is_alive() for listener in self._listeners):
                pipe.close()

    def wait(self, time_limit: float | None, extra: float = 0.0) -> tuple[Status, str] | None:
        """Until the reply is written (None), or the status and message of what happened instead. `extra`: for repeats."""
        try:
            if self._next_word(STARTUP_SECONDS) != "ready":
                return Status.FAILED, self._obituary("before it was ready to solve")
        except queue.Empty:
            return Status.FAILED, f"the process was not ready to solve within {STARTUP_SECONDS:g} s"
        started = time.perf_counter()
        try:
            word = self._next_word(None if time_limit is None else time_limit + extra + GRACE_SECONDS)
        except queue.Empty:
            self.peak_bytes = status_bytes("VmHWM", self._process.pid)
            return Status.TIMED_OUT, f"the process was killed {GRACE_SECONDS:g} s after the time limit of {time_limit:g} s"
        finally:
            self.seconds = time.perf_counter() - started
        return None if word == "done" else (Status.FAILED, self._obituary("while solving"))

    def _next_word(self, patience: float | None) -> str | None:
        """The next word of the worker, None once it has closed its output; raises queue.Empty when patience ends."""
        return self._words.get(timeout=patience)

    def _listen(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._words.put(line.decode("ascii", "replace").strip())
        self._words.put(None)

    def _keep_tail(self, stream: IO[bytes]) -> None:
        for chunk in iter(lambda: stream.read1(_TAIL_BYTES), b""):  # type: ignore[attr-defined]
            self._tail.append(chunk)
            while len(self._tail) > 2 and sum(map(len, self._tail)) > 2 * _TAIL_BYTES:
                self._tail.popleft()

    def _obituary(self, when: str) -> str:
        try:
            code = self._process.wait(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return f"the process closed its output {when} without an answer{self._last_words()}"
        self._kill_group()
        self._listeners[1].join(timeout=GRACE_SECONDS)
        return f"the process {_cause_of_death(code)} {when}{self._last_words()}"

    def _last_words(self) -> str:
        text = b"".join(self._tail)[-_TAIL_BYTES:].decode("utf-8", "replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return f"; it wrote last: {' / '.join(lines[-3:])}" if lines else ""

    def _kill(self) -> None:
        if self._process.returncode is None:  # otherwise `_obituary` has seen to it, and the number may be another's by now
            self._kill_group()
            self._process.wait()

    def _kill_group(self) -> None:
        """End the process and everything in its group, also what it started and left behind."""
        if os.name != "posix":
            self._process.kill()
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left, or (macOS) only a zombie
            os.killpg(self._process.pid, signal.SIGKILL)


def _cause_of_death(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"number {-code}"
    hint = ", which is what the system does when memory runs out" if name == "SIGKILL" else ""
    return f"was ended by signal {name}{hint}"


def _environment(threads: int | None) -> dict[str, str]:
    """Ours, with our own import path (and nothing from the working directory that is not on it)."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    environment["PYTHONUNBUFFERED"] = "1"  # a crash loses nothing it had said
    if threads is not None:
        environment.update(dict.fromkeys(_THREAD_VARIABLES, str(threads)))
    return environment
