"""A function in a process of its own, and the messages that it sends back, for `isolated`.

The child reads its request from standard input and writes messages to standard output, both as
pickles that only these two processes exchange. Solvers print freely, from C as well as from Python.
So before any of them loads, the child keeps a private copy of file descriptor 1 and redirects it to
standard error, whose end is kept for error messages.

Leaving the block, also by Ctrl-C, ends the child and everything that it started. If this process is
killed, standard input of the child ends and the child exits. On Windows only the child itself is
killed, not the processes that it started.

A worker of Dask cannot be interrupted, but another of its threads can end the children of one run:
`end_children`.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from discreet.errors import BackendError, FileError, Interrupted
from discreet.storage.writing import scratch_folder

GRACE_SECONDS = 1.0
"""Seconds after a time limit before a process is killed: a backend that stops by itself needs time
to answer.
"""

STARTUP_SECONDS = 120.0
"""Seconds a process may take to start and import its libraries; the time limit excludes them."""

_PACKAGE = Path(__file__).resolve().parents[1]

_START = """
import importlib.util, os, sys
folder = {0!r}
file = os.path.join(folder, "__init__.py")
spec = importlib.util.spec_from_file_location(
    "discreet", file, submodule_search_locations=[folder]
)
package = importlib.util.module_from_spec(spec)
sys.modules["discreet"] = package
spec.loader.exec_module(package)
from discreet.backends.process import main
main()
"""
"""Starts a process with this package, which need not be installed in its environment."""

_IN_CHILD = "_DISCREET_CHILD"  # set for a child, and for what it starts

_ENDED = object()  # the message after the last one
_alive: dict[int, Child] = {}  # children by process number
_thread = threading.local()  # .run: the run that children started by the thread belong to

_THREADED = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMEXPR", "NUMBA", "RAYON")


class Child:
    """A process, in a group of its own, that calls a function. As a context manager it kills the
    group at the end.

    function   "package.module:name"; called in the process with `send` and the request, it passes
               every message to `send`
    request    anything that can be pickled
    threads    of BLAS and OpenMP in the process; None leaves them as in this process
    python     the interpreter; any other than the one that runs here imports this package from its
               folder, and everything else from its own environment
    ended      True if `receive` has raised an exception
    run        the run it belongs to; see `belonging_to`
    """

    def __init__(
        self,
        function: str,
        request: tuple[Any, ...],
        threads: int | None = None,
        python: str = sys.executable,
    ) -> None:
        self.ended = False
        self.run: str = getattr(_thread, "run", "")
        self._messages: queue.Queue[Any] = queue.Queue()
        with contextlib.ExitStack() as held:
            try:
                folder = held.enter_context(scratch_folder())
                self._errors = held.enter_context(open(os.path.join(folder, "errors"), "w+b"))
                self._process = subprocess.Popen(
                    [python, "-P", "-c", _START.format(str(_PACKAGE))],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    env=_environment(threads, folder, python),
                    # A group of its own can be killed as a whole, and does not receive Ctrl-C.
                    start_new_session=True,
                )
            except OSError as error:
                why = error.strerror or error
                raise FileError(
                    f"a process cannot be started: {why}; make room in the temporary folder"
                ) from None
            self._held = held.pop_all()
        assert self._process.stdin is not None  # PIPE was asked for
        assert self._process.stdout is not None
        _alive[self.pid] = self
        self._listener = threading.Thread(
            target=self._listen, args=(self._process.stdout,), daemon=True
        )
        self._listener.start()
        try:
            with contextlib.suppress(BrokenPipeError):  # it has ended: `receive` will raise
                pickle.dump((function, request), self._process.stdin)
                self._process.stdin.flush()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        _alive.pop(self.pid, None)
        # Otherwise `ending` killed it, and the process number may have been reused.
        if self._process.returncode is None:
            self._kill_group()
            self._process.wait()
        self._listener.join(timeout=GRACE_SECONDS)
        self._held.close()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not self._listener.is_alive():
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    @property
    def pid(self) -> int:
        """The process number of the child."""
        return self._process.pid

    def receive(self, seconds: float | None) -> Any:
        """Return the next message; TimeoutError if there is none within the seconds, EOFError if
        the process has ended.
        """
        try:
            message = self._messages.get(timeout=seconds)
        except queue.Empty:
            self.ended = True
            raise TimeoutError from None
        if message is _ENDED:
            self.ended = True
            raise EOFError
        return message

    def end(self) -> None:
        """End the process from another thread; a waiting `receive` raises EOFError."""
        if self._process.returncode is None:
            self._kill_group()

    def ending(self, when: str) -> str:
        """Return a description of how the process ended, after `receive` raised EOFError, and the
        last lines that it wrote.
        """
        try:
            code = self._process.wait(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return f"the process closed its output {when} without an answer{self._last_lines()}"
        self._kill_group()
        return f"the process {_exit(code)} {when}{self._last_lines()}"

    def _listen(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(EOFError, pickle.UnpicklingError):
            while True:
                self._messages.put(pickle.load(stream))
        self._messages.put(_ENDED)

    def _last_lines(self) -> str:
        length = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, length - 4096))
        lines = [
            line.strip()
            for line in self._errors.read().decode("utf-8", "replace").splitlines()
            if line.strip()
        ]
        return f"; it wrote last: {' / '.join(lines[-3:])}" if lines else ""

    def _kill_group(self) -> None:
        """End the process and everything in its group, including processes that it left behind."""
        if os.name != "posix":
            self._process.kill()
            return
        # No process is left, or (macOS) only a zombie.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def call(function: str, request: tuple[Any, ...], seconds: float | None) -> Any:
    """The message that a function sends, see `Child`, called in a process of its own unless this is
    one already: for a library that breaks others in the same process.

    seconds: after which the process is ended and Interrupted raised, besides those for its start.
    Raises BackendError if it ends without a message.
    """
    if is_child():
        messages = list[Any]()
        _function(function)(messages.append, *request)
        return messages[0]
    with Child(function, request) as child:
        try:
            return child.receive(
                None if seconds is None else STARTUP_SECONDS + seconds + GRACE_SECONDS
            )
        except EOFError:
            raise BackendError(child.ending("while solving")) from None
        except TimeoutError:
            raise Interrupted(
                f"the process was killed after the time limit of {seconds:g} s"
            ) from None


def import_for_call(module: str) -> None:
    """Import what a function needs that `call` will call in this process, so that the import is not
    part of its time; nothing where it gets a process of its own.
    """
    if is_child():
        importlib.import_module(module)


@contextlib.contextmanager
def belonging_to(run: str) -> Iterator[None]:
    """Assign processes that this thread starts in the block to a run."""
    _thread.run = run
    try:
        yield
    finally:
        _thread.run = ""


def end_children(run: str) -> None:
    """End the processes of a run that threads of this process have started."""
    for child in list(_alive.values()):
        if child.run == run:
            child.end()


def _exit(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"number {-code}"
    hint = ", which is what the system does when memory runs out" if name == "SIGKILL" else ""
    return f"was ended by signal {name}{hint}"


def _environment(threads: int | None, folder: str, python: str) -> dict[str, str]:
    """Return the environment variables of this process, with a folder for temporary files, and with
    the import path if the interpreter is the one that runs here.
    """
    environment = dict(os.environ)
    here = python == sys.executable
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    environment["PYTHONPATH"] = path if here else ""
    environment.update(dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder))
    environment[_IN_CHILD] = "1"
    environment["PYTHONUNBUFFERED"] = "1"  # a crash loses no message sent before
    if threads is not None:
        environment.update({f"{name}_NUM_THREADS": str(threads) for name in _THREADED})
    return environment


# -- in the child process
# --------------------------------------------------------------------------------------------------


def is_child() -> bool:
    """Whether this process was started as a `Child`."""
    return _IN_CHILD in os.environ


def main() -> None:
    """Call the function named on standard input, with `send` and the request that follows."""
    exchange = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr

    def send(message: Any) -> None:
        pickle.dump(message, exchange)
        exchange.flush()

    function, request = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _function(function)(send, *request)


def _function(words: str) -> Callable[..., None]:
    """The function of "package.module:name"."""
    module, _, name = words.partition(":")
    function: Callable[..., None] = getattr(importlib.import_module(module), name)
    return function


def _end_with_parent() -> None:
    """Exit when the parent ends: standard input contains nothing after the request, so its end
    means that the parent has ended.
    """
    while os.read(0, 1024):
        continue
    # The process leads its group: also end processes that the solver started.
    if os.name == "posix" and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(70)
