"""The crossover: from points and tilts that are nearly optimal to vertices that satisfy the
optimality conditions.
"""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.backends.precision import Precision
from discreet.backends.tilt.crossover import _ActiveSet, crossover
from discreet.backends.tilt.interior_point import solve_interior
from discreet.backends.tilt.model import model_of
from discreet.backends.tilt.point import Ending, Point
from discreet.backends.tilt.vertex import Vertex, plain_law, proven_width
from discreet.judge import certify
from discreet.measures.law import OutputLaw
from discreet.numerics.estimators import one_hot
from discreet.problems import Problem, catalog, reduce

FRACTIONS = [0.0, 1e-6, 1e-3, 0.1, 0.5, 0.9]


def ended(problem: Problem, gap: float = 1e-10) -> tuple[Point, Ending]:
    return solve_interior(
        model_of(problem, Precision.of(problem, 1e-9)), gap=gap, max_iterations=100
    )


def interior(problem: Problem, gap: float = 1e-10) -> Point:
    return ended(problem, gap)[0]


def crossed(problem: Problem, at: Point) -> Point | None:
    return crossover(problem, at.tilt, at.multipliers, Precision.of(problem, 1e-10), at.columns)


def random_problem(n: int, m: int, outcomes: int, seed: int, fraction: float) -> Problem:
    return catalog.build(
        "dirichlet", n=n, m=m, N=outcomes, sparsity=0.0, seed=seed, fraction=fraction
    )


def ties(point: Point) -> int:
    return int((point.columns.max(axis=0) < 1.0).sum())


def most_ties(problem: Problem) -> int:
    """What a vertex can have: the equations u_i = A P_i, one guess being determined
    by the others.
    """
    return (problem.m - 1) * (problem.n - 1 if problem.constraint.perfect else problem.n)


def assert_consistent(problem: Problem, point: Point) -> None:
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
    st.integers(0, 10**6),
    st.sampled_from(FRACTIONS),
)
def test_next_to_an_interior_solution_is_a_vertex_that_is_optimal_to_rounding(
    n, m, outcomes, seed, fraction
):
    problem = random_problem(n, m, outcomes, seed, fraction)
    assume(np.unique(np.argmin(problem.loss, axis=0)).size == m)
    at, ending = ended(problem)
    assume(ending.optimal and (at.columns @ problem.p_z).min() > 1e-2)
    found = crossed(problem, at)
    assert found is not None
    assert_consistent(problem, found)
    assert ties(found) >= 1
    assert proven_width(problem, found, Precision.of(problem, 1e-10)) <= 1e-13
    judged = certify(
        problem,
        found.columns,
        found.tilt,
        None if problem.constraint.perfect else found.multipliers,
    )
    assert judged.certificate.blend == 0.0
    assert judged.certificate.kkt.complementarity <= 1e-13 * judged.certificate.upper
    assert judged.certificate.relative_gap <= 1e-13


@settings(max_examples=30)
@example(3, 3, 1000000, 0.0, 3)  # a fifth tie, where a vertex has four
@given(
    st.integers(2, 4),
    st.integers(2, 4),
    st.integers(0, 10**6),
    st.sampled_from(FRACTIONS),
    st.integers(2, 6),
)
def test_duplicates_give_a_consistent_vertex_or_none(n, m, seed, fraction, copies):
    problem = catalog.build(
        "duplicated", n=n, m=m, N=20, copies=copies, seed=seed, fraction=fraction
    )
    assume(problem.constraint.perfect or problem.bayes_leakage > problem.budget)
    found = crossed(problem, interior(problem))
    if found is not None:
        assert_consistent(problem, found)


