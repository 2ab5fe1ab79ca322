"""A rule for densities as a case for the judge: the bracket that a rule and a tilt prove together.

`upper` is the error probability of a rule that keeps the budget: on the rule's own partition it is a matrix for a discrete
problem, added up, blended and valued as any matrix is, with the assumed inaccuracy of interval masses on top of rounding.
`lower` is the dual bound of the tilt, with the sum over outcomes replaced by an integral that `bound` bounds from below. No
rule whatever, on however many intervals, has an error probability under `lower`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from discreet.problems.continuous.bound import sweep
from discreet.problems.continuous.model import ContinuousProblem
from discreet.problems.continuous.rule import IntervalRule
from discreet.problems.judge.cases import MatrixCase
from discreet.problems.judge.conclusion import Duals, End, Worth, usable_duals
from discreet.problems.numerics.double_double import Array


class DensityCase:
    """A rule on intervals with optional duals."""

    anchors: tuple[End, ...] = ()

    def __init__(self, problem: ContinuousProblem, rule: IntervalRule, tilt: Array | None, multiplier: float | None) -> None:
        """Raises InputError for wrong shapes. Without duals the bound is the Bayes error."""
        self._problem, self._rule = problem, rule
        self._feasible = usable_duals(problem, tilt, multiplier)
        self._matrix = MatrixCase(rule.on(problem), rule.estimator, None, None)
        self.constraint = problem.constraint
        kept = np.array_equal(rule.estimator, self._matrix.answer)
        self.answer = rule if kept else IntervalRule(rule.edges, self._matrix.answer)
        self.own = self._widened(self._matrix.own)
        self.constant_errors = self._matrix.constant_errors
        self.blended_doubt = self._matrix.blended_doubt + problem.accuracy

    def _widened(self, worth: Worth) -> Worth:
        """Interval masses are only as accurate as assumed."""
        accuracy = self._problem.accuracy
        return replace(worth, upper=worth.upper * (1.0 + accuracy), doubt=worth.doubt + accuracy)

    def blended(self, share: float, end: End) -> tuple[IntervalRule, Worth]:
        """On the rule's own partition."""
        estimator, worth = self._matrix.blended(share, end)
        return IntervalRule(self._rule.edges, estimator), self._widened(worth)

    def duals(self) -> Iterator[Duals]:
        """Those given or derived, with what a certified subdivision proves of their integral."""
        tilt, multiplier = self._feasible
        allowed = 2e-10 * (self.own.error or self._problem.constant_error)  # for undecided intervals: well under any gap
        value = sweep(self._problem, tilt, allowed).value
        rounded_prior = self._problem.accuracy * float(np.abs(tilt).max())
        yield Duals(tilt, multiplier, (value, -rounded_prior))

    def worst_entry(self, answer: IntervalRule, tilt: Array) -> float:
        """Not known: it is a supremum over all measurements."""
        return math.inf
