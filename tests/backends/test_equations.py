"""Laws of small linear systems: least norm, no dependence on units, and None instead of numbers
that are not finite.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose

from discreet.backends.equations import least_norm, solve_bordered, solve_equilibrated


@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (3, 3), (2, 5), (1, 1)])
def test_the_solution_is_the_one_of_least_norm(shape):
    rng = default_rng(1)
    matrix = rng.normal(size=shape)
    right = rng.normal(size=shape[0])
    assert_allclose(least_norm(matrix, right), np.linalg.pinv(matrix) @ right, rtol=1e-12)


def test_units_do_not_matter():
    rng = default_rng(2)
    matrix = rng.normal(size=(4, 4))
    right = rng.normal(size=4)
    rows = 2.0 ** rng.integers(-200, 200, 4)
    columns = 2.0 ** rng.integers(-200, 200, 4)
    plain = solve_equilibrated(matrix, right)
    scaled = solve_equilibrated(rows[:, None] * matrix * columns, rows * right)
    assert_allclose(scaled * columns, plain, rtol=1e-9)


@pytest.mark.parametrize("count, borders", [(1, 1), (2, 1), (5, 1), (5, 3)])
def test_borders_are_rows_and_columns(count, borders):
    rng = default_rng(3)
    matrix = rng.normal(size=(count, count))
    border = rng.normal(size=(borders, count))
    right = rng.normal(size=count)
    last = rng.normal(size=borders)
    whole = np.block([[matrix, border.T], [border, np.zeros((borders, borders))]])
    expected = np.linalg.solve(whole, np.concatenate([right, last]))
    assert_allclose(solve_bordered(matrix, border, right, last), expected, rtol=1e-11)


def test_dependent_equations_have_a_solution():
    matrix = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]])
    assert_allclose(least_norm(matrix, np.array([5.0, 10.0])), [1.0, 2.0, 0.0], atol=1e-14)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("shape", [(2, 2), (1, 2), (2, 1)])
def test_what_is_not_finite_has_no_solution(bad, shape):
    matrix = np.ones(shape)
    matrix[0, 0] = bad
    with np.errstate(invalid="ignore"):
        assert least_norm(matrix, np.ones(shape[0])) is None
