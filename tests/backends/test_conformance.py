"""One table: every backend on every kind of problem that it serves, judged in one way.

A row of the table is a problem under some budgets: a family of the catalog, a measure of leakage
under every kind of budget, several constraints, or a constraint that is stated twice. A backend
solves each problem once with default options. The assertions are about the judge's findings: an
estimator within its budgets, a bracket that is consistent and overlaps that of `tilt`, duals that
prove it, and the accuracy of the row of `contract.ACCURACY` that the backend declares. Requests
that a backend does not serve are refused. A backend that cannot run here fails; nothing is skipped.

`tilt` solves every row, and the other backends the first row of every combination of measures and
kind of problem; `glop` and `pdlp`, each answer of which takes a process, a few of them. The marker
`gate` is on the rest of the table, which `.ci/run` runs, and on laws beyond the table where a peer
is asked. `--backend NAME` keeps the tests of one backend, also of one that DISCREET_BACKENDS names.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pytest
from judging import lower_bound
from left_out import LEFT_OUT
from numpy.testing import assert_allclose, assert_array_equal
from random_laws import random_joint
from refusals import raises_input_error
from solving import at_share, of_secrets

from discreet import Options, Problem, Status, solve
from discreet.backends import Kind, Regime, availability, backend_names, capabilities, load_backend
from discreet.backends.contract import ACCURACY, COLUMNS
from discreet.backends.run import attempt, conclude
from discreet.judge.privacy import PRIVATE_LIMIT
from discreet.measures import GLeakage
from discreet.measures.law import distance_from_private
from discreet.measures.registry import CONDITIONAL, MEASURES
from discreet.problems import catalog
from discreet.problems.duals import feasible_duals

TIME_LIMIT = 120.0
FALLEN_SHORT = 300
"""Iterations after which a known miss is one: more than any case takes that such a
method solves.
"""
FEW = 1e-7
"""Gap of methods of fewer digits under a measure: its budget is a fifth of what the Bayes rule
leaks.
"""

BACKENDS = [name for name in backend_names(Kind.ARRAYS) if name not in LEFT_OUT]

BUDGETS = {
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
class Case:
    """A problem of the table, made when it is first solved."""

    label: str
    make: Callable[[], Problem]


@dataclass(frozen=True)
class Row:
    """Problems that are small enough for every backend and differ in their budgets only; `kind`
    picks the column of the accuracies.
    """

    label: str
    cases: tuple[Case, ...]
    measures: tuple[str, ...] = ("mutual-information",)
    kind: str = "ordinary"


def small(name, *budgets, kind="ordinary", **parameters):
    """A family of the catalog."""
    label = "-".join([name, *(f"{key}={value}" for key, value in parameters.items())])
    cases = [
        Case(
            f"{label}-{budget}".replace(" ", "-"),
            partial(catalog.build, name, **parameters, **BUDGETS[budget]),
        )
        for budget in budgets or ("perfect", "half")
    ]
    return Row(label.replace(" ", "-"), tuple(cases), kind=kind)


FAMILIES = {
    # SLSQP is off by 5e-15 to 9e-7 with four bins, as the kernels of linear algebra decide.
    "paper-single": [small("paper-single", *EVERY, bins=5), small("paper-single", *EVERY, bins=24)],
    "paper-multi": [small("paper-multi", *EVERY, sensors=4)],
    "multi-mixed": [small("multi-mixed", sensors=3)],
    "multi-groups": [small("multi-groups", sizes=(2, 2))],
    # No relative gap is reached of an optimum of 0.
    "release": [small("release", "half", kind="degenerate")],
    "binary-channel": [small("binary-channel")],
    "census": [small("census", educations=3, occupations=3)],
    "dirichlet": [
        small("dirichlet", *EVERY, n=3, m=3, N=20),
        small("dirichlet", n=2, m=4, N=12, seed=2),
        small("dirichlet", n=4, m=2, N=30, seed=2, sparsity=0.6),
    ],
    "mixture": [small("mixture", N=40), small("mixture", n=3, m=3, d=3, N=20, seed=1)],
    "weighted-mixture": [small("weighted-mixture", n=2, m=4, N=20)],
    "smart-meter": [small("smart-meter")],
    "building": [small("building", temperature_bins=5, co2_bins=4)],
    "road": [small("road", *EVERY, bins=12, segments=3)],
    "anes96": [small("anes96", *EVERY, z=("age", "educ"), bins=(4, 3))],
    "fair": [small("fair", z=("age", "children"), bins=(4,))],
    "zero-mass": [small("zero-mass", *HARD, N=20)],
    "near-deterministic": [small("near-deterministic", *HARD, N=20, kind="degenerate")],
    "duplicated": [small("duplicated", *HARD)],
    "x-equals-y": [small("x-equals-y", *HARD, N=16)],
    # Half of what an independent measurement leaks is nothing.
    "independent": [small("independent", "perfect", "none", N=12)],
    "tiny-budget": [small("tiny-budget", "own", bins=16, kind="tiny budget")],
    "slack-budget": [small("slack-budget", "own", bins=16)],
}

PARAMETERS = {
    "sibson": ["sibson:alpha=1.5", "sibson:alpha=8"],
    "g-leakage": [str(GLeakage([[1.0, 0.0, 0.3], [0.2, 1.0, 0.0], [0.0, 0.1, 2.0]]))],
}
TEXTS = [text for name in [*MEASURES, *CONDITIONAL] for text in PARAMETERS.get(name, [name])]
SEVERAL = {
    "linear": ("maximal-leakage", "parity-difference"),
    "linear, one for each guess": ("total-variation", "max-lift"),
    "the same": ("mutual-information", "mutual-information"),
    "smooth": ("sibson:alpha=2", "chi-square"),
    "smooth and linear": ("pointwise-information", "total-variation"),
    "conditional": ("conditional-mutual-information", "total-variation"),
    "perfect and linear": ("perfect", "local-differential-privacy"),
    "perfect and smooth": ("perfect", "mutual-information"),
}
# p(x, x', y, z)
JOINT = random_joint(8, 3, 2, 3, 8, spread=0.6)


def secret_of(measure):
    return 2 if measure in CONDITIONAL else 0


def limit(secret, measure, share=0.2):
    """A constraint by a share of what the Bayes rule leaks, or of 2 nats where that is infinite."""
    if measure == "perfect":
        return secret, 0.0
    free = of_secrets(JOINT, (secret, math.inf, measure))
    return secret, at_share(free, share, 2.0).budget, measure


def under(measure, budget, times=1):
    """A problem of one measure, whose constraint is stated once or several times."""
    stated = limit(secret_of(measure), measure)
    if budget != "positive":
        stated = stated[0], BUDGETS[budget]["budget"], measure
    return of_secrets(JOINT, *[stated] * times)


def of_two(first, second):
    """Constraints about two secrets; perfect privacy is about the second."""
    secrets = (1, 0) if first == "perfect" else (secret_of(first), 1)
    return of_secrets(JOINT, limit(secrets[0], first, 0.3), limit(secrets[1], second))


def measured(measure, times=1):
    """A measure under every kind of budget."""
    label = f"{measure} {times} times" if times > 1 else measure
    cases = [
        Case(f"{label} {budget}", partial(under, measure, budget, times))
        for budget in ("positive", "perfect", "none")
    ]
    return Row(label, tuple(cases), (measure,) * times)


def at_the_edge(name, joint, **losses):
    """A problem with nothing to hide or to choose, or with what never happens."""
    joint = joint / joint.sum()
    budgets = {"perfect": 0.0, "tight": 0.002, "slack": 5.0, "none": math.inf}
    cases = [
        Case(f"{name}-{word}", partial(Problem.from_joint, joint, budget, **losses))
        for word, budget in budgets.items()
    ]
    return Row(name, tuple(cases), kind="ordinary")


EDGE = random_joint(5, 2, 2, 5)  # p(x, y, z)
SOME = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
EDGES = [
    at_the_edge("one-private-value", EDGE.sum(axis=0, keepdims=True)),
    at_the_edge("one-guess", EDGE, loss_matrix=[[0.0], [1.0]]),
    at_the_edge("one-outcome", EDGE.sum(axis=2, keepdims=True)),
    at_the_edge("an-impossible-outcome", EDGE * SOME),
    at_the_edge("repeated-outcomes", np.concatenate([EDGE, 3.0 * EDGE], axis=2)),
    at_the_edge("an-impossible-private-value", EDGE * np.array([1.0, 0.0])[:, None, None]),
]
SINGLE = [measured(text) for text in TEXTS]
TWICE = [measured(text, 2) for text in TEXTS]
TWO = [
    Row(label, (Case(label, partial(of_two, *measures)),), (label, *measures))
    for label, measures in SEVERAL.items()
]
ROWS = [*itertools.chain(*FAMILIES.values()), *EDGES, *SINGLE, *TWO, *TWICE]
LABELS = [case.label for row in ROWS for case in row.cases]
FIRST = {(row.kind, row.measures): row for row in reversed(ROWS)}
NAMES = [
    pytest.param(name, marks=pytest.mark.gate if capabilities()[name].peer else ())
    for name in BACKENDS
]
"""All backends, for laws beyond the table, of which the gate alone asks the peers."""
APART = {"glop", "pdlp"}
"""Their every answer takes a process of its own, so the gate alone asks them about all measures."""


def is_quick(name, row):
    """Whether a row of a backend is tested without the gate, too."""
    if name == "tilt":
        return True
    few = {"paper-single-bins=5", "total-variation", "linear"}
    plain = row.kind != "ordinary" or row.label in few
    return row in FIRST.values() and (plain or name not in APART)


GRID = [
    pytest.param(
        name,
        row,
        id=f"{name}-{row.label}",
        marks=() if is_quick(name, row) else pytest.mark.gate,
    )
    for name in BACKENDS
    for row in ROWS
]

SIGNED = (
    FAMILIES["dirichlet"][0],
    *(
        pytest.param(row, marks=pytest.mark.gate)
        for row in (FAMILIES["paper-single"][1], FAMILIES["paper-multi"][0], FAMILIES["anes96"][0])
    ),
)
PUBLISHED = [  # by budget: error probability, half a unit of its last digit
    (
        "paper-single",
        {"bins": 4},
        {
            "perfect": (0.130702456, 5e-10),
            "0.001": (0.11502334202, 5e-12),
            "0.01": (0.08085780269, 5e-12),
            "none": (0.0793277703, 5e-11),
        },
    ),
    (
        "paper-multi",
        {"sensors": 5},
        {
            "perfect": (0.023651613, 2e-9),
            "half": (0.01737635432, 5e-12),
            "none": (0.0147768901, 5e-11),
        },
    ),
    (
        "paper-single",
        {"bins": 64},
        {
            "perfect": (0.121218220, 5e-10),
            "0.001": (0.10659931704, 5e-12),
            "0.01": (0.07505963669, 5e-12),
            "none": (0.0699066132, 5e-11),
        },
    ),
    (
        "paper-multi",
        {"sensors": 10},
        {
            "perfect": (0.004182361, 5e-9),
            "half": (0.00282663753, 5e-12),
            "tenth": (0.00357605839, 5e-12),
        },
    ),
    (
        "paper-single",
        {"bins": 1000},
        {
            "perfect": (0.120815366, 1e-9),
            "0.001": (0.10620594626, 5e-12),
            "0.01": (0.07463994244, 5e-12),
        },
    ),
]


def accuracy_of(name):
    """The row of the table that a backend says it keeps."""
    return ACCURACY[load_backend(name).capabilities.method_class]


@cache
def problem_of(case):
    return case.make()


def serves(name, case):
    return not load_backend(name).capabilities.refusal(problem_of(case))


@cache
def attempt_at(name, case):
    """The answer of a backend with default options; where it says that it falls short, it need not
    try for ever.
    """
    short = case.label in load_backend(name).capabilities.falls_short
    options = Options(time_limit=TIME_LIMIT, max_iterations=FALLEN_SHORT if short else None)
    problem = problem_of(case)
    tried = attempt(problem, name, options)
    return tried, conclude(problem, tried, options)


def solution_of(name, case):
    return attempt_at(name, case)[1]


def certificate_of(name, case):
    """Return the certificate of one backend's answer."""
    solution = solution_of(name, case)
    assert solution.certificate is not None, solution.message
    return solution.certificate


