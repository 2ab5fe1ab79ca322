"""Laws of pruning and merging: same optimum, exact way back."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from random_laws import random_joint
from strategies import estimators, joints, problems

from discreet.problems import Problem, reduce


@given(st.data())
def test_restored_estimators_keep_error_and_leakage(data):
    problem = data.draw(problems(0.1))
    reduced = reduce(problem)
    estimator = data.draw(estimators((problem.m, reduced.problem.N)))
    full = reduced.restore(estimator)
    assert full.shape == (problem.m, problem.N)
    assert_allclose(full.sum(axis=0), 1.0, rtol=1e-15)
    small = reduced.problem
    large = problem
    assert small.error_probability(estimator) == pytest.approx(
        large.error_probability(full), rel=1e-14, abs=1e-300
    )
    assert small.leakage(estimator) == pytest.approx(large.leakage(full), rel=1e-6, abs=1e-24)


@given(st.data(), st.integers(1, 4))
def test_copies_of_outcomes_merge_again(data, copies):
    joint = data.draw(joints())
    assume(joint[joint > 0].min() > 1e-290)  # halves of the smallest doubles are not proportional
    problem = Problem.from_joint(joint, 0.1)
    repeated = Problem.from_joint(np.repeat(joint, 2**copies, axis=2) / 2**copies, 0.1)
    once = reduce(problem)
    again = reduce(repeated)
    assert again.problem.N == once.problem.N
    assert_allclose(again.problem.p_xz, once.problem.p_xz, rtol=1e-14)
    assert_allclose(again.problem.loss, once.problem.loss, rtol=1e-14)


def test_groups_keep_the_order_of_first_appearance():
    p_xz = [[0.2, 0.1, 0.0, 0.1, 0.05], [0.1, 0.2, 0.0, 0.05, 0.2]]
    problem = Problem(p_xz, [[1.0, 1.0, 0.0, 0.5, 0.2], [0.0, 0.0, 0.0, 0.0, 0.1]], 0.1)
    reduced = reduce(problem)
    assert reduced.group.tolist() == [0, 1, -1, 0, 2]
    assert (reduced.pruned, reduced.problem.N) == (1, 3)
    assert_allclose(reduced.problem.loss, [[1.5, 1.0, 0.2], [0.0, 0.0, 0.1]])


def test_an_impossible_outcome_gets_the_law_of_the_output():
    problem = Problem(
        [[0.5, 0.0, 0.25], [0.125, 0.0, 0.125]],
        [[0.1, 0.0, 0.2], [0.3, 0.0, 0.0]],
        0.1,
    )
    estimator = np.array([[1.0, 0.0], [0.0, 1.0]])
    full = reduce(problem).restore(estimator)
    assert_allclose(full[:, 1], [0.625, 0.375])


def test_private_values_of_probability_zero_get_tilt_zero():
    problem = Problem([[0.5, 0.25], [0.0, 0.0], [0.125, 0.125]], np.ones((2, 2)), 0.1)
    reduced = reduce(problem)
    assert reduced.problem.n == 2
    assert_array_equal(
        reduced.restore_tilt(np.array([[1.0, 2.0], [3.0, 4.0]])), [[1, 0, 2], [3, 0, 4]]
    )


def test_without_anything_to_remove_the_reduction_is_the_problem_itself():
    problem = Problem([[0.5, 0.1], [0.1, 0.3]], [[0.0, 1.0], [1.0, 0.0]], 0.1)
    reduced = reduce(problem)
    assert reduced.problem is problem
    estimator = np.eye(2)
    assert reduced.restore(estimator) is estimator
    assert reduced.pruned == 0


@pytest.mark.parametrize("difference", [1e-9, 1e-12])
def test_nearly_proportional_outcomes_are_not_merged(difference):
    p_xz = np.array([[0.3, 0.3 * (1 + difference)], [0.2, 0.2]])
    assert reduce(Problem(p_xz / p_xz.sum(), np.zeros((2, 2)), 0.1)).problem.N == 2


def test_outcomes_with_losses_above_their_mass_are_not_merged_wrongly():
    """Loss divided by mass overflows here; the two outcomes have different best guesses."""
    p_xz = [[1.0, 5e-324, 5e-324], [0.0, 5e-324, 5e-324]]
    problem = Problem(p_xz, [[0.0, 1.0, 2.0], [0.0, 2.0, 1.0]], math.inf)
    reduced = reduce(problem)
    assert reduced.problem.N == 3
    assert reduced.problem.bayes_error == problem.bayes_error == 2.0


def test_negative_zero_is_zero():
    p_xz = [[0.25, 0.25], [0.25, 0.25]]
    loss = [[0.0, -0.0], [1.0, 1.0]]
    assert reduce(Problem(p_xz, loss, 0.1)).problem.N == 1


def test_many_copies_add_up_without_drift():
    joint = random_joint(4, 2, 2, 2)
    copies = 50_000
    many = Problem.from_joint(np.repeat(joint / copies, copies, axis=2), 0.1)
    merged = reduce(many).problem.p_xz
    assert_allclose(merged, joint.sum(axis=1), rtol=3e-15)
