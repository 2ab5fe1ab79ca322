"""The structured interior point: the paper's set-ups to 1e-9, hard budgets, the cases that need no
iteration; its start, how its iteration ends, and the optimum under every measure.
"""

import math
import sys
from decimal import Decimal, getcontext

import numpy as np
import pytest
from gated import gated
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from random_laws import random_joint
from solving import TEXTS, assert_certified, at_share, certificate_of, model_at, under

import discreet as ds
from discreet import BlockProblem, Problem, Status, solve
from discreet.backends.tilt import backend, interior_point, relation
from discreet.backends.tilt.interior_point import _start, solve_interior
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
    free = catalog.build("paper-multi", sensors=10, budget=math.inf)
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
    rng = default_rng(1)
    p_xz = random_joint(rng, 2, 3)
    loss = rng.integers(0, 3, (2, 3)) * 5e-324
    solution = solve(Problem(p_xz, loss, 1e-8), "tilt")
    assert solution.status is not Status.FAILED, solution.message
    assert solution.error_probability > 0.0


@pytest.mark.parametrize("fraction", [1e-9, 0.01, 0.5])
def test_a_start_keeps_the_budget_and_its_tilt_is_that_of_its_law(fraction):
    problem = catalog.build("mixture", n=3, m=4, N=300, seed=1, fraction=fraction)
    model = model_at(problem)
    at, _ = _start(model)
    law = model.law_of(at.estimator)
    assert model.chart.leaked(law) + at.inner.slack == pytest.approx(model.chart.levels, rel=1e-12)
    assert 0.0 < at.inner.slack < problem.budget
    assert_array_equal(at.tilt, at.inner.multipliers * law.blocks[0].gradient)


def test_a_start_errs_hardly_more_than_the_best_constant_guess():
    """Two guesses are as good at one outcome; at the other, one of them errs 10²⁰ times as much."""
    loss = np.array([[0.0, 1e-20], [0.0, 0.5], [1e-21, 1.0]])
    problem = Problem(np.array([[0.3, 0.2], [0.1, 0.4]]), loss, LeakageBudget(1e-3))
    at, _ = _start(model_at(problem))
    assert problem.error_probability(at.estimator[0]) <= 5.0 * problem.constant_error


@pytest.mark.parametrize("name", ["road", "zero-mass", "building"])
def test_guesses_that_vanish_with_the_budget_do_not_stall_it(name):
    """Their masses fall by a hundred times a step, about which log ratios have to be linearised
    again.
    """
    problem = catalog.build(name, fraction=0.5)
    for share in np.geomspace(1e-9, 0.99, 20):
        assert_certified(at_share(problem, share), "tilt")


def test_a_bracket_that_narrows_is_progress():
    """Here excess leakage grows at first, and takes more than fifteen iterations to become less
    than at the start.
    """
    problem = catalog.build("mixture", n=2, m=2, N=6000, seed=1, fraction=0.5)
    _, ending = solve_interior(model_at(problem), gap=1e-9, max_iterations=100)
    assert ending.optimal


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 30.0, 500.0])
def test_the_support_function_keeps_its_digits_beside_rare_private_values(size):
    """h = log Σ π e^t, exact in 60 digits: a feasible tilt has h near 0, and a tiny one an h far
    below its entries.
    """
    getcontext().prec = 60
    p_x = np.array([1.0 - 2.0**-30, 2.0**-30 - 2.0**-40, 2.0**-40])
    tilts = np.array([[-1.0, 0.5, 1.0], [-1e-6, 1.0, 1.0], [0.0, -1.0, 1.0]]) * size

    def exactly(tilt):
        total = sum(
            Decimal(float(p)) * Decimal(float(t)).exp() for p, t in zip(p_x, tilt, strict=True)
        )
        return float(Decimal(total).ln())

    found = relation.log_mean(tilts, p_x, 1.0)
    expected = np.array([exactly(tilt) for tilt in tilts])
    assert_allclose(found, expected, rtol=4e-16 * max(1.0, size), atol=8e-16 * min(1.0, size))


def test_a_guess_that_is_next_to_never_made_does_not_stall_the_iteration():
    """Its mass falls to nothing; here it stalled where only the predictor's length set how far the
    products should fall.
    """
    problem = catalog.build("weighted-mixture", n=2, m=5, N=300, seed=1, fraction=0.5)
    assert ds.solve(problem, "tilt").relative_gap <= 1e-9


