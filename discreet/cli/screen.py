"""Where output goes: results to standard output, everything else to standard error, progress only
to a terminal.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130
"""The exit code of a command that was interrupted."""

_PIPED_WIDTH = 150  # columns where the output is not a terminal


def output() -> Console:
    """The console of standard output; a file or a pipe is wide, unless COLUMNS says otherwise. It
    reads no markup.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit() else _PIPED_WIDTH
    console = Console(width=width, markup=False, emoji=False, highlight=False)
    console.on_broken_pipe = drop_output  # type: ignore[method-assign]  # rich's own ends the process with status 1
    return console


def drop_output() -> None:
    """Discard what could not be written and all that follows; a closed pipe does not change
    the exit code.

    The interpreter would otherwise try again at exit, and complain.
    """
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        return
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: Any) -> None:
    """One strict JSON document on standard output: no NaN, no infinity; values that JSON lacks,
    such as dates, as text.
    """
    try:
        print(json.dumps(value, indent=2, allow_nan=False, default=str), flush=True)
    except BrokenPipeError:
        drop_output()


def show(
    record: Callable[[], Any], drawn: Callable[[Any], Iterable[Any]], *, as_json: bool
) -> None:
    """A result on standard output: its record as JSON, or tables and sentences, drawn with the
    module `reports.tables`.
    """
    if as_json:
        print_json(record())
        return
    from discreet.reports import tables
    from discreet.showing.terminal import Shown

    console = output()
    for each in drawn(tables):
        console.print(Shown(each))


def say(sentence: str) -> None:
    """A message for people, on standard error; nothing depends on its being heard."""
    with contextlib.suppress(OSError):
        print(sentence, file=sys.stderr)


@contextlib.contextmanager
def progress() -> Iterator[Callable[[int, int | None, str], None]]:
    """A bar on standard error: yields a function of (done, total, what runs now). Without a
    terminal it shows nothing.
    """
    if not sys.stderr.isatty():
        yield lambda done, total, what: None
        return
    from discreet.reports.progress import progress as bar

    with bar() as watch:
        yield watch


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """A bar for one step of unknown length."""
    with progress() as tell:
        tell(0, None, what)
        yield