def test_the_table_has_every_family_measure_and_column():
    assert set(FAMILIES) == {entry.name for entry in catalog.entries()}
    assert {row.kind for row in ROWS} == set(COLUMNS)
    declared = [capabilities()[name].measures for name in BACKENDS if name != "auto"]
    assert set().union(*declared) == {*MEASURES, *CONDITIONAL} - {"mutual-information"}
    for row in [*SINGLE, *TWO]:
        assert sum(serves(name, row.cases[0]) for name in BACKENDS if name != "auto") > 1


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_runs_here_and_serves_what_it_declares(name):
    found = availability(name)
    assert found.state == "available", found.reason
    able = load_backend(name).capabilities
    families = itertools.chain(*(row.cases for row in itertools.chain(*FAMILIES.values())))
    assert {Regime.of(problem_of(case)) for case in families if serves(name, case)} == set(
        able.regimes
    )
    assert set(able.falls_short) <= set(LABELS)
    assert set(able.unreliable) <= set(COLUMNS)


@pytest.mark.parametrize("name, row", GRID)
def test_answers_are_feasible_valid_accurate_and_complete(name, row):
    """Under every budget that the backend serves; the others are refused."""
    for case in row.cases:
        if serves(name, case):
            check_answer(name, case, row)
        else:
            refused = solution_of(name, case)
            assert refused.status is Status.UNSUPPORTED
            assert load_backend(name).capabilities.refusal(problem_of(case)) in refused.message


