"""Guesses over time: the causal optimum, its certificate, and what is true of it whatever the
model.
"""

import math
from fractions import Fraction
from itertools import product

import exactly
import numpy as np
import pytest
import solving
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from refusals import raises_file_error, raises_input_error
from solving import at_share
from strategies import seeds

import discreet as ds


def drawn(seed, steps, budget=math.inf, n=3, most=3):
    """A random model with up to `most` guesses and measurements at each step, whose Bayes rule
    leaks something.
    """
    rng = default_rng(seed)
    while True:
        guesses = rng.integers(2, most + 1, steps)
        measurements = rng.integers(2, most + 1, steps)
        joint = rng.dirichlet(np.full(n * 2 * measurements.prod(), 10.0 ** rng.uniform(-1.0, 0.0)))
        joint = joint.reshape(n, 2, *measurements)
        losses = np.tensordot(rng.random((*guesses, 2)), joint.sum(axis=0), axes=1)
        found = ds.CausalProblem(joint.sum(axis=1), losses, budget)
        if found.bayes_leakage > 1e-4:
            return found


def assert_certified(problem):
    """The solution, which is certified to a relative gap of 1e-9."""
    found = solving.assert_certified(problem)
    assert problem.budget == 0.0 or found.certificate.leakage_ceiling <= problem.budget
    return found


def nearly_deterministic(sharpness, steps, seed):
    """Budget 0; laws of a few states and two measurements, of which most are nearly 0 or 1."""
    rng = default_rng(seed)
    laws = [
        rng.dirichlet(np.full(shape[-1], sharpness), size=shape[:-1])
        for shape in ((4,), (4, 4), (4, 2))
    ]
    return ds.CausalProblem.from_chain(
        *laws, 0.0, steps=steps, private=[0, 0, 1, 1], public=[0, 1, 0, 1]
    )


@pytest.mark.parametrize(
    "sharpness, steps, seed",
    [
        (0.3, 4, 6),
        (0.1, 2, 6),
        (0.1, 4, 10),
        (0.03, 3, 6),
        (0.03, 2, 9),
        (0.02, 2, 0),
        (0.02, 2, 9),
        (0.02, 3, 8),
        (0.05, 2, 7),
        (0.05, 2, 9),
        (0.05, 4, 3),
        (0.05, 4, 5),
        (0.05, 4, 8),
        (0.15, 4, 4),
    ],
)
def test_perfect_privacy_of_chains_that_are_nearly_deterministic(sharpness, steps, seed):
    assert_certified(nearly_deterministic(sharpness, steps, seed))


@pytest.mark.parametrize("share", [0.01, 0.3])
def test_a_constant_guess_is_returned_where_the_interior_point_finds_nothing_better(share):
    problem = nearly_deterministic(0.05, 2, 11)
    found = assert_certified(at_share(problem, share))
    assert found.error_probability == pytest.approx(problem.constant_error, rel=1e-13)


def test_guesses_that_are_hardly_ever_made_do_not_weaken_the_bound():
    assert_certified(at_share(nearly_deterministic(0.5, 4, 1), 0.3))


@pytest.mark.parametrize("change", [1e-110, 1e-150])
@pytest.mark.parametrize("share", [0.0, 1e-3, 0.5])
def test_an_error_that_is_negligible_is_certified(change, share):
    """Two values of a state are measured without error and change with a small probability. Budgets
    of such changes are below 1e-27, so that budget 0 is solved; what it errs is below 1e-100.
    """
    move = [[1.0 - change, change], [change, 1.0 - change]]
    seen = [[1.0, 0.0], [0.5, 0.5]]
    states = {"private": [0, 1], "public": [0, 1]}
    problem = ds.CausalProblem.from_chain(move[0], move, seen, 0.0, steps=2, **states)
    assert_certified(at_share(problem, share))


@pytest.mark.parametrize("seed", [0, 2, 3])
@pytest.mark.parametrize("budget", [1e-13, 1e-16, 2e-21, 2e-25, 1e-27])
def test_a_tiny_budget_errs_hardly_less_than_none(seed, budget):
    """Next to a price of 1e17 the rounding of exponentials had proven more than the truth."""
    problem = drawn(seed, 2)
    found = ds.solve(problem.with_budget(budget))
    assert found.status in (ds.Status.CERTIFIED, ds.Status.INACCURATE)
    assert found.certificate.relative_gap < 1e-7
    private = assert_certified(problem.with_budget(0.0))
    assert found.certificate.lower <= private.certificate.upper


def test_a_chain_that_is_nearly_deterministic_takes_a_hundred_steps(load):
    """With half as many its bracket is 200 times as wide as was asked."""
    pytest.importorskip("flint", reason="the extra `verify` is not installed")
    assert_certified(load("guesses_over_time").drawn(1, 16)[1])


@pytest.mark.parametrize("budget", [1e-30, 1.7e-165, 1e-300])
def test_no_budget_is_violated_that_rounding_exceeds(budget):
    """A rule other than a constant leaks about 1e-29 nats by rounding."""
    problem = drawn(0, 2)
    found = ds.solve(problem.with_budget(budget))
    assert found.status is ds.Status.INACCURATE
    assert found.certificate.upper <= problem.constant_error * (1.0 + 1e-12)


