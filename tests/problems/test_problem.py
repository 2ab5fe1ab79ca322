"""The problem itself: its refusals and their messages, its constructors, its derived numbers; and
laws of its reduction by pruning and merging.
"""

import math
from math import inf, nan

import exactly
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from random_laws import random_joint
from refusals import raises_input_error
from strategies import estimators, joints, problems

from discreet.problems import LeakageBudget, Problem, reduce

P_XZ = np.array([[0.3, 0.2], [0.1, 0.4]])
LOSS = np.array([[0.1, 0.3], [0.3, 0.2]])


# -- validation
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "p_xz, loss, words",
    [
        (np.ones(4) / 4, LOSS, r"p_xz .*\[4\].*\[n, N\]"),
        (np.zeros((2, 0)), LOSS, r"p_xz .*\[2, 0\]"),
        (P_XZ, np.ones((2, 3)), "p_xz has 2 .*loss has 3"),
        (P_XZ * 10, LOSS, "p_xz sums to 10.0"),
        (P_XZ * (1 + 2e-9), LOSS, "p_xz sums to 1.000000002"),
        (np.array([[0.6, 0.0], [0.4, 0.0]]), LOSS, "outcome 1 .*p_xz .*loss"),
        ("no array", LOSS, "p_xz is not"),
        (P_XZ + 0j, LOSS, "p_xz is not"),
    ],
)
def test_bad_arrays_are_named_in_one_sentence(p_xz, loss, words):
    with raises_input_error(words):
        Problem(p_xz, loss, 0.1)


@pytest.mark.parametrize(
    "joint, matrix, words",
    [
        (np.ones((2, 2)) / 4, None, r"joint .*\[2, 2\].*\[n, m, N\]"),
        (np.ones((2, 2, 2)), None, "joint sums to 8.0"),
        (np.ones((2, 2, 2)) / 8, np.ones((3, 2)), "loss_matrix has 3 .*Y has 2"),
        (np.ones((2, 2, 2)) / 8, [[0.0, -1.0], [1.0, 0.0]], r"loss_matrix\[0, 1\] is -1.0"),
    ],
)
def test_bad_joints_are_named_in_one_sentence(joint, matrix, words):
    with raises_input_error(words):
        Problem.from_joint(joint, 0.1, loss_matrix=matrix)


@pytest.mark.parametrize(
    "words, budgets",
    {
        "budget=": {},
        "budget is nan": {"budget": nan},
        "budget is 'much'": {"budget": "much"},
        "which is not a number|budget has 2 entries": {"budget": [0.1, 0.2]},
        "equivocation 0.7 .*0.69314718056": {"equivocation": 0.7},
        "equivocation nan": {"equivocation": nan},
    }.items(),
)
def test_bad_budgets_are_named_in_one_sentence(budgets, words):
    with raises_input_error(words):
        Problem(P_XZ, LOSS, **budgets)
    with raises_input_error(words):
        Problem(P_XZ, LOSS, 1.0).with_budget(**budgets)


def test_every_refusal_is_also_a_value_error():
    with pytest.raises(ValueError, match=r"p_xz .*2.0"):
        Problem(P_XZ * 2, LOSS, 0.1)
    with pytest.raises(ValueError, match="nats"):
        LeakageBudget(-1.0)
    with raises_input_error("None"):
        LeakageBudget(None)


# -- budgets
# --------------------------------------------------------------------------------------------------


def test_equivocation_and_budget_determine_each_other():
    problem = Problem(P_XZ, LOSS, equivocation=0.5)
    assert problem.budget == pytest.approx(math.log(2.0) - 0.5, rel=1e-15)
    assert problem.equivocation == pytest.approx(0.5, rel=1e-15)
    assert problem.with_budget(equivocation=problem.entropy_x).constraint.perfect
    assert problem.with_budget(equivocation=math.log(2.0) * (1 + 1e-13)).constraint.perfect
    assert problem.with_budget(equivocation=0.0).budget == problem.entropy_x


def test_with_budget_shares_the_arrays_and_leaves_the_original():
    problem = Problem(P_XZ, LOSS, 0.1, name="one")
    other = problem.with_budget(0.2)
    assert (other.budget, problem.budget) == (0.2, 0.1)
    assert other.p_xz is problem.p_xz
    assert other.name == "one"


def test_with_budget_forgets_what_depends_on_the_budget_or_its_measure():
    problem = Problem(P_XZ, LOSS, 0.1)
    before = problem.digest
    assert problem.bayes_leakage > 0.0
    other = problem.with_budget(0.2, measure="total-variation")
    made = Problem(P_XZ, LOSS, 0.2, measure="total-variation")
    assert other.digest == made.digest != before
    assert other.bayes_leakage == made.bayes_leakage != problem.bayes_leakage


# -- what is stored
# --------------------------------------------------------------------------------------------------


