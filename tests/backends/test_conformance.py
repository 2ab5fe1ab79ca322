"""Every backend of the project on every catalog family and kind of budget it claims, judged alike.

An instance is a small problem; each required backend solves it once with bare defaults, and one test asserts all that the
judge finds: a feasible estimator, a valid bracket that agrees with those of the other backends, accuracy within the table of
the backend's class of methods, usable duals, a claim and timings. A backend that cannot run here fails; nothing is skipped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest

from discreet import Certificate
from discreet.backends.contract import Options, Regime
from discreet.backends.registry import _OWN, availability, load_backend
from discreet.backends.run import attempt, conclude, solve
from discreet.backends.solution import Solution, Status
from discreet.problems import catalog
from discreet.problems.judge.bound import lower_bound
from discreet.problems.measures.law import LEAK_FREE
from discreet.problems.measures.mutual_information import feasible_duals
from discreet.problems.problem import Problem

TIME_LIMIT = 120.0

METHOD_CLASS = {
    "tilt": "structured",
    "auto": "structured",
    "highs": "simplex",
    "pyomo": "simplex",
    "blahut-arimoto": "fixed point",
    "conic": "cones",
    "slsqp": "dense SQP",
    "trust-constr": "barrier",
    "ipopt": "barrier",
    "qics": "cones",
    "clarabel": "cones",
    "pdlp": "first order",
    "glop": "simplex",
}
"""The class of method of each backend; a backend without one fails `test_every_backend_has_a_class`."""

GAP = {  # largest relative certified gap with default options, by class of method and kind of instance
    "structured": {"ordinary": 1e-9, "degenerate": 1e-9, "tiny budget": 1e-9},
    "simplex": {"ordinary": 1e-9, "degenerate": 1e-9, "tiny budget": 1e-9},
    "fixed point": {"ordinary": 1e-8, "degenerate": 1e-5, "tiny budget": 1e-5},
    "cones": {"ordinary": 1e-7, "degenerate": 1e-6, "tiny budget": math.inf},
    "dense SQP": {"ordinary": 1e-7, "degenerate": 1e-3, "tiny budget": 1e-7},
    "barrier": {"ordinary": 1e-8, "degenerate": 1e-8, "tiny budget": 1e-7},
    "first order": {"ordinary": 1e-8, "degenerate": 1e-8, "tiny budget": 1e-8},
}

EXCESS = {  # largest relative excess of the answer's own leakage over a positive budget, before any repair
    "structured": {"ordinary": 1e-9, "degenerate": 1e-9, "tiny budget": 1e-6},
    "simplex": {"ordinary": 0.0, "degenerate": 0.0, "tiny budget": 0.0},
    "fixed point": {"ordinary": 1e-6, "degenerate": 1e-6, "tiny budget": 1e-6},
    "cones": {"ordinary": 1e-6, "degenerate": 1e-5, "tiny budget": math.inf},
    "dense SQP": {"ordinary": 1e-7, "degenerate": 1e-3, "tiny budget": 1e-5},
    "barrier": {"ordinary": 1e-6, "degenerate": 1e-6, "tiny budget": 1e-6},
    "first order": {"ordinary": 0.0, "degenerate": 0.0, "tiny budget": 0.0},
}

FALLS_SHORT = {
    ("trust-constr", "building-temperature_bins=4-co2_bins=5-half"): "still beyond the budget after 2000 iterations",
    ("trust-constr", "road-bins=16-segments=3-tenth"): "still beyond the budget after 2000 iterations",
    ("trust-constr", "zero-mass-N=20-perfect"): "its constraint tolerance is not met, though it says so",
    ("qics", "near-deterministic-N=20-none"): "an error of 6e-10 is within its absolute tolerances",
}
"""Peers that measured worse than their class, and why. What they return has to be feasible and valid all the same."""

BUDGETS: dict[str, dict[str, float]] = {
    "perfect": {"budget": 0.0},
    "tenth": {"fraction": 0.1},
    "half": {"fraction": 0.5},
    "nine tenths": {"fraction": 0.9},
    "none": {"budget": math.inf},
}


@dataclass(frozen=True)
class Instance:
    """A catalog problem, small enough for every backend; `kind` picks the column of the tables."""

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()
    budgets: tuple[str, ...] = ("perfect", "half", "none")
    kind: str = "ordinary"
    own_budget: bool = False
    """Whether to solve under the entry's own default budget as well."""

    def cases(self) -> list[Case]:
        """One case per budget."""
        found = [Case(self, budget) for budget in self.budgets]
        return [*found, Case(self, "own")] if self.own_budget else found


