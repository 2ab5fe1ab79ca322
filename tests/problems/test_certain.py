"""Sums under mostly deterministic estimators: sums by label agree with sums of products, in
double-double.
"""

from __future__ import annotations

from fractions import Fraction

import exactly
import numpy as np
import pytest
from judging import lower_bound

from discreet.judge import certify
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import Decisions, column_error, normalise
from discreet.problems.duals import feasible_duals
from discreet.problems.problem import Problem

_N = 6000


def _estimator(m: int, drawn: int, seed: int) -> Array:
    """An estimator [m, N] that is certain except in `drawn` columns."""
    rng = np.random.default_rng(seed)
    estimator = np.eye(m)[:, rng.integers(0, m, _N)]
    places = rng.choice(_N, drawn, replace=False)
    estimator[:, places] = rng.dirichlet(np.ones(m), drawn).T
    return normalise(estimator)


def _close(high: float, low: float, truth: Fraction) -> bool:
    return abs(Fraction(float(high)) + Fraction(float(low)) - truth) <= abs(truth) * Fraction(
        1, 2**90
    )


@pytest.mark.parametrize(("m", "drawn"), [(2, 0), (2, 3), (3, 2000), (3, 4000), (3, _N)])
def test_sums_keep_twice_the_working_precision(m, drawn):
    estimator = _estimator(m, drawn, seed=m + drawn)
    rng = np.random.default_rng(1)
    values = rng.dirichlet(np.ones(2 * _N) * 0.3).reshape(2, _N)
    high, low = Decisions.of(estimator).sums(values)
    for i in range(m):
        for j in range(2):
            assert _close(high[i, j], low[i, j], exactly.dot(estimator[i], values[j]))
    losses = rng.random((m, _N))
    high, low = Decisions.of(estimator).sums(losses)
    for i in range(m):
        assert _close(high[i, i], low[i, i], exactly.dot(estimator[i], losses[i]))


def test_a_column_is_certain_only_if_it_is_a_one_among_zeros():
    estimator = np.array([[1.0, 1.0, 0.0, 1.0], [0.0, 1e-300, 1.0, -0.0]])
    assert column_error(normalise(estimator[:, [0, 2, 3]])) == 0.0
    assert 1e-300 <= column_error(normalise(estimator)) <= 1.1e-300
    for many in (1, _N):  # all products are formed, and only those of drawn guesses
        weights = np.repeat(estimator, many, axis=1)
        values = np.full((1, 4 * many), 1.0 / 4 / many)
        assert float(Decisions.of(weights).sums(values)[0][1, 0]) == pytest.approx(0.25, rel=1e-15)


def test_only_columns_with_other_entries_than_ones_and_zeros_are_multiplied():
    estimator = _estimator(3, 7, seed=2)
    values = np.random.default_rng(3).random((3, _N))
    found = Decisions.of(estimator)
    assert found.places.size == 7
    np.testing.assert_array_equal(found.matrix(), estimator)
    np.testing.assert_array_equal(
        found.chosen(values), np.where(estimator == 1.0, values, 0.0).sum(axis=0)
    )
    # No estimator, but sums over it are defined as well.
    several = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert Decisions.of(several).sums(values[:2, :2])[0].tolist() == [values[:2, 0].tolist()] * 2


def test_certain_columns_have_no_rounding():
    assert column_error(_estimator(3, 0, seed=5)) == 0.0
    assert 0.0 <= column_error(_estimator(3, 50, seed=5)) < 1e-15


@pytest.mark.parametrize("budget", [0.0, 0.003, 0.2])
def test_sums_by_label_and_by_products_give_the_same_verdict(budget):
    """A large problem is judged by labels, and the same problem with fewer outcomes by products."""
    rng = np.random.default_rng(8)
    joint = rng.dirichlet(np.full(2 * 2 * 50, 0.4)).reshape(2, 2, 50)
    small = Problem.from_joint(joint, budget)
    copies = 512  # a power of two: halves are exact
    large = Problem.from_joint(np.repeat(joint, copies, axis=2) / copies, budget)
    estimator = small.bayes_estimator.copy()
    estimator[:, 7] = 0.25, 0.75
    tilt = np.array([[0.1, -0.2], [-0.3, 0.2]])
    multiplier = 0.5
    few = certify(small, estimator, tilt, multiplier).certificate
    many = certify(large, np.repeat(estimator, copies, axis=1), tilt, multiplier).certificate
    assert many.own_error == pytest.approx(few.own_error, rel=1e-15)
    assert many.own_leakage == pytest.approx(few.own_leakage, rel=1e-13)
    assert many.upper == pytest.approx(few.upper, rel=1e-9)
    assert many.lower == pytest.approx(few.lower, rel=1e-12)
    assert many.lower <= many.upper


@pytest.mark.parametrize("m", [2, 3])
def test_the_bound_over_blocks_loses_no_more_than_rounding(m):
    rng = np.random.default_rng(m)
    problem = Problem.from_joint(rng.dirichlet(np.full(2 * m * _N, 0.3)).reshape(2, m, _N), 0.01)
    duals = feasible_duals(0.3 * rng.standard_normal((m, 2)), 2.0, problem.p_x, problem.budget)
    assert duals is not None
    exact = _exact_bound(problem, *duals)
    bound = lower_bound(problem, *duals)
    assert 0 <= exact - Fraction(bound) <= Fraction(1e-14) * abs(exact)


def _exact_bound(problem: Problem, tilt: Array, multiplier: float) -> Fraction:
    tilts = [[exactly.rational(t) for t in row] for row in tilt.tolist()]
    total = -exactly.rational(multiplier) * exactly.rational(problem.budget)
    for a, loss in zip(problem.p_xz.T.tolist(), problem.loss.T.tolist(), strict=True):
        masses = [exactly.rational(x) for x in a]
        total += min(
            exactly.rational(own) + sum(t * x for t, x in zip(row, masses, strict=True))
            for own, row in zip(loss, tilts, strict=True)
        )
    return Fraction(int(total.p), int(total.q))
