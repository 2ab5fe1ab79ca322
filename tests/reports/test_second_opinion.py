"""The second opinion agrees with sound certificates and names what is wrong with each kind of
unsound one.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from judging import restated
from refusals import raises_input_error

import discreet as ds
from discreet import verification
from discreet.backends.isolated import NOT_BEGUN
from discreet.problems import paper_single
from discreet.reports.crosscheck import gate
from discreet.reports.crosscheck.instances import DEFAULT_SIZE, REGIMES, CheckedInstance, select
from discreet.reports.second_opinion import second_opinion


def contradicted(solution, said, **changes):
    """Whether the second opinion says so of the solution with another verdict."""
    changed = replace(solution, verdict=replace(solution.verdict, **changes))
    return any(said in fault for fault in second_opinion(changed, 1e-9)[1])


def checked(regime):
    """An instance of the paper's sensor that is checked in this regime."""
    problem = paper_single(bins=8, budget=0.01)
    return CheckedInstance("paper-single:bins=8", "--leakage 0.01", problem, "paper", regime)


@pytest.fixture(scope="module")
def sound():
    return ds.solve(paper_single(bins=8, budget=0.01), "tilt")


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda s: {"tilt": s.tilt * 0.5}, "the duals prove"),
        (lambda s: {"answer": s.problem.bayes_estimator}, "the estimator leaks"),
        (lambda s: {"answer": np.eye(2)[:, [0] * s.problem.N]}, "above the upper bound"),
        (lambda s: {"answer": s.estimator * 1.001}, "is not ≥ 0 with sum 1"),
        (lambda s: {"multipliers": np.array([-1.0])}, "else ≥ 0"),
        (
            lambda s: {"certificate": replace(s.certificate, upper=s.certificate.lower)},
            "above the upper bound",
        ),
        (
            lambda s: {"certificate": replace(s.certificate, lower=s.certificate.upper)},
            "the lower bound is stated as",
        ),
        (lambda s: {"certificate": replace(s.certificate, upper=math.nan)}, "is no bracket"),
        (
            lambda s: {"certificate": restated(s.certificate, leakage=0.5 * s.certificate.leakage)},
            "the leakage is stated as",
        ),
    ],
)
def test_the_second_opinion_contradicts_what_is_false(sound, change, said):
    assert contradicted(sound, said, **change(sound))


@pytest.mark.parametrize(
    "change, said",
    [
        (
            lambda s: {"answer": s.problem.bayes_estimator, "moved": s.verdict.moved[:, :0]},
            "a guess changes p(x)",
        ),
        (lambda s: {"moved": s.verdict.moved[:, :0]}, "a guess changes p(x)"),
        (
            lambda s: {
                "certificate": replace(
                    s.certificate, lower=0.1, upper=s.certificate.upper * (1.0 - 1e-14)
                )
            },
            "above the upper bound",
        ),
        (lambda s: {"tilt": s.tilt * 0.5}, "the duals prove"),
        (lambda s: {"certificate": replace(s.certificate, private_within=1e-3)}, "the duals prove"),
    ],
)
def test_the_second_opinion_contradicts_what_is_false_of_perfect_privacy(change, said):
    private = ds.solve(paper_single(bins=8, budget=0.0), "tilt")
    assert second_opinion(private, 1e-9)[1] == []
    assert contradicted(private, said, **change(private))


@pytest.mark.parametrize("share", [1e-14, 1e-13])
def test_the_second_opinion_takes_a_certificate_within_a_tolerance_at_its_word(share):
    """p(z given x) = ½(1 ± share), Y = Z: certified within about that share, and not within a tenth
    of it.
    """
    p_xz = 0.25 * np.array([[1.0 + share, 1.0 - share], [1.0 - share, 1.0 + share]])
    problem = ds.Problem(p_xz, p_xz.sum(axis=0) * np.eye(2)[::-1], 0.0)
    within = ds.certify(problem, problem.bayes_estimator)
    assert 0.0 < within.verdict.certificate.private_within < math.inf
    assert second_opinion(within, 1e-9)[1] == []
    tighter = replace(within.verdict.certificate, private_within=0.1 * share)
    assert contradicted(within, "a guess changes p(x)", certificate=tighter)


