"""Estimators [m, N] made column-stochastic, and double-double sums over outcomes under them.

An optimal estimator randomises only at a few ties. Each outcome with a certain guess has that guess
as its *label*, and is summed by label without a product. Products are formed only for the columns
from which a guess is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.double_double import (
    Array,
    DoubleDouble,
    Split,
    dd_add,
    dd_dot,
    dd_sum,
    dd_sum_chosen,
)
from discreet.numerics.rounding import UNIT


@dataclass(frozen=True, eq=False)
class Decisions:
    """The guesses at some outcomes: a certain guess at most of them, a draw from a column at the
    others.

    certain   one at the certain guess of an outcome, else zero; a column of zeros if the guess is
              drawn [m, B]
    places    outcomes whose guess is drawn [K]
    columns   probabilities of their guesses [m, K]
    """

    certain: Array
    places: NDArray[np.intp]
    columns: Array

    @classmethod
    def of(cls, estimator: Array) -> Decisions:
        """Return the decisions of an estimator [m, B]; the guess is drawn if a column contains
        anything but ones and zeros.
        """
        certain = (estimator == 1.0).astype(np.float64)
        places = np.flatnonzero((certain != estimator).any(axis=0))
        certain[:, places] = 0.0
        return cls(certain, places, estimator.take(places, axis=1))

    @classmethod
    def labelled(
        cls, labels: NDArray[np.intp], places: NDArray[np.intp], columns: Array
    ) -> Decisions:
        """Return decisions with the label [B] of each outcome for certain, except for draws from
        the columns [m, K] at some places.
        """
        certain = one_hot(labels, len(columns))
        certain[:, places] = 0.0
        return cls(certain, places, columns)

    def matrix(self) -> Array:
        """Return the estimator as a matrix [m, B]."""
        estimator = self.certain.copy()
        estimator[:, self.places] = self.columns
        return estimator

    def chosen(self, values: Array) -> Array:
        """Return the values [B] of the certain guesses, for values [m, B]; 0 where the guess is
        drawn.
        """
        return np.asarray((self.certain * values).sum(axis=0))

    def sums(self, values: Array) -> DoubleDouble:
        """Return Σ_l P_il v_jl as a double-double [m, k], for values ≥ 0 below 1e150 [k, B]."""
        return self._with_drawn(dd_sum_chosen(values, self.certain), values)

    def sums_of(self, rows: Split) -> DoubleDouble:
        """Return Σ_l P_il v_jl as a double-double [m, k], for split rows."""
        return self._with_drawn(rows.chosen(self.certain), rows.values)

    def _with_drawn(self, certain: DoubleDouble, values: Array) -> DoubleDouble:
        if not self.places.size:
            return certain
        drawn = values.take(self.places, axis=1)
        some = np.flatnonzero(drawn.any(axis=1))  # the drawn outcomes may belong to one group
        if some.size == len(values):
            return dd_add(certain, dd_dot(self.columns[:, None, :], drawn))
        high, low = dd_dot(self.columns[:, None, :], drawn.take(some, axis=0))
        for whole, part in zip(
            certain, dd_add((certain[0][:, some], certain[1][:, some]), (high, low)), strict=True
        ):
            whole[:, some] = part
        return certain

    def expected(self, values: Array) -> DoubleDouble:
        """Return Σ_il P_il w_il as a double-double [], for values ≥ 0 below 1e150 [m, B]."""
        drawn = dd_dot(self.columns.ravel(), values.take(self.places, axis=1).ravel())
        return dd_add(dd_sum(self.chosen(values)), drawn)


def one_hot(labels: NDArray[np.intp], m: int) -> Array:
    """Return the estimator [m, B] that gives every outcome its label [B]."""
    return np.asarray(labels == np.arange(m)[:, None], dtype=np.float64)


def normalise(estimator: Array) -> Array:
    """Return a column-stochastic copy: non-finite and negative entries become 0, a column of zeros
    becomes uniform.

    Columns that already sum to one do not change.
    """
    estimator = np.add(estimator, 0.0, order="C")  # a copy, in which −0 is 0
    with np.errstate(over="ignore", invalid="ignore"):
        totals = estimator.sum(axis=0)
    if bool((totals == 1.0).all()) and estimator.min() >= 0.0:
        return np.asarray(estimator)
    clipped = np.where(np.isfinite(estimator), np.clip(estimator, 0.0, 1e300), 0.0)
    clipped[:, ~clipped.any(axis=0)] = 1.0
    stochastic = clipped.sum(axis=0) == 1.0
    clipped /= np.where(stochastic, 1.0, clipped.max(axis=0))
    clipped /= np.where(stochastic, 1.0, clipped.sum(axis=0))
    return np.asarray(clipped)


def summing_to_one(estimator: Array) -> Array:
    """Return a normalised estimator [m, N] whose entries are multiples of 2⁻⁵³ and whose columns
    sum to one exactly; the likeliest entry is one minus the others.
    """
    rounded = np.rint(estimator / UNIT) * UNIT
    index = np.arange(estimator.shape[1])
    likeliest = rounded.argmax(axis=0)
    rounded[likeliest, index] = 0.0
    rounded[likeliest, index] = 1.0 - rounded.sum(axis=0)
    return np.asarray(rounded)


def column_error(estimator: Array) -> float:
    """Return the largest |Σ_i P_il − 1| / max_i P_il of a normalised estimator [m, N], rounded up;
    0 without randomisation.

    It bounds the relative change of every probability if a column is divided by its sum, or if its
    likeliest guess is set to one minus the others.
    """
    high, low = dd_sum(estimator.T)
    missing = np.abs((high - 1.0) + low)
    return (
        float((missing / estimator.max(axis=0)).max()) * (1.0 + 2.0**-40) if missing.any() else 0.0
    )
