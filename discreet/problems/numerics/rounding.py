"""The constants of double precision that all rounding bounds are made of."""

from __future__ import annotations

UNIT = 2.0**-53
"""u: an operation with a normal result errs by at most u times that result (round to nearest)."""

SMALLEST = 5e-324
"""The smallest positive number: an operation with a subnormal result errs by at most half of it."""

SUM_ROUNDING = 2.0**-85
"""Relative error of double-double sums of numbers ≥ 0, at most, over any number of outcomes that can be visited."""

TOTAL_ROUNDING = 2.0**-49
"""By how much the stored Σ π of a problem may differ from one."""

LARGEST_TILT = 1e200
"""Tilts beyond it are clipped or refused: no useful bound needs them, and up to it sums of tilted losses stay finite."""
