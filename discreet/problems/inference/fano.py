"""Fano's inequality: how well X can be inferred at best from a guess of which the equivocation is known.

Source: T. M. Cover, J. A. Thomas, *Elements of Information Theory*, §2.10.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array
from discreet.problems.roots import bisected


def fano_bound(equivocation_nats: float, n: int, *, sharp: bool = False) -> float:
    """Least error probability with which anybody can infer X (n values) from Ŷ, given H(X given Ŷ) in nats.

    The plain form is the paper's: (H − 1) / log2 n with H in *bits*, since the 1 in it is one bit; it is empty for n = 2.
    `sharp=True` solves h(e) + e·log(n − 1) = H for e, which is what the plain form weakens. Returns a probability ≥ 0.
    """
    if n <= 1:
        return 0.0
    bits = equivocation_nats / math.log(2.0)
    plain = max(0.0, (bits - 1.0) / math.log2(n))
    if not sharp:
        return plain
    return max(plain, _invert_fano(equivocation_nats, n))


def _invert_fano(equivocation_nats: float, n: int) -> float:
    def below(e: Array) -> NDArray[np.bool_]:
        return np.asarray(-xlogy(e, e) - xlogy(1.0 - e, 1.0 - e) + e * math.log(n - 1) < equivocation_nats)

    from scipy.special import xlogy

    largest = 1.0 - 1.0 / n  # up to it the left side increases, to log n
    if equivocation_nats >= math.log(n) * (1.0 - 1e-15):
        return largest
    return float(bisected(below, 0.0, largest)[0])
