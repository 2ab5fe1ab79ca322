"""How many people a promise needs, and the errors to expect over the budgets that could be
promised.
"""

import math

import numpy as np
import pytest
from refusals import raises_input_error
from test_rows import classifier, population

import discreet as ds
from discreet.people.places import upper_limit


@pytest.mark.parametrize(
    "asked",
    [
        {"budget": 0.05, "measure": "parity-difference"},
        {"budget": 0.1, "measure": "parity-difference", "groups": [0.8, 0.2], "guesses": 3},
        {"budget": 0.02},
        {"budget": 0.05},
        {"budget": 0.3, "measure": "local-differential-privacy"},
    ],
)
def test_so_many_people_show_the_budget_and_a_tenth_fewer_do_not(asked):
    needed = ds.people_needed(**asked)
    groups = asked.get("groups", [0.5, 0.5])
    guesses = asked.get("guesses", 2)
    measure = ds.measures.measure_of(asked.get("measure", "mutual-information"))
    for people, enough in ((needed, True), (0.9 * needed, False)):
        table = np.round(people * np.outer(np.full(guesses, 1 / guesses), groups))
        assert (upper_limit(measure, table, 0.95) <= asked["budget"]) == enough


def test_what_no_number_of_people_shows_is_refused():
    with raises_input_error("budget"):
        ds.people_needed(0.0)
    with raises_input_error("groups"):
        ds.people_needed(0.1, groups=[1.0])
    with raises_input_error("1,000,000,000"):
        ds.people_needed(1e-7, measure="parity-difference")


def test_expected_errors_fall_with_the_budget_and_end_at_the_plain_rule():
    table, truth, group = population(1500)
    private = classifier(budget=math.inf).fit(table, truth, sensitive_features=group)
    found = private.prospects(points=6)
    errors = [point.error for point in found]
    assert found.people == 750
    assert errors == sorted(errors, reverse=True)
    assert errors[0] < found.constant_error
    assert errors[-1] == pytest.approx(found.plain_error, rel=1e-6)
    assert found.points[0].lottery > 0.5
    budget = found.points[6].budget
    promised = classifier(budget=budget).fit(table, truth, sensitive_features=group)
    assert promised.promise_.taken.model_error == pytest.approx(found.points[6].error, rel=0.3)
    assert found.to_dict()["calibration_people"] == 750
    assert found.plot().series[0].x[0] == found.points[0].budget
    assert len(found.tables()[0].lines) == len(found.points)
    with raises_input_error("without groups"):
        ds.PrivateClassifier().fit(table, truth).prospects()
