"""The pass over the outcomes that large problems need, in NumPy and, where numba is installed, compiled.

    scan     for every outcome: which guess is best under a tilt, by how much (the margin), the sum of the best tilted losses
             (the dual bound); outcomes with a margin up to a threshold are listed, all others are summed into cells
    member   the same pass, remembering where each outcome went
    best_guesses  the best guess of every outcome, as an estimator

Both versions visit outcomes in the same chunks, keep one partial sum per chunk and add the partial sums in order, so results
do not depend on the number of threads; the labels, margins and lists are the same in both, the sums agree to rounding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.backends.tilt.cells import SHELLS, Part, classified
from discreet.backends.tilt.strips import STRIP, compiled_scan
from discreet.problems.blocks import Blocks, Chunk, in_order
from discreet.problems.numerics.compiled import compiled_available
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.tilted_losses import in_order_losses

__all__ = ["Groups", "Scan", "best_guesses", "member", "scan", "use_compiled"]

_LOADED_FROM = 2_000_000  # outcomes from which loading numba pays for one solve
_LOADING = 1.0  # seconds: what loading numba and kernels compiled before takes, about
_COMPILED_FROM = 1 << 14  # outcomes from which a compiled kernel pays, once it exists
_MOST_GROUPS = 1 << 17

_Index = NDArray[np.intp]
_spent: dict[tuple[int, int], float] = {}  # seconds of this process in NumPy passes that kernels would have made, by (n, m)


@dataclass(frozen=True, eq=False)
class Groups:
    """What groups of consecutive outcomes weigh; a group ends where its chunk ends.

    size     outcomes in a group, the last one of a chunk excepted
    sums     for every chunk: mass and Σ min_i tilted loss of its groups     [2, G] each
    """

    size: int
    sums: list[Array]


@dataclass(frozen=True, eq=False)
class Scan:
    """What one pass found.

    total      Σ_l min_i tilted loss
    threshold  the margin up to which outcomes are listed; less than was asked for if they would be too many
    far        the margin from which on outcomes are told apart by their best guess alone
    listed     indices of the outcomes with a margin ≤ threshold, increasing          [K]
    columns    their (p_xz, loss)                                                      [n + m, K]
    cells      sums of (p_xz, loss) of all others, empty cells left out                [n + m, cells]
    counts     how many outcomes are in each cell                                      [cells]
    keys       which cells these are, see `cells`                                      [cells]
    groups     what consecutive outcomes weigh
    """

    total: float
    threshold: float
    far: float
    listed: _Index
    columns: Array
    cells: Array
    counts: NDArray[np.int64]
    keys: NDArray[np.int64]
    groups: Groups


def scan(
    blocks: Blocks,
    tilt: Array,
    threshold: float,
    *,
    far: float = math.inf,
    most: int | None = None,
    grouped: bool = False,
    threads: int = 0,
    compiled: bool | None = None,
) -> Scan:
    """One pass under a *feasible* tilt [m, n]. Outcomes of no mass are passed over.

    far: ≥ 0; outcomes of at least that margin, and beyond the threshold, are told apart by their best guess only, which
    makes visiting them cheap. most: how many may be listed; if they are more, those of the largest margins, and of margins
    equal to theirs, go to the cells. grouped: whether to weigh groups. threads: 0 = all cores.
    """
    far = max(far, threshold)
    gathered = _Gathered(blocks.n, blocks.m, tilt, threshold, far, blocks.N if most is None else most)
    fast = use_compiled(blocks, compiled)
    kernel = compiled_scan(blocks.n, blocks.m) if fast else _scan_chunk
    started = time.perf_counter()
    group = _group_size(blocks.N) if grouped else 0

    def work(chunk: Chunk) -> tuple[Part, _Index, Array]:
        p_xz, loss = chunk.read()
        part = kernel(p_xz, loss, tilt, threshold, far, group)
        return part, part.near + chunk.start, np.concatenate([p_xz[:, part.near], loss[:, part.near]])

    for found in in_order(blocks.chunks(), threads, work):
        gathered.add(*found)
    if not fast and blocks.N >= _COMPILED_FROM:
        sizes = blocks.n, blocks.m
        _spent[sizes] = _spent.get(sizes, 0.0) + time.perf_counter() - started
    return gathered.scan(group)


class _Gathered:
    """The parts of a pass put together; never more than `most` outcomes listed, and those of one chunk."""

    def __init__(self, n: int, m: int, tilt: Array, threshold: float, far: float, most: int) -> None:
        self._n, self._tilt, self._far = n, tilt, far
        self._asked = self._threshold = threshold
        self._most = most
        self._cells, self._counts = np.zeros((m * m * SHELLS, n + m)), np.zeros(m * m * SHELLS, dtype=np.int64)
        self._totals: list[float] = []
        self._listed: list[_Index] = []
        self._columns: list[Array] = []
        self._groups: list[Array] = []
        self._number = 0

    def add(self, part: Part, listed: _Index, columns: Array) -> None:
        self._totals.append(part.total)
        self._groups.append(part.groups)
        self._cells[part.keys] += part.sums
        self._counts[part.keys] += part.counts
        if listed.size:
            self._listed.append(listed)
            self._columns.append(columns)
            self._number += listed.size
        if self._number > 2 * self._most:  # not at every chunk
            self._thin()

    def scan(self, group: int) -> Scan:
        if self._number > self._most or self._threshold < self._asked:
            self._thin()
        listed, columns = self._joined()
        keys = np.flatnonzero(self._counts)
        return Scan(
            math.fsum(self._totals), self._threshold, self._far, listed, columns, self._cells[keys].T, self._counts[keys],
            keys, Groups(group, self._groups),
        )  # fmt: skip

    def _joined(self) -> tuple[_Index, Array]:
        nothing = np.zeros((self._cells.shape[1], 0))
        return np.concatenate([np.zeros(0, np.intp), *self._listed]), np.concatenate([nothing, *self._columns], axis=1)

    def _thin(self) -> None:
        """Lower the threshold below the margin of the first that is too many, and sum what it no longer lists."""
        listed, columns = self._joined()
        margin, key, _ = classified(columns[: self._n], columns[self._n :], self._tilt)
        excess = float(np.partition(margin, self._most)[self._most]) if listed.size > self._most else math.inf
        self._threshold = min(self._threshold, math.nextafter(excess, -math.inf))
        kept = margin <= self._threshold
        keys, place, number = np.unique(key[~kept], return_inverse=True, return_counts=True)
        for row, values in enumerate(columns[:, ~kept]):  # summed among themselves first, so that large cells do not drift
            self._cells[keys, row] += np.bincount(place, weights=values, minlength=keys.size)
        self._counts[keys] += number
        self._listed, self._columns = [listed[kept]], [columns[:, kept]]
        self._number = int(kept.sum())


def member(blocks: Blocks, tilt: Array, found: Scan, *, threads: int = 0) -> _Index:
    """[N] the place of every outcome in (found.listed, found.cells): the pass of `scan`, remembering where each went.

    Outcomes of no mass are given place 0.
    """
    place = np.zeros(blocks.m**2 * SHELLS, dtype=np.intp)
    place[found.keys] = found.listed.size + np.arange(found.keys.size)
    group = np.zeros(blocks.N, dtype=np.intp)

    def work(chunk: Chunk) -> None:
        margin, key, _ = classified(*chunk.read(), tilt, found.far)
        group[chunk.start : chunk.start + chunk.count] = np.where(margin > found.threshold, place[key], 0)

    for _ in in_order(blocks.chunks(), threads, work):
        continue
    group[found.listed] = np.arange(found.listed.size)
    return group


def best_guesses(blocks: Blocks, tilt: Array, *, threads: int = 0) -> Array:
    """The estimator [m, N] that is certain of the best guess under a tilt [m, n], the first of equals."""
    estimator = np.zeros((blocks.m, blocks.N))

    def work(chunk: Chunk) -> None:
        losses = in_order_losses(*chunk.read(), tilt)
        here = estimator[:, chunk.start : chunk.start + chunk.count]
        if blocks.m == 2:  # by comparison, several times as fast
            np.less(losses[1], losses[0], out=here[1])
            np.subtract(1.0, here[1], out=here[0])
        else:
            here[np.argmin(losses, axis=0), np.arange(chunk.count)] = 1.0

    for _ in in_order(blocks.chunks(), threads, work):
        continue
    return estimator


def use_compiled(blocks: Blocks, wanted: bool | None) -> bool:
    """Compiled where asked for; otherwise where it pays: loading numba takes as long as a few passes over 10^7 outcomes.

    Fewer outcomes are visited by kernels that are loaded already, and where passes in NumPy have taken this process as long
    as loading them takes: whatever else is to come, that costs at most twice what the better choice would have.
    """
    if wanted is not None:
        return wanted
    sizes = blocks.n, blocks.m
    due = compiled_scan.ready(*sizes) or _spent.get(sizes, 0.0) >= _LOADING
    return blocks.N >= (_COMPILED_FROM if due else _LOADED_FROM) and compiled_available()


def _group_size(outcomes: int) -> int:
    """So many strips that there are not too many groups, whatever N is."""
    strips = -(-outcomes // STRIP)
    return STRIP * (1 << max(0, math.ceil(math.log2(max(1.0, strips / _MOST_GROUPS)))))


_Kernel = Callable[[Array, Array, Array, float, float, int], Part]


def _scan_chunk(p_xz: Array, loss: Array, tilt: Array, threshold: float, far: float, group: int) -> Part:
    """The pass over one chunk in NumPy."""
    margin, key, least = classified(p_xz, loss, tilt, far)
    massless = np.isnan(margin)
    near, rows = np.flatnonzero(margin <= threshold), [*p_xz, *loss]
    if near.size or massless.any():
        least, summed = np.where(massless, 0.0, least), np.flatnonzero(margin > threshold)
        key, rows = key[summed], [row[summed] for row in rows]
    cells = loss.shape[0] ** 2 * SHELLS
    if cells <= key.size:  # counting in place is several times as fast as sorting
        everywhere = np.bincount(key, minlength=cells)
        keys, place = np.flatnonzero(everywhere), key
        number = everywhere[keys]
        sums = np.stack([np.bincount(place, weights=row, minlength=cells)[keys] for row in rows], axis=1)
    else:
        keys, place, number = np.unique(key, return_inverse=True, return_counts=True)
        sums = np.stack([np.bincount(place, weights=row, minlength=keys.size) for row in rows], axis=1)
    groups = np.zeros((2, 0))
    if group:
        starts = np.arange(0, least.size, group)
        groups = np.stack([np.add.reduceat(p_xz.sum(axis=0), starts), np.add.reduceat(least, starts)])
    return Part(float(least.sum()), near, keys, sums.astype(np.float64), number.astype(np.int64), groups)
