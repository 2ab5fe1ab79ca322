"""Every backend of the project on every catalog family and kind of budget it claims, judged alike.

An instance is a small problem; each backend solves it once with bare defaults, and what is asserted
is what the judge finds: feasible estimators, valid and consistent brackets, usable duals, a claim,
and accuracy within the row of `contract.ACCURACY` that the backend's capabilities name. Only
budgets that it serves are asked for. A backend that cannot run here fails; nothing is skipped.
`--backend NAME` runs the tests of one backend, also of one that DISCREET_BACKENDS names.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from judging import lower_bound
from left_out import LEFT_OUT

from discreet.backends.attempts import Attempt
from discreet.backends.contract import ACCURACY, COLUMNS, Accuracy, Kind, Options, Regime
from discreet.backends.registry import availability, backend_names, load_backend
from discreet.backends.run import attempt, conclude, solve
from discreet.backends.solution import Solution, Status
from discreet.problems import catalog
from discreet.problems.certificate import Certificate
from discreet.problems.judge.privacy import PRIVATE_LIMIT
from discreet.problems.measures.duals import feasible_duals
from discreet.problems.measures.law import distance_from_private
from discreet.problems.measures.registry import CONDITIONAL
from discreet.problems.problem import Problem

TIME_LIMIT = 120.0
FALLEN_SHORT = 300
"""Iterations after which a known miss is one: more than any case takes that such a
method solves.
"""

BACKENDS = [name for name in backend_names(Kind.ARRAYS) if name not in LEFT_OUT]

BUDGETS: dict[str, dict[str, float]] = {
    "perfect": {"budget": 0.0},
    "tenth": {"fraction": 0.1},
    "half": {"fraction": 0.5},
    "nine tenths": {"fraction": 0.9},
    "none": {"budget": math.inf},
    "0.001": {"budget": 0.001},
    "0.01": {"budget": 0.01},
    "own": {},
}
"""By name; `own` is the default of a catalog entry."""

EVERY = ("perfect", "tenth", "half", "nine tenths", "none")
HARD = ("perfect", "half", "none")


@dataclass(frozen=True)
class Instance:
    """A catalog problem, small enough for every backend; `kind` picks the column of the tables."""

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()
    budgets: tuple[str, ...] = ("perfect", "half")
    kind: str = "ordinary"

    @property
    def label(self) -> str:
        """Its name and parameters in one word."""
        return "-".join([self.name, *(f"{key}={value}" for key, value in self.parameters)]).replace(
            " ", "-"
        )

    def cases(self) -> list[Case]:
        """One case per budget."""
        return [Case(self, budget) for budget in self.budgets]


@dataclass(frozen=True)
class Case:
    """An instance under one budget."""

    instance: Instance
    budget: str
    label: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", f"{self.instance.label}-{self.budget}".replace(" ", "-"))


def small(name: str, *budgets: str, kind: str = "ordinary", **parameters: Any) -> Instance:
    """An instance in one line."""
    return Instance(name, tuple(parameters.items()), budgets or Instance.budgets, kind)


INSTANCES = (
    small("paper-single", *EVERY, bins=4),
    small("paper-single", *EVERY, bins=24),
    small("paper-multi", *EVERY, sensors=4),
    small("multi-mixed", sensors=3),
    small("multi-groups", sizes=(2, 2)),
    small("release", "half", kind="degenerate"),  # no relative gap is reached of an optimum of 0
    small("binary-channel"),
    small("census", educations=3, occupations=3),
    small("dirichlet", n=3, m=3, N=20),
    small("dirichlet", n=2, m=4, N=12, seed=1),
    small("dirichlet", n=4, m=2, N=30, seed=2, sparsity=0.6),
    small("mixture", N=40),
    small("mixture", n=3, m=3, d=3, N=20, seed=1),
    small("weighted-mixture", n=2, m=4, N=20),
    small("smart-meter"),
    small("building", temperature_bins=5, co2_bins=4),
    small("road", *EVERY, bins=12, segments=3),
    small("anes96", z=("age", "educ"), bins=(4, 3)),
    small("fair", z=("age", "children"), bins=(4,)),
    small("zero-mass", *HARD, N=20),
    small("near-deterministic", *HARD, N=20, kind="degenerate"),
    small("duplicated", *HARD),
    small("x-equals-y", *HARD, N=16),
    small("independent", "perfect", "none", N=12),
    small("tiny-budget", "own", bins=16, kind="tiny budget"),
    small("slack-budget", "own", bins=16),
)
"""The last two are a single sensor, as is one of several; half of what an independent measurement
leaks is nothing. Without a budget only the least loss is to be found, which no ordinary problem
makes harder than the paper's."""

