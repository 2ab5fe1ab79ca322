"""Private values of next to no probability cost no digits, under every measure, and a known secret
costs nothing.
"""

import math

import numpy as np
import pytest
from gated import gated
from numpy.random import default_rng
from random_laws import random_joint
from solving import GAIN, TEXTS, assert_certified, of_secrets, under

from discreet import BlockProblem, Problem, Status, solve, verify
from discreet.backends.precision import Precision
from discreet.measures import GLeakage
from discreet.problems.reduction import without_known_secrets


def rare_joint(seed, shape, probability):
    """A random joint law, whose first private value has about that probability."""
    joint = default_rng(seed).gamma(0.5, size=shape)
    joint[0] *= probability * joint[1:].sum() / joint[0].sum()
    return joint / joint.sum()


def rare_guess(common):
    """Perfect privacy about three values of which two are common, so that one guess of two is
    rare.
    """
    p_xy = np.array([[5e-18, 1.2e-12], [0.62 * common, 0.498], [common, 0.502]])
    joint = np.zeros((3, 2, 6))
    joint[np.repeat(range(3), 2), np.tile(range(2), 3), range(6)] = p_xy.ravel() / p_xy.sum()
    return Problem.from_joint(joint, 0.0)


def large_order():
    """Sibson's information of order 100 about a value of probability 4e-12."""
    joint = [
        [4.01e-14, 3.25e-12, 2.36e-13, 1.3e-13, 4.26e-13],
        [0.0729, 0.59, 0.0676, 0.0379, 0.231],
    ]
    loss = [
        [0.0729, 0.0468, 0.067, 1.3e-13, 0.229],
        [0.0729, 0.59, 0.00059, 0.0379, 0.0163],
        [4.01e-14, 0.543, 0.0676, 0.0379, 0.217],
    ]
    p_xz = np.array(joint)
    return Problem(p_xz / p_xz.sum(), loss, 0.0010231986353350362, measure="sibson:alpha=100")


def perturbed(problem, seed):
    """The problem in another order, each entry changed by up to about ten units of rounding."""
    rng = default_rng(seed)
    rows = np.concatenate([problem.p_xz, problem.loss])
    rows *= 1.0 + 1e-15 * rng.uniform(-1.0, 1.0, rows.shape)
    p_xz, loss = np.split(rows[:, rng.permutation(problem.N)], [problem.n])
    (term,) = problem.terms
    amount = term.budget.amount
    law = rng.permutation(p_xz / p_xz.sum())
    return Problem(law, rng.permutation(loss), amount, measure=term.measure)


def assert_confirmed(found):
    """Exact arithmetic proves at least the lower bound."""
    assert verify(found.problem, found).lower_bound >= found.certificate.lower


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("probability", [1e-6, 1e-9, 1e-13])
@pytest.mark.parametrize("seed", gated(range(4)))
def test_a_rare_value_is_certified_under_every_measure(text, probability, seed):
    problem = under(rare_joint(seed, (3, 3, 12), probability), text, [0.3, 0.01][seed % 2])
    assert_confirmed(assert_certified(problem, "tilt"))


@pytest.mark.parametrize("text", [text for text in TEXTS if text != GAIN])
@pytest.mark.parametrize("seed", gated(range(3)))
def test_two_values_of_which_one_is_rare_have_tiny_budgets(text, seed):
    """The budget is about the rare value, so it is distinguished from 0 however small it is."""
    assert_certified(under(rare_joint(seed, (2, 3, 20), 1e-12), text, 0.02), "tilt")


def test_what_rounding_moves_is_measured_by_the_values_beside_the_likeliest():
    even, rare = (
        Problem.from_joint(rare_joint(0, (2, 2, 5), p), 1e-14, measure="total-variation")
        for p in (1.0, 1e-12)
    )
    assert Precision.of(even, 1e-9).unresolved
    assert not Precision.of(rare, 1e-9).unresolved
    assert Precision.resolvable(even).perfect
    assert not Precision.resolvable(rare).perfect


