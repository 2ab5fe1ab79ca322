"""Perfect privacy, proven: brackets at budget 0 hold the exact optimum of the estimators that they
are about, and columns of integers make estimators exactly private.
"""

import json
import random
from dataclasses import replace
from fractions import Fraction
from math import inf, nan

import exactly
import numpy as np
import pytest
import strategies as make
from gated import gated
from hypothesis import given
from hypothesis import strategies as st
from judging import assert_optimum_bracketed, certify_rule
from random_laws import nearly_independent, random_joint
from solving import assert_certified
from strategies import estimators, garbage, problems, tilts

import discreet as ds
from discreet import CausalProblem, CausalRule, OutcomeRule, Problem, Status, verify
from discreet.checks import at_most
from discreet.judge import certify
from discreet.judge.privacy import PRIVATE_LIMIT, is_private
from discreet.problems import IntervalRule, NormalDensity, blocks_from
from discreet.problems.exact_privacy import _exact_sum, _solution
from discreet.reports.second_opinion import second_opinion


def solved(problem, backend):
    """A solution whose bracket is true."""
    solution = ds.solve(problem, backend)
    assert solution.certificate is not None, solution.message
    assert_optimum_bracketed(problem, solution.certificate)
    if solution.certificate.private_within > 0.0:
        assert exactly.distance(problem, solution.estimator) <= Fraction(
            solution.certificate.private_within
        )
    return solution, solution.certificate


def test_what_is_not_known_at_all_is_not_private():
    """A doubt of ∞ excuses no distance: such a law may be anything."""
    assert is_private(0.0, inf)
    assert not is_private(1e-300, inf)
    assert not is_private(inf, inf)
    assert not is_private(nan, inf)
    assert not is_private(inf, 0.0)
    assert is_private(PRIVATE_LIMIT + 4e-15, 1e-15)
    assert not is_private(PRIVATE_LIMIT + 6e-15, 1e-15)


# -- what was once certified and is not so
# -------------------------------------------------------------------------------


def rare_outcome(loss):
    """An outcome of mass 1e-14 that tells X, and where guess 0 loses that much; guess 1 loses
    everywhere else.
    """
    p_xz = [[0.5 - 1e-14, 1e-14], [0.5, 0.0]]
    return Problem(p_xz, [[0.0, loss * 1e-14], [1.0 - 1e-14, 0.0]], 0.0)


@pytest.mark.parametrize("backend", ["tilt", "highs"])
@pytest.mark.parametrize("apart", [2e-14, 2e-12, 2e-8])
def test_an_almost_independent_outcome_is_certified_only_with_its_tolerance(backend, apart):
    problem = nearly_independent(apart)
    assert exactly.perfect_privacy_optimum(problem) > Fraction(0.49)
    solution, judged = solved(problem, backend)
    if backend == "tilt" and apart == 2e-14:
        assert solution.status is Status.CERTIFIED
    if judged.upper < 0.4:
        assert judged.private_within >= apart * 0.9
        assert f"private within {at_most(judged.private_within, 2)}:" in solution.message


@pytest.mark.parametrize("backend", ["tilt", "highs", "auto"])
@pytest.mark.parametrize("loss", [1.0, 1e12])
def test_a_rare_guess_that_tells_x_is_not_private(backend, loss):
    problem = rare_outcome(loss)
    telling = [[1.0, 0.0], [0.0, 1.0]]
    judged = ds.certify(problem, telling)
    assert judged.status is Status.VIOLATED_PRIVACY
    assert judged.certificate.own_private_within >= 1.0
    assert_optimum_bracketed(problem, judged.certificate)
    _, found = solved(problem, backend)
    assert found.upper >= loss * 1e-14 * (1.0 - 1e-12)


@pytest.mark.parametrize("sensors", gated([3, 10, 30], 2))
def test_the_answer_of_tilt_is_next_to_an_exactly_private_one(sensors):
    """Its exact dual bound lay above its upper bound once, by 2e-13 of it."""
    problem = ds.problems.paper_multi(sensors=sensors, budget=0.0)
    solution = ds.solve(problem, "tilt")
    judged = solution.certificate
    assert judged.private_within == 0.0
    bound = exactly.bound(problem, solution.tilt, inf)
    assert Fraction(judged.lower) <= bound <= Fraction(judged.upper)


def test_outcomes_that_say_nothing_about_x_but_for_rounding_are_solved():
    """Their deviations are larger than what rounding leaves of independence, and smaller than any
    direction that is kept.
    """
    rng = np.random.default_rng(0)
    for _ in range(5):
        p_xz = np.outer(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4))) * (
            1.0 + 1e-13 * rng.standard_normal((3, 4))
        )
        p_xz /= p_xz.sum()
        solution, _ = solved(Problem(p_xz, p_xz.sum(axis=0) * rng.random((3, 4)), 0.0), "tilt")
        assert solution.status is Status.CERTIFIED, solution


