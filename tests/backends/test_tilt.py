"""The structured interior point: the paper's set-ups to 1e-9, hard budgets, and the cases that need
no iteration.
"""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from random_laws import random_joint
from solving import assert_certified, at_share, model_at

from discreet import BlockProblem, Problem, Status, solve
from discreet.backends.tilt import backend
from discreet.backends.tilt.interior_point import solve_interior
from discreet.backends.tilt.model import Ending, Point
from discreet.measures import GLeakage
from discreet.problems import LeakageBudget, catalog


def test_one_guess_keeps_a_budget_that_two_equal_actions_exceed_by_rounding():
    gain = GLeakage([[5.0, 8.0, 6.0], [6.0, 8.0, 6.0]])  # the second gains more by 1e-40
    private = np.array([[0.0, 1e-40, 0.0], [0.02, 0.0, 0.0], [0.0, 0.0, 0.98]])
    solution = assert_certified(
        Problem(private, np.zeros((1, 3)), LeakageBudget(1e-44, gain)), "tilt"
    )
    assert solution.certificate.leakage_ceiling == solution.certificate.blend == 0.0


def test_a_budget_of_any_size_costs_about_as_many_iterations():
    free = catalog.build("paper-multi", sensors=10, budget=float("inf"))
    for share in (1e-6, 1e-4, 1e-2, 0.5, 0.9):
        assert (solve(at_share(free, share), "tilt").iterations or 0) <= 20, share


def test_outcomes_in_blocks_are_solved_as_in_one(monkeypatch):
    """4,001 outcomes in four blocks, of which the last is not full."""
    problem = catalog.build("mixture", n=3, m=4, N=4001, seed=1, fraction=0.3)
    whole, ended = solve_interior(model_at(problem), gap=1e-9, max_iterations=50)
    monkeypatch.setattr("discreet.backends.tilt.model._BLOCK_ENTRIES", 1)
    model = model_at(problem)
    assert model.losses.shape == (4, 4, 1001)
    assert_array_equal(model.joined(model.losses), problem.loss / problem.p_z)
    found, ending = solve_interior(model, gap=1e-9, max_iterations=50)
    assert ending.iterations == ended.iterations
    assert_allclose(found.columns, whole.columns, atol=1e-6)
    assert_allclose(found.tilt, whole.tilt, rtol=1e-6)


@pytest.mark.parametrize("budget", [0.0, 0.01])
def test_many_outcomes_are_answered_by_a_vertex(budget):
    """Aggregated or not: certain of its guess everywhere but at no more than m·n ties."""
    problem = catalog.build("paper-single", bins=20_000, budget=budget)
    solution = assert_certified(problem, "tilt")
    drawn = ((solution.estimator > 0.0) & (solution.estimator < 1.0)).any(axis=0)
    assert drawn.sum() <= problem.m * problem.n
    assert solution.relative_gap <= 1e-12


def counted(work):
    """What the work returns, and its calls of compiled functions but for Python's own."""
    called = 0

    def count(_, event, what):
        nonlocal called
        called += event == "c_call" and getattr(what, "__module__", None) != "builtins"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return work(), called
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("bins", [4, 64, 256])
def test_small_problems_cost_the_interpreter_little(bins):
    """Up to some hundred outcomes a solve costs what its NumPy calls cost: about 130 an iteration,
    besides operators.
    """
    problem = catalog.build("paper-single", bins=bins, budget=0.01)
    model = model_at(problem)
    (_, ending), called = counted(lambda: solve_interior(model, gap=1e-9, max_iterations=50))
    assert ending.optimal
    assert called <= 2240


def test_a_bayes_rule_that_leaks_nothing_is_not_made_private(monkeypatch):
    """No step towards perfect privacy, no linear system, and as many calls as the law and the
    judge's sums need.
    """
    solve(catalog.build("independent"), "tilt")  # what is imported and compiled is not counted
    problem = catalog.build("independent")
    for name in ("inv", "lstsq", "svd"):
        monkeypatch.setattr(np.linalg, name, None)
    solution, called = counted(lambda: solve(problem, "tilt"))
    assert solution.status is Status.CERTIFIED
    assert np.array_equal(solution.estimator, problem.bayes_estimator)
    assert called <= 340


def test_an_optimum_that_leaks_more_than_it_should_is_brought_within_the_budget(monkeypatch):
    problem = catalog.build("dirichlet", n=3, m=3, N=30, seed=2, fraction=0.3)
    monkeypatch.setattr(
        backend, "solve_whole", lambda *_: (Point.bayes(problem), Ending("optimal"))
    )
    solution = solve(problem, "tilt")
    assert solution.certificate.own_budget_kept
    assert solution.status is Status.INACCURATE


def test_a_system_without_unknowns_prints_nothing(capfd):
    """All that Z says about X is below rounding, and yet a guess of its own is made where it says
    something.
    """
    problem = Problem([[0.3, 1e-60], [0.7, 2e-60]], [[0.4, 2e-60], [0.6, 1e-60]], 0.0)
    assert_certified(problem, "tilt")
    assert capfd.readouterr().out == ""


def test_a_budget_below_the_rounding_of_its_own_law_is_not_broken():
    """Half of what 100 sensors leak under the Bayes rule is 6e-32 nats: log ratios of a rounding
    error.
    """
    problem = catalog.build("paper-multi", sensors=100, fraction=0.5)
    solution = solve(problem, "tilt")
    assert solution.status is not Status.VIOLATED_PRIVACY
    assert solution.certificate.own_leakage <= problem.budget
    streamed = solve(BlockProblem.of(problem))
    assert streamed.status is not Status.VIOLATED_PRIVACY
    assert streamed.certificate.own_leakage <= problem.budget


def test_losses_that_products_round_to_zero_are_no_failure():
    rng = np.random.default_rng(1)
    p_xz = random_joint(rng, 2, 3)
    loss = rng.integers(0, 3, (2, 3)) * 5e-324
    solution = solve(Problem(p_xz, loss, 1e-8), "tilt")
    assert solution.status is not Status.FAILED, solution.message
    assert solution.error_probability > 0.0
