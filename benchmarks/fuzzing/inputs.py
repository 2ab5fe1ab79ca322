"""An input: one of a door, and what became of it."""

from __future__ import annotations

import os
import random
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzzing.calls import arrays, parameters
from fuzzing.commands import Finding, Refused, options
from fuzzing.files import archives, notes, results, study

import discreet as ds
from discreet.problems.samples import FewRecordsWarning

__all__ = ["DOORS", "attempt", "made"]

Action = Callable[[], Any]

_REFUSALS = (ds.DiscreetError, Refused)

DOORS: dict[str, Callable[[random.Random], tuple[str, Action]]] = {
    "arrays": arrays,
    "catalog": parameters,
    "npz": archives,
    "study": study,
    "results": results,
    "json": notes,
    "options": options,
}


def attempt(action: Action, refusals: tuple[type[BaseException], ...] = _REFUSALS) -> str:
    """What became of it: taken, refused, or what should not have happened."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", FewRecordsWarning)  # the tables are small
            action()
    except (*refusals, ImportError) as error:
        message = str(error)
        if "\n" in message or len(message) > 1000:
            return f"a message of {len(message)} characters: {_place(error)}: {message[:120]!r}"
        return "refused"
    except Finding as found:
        return str(found)
    except Exception as error:
        return f"{type(error).__name__}: {_place(error)}: {str(error)[:120]!r}"
    return "taken"


def _place(error: BaseException) -> str:
    """Where it was raised: the last line of discreet's own."""
    package = f"{Path(ds.__file__).parent}{os.sep}"
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(package)
    ]
    return (
        f"{Path(own[-1].filename.removeprefix(package)).as_posix()}:{own[-1].name}"
        if own
        else "outside"
    )


def made(door: str, r: random.Random) -> tuple[str, Action, tuple[type[BaseException], ...]]:
    """An input: its words, what to do with it, and the exceptions that are documented."""
    words, action = DOORS[door](r)
    return (
        words,
        action,
        (*_REFUSALS, ValueError) if words.startswith("verify") or door == "json" else _REFUSALS,
    )
