"""Sums and products in twice the working precision.

A *double-double* number is a pair (high, low) of float64 arrays that represents the unrounded sum
high + low. To sum, every term is split at one common power of two: the leading parts add without
any rounding, in whatever order NumPy takes them, and the remainders are split and added once more
in the same way.

Method: error-free transformations, T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product",
SIAM J. Sci. Comput. 26 (2005), and "Accurate floating-point summation part I", ibid. 31 (2008); T.
J. Dekker, "A floating-point technique for extending the available precision", Numer. Math. 18
(1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
DoubleDouble = tuple[Array, Array]

_SPLIT = 134217729.0  # 2^27 + 1: Dekker's constant for 53-bit significands
BLOCK = 1 << 14
"""Terms in a block: the fastest size measured, because the temporaries stay in cache."""
# Up to this many terms, exact sums by `math.fsum` cost less than thirty array operations.
_FEW_ELEMENTS = 128
# Up to this many terms are added one after another: the error of k terms is at most
# (k − 1)(k − 2)u² Σ|terms|.
_FEW_TERMS = 7


def _two_sum(a: Array, b: Array) -> DoubleDouble:
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def difference_below(a: Array, b: Array) -> Array:
    """Return a − b, rounded downward."""
    difference, error = _two_sum(a, -b)
    return np.where(error < 0.0, np.nextafter(difference, -np.inf), difference)


def exact_product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a · b of arrays or numbers without error, as a double-double, for products between
    1e-290 and 1e290 in size.
    """
    product = a * b
    # Dekker's method: two halves of each number, of 26 bits each.
    a_high = _SPLIT * a
    a_high = a_high - (a_high - a)
    a_low = a - a_high
    b_high = _SPLIT * b
    b_high = b_high - (b_high - b)
    b_low = b - b_high
    # Reuse one array for the error and one for products: allocation costs more than arithmetic.
    error = a_high * b_high
    error -= product
    part = a_high * b_low
    error += part
    for one, other in ((a_low, b_high), (a_low, b_low)):
        part = np.multiply(one, other, out=part) if isinstance(part, np.ndarray) else one * other
        error += part
    return product, error


@dataclass(frozen=True, eq=False)
class Split:
    """Numbers […, N] split into three parts [3, …, N], of which the first two have exact sums in
    any order; most […, 1]: the largest size.
    """

    values: Array
    parts: Array
    most: Array

    @classmethod
    def of(cls, values: Array) -> Split:
        """Split each number at powers of two that depend on its row."""
        parts = np.empty((3, *values.shape))
        leading, second, rest = parts
        count_bits = (values.shape[-1] + 1).bit_length()
        most = np.abs(values, out=rest).max(axis=-1, keepdims=True, initial=0.0)
        scale = np.ldexp(1.0, np.frexp(most)[1] + count_bits)
        np.add(values, scale, out=leading)
        leading -= scale
        np.subtract(values, leading, out=rest)
        # After the first splitting, the remainder is at most 2^-53 of its scale.
        scale = np.ldexp(scale, count_bits - 53)
        np.add(rest, scale, out=second)
        second -= scale
        rest -= second
        return cls(values, parts, most)

    def chosen(self, chosen: Array) -> DoubleDouble:
        """Return Σ_l c_il v_jl [m, k] for values ≥ 0 [k, N] and zeros and ones c [m, N], as
        accurate as `dd_sum`.
        """
        high, low = _join_sums(chosen @ self.parts.swapaxes(1, 2))
        # Sums that are small compared with the terms that were not chosen.
        faint = (high > 0.0) & (high < 2.0**-68 * self.values.shape[-1] ** 4 * self.most[:, 0])
        for row in np.flatnonzero(faint.any(axis=-1)) if faint.any() else ():
            high[row], low[row] = dd_sum(np.compress(chosen[row], self.values, axis=-1))
        return high, low


def _join_sums(sums: Array) -> DoubleDouble:
    """Return the total of the sums of three parts [3, …]; its error is two roundings plus 2^-154 N⁴
    times the largest |term|.
    """
    high, low = _two_sum(sums[0], sums[1])
    return _two_sum(high, low + sums[2])


def _exact_sum(values: Array) -> DoubleDouble:
    """Return the sum over the last axis as a double-double, correct to the last bit of both
    parts.
    """
    rows = values.reshape(-1, values.shape[-1]).tolist()
    high = [math.fsum(row) for row in rows]
    low = [math.fsum([*row, -total]) for row, total in zip(rows, high, strict=True)]
    shape = values.shape[:-1]
    return np.array(high).reshape(shape), np.array(low).reshape(shape)


def _sum_in_turn(values: Array) -> DoubleDouble:
    """Return the sum over the last axis of few terms; their rounding errors are added
    separately.
    """
    high = values[..., 0]
    low = np.zeros(values.shape[:-1])
    for k in range(1, values.shape[-1]):
        high, error = _two_sum(high, values[..., k])
        low += error
    return _two_sum(high, low)


def dd_add(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    """Return a + b as a double-double."""
    high, error = _two_sum(a[0], b[0])
    return _two_sum(high, error + (a[1] + b[1]))


def dd_multiply(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    """Return a · b as a double-double; the two arrays are broadcast."""
    high, error = exact_product(a[0], b[0])
    return _two_sum(high, error + (a[0] * b[1] + a[1] * b[0]))


def dd_sum(values: Array) -> DoubleDouble:
    """Return the sum over the last axis; for terms of one sign its relative error is far below one
    unit in the last place.
    """
    if 0 < values.size <= _FEW_ELEMENTS:
        return _exact_sum(values)
    if 0 < values.shape[-1] <= _FEW_TERMS:
        return _sum_in_turn(values)
    if values.size <= BLOCK:
        return _join_sums(Split.of(values).parts.sum(axis=-1))
    return _by_blocks(values.shape, lambda block: dd_sum(values[..., block]))


def dd_sum_chosen(values: Array, chosen: Array) -> DoubleDouble:
    """Return Σ_l c_il v_jl as `Split.chosen` does, for any N."""
    if values.shape[-1] <= BLOCK:
        return Split.of(values).chosen(chosen)
    return _by_blocks(
        values.shape[-1:], lambda block: dd_sum_chosen(values[:, block], chosen[:, block])
    )


def dd_dot(a: Array, b: Array) -> DoubleDouble:
    """Return Σ a·b over the last axis (broadcast over the others). Entries must be below 1e150 in
    size.
    """
    together = np.broadcast(a, b)
    if together.size > BLOCK and together.shape[-1] > 1:
        return _by_blocks(together.shape, lambda block: dd_dot(a[..., block], b[..., block]))
    product, error = exact_product(a, b)
    high, low = dd_sum(product)
    return _two_sum(high, low + error.sum(axis=-1))


def _by_blocks(shape: tuple[int, ...], summed: Callable[[slice], DoubleDouble]) -> DoubleDouble:
    """Add up the sums of blocks of the last axis, each small enough for the cache; `summed` returns
    the sum of one block.
    """
    width = max(1, BLOCK // max(1, math.prod(shape[:-1])))
    total: DoubleDouble = (np.zeros(shape[:-1]), np.zeros(shape[:-1]))
    for start in range(0, shape[-1], width):
        total = dd_add(total, summed(slice(start, start + width)))
    return total
