"""Rows of a count lattice: their ranges and probabilities, in NumPy and compiled by numba.

A row is a vector of the first K − 2 counts; the remainder R is shared by the last two counts. Rows
are numbered in lexicographic order. `windows` returns the interval of the second to last count that
is kept; `generate` fills (p_xz, loss) and adds up the probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.compiled import jit, once
from discreet.numerics.double_double import Array
from discreet.problems.sensors.counts import unrank

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
    share      [pairs] q_{K−1}/(q_{K−1} + q_K)
    """

    pairs: NDArray[np.intp]
    shape: tuple[int, int]
    losses: Array
    log: Array
    top: float
    deviance: Array
    limit: float
    share: Array

    def rows(self, numbers: Index) -> Index:
        """Return the rows [·, K − 1] with these numbers: their K − 2 counts and the remainder."""
        _, bins, counts = self.log.shape
        return unrank(numbers, counts - 1, bins - 1).astype(np.int64)


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

    guess = np.minimum((left * share).astype(np.int64), left)
    top = np.where(inside(guess), guess, np.minimum(guess + 1, left))
    kept = inside(top)
    return np.where(kept, outermost(np.full_like(left, -1)), left + 1), np.where(
        kept, outermost(left + 1) + 1, 0
    )


def _rows(tables: Tables, run: Run) -> tuple[Index, Index, Index]:
    """Return the rows [·, K − 1] of a run, and [start, stop) of the second to last count in
    each.
    """
    row = tables.rows(run.first + np.arange(run.rows))
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
    place = tables.pairs[:, 0] * kinds + tables.pairs[:, 1]
    filled = (nothing if array is None else array for array in (p_xz, loss))
    kernel = _generator(n, kinds, tables.losses.shape[1])
    law = (tables.log, tables.top, place, weights, tables.losses)
    kernel(*_rows(tables, run), *law, *filled, sums)
    return sums


@once
def _generator(n: int, kinds: int, m: int) -> Callable[..., None]:
    """Return the kernel for n private values, `kinds` values of Y and m guesses, with loops of
    constant length.
    """
    least = _LOG_LEAST

    @jit
    def run(rows, lows, highs, log, top, place, weights, losses, p_xz, loss, sums):  # type: ignore[no-untyped-def]
        pairs, bins, longest = log.shape
        mass = np.zeros((n * kinds, longest))  # rows of pairs of probability 0 stay 0
        correction = np.zeros(pairs)
        at = 0
        for number in range(lows.size):
            row = rows[number]
            low = lows[number]
            size = max(highs[number] - low, 0)
            rest = row[bins - 2] - low
            for pair in range(pairs):
                base = top
                for k in range(bins - 2):
                    base += log[pair, k, row[k]]
                part = -correction[pair]
                for k in range(size):
                    value = (base + log[pair, bins - 2, low + k]) + log[pair, bins - 1, rest - k]
                    value = np.exp(value) * weights[pair] if value >= least else 0.0
                    mass[place[pair], k] = value
                    part += value
                total = sums[pair] + part
                correction[pair] = (total - sums[pair]) - part
                sums[pair] = total
            if p_xz.size > 0:
                for j in range(n):
                    for k in range(size):
                        value = mass[j * kinds, k]
                        for kind in range(1, kinds):
                            value += mass[j * kinds + kind, k]
                        p_xz[j, at + k] = value
                for guess in range(m):
                    for k in range(size):
                        value = 0.0
                        for kind in range(kinds):
                            part = mass[kind, k]
                            for j in range(1, n):
                                part += mass[j * kinds + kind, k]
                            value += losses[kind, guess] * part
                        loss[guess, at + k] = value
            at += size

    compiled: Callable[..., None] = run
    return compiled