@dataclass(frozen=True)
class Case:
    """An instance under one budget."""

    instance: Instance
    budget: str
    label: str = field(init=False)

    def __post_init__(self) -> None:
        words = [self.instance.name, *(f"{key}={value}" for key, value in self.instance.parameters), self.budget]
        object.__setattr__(self, "label", "-".join(str(word) for word in words).replace(" ", "-"))

    @property
    def kind(self) -> str:
        """The column of the tables: an instance's own tiny budget is harder than its round ones."""
        return "ordinary" if self.instance.kind == "tiny budget" and self.budget != "own" else self.instance.kind


def small(name: str, *, kind: str = "ordinary", own: bool = False, all_budgets: bool = False, **parameters: Any) -> Instance:
    """An instance in one line."""
    budgets = tuple(BUDGETS) if all_budgets else ("perfect", "half", "none")
    return Instance(name, tuple(parameters.items()), budgets, kind, own)


INSTANCES = (
    small("paper-single", bins=4, all_budgets=True),
    small("paper-single", bins=24, all_budgets=True),
    small("paper-multi", sensors=1),
    small("paper-multi", sensors=4, all_budgets=True),
    small("multi-mixed", sensors=3),
    small("multi-groups", sizes=(2, 2)),
    small("dirichlet", n=3, m=3, N=20),
    small("dirichlet", n=2, m=4, N=12, seed=1),
    small("dirichlet", n=4, m=2, N=30, seed=2, sparsity=0.6),
    small("mixture", N=40),
    small("mixture", n=3, m=3, d=3, N=20, seed=1),
    small("weighted-mixture", n=2, m=4, N=20),
    small("smart-meter"),
    small("building", temperature_bins=4, co2_bins=5),
    small("road", bins=16, segments=3, all_budgets=True),
    small("anes96", z=("age", "educ"), bins=(4, 3)),
    small("fair", z=("age", "children"), bins=(4,)),
    small("zero-mass", N=20),
    small("near-deterministic", N=20, kind="degenerate"),
    small("duplicated"),
    small("x-equals-y", N=16),
    small("independent", N=12),
    small("tiny-budget", bins=16, kind="tiny budget", own=True),
    small("slack-budget", bins=16, own=True),
)

CASES = [case for instance in INSTANCES for case in instance.cases()]
LABELS = [case.label for case in CASES]

REFERENCE = [  # catalog name, parameters, budget, error probability, half a unit of its last published digit
    ("paper-single", {"bins": 4}, {"budget": 0.0}, 0.130702456, 5e-10),
    ("paper-single", {"bins": 4}, {"budget": 0.001}, 0.11502334202, 5e-12),
    ("paper-single", {"bins": 4}, {"budget": 0.01}, 0.08085780269, 5e-12),
    ("paper-single", {"bins": 4}, {"budget": math.inf}, 0.0793277703, 5e-11),
    ("paper-single", {"bins": 64}, {"budget": 0.0}, 0.121218220, 5e-10),
    ("paper-single", {"bins": 64}, {"budget": 0.001}, 0.10659931704, 5e-12),
    ("paper-single", {"bins": 64}, {"budget": 0.01}, 0.07505963669, 5e-12),
    ("paper-single", {"bins": 64}, {"budget": math.inf}, 0.0699066132, 5e-11),
    ("paper-multi", {"sensors": 5}, {"budget": math.inf}, 0.0147768901, 5e-11),
    ("paper-multi", {"sensors": 5}, {"fraction": 0.5}, 0.01737635432, 5e-12),
]


@cache
def problem_of(case: Case) -> Problem:
    budget = {} if case.budget == "own" else BUDGETS[case.budget]
    return catalog.build(case.instance.name, **dict(case.instance.parameters), **budget)


@cache
def solution_of(backend: str, case: Case) -> Solution:
    """The backend's solution of a case with default options."""
    return solve(problem_of(case), backend, time_limit=TIME_LIMIT)


def serving(case: Case) -> list[str]:
    """The project's backends that claim the case."""
    problem = problem_of(case)
    able = {name: load_backend(name).capabilities for name in _OWN}
    return [name for name, c in able.items() if Regime.of(problem) in c.regimes and problem.N <= c.largest_outcomes]


@cache
def best_bracket(case: Case) -> tuple[float, float]:
    """(lower, upper): the best that all serving backends together prove about the optimum.

    At budget 0 an estimator counts as private with ‖Φ P‖∞ up to 1e-13, and may then be better than a lower bound that holds
    for the residual of another: by at most Σ_ij |t_ij| π_j times that residual, which is taken off here.
    """
    solved = [solution for solution in (solution_of(name, case) for name in serving(case)) if solution.certificate]
    lower = max(solution.certificate.lower - allowance(solution) for solution in solved if solution.certificate)
    return lower, min(solution.certificate.upper for solution in solved if solution.certificate)


