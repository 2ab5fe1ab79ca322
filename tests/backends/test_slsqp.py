"""The smooth program that SLSQP gets: value, gradients, start; its limits; the duals of estimators
with unused guesses.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judging import lower_bound

from discreet.backends.contract import Options
from discreet.backends.repairs import duals_of_law
from discreet.backends.run import solve
from discreet.backends.slsqp import Slsqp, SmoothProgram
from discreet.backends.solution import Status
from discreet.measures.law import phi_residual
from discreet.numerics.double_double import Array
from discreet.problems import catalog
from discreet.problems.duals import feasible_duals
from discreet.problems.problem import Problem
from discreet.problems.reduction import reduce


def random_problem(seed: int, fraction: float = 0.5) -> Problem:
    """A random sparse joint, reduced, whose budget is a share of the Bayes rule's leakage."""
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 5)
    m = rng.integers(2, 5)
    count = rng.integers(2, 9)
    joint = rng.gamma(0.5, size=(n, m, count)) * (rng.random((n, m, count)) > 0.25)
    joint[0, 0, 0] += 0.01
    problem = Problem.from_joint(joint / joint.sum(), budget=0.0)
    return reduce(problem.with_budget(fraction * problem.bayes_leakage)).problem


def random_point(program: SmoothProgram, seed: int) -> tuple[Array, Array]:
    """An interior estimator and its x."""
    rng = np.random.default_rng(seed)
    problem = program.problem
    estimator = rng.uniform(0.2, 1.0, (problem.m, problem.N))
    estimator /= estimator.sum(axis=0)
    return estimator, (estimator[:-1] * program.program.scale).ravel()


def own_bound(problem: Problem, tilt: Array, multiplier: float) -> float:
    """What these duals prove by themselves, made feasible; the judge would also try others."""
    feasible = feasible_duals(tilt, multiplier, problem.p_x, problem.budget)
    assert feasible is not None
    return lower_bound(problem, *feasible)


SMOOTH = ("mutual-information", "chi-square", "sibson:alpha=2.5", "pointwise-information")


@pytest.mark.parametrize("measure", SMOOTH)
@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_the_gradients_are_those_of_central_differences(measure, seed):
    problem = random_problem(seed)
    assume(problem.budget > 1e-6)
    problem = problem.with_budget(problem.budget, measure=measure)
    assume(measure != "mutual-information" or problem.budget < problem.entropy_x)
    program = SmoothProgram.of(problem)
    _, x = random_point(program, seed)
    step = 1e-6 * np.tile(program.program.scale, program.free)
    for value, gradient in (
        (program.error, program.error_gradient),
        (program.slack, program.slack_gradient(x)),
    ):
        measured = np.array(
            [
                (value(x + e) - value(x - e)) / (2.0 * h)
                for e, h in zip(np.diag(step), step, strict=True)
            ]
        ).T
        size = np.abs(gradient * step).max() + 1e-9
        np.testing.assert_allclose(measured * step, gradient * step, atol=1e-5 * size)


@pytest.mark.parametrize("measure", SMOOTH)
@pytest.mark.parametrize("seed", [22, 25])
def test_a_guess_that_is_never_made_gets_a_tilt_that_excludes_it(measure, seed):
    joint = np.random.default_rng(seed).dirichlet(np.full(3 * 4 * 6, 0.5)).reshape(3, 4, 6)
    free = Problem.from_joint(joint, np.inf, measure=measure)
    problem = free.with_budget(0.1 * free.bayes_leakage)
    solution = solve(problem, "slsqp")
    assert problem.output_law(np.asarray(solution.estimator)).mass.min() < 1e-9
    assert solution.relative_gap <= 1e-7


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_the_gradient_is_finite_at_every_vertex(seed):
    problem = random_problem(seed)
    assume(problem.budget > 0.0)
    program = SmoothProgram.of(problem)
    labels = np.random.default_rng(seed).integers(0, problem.m, problem.N)
    vertex = np.eye(problem.m)[:, labels]
    assert np.isfinite(program.slack_gradient((vertex[:-1] * program.program.scale).ravel())).all()


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.9, 3.0]))
@settings(max_examples=25)
def test_the_start_is_feasible_and_uses_the_budget(seed, fraction):
    problem = random_problem(seed, fraction)
    start = SmoothProgram.of(problem).estimator(SmoothProgram.of(problem).start)
    np.testing.assert_allclose(start.sum(axis=0), 1.0, atol=1e-12)
    law = problem.output_law(start)
    if fraction == 0.0:
        assert phi_residual(law) <= 1e-15
    else:
        assert law.leakage() == pytest.approx(
            min(problem.budget, problem.bayes_leakage), rel=1e-9, abs=1e-15
        )


