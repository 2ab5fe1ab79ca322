"""The vertex under smooth measures: Newton's method from points that are nearly optimal, and what
binds there.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreet as ds
from discreet.backends.precision import Precision
from discreet.backends.tilt.crossover import crossover
from discreet.backends.tilt.point import Point
from discreet.backends.tilt.stationary import Stationary
from discreet.backends.tilt.vertex import Vertex, plain_law, proven_width
from discreet.judge import certify
from discreet.numerics.estimators import one_hot
from discreet.problems import Problem

SMOOTH = [
    "chi-square",
    "sibson:alpha=1.2",
    "sibson:alpha=2",
    "sibson:alpha=8",
    "pointwise-information",
]


def random_problem(name: str, n: int, m: int, outcomes: int, seed: int, fraction: float) -> Problem:
    joint = (
        np.random.default_rng(seed)
        .dirichlet(np.full(n * m * outcomes, 0.5))
        .reshape(n, m, outcomes)
    )
    free = Problem.from_joint(joint, math.inf, measure=name)
    return free.with_budget(fraction * free.bayes_leakage)


def crossed(problem: Problem, near: Point) -> Point | None:
    """From a point with noise of a millionth."""
    rng = np.random.default_rng(0)
    tilt = near.tilt * (1.0 + 1e-6 * rng.normal(size=near.tilt.shape))
    columns = (1.0 - 1e-6) * near.columns + 1e-6 / problem.m
    return crossover(
        problem, tilt, 1.000001 * near.multipliers, Precision.of(problem, 1e-10), columns, 1e-10
    )


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 4), (4, 3)])
def test_next_to_an_interior_solution_is_the_optimal_vertex(name, n, m):
    pytest.importorskip("cvxpy")
    for seed, fraction in enumerate((0.5, 0.1)):
        problem = random_problem(name, n, m, 40, seed, fraction)
        best = ds.solve(problem, "conic", gap=1e-9)
        assert best.tilt is not None
        near = Point(np.asarray(best.estimator), best.tilt, best.multipliers)
        first = crossover(
            problem, near.tilt, near.multipliers, Precision.of(problem, 1e-10), near.columns
        )
        assert first is not None
        for found in (first, crossed(problem, first)):
            assert found is not None
            certificate = certify(problem, found.columns, found.tilt, found.multipliers).certificate
            assert certificate.blend == 0.0
            assert certificate.relative_gap <= 1e-12
            assert proven_width(problem, found, Precision.of(problem, 1e-10)) <= 1e-12
            assert np.count_nonzero(found.columns.max(axis=0) < 1.0) <= (m - 1) * n
            np.testing.assert_array_equal(found.columns.sum(axis=0), 1.0)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 4), (5, 3)])
def test_mutual_information_is_one_case(n, m):
    problem = random_problem("mutual-information", n, m, 60, 1, 0.2)
    best = ds.solve(problem, "tilt")
    assert best.tilt is not None
    labels = best.estimator.argmax(axis=0)
    ties = np.flatnonzero(best.estimator.max(axis=0) < 1.0)
    own = labels[ties]
    start = best.estimator[:, ties]
    precision = Precision.of(problem, 1e-10)
    certain = one_hot(labels, m)
    one = Vertex(problem, plain_law(problem, certain), ties, own, start).solve(
        start, best.tilt, best.multipliers, precision
    )
    two = Stationary(problem, certain, ties, own, start).solve(
        start, best.tilt, best.multipliers, precision
    )
    assert one is not None
    assert two is not None
    np.testing.assert_allclose(two.columns, one.columns, atol=1e-9)
    np.testing.assert_allclose(two.tilt, one.tilt, atol=1e-9)
    assert two.multipliers == pytest.approx(one.multipliers, rel=1e-9)


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
    assert best.tilt is not None
    rare = int(divergence.argmin())
    tilt = best.tilt.copy()
    tilt[rare] += 0.01 * tilt[(rare + 1) % 3]
    found = crossover(
        problem, tilt, np.zeros(1), Precision.of(problem, 1e-10), np.asarray(best.estimator)
    )
    assert found is not None
    assert np.abs(found.tilt[rare]).max() <= 1e-10
    assert (
        certify(problem, found.columns, found.tilt, found.multipliers).certificate.relative_gap
        <= 1e-12
    )


def test_nothing_is_found_from_nothing():
    problem = random_problem("chi-square", 3, 3, 40, 0, 0.1)
    assert crossover(problem, np.zeros((3, 3)), np.ones(1), Precision.of(problem, 1e-10)) is None
    garbage = crossover(
        problem,
        1e6 * np.eye(3),
        np.full(1, 1e-9),
        Precision.of(problem, 1e-10),
        np.full((3, 40), 1 / 3),
        1e-9,
    )
    assert (
        garbage is None
        or certify(problem, garbage.columns, garbage.tilt, garbage.multipliers).certificate.gap
        < 1e-8
    )


@pytest.mark.parametrize("kind", ["two", "private", "conditional"])
def test_several_secrets_and_conditional_information(kind):
    """The equations of all budgets at once; one secret that must not leak; groups with priors of
    their own.
    """
    pytest.importorskip("cvxpy")
    joint = np.random.default_rng(3).dirichlet(np.full(3 * 2 * 3 * 40, 0.5)).reshape(3, 2, 3, 40)
    first = joint.sum((1, 2))
    second = joint.sum((0, 2))
    loss = (1.0 - np.eye(3)) @ joint.sum((0, 1))
    if kind == "conditional":
        free = Problem.from_joint(
            joint.sum(axis=1), math.inf, measure="conditional-mutual-information"
        )
        one = problem = free.with_budget(0.2 * free.bayes_leakage)
    else:
        one = Problem(first, loss, 1e-3, measure="chi-square")
        other = ds.Constraint(second, 0.0) if kind == "private" else ds.Constraint(second, 5e-4)
        problem = Problem(loss=loss, constraints=[ds.Constraint(first, 1e-3, "chi-square"), other])
    best = ds.solve(problem, "conic", gap=1e-9)
    assert best.tilt is not None
    found = crossover(
        problem,
        best.tilt,
        best.multipliers,
        Precision.of(one, 1e-10),
        np.asarray(best.estimator),
        1e-9,
    )
    assert found is not None
    assert (
        ds.certify(problem, found.columns, found.tilt, found.multipliers, gap=1e-12).status
        is ds.Status.CERTIFIED
    )