CASES = [case for instance in INSTANCES for case in instance.cases()]
LABELS = [case.label for case in CASES]

PAPER = INSTANCES[0]
MANY_BINS = small("paper-single", bins=64)
FIVE = small("paper-multi", sensors=5)
REFERENCE = [  # error probability, half a unit of its last published digit
    (Case(PAPER, "perfect"), 0.130702456, 5e-10),
    (Case(PAPER, "0.001"), 0.11502334202, 5e-12),
    (Case(PAPER, "0.01"), 0.08085780269, 5e-12),
    (Case(PAPER, "none"), 0.0793277703, 5e-11),
    (Case(MANY_BINS, "perfect"), 0.121218220, 5e-10),
    (Case(MANY_BINS, "0.001"), 0.10659931704, 5e-12),
    (Case(MANY_BINS, "0.01"), 0.07505963669, 5e-12),
    (Case(MANY_BINS, "none"), 0.0699066132, 5e-11),
    (Case(FIVE, "none"), 0.0147768901, 5e-11),
    (Case(FIVE, "half"), 0.01737635432, 5e-12),
]


def accuracy_of(name: str) -> Accuracy:
    """The row of the table that a backend says it keeps."""
    return ACCURACY[load_backend(name).capabilities.method_class]


@cache
def problem_of(case: Case) -> Problem:
    return catalog.build(
        case.instance.name, **dict(case.instance.parameters), **BUDGETS[case.budget]
    )


@cache
def attempt_at(backend: str, case: Case) -> tuple[Attempt, Solution]:
    """What the backend made of a case with default options; where it says that it falls short, it
    need not try for ever.
    """
    short = case.label in load_backend(backend).capabilities.falls_short
    options = Options(time_limit=TIME_LIMIT, max_iterations=FALLEN_SHORT if short else None)
    tried = attempt(problem_of(case), backend, options)
    return tried, conclude(problem_of(case), tried, options)


def solution_of(backend: str, case: Case) -> Solution:
    """Its solution."""
    return attempt_at(backend, case)[1]


def serving(case: Case) -> list[str]:
    """The project's backends that claim the case."""
    problem = problem_of(case)
    return [name for name in BACKENDS if not load_backend(name).capabilities.refusal(problem)]


def certificate_of(name: str, case: Case) -> Certificate:
    """What one backend's answer proves."""
    solution = solution_of(name, case)
    assert solution.certificate is not None, solution.message
    return solution.certificate


def test_every_family_has_an_instance_and_every_kind_of_instance_a_column() -> None:
    assert {instance.name for instance in INSTANCES} == {entry.name for entry in catalog.entries()}
    assert {instance.kind for instance in INSTANCES} == set(COLUMNS)


@pytest.mark.parametrize("name", BACKENDS)
def test_the_backend_can_run_here(name: str) -> None:
    found = availability(name)
    assert found.state == "available", found.reason


@pytest.mark.parametrize("name", BACKENDS)
def test_the_backend_serves_every_regime_it_claims_somewhere(name: str) -> None:
    regimes = {Regime.of(problem_of(case)) for case in CASES if name in serving(case)}
    assert regimes == set(load_backend(name).capabilities.regimes)
    assert set(load_backend(name).capabilities.falls_short) <= set(LABELS)
    assert set(load_backend(name).capabilities.unreliable) <= set(COLUMNS)


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.label)
@pytest.mark.parametrize("name", BACKENDS)
def test_answers_are_feasible_valid_accurate_and_complete(name: str, instance: Instance) -> None:
    """Under every budget of the instance that the backend serves."""
    for case in instance.cases():
        if name in serving(case):
            check_answer(name, case)


