"""Sums over outcomes under an estimator most of whose columns are certain of their guess.

An optimal estimator randomises at a few ties only. Where a column is certain its products with what it weighs need not be
formed: they are the numbers themselves or nothing. The sums are double-double, over the same terms.

The law of an estimator, its error probability and, where its certain guesses are the best ones, the bound of its duals need
the same sums over the certain columns: `Sums` forms each once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array, DoubleDouble, dd_add, dd_dot, dd_sum

__all__ = ["Split", "Sums", "certain", "column_error", "expected_sums", "labelled_sums", "normalise"]

_MANY = 1 << 13  # entries of an estimator from which looking for certain columns pays


def certain(estimator: Array) -> NDArray[np.bool_]:
    """[m, N] where a column of an estimator [m, N] of entries ≥ 0 is certain of that guess: one there, zero elsewhere."""
    used: NDArray[np.bool_] = estimator != 0.0
    number = used[0].astype(np.int16)
    for row in used[1:]:
        number += row
    used &= estimator == 1.0
    used &= number == 1
    return used


@dataclass(frozen=True, eq=False)
class Split:
    """Where a column of an estimator [m, N] is certain of a guess, sure [m, N]; and the indices of the others, rest [K]."""

    sure: NDArray[np.bool_]
    rest: NDArray[np.intp]


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


def column_error(estimator: Array, split: Split | None = None) -> float:
    """How far the columns of a normalised estimator [m, N] are from summing to one: 0 without randomisation."""
    drawn = estimator[:, ~certain(estimator).any(axis=0) if split is None else split.rest]
    if not drawn.size:
        return 0.0
    high, low = dd_sum(np.ascontiguousarray(drawn.T))
    return float(np.abs((high - 1.0) + low).max()) * (1.0 + 2.0**-40)


class Sums:
    """Sums over the outcomes under an estimator [m, N], given p_xz [n, N] and loss [m, N]; entries under 1e150 in size."""

    def __init__(self, estimator: Array, p_xz: Array, loss: Array) -> None:
        self.estimator, self._p_xz, self._loss = estimator, p_xz, loss

    @cached_property
    def split(self) -> Split | None:
        """None where products all over cost less."""
        if self.estimator.size < _MANY:
            return None
        sure = certain(self.estimator)
        rest = np.flatnonzero(~sure.any(axis=0))
        return None if rest.size > 0.5 * self.estimator.shape[1] else Split(sure, rest)

    @cached_property
    def certain_joint(self) -> DoubleDouble:
        """Σ a_l over the columns certain of each guess, double-double [m, n]; needs the split."""
        assert self.split is not None
        return _stacked([dd_sum(np.compress(mine, self._p_xz, axis=1)) for mine in self.split.sure])

    @cached_property
    def certain_loss(self) -> DoubleDouble:
        """Σ L_il over the columns certain of guess i, double-double [m]; needs the split."""
        assert self.split is not None
        return _stacked([dd_sum(row[mine]) for row, mine in zip(self._loss, self.split.sure, strict=True)])

    @property
    def joint(self) -> DoubleDouble:
        """Σ_l P_il a_jl, double-double [m, n]."""
        if self.split is None:
            return dd_dot(self.estimator[:, None, :], self._p_xz[None, :, :])
        rest = self.split.rest
        if not rest.size:
            return self.certain_joint
        return dd_add(self.certain_joint, dd_dot(self.estimator[:, None, rest], self._p_xz[None, :, rest]))

    @property
    def loss(self) -> DoubleDouble:
        """Σ_l P_il L_il, double-double [m]."""
        if self.split is None:
            return dd_dot(self._loss, self.estimator)
        rest = self.split.rest
        if not rest.size:
            return self.certain_loss
        return dd_add(self.certain_loss, dd_dot(self._loss[:, rest], self.estimator[:, rest]))

    @property
    def error(self) -> float:
        """Σ_il P_il L_il."""
        return float(dd_sum(self.loss[0])[0])


def expected_sums(estimator: Array, values: Array) -> DoubleDouble:
    """Σ_l P_il v_jl, double-double [m, n], for an estimator [m, N] and values [n, N]; entries under 1e150 in size."""
    return Sums(estimator, values, values[:0]).joint


def labelled_sums(labels: NDArray[np.intp], count: int, values: Array) -> DoubleDouble:
    """The sums of the columns of values [n, N] that have each of `count` labels [N],, double-double [count, n]."""
    mine = labels == np.arange(count)[:, None]
    if count * values.size < _MANY:
        return dd_sum(mine[:, None, :] * values)
    return _stacked([dd_sum(np.compress(row, values, axis=1)) for row in mine])


def _stacked(sums: list[DoubleDouble]) -> DoubleDouble:
    return np.array([high for high, _ in sums]), np.array([low for _, low in sums])