def allowance(solution: Solution) -> float:
    """What an estimator that counts as private may gain on this solution's lower bound."""
    if not solution.problem.constraint.perfect:
        return 0.0
    return LEAK_FREE * float((np.abs(np.asarray(solution.tilt)) @ solution.problem.p_x).sum())


PAIRS = [pytest.param(name, case, id=f"{name}-{case.label}") for case in CASES for name in serving(case)]


def test_every_backend_has_a_class_and_every_family_an_instance() -> None:
    assert set(METHOD_CLASS) == set(_OWN)
    assert {instance.name for instance in INSTANCES} == {entry.name for entry in catalog.entries()}
    assert {case.kind for case in CASES} == set(GAP["cones"])


@pytest.mark.parametrize("name", _OWN)
def test_the_backend_can_run_here(name: str) -> None:
    found = availability(name)
    assert found.state == "available", found.reason


@pytest.mark.parametrize("name", _OWN)
def test_the_backend_serves_every_regime_it_claims_somewhere(name: str) -> None:
    regimes = {Regime.of(problem_of(case)) for case in CASES if name in serving(case)}
    assert regimes == set(load_backend(name).capabilities.regimes)


@pytest.mark.parametrize(("name", "case"), PAIRS)
def test_what_the_backend_returns_is_what_the_judge_demands(name: str, case: Case) -> None:
    problem, solution = problem_of(case), solution_of(name, case)
    check_record(name, solution)
    check_feasible(problem, solution)
    check_bracket(case, solution)
    check_duals(problem, solution)
    check_accuracy(name, case, solution)


def certificate_of(solution: Solution) -> Certificate:
    """The solution's certificate, which every case has."""
    assert solution.certificate is not None, solution.message
    return solution.certificate


def check_record(name: str, solution: Solution) -> None:
    """The solution says who made it, what the backend claims, how long it took, and with which libraries."""
    assert isinstance(solution.claimed, str)
    assert solution.claimed
    assert solution.backend == name
    assert solution.timings.solve_seconds > 0.0
    assert solution.timings.certify_seconds > 0.0
    assert solution.iterations is None or solution.iterations >= 0
    assert set(load_backend(name).capabilities.libraries) <= set(solution.versions)
    assert "unknown" not in {solution.versions[library] for library in load_backend(name).capabilities.libraries}
    assert solution.status in {Status.CERTIFIED, Status.INACCURATE, Status.VIOLATED_PRIVACY}


def check_accuracy(name: str, case: Case, solution: Solution) -> None:
    """Gap and excess leakage are within the table of the backend's class, unless a peer is known to fall short."""
    judged, tolerance = certificate_of(solution), GAP[METHOD_CLASS[name]][case.kind]
    if (name, case.label) in FALLS_SHORT:
        assert load_backend(name).capabilities.peer
        assert judged.relative_gap > tolerance, "it has become better: take it off the list"
        return
    assert judged.relative_gap <= tolerance, solution
    if Regime.of(solution.problem) is Regime.CONSTRAINED:
        assert judged.own_leakage <= solution.problem.budget * (1.0 + EXCESS[METHOD_CLASS[name]][case.kind])


def check_feasible(problem: Problem, solution: Solution) -> None:
    """The estimator returned is column-stochastic and keeps the budget, by the problem's own arithmetic."""
    estimator = np.asarray(solution.estimator)
    assert estimator.shape == (problem.m, problem.N)
    assert estimator.min() >= 0.0
    np.testing.assert_allclose(estimator.sum(axis=0), 1.0, rtol=1e-14)
    if problem.constraint.perfect:
        deviation = problem.output_law(estimator).deviation
        held = problem.p_x > 0.0
        assert np.abs(deviation[:, held] / problem.p_x[held]).max() <= LEAK_FREE
    else:
        assert problem.leakage(estimator) <= problem.budget


def check_bracket(case: Case, solution: Solution) -> None:
    """The bracket is valid, its upper end is the estimator's error, and no other backend's bracket contradicts it."""
    judged = certificate_of(solution)
    assert judged.lower <= judged.upper
    assert judged.upper == pytest.approx(solution.problem.error_probability(np.asarray(solution.estimator)), rel=1e-13)
    lower, upper = best_bracket(case)
    assert judged.lower - allowance(solution) <= upper
    assert judged.upper >= lower


