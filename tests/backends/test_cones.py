"""The cone program: its rows and cones say error probability, leakage and privacy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.backends.cones import ConeProgram
from discreet.backends.lowering import Program
from discreet.problems import catalog


def random_estimator(problem, seed):
    rng = np.random.default_rng(seed)
    estimator = rng.gamma(0.5, size=(problem.m, problem.N)) + 1e-9
    return estimator / estimator.sum(axis=0)


def pinned(form, problem, estimator):
    """The variables of a cone program of mutual information that an estimator implies; exponential
    cones are tight.
    """
    law = problem.output_law(estimator)
    root = math.sqrt(problem.budget)
    known = np.concatenate([estimator.ravel(), (law.deviation / root).ravel(), law.mass])
    x = np.append(known, np.zeros(form.cost.size - known.size))
    # x of every cone is the next variable
    slacks = (form.right - form.matrix @ x)[form.linear :].reshape(-1, 3)
    x[known.size :] = slacks[:, 1] * np.log(slacks[:, 2] / slacks[:, 1])
    return x


@given(seed=st.integers(0, 10**6))
@settings(max_examples=8)
def test_the_cones_say_error_probability_and_leakage(seed):
    problem = catalog.build("dirichlet", n=3, m=4, N=8, seed=seed, fraction=0.5)
    form = ConeProgram.of(Program.of(problem))
    estimator = random_estimator(problem, seed)
    x = pinned(form, problem, estimator)
    error = form.program.unit * float(form.cost @ x) + problem.bayes_error
    assert error == pytest.approx(problem.error_probability(estimator), rel=1e-12)
    left = form.right - form.matrix @ x
    assert np.abs(left[: form.equations]).max() <= 1e-10 / math.sqrt(problem.budget)
    leakage = (1.0 - left[form.linear - 1]) * problem.budget
    assert leakage == pytest.approx(problem.leakage(estimator), rel=1e-6, abs=1e-13)