@pytest.mark.parametrize("known", ["mutual-information", "min-entropy-leakage", "max-lift"])
@pytest.mark.parametrize(
    "other", ["mutual-information", "maximal-leakage", "local-differential-privacy"]
)
def test_a_secret_of_one_value_is_no_constraint(known, other):
    joint = random_joint(3, 1, 2, 2, 9)  # the first secret has one value
    sure = (0, 0.0, known)
    secret = (1, 0.01, other)
    both = of_secrets(joint, sure, secret)
    alone = of_secrets(joint, secret)
    certain = of_secrets(joint, sure, sure)
    assert [term.budget.oblivious for term in without_known_secrets(both).terms] == [True, False]
    assert without_known_secrets(alone) is alone
    assert without_known_secrets(certain) is certain
    assert solve(certain, "tilt").error_probability == pytest.approx(certain.bayes_error, rel=1e-12)
    expected = assert_certified(alone, "tilt").error_probability
    assert assert_certified(both, "tilt").error_probability == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("text", ["min-entropy-leakage", GAIN])
def test_a_sample_of_blocks_without_gain_keeps_the_budget(text):
    """The Bayes rule gains an adversary nothing, so the budget of a sample is not a share of
    what it gains.
    """
    joint = random_joint(1, 3, 2, 2, 700, spread=0.3)
    joint[0] += 1.0  # the first value stays the best guess whatever is seen
    problem = of_secrets(joint / joint.sum(), (0, 0.0, text), (1, 1e-5))
    assert problem.bayes_leakages[0] == 0.0
    assert_certified(BlockProblem.of(problem), "tilt")


@pytest.mark.parametrize(
    "seed, first, second",
    [(0, "parity-difference", "parity-difference"), (1, "maximal-leakage", "total-variation")],
)
def test_blocks_of_a_rare_value_are_certified(seed, first, second):
    """The totals of blocks differ from those stated by rounding, and tilts are as large as 1/π."""
    joint = default_rng(seed).gamma(0.5, size=(2, 4, 2, 1500))
    joint[0] *= 1e-11
    free = of_secrets(joint / joint.sum(), (0, math.inf, first), (1, math.inf, second))
    problem = free.with_budget([0.01 * leaks for leaks in free.bayes_leakages])
    assert_certified(BlockProblem.of(problem), "tilt")


def test_a_bayes_rule_whose_leakage_underflows_is_not_private():
    """Given the second value, a guess of mass 3e-153 tells apart a value of mass 6e-273."""
    joint = np.array([[[0.667, 0.0], [2e-272, 0.0]], [[2.5e-153, 0.333], [0.0, 5.6e-273]]])
    losses = [[0.53, 0.17], [0.078, 0.19]]
    problem = Problem(joint, losses, 0.0, measure="conditional-mutual-information")
    assert_certified(problem, "tilt")


@pytest.mark.parametrize("probability", [1e-310, 5e-324])
def test_a_value_that_is_hardly_a_number_fails_no_backend(probability):
    problem = Problem([[0.5, 0.5], [0.0, probability]], [[0.53, 0.17], [0.078, 0.19]], 0.0)
    assert solve(problem, "tilt").status in (Status.CERTIFIED, Status.INACCURATE)


@pytest.mark.parametrize("common", [1e-4, 1e-5, 3e-6])
def test_a_rare_guess_keeps_the_digits_that_perfect_privacy_needs(common):
    """Shares of a rare guess were rounded to multiples of 2⁻⁵³, by more of itself than the judge
    allows; the answer erred twice as often as the optimum.
    """
    assert_confirmed(assert_certified(rare_guess(common), "tilt"))


