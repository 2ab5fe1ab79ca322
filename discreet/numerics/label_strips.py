"""Sums by label over many outcomes: one pass, compiled by numba, that the judge and the native
solver share.

Outcomes are read in strips, each copied to a buffer in which its rows are contiguous. The label of
an outcome is the first guess of least tilted loss, computed in the order in which all rules decide.
Most outcomes are *clear*: the second least loss exceeds the least by more than a limit. Only their
sums by label are kept. The few others are listed, and the caller examines them.

**Sums** are double-double. The outcomes of a strip are distributed over 2⁴ accumulators, whose low
parts collect the rounding errors of the high parts; so each loop runs over independent numbers and
is vectorised. With k = 2⁹ numbers ≥ 0 in an accumulator and S their sum, its low part adds up k
errors of at most uS, u = 2⁻⁵³, and its own error is less than k²u²S = 2⁻⁸⁸ S. After 2⁶ strips the
16 accumulators are added up, which costs less than 2⁻⁹² S, and added to the total, 2⁻¹⁰⁴ of it. So
the sums of up to 2³⁰ outcomes have a relative error below 2⁻⁸⁶, even for a rare label.

A later strip is prefetched meanwhile, row by row, because a processor drops prefetches that arrive
all at once. Indices are unsigned, so that none is interpreted as counted from the end.

Source: T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26
(2005), algorithm Sum2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.compiled import compiled_available, flat, jit, once, prefetch
from discreet.numerics.double_double import Array, DoubleDouble

STRIP = 128
"""Outcomes in a strip: its buffers stay in the first-level cache."""

_PLACES = 16  # accumulators of one sum
_index = np.uint64


@dataclass(frozen=True, eq=False)
class StripSums:
    """The result of a pass over outcomes.

    sums     sums of (p_xz, loss) over the clear outcomes of each label   double-double [m, n + m]
    counts   number of clear outcomes of each label                       [m]
    unclear  indices of the other outcomes, increasing                    [K]
    weights  mass and least tilted loss of `group` consecutive outcomes   [2, G]
    """

    sums: DoubleDouble
    counts: NDArray[np.int64]
    unclear: NDArray[np.intp]
    weights: Array


def strip_sums(
    p_xz: Array,
    loss: Array,
    tilt: Array,
    per_mass: float,
    per_loss: float = 0.0,
    tiny: float = 0.0,
    group: int = 0,
) -> StripSums:
    """Sum the clear outcomes of p_xz [n, ·], loss [m, ·] by label under a tilt [m, n]. This needs
    numba.

    An outcome of mass w > 0 with least tilted loss v is clear if its second least tilted loss is at
    least v + per_mass·w + per_loss·|v| + tiny, and all entries of its strip are ≥ 0. group: a
    multiple of `STRIP`, or 0 for no weights.
    """
    (m, n) = tilt.shape
    count = p_xz.shape[1]
    sums = np.zeros((m * (n + m), 2))
    counts = np.zeros(m, dtype=np.int64)
    unclear = np.empty(count, dtype=np.intp)
    weights = np.zeros((2, -(-count // group) if group else 0))
    limit = per_mass, per_loss, tiny
    rows = (*flat(p_xz), *flat(loss))
    tilt = np.array(tilt, order="C")  # another memory order would be compiled again
    unclear_count = _kernel()(count, *rows, tilt, *limit, group, sums, counts, unclear, weights)
    high, low = np.moveaxis(sums.reshape(m, n + m, 2), 2, 0)
    return StripSums((high, low), counts, unclear[:unclear_count].copy(), weights)


def compiled_pays(outcomes: int) -> bool:
    """Return True if a compiled pass is faster. Loading numba takes about a second, so the first
    pass needs about two million outcomes.
    """
    return outcomes >= (1 << 14 if _kernel.asked() else 2_000_000) and compiled_available()


@once
def _kernel() -> Any:
    """Return the compiled pass, for rows in the form of `flat`. The pass returns the number of
    outcomes that are not clear.
    """
    inlined = (
        jit(each, inline=True)
        for each in (_fetch, _tilted_losses, _decide, _clear, _number_of, _add)
    )
    fetch, tilted, decide, clear, number_of, add = inlined
    plain = jit(_plain, reorder=True)
    gather = jit(_gather)
    ask = prefetch()
    tile = 64
    line = 8
    ahead = 2 * STRIP  # a cache line holds eight numbers; prefetch two strips in advance

    def run(  # type: ignore[no-untyped-def]
        count,
        p_xz,
        p_step,
        loss,
        l_step,
        tilt,
        per_mass,
        per_loss,
        tiny,
        group,
        sums,
        counts,
        unclear,
        weights,
    ):
        m, n = tilt.shape
        data = np.empty((n + m) * STRIP)
        value = np.empty(m * STRIP)
        label = np.empty(STRIP, dtype=np.int64)
        mass = np.empty(STRIP)
        least = np.empty(STRIP)
        second = np.empty(STRIP)
        high = np.zeros(sums.shape[0] * _PLACES)
        low = np.zeros(sums.shape[0] * _PLACES)
        here = np.zeros(m, dtype=np.int64)
        unclear_count = 0
        for start in range(0, count, STRIP):
            size = min(STRIP, count - start)
            wrong = 0
            for j in range(n):
                wrong += fetch(p_xz, j * p_step + start, size, data, j * STRIP)
            for i in range(m):
                wrong += fetch(loss, i * l_step + start, size, data, (n + i) * STRIP)
            tilted(n, m, data, tilt, value, mass)
            decide(m, value, label, least, second)
            if group > 0:
                weights[0, start // group] += plain(mass)
                weights[1, start // group] += plain(least)
            sure = clear(
                m, mass, label, least, second, np.inf if wrong else per_mass, per_loss, tiny
            )
            for i in range(m):
                here[i] = number_of(label, i)
                counts[i] += here[i]
            for row in range(n + m):
                for k in range(start + ahead, start + ahead + STRIP, line):
                    if row < n:
                        ask(p_xz, _index(row * p_step + k))
                    else:
                        ask(loss, _index((row - n) * l_step + k))
                for i in range(m):
                    if here[i] > 0:
                        add(data, row * STRIP, label, i, high, low, i * (n + m) + row)
            if sure < size:
                for place in range(size):
                    if label[place] == m:
                        unclear[unclear_count] = start + place
                        unclear_count += 1
            if start // STRIP % tile == tile - 1:
                gather(high, low, sums)
        gather(high, low, sums)
        return unclear_count

    return jit(run)


def _fetch(values, start, size, data, at):  # type: ignore[no-untyped-def]
    """Copy a row into the strip and return the number of entries that are not ≥ 0."""
    wrong = 0
    for place in range(size):
        k = _index(place)
        value = values[_index(start) + k]
        data[_index(at) + k] = value
        wrong += 0 if value >= 0.0 else 1
    for place in range(size, STRIP):
        data[at + place] = 0.0
    return wrong


def _tilted_losses(n, m, data, tilt, value, mass):  # type: ignore[no-untyped-def]
    """Set value[i] = (L_i + t_i1 a_1) + t_i2 a_2 + …, each operation rounded, and mass = Σ_j
    a_j.
    """
    for i in range(m):
        at = _index(i * STRIP)
        t = tilt[i, 0]
        for place in range(STRIP):
            k = _index(place)
            value[at + k] = data[_index((n + i) * STRIP) + k] + t * data[k]
        for j in range(1, n):
            t = tilt[i, j]
            for place in range(STRIP):
                k = _index(place)
                value[at + k] += t * data[_index(j * STRIP) + k]
    for place in range(STRIP):
        k = _index(place)
        mass[k] = data[k]
    for j in range(1, n):
        for place in range(STRIP):
            k = _index(place)
            mass[k] += data[_index(j * STRIP) + k]


def _plain(values):  # type: ignore[no-untyped-def]
    """Return the sum of a row; the compiler may reorder it."""
    total = 0.0
    for place in range(STRIP):
        total += values[_index(place)]
    return total


def _decide(m, value, label, least, second):  # type: ignore[no-untyped-def]
    """For each place, find the first guess of least tilted loss, that loss, and the least loss of
    the other guesses.
    """
    for place in range(STRIP):
        k = _index(place)
        label[k] = 0
        least[k] = value[k]
        second[k] = np.inf
    for i in range(1, m):
        for place in range(STRIP):
            k = _index(place)
            mine = value[_index(i * STRIP) + k]
            best = least[k]
            other = mine if mine > best else best
            second[k] = other if other < second[k] else second[k]
            label[k] = i if mine < best else label[k]
            least[k] = mine if mine < best else best


def _clear(m, mass, label, least, second, per_mass, per_loss, tiny):  # type: ignore[no-untyped-def]
    """Return the number of clear outcomes of the strip, and give the other outcomes the label m."""
    sure_rows = 0
    for place in range(STRIP):
        k = _index(place)
        limit = per_mass * mass[k] + (per_loss * abs(least[k]) + tiny)
        sure = (second[k] - least[k] >= limit) & (mass[k] > 0.0) & (limit < np.inf)
        label[k] = label[k] if sure else m
        sure_rows += 1 if sure else 0
    return sure_rows


def _number_of(label, own):  # type: ignore[no-untyped-def]
    """Return the number of outcomes of the strip with a label."""
    count = 0
    for place in range(STRIP):
        count += 1 if label[_index(place)] == own else 0
    return count


def _add(data, start, label, own, high, low, s):  # type: ignore[no-untyped-def]
    """Add the entries of a row with one label to the accumulators of sum s."""
    for place in range(_PLACES):
        k = _index(place)
        at = _index(s * _PLACES) + k
        total = high[at]
        rest = low[at]
        for row in range(STRIP // _PLACES):
            here = _index(row * _PLACES) + k
            value = data[_index(start) + here] if label[here] == own else 0.0
            added = total + value
            back = added - total
            rest += (total - (added - back)) + (value - back)
            total = added
        high[at] = total
        low[at] = rest


def _gather(high, low, sums):  # type: ignore[no-untyped-def]
    """Add the accumulators to sums [·, 2], and reset them to 0."""
    for s in range(sums.shape[0]):
        total = rest = 0.0
        for k in range(s * _PLACES, (s + 1) * _PLACES):
            added = total + high[k]
            back = added - total
            rest += ((total - (added - back)) + (high[k] - back)) + low[k]
            total = added
            high[k] = low[k] = 0.0
        added = sums[s, 0] + total
        back = added - sums[s, 0]
        rest = ((sums[s, 0] - (added - back)) + (total - back)) + (sums[s, 1] + rest)
        sums[s, 0] = added + rest
        sums[s, 1] = rest - (sums[s, 0] - added)
