"""Sums over outcomes under an estimator most of whose columns are certain of their guess.

An optimal estimator randomises at a few ties only. Where a column is certain its products with what it weighs need not be
formed: they are the numbers themselves or nothing. The sums are those of `accurate`, over the same terms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.problems.accurate import Array, Pair, dot_pair, pair_sum, sum_pair

__all__ = ["certain", "expected_pair", "labelled_pair", "paired_sum"]

_MANY = 1 << 13  # entries of an estimator from which looking for certain columns pays
_MOSTLY = 0.5  # share of certain columns from which it pays


def certain(estimator: Array) -> NDArray[np.bool_]:
    """[m, N] where a column of an estimator [m, N] of entries ≥ 0 is certain of that guess: one there, zero elsewhere."""
    used: NDArray[np.bool_] = estimator != 0.0
    number = used[0].astype(np.int16)
    for row in used[1:]:
        number += row
    used &= estimator == 1.0
    used &= number == 1
    return used


def expected_pair(estimator: Array, values: Array) -> Pair:
    """Σ_l P_il v_jl as a pair [m, n], for an estimator [m, N] and values [n, N]; entries under 1e150 in size."""
    split = _split(estimator)
    if split is None:
        return dot_pair(estimator[:, None, :], values[None, :, :])
    sure, rest = split
    sums = [sum_pair(np.compress(mine, values, axis=1)) for mine in sure]
    total = np.array([high for high, _ in sums]), np.array([low for _, low in sums])
    if not rest.size:
        return total
    return pair_sum(total, dot_pair(estimator[:, None, rest], values[None, :, rest]))


def labelled_pair(labels: NDArray[np.intp], count: int, values: Array) -> Pair:
    """The sums of the columns of values [n, N] that have each of `count` labels [N], as a pair [count, n]."""
    mine = labels == np.arange(count)[:, None]
    if count * values.size < _MANY:
        return sum_pair(mine[:, None, :] * values)
    sums = [sum_pair(np.compress(row, values, axis=1)) for row in mine]
    return np.array([high for high, _ in sums]), np.array([low for _, low in sums])


def paired_sum(values: Array, estimator: Array) -> Pair:
    """Σ_l P_il v_il as a pair [m], for an estimator and values [m, N]; entries under 1e150 in size."""
    split = _split(estimator)
    if split is None:
        return dot_pair(values, estimator)
    sure, rest = split
    sums = [sum_pair(row[mine]) for row, mine in zip(values, sure, strict=True)]
    total = np.array([high for high, _ in sums]), np.array([low for _, low in sums])
    return pair_sum(total, dot_pair(values[:, rest], estimator[:, rest])) if rest.size else total


def _split(estimator: Array) -> tuple[NDArray[np.bool_], NDArray[np.intp]] | None:
    """Where columns are certain, and the indices of the others; None where products all over cost less."""
    if estimator.size < _MANY:
        return None
    sure = certain(estimator)
    rest = np.flatnonzero(~sure.any(axis=0))
    return None if rest.size > (1.0 - _MOSTLY) * estimator.shape[1] else (sure, rest)
