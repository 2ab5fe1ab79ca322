"""Tilted losses L_il + Σ_j t_ij a_jl, the labels they give, and how wrong these can be in double precision.

They are formed in the order L_il + t_i1 a_1l + t_i2 a_2l + …, each operation rounded, wherever a rule decides: so labels are
the same in NumPy, compiled, on any thread and in blocks of any size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.rounding import SMALLEST, UNIT

__all__ = ["in_order_losses", "in_order_margins", "label_doubt"]


def in_order_losses(p_xz: Array, loss: Array, tilt: Array) -> Array:
    """L_il + Σ_j t_ij a_jl [m, ·], added up from the left: the tilted losses by which rules decide."""
    tilted: Array = loss + tilt[:, :1] * p_xz[:1]
    for j in range(1, p_xz.shape[0]):
        tilted += tilt[:, j : j + 1] * p_xz[j]
    return tilted


def in_order_margins(p_xz: Array, loss: Array, tilt: Array) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Best guess, second best and margin [·] of outcomes: by how much the second is worse, per unit of the outcome's mass.

    The margin is NaN for an outcome of no mass. Needs two guesses.
    """
    places = np.arange(p_xz.shape[1])
    losses = in_order_losses(p_xz, loss, tilt)
    best = np.argmin(losses, axis=0)
    least = losses[best, places]
    losses[best, places] = np.inf
    second = np.argmin(losses, axis=0)
    mass = p_xz.sum(axis=0)
    lead = losses[second, places] - least
    return best, second, np.divide(lead, mass, out=np.full_like(mass, np.nan), where=mass > 0.0)


def label_doubt(p_xz: Array, tilt: Array, chosen: Array, rival: Array) -> float:
    """How much the true Σ_l min_i can be under the sum with given labels, rounded upward.

    chosen, rival [·] are the tilted losses of the label and of the best other guess, as `in_order_losses` computes them;
    p_xz [n, ·]. The partial sum after k terms is in size at most |v| + Σ_{j>k} |t_ij| a_jl, v the last. Rounding each of
    them and each product therefore changes v by at most γ (|v| + Σ_j |t_ij| a_jl), γ = (n + 1)u, second order included.
    """
    n, gap = p_xz.shape[0], chosen - rival
    doubt: Array = np.abs(tilt).max(axis=0) @ p_xz
    doubt += np.abs(chosen)
    doubt *= 2.0 * (n + 1) * UNIT  # of both, as |rival| ≤ |chosen| + |gap|
    doubt += 4 * n * SMALLEST
    doubt += gap * np.where(gap > 0.0, 1.0 + (n + 8) * UNIT, 1.0 - (n + 8) * UNIT)
    lost = np.maximum(doubt, 0.0).sum()
    return float(lost * (1.0 + 2.0**-30) + SMALLEST * tilt.shape[0] * chosen.size)
