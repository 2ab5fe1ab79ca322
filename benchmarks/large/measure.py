"""Medians of warm runs, plain reads of arrays, peak memory."""

from __future__ import annotations

import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

__all__ = ["Memory", "compiled", "cores", "read_seconds", "timed"]

_ENOUGH_SECONDS = 8.0  # of warm runs; at least one is made
_PIECES = 8  # per core, of every row of an array
_SAMPLED_EVERY = 0.02

Value = TypeVar("Value")


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def timed(
    work: Callable[[], Value], repeats: int = 5, *, warm: bool = True
) -> tuple[Value, dict[str, Any]]:
    """The last result, and seconds, first_seconds, repeats for a `Row`: the median of up to
    `repeats` runs after a first.

    Repeats end after a few seconds. warm: False where one run takes so long that nothing is gained
    by a second.
    """
    spent: list[float] = []
    for _ in range(repeats + 1 if warm else 1):
        started = time.perf_counter()
        result = work()
        spent.append(time.perf_counter() - started)
        if sum(spent[1:]) > _ENOUGH_SECONDS:
            break
    kept = spent[1:] or spent
    return result, {
        "seconds": statistics.median(kept),
        "first_seconds": spent[0] if warm else None,
        "repeats": len(kept),
    }


def compiled() -> bool:
    """Return whether numba can be imported here."""
    return find_spec("numba") is not None


def read_seconds(arrays: Sequence[Any], repeats: int = 5) -> tuple[str, float]:
    """(how, seconds) of the plainest pass over all entries of 2-D arrays: adding them up, on all
    cores.

    With numba the kernel is vectorised and runs at the speed of memory; without it, NumPy's sum.
    """
    how, add = (
        ("one parallel numba read", _compiled_sum())
        if compiled()
        else ("one parallel NumPy read", np.sum)
    )
    pieces = [
        piece
        for array in arrays
        for row in array
        for piece in np.array_split(row, _PIECES * cores())
    ]
    with ThreadPoolExecutor(cores()) as pool:
        _, found = timed(lambda: sum(pool.map(add, pieces)), repeats)
    return how, float(found["seconds"])


def _compiled_sum() -> Any:
    import numba

    @numba.njit(nogil=True, fastmath=True)
    def add(values):  # type: ignore[no-untyped-def]
        total = 0.0
        for value in values:
            total += value
        return total

    return add


class Memory:
    """Peak memory of this process in MiB, from its start on; sampled where the system keeps no
    mark.
    """

    def __init__(self) -> None:
        self._private = 0.0
        self._stop = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    def peaks(self) -> dict[str, float | None]:
        """peak_mib and private_mib for a `Row`; None where the system does not say."""
        self._stop.set()
        self._sampler.join()
        return {"peak_mib": _peak(), "private_mib": self._private or None}

    def _sample(self) -> None:
        while not self._stop.wait(_SAMPLED_EVERY):
            self._private = max(self._private, _status("RssAnon") or 0.0)


def _peak() -> float | None:
    """The high-water mark. Linux hands ru_maxrss of the starting process on to the started one, so
    VmHWM comes first.
    """
    marked = _status("VmHWM")
    if marked is not None or sys.platform == "win32":
        return marked
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1024.0 if sys.platform != "darwin" else 1024.0**2
    )


def _status(field: str) -> float | None:
    """A line of /proc/self/status, in MiB."""
    path = Path("/proc/self/status")
    if not path.exists():
        return None
    for line in path.read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024.0
    return None
