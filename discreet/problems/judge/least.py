"""What tilted losses add up to at least, from sums under labels, rounded downward.

Give each outcome a label i(l), any. Then the sum of the true minima is Σ_l L_i(l),l + Σ_ij t_ij u_ij with
u_i = Σ_{l: i(l) = i} a_l, less what wrong labels lose. The sums are formed in twice the working precision; only outcomes
whose label is in doubt lose anything (`label_doubt`).
"""

from __future__ import annotations

import numpy as np

from discreet.problems.numerics.compiled import compiled_available
from discreet.problems.numerics.double_double import Array, DoubleDouble, exact_product
from discreet.problems.numerics.label_strips import compiled_strips
from discreet.problems.numerics.label_sums import TallyOf, compiled_tally, tally

__all__ = ["SUM_ROUNDING", "least_of_labels", "tally_for"]

SUM_ROUNDING = 2.0**-85
"""Relative, of sums in twice the working precision over any number of outcomes that can be visited."""


def least_of_labels(loss: DoubleDouble, joint: DoubleDouble, doubt: float, tilt: Array) -> tuple[float, ...]:
    """Numbers whose exact sum is at most Σ_l min_i of the tilted losses: L and t·u under the labels, less the doubt.

    loss [], joint = u [m, n] with a relative error of at most `SUM_ROUNDING`, tilt [m, n] of entries under 1e201 in size.
    """
    parts = [float(loss[0]), float(loss[1])]
    for row, high, low in zip(tilt, *joint, strict=True):  # but for 2^-90 of Σ |t| u, exact
        product, error = exact_product(row, high)
        parts += [*product.tolist(), *error.tolist(), *(row * low).tolist()]
    size = float((np.abs(tilt) * joint[0]).sum()) + parts[0]
    return (*parts, -doubt * (1.0 + 2.0**-30), -2.0 * SUM_ROUNDING * size)


def tally_for(outcomes: int, compiled: bool | None = None) -> TallyOf:
    """The pass over a chunk, by default compiled where numba is installed and that pays: sooner once it has been used."""
    pays = outcomes >= (1 << 14 if compiled_strips.ready() else 1 << 18)
    return compiled_tally if (compiled_available() and pays if compiled is None else compiled) else tally
