"""The compiled pass over a chunk of outcomes, arranged in strips so that nearly all of it is vectorised.

A strip is copied to where its rows lie together, filled up with outcomes of no mass where there are too few. Tilted losses,
their least and its lead over the second, and masses are formed place by place, each operation rounded as in NumPy, so that
every decision is the same there. Most outcomes are *far*: their margin exceeds a bound that no decision will come near
again. They are summed by label alone, as products with 0 and 1, the sums in any order; only a strip's other outcomes are
visited one by one. While one strip is worked on, later ones are asked for from memory, row by row, since a processor drops
such hints when they come all at once.

The kernels are closures over (n, m), so that the loops over guesses and private values are unrolled. Indices are unsigned:
none can mean one counted from the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.compiled import flat, jit, once, prefetch
from discreet.problems.numerics.double_double import Array

__all__ = ["BOTTOM", "SHELLS", "SHIFT", "STRIP", "ChunkPass", "Part", "compiled_pass"]

_SHELL_BITS = 3
SHELLS = 44 << _SHELL_BITS
"""Shells of a pair of guesses: of margins from 2⁻⁴² to 4; what is smaller or larger shares the last one on its side."""
BOTTOM = (1023 - 42) << _SHELL_BITS
"""The leading bits of the margin at which the first shell begins."""
SHIFT = 52 - _SHELL_BITS
"""By how much to shift the bits of a margin for its leading bits."""
STRIP = 128
"""Outcomes that a compiled pass works on at once: its buffers stay in the nearest cache."""

_AHEAD = 2  # strips by which memory is asked for in advance
_LINE = 8  # numbers that memory delivers together

_inlined = partial(jit, inline=True)


@dataclass(frozen=True, eq=False)
class Part:
    """What a pass found in one chunk.

    total      Σ_l min_i tilted loss
    threshold  the one asked for, or a lower one
    retained   places of the outcomes with a margin ≤ threshold, increasing                      [K]
    keys       cells that hold outcomes, increasing                                              [C]
    sums       of (p_xz, loss) in these cells                                                    [C, n + m]
    counts     of outcomes in these cells                                                        [C]
    weights    mass and Σ min_i tilted loss of every so many consecutive outcomes                [2, G]
    """

    total: float
    threshold: float
    retained: NDArray[np.intp]
    keys: NDArray[np.intp]
    sums: Array
    counts: NDArray[np.intp]
    weights: Array


ChunkPass = Callable[[Array, Array, Array, float, float, int, int], Part]


@once
def compiled_pass(n: int, m: int) -> ChunkPass:
    """The pass over one chunk (p_xz, loss, tilt, threshold, screen, strip, most) for problems of these sizes."""
    kernel = _compile(n, m)
    screened = np.arange(m) * (m + 1) * SHELLS + SHELLS - 1  # the cell of each label

    def run(p_xz: Array, loss: Array, tilt: Array, threshold: float, screen: float, strip: int, most: int) -> Part:
        count = p_xz.shape[1]
        near = np.empty(count, dtype=np.intp)
        cells, counts = np.zeros((m * m * SHELLS, n + m)), np.zeros(m * m * SHELLS, dtype=np.int64)
        weights = np.zeros((2, -(-count // strip) if strip else 0))
        far_sums, far_counts = np.zeros((m, n + m)), np.zeros(m)
        summed = cells, counts, far_sums, far_counts, weights
        total, found = kernel(count, *flat(p_xz), *flat(loss), tilt, threshold, screen, strip, near, *summed)
        cells[screened] += far_sums
        counts[screened] += far_counts.astype(np.int64)
        keys = np.flatnonzero(counts)
        return Part(total, threshold, near[:found].copy(), keys, cells[keys], counts[keys], weights)

    return run


@once
def _sums() -> tuple[Any, Any]:
    """Sum of a strip's numbers, and of their products with another's; their order is left to the compiler."""
    strip, index = STRIP, np.uint64

    def plain(x, start):  # type: ignore[no-untyped-def]
        total = 0.0
        for k in range(strip):
            total += x[index(start) + index(k)]
        return total

    def product(x, start, y, other):  # type: ignore[no-untyped-def]
        total = 0.0
        for k in range(strip):
            total += x[index(start) + index(k)] * y[index(other) + index(k)]
        return total

    return jit(plain, reorder=True), jit(product, reorder=True)


@once
def _compile(n: int, m: int) -> Any:
    strip, shells, bottom, shift = STRIP, SHELLS, BOTTOM, SHIFT
    line, ahead, index = _LINE, _AHEAD * STRIP, np.uint64
    (plain, product), ask = _sums(), prefetch()

    @_inlined
    def ask_for(part, p_xz, p_step, loss, l_step, start):  # type: ignore[no-untyped-def]
        """Every fourth row of a later strip, beginning with row `part`."""
        for row in range(part, n + m, 4):
            for k in range(0, strip, line):
                if row < n:
                    ask(p_xz, index(row * p_step + start + ahead + k))
                else:
                    ask(loss, index((row - n) * l_step + start + ahead + k))

    @_inlined
    def fetch(values, start, size, data, at):  # type: ignore[no-untyped-def]
        """A row for the strip; a strip that is not full is filled with outcomes of no mass."""
        if size == strip:
            for place in range(strip):
                k = index(place)
                data[index(at) + k] = values[index(start) + k]
        else:
            for place in range(strip):
                data[at + place] = values[start + place] if place < size else 0.0

    @_inlined
    def tilted(data, tilt, value, mass):  # type: ignore[no-untyped-def]
        """Tilted losses and masses of a strip."""
        for i in range(m):
            loss, at, t = (n + i) * strip, i * strip, tilt[i, 0]
            for place in range(strip):
                k = index(place)
                value[index(at) + k] = data[index(loss) + k] + t * data[k]
        for place in range(strip):
            k = index(place)
            mass[k] = data[k]
        for j in range(1, n):
            a = j * strip
            for i in range(m):
                at, t = i * strip, tilt[i, j]
                for place in range(strip):
                    k = index(place)
                    value[index(at) + k] += t * data[index(a) + k]
            for place in range(strip):
                k = index(place)
                mass[k] += data[index(a) + k]

    @_inlined
    def decide(far, value, mass, label, second, least, share):  # type: ignore[no-untyped-def]
        """The least tilted losses (0 without mass); share[i] is 1 where far with label i, else 0."""
        for place in range(strip):
            k = index(place)
            least[k] = value[k]
            second[k] = np.inf
            label[k] = 0.0
        for i in range(1, m):
            at = i * strip
            for place in range(strip):
                k = index(place)
                mine, best = value[index(at) + k], least[k]
                other = mine if mine > best else best
                second[k] = other if other < second[k] else second[k]
                label[k] = i if mine < best else label[k]
                least[k] = mine if mine < best else best
        for i in range(m):
            at = i * strip
            for place in range(strip):
                k = index(place)
                limit = far * mass[k]
                share[index(at) + k] = (
                    1.0 if (label[k] == i) & (second[k] - least[k] >= limit) & (0.0 < mass[k]) & (limit < np.inf) else 0.0
                )
        for place in range(strip):
            k = index(place)
            least[k] = least[k] if mass[k] > 0.0 else 0.0

    @_inlined
    def decide_between_two(far, value, mass, least, share):  # type: ignore[no-untyped-def]
        """The same for two guesses, in half the operations."""
        for place in range(strip):
            k = index(place)
            zero, one = value[k], value[index(strip) + k]
            limit = far * mass[k] if mass[k] > 0.0 else np.inf
            smaller = one if one < zero else zero
            least[k] = smaller if mass[k] > 0.0 else 0.0
            share[k] = 1.0 if one - zero >= limit else 0.0
            share[index(strip) + k] = 1.0 if (zero - one >= limit) & (one < zero) else 0.0

    @jit
    def run(  # type: ignore[no-untyped-def]
        count, p_xz, p_step, loss, l_step, tilt, threshold, far, group, near, cells, counts, far_sums, far_counts, groups
    ):
        data, value, share = np.empty((n + m) * strip), np.empty(m * strip), np.empty(m * strip)
        label, second_least, least, mass = np.empty(strip), np.empty(strip), np.empty(strip), np.empty(strip)
        found = 0
        total = 0.0
        for start in range(0, count, strip):
            size = min(strip, count - start)
            for j in range(n):
                fetch(p_xz, j * p_step + start, size, data, j * strip)
            for i in range(m):
                fetch(loss, i * l_step + start, size, data, (n + i) * strip)
            ask_for(0, p_xz, p_step, loss, l_step, start)
            tilted(data, tilt, value, mass)
            ask_for(1, p_xz, p_step, loss, l_step, start)
            if m == 2:
                decide_between_two(far, value, mass, least, share)
            else:
                decide(far, value, mass, label, second_least, least, share)
            ask_for(2, p_xz, p_step, loss, l_step, start)
            least_sum = plain(least, 0)
            total += least_sum
            if group > 0:
                groups[0, start // group] += plain(mass, 0)
                groups[1, start // group] += least_sum
            ask_for(3, p_xz, p_step, loss, l_step, start)
            distant = 0.0
            for i in range(m):
                here = plain(share, i * strip)
                if here == 0.0:
                    continue
                distant += here
                far_counts[i] += here
                if here == strip:
                    for row in range(n + m):
                        far_sums[i, row] += plain(data, row * strip)
                else:
                    for row in range(n + m):
                        far_sums[i, row] += product(data, row * strip, share, i * strip)
            if distant == size:
                continue
            for k in range(size):
                if mass[k] == 0.0:
                    continue
                best = 0
                for i in range(1, m):
                    if value[i * strip + k] < value[best * strip + k]:
                        best = i
                if share[best * strip + k] == 1.0:
                    continue
                second = 0
                runner_up = np.inf
                for i in range(m):
                    if i != best and value[i * strip + k] < runner_up:
                        runner_up = value[i * strip + k]
                        second = i
                margin = (runner_up - least[k]) / mass[k]
                if margin <= threshold:
                    near[found] = start + k
                    found += 1
                    continue
                shell = int(np.float64(margin).view(np.int64) >> shift) - bottom
                key = (best * m + second) * shells + min(max(shell, 0), shells - 1)
                counts[key] += 1
                for row in range(n + m):
                    cells[key, row] += data[row * strip + k]
        return total, found

    return run
