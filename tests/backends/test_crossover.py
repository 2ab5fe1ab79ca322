"""The crossover: from points and tilts that are nearly optimal to vertices that satisfy the
optimality conditions, under every smooth measure; `test_program` has the linear ones.
"""

import math
from itertools import product

import numpy as np
import pytest
from block_cases import random_problem
from command import python
from gated import gated
from hypothesis import assume, given
from hypothesis import strategies as st
from random_laws import random_joint
from solving import assert_certified, at_share, certificate_of, model_at, under
from strategies import seeds

import discreet as ds
from discreet.backends.precision import Precision
from discreet.backends.tilt.crossover import crossover
from discreet.backends.tilt.interior_point import solve_interior
from discreet.backends.tilt.model import Point
from discreet.backends.tilt.vertex import Vertex, proven_width
from discreet.problems import Problem, catalog, paper_single, reduce

FRACTIONS = [0.0, 1e-6, 1e-3, 0.1, 0.5, 0.9]


def ended(problem, gap=1e-10, most=100):
    return solve_interior(model_at(problem), gap=gap, max_iterations=most)


def crossed(problem, at):
    return crossover(problem, at.tilt, at.multipliers, Precision.of(problem, 1e-10), at.columns)


def ties(point):
    return int((point.columns.max(axis=0) < 1.0).sum())


def most_ties(problem):
    """What a vertex can have: the equations u_i = A P_i, one guess being determined
    by the others.
    """
    return (problem.m - 1) * (problem.n - 1 if problem.constraint.perfect else problem.n)


def assert_consistent(problem, point):
    """Law of what the crossover returns: a rule of its own tilt that keeps the budget, with ties
    that are ties.
    """
    assert point.columns.min() >= 0.0
    np.testing.assert_array_equal(point.columns.sum(axis=0), 1.0)
    assert ties(point) <= most_ties(problem)
    losses = problem.loss + point.tilt @ problem.p_xz
    size = problem.loss.max(axis=0) + np.abs(point.tilt).max(axis=0) @ problem.p_xz
    if not problem.constraint.perfect:
        size += 0.125 * point.multipliers[0] * problem.p_z  # ratios r are rounded in tilts μ log r
    rounding = 2.0**-50 * size
    certain = point.columns.max(axis=0) == 1.0
    wasted = (point.columns * (losses - losses.min(axis=0))).sum(axis=0)
    assert (wasted[certain] <= rounding[certain]).all()
    law = problem.output_law(point.columns)
    if problem.constraint.perfect:
        assert np.abs(law.excess).max() <= 1e-13
        assert point.multipliers[0] == math.inf
    else:
        assert law.leakage_ceiling() <= problem.budget


@given(
    st.integers(2, 5),
    st.integers(2, 5),
    st.integers(50, 400),
    seeds,
    st.sampled_from(FRACTIONS),
)
def test_next_to_an_interior_solution_is_a_vertex_that_is_optimal_to_rounding(
    n, m, outcomes, seed, fraction
):
    problem = random_problem("dirichlet", n, m, outcomes, seed, fraction)
    assume(np.unique(np.argmin(problem.loss, axis=0)).size == m)
    at, ending = ended(problem)
    assume(ending.optimal and (at.columns @ problem.p_z).min() > 1e-2)
    found = crossed(problem, at)
    assert_consistent(problem, found)
    assert ties(found) >= 1
    assert proven_width(problem, found, Precision.of(problem, 1e-10)) <= 1e-13
    judged = certificate_of(problem, found)
    assert judged.blend == 0.0
    assert judged.kkt.complementarity <= 1e-13 * judged.upper
    assert judged.relative_gap <= 1e-13


@pytest.mark.parametrize("fraction", [0.0, 0.3])
def test_equal_losses_and_garbage_give_a_consistent_vertex_or_none(fraction):
    joint = random_joint(0, 3, 2, 100)
    # Two guesses that are always equal.
    joint = np.concatenate([joint[:, :1] / 2, joint[:, :1] / 2, joint[:, 1:]], axis=1)
    problem = under(joint, "mutual-information", fraction)
    at, _ = ended(problem)
    even = np.full_like(at.columns, 1 / 3)
    for tilt, estimator, multiplier in product(
        (at.tilt, np.zeros_like(at.tilt), 1e6 * at.tilt),
        (at.columns, even, problem.bayes_estimator, None),
        (at.multipliers[0], 1e-12, 1e12),
    ):
        precision = Precision.of(problem, 1e-10)
        found = crossover(problem, tilt, np.array([multiplier]), precision, estimator)
        if found is not None:
            assert_consistent(problem, found)