def check_answer(name, case, row):
    """The estimator is feasible, the bracket agrees with that of `tilt`, the duals prove it, and it
    is as narrow as said.
    """
    problem = problem_of(case)
    solution = solution_of(name, case)
    judged = certificate_of(name, case)
    best = certificate_of("tilt", case)
    check_feasible(problem, solution, judged)
    if load_backend(name).capabilities.gives_duals:
        check_duals(problem, solution, judged)
    check_accurate(name, case, row, judged)
    check_record(name, solution)
    assert not judged.excludes(best)
    assert not best.excludes(judged)
    assert problem.bayes_error <= judged.upper * (1.0 + 1e-13)
    assert judged.lower <= problem.constant_error * (1.0 + 1e-13)


def check_feasible(problem, solution, judged):
    """The estimator returned is column-stochastic and keeps the budgets, by the problem's own
    arithmetic.
    """
    estimator = np.asarray(solution.estimator)
    assert estimator.shape == (problem.m, problem.N)
    assert estimator.min() >= 0.0
    assert_allclose(estimator.sum(axis=0), 1.0, rtol=1e-14)
    if problem.perfect and len(problem.terms) == 1 and not problem.terms[0].measure.conditional:
        assert distance_from_private(problem.output_law(estimator)) <= PRIVATE_LIMIT
        assert judged.private_within <= PRIVATE_LIMIT
    for term, leakage in zip(problem.terms, problem.leakages(estimator), strict=True):
        rounding = 1e-15 if term.budget.perfect else 0.0
        assert leakage <= max(term.budget.amount, rounding)
    assert len(judged.terms) == len(problem.terms)
    for term, proven in zip(problem.terms, judged.terms, strict=True):
        assert not term.priced or proven.leakage_ceiling <= term.budget.amount
    assert judged.lower <= judged.upper
    assert judged.upper == pytest.approx(problem.error_probability(estimator), rel=1e-13)