def test_without_python_flint_there_is_no_second_opinion(sound, monkeypatch):
    monkeypatch.setattr(verification.exact, "arb", None)
    assert second_opinion(sound, 1e-9) == (None, [])


def test_without_python_flint_crosscheck_is_refused(monkeypatch):
    monkeypatch.setattr(gate, "find_spec", lambda name: None)
    with raises_input_error("python-flint"):
        gate.run_crosscheck(select(0, 1), ["tilt"])


@pytest.mark.parametrize(
    "status, message, findings",
    [
        (ds.Status.FAILED, "the solver reports: error", 1),
        (ds.Status.TIMED_OUT, "stopped at the time limit of 5 s", 1),
        (ds.Status.TIMED_OUT, NOT_BEGUN, 0),
        (ds.Status.ABSENT, "highspy is not installed", 0),
    ],
)
def test_a_backend_of_the_project_that_fails_is_a_finding(status, message, findings):
    instance = select(0, 1).instances[0]
    solved = ds.solve(instance.problem, "tilt")
    failed = replace(solved, backend="highs", status=status, message=message, verdict=None)
    for name, expected in (("highs", findings), ("somebody-elses", 0)):
        solutions = {"tilt": solved, name: failed}
        faults = {each: second_opinion(solution, 1e-9)[1] for each, solution in solutions.items()}
        found = gate._findings(instance, solutions, faults)
        assert [(each.kind, each.backends) for each in found] == [("failure", (name,))] * expected


@pytest.mark.parametrize(
    "change, said",
    [
        ({}, ""),
        ({"lower": 0.07}, "is wider than a gap of 1e-08"),
        ({"own_leakage": 0.0100001}, "leaks 0.0100001 of 0.01"),
    ],
)
def test_a_backend_of_the_project_that_is_wrong_beyond_its_class_is_a_finding(change, said):
    instance = checked("fraction")
    solved = ds.solve(instance.problem, "tilt")
    alter = restated if "own_leakage" in change else replace
    wrong = replace(solved.verdict, certificate=alter(solved.verdict.certificate, **change))
    solution = replace(solved, verdict=wrong, status=ds.Status.INACCURATE)
    for name, expected in (("tilt", [said] if said else []), ("somebody-elses", [])):
        found = gate._findings(instance, {name: solution}, {})
        assert [each.kind for each in found] == ["accuracy"] * len(expected)
        assert all(words in each.message for words, each in zip(expected, found, strict=True))
    tiny = replace(instance, family="adversarial", regime="tiny")
    assert gate._beyond_its_class(tiny, "structured", wrong.certificate) == []


@pytest.mark.parametrize(
    "regime, kinds",
    [("tiny", ["failure"]), ("fraction 0.5", ["failure", "failure", "accuracy"])],
)
def test_where_a_backend_says_that_it_is_unreliable_only_failures_are_findings(regime, kinds):
    instance = checked(regime)
    solved = ds.solve(instance.problem, "tilt")
    wide = replace(solved.verdict, certificate=replace(solved.verdict.certificate, lower=0.0))
    outcomes = {
        "failed": replace(solved, status=ds.Status.FAILED, message="", verdict=None),
        "late": replace(solved, status=ds.Status.TIMED_OUT, message="", verdict=None),
        "wide": replace(solved, status=ds.Status.INACCURATE, verdict=wide),
    }
    found = []
    for solution in outcomes.values():
        found += gate._findings(instance, {"slsqp": solution}, {})
    assert [each.kind for each in found] == kinds


def test_the_default_set_meets_every_family_in_every_regime_and_is_repeatable():
    chosen = select(3, DEFAULT_SIZE).instances
    families = {each.family for each in chosen}
    assert {(each.family, each.regime) for each in chosen} == {
        (f, r) for f in families for r in REGIMES
    }
    assert len({each.problem.measure.name for each in chosen}) >= 10
    first, again, other = ([each.title for each in select(seed, 6).instances] for seed in (3, 3, 4))
    assert first == again != other
