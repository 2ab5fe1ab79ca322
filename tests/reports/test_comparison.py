"""The comparison and everything made of it: rows tell the judge's numbers, pages the rows', files
are ours only.
"""

import json
import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from command import solving_here
from hypothesis import given
from hypothesis import strategies as st
from random_laws import random_joint
from refusals import raises_input_error

from discreet import Problem, Status
from discreet.judge.privacy import PRIVATE_LIMIT
from discreet.problems import LeakageBudget, catalog
from discreet.reports import Case, Configuration, run_comparison, wording
from discreet.reports.pictures import gap_figure, leakage_figure, perfect_figure
from discreet.reports.statistics.claims import claimed_leaks
from discreet.showing import numerals
from discreet.showing.svg import standalone

NAMES = ("fake-bayes", "fake-constant", "fake-crashes")
TRIAL = "fake-bayes=fake_backends:Bayes,fake-constant=fake_backends:Constant,fake-crashes=fake_backends:Crashes"


@pytest.fixture(scope="module")
def trial():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_BACKENDS", TRIAL)
        solving_here(patch, "fake-crashes")
        yield


@pytest.fixture(scope="module")
def model():
    joint = random_joint(8, 2, 2, 9, spread=0.4)
    return Problem.from_joint(joint, budget=math.inf, name="random")


@pytest.fixture(scope="module")
def comparison(trial, model):
    cases = [
        Case("no <constraint> & more", model),
        Case("half", model.with_budget(0.5 * model.bayes_leakage)),
        Case("perfect", model.with_budget(0.0)),
    ]
    seen = []
    configurations = [Configuration("fake-bayes", {"knob": 1}), *map(Configuration, NAMES)]
    found = run_comparison(
        cases, configurations, time_limit=30, watch=lambda *news: seen.append(news)
    )
    assert [done for done, _, _ in seen] == list(range(13))
    assert {total for _, total, _ in seen} == {12}
    return found


# -- rows
# --------------------------------------------------------------------------------------------------


def test_a_row_for_every_attempt_also_of_those_that_crash(comparison, model):
    assert comparison.labels == ("fake-bayes:knob=1", *NAMES)
    assert len(comparison.rows) == 12
    by_key = {(row.instance, row.label): row for row in comparison.rows}
    exact = by_key["no <constraint> & more", "fake-bayes"]
    assert exact.status is Status.CERTIFIED
    assert exact.own_error == pytest.approx(model.bayes_error, rel=1e-14)
    leaky = by_key["half", "fake-bayes"]
    assert leaky.status is Status.VIOLATED_PRIVACY
    assert leaky.claimed == "optimal"
    assert leaky.leakage_over_budget == pytest.approx(2.0, rel=1e-12)
    assert leaky.own_leakage_nats > leaky.leakage_ceiling_nats > 0.99 * leaky.budget_nats
    leaky = by_key["perfect", "fake-bayes"]
    assert leaky.own_private_within == leaky.leakage_over_budget * PRIVATE_LIMIT > 1e-3
    assert leaky.leakage_ceiling_nats < 1e-30
    dead = by_key["half", "fake-crashes"]
    assert dead.status is Status.FAILED
    assert "exit code 3" in dead.message
    assert (dead.upper, dead.lower, dead.relative_gap) == (math.inf, -math.inf, math.inf)
    assert comparison.uncertified_cases == ("half", "perfect")
    assert "1 of 3 problems" in " ".join(comparison.verdict())


def test_brackets_at_budget_0_are_mixed_only_where_that_proves_something(comparison):
    """An estimator private within 1.2e-14 errs 0, all exactly private ones err .4 at least."""
    case = comparison.cases[2]
    known = {"lower": 0.4, "upper": 0.5, "private_within": 0.0, "own_private_within": 0.0}
    within = {"lower": 0.0, "upper": 0.1, "private_within": 1.2e-14, "own_private_within": 1.2e-14}
    one = replace(
        comparison.rows_of(case)[1], status=Status.INACCURATE, relative_gap=0.2, constant_error=0.6
    )
    rows = tuple(replace(one, backend=name, **told) for name, told in (("a", known), ("b", within)))
    found = replace(comparison, rows=rows)
    assert found.bracket(case) in {(0.4, 0.5), (0.0, 0.1)}
    assert "All 2 answers kept their budget, the budget 0 within 2·10⁻¹⁴." in found.verdict()
    assert "All pairs of certified brackets overlap (1)." in found.verdict()


def test_the_record_is_strict_json(comparison):
    record = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert len(record["rows"]) == 12
    assert record["rows"][3]["error_probability"] is None
    assert record["rows"][0]["contestant"] == "fake-bayes:knob=1"
    assert {row["status"] for row in record["rows"]} <= {status.value for status in Status}
    assert record["cases"][0]["budget_nats"] is None
    assert record["agreements"][0]["case"] in {case.title for case in comparison.cases}