# -- laws
# --------------------------------------------------------------------------------------------------


@given(st.data())
def test_brackets_hold_the_optimum_of_what_they_are_about(data):
    problem = data.draw(problems(0.0))
    shape = (problem.m, problem.N)
    tilt = data.draw(st.one_of(st.none(), tilts((problem.m, problem.n))))
    verdict = certify(problem, data.draw(st.one_of(garbage(shape), estimators(shape))), tilt)
    assert_optimum_bracketed(problem, verdict.certificate)
    within = Fraction(verdict.certificate.private_within)
    assert within == 0 or exactly.distance(problem, verdict.estimator) <= within


@given(problems(0.0, outcomes=4), st.sampled_from(["tilt", "highs"]))
def test_solutions_hold_the_optimum_of_what_they_are_about(problem, backend):
    if ds.solve(problem, backend).certificate is not None:  # masses of 5e-324 are too much for some
        solved(problem, backend)


def test_a_tie_class_is_exactly_private_through_its_members():
    """The members of a tie class share a column; the exactly private estimator may give one of them
    another.
    """
    joint = random_joint(3, 2, 2, 6)
    many = np.repeat(joint / 50.0, 50, axis=2)
    small = Problem.from_joint(joint, 0.0)
    large = Problem.from_joint(many, 0.0)
    solution = ds.solve(small, "tilt")
    drawn = np.flatnonzero(solution.estimator.max(axis=0) < 1.0)
    assert drawn.size == 1
    margins = np.abs(np.diff(small.loss + solution.tilt @ small.p_xz, axis=0)[0]) / small.p_z
    classes = np.eye(2)[[0, 0, 1, 1]]
    classes[[1, 2]] = solution.estimator[:, drawn[0]]
    rule = OutcomeRule(solution.tilt, band=float(margins[drawn[0]] + 1e-12), tie_classes=classes)
    judged = certify_rule(large, rule, inf).certificate
    assert judged.private_within == 0.0
    assert judged.upper == pytest.approx(solution.certificate.upper, rel=1e-12)


def test_a_bracket_excludes_only_what_it_is_about():
    problem = nearly_independent(1e-14)
    judged = certify(problem, problem.bayes_estimator).certificate
    above = replace(judged, lower=0.3, upper=0.4)
    assert above.excludes(judged)
    assert not replace(above, private_within=0.0).excludes(judged)
    assert above.excludes(replace(judged, private_within=0.0))
    assert not judged.excludes(above)


RARE = [[0.5, 1e-200], [0.5, 0.0]], [[0.1, 0.0], [0.2, 0.0]]
"""Only one private value has the second outcome: p(x, z), and losses."""
STEP = CausalProblem(*map(np.array, RARE), 0.0)
DENSITIES = [[NormalDensity(0.0, 1.0)] * 2, [NormalDensity(0.5, 1.0)] * 2]


@pytest.mark.parametrize(
    "problem, answer",
    {
        "estimator": (Problem(*RARE, 0.0), [[1.0, 1.0], [0.0, 1e-200]]),
        **{
            f"share {share}": (
                Problem(*RARE, 0.0),
                OutcomeRule(np.zeros((2, 2)), [1], [[1.0], [1e-200]], share, [1.0, 0.0]),
            )
            for share in (0.0, 0.5, 1e-300)
        },
        "step": (STEP, CausalRule(STEP.tree, [np.array([[[1.0, 1.0], [0.0, 1e-200]]])])),
        # Beyond 60 σ a normal law has a mass of 1e-784.
        "densities": (
            ds.ContinuousProblem(DENSITIES, [[0.3, 0.2], [0.15, 0.35]], 0.0),
            IntervalRule.from_labels([60.0], [1, 0], 2),
        ),
    }.values(),
)
def test_a_guess_too_rare_to_be_told_is_not_called_private(problem, answer):
    """The product of a mass of 1e-200 and a probability of 1e-200 underflows."""
    judged = certify(problem, answer).certificate
    assert not judged.own_budget_kept
    assert judged.own_private_within == inf
    assert judged.private_within == 0.0
    if isinstance(problem, Problem):
        assert verify(problem, ds.certify(problem, answer)).budget_kept


