"""Estimators [m, N] made column-stochastic, and sums over outcomes under them in twice the working precision.

An optimal estimator randomises at a few ties only. Where the guess is certain nothing need be multiplied: outcomes are added
up by their labels. Products are formed of the columns that draw their guess, and of no others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array, DoubleDouble, dd_add, dd_dot, dd_sum

_FEW = 1 << 13  # entries up to which masking them for every label costs less than taking them apart


@dataclass(frozen=True, eq=False)
class Decisions:
    """What is guessed at some outcomes: a label, but for the few that draw their guess.

    labels    of the others, in their order              [B − K]
    places    of the outcomes that draw                  [K]
    columns   probabilities of the guesses there         [m, K]
    """

    labels: NDArray[np.intp]
    places: NDArray[np.intp]
    columns: Array

    @classmethod
    def of(cls, estimator: Array) -> Decisions:
        """Those of an estimator [m, B]; it draws wherever a column is not a one with nothing beside it."""
        certain = (np.count_nonzero(estimator, axis=0) == 1) & (estimator.max(axis=0) == 1.0)
        places = np.flatnonzero(~certain)
        labels = (np.arange(estimator.shape[0]) @ estimator)[certain].astype(np.intp)
        return cls(labels, places, np.take(estimator, places, axis=1))

    def parted(self, values: Array) -> tuple[Array, Array]:
        """Columns of values [k, B] with a label, and of those that draw."""
        if not self.places.size:
            return values, values[:, :0]
        certain = np.ones(values.shape[1], dtype=np.bool_)
        certain[self.places] = False
        return np.compress(certain, values, axis=1), np.take(values, self.places, axis=1)


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
    decided = Decisions.of(estimator)
    certain, drawn = decided.parted(values)
    by_label = labelled_sums(decided.labels, estimator.shape[0], certain)
    return dd_add(by_label, dd_dot(decided.columns[:, None, :], drawn)) if drawn.size else by_label


def expected_loss(estimator: Array, loss: Array) -> float:
    """Σ_il P_il L_il for an estimator and losses [m, N]."""
    decided = Decisions.of(estimator)
    certain, drawn = decided.parted(loss)
    by_label = dd_sum(certain.take(label_entries(decided.labels)))
    return float(dd_add(by_label, dd_dot(decided.columns.ravel(), drawn.ravel()))[0])


def label_entries(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where the entries of a matrix [m, B] lie that stand in the row of each column's label [B], counted row by row."""
    return labels * labels.size + np.arange(labels.size)


def labelled_sums(labels: NDArray[np.intp], count: int, values: Array) -> DoubleDouble:
    """The sums of the columns of values [k, B] that have each of `count` labels [B], double-double [count, k]."""
    mine = labels == np.arange(count)[:, None]
    if count * values.size < _FEW:
        return dd_sum(mine[:, None, :] * values)
    sums = [dd_sum(np.compress(row, values, axis=1)) for row in mine]
    return np.array([high for high, _ in sums]), np.array([low for _, low in sums])
