"""Reading `Options.settings` with one sentence for every wrong value.

Values may come as numbers or, from a command line, as text. Raises InputError naming the backend, the setting, what was
given and what it may be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.backends.contract import Options
from discreet.problems.errors import InputError


def choice(options: Options, backend: str, name: str, allowed: Iterable[str], default: str) -> str:
    """The setting's value, one of `allowed`, or the default."""
    value = options.settings.get(name, default)
    known = tuple(allowed)
    if value not in known:
        raise InputError(f"backend {backend}: setting {name} is {value!r}; choose one of: {', '.join(known)}")
    return str(value)


def positive(options: Options, backend: str, name: str, default: float) -> float:
    """The setting's value, a positive finite number, or the default."""
    given = options.settings.get(name, default)
    try:
        value = float(given)
    except (TypeError, ValueError):
        value = math.nan
    if not (0.0 < value < math.inf):
        raise InputError(f"backend {backend}: setting {name} is {given!r}; give a positive number")
    return value


def whole(options: Options, backend: str, name: str, default: int) -> int:
    """The setting's value, a whole number ≥ 1, or the default."""
    if name not in options.settings:
        return default
    given = options.settings[name]
    try:
        value = int(str(given))
    except ValueError:
        value = 0
    if value < 1:
        raise InputError(f"backend {backend}: setting {name} is {given!r}; give a whole number of at least 1")
    return value