@given(seeds, st.sampled_from([0.0, 1e-4, 0.2, 0.7, 1.1]))
def test_one_step_is_an_ordinary_problem(seed, share):
    problem = at_share(drawn(seed, 1), share)
    causal = assert_certified(problem).certificate
    ordinary = ds.solve(problem.noncausal).certificate
    assert causal.lower <= ordinary.upper * (1.0 + 1e-15)
    assert ordinary.lower <= causal.upper * (1.0 + 1e-15)


@settings(max_examples=5)
@given(seeds, st.just(0.0) | st.floats(1e-8, 1.2))
def test_no_random_rule_errs_less_than_the_bound(seed, share):
    """Positive budgets are above 1e-12 nats. Below, the rounding of a rule may cost more than the
    gap that is asked for, as `test_a_tiny_budget_errs_hardly_less_than_none` allows.
    """
    problem = drawn(seed, 2)
    found = assert_certified(at_share(problem, share))
    rng = default_rng(seed)
    shapes = [problem.tree.kernel_shape(step) for step in (1, 2)]
    for sharpness in (0.1, 1.0, 3.0):
        rule = ds.CausalRule(problem.tree, [rng.random(shape) ** sharpness for shape in shapes])
        own = problem.with_budget(problem.leakage(rule))
        assert assert_certified(own).certificate.lower <= problem.error_probability(rule)
        given_rule = ds.audit(found.problem, rule)
        assert given_rule.certificate is not None
        assert given_rule.certificate.lower <= found.error_probability
        assert given_rule.certificate.upper >= found.certificate.lower


@pytest.mark.parametrize(
    "steps, seed, share", [(1, 1, 0.5), (2, 2, 1e-3), (2, 3, 0.3), (2, 4, 0.9), (3, 5, 0.6)]
)
def test_a_certificate_is_true_by_exact_arithmetic(steps, seed, share):
    """The error and the leakage of the exact quotients of the kernels, and the bound that the duals
    prove, in fractions.
    """
    problem = at_share(drawn(seed, steps, most=2), share)
    found = assert_certified(problem)
    tree = problem.tree
    judged = found.certificate
    whole = problem.noncausal
    reached = exactly.fractions([[1]])
    for step, kernel in enumerate(map(exactly.fractions, found.rule.kernels), 1):
        before = np.repeat(reached, tree.measurements[step - 1], axis=1)[:, None, :]
        reached = (before * kernel / kernel.sum(axis=1, keepdims=True)).reshape(tree.sizes(step))
    error = exactly.error_probability(whole, reached)
    assert judged.lower <= error <= Fraction(judged.upper)
    leaked = exactly.leakage(whole, reached)
    assert leaked <= judged.leakage_ceiling <= problem.budget
    value = exactly.fractions(whole.loss)
    value += exactly.fractions(found.tilt) @ exactly.fractions(whole.p_xz)
    for step in range(steps, 0, -1):
        best = value.reshape(tree.kernel_shape(step)).min(axis=1)
        value = best.reshape(len(best), -1, tree.measurements[step - 1]).sum(axis=2)
    lowered = max(0, exactly.support(whole, found.tilt, found.multiplier))
    paid = Fraction(problem.budget) * Fraction(found.multiplier)
    assert judged.lower <= exactly.real(value[0, 0] - paid) - found.multiplier * lowered


@pytest.mark.parametrize("share", [1e-8, 1e-3, 0.1, 0.9])
def test_four_steps_of_a_person_at_home_are_certified(share):
    problem = ds.problems.person_at_home(4, fraction=share)
    found = assert_certified(problem)
    assert problem.bayes_error <= found.error_probability <= problem.constant_error
    assert found.backend == "auto"
    assert str(found.claimed).startswith("sequence-form: optimal")


def test_two_measurements_that_say_nothing_each_may_say_everything_together():
    """Z_1 is a fair coin and Z_2 that coin or its opposite, as X says: one guess leaks
    nothing, both together leak log 2.
    """
    joint = np.zeros((2, 2, 2))
    for x, coin in product(range(2), repeat=2):
        joint[x, coin, coin ^ x] = 0.25
    wrong = 1.0 - np.eye(2)
    loss = 0.125 * (wrong[:, None, :, None] + wrong[None, :, None, :])
    problem = ds.CausalProblem(joint, loss, 0.0)
    assert problem.bayes_leakage == pytest.approx(math.log(2.0))
    second = ds.Problem(joint.sum(axis=1), 0.5 * wrong, 0.0)
    assert ds.solve(second).error_probability == 0.0
    # Guess 2, always 0, adds a quarter.
    assert ds.solve(problem.alone(1, 0.0)).error_probability == pytest.approx(0.25)
    private = assert_certified(problem)
    assert private.error_probability == pytest.approx(0.25)
    assert private.certificate.private_within < 1e-12
    law = problem.noncausal.output_law(private.rule.dense())
    assert np.count_nonzero(law.mass) > 1
    assert np.abs(law.ratio_minus_one()[law.mass > 0.0]).max() < 1e-12
    half = assert_certified(problem.with_budget(0.5 * math.log(2.0)))
    assert 0.0 < half.error_probability < 0.25


