"""The passes over the outcomes that large problems need, in NumPy and, where numba is installed, compiled.

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
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.problems.accurate import Array
from discreet.problems.blocks import Blocks, Chunk, in_order
from discreet.problems.compiled import compiled_available, jit, once

__all__ = ["SHELLS", "Sample", "Scan", "classified", "member", "sample", "scan", "shell_top"]

_PER_OCTAVE_BITS = 3  # 8 shells per octave
_OCTAVES = 44  # margins from 2^-42 to 4; what is smaller or larger shares the last shell on its side
SHELLS = _OCTAVES << _PER_OCTAVE_BITS
_BOTTOM = (1023 - 42) << _PER_OCTAVE_BITS
_SHIFT = 52 - _PER_OCTAVE_BITS
_LOADED_FROM = 2_000_000  # outcomes from which loading numba pays
_COMPILED_FROM = 1 << 16  # outcomes from which a compiled kernel pays, once it exists

_Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Scan:
    """What one pass found.

    total    Σ_l min_i tilted loss
    listed   indices of the outcomes with a margin ≤ threshold, increasing          [K]
    columns  their (p_xz, loss)                                                      [n + m, K]
    cells    sums of (p_xz, loss) of all others, empty cells left out                [n + m, cells]
    counts   how many outcomes are in each cell                                      [cells]
    keys     (best · m + second best) · SHELLS + shell                               [cells]
    """

    total: float
    listed: _Index
    columns: Array
    cells: Array
    counts: NDArray[np.int64]
    keys: NDArray[np.int64]


def scan(blocks: Blocks, tilt: Array, threshold: float, *, threads: int = 0, compiled: bool | None = None) -> Scan:
    """One pass under a *feasible* tilt [m, n]. Outcomes of no mass are passed over. threads: 0 = all cores."""
    n, m = blocks.n, blocks.m
    kernel = _scan_kernel(n, m, _use_compiled(blocks.N, compiled))
    cells, counts = np.zeros((m * m * SHELLS, n + m)), np.zeros(m * m * SHELLS, dtype=np.int64)
    totals: list[float] = []
    listed: list[_Index] = []
    columns: list[Array] = []

    def work(chunk: Chunk) -> _Part:
        p_xz, loss = chunk.read()
        total, found, keys, sums, number = kernel(p_xz, loss, tilt, threshold)
        return total, found + chunk.start, np.concatenate([p_xz[:, found], loss[:, found]]), keys, sums, number

    for total, found, rows, keys, sums, number in in_order(blocks.chunks(), threads, work):
        totals.append(total)
        listed.append(found)
        columns.append(rows)
        cells[keys] += sums
        counts[keys] += number
    keys = np.flatnonzero(counts)
    return Scan(
        math.fsum(totals), np.concatenate(listed), np.concatenate(columns, axis=1), cells[keys].T, counts[keys], keys
    )


def member(blocks: Blocks, tilt: Array, threshold: float, found: Scan, *, threads: int = 0) -> _Index:
    """[N] the place of every outcome in (found.listed, found.cells): the pass of `scan`, remembering where each went.

    Outcomes of no mass are given place 0.
    """
    place = np.zeros(blocks.m**2 * SHELLS, dtype=np.intp)
    place[found.keys] = found.listed.size + np.arange(found.keys.size)
    group = np.zeros(blocks.N, dtype=np.intp)

    def work(chunk: Chunk) -> None:
        margin, key, _ = classified(*chunk.read(), tilt)
        group[chunk.start : chunk.start + chunk.count] = np.where(margin > threshold, place[key], 0)

    for _ in in_order(blocks.chunks(), threads, work):
        continue
    group[found.listed] = np.arange(found.listed.size)
    return group


def shell_top(shell: int) -> float:
    """The margin at which a shell ends."""
    bits = np.array([(min(shell, SHELLS - 1) + 1 + _BOTTOM) << _SHIFT], dtype=np.int64)
    return float(bits.view(np.float64)[0])


@dataclass(frozen=True, eq=False)
class Sample:
    """Outcomes drawn in proportion to a weight.

    columns  (p_xz, loss) of the distinct outcomes drawn, scaled so that their sums estimate the sums over all   [n + m, K]
    spread   columns of an even subsample by index, for quantiles over outcomes                                   [n + m, K']
    """

    columns: Array
    spread: Array


def sample(blocks: Blocks, count: int, even: int, *, doubt: float, threads: int = 0) -> Sample:
    """About `count` systematic draws, half by mass and half by the Bayes rule's error, and `even` by index.

    doubt: the Bayes rule's error probability (0 if unknown: all draws by mass). The draws are systematic in every chunk,
    evenly spaced in cumulative weight, with at least half a draw's chance for each chunk rounded up.
    """
    stride = max(1, blocks.N // even)
    whole = 2.0 if doubt > 0.0 else 1.0

    def work(chunk: Chunk) -> tuple[Array, Array]:
        p_xz, loss = chunk.read()
        weights = p_xz.sum(axis=0)
        if doubt > 0.0:
            weights = weights + loss.min(axis=0) / doubt
        cumulative = np.cumsum(weights)
        draws = math.ceil(count * float(cumulative[-1]) / whole)
        if draws == 0:
            return np.empty((blocks.n + blocks.m, 0)), np.empty((blocks.n + blocks.m, 0))
        drawn = np.searchsorted(cumulative, (np.arange(draws) + 0.5) * (cumulative[-1] / draws))
        index, times = np.unique(np.minimum(drawn, chunk.count - 1), return_counts=True)
        rows = np.concatenate([p_xz[:, index], loss[:, index]])
        first = -chunk.start % stride
        spread = np.concatenate([p_xz[:, first::stride], loss[:, first::stride]])
        return rows * (times * (cumulative[-1] / draws) / weights[index]), spread

    parts = list(in_order(blocks.chunks(), threads, work))
    return Sample(np.concatenate([p[0] for p in parts], axis=1), np.concatenate([p[1] for p in parts], axis=1))


def _use_compiled(outcomes: int, wanted: bool | None) -> bool:
    """Compiled where asked for; otherwise where it pays: loading numba takes as long as a few passes over 10^7 outcomes."""
    if wanted is not None:
        return wanted
    loaded = "numba" in sys.modules
    return outcomes >= (_COMPILED_FROM if loaded else _LOADED_FROM) and compiled_available()


_Kernel = Callable[[Array, Array, Array, float], tuple[float, _Index, NDArray[np.int64], Array, NDArray[np.int64]]]
_Part = tuple[float, _Index, Array, NDArray[np.int64], Array, NDArray[np.int64]]


@once
def _scan_kernel(n: int, m: int, compiled: bool) -> _Kernel:
    if not compiled:
        return _scan_chunk
    chunk = _compile_scan(n, m)

    def run(
        p_xz: Array, loss: Array, tilt: Array, threshold: float
    ) -> tuple[float, _Index, NDArray[np.int64], Array, NDArray[np.int64]]:
        listed = np.empty(p_xz.shape[1], dtype=np.intp)
        cells = np.zeros((m * m * SHELLS, n + m))
        counts = np.zeros(m * m * SHELLS, dtype=np.int64)
        total, found = chunk(p_xz, loss, tilt, threshold, listed, cells, counts)
        keys = np.flatnonzero(counts)
        return total, listed[:found], keys, cells[keys], counts[keys]

    return run


def _scan_chunk(
    p_xz: Array, loss: Array, tilt: Array, threshold: float
) -> tuple[float, _Index, NDArray[np.int64], Array, NDArray[np.int64]]:
    """The pass over one chunk in NumPy."""
    margin, key, least = classified(p_xz, loss, tilt)
    far = np.flatnonzero(margin > threshold)
    keys, place, number = np.unique(key[far], return_inverse=True, return_counts=True)
    rows = np.concatenate([p_xz, loss])[:, far]
    sums = np.stack([np.bincount(place, weights=row, minlength=keys.size) for row in rows], axis=1)
    near = np.flatnonzero(margin <= threshold)
    return float(least.sum()), near, keys, sums.astype(np.float64), number.astype(np.int64)


def classified(a: Array, losses: Array, tilt: Array) -> tuple[Array, NDArray[np.int64], Array]:
    """Margin (nan without mass), cell key and least tilted loss, each summed in the order of the compiled kernel."""
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
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # a loss may be any multiple of its outcome's mass
        margin = np.where(mass > 0.0, (tilted[second, places] - least) / mass, np.nan)
    shell = (margin.view(np.int64) >> _SHIFT) - _BOTTOM
    return margin, (best * m + second) * SHELLS + np.clip(shell, 0, SHELLS - 1), least


@once
def _compile_scan(n: int, m: int) -> Any:
    shells, bottom, shift = SHELLS, _BOTTOM, _SHIFT

    @jit
    def chunk(p_xz, loss, tilt, threshold, listed, cells, counts):  # type: ignore[no-untyped-def]
        found = 0
        total = 0.0
        for l in range(p_xz.shape[1]):  # noqa: E741 (the symbol of the theory)
            mass = 0.0
            for j in range(n):
                mass += p_xz[j, l]
            if mass == 0.0:
                continue
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
