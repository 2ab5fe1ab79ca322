"""Estimators [m, N] made column-stochastic, and sums over outcomes under them in twice the working precision.

An optimal estimator randomises at a few ties only. Where an entry is one, its product with what it weighs is that number
itself, and where it is zero nothing: the other products only are formed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array, DoubleDouble, dd_add, dd_dot, dd_sum

__all__ = ["column_error", "expected_loss", "expected_sums", "labelled_sums", "normalise"]

_MANY = 1 << 13  # entries from which looking for products that need not be formed pays


def normalise(estimator: Array) -> Array:
    """A column-stochastic copy: non-finite and negative entries become 0, an empty column becomes uniform.

    Columns that sum to one already are left as they are.
    """
    estimator = np.add(estimator, 0.0, order="C")  # a copy, in which −0 is 0
    with np.errstate(over="ignore", invalid="ignore"):
        totals = estimator.sum(axis=0)
    if bool((totals == 1.0).all()) and estimator.min() >= 0.0:
        return np.asarray(estimator)
    clipped = np.where(np.isfinite(estimator), np.clip(estimator, 0.0, 1e300), 0.0)
    stochastic = clipped.sum(axis=0) == 1.0
    if stochastic.all():
        return clipped
    largest = np.where(stochastic, 1.0, clipped.max(axis=0))
    if not largest.all():
        clipped[:, largest == 0.0] = 1.0
        largest = np.where(largest > 0.0, largest, 1.0)
    clipped /= largest
    clipped /= np.where(stochastic, 1.0, clipped.sum(axis=0))
    return np.asarray(clipped)


def column_error(estimator: Array) -> float:
    """How far the columns of a normalised estimator [m, N] are from summing to one: 0 without randomisation."""
    drawn = estimator[:, (estimator != 0.0).sum(axis=0) > 1]
    if not drawn.size:
        return 0.0
    total: DoubleDouble = (drawn[0], np.zeros(drawn.shape[1]))
    for row in drawn[1:]:
        total = dd_add(total, (row, np.zeros_like(row)))
    return float(np.abs((total[0] - 1.0) + total[1]).max()) * (1.0 + 2.0**-40)


def expected_sums(estimator: Array, values: Array) -> DoubleDouble:
    """Σ_l P_il v_l, double-double [m, k], for an estimator [m, N] and values [k, N] under 1e150 in size."""
    if estimator.size < _MANY:
        return dd_dot(estimator[:, None, :], values[None, :, :])
    return _stacked([_weighted(row, values) for row in estimator])


def expected_loss(estimator: Array, loss: Array) -> float:
    """Σ_il P_il L_il for an estimator and losses [m, N]."""
    return float(expected_sums(estimator.reshape(1, -1), loss.reshape(1, -1))[0][0, 0])


def _weighted(weights: Array, values: Array) -> DoubleDouble:
    """Σ_l w_l v_l, double-double [k], for weights [N]."""
    whole = weights == 1.0
    drawn = (weights != 0.0) & ~whole
    if np.count_nonzero(drawn) > 0.5 * weights.size:
        return dd_dot(values, weights)
    certain = dd_sum(np.compress(whole, values, axis=1))
    return dd_add(certain, dd_dot(np.compress(drawn, values, axis=1), weights[drawn])) if drawn.any() else certain


def labelled_sums(labels: NDArray[np.intp], count: int, values: Array) -> DoubleDouble:
    """The sums of the columns of values [n, N] that have each of `count` labels [N],, double-double [count, n]."""
    mine = labels == np.arange(count)[:, None]
    if count * values.size < _MANY:
        return dd_sum(mine[:, None, :] * values)
    return _stacked([dd_sum(np.compress(row, values, axis=1)) for row in mine])


def _stacked(sums: list[DoubleDouble]) -> DoubleDouble:
    return np.array([high for high, _ in sums]), np.array([low for _, low in sums])
