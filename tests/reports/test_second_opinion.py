"""The second opinion agrees with sound certificates and names what is wrong with each kind of
unsound one.
"""

import math
from dataclasses import replace
from functools import cache

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


def stated(solution, **changes):
    """The changed verdict of a solution whose certificate states other numbers."""
    return {"certificate": replace(solution.certificate, **changes)}


def contradicted(solution, said, **changes):
    """Whether the second opinion says so of the solution with another verdict."""
    changed = replace(solution, verdict=replace(solution.verdict, **changes))
    return any(said in fault for fault in second_opinion(changed, 1e-9)[1])


@cache
def solved(budget):
    return ds.solve(paper_single(bins=8, budget=budget), "tilt")


@pytest.fixture
def sound():
    return solved(0.01)


@pytest.mark.parametrize(
    "budget, said, change",
    [
        (0.01, "the duals prove", lambda s: {"tilt": s.tilt * 0.5}),
        (0.01, "the estimator leaks", lambda s: {"answer": s.problem.bayes_estimator}),
        (0.01, "above the upper bound", lambda s: {"answer": np.eye(2)[:, [0] * s.problem.N]}),
        (0.01, "is not ≥ 0 with sum 1", lambda s: {"answer": s.estimator * 1.001}),
        (0.01, "else ≥ 0", lambda s: {"multipliers": np.array([-1.0])}),
        (0.01, "above the upper bound", lambda s: stated(s, upper=s.certificate.lower)),
        (0.01, "the lower bound is stated as", lambda s: stated(s, lower=s.certificate.upper)),
        (0.01, "is no bracket", lambda s: stated(s, upper=math.nan)),
        (
            0.01,
            "the leakage is stated as",
            lambda s: {"certificate": restated(s.certificate, leakage=0.5 * s.certificate.leakage)},
        ),
        (
            0.0,
            "a guess changes p(x)",
            lambda s: {"answer": s.problem.bayes_estimator, "moved": s.verdict.moved[:, :0]},
        ),
        (0.0, "a guess changes p(x)", lambda s: {"moved": s.verdict.moved[:, :0]}),
        (
            0.0,
            "above the upper bound",
            lambda s: stated(s, lower=0.1, upper=s.certificate.upper * (1.0 - 1e-14)),
        ),
        (0.0, "the duals prove", lambda s: {"tilt": s.tilt * 0.5}),
        (0.0, "the duals prove", lambda s: stated(s, private_within=1e-3)),
    ],
)
def test_the_second_opinion_contradicts_what_is_false(budget, said, change):
    solution = solved(budget)
    assert second_opinion(solution, 1e-9)[1] == []
    assert contradicted(solution, said, **change(solution))


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


FAILED = {"status": ds.Status.FAILED, "message": "the solver reports: error"}
LATE = {"status": ds.Status.TIMED_OUT, "message": "stopped at the time limit of 5 s"}
WIDE = {"lower": 0.07}
LEAKING = {"own_leakage": 0.0100001}
USUAL = ("paper", "fraction 0.5")
TINY = ("paper", "tiny")


@pytest.mark.parametrize(
    "kind, backend, change, findings",
    [
        (USUAL, "highs", FAILED, ["failure"]),
        (USUAL, "highs", LATE, ["failure"]),
        (USUAL, "highs", LATE | {"message": NOT_BEGUN}, []),
        (USUAL, "highs", {"status": ds.Status.ABSENT, "message": "it is not installed"}, []),
        (USUAL, "tilt", {}, []),
        (USUAL, "tilt", WIDE, ["accuracy"]),
        (USUAL, "tilt", LEAKING, ["accuracy"]),
        (("adversarial", "tiny"), "tilt", WIDE | LEAKING, []),
        # SLSQP declares that it is unreliable under tiny budgets.
        (USUAL, "slsqp", LATE, ["failure"]),
        (USUAL, "slsqp", WIDE, ["accuracy"]),
        (TINY, "slsqp", FAILED, ["failure"]),
        (TINY, "slsqp", LATE, []),
        (TINY, "slsqp", WIDE, []),
        (USUAL, "somebody-elses", FAILED, []),
        (USUAL, "somebody-elses", WIDE, []),
    ],
)
def test_failures_and_answers_beyond_their_class_are_findings_about_our_backends(
    sound, kind, backend, change, findings
):
    family, regime = kind
    problem = sound.problem
    instance = CheckedInstance("paper-single:bins=8", "--leakage 0.01", problem, family, regime)
    if "status" in change:
        solution = replace(sound, verdict=None, **change)
    else:
        leakage = {name: value for name, value in change.items() if name == "own_leakage"}
        bounds = {name: value for name, value in change.items() if name == "lower"}
        certificate = replace(restated(sound.certificate, **leakage), **bounds)
        solution = replace(sound, verdict=replace(sound.verdict, certificate=certificate))
    found = gate._findings(instance, {backend: solution}, {})
    assert [(each.kind, each.backends) for each in found] == [
        (finding, (backend,)) for finding in findings
    ]


def test_the_default_set_meets_every_family_in_every_regime_and_is_repeatable():
    chosen = select(3, DEFAULT_SIZE).instances
    families = {each.family for each in chosen}
    assert {(each.family, each.regime) for each in chosen} == {
        (f, r) for f in families for r in REGIMES
    }
    assert len({each.problem.measure.name for each in chosen}) >= 10
    first, again, other = ([each.title for each in select(seed, 6).instances] for seed in (3, 3, 4))
    assert first == again != other
