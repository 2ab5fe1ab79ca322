"""How long an option will take: a log-linear fit through everything it was timed on, mended by its nearest measurements.

    log t = b·(1, log N, (log N − 2.5)₊, (log N − 4)₊, log nm, log ε/I, log error share) + r,    all in decades

The hinges are a floor that turns into a slope: small problems cost the same whatever their size, and none costs less than
the smallest that was measured. b has a weak normal prior
(ridge). r is the weighted mean of the residuals of near instances, shrunk towards 0 when none is near. The interval is a
Student t prediction interval whose variance comes from residuals of fits without the case itself (the residual ÷ 1 − its
leverage), mended by other catalog entries only, times 1 + the leverage of the instance (which grows with extrapolation).
Source: A. Gelman et al., Bayesian Data Analysis, 3rd ed., §14.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.problems.numerics.double_double import Array
from discreet.reports.advice.evidence import Cell
from discreet.reports.advice.features import Features

__all__ = ["COVERAGE", "Estimate", "TimeModel"]

COVERAGE = 0.9
"""Share of cases in which the time is meant to lie in the interval."""

_HINGES = (2.5, 4.0)  # decades of N
_RIDGE = np.array([0.01, 0.3, 0.3, 0.3, 2.0, 1.0, 3.0])  # firmer where a difference in time needs more evidence
_PRIOR_DECADES = 0.15  # spread assumed before any residual is seen, worth `_PRIOR_COUNT` of them
_PRIOR_COUNT = 3.0
_LEAST_SECONDS = 1e-6
_LEAST_REMOTENESS = 0.25  # of 1 − leverage: a fit that only one case determines says little of its error


@dataclass(frozen=True)
class Estimate:
    """Predicted seconds with the ends of a prediction interval; all inf without measurements."""

    seconds: float
    low: float
    high: float


class TimeModel:
    """The fit of one option under one kind of budget. Law: scaling all seconds by a factor scales every estimate by it."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        timed = [cell for cell in cells if cell.timed]
        self.count = len(timed)
        if not timed:
            return
        self._decades = np.array([cell.features.decades for cell in timed])
        self._floor = np.where(np.arange(self._decades.shape[1]) == 0, self._decades.min(axis=0), -np.inf)
        self._groups = np.array([cell.group for cell in timed])
        logs = np.log10([max(_LEAST_SECONDS, cell.seconds) for cell in timed])
        rows = np.array([_regressors(each) for each in self._decades])
        self._level = float(np.median(logs))
        penalty = np.diag(_RIDGE)
        self._inverse = np.linalg.inv(rows.T @ rows + penalty)
        self._slopes = self._inverse @ (rows.T @ (logs - self._level))
        self._residuals = logs - self._level - rows @ self._slopes
        leverages = np.einsum("ij,jk,ik->i", rows, self._inverse, rows)
        self._own_errors = self._residuals / np.maximum(1.0 - leverages, _LEAST_REMOTENESS)
        self._errors = np.array([self._left_out(k, cell.features) for k, cell in enumerate(timed)])
        self._scale = math.sqrt(
            (float(self._errors @ self._errors) + _PRIOR_COUNT * _PRIOR_DECADES**2) / (self.count + _PRIOR_COUNT)
        )

    def predict(self, features: Features) -> Estimate:
        """Seconds on an instance, with the interval of `COVERAGE`."""
        if not self.count:
            return Estimate(math.inf, math.inf, math.inf)
        from scipy.special import stdtrit

        row = _regressors(np.maximum(features.decades, self._floor))
        centre = self._level + float(row @ self._slopes) + self._near(features, np.ones(self.count, dtype=bool))
        width = self._scale * math.sqrt(1.0 + float(row @ self._inverse @ row))
        reach = float(stdtrit(self.count + _PRIOR_COUNT - 1.0, 0.5 + 0.5 * COVERAGE)) * width
        return Estimate(*(10.0 ** min(300.0, value) for value in (centre, centre - reach, centre + reach)))

    def _near(self, features: Features, use: np.ndarray) -> float:
        weights = np.exp(-0.5 * features.distances(self._decades) ** 2) * use
        return float(weights @ self._residuals) / (float(weights.sum()) + 0.5)

    def _left_out(self, k: int, features: Features) -> float:
        return float(self._own_errors[k]) - self._near(features, self._groups != self._groups[k])


def _regressors(decades: Array) -> Array:
    outcomes, products, share, _, error = decades
    hinges = [max(0.0, outcomes - knot) for knot in _HINGES]
    return np.array([1.0, outcomes - 2.0, *hinges, products - 1.0, share, error])