def check_duals(problem, solution, judged):
    """The duals returned are feasible; under one budget of mutual information they prove the lower
    side by themselves.
    """
    assert np.isfinite(solution.tilt).all()
    assert np.shape(solution.multipliers) == (len(problem.terms),)
    assert np.min(solution.multipliers) >= 0.0
    for term, multiplier in zip(problem.terms, solution.multipliers, strict=True):
        assert math.isinf(multiplier) == term.budget.perfect
    if [str(each) for each in problem.measures] == ["mutual-information"]:
        feasible = feasible_duals(
            solution.tilt, solution.multiplier, problem.p_x, problem.terms[0].budget.amount
        )
        proven = pytest.approx(judged.lower, rel=1e-9, abs=1e-12 * problem.constant_error)
        assert lower_bound(problem, *feasible) == proven


def check_record(name, solution):
    """The solution says who answered, what was claimed and with which libraries."""
    assert solution.claimed
    assert solution.backend == name
    assert solution.status in {Status.CERTIFIED, Status.INACCURATE, Status.VIOLATED_PRIVACY}
    assert solution.iterations is None or solution.iterations >= 0
    libraries = load_backend(name).capabilities.libraries
    assert set(libraries) <= set(solution.versions)
    assert "unknown" not in {solution.versions[library] for library in libraries}


