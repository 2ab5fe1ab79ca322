"""The compiled pass over a chunk of outcomes, arranged in strips so that nearly all of it is vectorised.

A strip's tilted losses, their least and its lead over the second, and masses are formed place by place, each operation
rounded as in NumPy, so that every decision is the same there. Most outcomes are *far*: their margin exceeds a bound that no
decision will come near again. They are summed by label alone, as products with 0 and 1, the sums in any order; only a
strip's other outcomes are visited one by one.

The kernels are closures over (n, m), so that the loops over guesses and private values are unrolled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.backends.tilt.cells import BOTTOM, SHELLS, SHIFT, Part, far_key
from discreet.problems.accurate import Array
from discreet.problems.compiled import flat, jit, once

__all__ = ["STRIP", "compiled_scan"]

STRIP = 128
"""Outcomes in a strip: its buffers stay in the nearest cache."""

_Scan = Callable[[Array, Array, Array, float, float, int], Part]


@once
def compiled_scan(n: int, m: int) -> _Scan:
    """The pass over one chunk (p_xz, loss, tilt, threshold, far, group) for problems of these sizes."""
    kernel = _compile(n, m)
    far_keys = np.array([far_key(label, m) for label in range(m)])

    def run(p_xz: Array, loss: Array, tilt: Array, threshold: float, far: float, group: int) -> Part:
        count = p_xz.shape[1]
        near = np.empty(count, dtype=np.intp)
        cells, counts = np.zeros((m * m * SHELLS, n + m)), np.zeros(m * m * SHELLS, dtype=np.int64)
        groups = np.zeros((2, -(-count // group) if group else 0))
        far_sums, far_counts = np.zeros((m, n + m)), np.zeros(m)
        total, found = kernel(
            count, *flat(p_xz), *flat(loss), tilt, threshold, far, group, near, cells, counts, far_sums, far_counts, groups
        )
        cells[far_keys] += far_sums
        counts[far_keys] += far_counts.astype(np.int64)
        keys = np.flatnonzero(counts)
        return Part(total, near[:found].copy(), keys, cells[keys], counts[keys], groups)

    return run


@once
def _sums() -> tuple[Any, Any]:
    """Sum of a vector, and of its product with another; their order is left to the compiler."""

    def plain(x, size):  # type: ignore[no-untyped-def]
        total = 0.0
        for k in range(size):
            total += x[k]
        return total

    def product(x, y, size):  # type: ignore[no-untyped-def]
        total = 0.0
        for k in range(size):
            total += x[k] * y[k]
        return total

    return jit(plain, reorder=True), jit(product, reorder=True)


@once
def _compile(n: int, m: int) -> Any:
    strip, shells, bottom, shift = STRIP, SHELLS, BOTTOM, SHIFT
    plain, product = _sums()

    @jit
    def tilted(p_xz, p_step, loss, l_step, tilt, start, size, value, mass):  # type: ignore[no-untyped-def]
        """Tilted losses and masses of a strip."""
        first = p_xz[start : start + size]
        for i in range(m):
            row, mine, t = loss[i * l_step + start : i * l_step + start + size], value[i], tilt[i, 0]
            for k in range(size):
                mine[k] = row[k] + t * first[k]
        for k in range(size):
            mass[k] = first[k]
        for j in range(1, n):
            a = p_xz[j * p_step + start : j * p_step + start + size]
            for i in range(m):
                mine, t = value[i], tilt[i, j]
                for k in range(size):
                    mine[k] += t * a[k]
            for k in range(size):
                mass[k] += a[k]

    @jit
    def decide(far, size, value, mass, label, second, least, share):  # type: ignore[no-untyped-def]
        """The least tilted losses (0 without mass); share[i] is 1 where far with label i, else 0."""
        mine = value[0]
        for k in range(size):
            least[k] = mine[k]
            second[k] = np.inf
            label[k] = 0.0
        for i in range(1, m):
            mine = value[i]
            for k in range(size):
                other = mine[k] if mine[k] > least[k] else least[k]
                second[k] = other if other < second[k] else second[k]
            for k in range(size):
                label[k] = i if mine[k] < least[k] else label[k]
            for k in range(size):
                least[k] = mine[k] if mine[k] < least[k] else least[k]
        for i in range(m):
            mine = share[i]
            for k in range(size):
                limit = far * mass[k]
                mine[k] = (
                    1.0 if (label[k] == i) & (second[k] - least[k] >= limit) & (0.0 < mass[k]) & (limit < np.inf) else 0.0
                )
        for k in range(size):
            least[k] = least[k] if mass[k] > 0.0 else 0.0

    @jit
    def decide_between_two(far, size, value, mass, least, share):  # type: ignore[no-untyped-def]
        """The same for two guesses, in half the operations."""
        zero, one, share_zero, share_one = value[0], value[1], share[0], share[1]
        for k in range(size):
            smaller = one[k] if one[k] < zero[k] else zero[k]
            least[k] = smaller if mass[k] > 0.0 else 0.0
        for k in range(size):
            limit = far * mass[k] if mass[k] > 0.0 else np.inf
            share_zero[k] = 1.0 if one[k] - zero[k] >= limit else 0.0
        for k in range(size):
            limit = far * mass[k] if mass[k] > 0.0 else np.inf
            share_one[k] = 1.0 if (zero[k] - one[k] >= limit) & (one[k] < zero[k]) else 0.0

    @jit
    def run(  # type: ignore[no-untyped-def]
        count, p_xz, p_step, loss, l_step, tilt, threshold, far, group, near, cells, counts, far_sums, far_counts, groups
    ):
        value, share = np.empty((m, strip)), np.empty((m, strip))
        label, second_least, least, mass = np.empty(strip), np.empty(strip), np.empty(strip), np.empty(strip)
        found = 0
        total = 0.0
        for start in range(0, count, strip):
            size = min(strip, count - start)
            tilted(p_xz, p_step, loss, l_step, tilt, start, size, value, mass)
            if m == 2:
                decide_between_two(far, size, value, mass, least, share)
            else:
                decide(far, size, value, mass, label, second_least, least, share)
            least_sum = plain(least, size)
            total += least_sum
            if group > 0:
                groups[0, start // group] += plain(mass, size)
                groups[1, start // group] += least_sum
            distant = 0.0
            for i in range(m):
                mine = share[i]
                here = plain(mine, size)
                if here == 0.0:
                    continue
                distant += here
                far_counts[i] += here
                for j in range(n):
                    far_sums[i, j] += product(p_xz[j * p_step + start : j * p_step + start + size], mine, size)
                for k in range(m):
                    far_sums[i, n + k] += product(loss[k * l_step + start : k * l_step + start + size], mine, size)
            if distant == size:
                continue
            for k in range(size):
                if mass[k] == 0.0:
                    continue
                best = 0
                for i in range(1, m):
                    if value[i, k] < value[best, k]:
                        best = i
                if share[best, k] == 1.0:
                    continue
                second = 0
                runner_up = np.inf
                for i in range(m):
                    if i != best and value[i, k] < runner_up:
                        runner_up = value[i, k]
                        second = i
                margin = (runner_up - least[k]) / mass[k]
                if margin <= threshold:
                    near[found] = start + k
                    found += 1
                    continue
                shell = int(np.float64(margin).view(np.int64) >> shift) - bottom
                key = (best * m + second) * shells + min(max(shell, 0), shells - 1)
                counts[key] += 1
                for j in range(n):
                    cells[key, j] += p_xz[j * p_step + start + k]
                for i in range(m):
                    cells[key, n + i] += loss[i * l_step + start + k]
        return total, found

    return run
