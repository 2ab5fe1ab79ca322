"""Vertices: the equations of known ties are solved to rounding, and pivots find ties that are nearly known."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.backends.tilt.finish import finish
from discreet.backends.tilt.interior_point import solve_interior
from discreet.backends.tilt.model import model_of
from discreet.backends.tilt.pivots import Pivots
from discreet.backends.tilt.vertex import Solved, Vertex
from discreet.problems import Problem, catalog
from discreet.problems.numerics.double_double import Array

FRACTIONS = [0.0, 1e-6, 1e-3, 0.1, 0.5, 0.9]


def optimum(problem: Problem) -> ds.Solution:
    solution = ds.solve(problem, "tilt")
    assert solution.status is ds.Status.CERTIFIED
    return solution


def dense(vertex: Vertex, solved: Solved) -> Array:
    estimator = np.eye(solved.mass.size)[:, vertex.labels]
    estimator[:, vertex.ties] = solved.columns
    return estimator


@settings(max_examples=60)
@given(st.integers(2, 4), st.integers(2, 4), st.integers(20, 200), st.integers(0, 10**6), st.sampled_from(FRACTIONS))
def test_the_ties_of_an_optimum_determine_it(n: int, m: int, outcomes: int, seed: int, fraction: float) -> None:
    problem = catalog.build("dirichlet", n=n, m=m, N=outcomes, sparsity=0.0, seed=seed, fraction=fraction)
    assume(problem.constraint.perfect or problem.bayes_leakage > problem.budget)
    best = optimum(problem)
    assert best.estimator is not None
    assert best.certificate is not None
    assume((best.estimator @ problem.p_z).min() > 1e-3)
    assume((best.estimator.max(axis=0) < 1.0).any())
    active = best.estimator > 0.0
    vertex = Vertex(problem, active, 0.9 * best.estimator + 0.1 * active / active.sum(axis=0))
    vertex.start_next_to(0.9 * problem.output_law(best.estimator).deviation)
    solved = vertex.solve(1.05 * (best.multiplier or 1.0))
    assert solved is not None
    estimator = dense(vertex, solved)
    np.testing.assert_allclose(estimator, best.estimator, atol=1e-6)
    np.testing.assert_allclose(solved.mass, estimator @ problem.p_z, rtol=1e-13)
    np.testing.assert_array_equal(estimator.sum(axis=0), 1.0)
    losses = problem.loss[:, vertex.ties] + solved.tilt @ problem.p_xz[:, vertex.ties]
    tied = np.where(active[:, vertex.ties], losses, losses.min(axis=0))
    assert (np.ptp(tied, axis=0) <= 1e-13 * (problem.p_z[vertex.ties] * (1.0 + np.abs(solved.tilt).max()))).all()
    law = problem.output_law(estimator)
    if problem.constraint.perfect:
        assert np.abs(law.excess).max() <= 1e-13
    else:
        assert law.leakage_ceiling() <= problem.budget
        assert law.leakage() == pytest.approx(problem.budget, rel=1e-9)


@pytest.mark.parametrize("budget", [0.0, 1e-12, 1e-6, 0.01])
def test_the_first_share_is_where_the_law_is_as_told(budget: float) -> None:
    problem = ds.problems.paper_single(bins=64, budget=budget)
    best = optimum(problem).estimator
    assert best is not None
    start = Vertex(problem, best > 0.0, np.where(best > 0.0, 0.5, 0.0))
    start.start_next_to(problem.output_law(best).deviation)
    tie = best[:, start.ties][best[:, start.ties] < best[:, start.ties].max()]
    assert start._start == pytest.approx(tie, rel=1e-9) or 1.0 - start._start == pytest.approx(tie, rel=1e-9)


@pytest.mark.parametrize("bins", [16, 60, 300])
@pytest.mark.parametrize("share", [1e-3, 0.05, 0.4, 0.8])
def test_pivots_lead_from_a_tilt_that_is_nearly_known_to_the_optimum_or_nowhere(bins: int, share: float) -> None:
    free = ds.problems.paper_single(bins=bins)
    problem = free.with_budget(share * free.bayes_leakage)
    best = optimum(problem)
    assert best.tilt is not None
    assert best.multiplier is not None
    rng, found = np.random.default_rng(4), 0
    for size in np.geomspace(1e-6, 0.5, 40):
        tilt = best.tilt * (1.0 + size * rng.normal(size=best.tilt.shape))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            vertex = Pivots(problem, tilt).run((1.0 + size) * best.multiplier, 12)
        if vertex is None:
            continue
        found += 1
        judged = ds.certify(problem, vertex.estimator(problem.m), vertex.tilt, vertex.multiplier).certificate
        assert judged.blend == 0.0
        assert judged.relative_gap <= 1e-12
    assert found >= 10


@pytest.mark.parametrize("bins", [4, 16, 64, 256])
@pytest.mark.parametrize("budget", [0.0, 1e-6, 1e-4, 0.01])
def test_far_from_the_optimum_a_single_try_finds_it(bins: int, budget: float) -> None:
    problem = ds.problems.paper_single(bins=bins, budget=budget)
    at = solve_interior(model_of(problem), problem.bayes_estimator, gap=1e-3, max_iterations=100)
    assert at.width > 1e-6
    found = finish(problem, at.estimator, at.tilt, at.multiplier, early=True)
    assert found is not None
    assert found.width <= 1e-13


def test_the_width_of_a_vertex_is_relative_to_its_own_error() -> None:
    """Where the Bayes rule hardly errs, rounding is much next to its error and nothing next to the optimum's."""
    problem = catalog.build("near-deterministic", n=2, m=5, N=10, fraction=0.3, seed=81262)
    assert problem.bayes_error < 1e-8
    best = optimum(problem)
    assert best.error_probability > 1e-2
    assert best.iterations is not None
    assert best.iterations <= 10


@pytest.mark.parametrize(
    "problem", ["ds.problems.paper_single(bins=64, budget=.01)", "build('zero-mass', n=3, m=3, N=60, share=.4, fraction=.5)"]
)
def test_small_problems_need_neither_a_compiler_nor_scipy(problem: str) -> None:
    """Importing scipy.optimize takes a hundred times as long as the solution; the second problem has an unused guess."""
    code = (
        "import sys, discreet as ds; from discreet.problems.catalog import build;"
        f"s = ds.solve({problem}); assert s.status is ds.Status.CERTIFIED;"
        "print(*sorted({'numba', 'scipy.optimize'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
