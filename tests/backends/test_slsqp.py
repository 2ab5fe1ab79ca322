"""The smooth program that SLSQP gets: value, gradients, start; its limits; the duals of estimators
with unused guesses.
"""

import math

import numpy as np
import pytest
import scipy.optimize
from random_laws import random_joint
from solving import assert_certified, under

from discreet import Status, solve
from discreet.problems import catalog


@pytest.mark.parametrize(
    "measure", ["mutual-information", "chi-square", "sibson:alpha=2.5", "pointwise-information"]
)
@pytest.mark.parametrize("seed", [22, 25])
def test_a_guess_that_is_never_made_gets_a_tilt_that_excludes_it(measure, seed):
    joint = random_joint(seed, 3, 4, 6, spread=0.5)
    problem = under(joint, measure, 0.1)
    solution = solve(problem, "slsqp")
    assert problem.output_law(np.asarray(solution.estimator)).mass.min() < 1e-9
    assert solution.relative_gap <= 1e-7


def test_more_variables_than_the_stated_limit_are_refused():
    many = catalog.build("paper-single", bins=301, fraction=0.5)
    assert solve(many, "slsqp").status is Status.UNSUPPORTED
    wide = catalog.build("dirichlet", n=2, m=3, N=151, fraction=0.5)
    refused = solve(wide, "slsqp")
    assert refused.status is Status.UNSUPPORTED
    assert "300 variables and here (m − 1) N = 302" in refused.message


@pytest.mark.gate
def test_iterations_that_lead_nowhere_end(monkeypatch):
    """At a tiny budget a line search may go on for thousands of iterations, on some machines."""
    problem = catalog.build(
        "dirichlet", n=3, m=3, N=6, seed=2, concentration=0.1, budget=2.4e-15, measure="chi-square"
    )
    run = scipy.optimize.minimize
    limits = []

    def counted(*arguments, **named):
        limits.append(named["options"]["maxiter"])
        return run(*arguments, **named)

    monkeypatch.setattr(scipy.optimize, "minimize", counted)
    solution = solve(problem, "slsqp")
    assert limits == [300 + 3 * (problem.m - 1) * problem.N]
    assert solution.iterations <= limits[0]


@pytest.mark.parametrize(
    "parameters", [{"n": 3, "m": 2, "N": 19, "seed": 524}, {"n": 3, "m": 3, "N": 40, "seed": 929}]
)
def test_without_constraint_a_tiny_error_probability_is_found(parameters):
    """SLSQP found it on some machines only: its rounding errors are multiplied by costs of 1e9."""
    solution = assert_certified(
        catalog.build("near-deterministic", budget=math.inf, **parameters), "slsqp"
    )
    assert solution.iterations == 0