def check_duals(problem: Problem, solution: Solution) -> None:
    """The solution's duals prove its lower bound by themselves."""
    assert solution.tilt is not None
    assert solution.multiplier is not None
    assert np.isfinite(solution.tilt).all()
    assert solution.multiplier >= 0.0
    assert math.isinf(solution.multiplier) == problem.constraint.perfect
    feasible = feasible_duals(solution.tilt, solution.multiplier, problem.p_x, problem.budget)
    assert feasible is not None
    lower = lower_bound(problem, *feasible)
    assert lower == pytest.approx(certificate_of(solution).lower, rel=1e-9, abs=1e-12 * problem.constant_error)


@pytest.mark.parametrize("case", CASES, ids=LABELS)
def test_together_the_backends_know_the_optimum(case: Case) -> None:
    lower, upper = best_bracket(case)
    assert lower <= upper
    assert upper - lower <= 1e-9 * upper
    assert problem_of(case).bayes_error <= upper * (1.0 + 1e-13)
    assert lower <= problem_of(case).constant_error * (1.0 + 1e-13)


@pytest.mark.parametrize("name", _OWN)
@pytest.mark.parametrize(("problem", "parameters", "budget", "error", "half_unit"), REFERENCE)
def test_the_bracket_contains_the_reference_value(
    name: str, problem: str, parameters: dict[str, Any], budget: dict[str, float], error: float, half_unit: float
) -> None:
    built = catalog.build(problem, **parameters, **budget)
    if Regime.of(built) not in load_backend(name).capabilities.regimes:
        assert solve(built, name).status is Status.UNSUPPORTED
        return
    judged = solve(built, name, time_limit=TIME_LIMIT).certificate
    assert judged is not None
    assert judged.lower <= error + half_unit
    assert judged.upper >= error - half_unit


PERMUTED = [
    pytest.param(name, Case(instance, budget), id=f"{name}-{Case(instance, budget).label}")
    for instance in (small("dirichlet", n=3, m=3, N=12, seed=3), small("road", bins=12, segments=3))
    for budget in ("perfect", "half", "none")
    for name in serving(Case(instance, budget))
]


@pytest.mark.parametrize(("name", "case"), PERMUTED)
def test_permuting_labels_permutes_the_answer(name: str, case: Case) -> None:
    """Law: relabelling private values, guesses and outcomes relabels the estimator: same bracket, same error probability."""
    problem = problem_of(case)
    rng = np.random.default_rng(11)
    x, y, z = rng.permutation(problem.n), rng.permutation(problem.m), rng.permutation(problem.N)
    other = Problem(problem.p_xz[np.ix_(x, z)], problem.loss[np.ix_(y, z)], problem.constraint)
    here, there = solve(problem, name, time_limit=TIME_LIMIT), solve(other, name, time_limit=TIME_LIMIT)
    tolerance = GAP[METHOD_CLASS[name]]["ordinary"]
    assert there.error_probability == pytest.approx(here.error_probability, rel=2.0 * tolerance)
    assert there.estimator is not None
    restored = np.empty((problem.m, problem.N))
    restored[np.ix_(y, z)] = there.estimator
    assert problem.error_probability(restored) == pytest.approx(here.error_probability, rel=2.0 * tolerance)
    if not problem.constraint.perfect:
        assert problem.leakage(restored) <= problem.budget * (1.0 + 1e-12)


@pytest.mark.parametrize("name", _OWN)
def test_merged_and_impossible_outcomes_are_restored(name: str) -> None:
    """Law: splitting outcomes and adding impossible ones changes neither the optimum nor the backend's answer to it."""
    problem = catalog.build("dirichlet", n=2, m=3, N=8, budget=0.0)
    a = np.concatenate([problem.p_xz * 0.25, np.zeros((2, 1)), problem.p_xz * 0.75], axis=1)
    loss = np.concatenate([problem.loss * 0.25, np.zeros((3, 1)), problem.loss * 0.75], axis=1)
    split = Problem(a, loss, 0.0)
    tolerance = GAP[METHOD_CLASS[name]]["ordinary"]
    here, there = solve(problem, name), solve(split, name)
    assert there.estimator is not None
    assert there.estimator.shape == (3, 17)
    np.testing.assert_allclose(there.estimator.sum(axis=0), 1.0, rtol=1e-14)
    assert there.error_probability == pytest.approx(here.error_probability, rel=2.0 * tolerance)


@pytest.mark.parametrize("name", _OWN)
def test_attempts_leave_the_problem_untouched_and_repeat(name: str) -> None:
    problem = catalog.build("paper-single", bins=6, budget=0.0)
    a, loss = problem.p_xz.copy(), problem.loss.copy()
    options = Options()
    first, second = (conclude(problem, attempt(problem, name, options), options) for _ in range(2))
    assert np.array_equal(problem.p_xz, a)
    assert np.array_equal(problem.loss, loss)
    assert first.estimator is not None
    assert second.estimator is not None
    np.testing.assert_array_equal(first.estimator, second.estimator)