def check_accurate(name, case, row, judged):
    """Gap and own leakage stay within the row of the backend's class of methods, unless it says
    that it falls short here.
    """
    able = load_backend(name).capabilities
    accuracy = accuracy_of(name)
    column = COLUMNS.index(row.kind)
    if row.measures != ("mutual-information",):
        parts = judged.kkt
        total = parts.complementarity + parts.alignment + parts.slackness
        assert total == pytest.approx(judged.gap, abs=1e-9)
        assert judged.relative_gap <= max(FEW, accuracy.gap[0]), case.label
        return
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
    budget = problem_of(case).terms[0].budget
    if 0.0 < budget.amount < math.inf:
        assert judged.own_leakage <= budget.amount * (1.0 + accuracy.excess[column]), missed


@pytest.mark.parametrize("row", SINGLE, ids=lambda row: row.label)
def test_the_plural_form_is_the_plain_form(row):
    """They are one value, so every backend gives both the same answer."""
    for case in row.cases:
        plural = problem_of(case)
        (term,) = plural.terms
        given_y = JOINT.sum(axis=1).transpose(1, 0, 2)
        rows = given_y if term.measure.conditional else plural.p_xz
        plain = Problem(rows, plural.loss, term.budget)
        assert plain.digest == plural.digest
        assert plain.terms == plural.terms
        assert_array_equal(plain.p_xz, plural.p_xz)
        assert_array_equal(plain.loss, plural.loss)
        assert_array_equal(plain.marginal, plural.marginal)
        for able in capabilities().values():
            assert able.refusal(plain) == able.refusal(plural)


@pytest.mark.parametrize("name", NAMES)
def test_a_constraint_that_is_stated_twice_changes_nothing(name):
    for once, twice in zip(SINGLE, TWICE, strict=True):
        for one, two in zip(once.cases, twice.cases, strict=True):
            if serves(name, two):
                assert not certificate_of(name, one).excludes(certificate_of(name, two))
                assert not certificate_of(name, two).excludes(certificate_of(name, one))
                upper = certificate_of(name, one).upper
                assert certificate_of(name, two).upper <= upper + 2e-6 * upper, two.label
        if once.label == "mutual-information" and serves(name, twice.cases[0]):
            price = solution_of(name, once.cases[0]).multiplier
            assert np.sum(solution_of(name, twice.cases[0]).multipliers) == pytest.approx(
                price, rel=1e-3
            )


@pytest.mark.parametrize("row", SIGNED)
@pytest.mark.parametrize("name", sorted(set(BACKENDS) - {"auto", "qif", "slsqp"}))
def test_the_duals_of_a_backend_have_the_signs_and_units_of_the_contract(name, row):
    """As they are lifted, and only shifted to feasibility, they prove the optimum."""
    for case in row.cases:
        if serves(name, case):
            check_own_duals(name, case)


def check_own_duals(name, case):
    problem = problem_of(case)
    answer = attempt_at(name, case)[0].answer
    feasible = feasible_duals(answer.tilt, answer.multiplier, problem.p_x, problem.budget)
    share = max(1e-6, 0.01 * accuracy_of(name).gap[0])  # of the class with the fewest digits: 1e-4
    best = pytest.approx(certificate_of("tilt", case).upper, rel=share)
    assert lower_bound(problem, *feasible) == best
    if problem.budget < math.inf:
        turned = feasible_duals(-answer.tilt, answer.multiplier, problem.p_x, problem.budget)
        assert lower_bound(problem, *turned) < 0.999 * certificate_of("tilt", case).upper


@pytest.mark.parametrize("name", sorted(set(BACKENDS) - {"auto", "blahut-arimoto", "qif", "tilt"}))
def test_a_time_limit_reaches_the_solver(name):
    bins = {"glop": 20_000, "pdlp": 4_000, "slsqp": 200}.get(name, 1_000)
    problem = catalog.build("paper-single", bins=bins, fraction=0.1)
    if load_backend(name).capabilities.refusal(problem):
        problem = problem.with_budget(0.0)
    found = solve(problem, name, time_limit=1e-4)
    assert found.status is Status.TIMED_OUT, found
    assert "0.0001 s" in found.message


@pytest.mark.parametrize(
    "name",
    [
        each
        for each in NAMES
        if each.values[0] not in {"auto", "glop", "highs", "pyomo", "qif", "tilt"}
    ],
)
def test_an_iteration_limit_reaches_the_solver(name):
    """`test_highs` has the limits that HiGHS is given, and `test_peers` that of Glop."""
    served = [case for case in FAMILIES["dirichlet"][0].cases if serves(name, case)]
    long = [case for case in served if (solution_of(name, case).iterations or 0) > 4]
    assert long
    for problem in map(problem_of, long):
        limited = solve(problem, name, max_iterations=3)
        assert limited.iterations <= 4
        assert limited.status in {Status.INACCURATE, Status.VIOLATED_PRIVACY}


