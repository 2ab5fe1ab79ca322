"""Estimators [m, N] made column-stochastic, and double-double sums over outcomes under them.

An optimal estimator randomises at a few ties only. Outcomes whose guess is certain have a *label*, that guess, and are
summed by label without a product. Products are formed only for the columns from which a guess is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array, DoubleDouble, dd_add, dd_dot, dd_sum

_FEW = 1 << 13  # up to so many products it costs less to form them all than to separate the columns


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

    def matrix(self) -> Array:
        """The estimator [m, B]."""
        found: Array = (self.labels == np.arange(len(self.columns))[:, None]).astype(np.float64)
        found[:, self.places] = self.columns
        return found

    def sums(self, shared: Array, own: Array | None = None) -> DoubleDouble:
        """Σ_l P_il (v_l, w_il) as a double-double [m, k + 1], or Σ_l P_il v_l [m, k] without w.

        v = shared [k, B] is the same for all guesses; w = own [m, B]. Entries must be under 1e150 in size.
        """
        m = len(self.columns)
        if m * (len(shared) + 1) * self.labels.size < _FEW:
            return dd_dot(self.matrix()[:, None, :], _for_each_guess(shared, own))
        labels, sums = self.labels.copy(), []
        labels[self.places] = m
        for guess in range(m):
            mine, rows = labels == guess, [shared] if own is None else [shared, own[guess : guess + 1]]
            sums.append(dd_sum(np.concatenate([np.compress(mine, each, axis=1) for each in rows])))
        by_label = np.array([high for high, _ in sums]), np.array([low for _, low in sums])
        if not self.places.size:
            return by_label
        drawn = _for_each_guess(shared[:, self.places], None if own is None else own[:, self.places])
        return dd_add(by_label, dd_dot(self.columns[:, None, :], drawn))


def _for_each_guess(shared: Array, own: Array | None) -> Array:
    """(v, w_i) for each of m guesses [m, k + 1, ·]; without w, v [k, ·] for all guesses."""
    if own is None:
        return shared
    return np.concatenate([np.broadcast_to(shared, (len(own), *shared.shape)), own[:, None]], axis=1)


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


def label_entries(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Flat indices, row by row, of the entries (labels[b], b) of a matrix [m, B]."""
    return labels * labels.size + np.arange(labels.size)
