"""Tilted losses L_il + Σ_j t_ij a_jl, the labels they give, and bounds of the error of these labels
in double precision.

Wherever a rule decides, they are formed in the order L_il + t_i1 a_1l + t_i2 a_2l + …, and each
operation is rounded. So labels are the same in NumPy and in compiled code, on any thread and in
blocks of any size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.double_double import Array, dd_sum, exact_product
from discreet.numerics.rounding import SMALLEST, UNIT


def in_order_losses(p_xz: Array, loss: Array, tilt: Array) -> Array:
    """L_il + Σ_j t_ij a_jl [m, ·], added from left to right: the tilted losses by which rules
    decide.
    """
    tilted: Array = tilt[:, :1] * p_xz[:1]
    tilted += loss
    for j in range(1, p_xz.shape[0]):
        tilted += tilt[:, j : j + 1] * p_xz[j]
    return tilted


def first_least(rows: Array) -> NDArray[np.intp]:
    """Row of the least entry of every column [m, ·]; the first of equals."""
    if rows.shape[0] == 2:  # the usual case; a comparison is several times as fast
        return np.asarray(rows[1] < rows[0], dtype=np.intp)
    return np.asarray(np.argmin(rows, axis=0))


def least_two(rows: Array) -> tuple[NDArray[np.intp], Array, NDArray[np.intp], Array]:
    """Row and value of the least and of the second least entry of every column [m, ·]; the first of
    equals.
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
    """A lead over the best other guess; at any larger lead `label_doubt` is 0."""
    terms = len(p_xz) + 1
    largest = float(np.abs(tilt).max(axis=0) @ p_xz.max(axis=1) + np.abs(chosen).max())
    return 4.0 * terms * UNIT * largest + 8.0 * terms * SMALLEST


def label_doubt(p_xz: Array, tilt: Array, chosen: Array, rival: Array) -> Array:
    """Upper bounds of F_i − min_k F_k, the exact tilted losses of outcomes p_xz [n, B]: how far
    guess i is from the best.

    chosen, rival [B] or [m, B]: the tilted losses of guess i and of the best other guess, as
    `in_order_losses` computes them. The partial sum after k terms is at most |v| + Σ_{j>k} |t_ij|
    a_jl in size, where v is the last one. So rounding all partial sums and products changes v by at
    most γ (|v| + Σ_j |t_ij| a_jl), γ = (n + 1)u, second order included.
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
    """What `label_doubt` bounds, of all guesses at outcomes p_xz [n, K], loss [m, K], by
    double-double tilted losses [m, K].

    With σ = max_i L_il + Σ_j max_i |t_ij| a_jl each of them errs by at most (5n + 6)u² σ, as a sum
    of n + 1 exact products in any order, and its low part is at most (n + 2)u σ. So the differences
    of two, and of these, err by at most 64(n + 1)u² σ and 8u of themselves. A product that
    underflows errs by two of the smallest numbers.
    """
    product, error = exact_product(tilt.T[:, :, None], p_xz[:, None, :])
    high, low = dd_sum(np.moveaxis(np.concatenate([loss[None], product]), 0, -1))
    low = low + error.sum(axis=0)
    best = first_least(high)
    every = np.arange(high.shape[1])
    lead = (high - high[best, every]) + (low - low[best, every])
    lead -= lead.min(axis=0)
    size = (len(p_xz) + 1) * (loss.max(axis=0) + np.abs(tilt).max(axis=0) @ p_xz)
    return np.asarray(
        lead * (1.0 + 8.0 * UNIT) + 64.0 * UNIT * UNIT * size + 8.0 * (len(p_xz) + 1) * SMALLEST
    )
