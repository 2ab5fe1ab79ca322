"""The judge's case for a rule on densities: a matrix on the rule's own partition, whose masses are
inexact, and its duals.

In the dual bound an integral, bounded from below in `continuous/bound`, takes the place of the sum
over outcomes. So no rule, on any number of intervals, has an error probability under `lower`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from discreet.problems.continuous.bound import sweep
from discreet.problems.continuous.model import ContinuousProblem
from discreet.problems.continuous.rule import IntervalRule
from discreet.problems.judge.cases import MatrixCase
from discreet.problems.judge.conclusion import Duals, End, Worth, usable_duals
from discreet.problems.measures.duals import change_with_prior
from discreet.problems.numerics.double_double import Array


class DensityCase:
    """A rule on intervals with optional duals."""

    anchors: tuple[End, ...] = ()
    off = 0.0

    def __init__(
        self,
        problem: ContinuousProblem,
        rule: IntervalRule,
        tilt: Array | None,
        multipliers: float | Array | None,
    ) -> None:
        """Raises InputError for wrong shapes. Without duals the bound is the Bayes error."""
        problem.refuse_other_measures("constraints on densities are")
        self._problem = problem
        # Intervals joined, so that no edge between equals is charged.
        self._rule = rule.simplified()
        self._feasible = usable_duals(problem, tilt, multipliers)
        rule.check(problem)
        discrete, *wrong = problem.on_within(self._rule.edges)
        self._matrix = MatrixCase(
            discrete, self._rule.estimator, None, None, wrong=(wrong[0], wrong[1])
        )
        self.terms = problem.terms
        self.own = self._matrix.own
        kept = np.array_equal(self._rule.estimator, self._matrix.answer)
        self.answer = rule if kept else IntervalRule(self._rule.edges, self._matrix.answer)
        self.constant_errors = self._matrix.constant_errors
        self.blended_doubt = self._matrix.blended_doubt

    def blended(self, share: float, end: End) -> tuple[IntervalRule, Worth]:
        """A blend on the rule's own partition."""
        estimator, worth = self._matrix.blended(share, end)
        return IntervalRule(self._rule.edges, estimator), worth

    def duals(self) -> Iterator[Duals]:
        """The feasible duals, with the lower bound of their integral that a certified subdivision
        proves.
        """
        tilt, multipliers = self._feasible
        # For undecided intervals: well under any gap.
        allowed = 2e-10 * (self.own.error or self._problem.constant_error)
        value = sweep(self._problem, tilt, allowed).value
        # The p(x_j) for which the tilt is feasible err by a share of themselves. So does the total
        # of all densities, by which the value is to be divided.
        infeasible = change_with_prior(tilt, float(multipliers[0]), self._problem.p_x)
        rounding = 8.0 * self._problem.rounding * (abs(value) + infeasible)
        yield Duals(tilt, multipliers, (value, -rounding))

    def worst_entry(self, answer: IntervalRule, tilt: Array) -> float:
        """Unknown (inf): it would be a supremum over all measurements."""
        return math.inf