@pytest.mark.parametrize(
    "name, setting, value, said",
    [
        ("auto", "solver", "scs", r"auto .*'solver'"),
        ("conic", "solver", "cplex", "conic: setting solver is .*clarabel, .*ecos, .*mosek, scs"),
        ("conic", "form", "dual", "conic: setting form is .*deviation, joint"),
        ("conic", "tolerance", -1, "conic: setting tolerance is .*positive"),
        ("conic", "tolerance", "tight", "conic: setting tolerance is .*positive"),
        ("highs", "method", "hippo", "method"),
        ("highs", "presolve", "maybe", "presolve"),
        ("highs", "speed", 3, r"speed.*; its settings are .*presolve"),
        ("blahut-arimoto", "acceleration", "none", "acceleration.*; it has none"),
        ("pyomo", "method", "hippo", r"pyomo: .*method .*'hippo'.*simplex, ipx, hipo, pdlp"),
    ],
)
def test_a_wrong_setting_is_a_sentence(name, setting, value, said):
    problem = catalog.build("paper-single", budget=0.0)
    with raises_input_error(said):
        solve(problem, name, settings={setting: value})


@pytest.mark.parametrize(
    "name, family, parameters, published",
    [
        pytest.param(
            *name.values, *row, marks=pytest.mark.gate if row in PUBLISHED[3:] else name.marks
        )
        for name in NAMES
        for row in PUBLISHED
        if row is not PUBLISHED[-1] or not name.marks
    ],
)
def test_the_bracket_contains_the_published_value(name, family, parameters, published):
    row = small(family, *published, **parameters)
    for case, (error, half_unit) in zip(row.cases, published.values(), strict=True):
        if not load_backend(name).capabilities.skipped(problem_of(case), {}):
            judged = certificate_of(name, case)
            assert judged.lower <= error + half_unit
            assert judged.upper >= error - half_unit


@pytest.mark.parametrize(
    "row", [FAMILIES["dirichlet"][1], FAMILIES["building"][0]], ids=lambda row: row.label
)
@pytest.mark.parametrize("name", NAMES)
def test_permuting_labels_permutes_the_answers(name, row):
    """Law: relabelling private values, guesses and outcomes relabels the estimator: same bracket,
    same error probability.
    """
    for case in row.cases:
        if serves(name, case):
            check_permuted(name, case)


def check_permuted(name, case):
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
    restored = np.empty((problem.m, problem.N))
    restored[np.ix_(y, z)] = there.estimator
    assert problem.error_probability(restored) == pytest.approx(
        here.error_probability, rel=2.0 * tolerance
    )
    if not problem.constraint.perfect:
        assert problem.leakage(restored) <= problem.budget * (1.0 + 1e-12)


def served(name):
    """The first problem of one secret that the backend serves."""
    cases = itertools.chain(*(row.cases for row in (FAMILIES["dirichlet"][0], *SINGLE)))
    return problem_of(next(case for case in cases if serves(name, case)))


@pytest.mark.parametrize("name", NAMES)
def test_merged_and_impossible_outcomes_are_restored(name):
    """Law: splitting outcomes and adding impossible ones changes neither the optimum nor the
    backend's answer to it.
    """
    problem = served(name)
    split = Problem(
        *(
            np.hstack([0.25 * rows, np.zeros((len(rows), 1)), 0.75 * rows])
            for rows in (problem.p_xz, problem.loss)
        ),
        problem.constraint,
    )
    tolerance = accuracy_of(name).gap[0]
    here = solve(problem, name)
    there = solve(split, name)
    assert there.estimator.shape == (problem.m, 2 * problem.N + 1)
    assert_allclose(there.estimator.sum(axis=0), 1.0, rtol=1e-14)
    assert there.error_probability == pytest.approx(here.error_probability, rel=2.0 * tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_attempts_leave_the_problem_untouched_and_repeat(name):
    problem = served(name)
    a = problem.p_xz.copy()
    loss = problem.loss.copy()
    options = Options()
    first, second = (conclude(problem, attempt(problem, name, options), options) for _ in range(2))
    assert np.array_equal(problem.p_xz, a)
    assert np.array_equal(problem.loss, loss)
    assert_array_equal(first.estimator, second.estimator)
