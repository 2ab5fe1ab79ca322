"""Duals for answers without any: an optimal estimator alone is certified, under every measure and several constraints."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet as ds
from discreet.backends.contract import Answer
from discreet.backends.multipliers import multipliers_of
from discreet.backends.run import judged
from discreet.problems.measures.registry import CONDITIONAL, MEASURES
from discreet.problems.problem import Problem

JOINT = np.random.default_rng(5).dirichlet(np.full(2 * 3 * 3 * 20, 0.5)).reshape(2, 3, 3, 20)  # p(x, x', y, z)
PLAIN = JOINT.sum(axis=0)
PARAMETERS = {"sibson": ":alpha=3", "g-leakage": ":gain=[[1,0,0],[0,2,1],[0.5,0.5,0.5]]"}
NAMES = [name + PARAMETERS.get(name, "") for name in MEASURES]


def own_gap(problem: Problem) -> float:
    """Of the optimal estimator, without the duals with which it was found."""
    solution = ds.solve(problem, "tilt", gap=1e-9)
    assert solution.status is ds.Status.CERTIFIED, solution
    return float(judged(problem, Answer(np.asarray(solution.estimator))).certificate.relative_gap)


@pytest.mark.parametrize("name", [*NAMES, *CONDITIONAL])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3])
def test_an_optimal_estimator_alone_is_certified(name: str, share: float) -> None:
    free = Problem.from_joint(PLAIN, math.inf, measure=name)
    leaked = free.bayes_leakages[0]
    assert own_gap(free.with_budget(share * (leaked if math.isfinite(leaked) else 1.0))) <= 1e-9


@pytest.mark.parametrize(
    "constraints",
    [
        [(0, 0.01, "mutual-information"), (1, 0.02, "parity-difference")],
        [(0, 0.0, "total-variation"), (1, 0.02, "chi-square")],
        [(0, 0.01, "pointwise-information"), (1, 0.0, "min-entropy-leakage"), (2, 0.01, "conditional-mutual-information")],
    ],
    ids=str,
)
def test_so_is_one_of_several_secrets(constraints: list[tuple[int, float, str]]) -> None:
    rows: list[Any] = [JOINT.sum(axis=(1, 2)), JOINT.sum(axis=(0, 2)), JOINT.sum(axis=1).transpose(1, 0, 2)]
    stated = [ds.Constraint(rows[which], budget, measure) for which, budget, measure in constraints]
    assert own_gap(Problem(loss=Problem.from_joint(PLAIN, math.inf).loss, constraints=stated)) <= 1e-9


def test_a_guess_that_is_never_made_is_excluded() -> None:
    """Its tilt is no gradient, and without one it would ruin the bound."""
    joint = PLAIN.copy()
    joint[:, 2] *= 0.2
    problem = Problem.from_joint(joint / joint.sum(), math.inf, measure="chi-square")
    problem = problem.with_budget(0.02 * problem.bayes_leakages[0])
    solution = ds.solve(problem, "tilt", gap=1e-9)
    assert solution.certificate is not None
    assert np.asarray(solution.estimator).max(axis=1).min() == 0.0
    assert own_gap(problem) <= 1e-9


def test_nothing_is_derived_where_outcomes_are_many() -> None:
    many = ds.problems.dirichlet(n=2, m=2, N=5_000, seed=1).with_budget(0.01, measure="chi-square")
    assert multipliers_of(many, many.law(many.bayes_estimator)) is None