@pytest.mark.parametrize("bins", gated([16, 60, 300]))
@pytest.mark.parametrize("share", [0.0, 1e-3, 0.05, 0.4, 0.8])
def test_a_tilt_that_is_nearly_known_leads_to_the_optimum_or_nowhere(bins, share):
    problem = at_share(paper_single(bins=bins), share)
    best = ds.solve(problem, "tilt")
    multiplier = math.inf if best.multiplier is None else best.multiplier
    rng = np.random.default_rng(4)
    count = 0
    for size in np.geomspace(1e-6, 0.5, 40):
        tilt = best.tilt * (1.0 + size * rng.normal(size=best.tilt.shape))
        price = np.array([(1.0 + size) * multiplier])
        found = crossover(problem, tilt, price, Precision.of(problem, 1e-9))
        if found is None:
            continue
        count += 1
        assert_consistent(problem, found)
        judged = certificate_of(problem, found)
        assert judged.blend == 0.0
        assert judged.relative_gap <= 1e-12
    assert count >= 10


@pytest.mark.parametrize("fraction", [0.0, 0.5])
@pytest.mark.parametrize(
    "name, sizes",
    {
        "paper-single": {},
        "paper-multi": {},
        "dirichlet": {"n": 2, "m": 2, "N": 100, "seed": 0},
        "smart-meter": {},
        "multi-mixed": {},
    }.items(),
)
def test_with_two_values_and_guesses_no_iteration_is_needed(name, sizes, fraction):
    assert assert_certified(catalog.build(name, fraction=fraction, **sizes), "tilt").iterations == 0


def test_a_heavy_tie_of_many_alike_outcomes_is_as_good_as_any():
    """Here the likeliest outcomes have all but one posterior, and weigh ten thousand times what is
    to be proven.
    """
    problem = reduce(ds.problems.paper_multi(sensors=30, fraction=0.5)).problem
    for iterations in range(1, 10):
        at, _ = ended(problem, most=iterations)
        found = crossed(problem, at)
        assert proven_width(problem, found, Precision.of(problem, 1e-10)) <= 1e-10
    best = assert_certified(problem, "tilt")
    assert best.iterations == 0


def test_the_width_of_a_vertex_is_relative_to_its_own_error():
    """Where the Bayes rule hardly errs, rounding is much next to its error and nothing next to the
    optimum's.
    """
    problem = catalog.build("near-deterministic", n=2, m=5, N=10, fraction=0.3, seed=81262)
    assert problem.bayes_error < 1e-8
    best = assert_certified(problem, "tilt")
    assert best.error_probability > 1e-2
    assert best.iterations <= 10


def test_small_problems_need_neither_a_compiler_nor_scipy():
    """Importing scipy.optimize takes a hundred times as long as the solution; the second problem
    has an unused guess.
    """
    code = (
        "import sys, discreet as ds; from discreet.problems.catalog import build\n"
        "single = ds.problems.paper_single(bins=64, budget=.01)\n"
        "for problem in (single, build('zero-mass', n=3, m=3, N=60, share=.4, fraction=.5)):\n"
        "    assert ds.solve(problem).status is ds.Status.CERTIFIED\n"
        "    print(*sorted({'numba', 'scipy.optimize'} & set(sys.modules)))"
    )
    assert python(code).split() == []


def test_a_start_far_beyond_every_share_raises_nothing():
    """Ties of next to no mass may start from shares of any size; steps as large have no cube."""
    usual = paper_single(bins=16)
    faint = np.array([[6e-122], [4e-122]])
    masses = np.append(usual.p_xz, faint, axis=1)
    problem = Problem(masses, np.append(usual.loss, 0.5 * faint, axis=1), 0.01)
    bayes = problem.bayes_estimator
    labels = bayes.argmax(axis=0)[[16]]
    vertex = Vertex(problem, bayes, np.array([16]), labels, np.full((2, 1), 0.5))
    columns = np.where(np.arange(2)[:, None] == labels, -1e119, 1e119)
    found = vertex.solve(columns, np.zeros((2, 2)), np.ones(1), Precision.of(problem, 1e-9))
    assert found is None or np.isfinite(found.columns).all()


SMOOTH = [
    "mutual-information",
    "chi-square",
    "sibson:alpha=1.2",
    "sibson:alpha=2",
    "sibson:alpha=8",
    "pointwise-information",
]


def crossed_from_noise(problem, near):
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
        problem = under(random_joint(seed, n, m, 40, spread=0.5), name, fraction)
        best = ds.solve(problem, "conic", gap=1e-9)
        near = Point(np.asarray(best.estimator), best.tilt, best.multipliers)
        first = crossover(
            problem, near.tilt, near.multipliers, Precision.of(problem, 1e-10), near.columns
        )
        for found in (first, crossed_from_noise(problem, first)):
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
        problem = under(random_joint(seed, 3, 3, 60, spread=0.5), "pointwise-information", 0.3)
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
    problem = under(random_joint(0, 3, 3, 40, spread=0.5), "chi-square", 0.1)
    precision = Precision.of(problem, 1e-10)
    assert crossover(problem, np.zeros((3, 3)), np.ones(1), precision) is None
    even = np.full((3, 40), 1 / 3)
    garbage = crossover(problem, 1e6 * np.eye(3), np.full(1, 1e-9), precision, even, 1e-9)
    assert garbage is None or certificate_of(problem, garbage).gap < 1e-8
