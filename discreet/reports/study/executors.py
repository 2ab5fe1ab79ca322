"""Executors of a study's cells: this process, processes of loky, the workers of Dask, or jobs of
submitit.

An executor takes a function with its arguments and returns a future with `done` and `result`, as in
`concurrent.futures`. One loop, in `runner`, serves all executors, and one function runs every cell:
it gives the backend its own process with limits, and returns a row whatever the backend does. An
exception of a future therefore does not come from a backend: the worker itself was lost, or cannot
run discreet at all.

Sources: loky, https://loky.readthedocs.io; Dask, https://distributed.dask.org; submitit, the pages
in its repository.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import re
import signal
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.backends.process import STARTUP_SECONDS, end_children
from discreet.checks import brief, nearest
from discreet.errors import Absent, InputError, how_to_install
from discreet.reports.study.plan import AttemptLimits

LOCAL = "local"
"""The executor that runs one cell at a time, in this process."""

_JOBS = 64
"""How many jobs of a queue are waiting or running at once: it can start what it has room for, and
holds no whole study.
"""

_CONNECT = 10.0
"""Seconds in which a scheduler has to answer."""
_TALKATIVE = ("distributed.client", "distributed.core", "distributed.utils")
"""Loggers that print tracebacks when a scheduler ends; one sentence says so already."""


class Executor:
    """An executor that runs one cell at a time in this process; `submit` returns when the call is
    over. Subclasses override parts of it.

    name     name in the rows
    form     how it is typed, in words
    typed    how it is typed, as a pattern
    library  the library it needs, and the extra of discreet that installs it
    run      identifies this run of a study to workers that outlive it
    pause    seconds between two checks whether a future is done
    """

    name = LOCAL
    form = LOCAL
    typed = LOCAL
    library = ("", "")
    run = ""
    pause = 0.0

    def __init__(self, *_: Any) -> None:
        """Accept and ignore what subclasses need: the detail typed after the name, a folder for
        files of jobs, and limits.
        """

    def room(self) -> int:
        """Return how many cells may run at once."""
        return 1

    def submit(self, function: Callable[..., Any], *given: Any) -> Any:
        """Submit a call and return its future."""
        future = Future[Any]()
        future.set_result(function(*given))
        return future

    def lost(self, error: Exception) -> str:
        """Return how the worker was lost if an exception of a future means that; else the text is
        empty.
        """
        return ""

    def stop(self, futures: Iterable[Any]) -> None:
        """End these calls and the processes that they started; called once, before `close`."""

    def close(self) -> None:
        """Release the resources of the executor."""


def check_executor(words: str) -> tuple[type[Executor], str]:
    """Return the class and the detail of an executor as typed. Raises InputError for other words,
    Absent if its library is not installed.
    """
    name, _, detail = words.partition(":")
    kind = _EXECUTORS.get(name)
    if kind is None:
        forms = ", ".join(each.form for each in _EXECUTORS.values())
        raise InputError(
            f"there is no executor {brief(words)}{nearest(name, _EXECUTORS)}; give {forms}"
        )
    if not re.fullmatch(kind.typed, words, flags=re.ASCII | re.DOTALL):
        raise InputError(f"{brief(words)} is not an executor; give {kind.form}")
    if name != LOCAL:
        _import(kind)
    return kind, detail


@contextlib.contextmanager
def open_executor(words: str, folder: Path, limits: AttemptLimits) -> Iterator[Executor]:
    """Open the executor that these words specify; it is closed when the block ends.

    Raises InputError and Absent as `check_executor` does, and InputError if no scheduler or queue
    answers.
    """
    kind, detail = check_executor(words)
    executor = kind(detail, folder, limits)
    try:
        yield executor
    finally:
        executor.close()


def _import(kind: type[Executor]) -> Any:
    name, extra = kind.library
    try:
        return import_module(name)
    except ImportError as error:
        raise Absent(
            f"the executor {kind.name} needs {name}, which does not import ({error}); "
            f"{how_to_install(extra)}"
        ) from None


class _Processes(Executor):
    """Worker processes of loky on this machine. A broken pool is replaced when the next call is
    submitted.
    """

    name = "loky"
    form = "loky or loky:WORKERS"
    typed = r"loky(:[1-9]\d{0,3}|:10000)?"
    library = ("loky", "executors")
    pause = 0.02

    def __init__(self, detail: str, folder: Path, limits: AttemptLimits) -> None:
        self._loky = _import(type(self))
        self._workers = int(detail) if detail else self._loky.cpu_count()
        self._held = contextlib.ExitStack()
        self._held.enter_context(warnings.catch_warnings())
        warnings.filterwarnings(
            "ignore", module="loky"
        )  # of workers that are replaced, or cannot be killed with their children

    def room(self) -> int:
        return int(self._workers)

    def submit(self, function: Callable[..., Any], *given: Any) -> Any:
        return self._pool().submit(function, *given)

    def lost(self, error: Exception) -> str:
        if not isinstance(error, self._loky.BrokenProcessPool):
            return ""
        codes = re.search(r"exit codes of the workers are \{(.*?)\}", str(error))
        return f"a worker process died{f' ({codes.group(1)})' if codes else ''}"

    def stop(self, futures: Iterable[Any]) -> None:
        self._pool().shutdown(wait=True, kill_workers=True)

    def close(self) -> None:
        self._pool().shutdown(wait=True)
        self._held.close()

    def _pool(self) -> Any:
        """Return the pool, whose workers ignore Ctrl-C. A terminal sends it to all processes, and
        this process handles it.
        """
        ignore = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}
        return self._loky.get_reusable_executor(max_workers=self._workers, timeout=60, **ignore)


class _Cluster(Executor):
    """The workers of a Dask scheduler, with one cell for each of their threads."""

    name = "dask"
    form = "dask:ADDRESS"
    typed = "dask:.+"
    library = ("distributed", "distributed")
    pause = 0.02

    def __init__(self, detail: str, folder: Path, limits: AttemptLimits) -> None:
        distributed = _import(type(self))
        self.run = uuid.uuid4().hex
        self._levels = {each: each.level for each in map(logging.getLogger, _TALKATIVE)}
        for each in self._levels:
            each.setLevel(logging.CRITICAL)
        try:
            asyncio.run(asyncio.wait_for(_identity(distributed, detail), _CONNECT))
            self._client = distributed.Client(detail, timeout=_CONNECT, set_as_default=False)
        except (OSError, ValueError, TypeError, TimeoutError, RuntimeError) as error:
            self._speak()
            why = _first_line(error) if str(error) else f"nothing came within {_CONNECT:g} s"
            raise InputError(
                f"no scheduler of Dask answers at {brief(detail)} ({why}); start one with dask "
                "scheduler"
            ) from None

    def room(self) -> int:
        return max(1, int(sum(self._client.nthreads().values())))

    def submit(self, function: Callable[..., Any], *given: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(function, *given, pure=False, retries=0)

    def lost(self, error: Exception) -> str:
        return "the workers that ran it died" if type(error).__name__ == "KilledWorker" else ""

    def stop(self, futures: Iterable[Any]) -> None:
        with contextlib.suppress(Exception):  # the scheduler may be what is gone
            self._client.cancel(list(futures), force=True)
            self._client.run(end_children, self.run)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)
        self._speak()

    def _speak(self) -> None:
        for each, level in self._levels.items():
            each.setLevel(level)


async def _identity(distributed: Any, address: str) -> None:
    """Ask a scheduler who it is: a client that is made for an address where there is none does not
    end by itself.
    """
    arguments = distributed.Security().get_connection_args("client")
    async with distributed.rpc(address, connection_args=arguments, timeout=_CONNECT) as scheduler:
        await scheduler.identity()


class _Queue(Executor):
    """A queue with one SLURM job for each cell, or one process of this machine if the partition is
    `local`.
    """

    name = "submitit"
    form = "submitit:PARTITION"
    typed = "submitit:.+"
    library = ("submitit", "executors")

    def __init__(self, detail: str, folder: Path, limits: AttemptLimits) -> None:
        submitit = _import(type(self))
        self._here = detail == LOCAL
        self._folder = folder.resolve() / "jobs"
        self._jobs = list[_Job]()
        self.pause = 0.05 if self._here else 1.0
        try:
            self._executor = submitit.AutoExecutor(
                self._folder, cluster="local" if self._here else "slurm"
            )
        except RuntimeError as error:
            raise InputError(
                f"jobs cannot be submitted to {brief(detail)} ({_first_line(error)}); run the "
                "command on a machine that "
                "has srun and sbatch, or give submitit:local for processes of this one"
            ) from None
        # The judge and the second opinion have no limit of their own.
        seconds = STARTUP_SECONDS + 4.0 * limits.time_seconds
        asked = {
            "name": "discreet",
            "timeout_min": math.ceil(seconds / 60.0) if math.isfinite(seconds) else 24 * 60,
            "cpus_per_task": limits.threads or os.cpu_count() or 1,
            "mem_gb": limits.memory_gib + 2.0 if math.isfinite(limits.memory_gib) else None,
        }
        self._executor.update_parameters(
            **asked, **({} if self._here else {"slurm_partition": detail})
        )

    def room(self) -> int:
        return (os.cpu_count() or 1) if self._here else _JOBS

    def submit(self, function: Callable[..., Any], *given: Any) -> Any:
        with _defer_interrupt(), _quiet_children() if self._here else contextlib.nullcontext():
            self._jobs.append(_Job(self._executor.submit(function, *given)))
        return self._jobs[-1]

    def lost(self, error: Exception) -> str:
        return str(error) if isinstance(error, _Lost) else ""

    def stop(self, futures: Iterable[Any]) -> None:
        # With a job that was interrupted while it was handed in.
        left = [job for job in self._jobs if not job.over]
        for job in left:
            job.cancel()
        deadline = time.monotonic() + 10.0
        while self._here and time.monotonic() < deadline and not all(job.done() for job in left):
            time.sleep(self.pause)
        for job in left:
            job.clear()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # it holds the logs of jobs that were lost
            for link in self._folder.glob("*submission_file_*.sh"):
                if not link.exists():  # what it leads to has gone with its job
                    link.unlink()
            self._folder.rmdir()


@contextlib.contextmanager
def _defer_interrupt() -> Iterator[None]:
    """Delay Ctrl-C until the block ends, so that a job that was submitted is recorded and can be
    cancelled.
    """
    waiting = list[int]()
    try:
        usual = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    except ValueError:  # only the main thread has signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if waiting:
        raise KeyboardInterrupt


@contextlib.contextmanager
def _quiet_children() -> Iterator[None]:
    """Discard the standard error of processes started in the block, where submitit's watcher of
    local jobs reports Ctrl-C at length.
    """
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


class _Lost(Exception):
    """A job that ended without a result."""


class _Job:
    """A job of submitit. Its files are removed when it has a result or is cancelled; a lost job
    leaves its files.
    """

    def __init__(self, job: Any) -> None:
        self._job = job
        self.over = False

    def done(self) -> bool:
        return bool(self._job.done())

    def cancel(self) -> None:
        with contextlib.suppress(Exception):  # it may be over
            self._job.cancel(check=False)

    def result(self) -> Any:
        self.over = True
        try:
            value = self._job.result()
        except _import(_Queue).core.utils.UncompletedJobError:
            raise _Lost(f"its job ended without a result (state {self._job.state})") from None
        self.clear()
        return value

    def clear(self) -> None:
        paths = self._job.paths
        for path in (
            paths.submitted_pickle,
            paths.result_pickle,
            paths.stdout,
            paths.stderr,
            paths.submission_file,
        ):
            path.unlink(missing_ok=True)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


_EXECUTORS = {each.name: each for each in (Executor, _Processes, _Cluster, _Queue)}
"""Name -> the executor."""
