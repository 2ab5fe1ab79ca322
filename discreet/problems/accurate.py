"""Sums and products carried in twice the working precision.

A *pair* is a tuple (high, low) of float64 arrays that stands for the unrounded sum high + low. Pairs let the judge form
differences of nearly equal probabilities (the leakage of an almost private estimator) without losing a digit, on any
processor and without extended-precision hardware types.

Method: error-free transformations, T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput.
26 (2005); T. J. Dekker, "A floating-point technique for extending the available precision", Numer. Math. 18 (1971).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Pair", "dot_pair", "pair_product", "pair_sum", "sum_pair"]

Array = NDArray[np.float64]
Pair = tuple[Array, Array]

_SPLIT = 134217729.0  # 2^27 + 1: Dekker's constant for 53-bit significands
_BLOCK_ELEMENTS = 1 << 15  # products formed at once: small enough to stay in cache


def _two_sum(a: Array, b: Array) -> Pair:
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _two_product(a: Array, b: Array) -> Pair:
    product = a * b
    a_high = _SPLIT * a
    a_high = a_high - (a_high - a)
    a_low = a - a_high
    b_high = _SPLIT * b
    b_high = b_high - (b_high - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _fold(high: Array, low: Array | None) -> Pair:
    """Sum the last axis by halves; rounding errors are gathered in the low part."""
    while high.shape[-1] > 1:
        half = high.shape[-1] // 2
        odd = high.shape[-1] - 2 * half
        total, error = _two_sum(high[..., :half], high[..., half : 2 * half])
        if low is not None:
            error = error + low[..., :half] + low[..., half : 2 * half]
        if odd:
            last_low = np.zeros_like(high[..., -1:]) if low is None else low[..., -1:]
            high = np.concatenate([total, high[..., -1:]], axis=-1)
            low = np.concatenate([error, last_low], axis=-1)
        else:
            high, low = total, error
    low = np.zeros_like(high) if low is None else low
    return _two_sum(high[..., 0], low[..., 0])


def pair_sum(a: Pair, b: Pair) -> Pair:
    """a + b for pairs."""
    high, error = _two_sum(a[0], b[0])
    return _two_sum(high, error + (a[1] + b[1]))


def pair_product(a: Pair, b: Pair) -> Pair:
    """a · b for pairs, broadcast."""
    high, error = _two_product(a[0], b[0])
    return _two_sum(high, error + (a[0] * b[1] + a[1] * b[0]))


def sum_pair(values: Array) -> Pair:
    """Sum over the last axis, as a pair; its relative error is far below one unit in the last place."""
    return _accumulate(values.shape[:-1], values.shape[-1], lambda lo, hi: (values[..., lo:hi], None))


def dot_pair(a: Array, b: Array) -> Pair:
    """Σ a·b over the last axis (broadcast over the others), as a pair."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    return _accumulate(shape[:-1], shape[-1], lambda lo, hi: _two_product(a[..., lo:hi], b[..., lo:hi]))


def _accumulate(shape: tuple[int, ...], length: int, terms: Callable[[int, int], tuple[Array, Array | None]]) -> Pair:
    width = max(1, _BLOCK_ELEMENTS // max(1, int(np.prod(shape))))
    total: Pair = (np.zeros(shape), np.zeros(shape))
    for start in range(0, length, width):
        total = pair_sum(total, _fold(*terms(start, min(length, start + width))))
    return total