def test_other_measures_are_compared_in_their_own_unit(trial, model):
    asked = Case("fair", model.with_budget(0.01, measure="parity-difference"))
    found = run_comparison([asked], [*map(Configuration, ("highs", "slsqp", "fake-bayes"))])
    assert [row.status.value for row in found.rows] == ["certified", "unsupported", "unsupported"]
    assert {row.measure for row in found.rows} == {"parity-difference"}
    assert found.rows[0].leakage_over_budget == pytest.approx(1.0, rel=1e-9)
    assert found.to_dict()["cases"][0]["measure"] == "parity-difference"
    assert "budget 0.01 of parity-difference" in wording.facts(asked.problem)
    assert "nats" not in wording.facts(asked.problem)
    default = run_comparison([Case("lift", model.with_budget(0.1, measure="max-lift"))])
    assert {"highs", "conic"} <= {row.backend for row in default.rows}
    assert Status.UNSUPPORTED not in {row.status for row in default.rows}


def test_several_secrets_are_compared_by_the_largest_share_of_a_budget():
    problem = catalog.build(
        "census", secrets=2, educations=2, occupations=2, fraction=0.5, measure="parity-difference"
    )
    found = run_comparison([Case("two", problem)], [Configuration("highs"), Configuration("slsqp")])
    assert [row.status.value for row in found.rows] == ["certified", "unsupported"]
    row = found.rows[0]
    assert (row.secrets, row.budget_nats, row.private_values) == (2, 1.0, 6)
    assert row.leakage_over_budget == pytest.approx(1.0, rel=1e-6)
    assert "several constraints" in found.rows[1].message
    assert " and leaks " in wording.facts(problem)


def test_bad_plans_are_refused(trial, model):
    with raises_input_error("nothing to compare"):
        run_comparison([])
    with raises_input_error("'a'"):
        run_comparison([Case("a", model), Case("a", model)])
    with raises_input_error("'highs'"):
        run_comparison([Case("a", model)], [Configuration("highs"), Configuration("highs")])
    with raises_input_error("'nobody'"):
        run_comparison([Case("a", model)], [Configuration("nobody")])
    with raises_input_error("no backend to compare"):
        run_comparison([Case("a", model)], [])


# -- words
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lower, upper, words",
    [
        (0.017376354412, 0.017376354439, "0.0173763544[120, 390]"),
        (0.25, 0.25, "0.250000000000"),
        (0.1, 0.4, "[0.1, 0.4]"),
        (0.0, 0.0, "0"),
        (-math.inf, math.inf, "–"),
        (0.0, 3e-40, "[0, 3e-40]"),
    ],
)
def test_brackets_share_their_digits(lower, upper, words):
    assert numerals.bracket(lower, upper) == words


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_bracket_can_always_be_written(one, other):
    lower, upper = sorted((one, other))
    words = numerals.bracket(lower, upper)
    assert words
    assert "nan" not in words
    assert "inf" not in words


@pytest.mark.parametrize(
    "write, texts",
    [
        (numerals.scientific, {"3.2·10⁻⁷": 3.2e-7, "10⁻⁹": 1e-9, "0.58": 0.58, "–": math.inf}),
        (
            numerals.seconds,
            {"–": 0.0, "0.0123": 0.0123, "1.23": 1.234, "12.3": 12.34, "123": 123.4},
        ),
        (numerals.span, {"42 µs": 4.2e-5, "6.4 ms": 0.0064, "3.2 s": 3.21, "250 s": 250.0}),
    ],
)
def test_numbers_in_words(write, texts):
    for text, value in texts.items():
        assert write(value) == text


def test_a_budget_of_information_is_in_bits_too():
    assert "bits" in wording.budget(LeakageBudget(0.01))


# -- pictures and files
# --------------------------------------------------------------------------------------------------


def test_the_pictures_have_a_mark_for_every_answer(comparison):
    leaks = claimed_leaks(comparison.rows)
    answered = [row for row in comparison.rows if row.answered]
    perfect = [row for row in leaks if row.regime == "perfect"]
    for figure, marks in (
        (leakage_figure(comparison.rows), len(leaks) - len(perfect)),
        (perfect_figure(comparison.rows), len(perfect)),
        (gap_figure(comparison.rows), len(answered)),
    ):
        root = ElementTree.fromstring(standalone(figure))
        hints = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}title")]
        assert len(hints) == marks
        assert root.attrib["role"] == "img"
    assert any("fake-crashes: 0 of 3 answered" in row for row in gap_figure(comparison.rows).rows)