@pytest.mark.parametrize("fraction", [0.0, 0.3])
def test_equal_losses_and_garbage_give_a_consistent_vertex_or_none(fraction):
    joint = np.random.default_rng(0).dirichlet(np.ones(3 * 2 * 100)).reshape(3, 2, 100)
    # Two guesses that are always equal.
    joint = np.concatenate([joint[:, :1] / 2, joint[:, :1] / 2, joint[:, 1:]], axis=1)
    free = Problem.from_joint(joint, math.inf)
    problem = free.with_budget(fraction * free.bayes_leakage)
    at = interior(problem)
    precision = Precision.of(problem, 1e-10)
    for tilt in (at.tilt, np.zeros_like(at.tilt), 1e6 * at.tilt):
        for estimator in (
            at.columns,
            np.full_like(at.columns, 1 / 3),
            problem.bayes_estimator,
            None,
        ):
            for multiplier in (at.multipliers[0], 1e-12, 1e12):
                found = crossover(problem, tilt, np.array([multiplier]), precision, estimator)
                if found is not None:
                    assert_consistent(problem, found)


@settings(max_examples=20)
@given(st.integers(2, 4), st.integers(2, 4), st.integers(0, 10**6), st.sampled_from(FRACTIONS))
def test_the_order_of_outcomes_guesses_and_private_values_does_not_matter(n, m, seed, fraction):
    problem = random_problem(n, m, 60, seed, fraction)
    assume(problem.constraint.perfect or problem.bayes_leakage > problem.budget)
    at = interior(problem)
    found = crossed(problem, at)
    rng = np.random.default_rng(seed)
    x = rng.permutation(n)
    y = rng.permutation(m)
    z = rng.permutation(60)
    moved = Problem(problem.p_xz[np.ix_(x, z)], problem.loss[np.ix_(y, z)], problem.constraint)
    again = crossover(
        moved,
        at.tilt[np.ix_(y, x)],
        at.multipliers,
        Precision.of(moved, 1e-10),
        at.columns[np.ix_(y, z)],
    )
    assert (found is None) == (again is None)
    if found is not None and again is not None:
        np.testing.assert_allclose(again.columns, found.columns[np.ix_(y, z)], atol=1e-6)


@given(
    st.integers(2, 4),
    st.integers(2, 4),
    st.integers(20, 200),
    st.integers(0, 10**6),
    st.sampled_from(FRACTIONS),
)
def test_the_ties_of_an_optimum_determine_it(n, m, outcomes, seed, fraction):
    problem = random_problem(n, m, outcomes, seed, fraction)
    assume(problem.constraint.perfect or problem.bayes_leakage > problem.budget)
    best = ds.solve(problem, "tilt")
    assert best.status is ds.Status.CERTIFIED
    assert best.tilt is not None
    tied = np.flatnonzero(best.estimator.max(axis=0) < 1.0)
    assume((best.estimator @ problem.p_z).min() > 1e-3 and 0 < tied.size <= (m - 1) * n)  # a vertex
    allowed = best.estimator[:, tied] > 0.0
    labels = best.estimator.argmax(axis=0)
    start = 0.9 * best.estimator[:, tied] + 0.1 * allowed / allowed.sum(axis=0)
    deviation = (
        np.zeros((m, n))
        if problem.constraint.perfect
        else 0.9 * problem.output_law(best.estimator).deviation
    )
    vertex = Vertex(problem, plain_law(problem, one_hot(labels, m)), tied, labels[tied], start)
    first = vertex.near(deviation)
    assert first is not None
    solved = vertex.solve(
        first, best.tilt, np.array([1.05 * (best.multiplier or 1.0)]), Precision.of(problem, 1e-9)
    )
    assert solved is not None
    estimator = np.eye(m)[:, labels]
    estimator[:, tied] = solved.columns
    np.testing.assert_allclose(estimator, best.estimator, atol=1e-6)
    np.testing.assert_array_equal(estimator.sum(axis=0), 1.0)
    losses = problem.loss[:, tied] + solved.tilt @ problem.p_xz[:, tied]
    equal = np.where(allowed, losses, losses.min(axis=0))
    assert (
        np.ptp(equal, axis=0) <= 1e-13 * (problem.p_z[tied] * (1.0 + np.abs(solved.tilt).max()))
    ).all()
    law = problem.output_law(estimator)
    if problem.constraint.perfect:
        assert np.abs(law.excess).max() <= 1e-13
    else:
        assert law.leakage_ceiling() <= problem.budget
        assert law.leakage() == pytest.approx(problem.budget, rel=1e-9)


