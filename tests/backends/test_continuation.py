"""Continuation along a curve: what is predicted from solved budgets is certified like any other
answer, or solved afresh.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from gated import gated
from hypothesis import given
from hypothesis import strategies as st
from random_laws import random_joint
from solving import at_share, of_secrets
from strategies import seeds

import discreet as ds
from discreet.backends import Answer, load_backend
from discreet.backends import sweep as sweeping
from discreet.backends.continuation import Known, predict_duals
from discreet.backends.contract import Continuation
from discreet.backends.sweep import Sweep
from discreet.backends.tilt.backend import Tilt
from discreet.problems import paper_single


def known(problem, budgets):
    solutions = [ds.solve(problem.with_budget(budget), "tilt") for budget in budgets]
    return [
        Known(budget, solution.tilt, solution.multipliers)
        for budget, solution in zip(budgets, solutions, strict=True)
    ]


def continued(problem, near):
    return Tilt().continue_from(problem, ds.Options(), predict_duals(problem, near, problem.budget))


def shares_of(problem, *shares):
    """Budgets of these shares of what the Bayes rule leaks."""
    return [float(share) * problem.bayes_leakage for share in shares]


def last_of_sweep(problem, budgets):
    """The last solution of a sweep over the budgets, all of which are certified."""
    sweep = Sweep(problem, "tilt", gap=1e-9)
    for budget in budgets:
        solution, _ = sweep.solve(budget)
        assert solution.status is ds.Status.CERTIFIED
    return solution


@pytest.mark.parametrize("share", [1e-3, 0.02, 0.1, 0.4])
def test_between_near_neighbours_the_answer_is_certified_without_an_iteration(share):
    at = at_share(paper_single(bins=2000), share)
    found = continued(at, known(at, [0.8 * at.budget, 0.95 * at.budget, 1.15 * at.budget]))
    assert found.iterations == 0
    answer = found.value
    certificate = ds.certify(at, answer.estimator, answer.tilt, answer.multiplier).certificate
    assert certificate.relative_gap <= 1e-9
    assert certificate.own_leakage <= at.budget
    assert certificate.blend == 0.0
    assert certificate.upper == pytest.approx(ds.solve(at, "tilt").error_probability, rel=2e-9)


def test_continuation_declines_where_it_cannot_help():
    problem = paper_single(bins=200)
    middle = problem.with_budget(0.3 * problem.bayes_leakage)
    assert continued(middle, []) is None
    assert continued(problem.with_budget(1e-300), known(problem, [0.0])) is None
    # The Bayes rule: no point of the path.
    assert continued(middle, [Known(0.02, np.zeros((2, 2)), np.zeros(1))]) is None


def models(seed, shape):
    return ds.Problem.from_joint(random_joint(seed, *shape, spread=0.3), 0.0)


@given(
    st.builds(
        models,
        seeds,
        st.tuples(st.integers(2, 3), st.integers(2, 3), st.integers(3, 60)),
    ),
    st.lists(st.just(0.0) | st.floats(1e-9, 1.2), min_size=2, max_size=6),
)
def test_a_sweep_is_never_worse_than_a_solve(problem, shares):
    sweep = Sweep(problem, "tilt", gap=1e-9)
    for share in shares:
        budget = share * problem.bayes_leakage
        solution, _ = sweep.solve(budget)
        alone = ds.solve(problem.with_budget(budget), "tilt")
        if alone.status is ds.Status.CERTIFIED:
            assert solution.status is ds.Status.CERTIFIED
        assert solution.certificate.lower <= alone.certificate.upper
        assert alone.certificate.lower <= solution.certificate.upper


LINEAR = ["total-variation", "maximal-leakage", "min-entropy-leakage", "parity-difference"]


@pytest.mark.parametrize("measure", LINEAR)
@pytest.mark.parametrize("shape", [(2, 2, 3000), (3, 3, 300)])
def test_under_linear_measures_the_chord_leads_to_the_vertex(measure, shape):
    problem = models(5, shape).with_budget(math.inf, measure=measure)
    solution = last_of_sweep(problem, shares_of(problem, 0.0, 1.0, 0.5, 0.25, 0.3, 0.28))
    assert solution.claimed == "optimal (continued)"
    assert solution.iterations == 0
    alone = ds.solve(at_share(problem, 0.28), "tilt")
    assert solution.error_probability == pytest.approx(alone.error_probability, rel=1e-12)


@pytest.mark.parametrize(
    "measure",
    gated(["chi-square", "sibson:alpha=2", "conditional-mutual-information", "total-variation"]),
)
def test_many_outcomes_are_continued_under_every_measure(measure):
    joint = random_joint(3, 2, 2, 20000, spread=0.5)
    problem = ds.Problem.from_joint(joint, math.inf, measure=measure)
    solution = last_of_sweep(problem, shares_of(problem, 0.0, 1.0, 0.5, 0.25, 0.3))
    assert solution.claimed == "optimal (continued)"


def test_several_secrets_are_continued_along_a_common_factor():
    joint = random_joint(3, 2, 2, 2, 20000, spread=0.5)
    problem = of_secrets(joint, (0, 1.0), (1, 1.0, "chi-square"))
    problem = problem.with_budget([0.2 * leaks for leaks in problem.bayes_leakages])
    assert last_of_sweep(problem, (0.5, 1.0, 2.0, 1.3)).claimed == "optimal (continued)"


class Wild(Tilt):
    """A backend whose continuation is worthless."""

    def __init__(self, behaviour):
        self.behaviour = behaviour
        self.asked = 0

    def continue_from(self, problem, options, solved):
        self.asked += 1
        if self.behaviour == "raises":
            raise np.linalg.LinAlgError("singular")
        if self.behaviour == "declines":
            return None
        raw = self.solve(self.lower(problem, options), options)
        useless = np.full((problem.m, problem.N), 1.0 / problem.m)
        return replace(
            raw, value=Answer(useless, np.zeros((problem.m, problem.n)), raw.value.multipliers)
        )


@pytest.mark.parametrize("behaviour", ["raises", "declines", "lies"])
def test_worthless_continuation_costs_only_time(behaviour, monkeypatch):
    wild = Wild(behaviour)
    monkeypatch.setattr(sweeping, "load_backend", lambda name: wild)
    problem = paper_single(bins=16)
    last_of_sweep(problem, shares_of(problem, *np.linspace(0.0, 0.9, 14)))
    assert wild.asked > 0


def test_backends_without_a_path_are_solved_afresh():
    assert not isinstance(load_backend("blahut-arimoto"), Continuation)
    solution, _ = Sweep(paper_single(), "blahut-arimoto", gap=1e-6).solve(0.005)
    assert solution.status is ds.Status.CERTIFIED
