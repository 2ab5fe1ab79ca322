"""The two passes over the outcomes that large problems need, in NumPy and, where numba is installed, compiled.

    scan     for every outcome: which guess is best under a tilt, by how much (the margin), the sum of the best tilted losses
             (the dual bound); outcomes with a margin up to a threshold are listed, all others are summed into cells
    sample   outcomes drawn in proportion to a weight, systematically (evenly spaced in cumulative weight)

A cell is (best guess, second best, shell), shells being a fixed number per octave of the margin, read off the bits of its
floating-point representation. Both versions visit outcomes in the same chunks, keep one partial sum per chunk and add the
partial sums in order, so results do not depend on the number of threads; the labels, margins and lists are the same in
both, the sums agree to rounding.

The compiled kernels are closures over (n, m), which makes the inner loops constant so that LLVM unrolls them; numba stores
them beside the source or, where that is read-only, in the user's cache.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.problems.accurate import Array

__all__ = [
    "CHUNK",
    "SHELLS",
    "Found",
    "Index",
    "Part",
    "Scan",
    "compiled_available",
    "member",
    "sample",
    "scan",
    "shell_top",
]

CHUNK = 1 << 16
_PER_OCTAVE_BITS = 3  # 8 shells per octave
_OCTAVES = 44  # margins from 2^-42 to 4; what is smaller or larger shares the last shell on its side
SHELLS = _OCTAVES << _PER_OCTAVE_BITS
_BOTTOM = (1023 - 42) << _PER_OCTAVE_BITS
_SHIFT = 52 - _PER_OCTAVE_BITS
_COMPILED_FROM = 1 << 16  # outcomes from which a compiled kernel pays, once it exists

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Scan:
    """What one pass found.

    total    Σ_l min_i tilted loss
    listed   indices of the outcomes with a margin ≤ threshold, increasing
    cells    [cells, n + m] sums of (p_xz, loss) of all others, empty cells left out
    counts   [cells] how many outcomes are in each
    keys     [cells] (best · m + second best) · SHELLS + shell
    """

    total: float
    listed: Index
    cells: Array
    counts: NDArray[np.int64]
    keys: NDArray[np.int64]


def compiled_available() -> bool:
    """Whether numba can be imported."""
    from importlib.util import find_spec

    return find_spec("numba") is not None


def scan(p_xz: Array, loss: Array, tilt: Array, threshold: float, *, threads: int = 0, compiled: bool | None = None) -> Scan:
    """One pass under a *feasible* tilt [m, n]; arrays [n, N], [m, N], every outcome of positive mass."""
    n, m, outcomes = p_xz.shape[0], loss.shape[0], p_xz.shape[1]
    kernel = _scan_kernel(n, m, _use_compiled(outcomes, compiled))
    parts = _each_chunk(outcomes, threads, lambda lo, hi: kernel(p_xz, loss, tilt, threshold, lo, hi))
    cells, counts = np.zeros((m * m * SHELLS, n + m)), np.zeros(m * m * SHELLS, dtype=np.int64)
    totals, listed = [], []
    for total, found, keys, sums, number in parts:
        totals.append(total)
        listed.append(found)
        cells[keys] += sums
        counts[keys] += number
    keys = np.flatnonzero(counts)
    return Scan(math.fsum(totals), np.concatenate(listed), cells[keys], counts[keys], keys)


def member(p_xz: Array, loss: Array, tilt: Array, threshold: float, found: Scan, *, threads: int = 0) -> Index:
    """[N] the place of every outcome in (found.listed, found.cells): the pass of `scan`, remembering where each went."""
    place = np.full(loss.shape[0] ** 2 * SHELLS, -1, dtype=np.intp)
    place[found.keys] = found.listed.size + np.arange(found.keys.size)
    group = np.empty(p_xz.shape[1], dtype=np.intp)

    def work(lo: int, hi: int) -> None:
        margin, key, _ = _classified(p_xz[:, lo:hi], loss[:, lo:hi], tilt)
        group[lo:hi] = np.where(margin <= threshold, -1, place[key])

    for _ in _each_chunk(p_xz.shape[1], threads, work):
        continue
    group[found.listed] = np.arange(found.listed.size)
    return group


def shell_top(shell: int) -> float:
    """The margin at which a shell ends."""
    bits = np.array([(min(shell, SHELLS - 1) + 1 + _BOTTOM) << _SHIFT], dtype=np.int64)
    return float(bits.view(np.float64)[0])


def sample(weights: Array, count: int) -> tuple[Index, Array]:
    """About `count` systematic draws from positive weights [N]: distinct indices and how often each was drawn."""
    cumulative = np.cumsum(weights)
    drawn = np.searchsorted(cumulative, (np.arange(count) + 0.5) * (cumulative[-1] / count))
    index, times = np.unique(np.minimum(drawn, weights.size - 1), return_counts=True)
    return index, times.astype(np.float64)


def _use_compiled(outcomes: int, wanted: bool | None) -> bool:
    return outcomes >= _COMPILED_FROM and compiled_available() if wanted is None else wanted


Part = tuple[float, Index, NDArray[np.int64], Array, NDArray[np.int64]]
Found = TypeVar("Found")


def _each_chunk(outcomes: int, threads: int, work: Callable[[int, int], Found]) -> Iterator[Found]:
    bounds = [(start, min(start + CHUNK, outcomes)) for start in range(0, outcomes, CHUNK)]
    workers = min(threads or os.cpu_count() or 1, len(bounds))
    if workers <= 1:
        yield from (work(lo, hi) for lo, hi in bounds)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda bound: work(*bound), bounds)


@cache
def _scan_kernel(n: int, m: int, compiled: bool) -> Callable[..., Part]:
    if not compiled:
        return _scan_chunk
    chunk = _compile_scan(n, m)

    def run(p_xz: Array, loss: Array, tilt: Array, threshold: float, lo: int, hi: int) -> Part:
        listed = np.empty(hi - lo, dtype=np.intp)
        cells = np.zeros((m * m * SHELLS, n + m))
        counts = np.zeros(m * m * SHELLS, dtype=np.int64)
        total, found = chunk(p_xz, loss, tilt, threshold, lo, hi, listed, cells, counts)
        keys = np.flatnonzero(counts)
        return total, listed[:found], keys, cells[keys], counts[keys]

    return run


def _scan_chunk(p_xz: Array, loss: Array, tilt: Array, threshold: float, lo: int, hi: int) -> Part:
    """The pass over outcomes lo … hi − 1 in NumPy."""
    a, losses = p_xz[:, lo:hi], loss[:, lo:hi]
    margin, key, least = _classified(a, losses, tilt)
    near = margin <= threshold
    keys, place, number = np.unique(key[~near], return_inverse=True, return_counts=True)
    rows = np.concatenate([a, losses])[:, ~near]
    sums = np.stack([np.bincount(place, weights=row, minlength=keys.size) for row in rows], axis=1)
    return float(least.sum()), np.flatnonzero(near) + lo, keys, sums.astype(np.float64), number.astype(np.int64)


def _classified(a: Array, losses: Array, tilt: Array) -> tuple[Array, NDArray[np.int64], Array]:
    """Margin, cell key and least tilted loss of outcomes, each summed in the order of the compiled kernel."""
    m, places = losses.shape[0], np.arange(a.shape[1])
    tilted = losses + tilt[:, :1] * a[:1]
    mass = a[0].copy()
    for j in range(1, a.shape[0]):
        tilted += tilt[:, j : j + 1] * a[j]
        mass += a[j]
    best = np.argmin(tilted, axis=0)
    least = tilted[best, places]
    tilted[best, places] = np.inf
    second = np.argmin(tilted, axis=0)
    margin = (tilted[second, places] - least) / mass
    shell = (margin.view(np.int64) >> _SHIFT) - _BOTTOM
    return margin, (best * m + second) * SHELLS + np.clip(shell, 0, SHELLS - 1), least


@cache
def _compile_scan(n: int, m: int) -> Any:
    import numba

    shells, bottom, shift = SHELLS, _BOTTOM, _SHIFT

    @numba.njit(nogil=True, cache=True)
    def chunk(p_xz, loss, tilt, threshold, lo, hi, listed, cells, counts):  # type: ignore[no-untyped-def]
        found = 0
        total = 0.0
        for l in range(lo, hi):  # noqa: E741 (the symbol of the theory)
            mass = 0.0
            for j in range(n):
                mass += p_xz[j, l]
            least = np.inf
            runner_up = np.inf
            best = 0
            second = 0
            for i in range(m):
                value = loss[i, l]
                for j in range(n):
                    value += tilt[i, j] * p_xz[j, l]
                if value < least:
                    runner_up = least
                    second = best
                    least = value
                    best = i
                elif value < runner_up:
                    runner_up = value
                    second = i
            total += least
            margin = (runner_up - least) / mass
            if margin <= threshold:
                listed[found] = l
                found += 1
            else:
                shell = int(np.float64(margin).view(np.int64) >> shift) - bottom
                key = (best * m + second) * shells + min(max(shell, 0), shells - 1)
                counts[key] += 1
                for j in range(n):
                    cells[key, j] += p_xz[j, l]
                for i in range(m):
                    cells[key, n + i] += loss[i, l]
        return total, found

    return chunk
