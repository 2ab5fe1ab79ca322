"""A matrix [m, N] as a case for the judge.

Repairs are matrices again, stored and added up anew, so what is certified is what is returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from discreet.problems.judge.conclusion import Duals, End, Worth, numbers, usable_duals, worth_of
from discreet.problems.measures.law import faint_lift
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.estimators import Decisions, normalise
from discreet.problems.numerics.rounding import UNIT
from discreet.problems.numerics.sums import Sums, sums_over
from discreet.problems.problem import Problem


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
        self._tilt, self._multiplier = usable_duals(problem, tilt, multiplier)
        self._lift = faint_lift(problem.p_x)
        self.constraint = problem.constraint
        self.answer = normalise(numbers("estimator", estimator, (problem.m, problem.N)))
        self._sums = self._sums_under(self.answer, self._tilt)
        self.own = worth_of(self._sums, problem.marginal, self._lift)
        self._latest = self.answer, self._sums
        self.blended_doubt = 2.0 * (problem.m + 1) * UNIT  # rounding of the blended entries, and of their columns

    @property
    def constant_errors(self) -> Array:
        """Error probability of always guessing y_i [m]."""
        return self._problem.constant_errors

    def _sums_under(self, estimator: Array, tilt: Array) -> Sums:
        p_xz, loss = self._problem.p_xz, self._problem.loss
        return sums_over(lambda block: Decisions.of(estimator[:, block]), p_xz, loss, tilt, self._lift)

    def _worth(self, estimator: Array) -> Worth:
        self._latest = estimator, self._sums_under(estimator, self._tilt)
        return worth_of(self._latest[1], self._problem.marginal, self._lift)

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
        yield Duals(*usable_duals(self._problem, None, None), (self._problem.bayes_error * (1.0 - 4.0 * UNIT),))
        if self._tilt.any():
            yield Duals(self._tilt, self._multiplier, self._sums.least(self._tilt, self._lift))

    def worst_entry(self, answer: Array, tilt: Array) -> float:
        """max_il P_il r_il / w_l."""
        known = answer is self._latest[0] and tilt is self._tilt
        return (self._latest[1] if known else self._sums_under(answer, tilt)).worst
