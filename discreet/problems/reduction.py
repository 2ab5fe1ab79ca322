"""Reduce a problem: remove outcomes and private values of probability zero, and merge repeated
outcomes.

Two outcomes are *proportional* if their columns (p_xz, loss) divided by their sums agree to 44
bits. An optimal estimator may treat them identically, so they merge into one outcome whose column
is their sum. Laws (tests/problems/test_problem.py): the reduced problem has the same optimum, and
`restore` maps its estimators to estimators of the original with the same error probability and
leakage. An outcome of probability zero gets the law of Ŷ: if it happens after all, the guess
reveals nothing about X.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.double_double import Array
from discreet.problems.constraint import AnyConstrained, arrays_of
from discreet.problems.problem import Problem
from discreet.problems.stacking import kept_terms

if TYPE_CHECKING:
    from discreet.problems.blocks import BlockProblem

_DROPPED_BITS = 8  # dropped from the 52 stored bits of a significand
_BLOCK_OUTCOMES = 1 << 14


@dataclass(frozen=True)
class Reduced:
    """A smaller problem, and the map back to the original.

    problem          the reduced problem
    original         the original problem
    group            [N] index of the reduced outcome of each outcome, −1 if it has probability 0
    private_values   [n'] indices of the private values kept
    """

    problem: Problem
    original: Problem
    group: NDArray[np.intp] | None
    private_values: NDArray[np.intp]

    @property
    def pruned(self) -> int:
        """The number of outcomes of probability zero."""
        return 0 if self.group is None else int((self.group < 0).sum())

    def with_budget(self, budget: Any) -> Reduced:
        """Return the same reduction of the same model under other budgets."""
        smaller = self.problem.with_budget(budget)
        original = smaller if self.problem is self.original else self.original.with_budget(budget)
        return replace(self, problem=smaller, original=original)

    def restore(self, estimator: Array) -> Array:
        """Return the estimator [m, N] of the original for an estimator [m, N'] of the reduced
        problem.
        """
        if self.group is None:
            return estimator
        full = estimator[:, np.maximum(self.group, 0)]
        if self.pruned:
            full[:, self.group < 0] = (estimator @ self.problem.p_z)[:, None]
        return full

    def restore_tilt(self, tilt: Array) -> Array:
        """Return the tilt [m, n] of the original; 0 for private values of probability zero."""
        if tilt.shape[1] == self.original.n:
            return tilt
        full = np.zeros((tilt.shape[0], self.original.n))
        full[:, self.private_values] = tilt
        return full


def reduce(problem: Problem | BlockProblem, *, merge: bool = True) -> Reduced:
    """Remove outcomes and private values of mass zero; with `merge`, also merge proportional
    outcomes.

    Raises InputError if the outcomes are not in arrays.
    """
    problem = arrays_of("reduce", problem)
    private_values = np.flatnonzero(problem.p_x > 0)
    alive = problem.p_z > 0
    a = problem.p_xz if private_values.size == problem.n else problem.p_xz[private_values]
    loss = problem.loss
    group: NDArray[np.intp] | None = None
    if not alive.all():
        group = np.where(alive, np.cumsum(alive) - 1, -1)
        a = a[:, alive]
        loss = loss[:, alive]
    if merge:
        first, inverse = _same(a, loss)
        if first.size < a.shape[1]:
            a = _gather(a, inverse, first.size)
            loss = _gather(loss, inverse, first.size)
            group = (
                inverse if group is None else np.where(group < 0, -1, inverse[np.maximum(group, 0)])
            )
    if group is None and private_values.size == problem.n:
        return Reduced(problem, problem, None, private_values)
    smaller = Problem.of_rows(a, loss, kept_terms(problem.terms, private_values), name=problem.name)
    return Reduced(smaller, problem, group, private_values)


def without_known_secrets(problem: AnyConstrained) -> AnyConstrained:
    """Return the problem without constraints on known secrets, of which only one value has a
    positive probability: they cannot leak.

    If all secrets are known, the problem does not change; its Bayes rule satisfies any budget.
    """
    known = [
        all(np.count_nonzero(problem.p_x[group]) <= 1 for group in term.groups)
        for term in problem.terms
    ]
    if all(known) or not any(known):
        return problem
    budgets = zip(known, problem.terms, strict=True)
    return problem.with_budget(
        [math.inf if is_known else term.budget for is_known, term in budgets]
    )


def _same(a: Array, loss: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first member and group number of each class of proportional columns, classes in
    order of first appearance.

    Two columns that agree may still round to different sides of a step. So if anything merges, the
    classes are compared once more with the steps moved by half their size.
    """
    first, inverse = _classes(a, loss, half_a_step=True)
    if first.size == a.shape[1]:
        return first, inverse
    again, place = _classes(a[:, first], loss[:, first], half_a_step=False)
    return first[again], place[inverse]


def _classes(
    a: Array, loss: Array, *, half_a_step: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first member and group number of each class of columns whose proportions are equal
    after rounding.
    """
    keys = np.empty(a.shape[1], dtype=np.uint64)
    for start in range(0, keys.size, _BLOCK_OUTCOMES):
        block = slice(start, start + _BLOCK_OUTCOMES)
        keys[block] = _hash_columns(_leading_bits(a[:, block], loss[:, block], half_a_step))
    everyone = np.arange(keys.size)
    ordered = np.sort(keys)
    # The usual case does not need an array of the size of the problem.
    if not (ordered[1:] == ordered[:-1]).any():
        return everyone, everyone
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    words = _leading_bits(a, loss, half_a_step)
    if (words != words[:, first[inverse]]).any():  # a hash collision
        return everyone, everyone
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return first[order], rank[inverse]


def _leading_bits(a: Array, loss: Array, half_a_step: bool) -> NDArray[np.uint64]:
    """Return the leading bits of every entry of the columns (p_xz, loss) [n + m, ·], which are
    divided by their sums; rounded to nearest with half_a_step, otherwise downward.
    """
    columns = np.concatenate([a, loss]) + 0.0  # −0 becomes 0
    columns /= columns.sum(axis=0)
    words = np.asarray(np.ascontiguousarray(columns).view(np.uint64))
    words = (words + np.uint64(int(half_a_step) << (_DROPPED_BITS - 1))) >> np.uint64(_DROPPED_BITS)
    return np.asarray(words)


def _hash_columns(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return one number for every column of words [k, ·]."""
    return np.asarray(np.add.reduce(words * _multipliers(words.shape[0])[:, None], 0))


@cache
def _multipliers(count: int) -> NDArray[np.uint64]:
    """Return the powers of an odd number, modulo 2^64."""
    return np.asarray(np.multiply.accumulate(np.full(count, 0x9E3779B97F4A7C15, dtype=np.uint64)))


def _gather(rows: Array, inverse: NDArray[np.intp], size: int) -> Array:
    """Return the sums [·, size] of the columns of each group, added pairwise so that rounding
    errors of large groups stay small.
    """
    order = np.argsort(inverse, kind="stable")
    starts = np.searchsorted(inverse[order], np.arange(size))
    return np.asarray(np.add.reduceat(rows[:, order], starts, axis=1))
