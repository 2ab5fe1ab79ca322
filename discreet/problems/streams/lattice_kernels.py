"""Rows of a count lattice: their ranges and probabilities, in NumPy and compiled by numba.

A row is a vector of the first K − 2 counts; the remainder R is shared by the last two counts. Rows
are numbered in lexicographic order, and `unrank` returns a row from its number by the combinatorial
number system. `windows` returns the interval of the second to last count that is kept; `generate`
fills (p_xz, loss) and adds up the probabilities. The compiled version evaluates one exponential in
64 outcomes.

Source: D. E. Knuth, *The Art of Computer Programming* 4A, §7.2.1.3 (combinatorial number system).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.lazy import cached_property
from discreet.numerics.compiled import jit, once
from discreet.numerics.double_double import Array
from discreet.problems.sensors.counts import lattice_size

# Probabilities below e to this power become 0: subnormal numbers are inexact and slow.
_LOG_LEAST = -708.0

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive rows that begin with number `first`; the second to last count is ≥ low in the
    first row and < high in the last.

    They are `count` consecutive kept outcomes that begin with number `start`.
    """

    first: int
    rows: int
    start: int
    count: int
    low: int
    high: int


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables from which the probabilities of all count vectors are computed.

    pairs      the (x_j, y_i) of positive probability [pairs, 2]
    shape      (values of X, values of Y)
    losses     loss of each guess for each value of Y [values of Y, m]
    log        [pairs, K, M + 1] terms whose sum over k, plus `top`, is log Pr(c given the pair)
    deviance   [pairs, K, M + 1] of counts c from M f_k, or [pairs, K, 0] without truncation
    limit      T: outcomes with Σ_k D > T under every pair are left out; inf without truncation
    inverse    [M + 1] 1/c, 0 at c = 0
    up, down   [pairs] q_{K−1}/q_K and its inverse, 0 where not finite
    share      [pairs] q_{K−1}/(q_{K−1} + q_K)
    """

    sensors: int
    bins: int
    pairs: NDArray[np.intp]
    shape: tuple[int, int]
    losses: Array
    log: Array
    top: float
    deviance: Array
    limit: float
    inverse: Array
    up: Array
    down: Array
    share: Array

    @cached_property
    def _ways_to_distribute(self) -> list[Index]:
        """For p = 0 … K − 1 parts, the numbers of ways to distribute t = 0 … M among them."""
        largest = self.sensors
        return [
            np.array(
                [lattice_size(t, parts) if parts else int(t == 0) for t in range(largest + 1)],
                dtype=np.int64,
            )
            for parts in range(self.bins)
        ]

    def unrank(self, ranks: Index) -> Index:
        """Return the rows [·, K − 1] (their K − 2 counts and the remainder) with the given
        numbers.
        """
        row = np.empty((ranks.size, self.bins - 1), dtype=np.int64)
        left = np.full(ranks.size, self.sensors, dtype=np.int64)
        rank = ranks.astype(np.int64)
        for k in range(self.bins - 2):
            ways = self._ways_to_distribute[self.bins - 1 - k]
            # The least remainder for which the rank is below the number of ways.
            rest = np.searchsorted(ways, ways[left] - rank)
            row[:, k] = left - rest
            rank = rank - (ways[left] - ways[rest])
            left = rest
        row[:, -1] = left
        return row


# -- NumPy
# --------------------------------------------------------------------------------------------------


def windows(tables: Tables, row: Index) -> tuple[Index, Index]:
    """Return [low, high) of the second to last count that is kept, for rows [·, K − 1]; empty if
    the whole row is left out.
    """
    left = row[:, -1]
    if np.isinf(tables.limit):
        return np.zeros_like(left), left + 1
    low = left + 1
    high = np.zeros_like(left)
    for table, share in zip(tables.deviance, tables.share, strict=True):
        own_low, own_high = _interval(
            _before(table, row), table[-2], table[-1], left, float(share), tables.limit
        )
        low = np.minimum(low, own_low)
        high = np.maximum(high, own_high)
    return np.minimum(low, high), high


def _before(table: Array, row: Index) -> Array:
    """Return the sum of the terms of the counts that are fixed in a row, added in their order."""
    total = np.zeros(len(row))
    for k in range(row.shape[1] - 1):
        total += table[k][row[:, k]]
    return total


def _interval(
    before: Array, a: Array, b: Array, left: Index, share: float, limit: float
) -> tuple[Index, Index]:
    """Return the interval where the convex function before + a[c] + b[left − c] is at most limit;
    [left + 1, 0) if it is empty.
    """

    def inside(c: Index) -> NDArray[np.bool_]:
        return np.asarray((before + a[c]) + b[left - c] <= limit)

    def outermost(outside: Index) -> Index:
        """Return the last count inside the interval between `top` and a count outside."""
        last = top.copy()
        while (open_ := kept & (np.abs(outside - last) > 1)).any():
            middle = (last + outside) // 2
            good = inside(np.clip(middle, 0, left))
            last = np.where(open_ & good, middle, last)
            outside = np.where(open_ & ~good, middle, outside)
        return last

    near = np.minimum((left * share).astype(np.int64), left)
    top = np.where(inside(near), near, np.minimum(near + 1, left))
    kept = inside(top)
    return np.where(kept, outermost(np.full_like(left, -1)), left + 1), np.where(
        kept, outermost(left + 1) + 1, 0
    )


def _rows(tables: Tables, run: Run) -> tuple[Index, Index, Index]:
    """Return the rows [·, K − 1] of a run, and [start, stop) of the second to last count in
    each.
    """
    row = tables.unrank(run.first + np.arange(run.rows))
    low, high = windows(tables, row)
    low[0] = max(low[0], run.low)
    high[-1] = min(high[-1], run.high)
    return row, low, high


def generate(
    tables: Tables, weights: Array, run: Run, p_xz: Array | None, loss: Array | None
) -> Array:
    """Compute the probabilities times weights [pairs] of the outcomes of a run.

    Fills p_xz [n, ·] and loss [m, ·] if given, and returns the sums [pairs].
    """
    row, start, stop = _rows(tables, run)
    lengths = np.maximum(stop - start, 0)
    place = np.repeat(np.arange(run.rows), lengths)
    count = np.arange(place.size) - np.repeat(np.cumsum(lengths) - lengths, lengths) + start[place]
    rest = row[place, -1] - count
    sums = np.empty(len(tables.pairs))
    joint = np.zeros((*tables.shape, place.size if p_xz is not None else 0))
    for pair, (j, i) in enumerate(tables.pairs):
        table = tables.log[pair]
        log = (tables.top + _before(table, row))[place] + table[-2][count] + table[-1][rest]
        mass = np.where(log < _LOG_LEAST, 0.0, np.exp(log)) * weights[pair]
        sums[pair] = mass.sum()
        if joint.size:
            joint[j, i] = mass
    if p_xz is not None and loss is not None:
        p_xz[:] = joint.sum(axis=1)
        loss[:] = tables.losses.T @ joint.sum(axis=0)
    return sums


# -- numba
# --------------------------------------------------------------------------------------------------


def compiled_generate(
    tables: Tables, weights: Array, run: Run, p_xz: Array | None, loss: Array | None
) -> Array:
    """Do the same as `generate`, compiled."""
    sums = np.zeros(len(tables.pairs))
    nothing = np.empty((0, 0))
    n, kinds = tables.shape
    law = tables.log, tables.top, tables.inverse, tables.up, tables.down, tables.share
    place = tables.pairs[:, 0] * kinds + tables.pairs[:, 1]
    filled = (nothing if array is None else array for array in (p_xz, loss))
    kernel = _generator(n, kinds, tables.losses.shape[1])
    kernel(*_rows(tables, run), *law, place, weights, tables.losses, *filled, sums)
    return sums


@once
def _generator(n: int, kinds: int, m: int) -> Callable[..., None]:
    """Return the kernel for n private values, `kinds` values of Y and m guesses, with loops of
    constant length.
    """
    # Outcomes of a row between two exponentials; limits the rounding error that ratios accumulate.
    segment = 64
    least = _LOG_LEAST

    @jit
    def run(  # type: ignore[no-untyped-def]
        rows,
        lows,
        highs,
        log,
        top,
        inverse,
        up,
        down,
        share,
        place,
        weights,
        losses,
        p_xz,
        loss,
        sums,
    ):
        pairs = share.size
        bins = rows.shape[1] + 1
        mass = np.zeros((n * kinds, segment))  # rows of pairs of probability 0 stay 0
        base = np.empty(pairs)
        correction = np.zeros(pairs)
        storing = p_xz.size > 0
        at = 0
        for number in range(lows.size):
            row = rows[number]
            left = row[bins - 2]
            low = lows[number]
            high = highs[number]
            if low < high:
                for pair in range(pairs):
                    value = top
                    for k in range(bins - 2):
                        value += log[pair, k, row[k]]
                    base[pair] = value
            start = low // segment * segment
            while start < high:
                end = min(start + segment - 1, left)
                for pair in range(pairs):
                    # outward from the most probable outcome of the segment
                    mode = min(int((left + 1) * share[pair]), left)
                    begin = min(max(mode, start), end)
                    slot = place[pair]
                    log_peak = (base[pair] + log[pair, bins - 2, begin]) + log[
                        pair, bins - 1, left - begin
                    ]
                    if log_peak < least:
                        for k in range(end - start + 1):
                            mass[slot, k] = 0.0
                        continue
                    peak = np.exp(log_peak) * weights[pair]
                    mass[slot, begin - start] = peak
                    value = peak
                    ratio = up[pair]
                    for c in range(begin, end):
                        value *= ((left - c) * ratio) * inverse[c + 1]
                        mass[slot, c + 1 - start] = value
                    value = peak
                    ratio = down[pair]
                    for c in range(begin, start, -1):
                        value *= (c * ratio) * inverse[left - c + 1]
                        mass[slot, c - 1 - start] = value
                skip = max(low - start, 0)
                size = min(high, end + 1) - max(low, start)
                if storing:
                    for j in range(n):
                        for k in range(size):
                            value = mass[j * kinds, skip + k]
                            for kind in range(1, kinds):
                                value += mass[j * kinds + kind, skip + k]
                            p_xz[j, at + k] = value
                    for guess in range(m):
                        for k in range(size):
                            value = 0.0
                            for kind in range(kinds):
                                part = mass[kind, skip + k]
                                for j in range(1, n):
                                    part += mass[j * kinds + kind, skip + k]
                                value += losses[kind, guess] * part
                            loss[guess, at + k] = value
                else:
                    for pair in range(pairs):
                        part = -correction[pair]
                        for k in range(skip, skip + size):
                            part += mass[place[pair], k]
                        total = sums[pair] + part
                        correction[pair] = (total - sums[pair]) - part
                        sums[pair] = total
                at += size
                start += segment

    compiled: Callable[..., None] = run
    return compiled
