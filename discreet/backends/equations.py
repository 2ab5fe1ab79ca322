"""Small linear systems whose equations may be dependent: the solution of least norm.

Method: least squares by singular values, where small ones count as 0 (`Precision.rank`). Unknowns
and equations are scaled first, so that units do not affect the rank. A vector needs no singular
values.

Source: G. H. Golub, C. F. Van Loan, *Matrix Computations*, 4th edition, §5.5.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.backends.precision import Precision
from discreet.numerics.double_double import Array


def sizes(matrix: Array) -> Array:
    """Return the largest entry of each row, or 1 for a row of zeros: the scales that equilibrate
    it.
    """
    largest = np.maximum.reduce(np.abs(matrix), axis=1)
    return np.asarray(largest + (largest == 0.0))


def least_norm(matrix: Array, right: Array) -> Array | None:
    """Return the solution of least norm of a scaled system [r, c]; None if numbers overflow."""
    if 1 in matrix.shape:  # one equation or one unknown
        return finite(right @ matrix / max(float(np.vdot(matrix, matrix)), Precision.nonzero))
    if not math.isfinite(float(np.add.reduce(matrix, axis=None) + np.add.reduce(right))):
        return None
    try:
        return finite(np.asarray(np.linalg.lstsq(matrix, right, rcond=Precision.rank)[0]))
    except np.linalg.LinAlgError:  # the singular values do not converge
        return None


def solve_equilibrated(matrix: Array, right: Array) -> Array | None:
    """Return the least-norm solution of a system in any units; the norm is that of the scaled
    unknowns.
    """
    rows = sizes(matrix)
    matrix = matrix / rows[:, None]
    columns = sizes(matrix.T)
    solution = least_norm(matrix / columns, right / rows)
    return None if solution is None else solution / columns


def solve_bordered(matrix: Array, borders: Array, right: Array, last: Array) -> Array | None:
    """Return the solution (x [k], y [b]) of matrix x + borders' y = right and borders x = last,
    equilibrated; borders [b, k].
    """
    if borders.size == 1:  # the last equation determines x
        first = last / borders[0]
        return finite(np.concatenate([first, (right - matrix[0] * first) / borders[0]]))
    count = right.size
    whole = np.zeros((count + last.size, count + last.size))
    whole[:count, :count] = matrix
    whole[count:, :count] = borders
    whole[:count, count:] = borders.T
    return solve_equilibrated(whole, np.concatenate([right, last]))


def finite(numbers: Array) -> Array | None:
    """Return the numbers [k], or None if one of them is not finite."""
    return numbers if math.isfinite(float(np.add.reduce(numbers))) else None
