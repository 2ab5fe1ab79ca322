"""From the interior to the vertex: deterministic off the ties, KKT conditions to rounding; rare outcomes put together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from discreet.backends.tilt.condense import condense
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.backends.tilt.finish import Finished, finish, shortcut
from discreet.backends.tilt.interior_point import Outcome, solve_interior
from discreet.backends.tilt.model import model_of
from discreet.problems import Problem, catalog, certify

FRACTIONS = [0.0, 1e-6, 1e-3, 0.1, 0.5, 0.9]


def interior(problem: Problem, gap: float = 1e-10) -> Outcome:
    return solve_interior(model_of(problem), problem.bayes_estimator, gap=gap, max_iterations=100)


def random_problem(n: int, m: int, outcomes: int, seed: int, fraction: float) -> Problem:
    return catalog.build("dirichlet", n=n, m=m, N=outcomes, sparsity=0.0, seed=seed, fraction=fraction)


def most_ties(problem: Problem) -> int:
    """What a vertex can have: the equations u_i = A P_i, one guess being determined by the others."""
    return (problem.m - 1) * (problem.n - 1 if problem.constraint.perfect else problem.n)


def assert_consistent(problem: Problem, found: Finished) -> None:
    """Law of what `finish` returns: a rule of its own tilt, with ties that are ties."""
    estimator = found.estimator(problem.m)
    assert estimator.min() >= 0.0
    np.testing.assert_allclose(estimator.sum(axis=0), 1.0, rtol=1e-15)
    off = np.setdiff1d(np.arange(problem.N), found.ties)
    np.testing.assert_array_equal(estimator[:, off], np.eye(problem.m)[:, found.labels[off]])
    losses = problem.loss + found.tilt @ problem.p_xz
    rounding = 1e-14 * (problem.loss.max(axis=0) + np.abs(found.tilt).max() * problem.p_z)
    wasted = losses[found.labels, np.arange(problem.N)] - losses.min(axis=0)
    assert (wasted[off] <= rounding[off]).all()


@settings(max_examples=60)
@given(st.integers(2, 5), st.integers(2, 5), st.integers(50, 400), st.integers(0, 10**6), st.sampled_from(FRACTIONS))
def test_vertex_of_a_random_problem(n: int, m: int, outcomes: int, seed: int, fraction: float) -> None:
    problem = random_problem(n, m, outcomes, seed, fraction)
    assume(np.unique(np.argmin(problem.loss, axis=0)).size == m)
    at = interior(problem)
    assume(at.ended == "optimal" and (at.estimator @ problem.p_z).min() > 1e-2)
    found = finish(problem, at.estimator, at.tilt, at.multiplier)
    assert found is not None
    assert_consistent(problem, found)
    assert 1 <= found.ties.size <= most_ties(problem)
    judged = certify(problem, found.estimator(m), found.tilt, None if math.isinf(found.multiplier) else found.multiplier)
    kkt = judged.certificate.kkt
    assert judged.certificate.blend == 0.0
    assert kkt.complementarity <= 1e-13 * judged.certificate.upper
    assert judged.certificate.relative_gap <= 1e-13


@settings(max_examples=30)
@given(st.integers(2, 4), st.integers(2, 4), st.integers(0, 10**6), st.sampled_from(FRACTIONS), st.integers(2, 6))
def test_duplicates_give_a_consistent_vertex_or_none(n: int, m: int, seed: int, fraction: float, copies: int) -> None:
    problem = catalog.build("duplicated", n=n, m=m, N=20, copies=copies, seed=seed, fraction=fraction)
    assume(problem.constraint.perfect or problem.bayes_leakage > problem.budget)
    at = interior(problem)
    found = finish(problem, at.estimator, at.tilt, at.multiplier)
    if found is not None:
        assert_consistent(problem, found)


@pytest.mark.parametrize("fraction", [0.0, 0.3])
def test_equal_losses_and_garbage_are_consistent_or_none(fraction: float) -> None:
    joint = np.random.default_rng(0).dirichlet(np.ones(3 * 2 * 100)).reshape(3, 2, 100)
    joint = np.concatenate([joint[:, :1] / 2, joint[:, :1] / 2, joint[:, 1:]], axis=1)  # two guesses that are always equal
    free = Problem.from_joint(joint, math.inf)
    problem = free.with_budget(fraction * free.bayes_leakage)
    at = interior(problem)
    for tilt in (at.tilt, np.zeros_like(at.tilt), 1e6 * at.tilt):
        for estimator in (at.estimator, np.full_like(at.estimator, 1 / 3), problem.bayes_estimator):
            for multiplier in (at.multiplier, 1e-12, 1e12):
                found = finish(problem, estimator, tilt, multiplier)
                if found is not None:
                    assert_consistent(problem, found)


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_shortcut_ends_early_at_the_same_optimum(fraction: float) -> None:
    problem = random_problem(3, 3, 300, 11, fraction)
    plain = interior(problem, 1e-10)
    early = solve_interior(
        model_of(problem), problem.bayes_estimator, gap=1e-10, max_iterations=100, shortcut=shortcut(problem, 1e-10)
    )
    assert early.iterations <= plain.iterations
    assert early.ended == "optimal"
    assert problem.error_probability(early.estimator) == pytest.approx(problem.error_probability(plain.estimator), rel=1e-9)
    assert (early.estimator.max(axis=0) < 1.0).sum() <= most_ties(problem)


@settings(max_examples=60)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 300), st.integers(0, 10**6), st.floats(1e-12, 0.5))
def test_condensing_costs_at_most_its_share(n: int, m: int, outcomes: int, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(n * m, 0.5), size=outcomes).T.reshape(n, m, outcomes) * 10.0 ** rng.uniform(
        -20, 0, outcomes
    )
    problem = Problem.from_joint(joint / joint.sum(), 0.01)
    condensed = condense(problem, share)
    smaller = condensed.problem
    np.testing.assert_allclose(smaller.p_x, problem.p_x, rtol=1e-12)
    assert smaller.N <= problem.N
    assert problem.bayes_error * (1 - 1e-12) <= smaller.bayes_error
    assert smaller.bayes_error <= problem.bayes_error * (1 + 1e-12)  # merged by Bayes guess: nothing is lost there
    if condensed.group is None:
        assert smaller is problem
        return
    sizes = np.bincount(condensed.group, minlength=smaller.N)
    merged = np.flatnonzero(sizes[condensed.group] > 1)
    assert problem.p_z[merged].sum() <= share * problem.bayes_error * (1 + 1e-12)
    estimator = rng.dirichlet(np.ones(m), size=smaller.N).T
    dense = condensed.restore(estimator)
    assert dense.shape == (m, problem.N)
    assert problem.error_probability(dense) == pytest.approx(smaller.error_probability(estimator), rel=1e-12)
    leaked = smaller.output_law(estimator).leakage()
    assert problem.output_law(dense).leakage() == pytest.approx(leaked, rel=1e-9, abs=1e-20)
