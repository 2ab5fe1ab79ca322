"""Problems under every measure of leakage: the judge, budget 0, many outcomes, files and records.

`test_conformance` has what every backend finds.
"""

import math

import pytest
from random_laws import random_joint
from refusals import raises_input_error
from solving import TEXTS, assert_certified, at_share, under

import discreet as ds
from discreet.measures import Scope, measure_of
from discreet.problems import catalog

JOINT = random_joint(0, 3, 3, 10, spread=0.5)


def _problem(text):
    problem = under(JOINT, text, 0.5, 2.0)
    # One in ten last digits stops some solvers early.
    return problem.with_budget(float(f"{problem.budget:.3g}"))


@pytest.mark.parametrize("text", TEXTS[1:])
def test_many_outcomes_are_answered_by_a_rule_under_every_measure(text):
    """In rounds, from arrays and from blocks."""
    free = catalog.build("mixture", n=3, m=2, N=20_000, seed=1, budget=math.inf, measure=text)
    problem = at_share(free, 0.3, 2.0)
    for given in (problem, ds.BlockProblem.of(problem)):
        solution = assert_certified(given, "tilt")
        assert isinstance(solution.rule, ds.OutcomeRule)


def test_blending_repairs_measures_of_each_guess_too():
    """Towards a guess drawn from the law of Ŷ, which keeps its digits; a constant guess would cost
    everything.
    """
    for name in [text for text in TEXTS if measure_of(text).scope is not Scope.TOTAL]:
        problem = _problem(name)
        repaired = ds.certify(problem, problem.bayes_estimator).certificate
        assert 0.0 < repaired.blend < 0.9
        assert repaired.upper < problem.constant_error
        assert 0.99 * problem.budget <= repaired.leakage_ceiling <= problem.budget


def test_only_mutual_information_has_densities_and_equivocations():
    problem = _problem("chi-square")
    solution = ds.solve(problem, "conic")
    assert math.isnan(solution.equivocation)
    with raises_input_error("mutual information"):
        problem.with_budget(equivocation=0.1, measure="chi-square")
    continuous = ds.problems.paper_continuous(budget=0.01).with_budget(0.01, measure="chi-square")
    assert ds.solve(continuous).status in {ds.Status.UNSUPPORTED, ds.Status.FAILED}


def test_records_name_the_measure_and_its_unit():
    told = ds.solve(_problem("chi-square"), "conic").to_dict()
    assert told["measure"] == "chi-square"
    assert told["leakage"] <= told["leakage_ceiling"] <= told["budget"]
    assert not [name for name in told if name.endswith("_nats") and name != "equivocation_nats"]
    told = ds.solve(_problem("max-lift"), "conic").to_dict()
    assert told["leakage_nats"] <= told["leakage_ceiling_nats"] <= told["budget_nats"]
    assert "measure" not in ds.solve(_problem("mutual-information"), "tilt").to_dict()
    assert repr(_problem("max-lift").with_budget(0.5)).endswith("budget=0.5 nats of max-lift)")