def test_more_variables_than_the_stated_limit_are_refused():
    many = catalog.build("paper-single", bins=301, fraction=0.5)
    assert solve(many, "slsqp").status is Status.UNSUPPORTED
    wide = catalog.build("dirichlet", n=2, m=3, N=151, fraction=0.5)
    refused = solve(wide, "slsqp")
    assert refused.status is Status.UNSUPPORTED
    assert "300 variables and here (m − 1) N = 302" in refused.message


def test_iterations_are_limited_and_counted():
    problem = catalog.build("paper-single", bins=32, fraction=0.5)
    backend = Slsqp()
    options = Options(max_iterations=3)
    raw = backend.solve(backend.lower(problem, options), options)
    assert raw.iterations == 3
    assert raw.claimed == "Iteration limit reached"


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
    assert solution.iterations is not None
    assert solution.iterations <= limits[0]


def test_a_guess_that_is_never_given_does_not_spoil_the_bound():
    """`road` at a tenth: one segment is never announced, and its posterior is 0/0."""
    problem = catalog.build("road", fraction=0.1)
    solution = solve(problem, "slsqp")
    assert solution.estimator is not None
    law = problem.output_law(solution.estimator)
    assert law.mass.min() < 1e-12
    assert solution.relative_gap <= 1e-8


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_a_dominated_guess_costs_the_bound_nothing(seed):
    """Law: adding a guess that is worse everywhere leaves the bound of `duals_of_law`
    where it was.
    """
    problem = random_problem(seed)
    assume(problem.budget > 1e-6 and problem.N > 2)
    plain = solve(problem, "tilt")
    assume(plain.relative_gap < 1e-9 and plain.multiplier is not None and plain.multiplier > 1e-6)
    assert plain.estimator is not None
    worse = np.concatenate(
        [problem.loss, problem.loss.max(axis=0, keepdims=True) * 1.01 + 1e-3 * problem.p_z]
    )
    wider = Problem(problem.p_xz, worse, problem.constraint)
    estimator = np.concatenate([plain.estimator, np.zeros((1, problem.N))])
    tilt, multiplier = duals_of_law(wider, wider.output_law(estimator))
    narrow, narrow_multiplier = duals_of_law(problem, problem.output_law(plain.estimator))
    assert multiplier == narrow_multiplier
    assert own_bound(wider, tilt, multiplier) == pytest.approx(
        own_bound(problem, narrow, narrow_multiplier), rel=1e-9
    )


@pytest.mark.parametrize(
    "parameters", [{"n": 3, "m": 2, "N": 19, "seed": 524}, {"n": 3, "m": 3, "N": 40, "seed": 929}]
)
def test_without_constraint_a_tiny_error_probability_is_found(parameters):
    """SLSQP found it on some machines only: its rounding errors are multiplied by costs of 1e9."""
    solution = solve(catalog.build("near-deterministic", budget=math.inf, **parameters), "slsqp")
    assert solution.status is Status.CERTIFIED
    assert solution.iterations == 0


def test_the_gradient_is_finite_where_a_guess_excludes_a_private_value():
    joint = np.array([[[0.0, 0.1, 0.2], [0.0, 0.2, 0.1]], [[0.1, 0.05, 0.05], [0.1, 0.05, 0.05]]])
    program = SmoothProgram.of(Problem.from_joint(joint, 0.01))
    assert np.isfinite(program.slack_gradient(program.program.scale * [1.0, 0.0, 0.0])).all()
