"""Budget 0 of an adversary's gain: where several actions are the best without a guess, their gains
stay in proportion.
"""

import numpy as np
import pytest
from gated import gated
from numpy.random import default_rng
from random_laws import random_joint
from scipy.optimize import linprog
from solving import assert_certified, of_secrets

import discreet as ds
from discreet.measures import GLeakage, MinEntropyLeakage
from discreet.problems import lattice_problem
from discreet.problems.problem import Problem
from discreet.reports.second_opinion import contradictions

TIED = {
    "all": ("min-entropy-leakage", [0.25, 0.25, 0.25, 0.25]),
    "two of four": ("min-entropy-leakage", [0.2, 0.3, 0.2, 0.3]),
    "actions": (
        str(GLeakage([[3, 1, 2, 2], [1, 3, 2, 2], [2, 2, 1, 1], [2, 2, 2, 2]])),
        [0.25, 0.25, 0.25, 0.25],
    ),
    "the same twice": (
        str(GLeakage([[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0.5]])),
        [0.3, 0.1, 0.2, 0.4],
    ),
    "none": ("min-entropy-leakage", [0.1, 0.4, 0.3, 0.2]),
}


def drawn(case, seed, outcomes=30):
    """Four private values with the prior of the case, up to the rounding of sums, and three
    guesses.
    """
    measure, prior = TIED[case]
    joint = default_rng(seed).dirichlet(np.ones(3 * outcomes), 4) * np.array(prior)[:, None]
    return Problem.from_joint(joint.reshape(4, 3, outcomes), 0.0, measure=measure)


def optimum_of(problem):
    """The least error probability by HiGHS, without any part of the project: R u_i ≤ 0 for the rows
    R of the measure.
    """
    rows = problem.measure.rows(problem.p_x) @ problem.p_xz
    tied = np.abs(rows.sum(axis=1)) < 1e-12
    every = np.eye(problem.m)
    found = linprog(
        problem.loss.ravel(),
        np.kron(every, rows[~tied]) if not tied.all() else None,
        np.zeros(problem.m * np.count_nonzero(~tied)) if not tied.all() else None,
        np.vstack([np.tile(np.eye(problem.N), problem.m), np.kron(every, rows[tied])]),
        np.concatenate([np.ones(problem.N), np.zeros(problem.m * np.count_nonzero(tied))]),
    )
    return float(found.fun)


def assert_confirmed(problem, solution):
    """The second opinion has the budget kept, and contradicts nothing."""
    found = ds.verify(problem, solution)
    assert found.budget_kept
    assert contradictions(solution, found, 1e-9) == []


@pytest.mark.parametrize("backend", ["tilt", "highs", "auto"])
@pytest.mark.parametrize("case", TIED)
@pytest.mark.parametrize("seed", gated(range(4)))
def test_it_is_certified_and_exactly_kept(case, backend, seed):
    """Law: the optimum of the linear program is reached by an estimator that leaks nothing, as
    exact arithmetic confirms.
    """
    problem = drawn(case, seed)
    solution = assert_certified(problem, backend)
    judged = solution.certificate
    assert judged.upper == pytest.approx(optimum_of(problem), rel=1e-7)
    assert judged.upper < problem.constant_error
    assert judged.leakage_ceiling == 0.0
    assert_confirmed(problem, solution)


@pytest.mark.parametrize("case", ["all", "two of four", "actions"])
def test_so_it_is_in_blocks(case):
    problem = ds.BlockProblem.of(drawn(case, 1, 3_000))
    assert_confirmed(problem, assert_certified(problem, "tilt"))


