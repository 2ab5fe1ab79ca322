"""Water levels: the least κ with Σ_j w_j (y_j − κ)₊ ≤ a given total, in closed form."""

from __future__ import annotations

import numpy as np

from discreet.measures.measure import largest_candidate, sum_error
from discreet.numerics.double_double import Array


def water_level(
    tilt: Array, weights: Array, total: Array, base: Array | None = None
) -> tuple[Array, Array]:
    """Return the least κ_i with Σ_j w_j (y_ij − κ_i)₊ ≤ T_i, and sizes; the error of κ_i is at most
    `sum_error(n)` times its size [m].

    tilt t [m, n], weights w [n] > 0, total T [m] ≥ 0. y = t or, with a base b [n] ≥ 0 such that Σ_j
    w_j b_j = 1, y = t + T b.

    Every set S of values requires Σ_{j in S} w_j (y_j − κ) ≤ T, and the largest κ required is that
    of the values above it. So κ is the largest (Σ_S w y − T) / Σ_S w over the sets S of the k
    largest y. With a base this is (Σ_S w t − T Σ_{not in S} w b) / Σ_S w, in which T does not
    cancel.
    """
    lifted = tilt if base is None else tilt + total[:, None] * base
    order = np.argsort(-lifted, axis=1, kind="stable")
    mass = np.cumsum(weights[order], axis=1)
    ordered = np.take_along_axis(weights * tilt, order, axis=1)
    filled = total[:, None] * (1.0 if base is None else _left_out((weights * base)[order]))
    size = (np.cumsum(np.abs(ordered), axis=1) + filled) / mass
    demand = (np.cumsum(ordered, axis=1) - filled) / mass
    return largest_candidate(demand, size, sum_error(weights.size))


def _left_out(shares: Array) -> Array:
    """Return the sums of the later entries of each row [m, n]."""
    return np.concatenate(
        [np.cumsum(shares[:, :0:-1], axis=1)[:, ::-1], np.zeros((len(shares), 1))], axis=1
    )
