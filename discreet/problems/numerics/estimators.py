"""Estimators [m, N] made column-stochastic, and double-double sums over outcomes under them.

An optimal estimator randomises at a few ties only. Outcomes whose guess is certain have a *label*, that guess, and are
summed by label without a product. Products are formed only for the columns from which a guess is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array, DoubleDouble, dd_add, dd_dot, dd_sum, dd_sum_chosen


@dataclass(frozen=True, eq=False)
class Decisions:
    """What is guessed at some outcomes: a label at most of them, a draw from a column at the few others.

    labels    of the outcomes; not read at a draw           [B]
    places    of the outcomes whose guess is drawn          [K]
    columns   probabilities of the guesses there            [m, K]
    """

    labels: NDArray[np.intp]
    places: NDArray[np.intp]
    columns: Array

    @classmethod
    def of(cls, estimator: Array) -> Decisions:
        """The decisions of an estimator [m, B]; the guess is drawn wherever a column is not a single one among zeros."""
        one = estimator == 1.0
        places = np.flatnonzero(~((one | (estimator == 0.0)).all(axis=0) & (estimator.sum(axis=0) == 1.0)))
        labels = one[1].astype(np.intp) if len(one) == 2 else one.argmax(axis=0)
        return cls(labels, places, estimator.take(places, axis=1))

    @cached_property
    def entries(self) -> NDArray[np.intp]:
        """Flat indices, row by row, of the entries (label of b, b) of a matrix [m, B]."""
        return self.labels * self.labels.size + np.arange(self.labels.size)

    def matrix(self) -> Array:
        """The estimator [m, B]."""
        found: Array = (self.labels == np.arange(len(self.columns))[:, None]).astype(np.float64)
        found[:, self.places] = self.columns
        return found

    def sums(self, values: Array) -> DoubleDouble:
        """Σ_l P_il v_jl as a double-double [m, k], for values ≥ 0 and under 1e150 [k, B]."""
        certain = self.matrix()
        certain[:, self.places] = 0.0
        drawn = dd_dot(self.columns[:, None, :], values.take(self.places, axis=1))
        return dd_add(dd_sum_chosen(values, certain), drawn)

    def expected(self, values: Array) -> DoubleDouble:
        """Σ_il P_il w_il as a double-double [], for values ≥ 0 and under 1e150 [m, B]."""
        certain = values.take(self.entries)
        certain[self.places] = 0.0
        return dd_add(dd_sum(certain), dd_dot(self.columns.ravel(), values.take(self.places, axis=1).ravel()))


def normalise(estimator: Array) -> Array:
    """A column-stochastic copy: non-finite and negative entries become 0, a column of zeros becomes uniform.

    Columns that already sum to one do not change.
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
    """The largest |Σ_i P_il − 1| of a normalised estimator [m, N], rounded up: 0 without randomisation."""
    high, low = dd_sum(estimator.T)
    return float(np.abs((high - 1.0) + low).max(initial=0.0)) * (1.0 + 2.0**-40)