def test_an_entry_that_underflows_counts_beside_others_of_its_guess():
    """The guess has a mass of 1e-240, but all of it that comes from a private value of probability
    1e-190 underflows.
    """
    p_xz = [[0.5, 0.5 - 1e-190], [0.0, 1e-190]]
    problem = Problem(p_xz, [[0.0, 0.1], [0.2, 0.0]], 0.0)
    estimator = np.array([[1.0, 1.0], [1e-240, 5e-240]])
    judged = certify(problem, estimator).certificate
    assert judged.own_private_within >= exactly.distance(problem, estimator) > Fraction(1, 2)


@pytest.mark.parametrize("share", [0.25, 1.0 - 2.0**-53])
def test_a_blend_of_an_exactly_private_rule_is_exactly_private(share):
    problem = ds.problems.paper_single(bins=16, budget=0.0)
    solution = ds.solve(problem, "tilt")
    rule = OutcomeRule.of(solution.tilt, np.asarray(solution.estimator), problem.p_xz, problem.loss)
    blended = ds.certify(problem, rule.blended(share, np.array([0.3, 0.7])))
    assert blended.certificate.own_private_within == 0.0
    assert blended.certificate.blend == 0.0
    found = verify(problem, blended)
    assert found.budget_kept
    assert found.error[0] <= blended.certificate.upper


def test_a_file_states_a_rule_with_a_share_as_it_was_judged():
    """The matrix of such a rule is rounded, and at budget 0 its δ is that of its roundings."""
    p_xz = [
        [0.12380195156101088, 0.24301459054538477, 0.17621852913933778],
        [0.10344400134484645, 0.0710036149873964, 0.28251731242202355],
    ]
    problem = Problem(p_xz, [[0.1, 0.2, 0.0], [0.0, 0.1, 0.3]], 0.0)
    towards = [0.4793961934405552, 0.5206038065594448]
    rule = OutcomeRule(np.zeros((2, 2)), [0], [[0.3], [0.7]], 1.0 - 2.0**-53, towards)
    solution = ds.certify(problem, rule)
    assert verify(problem, solution).deviation[0] <= solution.certificate.private_within < 1e-15
    assert "rule_tilt" in solution.members()


def test_moves_of_equal_effect_do_not_crowd_out_others():
    """A tie repeated fifty times has the fifty heaviest moves, but they are all of
    one direction.
    """
    joint = random_joint(0, 3, 3, 6, spread=0.7)
    solution, judged = solved(Problem.from_joint(joint, 0.0), "tilt")
    copies = np.where(np.arange(6) == solution.estimator.max(axis=0).argmin(), 50, 1)
    many = Problem.from_joint(np.repeat(joint / copies, copies, axis=2), 0.0)
    repeated = certify(many, np.repeat(solution.estimator, copies, axis=1)).certificate
    assert judged.private_within == repeated.private_within == 0.0


@pytest.mark.parametrize("share, private", [(0.2, True), (0.9, True), (1.1, False)])
def test_the_limit_is_on_what_a_single_guess_tells(share, private):
    problem = nearly_independent(share * PRIVATE_LIMIT)
    judged = certify(problem, problem.bayes_estimator).certificate
    assert judged.own_private_within == pytest.approx(share * PRIVATE_LIMIT, rel=1e-3)
    assert (judged.blend == 0.0) is private


def exact_columns_of(solution):
    """Outcome → integers, as a file states them."""
    texts = json.loads(str(solution.members().get("exact_columns", "{}")))
    return {
        int(outcome): [int(weight, 0) for weight in column] for outcome, column in texts.items()
    }


def columns_of(estimator, exact):
    """The columns as fractions: those of integers, and otherwise those of doubles, completed at the
    likeliest guess.
    """
    found = exactly.completed(np.asarray(estimator))
    for outcome, weights in exact.items():
        found[:, outcome] = exactly.fractions(weights) / sum(weights)
    return found


@given(make.problems(0.0, general=False))
def test_an_answer_is_stated_as_exactly_private_where_the_judge_proves_that_it_can_be(problem):
    solution = ds.solve(problem, "tilt")
    if solution.certificate is None or solution.estimator is None:
        return
    columns = columns_of(solution.estimator, exact_columns_of(solution))
    assert (columns >= 0).all()
    assert (columns.sum(axis=0) == 1).all()
    if solution.certificate.private_within == 0.0:
        assert exactly.distance(problem, columns) == 0
        error = exactly.error_probability(problem, columns)
        assert error <= Fraction(solution.certificate.upper)


