"""Exact numbers: sums of many doubles and of their products, balls around what is irrational,
outward rounding to doubles.

Doubles are cut into whole numbers of few bits, at powers of two. Their sums, and those of products
of two, stay below 2^53, so doubles add them in any order without rounding.

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
except ImportError:  # said in a sentence by `verify`
    arb = ctx = fmpq = None  # type: ignore[assignment,misc]

Array = Any  # of numpy, [..., B]; the last axis counts outcomes
# Exponents e and whole numbers w [a, b] in doubles, meaning Σ 2^e w.
Pieces = Iterable[tuple[int, Array]]
Sums = dict[int, Any]  # the same with integers of 64 bits, by exponent


def pieces(values: Array, bits: int) -> Pieces:
    """The values exactly, as whole numbers of so many bits."""
    # So much larger, nothing here is subnormal.
    left = np.multiply(values, 2.0**216, dtype=np.float64)
    while top := max(left.max(), -left.min()):
        e = math.frexp(top)[1] - bits
        whole = np.rint(left * 2.0**-e)
        left -= whole * 2.0**e  # exact: at most half a unit is left, in bits that the number has
        yield e - 216, whole


def bits_for(terms: int, total: int) -> int:
    """How long numbers may be for exact sums: of so many terms in doubles, of twice the total in
    integers of 64 bits.
    """
    return min(53 - terms.bit_length(), 61 - total.bit_length())


def add(found: Sums, x: list[tuple[int, Array]], y: Pieces) -> Sums:
    """Adds the matrix x yᵀ to what was found. Its sums of products must be at most 2^53, which
    doubles hold exactly.
    """
    for e, other in y:
        for k, one in x:
            found[e + k] = found.get(e + k, 0) + (one @ other.T).astype(np.int64)
    return found


def integers(found: Sums) -> tuple[Array, Fraction]:
    """Python's integers, and the unit in which they are meant."""
    low = min(found)
    return sum(whole.astype(object) << (e - low) for e, whole in found.items()), Fraction(2) ** low


def ball(value: Fraction) -> Any:
    """A ball around a fraction, as small as the precision allows."""
    return arb(fmpq(value.numerator, value.denominator))


def end(ball: Any) -> Fraction:
    """The value of a ball of radius 0."""
    integer, exponent = ball.man_exp()
    return Fraction(int(integer)) * Fraction(2) ** int(exponent)


def outward(value: Fraction) -> tuple[float, float]:
    """The largest double ≤ value and the smallest ≥ value."""
    try:
        nearest = float(value)
    except OverflowError:
        return (sys.float_info.max, math.inf) if value > 0 else (-math.inf, -sys.float_info.max)
    low = nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
    return low, nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
