"""Sums over outcomes under an estimator most of whose columns are certain of their guess.

An optimal estimator randomises at a few ties only. Where a column is certain its products with what it weighs need not be
formed: they are the numbers themselves or nothing. The sums are those of `accurate`, over the same terms.

The law of an estimator, its error probability and, where its certain guesses are the best ones, the bound of its duals need
the same sums over the certain columns: `Sums` forms each once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array, Pair, dot_pair, pair_sum, sum_pair

__all__ = ["Split", "Sums", "certain", "expected_pair", "labelled_pair", "paired_sum"]

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


@dataclass(frozen=True, eq=False)
class Split:
    """Where a column of an estimator [m, N] is certain of a guess, sure [m, N]; and the indices of the others, rest [K]."""

    sure: NDArray[np.bool_]
    rest: NDArray[np.intp]


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
        return None if rest.size > (1.0 - _MOSTLY) * self.estimator.shape[1] else Split(sure, rest)

    @cached_property
    def certain_joint(self) -> Pair:
        """Σ a_l over the columns certain of each guess, a pair [m, n]; needs the split."""
        assert self.split is not None
        return _stacked([sum_pair(np.compress(mine, self._p_xz, axis=1)) for mine in self.split.sure])

    @cached_property
    def certain_loss(self) -> Pair:
        """Σ L_il over the columns certain of guess i, a pair [m]; needs the split."""
        assert self.split is not None
        return _stacked([sum_pair(row[mine]) for row, mine in zip(self._loss, self.split.sure, strict=True)])

    @property
    def joint(self) -> Pair:
        """Σ_l P_il a_jl, a pair [m, n]."""
        if self.split is None:
            return dot_pair(self.estimator[:, None, :], self._p_xz[None, :, :])
        rest = self.split.rest
        if not rest.size:
            return self.certain_joint
        return pair_sum(self.certain_joint, dot_pair(self.estimator[:, None, rest], self._p_xz[None, :, rest]))

    @property
    def loss(self) -> Pair:
        """Σ_l P_il L_il, a pair [m]."""
        if self.split is None:
            return dot_pair(self._loss, self.estimator)
        rest = self.split.rest
        if not rest.size:
            return self.certain_loss
        return pair_sum(self.certain_loss, dot_pair(self._loss[:, rest], self.estimator[:, rest]))

    @property
    def error(self) -> float:
        """Σ_il P_il L_il."""
        return float(sum_pair(self.loss[0])[0])


def expected_pair(estimator: Array, values: Array) -> Pair:
    """Σ_l P_il v_jl as a pair [m, n], for an estimator [m, N] and values [n, N]; entries under 1e150 in size."""
    return Sums(estimator, values, values[:0]).joint


def paired_sum(values: Array, estimator: Array) -> Pair:
    """Σ_l P_il v_il as a pair [m], for an estimator and values [m, N]; entries under 1e150 in size."""
    return Sums(estimator, values[:0], values).loss


def labelled_pair(labels: NDArray[np.intp], count: int, values: Array) -> Pair:
    """The sums of the columns of values [n, N] that have each of `count` labels [N], as a pair [count, n]."""
    mine = labels == np.arange(count)[:, None]
    if count * values.size < _MANY:
        return sum_pair(mine[:, None, :] * values)
    return _stacked([sum_pair(np.compress(row, values, axis=1)) for row in mine])


def _stacked(pairs: list[Pair]) -> Pair:
    return np.array([high for high, _ in pairs]), np.array([low for _, low in pairs])
