"""The judge's case for a rule of guesses over time: the sums of its matrix, and duals whose minimum
is one backward pass.

The error probability and the law of (X, Ŷ_1 … Ŷ_T) are those of the matrix of all guesses given all
measurements, so they are summed as for any matrix. Its entries are products of kernels, whose
rounding is a doubt about every entry. In the dual bound the least sum of tilted losses over
*causal* rules takes the place of the sum of the least: minima over each guess, sums over each
measurement, from the last step to the first.

Source: docs/theory.md, section 24.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from discreet.problems.causal.model import CausalProblem
from discreet.problems.causal.rule import CausalRule
from discreet.problems.errors import InputError
from discreet.problems.judge.conclusion import Duals, End, Worth, usable_duals, worth_of
from discreet.problems.judge.privacy import groups_of, privacy
from discreet.problems.measures.law import faint_lift, total_error
from discreet.problems.numerics.double_double import Array, DoubleDouble, dd_add, exact_product
from discreet.problems.numerics.estimators import Decisions, normalise
from discreet.problems.numerics.rounding import LEAST_EXACT, SMALLEST, UNIT
from discreet.problems.numerics.sums import sums_over

_VANISHED = 1e-300
"""More than what a product that is not exact, as it is below 1e-290, loses."""


class CausalCase:
    """A causal rule with optional duals."""

    anchors: tuple[End, ...] = ()

    def __init__(
        self,
        problem: CausalProblem,
        rule: CausalRule,
        tilt: Array | None,
        multipliers: float | Array | None,
    ) -> None:
        """Raises InputError for a rule of other sizes and for duals of a wrong shape."""
        if rule.tree != problem.tree:
            raise InputError(
                f"the rule is {rule} and the problem has {problem.tree}; give a rule "
                "of the same sizes"
            )
        self._problem = problem
        self.answer = rule
        self.terms = problem.terms
        self._model = problem.noncausal
        self._tilt, self._multipliers = usable_duals(self._model, tilt, multipliers)
        self._lift = faint_lift(problem.p_x)
        self.off = total_error(self._model.marginal, self.terms[0].rows)
        tree = problem.tree
        # Of each of T factors: its exact quotient by a total of m terms, and its product; then the
        # total of a column.
        self._product = 2.0 * (sum(tree.guesses) + 4 * tree.steps + problem.m) * UNIT
        self.own = self._worth(rule)
        self.blended_doubt = 2.0 * self.own.doubt + 8.0 * tree.steps * UNIT

    @property
    def constant_errors(self) -> Array:
        """Error probability of always making the same sequence of guesses [m_1 ⋯ m_T]."""
        return self._model.constant_errors

    def _worth(self, rule: CausalRule) -> Worth:
        stored = rule.dense()
        model = self._model
        tree = self._problem.tree
        matrix = normalise(stored)
        sums = sums_over(
            lambda block: Decisions.of(matrix[:, block]),
            model.p_xz,
            model.loss,
            self._tilt,
            self._lift,
        )
        made = (
            tree.weights([np.asarray(kernel > 0.0, dtype=np.float64) for kernel in rule.kernels])[
                -1
            ]
            > 0.0
        )
        product = 0.0 if ((stored == 1.0) == made).all() else self._product
        # Of a faint entry each product, and each of two quotients of `normalise`, loses at most
        # half of SMALLEST.
        faint = made & (stored < LEAST_EXACT)
        most = (tree.steps + 4) * SMALLEST
        lost = np.asarray(sums.lost + most * np.outer(faint.any(axis=1), model.p_x > 0.0))
        worth = worth_of(replace(sums, lost=lost), model.marginal, self._lift, self.terms)
        vanished = most * (1.0 + float(model.loss[faint].sum())) if faint.any() else 0.0
        doubt = worth.doubt + product
        worth = replace(worth, upper=worth.upper * (1.0 + 2.0 * product) + vanished, doubt=doubt)
        if not self.terms[0].budget.perfect:
            return worth
        found = privacy(groups_of(worth.law, self.terms), [], model.marginal, doubt, doubt)
        return replace(worth, within=found.within)

    def blended(self, share: float, end: End) -> tuple[CausalRule, Worth]:
        """The rule that follows the end with probability `share`, and at share 1 the
        end as it is.
        """
        tree = self._problem.tree
        towards = CausalRule.drawn(tree, end.answer)
        rule = towards if share == 1.0 else self.answer.blended(share, towards)
        if share == 1.0 and np.count_nonzero(end.answer) == 1:
            return rule, end.worth
        return rule, self._worth(rule)

    def duals(self) -> Iterator[Duals]:
        """Zero duals, which prove the error of the causal Bayes rule, and the given ones."""
        yield Duals(*usable_duals(self._model, None, None), self._least(np.zeros_like(self._tilt)))
        if self._tilt.any():
            yield Duals(self._tilt, self._multipliers, self._least(self._tilt))

    def _least(self, tilt: Array) -> tuple[float, ...]:
        """Numbers whose exact sum is at most that of the tilted losses under any causal rule.

        The tilted losses are added up in double-double, from products without error but for what
        underflows.
        """
        model = self._model
        costs: DoubleDouble = (model.loss, np.zeros_like(model.loss))
        for j in np.flatnonzero(tilt.any(axis=0)):
            costs = dd_add(costs, exact_product(tilt[:, j : j + 1], model.p_xz[j]))
        size = model.loss + np.abs(tilt) @ model.p_xz
        return self._problem.tree.least_bound(
            costs, 8.0 * (model.n + 1) * UNIT**2 * size + (model.n + 1) * _VANISHED
        )

    def worst_entry(self, answer: CausalRule, tilt: Array) -> float:
        """Unknown (inf): what a guess costs depends on those that follow."""
        return math.inf
