"""Laws of sums in double-double arithmetic, against exact fractions; also under estimators that are
mostly certain.
"""

from fractions import Fraction

import exactly
import numpy as np
import pytest
from exactly import fractions
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_array_equal
from random_laws import random_columns, random_joint
from strategies import seeds, vectors

from discreet.judge import certify
from discreet.numerics import double_double as accurate
from discreet.numerics.double_double import (
    dd_add,
    dd_dot,
    dd_multiply,
    dd_sum,
    difference_below,
    exact_product,
)
from discreet.numerics.estimators import Decisions, column_error, normalise
from discreet.problems.problem import Problem

_ORDINARY = st.floats(-1e30, 1e30).filter(lambda value: value == 0.0 or abs(value) > 1e-100)


def _exact(number):
    return Fraction(float(number[0])) + Fraction(float(number[1]))


@given(vectors(1))
def test_sum_is_exact_to_twice_the_precision(vector):
    (values,) = vector
    terms = fractions(values)
    assert abs(_exact(dd_sum(values)) - sum(terms)) <= sum(abs(terms)) / 2**90


@given(seeds, st.integers(2, 7), st.floats(0.0, 20.0))
def test_many_sums_of_few_terms_err_by_squares_of_the_rounding(seed, count, decades):
    rng = default_rng(seed)
    values = rng.normal(size=(100, count)) * 10.0 ** rng.uniform(-decades, 0.0, (100, count))
    high, low = dd_sum(values)
    for row, found in zip(values, zip(high, low, strict=True), strict=True):
        terms = fractions(row)
        allowed = ((count - 1) * (count - 2) + 1) * sum(abs(terms)) / 2**106
        assert abs(_exact(found) - sum(terms)) <= allowed


@given(vectors(2))
def test_dot_is_exact_to_twice_the_precision(both):
    a, b = both
    terms = fractions(a) * fractions(b)
    assert abs(_exact(dd_dot(a, b)) - sum(terms)) <= sum(abs(terms)) / 2**90


@given(seeds, st.integers(1, 400), st.floats(0.0, 60.0))
def test_sums_of_chosen_terms_keep_that_precision_beside_much_larger_ones(seed, count, decades):
    rng = default_rng(seed)
    label = rng.integers(0, 3, count)
    values = rng.random((2, count)) * 10.0 ** (-decades * (label == 1) - rng.uniform(0, 10, count))
    chosen = (label == np.arange(3)[:, None]).astype(np.float64)
    high, low = accurate.dd_sum_chosen(values, chosen)
    for i in range(3):
        for j in range(2):
            exact = sum(fractions(values[j, label == i]), Fraction(0))
            assert abs(_exact((high[i, j], low[i, j])) - exact) <= exact / 2**85


@given(_ORDINARY, _ORDINARY)
def test_product_has_no_error(x, y):
    high, low = exact_product(np.array(x), np.array(y))
    assert _exact((high, low)) == Fraction(x) * Fraction(y)
    assert abs(Fraction(float(low))) * 2**53 <= abs(Fraction(float(high)))


@given(vectors(4, most=1))
def test_double_doubles_add_and_multiply(drawn):
    values = drawn[:, 0]
    a = exact_product(values[0], values[1])
    b = exact_product(values[2], values[3])
    exact_a = _exact(a)
    exact_b = _exact(b)
    assert abs(_exact(dd_add(a, b)) - exact_a - exact_b) <= (abs(exact_a) + abs(exact_b)) / 2**100
    if abs(exact_a * exact_b) > Fraction(1, 10**250):
        assert abs(_exact(dd_multiply(a, b)) - exact_a * exact_b) <= abs(exact_a * exact_b) / 2**100


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-310, 1e-300, 2.0**-1022, 1.0, 1e150])
def test_equal_terms_of_any_size_add_exactly(value):
    high, low = dd_sum(np.full((2, 33), value))
    assert [_exact((high[k], low[k])) for k in range(2)] == [33 * Fraction(value)] * 2


@given(vectors(2))
def test_sums_do_not_change_their_arguments(values):
    before = values.copy()
    dd_sum(values)
    dd_dot(values, values)
    assert_array_equal(values, before)


@given(_ORDINARY, _ORDINARY)
def test_differences_are_rounded_downward(x, y):
    exact = Fraction(x) - Fraction(y)
    (found,) = difference_below(np.array([x]), np.array([y])).tolist()
    assert Fraction(found) <= exact < Fraction(float(np.nextafter(found, np.inf)))


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
