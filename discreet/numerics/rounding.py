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


def sum_doubt(outcomes: int, entries: int) -> float:
    """Return an upper bound of the relative error of double-double sums of numbers ≥ 0 over
    outcomes, if m·n `entries` are summed at once.

    The error of one block, or of one compiled pass, is at most `SUM_ROUNDING`. Adding two
    double-doubles of one sign has a relative error of 3u² < 2⁻¹⁰⁴. There is at most one such
    addition for every chunk, hence for every outcome, and one for every 2¹³ products.
    """
    return SUM_ROUNDING + outcomes * (1.0 + entries * 2.0**-13) * 2.0**-104


def ratio_doubt(n: int) -> float:
    """Return an upper bound of the relative error of r_ij = u_ij Σπ / (s_i π_j), computed in
    double-double from given u and π.

    The two products have relative errors of 8u², their difference adds 3u² of both, and s_i and Σπ,
    whose low parts are plain sums of n terms, add n u². The total is (2n + 19) u² (r + 1), where 1
    ≤ 2r; smaller r may be less accurate, since r − 1 itself is rounded.
    """
    return (n + 32) * 2.0**-104


def leakage_doubt(n: int, m: int) -> float:
    """Return an upper bound of the relative rounding error of Σ_i s_i Σ_j π_j φ(r_ij) as computed
    from given r.

    The relative error of φ is at most 256u: where it is computed as r log r − (r − 1), the two
    terms are at most 22 φ in size and a logarithm has an error of 4 units in the last place. The
    sums add (n + m)u, the squared total probability adds 2 `TOTAL_ROUNDING` = 32u, and single
    roundings add 32u.
    """
    return (n + m + 320) * UNIT
