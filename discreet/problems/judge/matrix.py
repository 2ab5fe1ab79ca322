"""A matrix [m, N] as a case for the judge: entries that are one need no products.

The error probability and the law of (X, Ŷ) are sums in twice the working precision of the stored numbers. Repairs are
matrices again, stored and added up anew, so what is certified is what is returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from discreet.problems.judge.conclusion import Duals, End, Worth, numbers, usable_duals
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.estimators import column_error, normalise
from discreet.problems.numerics.label_sums import tally_for
from discreet.problems.numerics.rounding import SMALLEST, UNIT
from discreet.problems.numerics.tilted_losses import in_order_losses, most_wasted
from discreet.problems.problem import Problem

__all__ = ["MatrixCase"]


class MatrixCase:
    """An estimator [m, N] of any numbers with optional duals, and anchors to blend towards."""

    def __init__(
        self,
        problem: Problem,
        estimator: Array,
        tilt: Array | None,
        multiplier: float | None,
        anchors: Iterable[Array],
    ) -> None:
        """Raises InputError for wrong shapes and for what is not made of real numbers."""
        self._problem, self._towards = problem, anchors
        self._given = usable_duals(problem, tilt, multiplier)
        self.constraint = problem.constraint
        self.answer = normalise(numbers("estimator", estimator, (problem.m, problem.N)))
        self.own = self._worth(self.answer)
        self.blended_doubt = 2.0 * (problem.m + 1) * UNIT  # rounding of the blended entries, and of their columns

    @property
    def constant_errors(self) -> Array:
        """Error probability of always guessing y_i [m]."""
        return self._problem.constant_errors

    def _worth(self, estimator: Array) -> Worth:
        problem = self._problem
        unpriced = self.constraint.perfect or self.constraint.oblivious
        error, missed = problem.error_probability(estimator), 0.0
        if error < 1e-290 and bool(((problem.loss > 0.0) & (estimator > 0.0)).any()):
            missed = SMALLEST * estimator.size
        # A sum of terms ≥ 0 in twice the working precision; columns sum to one within m + 1 units, also blended ones.
        doubt = 0.0 if unpriced else column_error(estimator)
        return Worth(problem.output_law(estimator), error, (problem.m + 8) * UNIT, missed, doubt)

    def blended(self, share: float, end: End) -> tuple[Array, Worth]:
        """Entries rounded, columns made to sum to one again; a whole end as it is."""
        towards = end.answer if end.answer.ndim == 2 else end.answer[:, None]
        if share == 1.0:
            return np.array(np.broadcast_to(towards, self.answer.shape)), end.worth
        estimator = normalise((1.0 - share) * self.answer + share * towards)
        return estimator, self._worth(estimator)

    @property
    def anchors(self) -> Iterator[End]:
        """Those that were given with the right shape."""
        for anchor in self._towards:
            if np.shape(anchor) == self.answer.shape:
                estimator = normalise(np.asarray(anchor, dtype=np.float64))
                moved = 0.5 * float(np.abs(estimator - self.answer).sum(axis=0) @ self._problem.p_z)
                yield End(estimator, self._worth(estimator), moved)

    def duals(self) -> Iterator[Duals]:
        """None, which prove the Bayes error, and those given."""
        tilt, multiplier = self._given
        yield Duals(*usable_duals(self._problem, None, None), (self._problem.bayes_error * (1.0 - 4.0 * UNIT),))
        if tilt.any():
            yield Duals(tilt, multiplier, self._least(tilt))

    def _least(self, tilt: Array) -> tuple[float, ...]:
        """Parts of Σ_l min_i of the tilted losses. Any labels will do: those of the computed least are taken."""
        found = tally_for(self._problem.N)(self._problem.p_xz, self._problem.loss, tilt, tilt)
        return found.least(tilt, found.doubt)

    def worst_entry(self, answer: Array, tilt: Array) -> float:
        """max_il P_il r_il / w_l."""
        problem = self._problem
        return most_wasted(answer, in_order_losses(problem.p_xz, problem.loss, tilt), problem.p_z)
