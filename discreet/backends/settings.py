"""Read `Options.settings`, with one sentence for every wrong value.

Values may be numbers or, from a command line, text. Raises InputError naming the backend, the
setting, the given value and the allowed values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

from discreet.backends.contract import Options
from discreet.errors import InputError

_Number = TypeVar("_Number", int, float)


def choice(options: Options, backend: str, name: str, allowed: Iterable[str], default: str) -> str:
    """Return the value of the setting, one of `allowed`, or the default."""
    value = options.settings.get(name, default)
    known = tuple(allowed)
    if value not in known:
        raise InputError(
            f"backend {backend}: setting {name} is {value!r}; choose one of: {', '.join(known)}"
        )
    return str(value)


def number(
    options: Options, backend: str, name: str, kind: type[_Number], default: _Number
) -> _Number:
    """Return the value of the setting, a positive finite number (a whole one if `kind` is int), or
    the default.
    """
    if name not in options.settings:
        return default
    given = options.settings[name]
    try:
        value = kind(str(given))
    except ValueError:
        value = kind(0)
    if not 0 < value < math.inf:
        wanted = "a whole number of at least 1" if kind is int else "a positive number"
        raise InputError(f"backend {backend}: setting {name} is {given!r}; give {wanted}")
    return value
