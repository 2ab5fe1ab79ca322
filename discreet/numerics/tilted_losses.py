"""Tilted losses L_il + Σ_j t_ij a_jl, the labels they imply, and error bounds of these labels in
double precision.

All rules form them in the order L_il + t_i1 a_1l + t_i2 a_2l + …, and each operation is rounded. So
labels are the same in NumPy and in compiled code, on any thread and in blocks of any size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.double_double import Array, dd_sum, exact_product
from discreet.numerics.rounding import SMALLEST, UNIT


def in_order_losses(p_xz: Array, loss: Array, tilt: Array) -> Array:
    """Return the tilted losses by which rules decide, L_il + Σ_j t_ij a_jl [m, ·], added from left
    to right.
    """
    tilted: Array = tilt[:, :1] * p_xz[:1]
    tilted += loss
    for j in range(1, p_xz.shape[0]):
        tilted += tilt[:, j : j + 1] * p_xz[j]
    return tilted


def first_least(rows: Array) -> NDArray[np.intp]:
    """Return the row of the least entry of each column [m, ·]; the first row if there are ties."""
    if rows.shape[0] == 2:  # the usual case; a comparison is several times as fast
        return np.asarray(rows[1] < rows[0], dtype=np.intp)
    return np.asarray(np.argmin(rows, axis=0))


def least_two(rows: Array) -> tuple[NDArray[np.intp], Array, NDArray[np.intp], Array]:
    """Return the row and value of the least, then of the second least entry of each column [m, ·];
    the first rows if there are ties.
    """
    best = first_least(rows)
    if rows.shape[0] == 2:
        return best, np.minimum(rows[0], rows[1]), 1 - best, np.maximum(rows[0], rows[1])
    others = rows.copy()
    places = np.arange(rows.shape[1])
    others[best, places] = np.inf
    second = np.argmin(others, axis=0)
    return best, rows[best, places], second, others[second, places]


def never_in_doubt(p_xz: Array, tilt: Array, chosen: Array) -> float:
    """Return a lead over the best other guess beyond which `label_doubt` is 0."""
    terms = len(p_xz) + 1
    largest = float(np.abs(tilt).max(axis=0) @ p_xz.max(axis=1) + np.abs(chosen).max())
    return 4.0 * terms * UNIT * largest + 8.0 * terms * SMALLEST


def label_doubt(p_xz: Array, tilt: Array, chosen: Array, rival: Array) -> Array:
    """Return upper bounds of F_i − min_k F_k for the exact tilted losses of outcomes p_xz [n, B]:
    the excess of guess i over the best guess.

    chosen, rival [B] or [m, B]: the tilted losses of guess i and of the best other guess, as
    computed by `in_order_losses`. The partial sum after k terms is at most |v| + Σ_{j>k} |t_ij|
    a_jl in size, where v is the last one. So rounding all partial sums and products changes v by at
    most γ (|v| + Σ_j |t_ij| a_jl), γ = (n + 1)u, including second-order terms.
    """
    n = p_xz.shape[0]
    gap = chosen - rival
    if not tilt.any():  # the tilted losses are the stored losses
        return np.maximum(gap, 0.0)
    doubt: Array = np.abs(tilt).max(axis=0) @ p_xz + np.abs(chosen)
    doubt *= 2.0 * (n + 1) * UNIT  # for both losses, as |rival| ≤ |chosen| + |gap|
    doubt += gap * (1.0 + (n + 8) * UNIT * np.sign(gap)) + 4 * (n + 1) * SMALLEST
    return np.maximum(doubt, 0.0)


def dd_label_doubt(p_xz: Array, loss: Array, tilt: Array) -> Array:
    """Return the bounds of `label_doubt` for all guesses at outcomes p_xz [n, K], loss [m, K], from
    double-double tilted losses [m, K].

    Let σ = max_i L_il + Σ_j max_i |t_ij| a_jl. Each tilted loss has an error of at most (5n + 6)u²
    σ, as a sum of n + 1 exact products in any order, and its low part is at most (n + 2)u σ. So
    differences of two tilted losses, and differences of these, have an error of at most 64(n + 1)u²
    σ plus a relative error of 8u. The error of a product that underflows is at most two of the
    smallest numbers.
    """
    product, error = exact_product(tilt.T[:, :, None], p_xz[:, None, :])
    high, low = dd_sum(np.moveaxis(np.concatenate([loss[None], product]), 0, -1))
    low = low + error.sum(axis=0)
    best = first_least(high)
    index = np.arange(high.shape[1])
    lead = (high - high[best, index]) + (low - low[best, index])
    lead -= lead.min(axis=0)
    size = (len(p_xz) + 1) * (loss.max(axis=0) + np.abs(tilt).max(axis=0) @ p_xz)
    return np.asarray(
        lead * (1.0 + 8.0 * UNIT) + 64.0 * UNIT * UNIT * size + 8.0 * (len(p_xz) + 1) * SMALLEST
    )
