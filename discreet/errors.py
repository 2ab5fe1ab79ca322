"""The exceptions of discreet, all of them.

    DiscreetError
    ├── InputError          the input cannot be used (also a ValueError); the CLI exits with 2
    │   └── FileError       a file cannot be read or written
    └── BackendError        a backend could not do its work
        ├── Unsupported     it does not serve this kind or size of problem
        ├── Absent          its library is not installed
        ├── Broken          its library is installed but fails to import
        └── Interrupted     it was stopped by its time limit

`InputWarning` is a category of warnings, not an exception.

A message is a sentence: what was wrong, where (index, value), what to do.
"""

from __future__ import annotations

import re


def shorten_message(sentence: str) -> str:
    """Return a message on one line that quotes at most a line or two of the input."""
    text = re.sub(r"(\S{160})\S{140,}", r"\1…", " ".join(sentence.split()))
    return text if len(text) <= 1000 else f"{text[:600]} … {text[-300:]}"


class DiscreetError(Exception):
    """Base class of every exception that discreet raises intentionally."""

    def __init__(self, message: str = "") -> None:
        super().__init__(shorten_message(message))


class InputError(DiscreetError, ValueError):
    """The input cannot be used; the message says what is wrong, where, and what to do."""


class InputWarning(UserWarning):
    """The input can be used, but is probably not what was intended; the message says why."""


class FileError(InputError):
    """A file cannot be read as a problem or a solution, or cannot be written."""


class BackendError(DiscreetError):
    """A backend could not do its work; the message says why."""


class Unsupported(BackendError):
    """The backend does not serve this kind or size of problem."""


class Absent(BackendError):
    """The backend's library is not installed."""


class Broken(BackendError):
    """The backend's library is installed but fails to import."""


class Interrupted(BackendError):
    """The backend noticed its time limit and stopped without an answer."""


def how_to_install(extra: str) -> str:
    """The command that installs an extra of discreet, for a released wheel and for a checkout."""
    return f'run pip install "discreet[{extra}]", or in a checkout pip install ".[{extra}]"'
