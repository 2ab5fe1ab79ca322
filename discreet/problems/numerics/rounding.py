"""The constants of double precision from which every rounding bound here is built."""

from __future__ import annotations

UNIT = 2.0**-53
"""u: an operation whose result is of normal size errs by at most u times that result (round to nearest)."""

SMALLEST = 5e-324
"""The smallest positive number: an operation whose result is subnormal errs by at most half of it."""

SUM_ROUNDING = 2.0**-85
"""Relative, of double-double sums of numbers ≥ 0 over any number of outcomes that can be visited."""

TOTAL_ROUNDING = 2.0**-49
"""By how much, relative, the stored Σ π of a problem may differ from one."""

LARGEST_TILT = 1e200
"""Tilts beyond it are cut or refused: no bound worth having needs them, and up to it sums of tilted losses stay finite."""
