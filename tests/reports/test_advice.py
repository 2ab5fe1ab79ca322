"""Advice: it names the fastest of the safe, never one that broke the budget, says where it is thin,
and learns locally.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from advice_cases import ENTRIES, grid, row, sensor
from random_laws import random_columns, random_joint
from refusals import raises_input_error
from solving import assert_certified, under

import discreet as ds
from discreet.backends import load_backend
from discreet.backends.solution import Status
from discreet.reports.advice.evidence import Features, Option, observations_of
from discreet.reports.advice.prediction import POLICY, TimeModel, certainty
from discreet.reports.measurements import reference_measurements

LAWS = {"tilt": lambda bins: 2e-3 + 1e-5 * bins, "blahut-arimoto": lambda bins: 1e-3 + 1e-4 * bins}


def test_rows_of_other_releases_say_nothing_about_those_that_are_installed():
    measured = row(sensor(16), "conic", 1.0)
    assert len(observations_of([measured])) == 1
    assert observations_of([replace(measured, environment="clarabel==0.3.0")]) == []


def test_the_features_of_a_problem_are_those_of_its_row():
    for problem in (
        sensor(16),
        sensor(16, 0.0),
        sensor(16).with_budget(math.inf),
        ds.problems.duplicated(copies=5),
    ):
        measured = row(problem, "tilt", 1.0)
        measured = replace(measured, distinct_outcomes=ds.problems.reduce(problem).problem.N)
        assert Features.of_measurement(measured) == Features.of_problem(problem)
    assert Features.of_problem(sensor(16)).kind == "constrained"
    assert Features.of_problem(sensor(16, 0.0)).kind == "perfect"
    assert Features.of_problem(sensor(16, 1.5)).kind == "slack"
    assert Features.of_problem(ds.problems.independent(budget=0.0)).kind == "slack"


def test_the_fastest_is_advised_on_either_side_of_a_crossover():
    rows = grid(LAWS)
    small, large = (ds.advise(sensor(bins), reference=rows) for bins in (8, 200))
    assert (small.backend, large.backend) == ("blahut-arimoto", "tilt")
    assert small.safe
    assert large.safe
    assert small.runner_up.option.backend == "tilt"
    assert large.chosen.low < LAWS["tilt"](200) < large.chosen.high


@pytest.mark.parametrize("status", [Status.VIOLATED_PRIVACY, Status.FAILED, Status.TIMED_OUT])
def test_one_that_failed_nearby_is_not_safe_however_fast(status):
    rows = [
        replace(
            row(sensor(64), "blahut-arimoto", 1e-5, entry=each.entry, status=status),
            problem_hash=each.problem_hash,
        )
        if each.backend == "blahut-arimoto" and each.entry in ENTRIES[::3]
        else each
        for each in grid({"tilt": LAWS["tilt"], "blahut-arimoto": lambda bins: 1e-5})
    ]
    advice = ds.advise(sensor(64), reference=rows)
    assert advice.backend == "tilt"
    assert "not safe" in advice.not_chosen["blahut-arimoto"]
    assert status.value in advice.not_chosen["blahut-arimoto"]


def test_advice_about_a_measure_comes_from_rows_of_that_measure_only():
    rows = grid(LAWS)
    other = grid({"conic": lambda bins: 1e-6, "highs": lambda bins: 1e-7 * bins})
    lift = [
        replace(each, measure="max-lift", problem_hash=f"lift {each.problem_hash}")
        for each in other
    ]
    problem = sensor(64)
    assert ds.advise(problem, reference=[*rows, *lift]).to_dict() | {"measured_rows": 0} == (
        ds.advise(problem, reference=rows).to_dict() | {"measured_rows": 0}
    )
    asked = problem.with_budget(problem.budget, measure="max-lift")
    advice = ds.advise(asked, reference=[*rows, *lift])
    assert advice.backend == "conic"
    assert advice.measured_rows == len(lift)
    assert ds.advise(asked.with_budget(math.inf), reference=[*rows, *lift]).measured_rows == len(
        rows
    )


def test_without_a_row_of_its_measure_the_advice_says_so_and_goes_by_capability():
    problem = sensor(64).with_budget(0.01, measure="chi-square")
    advice = ds.advise(problem, reference=grid(LAWS))
    served = {
        name
        for name in ds.backends.backend_names()
        if "chi-square" in ds.backends.load_backend(name).capabilities.measures
    }
    assert advice.backend == next(
        name for name in (*load_backend("auto").preference, "auto") if name in served
    )
    assert (advice.safe, advice.measured_rows, advice.runner_up) == (False, 0, None)
    assert advice.to_dict()["chosen"]["predicted_seconds"] is None
    (note,) = advice.notes
    assert "nothing was measured under chi-square" in note
    assert "chi-square" in advice.not_chosen["highs"]


def test_perfect_privacy_is_one_problem_under_all_measures_that_separate():
    rows = grid(LAWS, fraction=0.0)
    one, other = (
        ds.advise(sensor(64).with_budget(0.0, measure=name), reference=rows)
        for name in ("mutual-information", "max-lift")
    )
    assert one.to_dict() == other.to_dict()
    assert (
        ds.advise(
            sensor(64).with_budget(0.0, measure="min-entropy-leakage"), reference=rows
        ).measured_rows
        == 0
    )


def test_a_failure_lowers_the_bound_and_a_near_one_more_than_a_far_one():
    cells = observations_of(grid({"tilt": LAWS["tilt"]}))
    here = Features.of_problem(sensor(16))

    def with_failure(bins):
        bad = row(sensor(bins), "tilt", 1.0, entry="another", status=Status.VIOLATED_PRIVACY)
        return certainty([*cells, *observations_of([bad])], here, 1e-9).bound

    near = certainty(cells, here, 1e-9)
    assert near.certified == near.cases == round(near.successes) > 0
    clean = near.bound
    assert clean > POLICY.safe
    assert with_failure(16) < with_failure(4000) < clean
    assert certainty([], here, 1e-9).bound == 0.0


def test_a_wide_gap_is_no_success_for_a_tight_request():
    rows = [replace(each, relative_gap=1e-8) for each in grid({"tilt": LAWS["tilt"]}, gap=1e-6)]
    assert ds.advise(sensor(64), 1e-6, reference=rows).safe
    tight = ds.advise(sensor(64), 1e-10, reference=rows)
    assert not tight.safe
    assert tight.gap_to_ask == 1e-10
    assert "no backend is safe" in "\n".join(tight.notes)
    assert "never asked" in "\n".join(tight.notes)


def test_a_loose_request_is_answered_by_asking_for_the_usual_gap():
    rows = grid({"tilt": LAWS["tilt"]}) + grid({"tilt": lambda bins: 1e-4}, gap=1e-4)
    assert ds.advise(sensor(64), 1e-3, reference=rows).gap_to_ask == 1e-9


def test_beyond_what_was_measured_it_says_so_and_the_interval_widens():
    rows = grid(LAWS)
    near = ds.advise(sensor(100), reference=rows)
    far = ds.advise(sensor(1000), reference=rows)
    assert far.chosen.high / far.chosen.low > 10.0 * near.chosen.high / near.chosen.low
    assert any(note.startswith("extrapolated: outcomes 1e+03") for note in far.notes)
    assert "outcomes" not in "\n".join(near.notes)
    assert any(
        "may take longer" in note or "predicted" in note
        for note in ds.advise(sensor(9), 1e-9, 1e-6, reference=rows).notes
    )


def test_where_nothing_near_was_measured_no_time_is_predicted():
    advice = ds.advise(sensor(50_000), reference=grid(LAWS))
    assert advice.chosen is not None
    assert not advice.safe
    record = advice.to_dict()["chosen"]
    assert record["predicted_seconds"] is record["low_seconds"] is record["high_seconds"] is None
    assert any(
        note.startswith("there is no measurement near this problem") for note in advice.notes
    )
    assert "the nearest is kind-17 budget=" in next(iter(advice.not_chosen.values()))


def test_sizes_that_were_only_measured_apart_are_not_measured_together():
    """3 × 40 guesses at N = 30,000 was told 58 ms, nine times in ten under 127 ms,
    and took 29 s.
    """
    wide = random_columns(0, 3 * 40, 400, 0.3).reshape(3, 40, 400)
    many = ds.Problem.from_joint(wide / wide.sum(), budget=math.inf)
    small = row(many.with_budget(0.3 * many.bayes_leakage), "tilt", 0.02, entry="wide")
    rows = [
        *grid(LAWS),
        *(row(sensor(bins), "tilt", 0.03, entry=f"long-{bins}") for bins in (5_000, 50_000)),
        small,
    ]
    both = Features("constrained", 30_000, 120, 0.3, 0.2, 0.5)
    model = TimeModel([cell for cell in observations_of(rows) if cell.option.backend == "tilt"])
    assert model.remoteness(both) > 0.5
    middle, low, high = model.predict(both)
    assert high > 29.0 or model.remoteness(both) > POLICY.reach
    assert low < middle < high


def test_what_cannot_serve_or_run_here_is_refused_with_the_reason(monkeypatch):
    rows = grid(
        {
            **LAWS,
            "highs": lambda bins: 1e-6,
            "slsqp": lambda bins: 1e-6,
            "departed": lambda bins: 1e-6,
            "conic": lambda bins: 1e-6,
        }
    )
    monkeypatch.setattr(
        "discreet.reports.advice.choose._absence",
        lambda name: "it needs x" if name == "conic" else "",
    )
    advice = ds.advise(sensor(400), reference=rows)
    assert advice.backend == "tilt"
    assert "does not serve a positive finite budget" in advice.not_chosen["highs"]
    assert "refuses more than 300" in advice.not_chosen["slsqp"]
    assert "no backend of this name" in advice.not_chosen["departed"]
    assert advice.not_chosen["conic"] == "it needs x"
    assert set(ds.backends.backend_names()) - {"auto"} <= {
        "tilt",
        "blahut-arimoto",
        *(k.partition(":")[0] for k in advice.not_chosen),
    }


def test_a_library_that_does_not_import_is_found_before_it_is_advised(monkeypatch):
    monkeypatch.setattr(
        "discreet.reports.advice.choose._trouble",
        lambda name: "broken" if name == "blahut-arimoto" else "",
    )
    advice = ds.advise(sensor(8), reference=grid(LAWS))
    assert advice.backend == "tilt"
    assert advice.not_chosen["blahut-arimoto"] == "broken"
    assert advice.runner_up is None


def test_nothing_measured_is_said_and_auto_is_named():
    advice = ds.advise(sensor(8).with_budget(0.0), reference=grid(LAWS))
    assert (advice.chosen, advice.backend, advice.safe) == (None, "auto", False)
    assert "nothing that was measured" in advice.notes[0]


def test_a_slack_budget_that_nobody_measured_is_judged_by_binding_ones():
    advice = ds.advise(sensor(64).with_budget(math.inf), reference=grid(LAWS))
    assert advice.safe
    assert "no slack budget was measured" in "\n".join(advice.notes)


def test_local_rows_tell_the_speed_of_the_machine_and_replace_shipped_ones():
    shipped = grid(LAWS)
    slow = [replace(each, solve_seconds=3.0 * each.solve_seconds) for each in shipped[:20]]
    before, after = (ds.advise(sensor(150), reference=shipped, results=own) for own in ([], slow))
    assert after.machine_factor == pytest.approx(3.0)
    assert after.local_rows == 20
    assert after.chosen.seconds == pytest.approx(3.0 * before.chosen.seconds, rel=1e-6)
    crossed = [
        replace(each, solve_seconds=1e-6) for each in shipped if each.backend == "blahut-arimoto"
    ]
    assert ds.advise(sensor(200), reference=shipped, results=crossed).backend == "blahut-arimoto"


def test_answers_of_shared_local_rows_count_and_their_times_do_not():
    shipped = grid(LAWS)
    shared = [
        replace(each, solve_seconds=9.0 * each.solve_seconds, executor="dask") for each in shipped
    ]
    alone, beside = (ds.advise(sensor(150), reference=shipped, results=own) for own in ([], shared))
    assert (beside.machine_factor, beside.local_rows) == (1.0, len(shared))
    assert beside.chosen.seconds == pytest.approx(alone.chosen.seconds, rel=1e-9)
    broken = [
        replace(each, status=Status.FAILED, upper=math.inf)
        for each in shared
        if each.backend == alone.backend
    ]
    assert ds.advise(sensor(150), reference=shipped, results=broken).backend != alone.backend


def test_peers_are_advised_only_if_asked(monkeypatch):
    monkeypatch.setattr(
        Option, "is_peer", property(lambda option: option.backend == "blahut-arimoto")
    )
    rows = grid(LAWS)
    assert ds.advise(sensor(8), reference=rows).backend == "tilt"
    assert "a peer" in ds.advise(sensor(8), reference=rows).not_chosen["blahut-arimoto"]
    assert ds.advise(sensor(8), reference=rows, peers=True).backend == "blahut-arimoto"


@pytest.mark.parametrize("gap, seconds", [(0.0, None), (1.5, None), (1e-9, 0.0), (1e-9, -1.0)])
def test_bad_requests_are_refused(gap, seconds):
    with raises_input_error(str(gap if seconds is None else seconds)):
        ds.advise(sensor(8), gap, seconds, reference=[])


# -- held out
# --------------------------------------------------------------------------------------------------


@pytest.mark.gate
def test_the_advice_from_the_shipped_results_keeps_its_promises_on_entries_it_never_saw(load):
    found = load("advice.held_out").cross_validate(reference_measurements())
    assert len(found.trials) >= 50
    assert not [
        (trial.instance, trial.gap, trial.advised, trial.outcome) for trial in found.failures
    ]
    assert found.median <= 1.05
    assert found.quantile(0.95) <= 2.0
    assert found.coverage >= 0.8
    assert np.isfinite([trial.regret for trial in found.trials]).all()


def test_what_is_called_safe_is_certified_also_with_rare_private_values():
    """Nothing of the kind was measured, so the advice relies on the backend not to lose digits
    there.
    """
    safe = []
    for seed, name in enumerate(
        ["mutual-information", "total-variation", "maximal-leakage", "local-differential-privacy"]
        * 3
    ):
        joint = random_joint(seed, 3, 3, 60)
        joint[0] *= 10.0 ** (-6 - seed % 5)
        problem = under(joint / joint.sum(), name, (0.5, 0.1)[seed % 2])
        advice = ds.advise(problem)
        if advice.safe:
            safe.append(name)
            assert_certified(
                problem, advice.backend, gap=advice.gap_to_ask, settings=advice.settings
            )
    assert {"mutual-information", "maximal-leakage"} <= set(safe)