@pytest.mark.parametrize("bins", [16, 60, 300])
@pytest.mark.parametrize("share", [0.0, 1e-3, 0.05, 0.4, 0.8])
def test_a_tilt_that_is_nearly_known_leads_to_the_optimum_or_nowhere(bins, share):
    free = ds.problems.paper_single(bins=bins)
    problem = free.with_budget(share * free.bayes_leakage)
    best = ds.solve(problem, "tilt")
    assert best.tilt is not None
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
        judged = certify(
            problem, found.columns, found.tilt, best.multiplier and found.multipliers
        ).certificate
        assert judged.blend == 0.0
        assert judged.relative_gap <= 1e-12
    assert count >= 10


@pytest.mark.parametrize(
    ("n", "m", "outcomes"), [(3, 3, 100), (4, 4, 100), (2, 5, 300), (5, 2, 300)]
)
@pytest.mark.parametrize("fraction", [0.0, 0.1])
def test_a_tilt_alone_leads_to_the_optimum_for_any_number_of_guesses(n, m, outcomes, fraction):
    problem = catalog.build("dirichlet", n=n, m=m, N=outcomes, fraction=fraction)
    best = ds.solve(problem, "tilt")
    assert best.tilt is not None
    multiplier = math.inf if best.multiplier is None else best.multiplier
    rng = np.random.default_rng(4)
    count = 0
    for size in np.geomspace(1e-6, 1e-2, 20):
        tilt = best.tilt * (1.0 + size * rng.normal(size=best.tilt.shape))
        price = np.array([(1.0 + size) * multiplier])
        found = crossover(problem, tilt, price, Precision.of(problem, 1e-9))
        if found is not None:
            assert_consistent(problem, found)
            assert proven_width(problem, found, Precision.of(problem, 1e-9)) <= 1e-12
            count += 1
    assert count >= 5


@pytest.mark.parametrize("fraction", [0.0, 0.5])
@pytest.mark.parametrize(
    "name", ["paper-single", "paper-multi", "random", "smart-meter", "multi-mixed"]
)
def test_with_two_values_and_guesses_no_iteration_is_needed(name, fraction):
    problem = (
        random_problem(2, 2, 100, 0, fraction)
        if name == "random"
        else catalog.build(name, fraction=fraction)
    )
    best = ds.solve(problem, "tilt")
    assert best.status is ds.Status.CERTIFIED
    assert best.iterations == 0


@pytest.mark.parametrize(("n", "m"), [(3, 2), (2, 3), (3, 3), (2, 5)])
def test_with_few_unknown_shares_at_perfect_privacy_most_often_no_iteration_is_needed(n, m):
    solved = [
        ds.solve(random_problem(n, m, N, seed, 0.0), "tilt")
        for N in (40, 150, 400)
        for seed in range(3)
    ]
    assert all(each.status is ds.Status.CERTIFIED for each in solved)
    assert sum(each.iterations == 0 for each in solved) >= 8


def test_ties_from_a_tilt_alone_are_no_two_of_which_one_makes_up_nothing_more():
    # Under no tilt the two least margins are between the same two guesses.
    problem = catalog.build("anes96", budget=0.0)
    active = _ActiveSet(problem, problem.loss.copy())
    wanted = active.cut(np.zeros((problem.m, problem.n)), math.inf)
    vertex = active.vertex()
    near = vertex.near(wanted)
    assert near is not None
    np.testing.assert_allclose(vertex.law(near).deviation, wanted, atol=1e-15)


