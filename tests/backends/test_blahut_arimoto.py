"""The laws of the proximal Blahut–Arimoto sweeps, and the answers of the backend against reference
values.
"""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.random import default_rng
from random_laws import random_joint
from solving import assert_certified
from strategies import seeds

from discreet import Constraint, Problem, Status, solve
from discreet.backends.blahut_arimoto.bracket import Incumbent, Outcomes
from discreet.backends.blahut_arimoto.proximal import ProximalSweep, proximal_sweeps
from discreet.backends.contract import Duals
from discreet.problems import catalog

SOLVER = "blahut-arimoto"


def outcomes_of(problem):
    return Outcomes.of(problem, 1e-9)


def random_problem(seed, budget=None, fraction=0.5):
    """A sparse random joint without zero-mass outcomes; budget in nats, or a fraction of what the
    Bayes rule leaks.
    """
    rng = default_rng(seed)
    n = rng.integers(2, 5)
    m = rng.integers(2, 5)
    count = rng.integers(3, 13)
    joint = rng.gamma(0.5, size=(n, m, count)) * (rng.random((n, m, count)) > 0.25)
    joint += 1e-9 * rng.random((n, m, count))
    model = Problem.from_joint(joint / joint.sum(), budget=math.inf)
    return model.with_budget(fraction * model.bayes_leakage if budget is None else budget)


def divergence(problem, new, old):
    """Σ_l w_l KL(P'_l ‖ P_l)."""
    return float(((new * (np.log(new) - np.log(old))).sum(axis=0) * problem.p_z).sum())


def tight(problem):
    """The solution, which is certified to a relative gap of 1e-9 and keeps the budget."""
    solution = assert_certified(problem, SOLVER)
    assert solution.relative_gap <= 1e-9
    assert solution.leakage <= problem.budget or problem.budget == 0.0
    return solution


# -- the proximal sweep
# --------------------------------------------------------------------------------------------------


@given(seeds, st.sampled_from([0.0, 1e-6, 0.3]))
@example(306, 0.0)  # fewer outcomes than private values, so that the system is singular
@example(377, 0.0)
def test_a_solved_proximal_sweep_keeps_the_budget_and_pays_for_its_distance(seed, fraction):
    problem = random_problem(seed, fraction=fraction)
    outcomes = outcomes_of(problem)
    bracket = Incumbent(outcomes, 0.5, 40, math.inf)
    proximal_sweeps(outcomes, bracket)  # somewhere feasible
    feasible = np.log(0.5 * bracket.estimator + 0.5 / problem.m)
    tilt, found = bracket.prices
    multipliers = np.where(found > 0.0, found, 1.0)
    attempt = ProximalSweep(outcomes, feasible, Duals(tilt, multipliers), 5.0)
    for _ in range(60):
        if attempt.step() <= 1e-24:
            break
    old = np.exp(feasible)
    new = attempt.point.estimator
    if problem.budget == 0.0:
        assert np.abs(problem.phi @ new.T).max() <= 1e-12
    else:
        assert problem.leakage(new) <= problem.budget * (1.0 + 1e-6)
    gain = problem.error_probability(old) - problem.error_probability(new)
    assert gain >= divergence(problem, new, old) / 5.0 - 1e-10


# -- the backend
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nats", [1e-15, 1e-12, 1e-9, 1e-6])
def test_tiny_budgets_are_certified(nats):
    tight(catalog.build("tiny-budget", nats=nats))


@given(seeds, st.sampled_from([0.0, 1e-8, 0.2, 0.95]))
def test_random_problems_are_certified(seed, fraction):
    tight(random_problem(seed, fraction=fraction))


def test_a_guess_of_tiny_mass_that_reveals_much_is_found():
    # The optimum spends its budget on a guess of mass 1e-7.
    problem = random_problem(158, fraction=1e-8)
    solution = tight(problem)
    assert solution.multiplier == pytest.approx(5.50614, rel=1e-5)


@pytest.mark.parametrize(
    "name, values",
    [
        ("paper-multi", {"sensors": 3, "bins": 3}),
        ("paper-multi", {"sensors": 4, "bins": 3}),
        ("weighted-mixture", {"n": 2, "m": 5, "N": 14, "seed": 659}),
        ("weighted-mixture", {"n": 2, "m": 2, "N": 35, "seed": 451}),
    ],
)
def test_a_sweep_too_long_to_be_solved_is_taken_again_at_perfect_privacy(name, values):
    """Where every guess is certain the dual has no curvature left, and Newton's method predicts no
    gain.
    """
    tight(catalog.build(name, budget=0.0, **values))


def test_a_tie_of_the_bayes_rule_is_settled_for_privacy():
    # Outcome 1 says nothing about Y: guessing 1 there makes the guess independent of X.
    joint = np.zeros((2, 2, 3))
    joint[:, 0, 0] = [0.3, 0.1]
    joint[:, 1, 2] = [0.1, 0.3]
    joint[:, :, 1] = 0.05
    problem = Problem.from_joint(joint, budget=math.inf)
    tied = problem.with_budget(0.99 * problem.bayes_leakage)
    solution = tight(tied)
    assert solution.error_probability == pytest.approx(tied.bayes_error, rel=1e-9)


# -- several secrets
# --------------------------------------------------------------------------------------------------


def test_one_guess_and_slack_budgets_need_no_sweep():
    joint = random_joint(1, 2, 3, 4)
    loss = np.full((1, 4), 0.1)
    for rows in (joint.sum(axis=1), joint.sum(axis=0)):
        given = [Constraint(joint.sum(axis=1), 0.1), Constraint(rows, 0.1)]
        solution = assert_certified(
            Problem(loss=loss * joint.sum(axis=(0, 1)), constraints=given), SOLVER
        )
        assert solution.iterations == 0


# -- limits and settings
# -------------------------------------------------------------------------------------------------


def test_a_budget_beyond_double_precision_falls_back_on_perfect_privacy():
    problem = catalog.build("paper-multi", sensors=40, budget=1.6e-20)
    solution = solve(problem, SOLVER)
    private = solve(problem.with_budget(0.0), SOLVER)
    assert solution.leakage <= problem.budget
    assert solution.error_probability <= private.error_probability * (1.0 + 1e-7)
    assert solution.relative_gap <= 0.01


@pytest.mark.parametrize(
    "limit, claimed, most, share",
    [
        ({"max_iterations": 20}, "iteration limit", 21, 1.0),
        ({"time_limit": 1e-4}, "time limit", 1, 1.0 + 1e-9),
    ],
    ids=["iterations", "time"],
)
def test_a_limit_returns_the_best_so_far(limit, claimed, most, share):
    problem = catalog.build("paper-single", bins=1000, fraction=0.5)
    solution = solve(problem, SOLVER, **limit)
    assert solution.status is Status.INACCURATE
    assert solution.claimed == claimed
    assert solution.iterations <= most
    assert solution.error_probability < share * problem.constant_error