def check_answer(name: str, case: Case) -> None:
    """The estimator is feasible, the bracket agrees with that of `tilt`, the duals prove it, and it
    is as narrow as said.
    """
    problem = problem_of(case)
    solution = solution_of(name, case)
    assert solution.certificate is not None, solution.message
    check_feasible(problem, solution)
    check_duals(problem, solution)
    check_record(name, solution)
    best = certificate_of("tilt", case)
    assert not solution.certificate.excludes(best)
    assert not best.excludes(solution.certificate)
    check_accurate(name, case, problem, solution.certificate)


def check_feasible(problem: Problem, solution: Solution) -> None:
    """The estimator returned is column-stochastic and keeps the budget, by the problem's own
    arithmetic.
    """
    estimator = np.asarray(solution.estimator)
    judged = solution.certificate
    assert estimator.shape == (problem.m, problem.N)
    assert estimator.min() >= 0.0
    np.testing.assert_allclose(estimator.sum(axis=0), 1.0, rtol=1e-14)
    if problem.constraint.perfect:
        assert distance_from_private(problem.output_law(estimator)) <= PRIVATE_LIMIT
        assert solution.certificate is not None
        assert solution.certificate.private_within <= PRIVATE_LIMIT
    else:
        assert problem.leakage(estimator) <= problem.budget
    assert judged is not None
    assert judged.lower <= judged.upper
    assert judged.upper == pytest.approx(problem.error_probability(estimator), rel=1e-13)


def check_duals(problem: Problem, solution: Solution) -> None:
    """The duals returned are feasible and prove the lower side by themselves."""
    assert solution.tilt is not None
    assert solution.multiplier is not None
    assert solution.certificate is not None
    assert np.isfinite(solution.tilt).all()
    assert solution.multiplier >= 0.0
    assert math.isinf(solution.multiplier) == problem.constraint.perfect
    feasible = feasible_duals(solution.tilt, solution.multiplier, problem.p_x, problem.budget)
    assert feasible is not None
    proven = pytest.approx(solution.certificate.lower, rel=1e-9, abs=1e-12 * problem.constant_error)
    assert lower_bound(problem, *feasible) == proven


def check_record(name: str, solution: Solution) -> None:
    """The solution says who answered, what was claimed and with which libraries."""
    assert isinstance(solution.claimed, str)
    assert solution.claimed
    assert solution.backend == name
    assert solution.status in {Status.CERTIFIED, Status.INACCURATE, Status.VIOLATED_PRIVACY}
    assert solution.iterations is None or solution.iterations >= 0
    libraries = load_backend(name).capabilities.libraries
    assert set(libraries) <= set(solution.versions)
    assert "unknown" not in {solution.versions[library] for library in libraries}


def check_accurate(name: str, case: Case, problem: Problem, judged: Certificate) -> None:
    """Gap and own leakage stay within the row of the backend's class of methods, unless it says
    that it falls short here.
    """
    able = load_backend(name).capabilities
    accuracy = accuracy_of(name)
    column = COLUMNS.index(case.instance.kind)
    if case.label in able.falls_short:
        assert judged.relative_gap > accuracy.gap[column], (
            f"{case.label} has become better: take it off `falls_short`"
        )
        return
    missed = (
        f"the class {able.method_class!r} promises more on {case.label}; `falls_short` names "
        "what a backend misses"
    )
    assert judged.relative_gap <= accuracy.gap[column], missed
    if Regime.of(problem) is Regime.CONSTRAINED:
        assert judged.own_leakage <= problem.budget * (1.0 + accuracy.excess[column]), missed


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: instance.label)
def test_together_the_backends_know_the_optimum(instance: Instance) -> None:
    for case in instance.cases():
        judged = [certificate_of(name, case) for name in serving(case)]
        lower = max(each.lower for each in judged)
        upper = min(each.upper for each in judged)
        assert not any(one.excludes(other) for one, other in itertools.permutations(judged, 2))
        assert upper - lower <= 1e-9 * upper
        assert problem_of(case).bayes_error <= upper * (1.0 + 1e-13)
        assert lower <= problem_of(case).constant_error * (1.0 + 1e-13)