@pytest.mark.parametrize("off", [0.5, 0.9, 1.2])
def test_the_law_that_a_predicted_tilt_announces_leaks_about_the_budget(off):
    problem = random_problem(3, 3, 300, 15, 0.3)
    best = ds.solve(problem, "tilt")
    assert best.tilt is not None
    assert best.multiplier is not None
    active = _ActiveSet(problem, problem.loss + best.tilt @ problem.p_xz)
    law = plain_law(problem, active.certain)
    announced = active.cut(off * best.tilt, best.multiplier)
    assert OutputLaw(law.mass, announced, law.p_x).leakage() == pytest.approx(
        problem.budget, rel=0.1
    )


@pytest.mark.parametrize("seed", [2, 4])
def test_from_predicted_duals_the_first_pivot_is_most_often_the_last(seed, monkeypatch):
    pivots = [0]
    plain = _ActiveSet.vertex

    def counted(active):
        pivots[0] += 1
        return plain(active)

    monkeypatch.setattr(_ActiveSet, "vertex", counted)
    curve = ds.frontier(random_problem(2, 2, 300, seed, 0.3), points=30)
    assert curve.certified
    assert pivots[0] <= 32


@pytest.mark.parametrize("bins", [4, 16, 64, 256])
@pytest.mark.parametrize("budget", [0.0, 1e-6, 1e-4, 0.01])
def test_where_x_has_two_values_it_works_far_from_the_optimum(bins, budget):
    problem = ds.problems.paper_single(bins=bins, budget=budget)
    at, ending = ended(problem, 1e-3)
    assert ending.width > 1e-6
    found = crossed(problem, at)
    assert found is not None
    assert proven_width(problem, found, Precision.of(problem, 1e-10)) <= 1e-13


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_it_ends_the_iteration_early_at_the_same_optimum(fraction):
    problem = random_problem(3, 3, 300, 15, fraction)
    (plain, ending) = ended(problem)
    early = ds.solve(problem, "tilt")
    assert early.status is ds.Status.CERTIFIED
    assert early.iterations is not None
    assert early.iterations < ending.iterations
    assert early.error_probability == pytest.approx(
        problem.error_probability(plain.columns), rel=1e-9
    )


def test_a_heavy_tie_of_many_alike_outcomes_is_as_good_as_any():
    """Here the likeliest outcomes have all but one posterior, and weigh ten thousand times what is
    to be proven.
    """
    problem = reduce(ds.problems.paper_multi(sensors=30, fraction=0.5)).problem
    precision = Precision.of(problem, 1e-9)
    for iterations in range(1, 10):
        at, _ = solve_interior(model_of(problem, precision), gap=1e-10, max_iterations=iterations)
        found = crossed(problem, at)
        assert found is not None
        assert proven_width(problem, found, Precision.of(problem, 1e-10)) <= 1e-10
    best = ds.solve(problem, "tilt")
    assert best.status is ds.Status.CERTIFIED
    assert best.iterations == 0


def test_the_width_of_a_vertex_is_relative_to_its_own_error():
    """Where the Bayes rule hardly errs, rounding is much next to its error and nothing next to the
    optimum's.
    """
    problem = catalog.build("near-deterministic", n=2, m=5, N=10, fraction=0.3, seed=81262)
    assert problem.bayes_error < 1e-8
    best = ds.solve(problem, "tilt")
    assert best.status is ds.Status.CERTIFIED
    assert best.error_probability > 1e-2
    assert best.iterations is not None
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_start_far_beyond_every_share_raises_nothing():
    """Ties of next to no mass may start from shares of any size; steps as large have no cube."""
    usual = ds.problems.paper_single(bins=16)
    faint = np.array([[6e-122], [4e-122]])
    problem = Problem(
        np.append(usual.p_xz, faint, axis=1), np.append(usual.loss, 0.5 * faint, axis=1), 0.01
    )
    labels = problem.bayes_estimator.argmax(axis=0)
    vertex = Vertex(
        problem,
        plain_law(problem, problem.bayes_estimator),
        np.array([16]),
        labels[[16]],
        np.full((2, 1), 0.5),
    )
    found = vertex.newton(np.array([1e119]), 1.0, 0.012)
    assert found is None or np.isfinite(found[0]).all()
