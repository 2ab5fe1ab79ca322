"""The upper bound: repair makes any matrix a feasible estimator, proven with exact arithmetic."""

import math

import exactly
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from random_laws import random_problem
from solving import at_share
from strategies import estimators, garbage, problems

import discreet as ds
from discreet.backends.repairs import private_versions
from discreet.judge import certify
from discreet.measures.law import phi_residual
from discreet.numerics.estimators import column_error, normalise


def _assert_stochastic(estimator):
    assert (estimator >= 0.0).all()
    assert np.abs(estimator.sum(axis=0) - 1.0).max() <= (estimator.shape[0] + 1) * 2.0**-52


@given(st.data())
def test_feasible_estimators_are_left_alone(data):
    problem = data.draw(problems(1.0))
    own = normalise(data.draw(estimators((problem.m, problem.N))))
    law = problem.output_law(own)
    for budget in (law.leakage() * (1 + 1e-9) + 1e-15, math.inf):
        kept = certify(problem.with_budget(budget), own)
        assert kept.certificate.blend == 0.0
        assert_array_equal(kept.estimator, normalise(own))


@pytest.mark.parametrize("fraction", [0.9, 0.5, 1e-2, 1e-6, 1e-10])
def test_blend_uses_the_whole_budget(fraction):
    problem = at_share(random_problem(6), fraction)
    repaired = certify(problem, problem.bayes_estimator).certificate
    assert repaired.leakage == pytest.approx(problem.budget, rel=1e-6)
    assert repaired.leakage <= problem.budget
    assert repaired.upper < problem.constant_error


def test_least_share_is_found_when_it_is_minute():
    """A budget smaller by a relative 1e-9 costs a share of about that size."""
    problem = random_problem(6)
    own = normalise(0.9 * problem.bayes_estimator + 0.05)
    leakage = problem.leakage(own)
    repaired = certify(problem.with_budget(leakage * (1 - 1e-9)), own).certificate
    assert 0.0 < repaired.blend < 1e-8
    assert repaired.upper == pytest.approx(problem.error_probability(own), rel=1e-7)


def test_an_estimator_worse_than_a_constant_is_replaced_by_it():
    """An estimator worse than a constant is replaced by the constant, instead of being blended as
    little as possible.
    """
    problem = random_problem(6, budget=1e-4)
    worst = np.eye(2)[:, np.argmax(problem.loss, axis=0)]
    assert certify(problem, worst).certificate.upper <= problem.constant_error * (1 + 1e-14)


def test_a_valid_anchor_helps_and_an_invalid_one_is_harmless():
    problem = random_problem(8, budget=0.0)
    even = normalise(0.9 * np.full((2, 8), 0.5) + 0.1 * problem.bayes_estimator)
    (good,) = private_versions(problem, even)
    tight = problem.with_budget(1e-9)
    nonsense = (np.full((2, 8), np.nan), np.ones((1, 8)), problem.bayes_estimator, np.zeros((3, 3)))
    plain, helped, harmed = (
        certify(tight, problem.bayes_estimator, anchors=anchors)
        for anchors in ((), (good,), nonsense)
    )
    assert helped.certificate.upper <= plain.certificate.upper
    assert harmed.certificate.upper <= plain.certificate.upper * (1 + 1e-12)
    for verdict in (helped, harmed):
        assert exactly.leakage(tight, verdict.estimator) <= 1e-9


@pytest.mark.parametrize("budget", [1e-300, 1e-100, 1e-60])
def test_budgets_below_rounding_leave_a_constant(budget):
    problem = random_problem(6, budget=budget)
    repaired = certify(problem, np.full((2, 6), 0.5) + 0.1 * problem.bayes_estimator)
    assert exactly.leakage(problem, repaired.estimator) == 0
    assert column_error(repaired.estimator) == 0.0
    assert repaired.certificate.upper == pytest.approx(problem.constant_error, rel=1e-15)


@given(garbage((3, 7)))
def test_normalise_makes_columns_of_anything(matrix):
    before = matrix.copy()
    estimator = normalise(matrix)
    _assert_stochastic(estimator)
    assert_array_equal(matrix, before)
    usable = np.where(np.isfinite(matrix), np.clip(matrix, 0.0, None), 0.0)
    assert_array_equal(estimator[:, usable.max(axis=0) == 0.0], 1 / 3)


@given(estimators((3, 5)))
def test_column_error_covers_the_columns(matrix):
    estimator = normalise(matrix)
    sums = [sum(map(exactly.Fraction, column.tolist())) for column in estimator.T]
    assert max(abs(total - 1) for total in sums) <= column_error(estimator)


def test_a_guess_that_is_always_the_same_leaks_nothing_of_any_secret():
    """The totals of two secrets differ by rounding, which exceeds a budget of 1e-240."""
    joint = np.random.default_rng(0).dirichlet(np.ones(24)).reshape(2, 2, 6)
    secrets = [ds.Constraint(joint.sum(axis=k), 1e-240, "total-variation") for k in (0, 1)]
    problem = ds.Problem(loss=joint.sum(axis=1), constraints=secrets)
    solution = ds.certify(problem, [[1.0] * 6, [0.0] * 6])
    assert solution.certificate is not None
    assert [term.own_leakage_ceiling for term in solution.certificate.terms] == [0.0, 0.0]
    assert solution.certificate.own_budget_kept


def test_a_guess_that_is_always_the_same_is_private_whatever_the_prior():
    """The products of masses with a prior of 2e-316 have no digits."""
    p_xz = [[0.4, 0.6], [2e-316, 0.0]]
    problem = ds.Problem(p_xz, [[0.1, 0.2], [0.2, 0.1]], 0.0)
    certificate = ds.certify(problem, [[1.0, 1.0], [0.0, 0.0]]).certificate
    assert certificate is not None
    assert certificate.own_private_within == 0.0


def test_underflow_does_not_make_a_leaking_estimator_private():
    """p(ŷ given x_2) is 0.3 away from p(ŷ), but every product with π_2 underflows."""
    problem = ds.Problem([[0.5, 0.5], [5e-324, 0.0]], [[0.0, 0.5], [0.5, 0.0]], 0.0)
    law = problem.output_law(np.array([[0.8, 0.2], [0.2, 0.8]]))
    assert phi_residual(law) >= 0.3
    assert certify(problem, [[0.8, 0.2], [0.2, 0.8]]).certificate.phi_residual == 0.0
    rare = ds.Problem([[0.5, 0.5], [1e-310, 0.0]], [[0.0, 0.5], [0.5, 0.0]], 0.0)
    assert phi_residual(rare.output_law(np.array([[0.8, 0.2], [0.2, 0.8]]))) == pytest.approx(
        0.3, rel=1e-9
    )