def test_a_rule_states_the_law_of_each_guess():
    problem = ds.problems.person_at_home(3, fraction=0.5)
    rule = assert_certified(problem).rule
    for guesses, measured in product(product(range(2), repeat=3), repeat=2):
        chance = math.prod(
            rule.probabilities(guesses[:t], measured[: t + 1])[guesses[t]] for t in range(3)
        )
        place = np.ravel_multi_index(guesses, (2,) * 3), np.ravel_multi_index(measured, (2,) * 3)
        assert rule.dense()[place] == pytest.approx(chance, rel=1e-14)
    assert ds.audit(problem, rule).status is ds.Status.CERTIFIED


def test_the_model_of_a_chain_is_the_sum_over_its_paths():
    rng = default_rng(7)
    first = rng.dirichlet(np.ones(3))
    move = rng.dirichlet(np.ones(3), 3)
    seen = rng.dirichlet(np.ones(2), 3)
    hidden = [0, 1, 1]
    public = [0, 0, 1]
    table = rng.random((2, 3))
    states = {"private": hidden, "public": public, "loss_matrix": table}
    problem = ds.CausalProblem.from_chain(first, move, seen, 0.1, steps=3, **states).noncausal
    law = np.einsum("a,ab,bc,ax,by,cz->abcxyz", first, move, move, seen, seen, seen)
    hide = np.eye(2)[hidden]
    joint = np.einsum("abcxyz,ap,bq,cr->pqrxyz", law, hide, hide, hide)
    cost = table[public] / 3
    ones = np.ones_like(cost)
    loss = sum(
        np.einsum("abcxyz,ai,bj,ck->ijkxyz", law, *costs)
        for costs in ((cost, ones, ones), (ones, cost, ones), (ones, ones, cost))
    )
    assert problem.p_xz == pytest.approx(joint.reshape(8, 8), abs=1e-15)
    assert problem.loss == pytest.approx(loss.reshape(27, 8), abs=1e-15)


def test_other_requests_are_refused_in_one_sentence():
    problem = ds.problems.person_at_home(2, budget=0.1)
    rule = problem.bayes_rule
    cases = [
        (lambda: ds.CausalProblem(np.ones(3) / 3, np.ones((1, 1)), 0.1), "give an axis for X"),
        (
            lambda: ds.CausalProblem(np.ones((2, 2)) / 4, np.ones((2, 3)), 0.1),
            "give a loss of shape",
        ),
        (lambda: ds.problems.person_at_home(2), "give one of budget"),
        (lambda: ds.problems.person_at_home(2, budget=0.1, returning=0.0), "returning"),
        (lambda: ds.problems.person_at_home(16, budget=0.1), "give fewer steps"),
        (lambda: ds.CausalRule(problem.tree, rule.kernels[:1]), "give one for each step"),
        (lambda: rule.probabilities((0,), (0,)), "measurement"),
        (lambda: rule.probabilities((), (2,)), r"measured\[0\] is 2"),
        (lambda: ds.certify(problem, np.eye(4)), "give a CausalRule"),
        (
            lambda: ds.certify(ds.problems.person_at_home(3, budget=0.1), rule),
            "give a rule of the same sizes",
        ),
        (lambda: problem.with_budget(0.1, measure="chi-square"), "mutual information only"),
        (
            lambda: ds.CausalProblem.from_chain(
                [1], [[1]], [[0.5, 0.4]], 0, steps=1, private=[0], public=[0]
            ),
            "row 0 of observation",
        ),
        (
            lambda: ds.CausalProblem.from_chain(
                [1], [[1]], [[0.5, 0.5]], 0, steps=1, private=[1], public=[0]
            ),
            "give an index for each of 1 states",
        ),
    ]
    for call, message in cases:
        with raises_input_error(message):
            call()
    with raises_file_error("guesses over time"):
        ds.solve(problem).save("never.npz")
    large = ds.solve(ds.problems.person_at_home(7, budget=0.1), "sequence-form")
    assert large.status is ds.Status.UNSUPPORTED
    assert "give fewer steps" in large.message
    assert "does not serve guesses over time" in ds.solve(problem, "tilt").message


def test_a_loss_on_a_sequence_too_rare_to_be_told_is_in_the_upper_bound():
    """Two kernels of 1e-200 have a product of 1e-400, and 1e100 times that is more than the other
    losses.
    """
    p_xz = np.array([[0.5], [0.5]]).reshape(2, 1, 1)
    loss = np.zeros((2, 2, 1, 1))
    loss[1, 1] = 1e100
    problem = ds.CausalProblem(p_xz, loss, math.inf)
    kernel = np.array([[[1.0], [1e-200]]])
    judged = ds.certify(
        problem, ds.CausalRule(problem.tree, [kernel, np.repeat(kernel, 2, axis=0)])
    ).certificate
    assert judged.upper >= 1e-300