@pytest.mark.parametrize("backend", ["tilt", "highs"])
@pytest.mark.parametrize(
    "problem",
    [
        ds.problems.paper_single(bins=20, budget=0.0),
        ds.problems.paper_multi(sensors=2, bins=2, budget=0.0),  # the vertex randomises nowhere
        ds.problems.dirichlet(n=4, m=3, N=30, seed=1, budget=0.0),
        ds.problems.x_equals_y(n=3, N=12, budget=0.0),
        ds.problems.duplicated(N=6, copies=3, budget=0.0),
    ],
    ids=["single", "multi", "dirichlet", "x-equals-y", "duplicated"],
)
def test_answers_of_solvers_are_verified_as_private(problem, backend):
    solution = ds.solve(problem, backend)
    found = ds.verify(problem, solution)
    if problem.N == 3 and backend == "highs":  # it leaves a vertex that randomises nowhere as it is
        assert 0.0 < found.deviation[0] <= solution.certificate.private_within < 1e-15
        return
    assert solution.certificate.private_within == 0.0
    assert found.budget_kept
    assert found.deviation == found.leakage == (0.0, 0.0)
    assert found.bracket[1] - found.bracket[0] <= 1e-9 * found.bracket[1]


def test_an_estimator_that_ignores_the_outcome_needs_no_integers():
    problem = ds.problems.dirichlet(n=3, m=3, N=10, seed=2, budget=0.0)
    assert exact_columns_of(ds.certify(problem, np.eye(3)[:, [1] * 10])) == {}


def test_an_estimator_that_leaks_is_not_called_private():
    """p(z given x) = ½(1 ± 2e-14): the Bayes rule is within rounding of privacy, and no small
    change makes it private.
    """
    problem = nearly_independent(2e-14)
    solution = ds.certify(problem, problem.bayes_estimator)
    assert exact_columns_of(solution) == {}
    found = ds.verify(problem, solution)
    assert found.budget_kept is False
    assert found.lower_bound < 0.5 == found.bracket[1]


def test_what_a_file_cannot_state_exactly_is_stated_within_a_number():
    """An exactly private estimator next to this one differs in 105 probabilities: as integers these
    would be too long.
    """
    problem = ds.problems.dirichlet(n=4, m=36, N=300, seed=1, budget=0.0)
    solution = assert_certified(problem, "tilt")
    within = solution.certificate.private_within
    assert 0.0 < within < 1e-12
    stated = float(solution.message.partition("private within ")[2].partition(":")[0])
    assert within <= stated <= 1.1 * within
    assert exact_columns_of(solution) == {}
    found, contradictions = second_opinion(solution, 1e-9)
    assert contradictions == []
    assert 0.0 < found.deviation[0] <= within


def test_a_rule_of_blocks_is_verified_as_private():
    problem = ds.problems.paper_single(bins=3000, budget=0.0)
    pieces = [slice(start, start + 700) for start in range(0, 3000, 700)]
    blocks = blocks_from(
        lambda: ((problem.p_xz[:, piece], problem.loss[:, piece]) for piece in pieces), 2, 2
    )
    streamed = ds.problems.block_problem(blocks, budget=0.0)
    solution = ds.solve(streamed, "tilt")
    members = solution.members()
    assert set(json.loads(str(members["exact_columns"]))) == {
        str(tie) for tie in members["ties"].tolist()
    }
    for source in (streamed, problem):
        found = ds.verify(source, members)
        assert found.budget_kept
        assert found.bracket[1] - found.bracket[0] < 1e-12
    without = ds.verify(
        streamed, {name: value for name, value in members.items() if name != "exact_columns"}
    )
    assert without.budget_kept is False
    assert without.deviation[1] < 1e-12


@pytest.mark.parametrize("size", [1, 2, 30])
def test_equations_with_long_integers_are_solved_exactly(size):
    """Also with a common factor, with integer solutions of either sign, and where pivots vanish
    modulo the prime.
    """
    rng = random.Random(size)
    matrix = [[rng.randrange(-(2**150), 2**150) for _ in range(size)] for _ in range(size)]
    matrix[0][0] = 2**127 - 1 if size > 1 else 6
    sides = [rng.randrange(-(2**150), 2**150) for _ in range(size)]
    for system in (
        [[*row, side] for row, side in zip(matrix, sides, strict=True)],
        [[6 * entry for entry in (*row, side)] for row, side in zip(matrix, sides, strict=True)],
        [[*row, sum(a * (7 - k) for k, a in enumerate(row))] for row in matrix],
        [[-3 * (k == j) for j in range(size)] + [k - 1] for k in range(size)],
    ):
        values = _solution([[Fraction(entry, 6) for entry in row] for row in system])
        for row in system:
            assert sum(a * x for a, x in zip(row, values, strict=False)) == row[-1]


@given(
    st.lists(st.one_of(st.floats(0.0, 1.0), st.floats(0.0, 1e-300), st.just(5e-324)), max_size=40)
)
def test_sums_of_doubles_are_exact(values):
    assert _exact_sum(np.array(values)) == sum(map(Fraction, values))
