"""The constants of double precision from which all rounding bounds are built."""

from __future__ import annotations

UNIT = 2.0**-53
"""u: an operation with a normal result has a relative error of at most u (round to nearest)."""

SMALLEST = 5e-324
"""The smallest positive number; an operation with a subnormal result has an error of at most half
of it.
"""

LEAST_EXACT = 2.0**-960
"""`exact_product` is exact for products of at least this size; its error for smaller ones is at
most 2 `SMALLEST`.
"""

SUM_ROUNDING = 2.0**-85
"""Upper bound of the relative error of double-double sums of numbers ≥ 0 within one block of
outcomes or one compiled pass.
"""

TOTAL_ROUNDING = 2.0**-49
"""Largest difference of the stored Σ π of a problem from one."""

LARGEST_TILT = 1e200
"""Larger tilts are clipped or refused: no useful bound needs them, and with smaller ones the sums
of tilted losses are finite.
"""