@pytest.mark.parametrize("name", BACKENDS)
def test_the_bracket_contains_the_reference_value(name: str) -> None:
    for case, error, half_unit in REFERENCE:
        solution = solution_of(name, case)
        if load_backend(name).capabilities.refusal(problem_of(case)):
            assert solution.status is Status.UNSUPPORTED
            continue
        assert solution.certificate is not None
        assert solution.certificate.lower <= error + half_unit
        assert solution.certificate.upper >= error - half_unit


PERMUTED = (
    small("dirichlet", n=2, m=4, N=12, seed=1),
    small("building", temperature_bins=5, co2_bins=4),
)


@pytest.mark.parametrize("instance", PERMUTED, ids=lambda instance: instance.label)
@pytest.mark.parametrize("name", BACKENDS)
def test_permuting_labels_permutes_the_answers(name: str, instance: Instance) -> None:
    """Law: relabelling private values, guesses and outcomes relabels the estimator: same bracket,
    same error probability.
    """
    for case in instance.cases():
        if name in serving(case):
            check_permuted(name, case)


def check_permuted(name: str, case: Case) -> None:
    """The law for one problem."""
    problem = problem_of(case)
    rng = np.random.default_rng(11)
    x = rng.permutation(problem.n)
    y = rng.permutation(problem.m)
    z = rng.permutation(problem.N)
    other = Problem(problem.p_xz[np.ix_(x, z)], problem.loss[np.ix_(y, z)], problem.constraint)
    here = solution_of(name, case)
    there = solve(other, name, time_limit=TIME_LIMIT)
    tolerance = accuracy_of(name).gap[0]
    assert there.error_probability == pytest.approx(here.error_probability, rel=2.0 * tolerance)
    assert there.estimator is not None
    restored = np.empty((problem.m, problem.N))
    restored[np.ix_(y, z)] = there.estimator
    assert problem.error_probability(restored) == pytest.approx(
        here.error_probability, rel=2.0 * tolerance
    )
    if not problem.constraint.perfect:
        assert problem.leakage(restored) <= problem.budget * (1.0 + 1e-12)


def served(name: str, problem: Problem) -> Problem:
    """The problem under a budget that the backend serves, perfect privacy if it does, else of a
    measure that it serves.
    """
    able = load_backend(name).capabilities
    under = [problem.with_budget(budget) for budget in (0.0, 0.5 * problem.bayes_leakage, math.inf)]
    under += [
        problem.with_budget(0.01, measure=measure)
        for measure in sorted(able.measures - {"g-leakage", "sibson", *CONDITIONAL})
    ]
    return next(each for each in under if not able.refusal(each))


@pytest.mark.parametrize("name", BACKENDS)
def test_merged_and_impossible_outcomes_are_restored(name: str) -> None:
    """Law: splitting outcomes and adding impossible ones changes neither the optimum nor the
    backend's answer to it.
    """
    problem = served(name, catalog.build("dirichlet", n=2, m=3, N=8, budget=0.0))
    a = np.concatenate([problem.p_xz * 0.25, np.zeros((2, 1)), problem.p_xz * 0.75], axis=1)
    loss = np.concatenate([problem.loss * 0.25, np.zeros((3, 1)), problem.loss * 0.75], axis=1)
    split = Problem(a, loss, problem.constraint)
    tolerance = accuracy_of(name).gap[0]
    here = solve(problem, name)
    there = solve(split, name)
    assert there.estimator is not None
    assert there.estimator.shape == (3, 17)
    np.testing.assert_allclose(there.estimator.sum(axis=0), 1.0, rtol=1e-14)
    assert there.error_probability == pytest.approx(here.error_probability, rel=2.0 * tolerance)


@pytest.mark.parametrize("name", BACKENDS)
def test_attempts_leave_the_problem_untouched_and_repeat(name: str) -> None:
    problem = served(name, catalog.build("paper-single", bins=6, budget=0.0))
    a = problem.p_xz.copy()
    loss = problem.loss.copy()
    options = Options()
    first, second = (conclude(problem, attempt(problem, name, options), options) for _ in range(2))
    assert np.array_equal(problem.p_xz, a)
    assert np.array_equal(problem.loss, loss)
    assert first.estimator is not None
    assert second.estimator is not None
    np.testing.assert_array_equal(first.estimator, second.estimator)
