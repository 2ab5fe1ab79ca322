"""Compiling with numba, the optional extra `fast`: once, whichever thread asks first, and kept on disk where that can be.

Machine code is kept beside the source or, where that is read-only, in the user's cache folder; where neither can be written
it is compiled again in every process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, wraps
from importlib.util import find_spec
from typing import Any, TypeVar

__all__ = ["compiled_available", "jit", "once"]

_lock = threading.RLock()
_Built = TypeVar("_Built")


def compiled_available() -> bool:
    """Whether numba can be imported."""
    return find_spec("numba") is not None


def once(build: Callable[..., _Built]) -> Callable[..., _Built]:
    """`functools.cache` under a lock: threads that ask at the same time share one result (and one compilation)."""
    kept = cache(build)

    @wraps(build)
    def locked(*arguments: Any) -> _Built:
        with _lock:
            return kept(*arguments)

    return locked


def jit(function: Callable[..., Any]) -> Any:
    """Compile a function that lets other threads run; arithmetic as written, without reordering or fusing."""
    import numba

    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # numba found no folder for its cache
        return numba.njit(nogil=True)(function)
