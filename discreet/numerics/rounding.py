"""The constants of double precision that all rounding bounds are made of."""

from __future__ import annotations

UNIT = 2.0**-53
"""u: an operation with a normal result errs by at most u times that result (round to nearest)."""

SMALLEST = 5e-324
"""The smallest positive number: an operation with a subnormal result errs by at most half of it."""

LEAST_EXACT = 2.0**-960
"""Products at least as large are exact in `exact_product`; it changes smaller ones by at most 2
`SMALLEST`.
"""

SUM_ROUNDING = 2.0**-85
"""Relative error of double-double sums of numbers ≥ 0 within one block of outcomes or one compiled
pass, at most.
"""

TOTAL_ROUNDING = 2.0**-49
"""By how much the stored Σ π of a problem may differ from one."""

LARGEST_TILT = 1e200
"""Tilts beyond it are clipped or refused: no useful bound needs them, and up to it sums of tilted
losses stay finite.
"""


def sum_doubt(outcomes: int, entries: int) -> float:
    """Relative error of double-double sums of numbers ≥ 0 over outcomes, at most, where m·n
    `entries` are summed at once.

    One block, or one compiled pass, errs by `SUM_ROUNDING`. Adding two double-doubles of one sign
    errs by 3u² < 2⁻¹⁰⁴ of their sum. There is at most one such addition for every chunk, hence for
    every outcome, and one for every 2¹³ products.
    """
    return SUM_ROUNDING + outcomes * (1.0 + entries * 2.0**-13) * 2.0**-104


def ratio_doubt(n: int) -> float:
    """Relative error of r_ij = u_ij Σπ / (s_i π_j), at most, computed in double-double from given u
    and π.

    The two products err by 8u² of themselves, their difference by 3u² of both, and s_i and Σπ,
    whose low parts are plain sums of n, by n u². That makes (2n + 19) u² (r + 1), where 1 ≤ 2r;
    smaller r need not be known as well, as r − 1 itself is rounded.
    """
    return (n + 32) * 2.0**-104


def leakage_doubt(n: int, m: int) -> float:
    """Relative rounding of Σ_i s_i Σ_j π_j φ(r_ij) as computed from given r, at most.

    φ errs by 256u: where it is r log r − (r − 1), these are at most 22 φ in size and a logarithm
    errs by 4 last places. The sums err by (n + m)u, and the squared total probability by 2
    `TOTAL_ROUNDING` = 32u; 32u are for single roundings.
    """
    return (n + m + 320) * UNIT