def test_an_optimum_of_nothing_is_reached_among_guesses_of_equal_loss():
    """The Bayes rule that takes the first of equal guesses leaks 0.15 nats, and another one half of
    it.
    """
    p_xz = np.array(
        [[0.17, 0.06, 0.15, 0.19], [0.07, 0.0, 0.0, 0.1], [0.0, 0.11, 0.04, 0.11]],
    )
    losses = [[0.18, 4.6e-134, 0.0, 0.0], [1e-13, 0.0, 0.0, 0.004], [0.0, 0.0, 0.013, 2e-9]]
    solution = assert_certified(Problem(p_xz, losses, 0.07), "tilt")
    assert solution.error_probability == 0.0


@pytest.mark.parametrize(
    "shape, seed, probability",
    [
        ((2, 4, 4), 19, 1e-11),
        ((2, 4, 4), 136, 1e-12),
        ((2, 3, 4), 17, 1e-11),
        ((2, 4, 4), 23, 1e-11),
    ],
)
def test_perfect_privacy_about_a_rare_value_ends_at_the_optimal_vertex(shape, seed, probability):
    """A difference of the common value's masses is rounding, which looked like an equation more."""
    problem = Problem.from_joint(rare_joint(seed, shape, probability), 0.0)
    assert np.abs(problem.deviations.sum(axis=0)).max() == 0.0
    assert_certified(problem, "tilt")


def test_a_large_order_about_a_rare_value_is_certified():
    assert_certified(large_order(), "tilt")


@pytest.mark.parametrize(
    "problem", [rare_guess(1e-5), rare_guess(3e-6), large_order()], ids=["1e-5", "3e-6", "order"]
)
@pytest.mark.parametrize("seed", gated(range(12), 3))
def test_an_answer_does_not_depend_on_rounding(problem, seed):
    """A sum of rows lost the small entries of its last guess; and a repair took the shares of the
    other guesses for one less its own, and what all of them add up to for a leakage.
    """
    assert_certified(perturbed(problem, seed), "tilt")


def test_a_guess_that_is_made_for_a_rare_value_alone_keeps_the_digits_of_its_shares():
    """It gets 2e-13 of a common outcome, which was what other shares left of one; and an optimum
    that rounding does not resolve to the gap is stated all the same.
    """
    p_xz = np.array(
        [[0.576, 0.303, 0.0, 0.121, 0.0], [1.01e-12, 0.0, 1.48e-13, 2.09e-12, 2.09e-13]]
    )
    loss = [
        [0.576, 0.303, 0.0, 2.09e-12, 2.09e-13],
        [0.576, 0.0, 1.48e-13, 0.121, 2.09e-13],
        [2.51e-13, 0.303, 1.48e-13, 0.121, 2.09e-13],
        [0.576, 0.303, 1.48e-13, 0.121, 0.0],
    ]
    gain = GLeakage([[5.0, 3.0], [2.0, 1.0], [1.0, 4.0]])
    found = solve(Problem(p_xz / p_xz.sum(), loss, 4e-18, measure=gain), "tilt").certificate
    assert found.upper < 1.05 * found.lower < 3e-12


def test_an_optimum_that_rounding_does_not_resolve_is_stated():
    p_xz = np.array([[0.955, 0.0444, 1.26e-11], [0.00014, 0.0, 1.02e-07]])
    loss = [[1.09e-17, 0.0444, 1.02e-7], [0.956, 4.02e-23, 1.02e-7], [0.956, 0.0444, 1.26e-11]]
    gain = GLeakage([[5.0, 4.0], [7.0, 5.0], [2.0, 3.0], [1.0, 8.0], [4.0, 6.0]])
    found = solve(Problem(p_xz / p_xz.sum(), loss, 0.0, measure=gain), "tilt")
    assert found.certificate.relative_gap < 1e-5


@pytest.mark.parametrize("index", [3708, 6151])
def test_a_budget_below_rounding_is_kept(load, index):
    """Plain sums of an answer to the problem of perfect privacy had confirmed it by chance."""
    problem = load("campaigns.instances").drawn("underflow", 4, index)[1]
    assert solve(problem, "tilt").status is not Status.VIOLATED_PRIVACY