def test_where_every_outcome_is_a_tie_no_vertex_is_looked_for():
    # y = x: only the law of (X, Ŷ) matters
    p_xz = default_rng(0).dirichlet(np.ones(40), 3) / 3.0
    problem = at_share(Problem(p_xz, p_xz.sum(axis=0) - p_xz, 1.0), 0.1)
    tried = []
    model = model_at(problem)
    _, ending = solve_interior(model, gap=1e-9, max_iterations=100, shortcut=tried.append)
    assert ending.optimal
    assert not tried


@pytest.mark.parametrize("seed", [32, 269])
def test_a_start_next_to_all_outcomes_of_certainty_does_not_stall_perfect_privacy(seed):
    """Y = X, and many outcomes that settle X: with a smaller first slack their columns started too
    near to certainty.
    """
    rng = default_rng(seed)
    outcomes = int(rng.integers(3, 60))
    n = int(rng.integers(2, 4))
    p_xz = np.maximum(random_joint(rng, n, outcomes, spread=0.1), 1e-9)
    p_xz /= p_xz.sum()
    assert ds.solve(Problem(p_xz, p_xz.sum(axis=0) - p_xz, 0.0), "tilt").relative_gap <= 1e-9


@pytest.mark.parametrize(
    "n, m, outcomes, seed, budget",
    [(5, 2, 8, 999129, 0.0607), (5, 5, 7, 322966, 0.0605), (5, 4, 6, 662608, 0.00814)],
)
def test_a_steep_measure_does_not_make_the_iteration_swing(n, m, outcomes, seed, budget):
    """Three problems of the campaign: at order 100 a law that leaks twice the budget has gradients
    of another size.
    """
    problem = catalog.build("dirichlet", n=n, m=m, N=outcomes, seed=seed).with_budget(
        budget, measure="sibson:alpha=100"
    )
    assert_certified(problem, "tilt", gap=1e-9)


def test_an_iteration_that_ends_early_errs_no_more_than_any_of_its_iterates(load, monkeypatch):
    """The iterate with the narrowest bracket errs more than a later one whose bracket is wide."""
    errors = []

    class Noted(interior_point._Progress):
        def note(self, here):
            super().note(here)
            errors.append(here.error)

    monkeypatch.setattr(interior_point, "_Progress", Noted)
    problem = load("random_problems").edge_problem(1470)
    point, ending = solve_interior(model_at(problem), gap=1e-9, max_iterations=15)
    assert ending.reason == "iteration limit"
    assert problem.leakage(point.columns) <= problem.budget
    assert problem.error_probability(point.columns) <= min(errors) * (1.0 + 1e-12)


def drawn(text, seed, share):
    """A random law under a share of what the Bayes rule leaks, or of 3 where that is infinite."""
    return under(random_joint(seed, 3, 2, 40, spread=0.3), text, share, 3.0)


@pytest.mark.parametrize(
    "text",
    [*TEXTS, "sibson:alpha=1.1", "sibson:alpha=30", "conditional-mutual-information"],
)
@pytest.mark.parametrize("fraction", [0.5, 1e-4])
@pytest.mark.parametrize("far", gated([relation._FAR, math.inf]))
def test_the_iteration_alone_proves_the_optimum_under_every_measure(
    text, fraction, far, monkeypatch
):
    """In both coordinates: an infinite limit takes those about posteriors everywhere.

    With a derivative that is wrong by a third these take 43 iterations and more, instead of 35.
    """
    monkeypatch.setattr(relation, "_FAR", far)
    iterations = 0
    for seed in range(3):
        problem = drawn(text, seed, fraction)
        point, ending = solve_interior(model_at(problem), gap=2.5e-10, max_iterations=100)
        assert ending.optimal
        iterations += ending.iterations
        assert certificate_of(problem, point).relative_gap <= 1e-9
    assert iterations <= 40


@pytest.mark.parametrize("text", TEXTS[1:])
def test_budgets_at_the_edge_of_double_precision_are_certified(text):
    """Where a budget cannot be told from nothing, perfect privacy is solved; a gain's budget 0 is a
    constraint.
    """
    for budget in (0.0, 1e-14, 1e-12, 50.0):
        assert_certified(drawn(text, 3, 0.5).with_budget(budget), "tilt")
