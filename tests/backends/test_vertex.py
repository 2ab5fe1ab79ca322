"""The vertex under every smooth measure: Newton's method from points that are nearly optimal, and
what binds there.
"""

import numpy as np
import pytest
from random_laws import random_joint
from solving import certificate_of, under

import discreet as ds
from discreet.backends.precision import Precision
from discreet.backends.tilt.crossover import crossover
from discreet.backends.tilt.model import Point
from discreet.backends.tilt.vertex import proven_width

SMOOTH = [
    "mutual-information",
    "chi-square",
    "sibson:alpha=1.2",
    "sibson:alpha=2",
    "sibson:alpha=8",
    "pointwise-information",
]


def random_problem(name, n, m, outcomes, seed, fraction):
    return under(random_joint(seed, n, m, outcomes, spread=0.5), name, fraction)


def crossed(problem, near):
    """From a point with noise of a millionth."""
    rng = np.random.default_rng(0)
    tilt = near.tilt * (1.0 + 1e-6 * rng.normal(size=near.tilt.shape))
    columns = (1.0 - 1e-6) * near.columns + 1e-6 / problem.m
    return crossover(
        problem, tilt, 1.000001 * near.multipliers, Precision.of(problem, 1e-10), columns, 1e-10
    )


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("n, m", [(2, 2), (2, 4), (4, 3)])
def test_next_to_an_interior_solution_is_the_optimal_vertex(name, n, m):
    pytest.importorskip("cvxpy")
    for seed, fraction in enumerate((0.5, 0.1)):
        problem = random_problem(name, n, m, 40, seed, fraction)
        best = ds.solve(problem, "conic", gap=1e-9)
        near = Point(np.asarray(best.estimator), best.tilt, best.multipliers)
        first = crossover(
            problem, near.tilt, near.multipliers, Precision.of(problem, 1e-10), near.columns
        )
        for found in (first, crossed(problem, first)):
            certificate = certificate_of(problem, found)
            assert certificate.blend == 0.0
            assert certificate.relative_gap <= 1e-12
            assert proven_width(problem, found, Precision.of(problem, 1e-10)) <= 1e-12
            assert np.count_nonzero(found.columns.max(axis=0) < 1.0) <= (m - 1) * n
            np.testing.assert_array_equal(found.columns.sum(axis=0), 1.0)


def test_budgets_that_do_not_bind_have_no_price():
    """One guess in three is far from its budget of each posterior; a start that says otherwise is
    corrected.
    """
    pytest.importorskip("cvxpy")
    for seed in range(20):
        problem = random_problem("pointwise-information", 3, 3, 60, seed, 0.3)
        best = ds.solve(problem, "conic", gap=1e-9)
        divergence = problem.measure.excess(
            problem.output_law(best.estimator).ratio_minus_one(), problem.p_x
        )
        if divergence.min() < 0.9 * problem.budget:
            break
    rare = int(divergence.argmin())
    tilt = best.tilt.copy()
    tilt[rare] += 0.01 * tilt[(rare + 1) % 3]
    found = crossover(
        problem, tilt, np.zeros(1), Precision.of(problem, 1e-10), np.asarray(best.estimator)
    )
    assert np.abs(found.tilt[rare]).max() <= 1e-10
    assert certificate_of(problem, found).relative_gap <= 1e-12


def test_nothing_is_found_from_nothing():
    problem = random_problem("chi-square", 3, 3, 40, 0, 0.1)
    precision = Precision.of(problem, 1e-10)
    assert crossover(problem, np.zeros((3, 3)), np.ones(1), precision) is None
    even = np.full((3, 40), 1 / 3)
    garbage = crossover(problem, 1e6 * np.eye(3), np.full(1, 1e-9), precision, even, 1e-9)
    assert garbage is None or certificate_of(problem, garbage).gap < 1e-8
