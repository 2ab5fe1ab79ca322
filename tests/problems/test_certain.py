"""Sums under mostly deterministic estimators: sums by label agree with sums of products, in
double-double.
"""

from fractions import Fraction

import exactly
import numpy as np
import pytest
from numpy.random import default_rng
from random_laws import random_columns, random_joint

from discreet.judge import certify
from discreet.numerics.estimators import Decisions, column_error, normalise
from discreet.problems.problem import Problem

_N = 6000


def _estimator(m, drawn, seed):
    """An estimator [m, N] that is certain except in `drawn` columns."""
    rng = default_rng(seed)
    estimator = np.eye(m)[:, rng.integers(0, m, _N)]
    places = rng.choice(_N, drawn, replace=False)
    estimator[:, places] = random_columns(rng, m, drawn)
    return normalise(estimator)


def _close(high, low, truth):
    return abs(Fraction(float(high)) + Fraction(float(low)) - truth) <= abs(truth) * Fraction(
        1, 2**90
    )


@pytest.mark.parametrize("m, drawn", [(2, 0), (2, 3), (3, 2000), (3, 4000), (3, _N)])
def test_sums_keep_twice_the_working_precision(m, drawn):
    estimator = _estimator(m, drawn, seed=m + drawn)
    rng = default_rng(1)
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


@pytest.mark.parametrize("budget", [0.0, 0.003, 0.2])
def test_sums_by_label_and_by_products_give_the_same_verdict(budget):
    """A large problem is judged by labels, and the same problem with fewer outcomes by products."""
    rng = default_rng(8)
    joint = random_joint(rng, 2, 2, 50, spread=0.4)
    small = Problem.from_joint(joint, budget)
    copies = 512  # a power of two: halves are exact
    large = Problem.from_joint(np.repeat(joint, copies, axis=2) / copies, budget)
    estimator = small.bayes_estimator.copy()
    estimator[:, 7] = 0.25, 0.75
    tilt = [[0.1, -0.2], [-0.3, 0.2]]
    multiplier = 0.5
    few = certify(small, estimator, tilt, multiplier).certificate
    many = certify(large, np.repeat(estimator, copies, axis=1), tilt, multiplier).certificate
    assert many.own_error == pytest.approx(few.own_error, rel=1e-15)
    assert many.own_leakage == pytest.approx(few.own_leakage, rel=1e-13)
    assert many.upper == pytest.approx(few.upper, rel=1e-9)
    assert many.lower == pytest.approx(few.lower, rel=1e-12)
    assert many.lower <= many.upper
