"""Exact numbers: sums of many doubles and of their products, balls around irrational numbers,
outward rounding to doubles.

Doubles are cut into integers of few bits, at powers of two. Their sums, and the sums of products of
two, stay below 2^53, so doubles add them in any order without rounding.

Source of the balls: F. Johansson, "Arb", IEEE Transactions on Computers 66 (2017).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

try:
    from flint import arb as arb
    from flint import ctx as ctx
    from flint import fmpq
except ImportError:  # `verify` raises an error with advice
    arb = ctx = fmpq = None  # type: ignore[assignment,misc]

Array = Any  # a NumPy array [..., B]; the last axis counts outcomes
# Exponents e and integers w [a, b] in doubles, representing Σ 2^e w.
Pieces = Iterable[tuple[int, Array]]
Sums = dict[int, Any]  # arrays of 64-bit integers by exponent


def pieces(values: Array, bits: int) -> Pieces:
    """Yield the values exactly, as integers of at most `bits` bits."""
    # Scaled up so that nothing here is subnormal.
    left = np.multiply(values, 2.0**216, dtype=np.float64)
    while top := max(left.max(), -left.min()):
        e = math.frexp(top)[1] - bits
        whole = np.rint(left * 2.0**-e)
        left -= whole * 2.0**e  # exact: the rest is at most half a unit and has fewer bits
        yield e - 216, whole


def bits_for(terms: int, total: int) -> int:
    """Return the number of bits of pieces for exact sums: of `terms` terms in doubles, of twice
    `total` terms in 64-bit integers.
    """
    return min(53 - terms.bit_length(), 61 - total.bit_length())


def add(sums: Sums, x: list[tuple[int, Array]], y: Pieces) -> Sums:
    """Add the matrix x yᵀ to the sums. Its sums of products must be at most 2^53, which doubles
    represent exactly.
    """
    for e, other in y:
        for k, one in x:
            sums[e + k] = sums.get(e + k, 0) + (one @ other.T).astype(np.int64)
    return sums


def integers(sums: Sums) -> tuple[Array, Fraction]:
    """Return sums as Python integers, and their unit."""
    low = min(sums)
    return sum(whole.astype(object) << (e - low) for e, whole in sums.items()), Fraction(2) ** low


def ball(value: Fraction) -> Any:
    """Return a ball around a fraction, as small as the precision permits."""
    return arb(fmpq(value.numerator, value.denominator))


def end(ball: Any) -> Fraction:
    """Return the value of a ball of radius 0."""
    integer, exponent = ball.man_exp()
    return Fraction(int(integer)) * Fraction(2) ** int(exponent)


def outward(value: Fraction) -> tuple[float, float]:
    """Return the largest double ≤ value and the smallest ≥ value."""
    try:
        nearest = float(value)
    except OverflowError:
        return (sys.float_info.max, math.inf) if value > 0 else (-math.inf, -sys.float_info.max)
    low = nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
    return low, nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