@pytest.mark.parametrize("backend", ["tilt", "highs"])
def test_a_leakage_is_stated_where_nothing_leaks_up_to_rounding_only(backend):
    """Outcomes that say nothing about X, up to rounding: no move of probability makes the Bayes
    rule exactly private.
    """
    rng = default_rng(0)
    joint = random_joint(rng, 3, 20) * np.full((2, 1, 1), 0.5) / 1.1
    joint = np.concatenate([joint, joint[:1] * 0.2])
    problem = Problem.from_joint(joint / joint.sum(), 0.0, measure="min-entropy-leakage")
    rounded = problem.p_xz.copy()
    rounded[0] *= 1.0 + 2.0**-50 * rng.integers(-1, 2, problem.N)
    problem = Problem(rounded / rounded.sum(), problem.loss, 0.0, measure="min-entropy-leakage")
    solution = assert_certified(problem, backend)
    judged = solution.certificate
    assert 0.0 < judged.leakage_ceiling <= 1e-12
    assert judged.upper == pytest.approx(problem.bayes_error)
    assert "here the budget 0 means a leakage of at most" in solution.message
    found = ds.verify(problem, solution)
    assert found.leakage[1] <= judged.leakage_ceiling
    assert contradictions(solution, found, 1e-9) == []


@pytest.mark.parametrize("lower", range(3))
def test_rounding_of_equal_priors_changes_no_support(lower):
    """Law: which of equally likely values is the likeliest by a rounding changes how far tilts are
    lowered by as little.
    """
    prior = np.full(3, 1.0 / 3.0)
    tilt = default_rng(0).normal(size=(4, 3))
    moved = prior.copy()
    moved[lower] -= 2.0**-54
    for measure in (MinEntropyLeakage(), GLeakage(np.eye(3) + 0.5)):
        known = measure.ceiling(tilt, prior, 0.7, measure.level(0.0))
        assert measure.ceiling(tilt, moved, 0.7, measure.level(0.0)) == pytest.approx(
            known, abs=1e-12
        )


def test_counts_of_sensors_with_a_rare_entry_are_solved():
    """Outcomes of masses down to 1e-24, which the tolerance of a linear program does not tell
    apart.
    """
    law = [
        [[0.630819050, 0.359609092, 0.009571858], [7.42655179e-112, 0.497516375, 0.502483625]],
        [[0.225946833, 0.704152021, 0.069901146], [0.664427510, 0.335115549, 0.000456941]],
    ]
    prior = np.array([[0.01803102, 0.28222716], [0.68109096, 0.01865086]])
    counts = lattice_problem(law, prior / prior.sum(), 22, 0.0).with_budget(
        0.0, measure="min-entropy-leakage"
    )
    for problem in (counts, counts.in_memory()):
        solution = assert_certified(problem, "tilt")
        assert solution.certificate.upper < 0.2922


def test_several_constraints_may_have_it():
    # x and x' are uniform
    joint = default_rng(4).dirichlet(np.ones(2 * 24), 4).reshape(2, 2, 2, 24) / 4.0
    problem = of_secrets(joint, (0, 0.0, "min-entropy-leakage"), (1, 0.01, "chi-square"))
    assert ds.verify(problem, assert_certified(problem)).budget_kept


def test_one_outcome_is_solved():
    problem = Problem([[0.4], [0.4], [0.2]], [[0.1], [0.4]], 0.0, measure="min-entropy-leakage")
    assert_certified(problem, "tilt")


def test_an_outcome_of_no_mass_gets_a_guess_that_is_made():
    """The first guess would be made there only, and would say that X has its less likely value."""
    joint = random_joint(0, 2, 6)
    joint[1] *= 0.7
    rows = np.hstack([joint / joint.sum(), [[0.0], [1e-127]]])
    loss = default_rng(1).random((3, 7)) * rows.sum(axis=0)
    loss[0, :6] = rows.sum(axis=0)[:6]
    loss[0, 6] = 0.0
    problem = Problem(rows, loss, 0.0, measure="min-entropy-leakage")
    solution = assert_certified(problem, "tilt")
    assert solution.certificate.upper < problem.constant_error


def test_an_action_that_gains_nowhere_more_than_the_best_one_leaks_nothing():
    """Both gain the same at two of the values, and the guess is made only at these."""
    measure = GLeakage([[2.0, 2.0, 6.0, 3.0], [1.0, 2.0, 5.0, 3.0]])
    x = np.array([[-1.0, 1.0, -1.0, 1.0]])
    ceiling = measure.excess_ceiling(x, 1e-15 * (1.0 + x), np.array([0.2, 0.3, 0.3, 0.2]))
    assert ceiling.tolist() == [0.0]
