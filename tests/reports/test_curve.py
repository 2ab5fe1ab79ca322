"""The privacy–utility curve: envelopes that hold at every budget, points where they help, complete
records.
"""

import csv
import io
import json
import math

import numpy as np
import pytest
from refusals import raises_input_error

import discreet as ds
from discreet.backends.tilt import rounds
from discreet.backends.tilt.model import model_of
from discreet.problems import paper_single


def grid(curve):
    """Budgets over and beyond the curve, among them its points and the middles between them."""
    solved = np.array([row.budget for row in curve.rows])
    even = 1.2 * curve.envelope.horizon * np.linspace(0.0, 1.0, 101) ** 2
    return np.unique(np.concatenate([even, solved, 0.5 * (solved[1:] + solved[:-1])]))


@pytest.mark.parametrize("width", [0.1, 0.01, 0.002])
def test_a_stated_width_is_reached_everywhere(width):
    problem = paper_single(bins=32)
    curve = ds.frontier(problem, width=width)
    assert curve.reached
    assert curve.certified
    assert curve.width <= width
    at = grid(curve)
    at = at[at > 0.0]
    assert (curve.upper(at) - curve.lower(at)).max() <= width * curve.envelope.height * (1.0 + 1e-9)


def test_points_are_ends_own_budget_and_then_where_the_bracket_is_widest():
    problem = paper_single(bins=32, budget=0.005)
    two, three, four = (ds.frontier(problem, points=k) for k in (2, 3, 4))
    horizon = two.envelope.horizon
    assert horizon == pytest.approx(problem.bayes_leakage, rel=1e-12)
    assert [row.budget for row in two.rows] == [0.0, horizon]
    assert [row.budget for row in three.rows] == [0.0, 0.005, horizon]
    assert two.width > three.width > four.width
    assert {row.budget for row in four.rows} > {row.budget for row in three.rows}
    assert three.reached  # only a number was asked for


def test_the_default_is_one_per_cent():
    curve = ds.frontier(ds.problems.paper_multi(sensors=5))
    assert curve.asked_width == 0.01
    assert curve.width <= 0.01
    assert len(curve.rows) < 40
    assert curve.rows[0].multiplier == math.inf
    assert curve.rows[-1].upper == pytest.approx(curve.bayes_error_probability, rel=1e-9)


@pytest.mark.parametrize(
    "name",
    ["x-equals-y", "independent", "near-deterministic", "duplicated", "zero-mass", "tiny-budget"],
)
def test_adversarial_models_have_curves(name):
    curve = ds.frontier(ds.problems.catalog.build(name), width=0.05)
    assert curve.reached
    at = grid(curve)
    assert (curve.lower(at) <= curve.upper(at)).all()


def test_a_backend_that_fails_leaves_the_envelopes_wide_and_right():
    problem = paper_single(bins=16)
    curve = ds.frontier(problem, points=5, backend="highs")  # serves perfect privacy only
    statuses = {row.budget: row.status for row in curve.rows}
    assert statuses[0.0] is ds.Status.CERTIFIED
    assert ds.Status.UNSUPPORTED in statuses.values()
    assert not curve.certified
    truth = ds.solve(problem.with_budget(0.005), "tilt").error_probability
    assert curve.lower(0.005) <= truth <= curve.upper(0.005)
    assert curve.upper(0.0) < 0.5 * (1.0 - 1e-6) or problem.constant_error < 0.5


def test_a_width_that_cannot_be_reached_ends_and_says_so():
    curve = ds.frontier(paper_single(bins=16), width=1e-9, points=9)
    assert len(curve.rows) == 9
    assert not curve.reached
    assert curve.asked_width == 1e-9


@pytest.mark.parametrize(
    "words, options",
    {
        "points is 1": {"points": 1},
        "width is nan": {"width": math.nan},
        "time limit": {"time_limit": -1.0},
        "no setting 'nothing'": {"settings": {"nothing": 1}, "points": 3},
    }.items(),
)
def test_bad_values_are_refused(options, words):
    with raises_input_error(words):
        ds.frontier(paper_single(), **options)


def test_records_are_strict_json_and_csv_that_hold_the_envelopes():
    curve = ds.frontier(paper_single(bins=16), points=6)
    record = json.loads(json.dumps(curve.to_dict(), allow_nan=False))
    assert record["problem"] == "paper-single(bins=16)"
    assert record["points"][0]["multiplier"] is None
    assert record["points"][0]["status"] == "certified"
    table = list(csv.DictReader(io.StringIO(curve.to_csv())))
    assert [float(line["budget_nats"]) for line in table] == [row.budget for row in curve.rows]
    assert table[0]["multiplier"] == ""
    chords = np.interp(
        0.004, [float(t["budget_nats"]) for t in table], [float(t["upper"]) for t in table]
    )
    assert curve.upper(0.004) == pytest.approx(chords, rel=1e-12)
    tangents = [
        float(t["lower"]) - float(t["multiplier"]) * (0.004 - float(t["budget_nats"]))
        for t in table
        if t["multiplier"]
    ]
    assert curve.lower(0.004) == pytest.approx(max(tangents), rel=1e-10)
    assert "6 points" in repr(curve)


def test_a_curve_lowers_hardly_any_interior_point(monkeypatch):
    """Solved by itself, each point lowers a problem for the interior point; a sweep goes on from
    the duals of other budgets.
    """
    problem = paper_single(bins=1_000, budget=0.01)
    lowered = []
    monkeypatch.setattr(
        rounds, "model_of", lambda *given: lowered.append(given) or model_of(*given)
    )
    budgets = [row.budget for row in ds.frontier(problem, points=12).rows]
    together = len(lowered)
    for budget in budgets:
        ds.solve(problem.with_budget(budget), "tilt")
    assert together <= 0.25 * (len(lowered) - together)