def test_problems_cannot_be_changed():
    source = P_XZ.copy()
    problem = Problem(source, LOSS, 0.1)
    source[0, 0] = 0.0
    assert problem.p_xz[0, 0] == 0.3
    for array in (
        problem.p_xz,
        problem.loss,
        problem.p_x,
        problem.p_z,
        problem.phi,
        problem.bayes_estimator,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    with pytest.raises(AttributeError):
        problem.name = "other"


@given(problems(), st.floats(-9e-10, 9e-10))
def test_building_again_from_the_arrays_gives_the_arrays(problem, off):
    """Scaling twice is scaling once, also for totals near one."""
    scaled = Problem(problem.p_xz * (1 + off), problem.loss * (1 + off), 0.1)
    # The total is itself rounded before it is compared.
    assert abs(exactly.total(scaled) - 1) <= 2**-50 + 2**-52
    again = Problem(scaled.p_xz, scaled.loss, 0.1)
    assert_array_equal(again.p_xz, scaled.p_xz)
    assert_array_equal(again.loss, scaled.loss)


# -- derived numbers
# -------------------------------------------------------------------------------------------------


@given(st.data())
def test_joint_gives_zero_one_loss(data):
    joint = data.draw(joints())
    problem = Problem.from_joint(joint, 0.1)
    estimator = data.draw(estimators((problem.m, problem.N)))
    wrong = sum(
        joint[:, k, z].sum() * estimator[i, z]
        for k in range(problem.m)
        for i in range(problem.m)
        for z in range(problem.N)
        if i != k
    )
    assert problem.error_probability(estimator) == pytest.approx(wrong, rel=1e-12, abs=1e-300)
    exact = exactly.error_probability(problem, estimator)
    assume(exact > 1e-290)
    assert abs(problem.error_probability(estimator) / float(exact) - 1) < 1e-15


def test_loss_masses_keep_small_errors():
    """1 − Pr(right guess) would be 0 here."""
    joint = [[[0.5 - 1e-25, 1e-25], [1e-25, 0.5 - 1e-25]]]
    problem = Problem.from_joint(joint, inf)
    assert problem.bayes_error == pytest.approx(2e-25, rel=1e-15)


def test_general_loss_matrices():
    joint = random_joint(0, 2, 2, 3)
    matrix = [[0.0, 1.0, 0.25], [5.0, 0.0, 0.5]]
    problem = Problem.from_joint(joint, 0.1, loss_matrix=matrix)
    assert problem.m == 3
    assert problem.loss[2, 1] == pytest.approx(
        0.25 * joint[:, 0, 1].sum() + 0.5 * joint[:, 1, 1].sum()
    )


@given(st.data())
def test_bayes_rule_has_the_least_error(data):
    problem = data.draw(problems(inf))
    best = exactly.error_probability(problem, problem.bayes_estimator)
    assert best <= exactly.error_probability(
        problem, data.draw(estimators((problem.m, problem.N))), normalised=True
    )
    assert problem.bayes_error == pytest.approx(float(best), rel=1e-15, abs=0.0)
    assert problem.bayes_error <= problem.constant_error
    assert problem.constant_error == problem.constant_errors.min()


def test_phi_of_the_definition():
    assert_allclose(Problem(P_XZ, LOSS, 0.1).phi, [[0.6 - 0.4, 0.4 - 0.6], [0.2 - 0.4, 0.8 - 0.6]])


@pytest.mark.parametrize("outcomes", [2, 50, 20_000])
def test_independence_has_rank_zero_whatever_the_number_of_outcomes(outcomes):
    rng = np.random.default_rng(1)
    p_xz = np.outer(rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(outcomes)))
    found = Problem(p_xz / p_xz.sum(), np.zeros((2, outcomes)), 0.0).phi_rank
    assert found.rank == 0
    assert found.gap == inf


@pytest.mark.parametrize("correlation", [1.0, 1e-3, 1e-12])
def test_rank_sees_faint_dependence_among_many_outcomes(correlation):
    w = np.full(20_000, 1 / 20_000)
    sign = np.where(np.arange(20_000) % 2, 1.0, -1.0)
    p_xz = 0.5 * w * np.array([1 + correlation * sign, 1 - correlation * sign])
    found = Problem(p_xz / p_xz.sum(), np.zeros((2, 20_000)), 0.0).phi_rank
    assert found.rank == 1
    assert found.singular_values[0] == pytest.approx(correlation, rel=1e-3)


def test_rank_of_certain_private_values():
    assert Problem([[0.5, 0.5]], np.zeros((2, 2)), 0.0).phi_rank.rank == 0
    empty = Problem([[0.5, 0.5], [0.0, 0.0]], np.zeros((2, 2)), 0.0)
    assert empty.phi_rank.rank == 0
    assert empty.entropy_x == 0.0
    assert Problem(np.diag([0.25, 0.25, 0.5]), np.zeros((2, 3)), 0.0).phi_rank.rank == 2
    assert np.isfinite(
        Problem([[1.0, 5e-324], [0.0, 1e-310]], np.zeros((2, 2)), 0.0).phi_rank.singular_values
    ).all()


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
