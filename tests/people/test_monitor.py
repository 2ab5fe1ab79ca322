"""A monitor raises alarms about rules that leak more than they promise, seldom about others,
however often one looks; and what it counts can be put down and taken up again.
"""

import json

import numpy as np
import pytest
from numpy.random import default_rng
from refusals import raises_file_error, raises_input_error
from sklearn.linear_model import LogisticRegression

import discreet as ds
from discreet.measures.registry import CONDITIONAL, MEASURES, OF_PEOPLE, measure_of
from discreet.people.extremes import leakage_of, lowest_of
from discreet.people.labels import RARE
from discreet.people.monitor import Watched
from discreet.people.secrets import PromiseTerms
from discreet.problems.constraint import LeakageBudget

GROUPS = ("f", "m")
GUESSES = ("no", "yes")
ALL = [name for name in MEASURES if name not in ("sibson", "g-leakage")]
CHOSEN = [*ALL, "sibson:alpha=2", "g-leakage:gain=[[1,0],[0,1]]", *CONDITIONAL, *OF_PEOPLE]


def drawn(rates, records, rng):
    """Records of even groups, of whom these shares get the guess "yes"."""
    place = rng.integers(0, len(rates), records)
    guess = rng.random(records) < np.array(rates)[place]
    return np.array(GROUPS)[place], np.array(GUESSES)[guess.astype(int)]


def watching(budget, measure="mutual-information", **more):
    budget = LeakageBudget(budget, measure_of(measure))
    return ds.Monitor(budget, guesses=GUESSES, groups=GROUPS, truths=("a", "b"), **more)


def leakage(rates, measure="mutual-information"):
    law = np.array([[1.0 - each for each in rates], rates])
    return leakage_of(measure_of(measure), law, np.full(2, 0.5))


@pytest.mark.gate
def test_it_seldom_raises_a_false_alarm_however_often_one_looks():
    """The rule leaks just what it promised; at each of the first records, then at a grid."""
    rates = (0.3, 0.45)
    measure = "parity-difference"
    streams = 20
    alpha = 0.2
    alarms = 0
    for seed in range(streams):
        watch = watching(leakage(rates, measure), measure, alpha=alpha)
        rng = default_rng(seed)
        for records in (*[1] * 8, *(2**k for k in range(3, 14))):
            if watch.update(*drawn(rates, records, rng)):
                alarms += 1
                break
    # If the probability were exactly alpha, this many occur once in a thousand times.
    assert alarms <= alpha * streams + 3.1 * (streams * alpha * (1.0 - alpha)) ** 0.5


@pytest.mark.parametrize("measure", CHOSEN)
def test_every_measure_is_watched(measure):
    """An alarm, with limits that hold what is leaked; and none about guesses that say nothing."""
    rng = default_rng(0)
    told = ("a", "b") * 10_000
    watch = watching(0.001, measure)
    assert not watch.update(*drawn((0.4, 0.4), 20_000, rng), told)
    watch = watching(0.001, measure)
    assert watch.update(*drawn((0.2, 0.9), 20_000, rng), told)
    found = watch.report()["promises"][0]
    truth = leakage((0.2, 0.9), measure_of(measure).given_one)
    assert 0.001 < found["leakage"]["low"] <= truth <= found["leakage"]["high"]
    assert (found["alarm"], found["records"], found["measure"]) == (
        20_000,
        20_000,
        str(measure_of(measure)),
    )


def test_an_alarm_comes_soon_and_stays():
    """Three times the promise within some thousand records."""
    rng = default_rng(1)
    watch = watching(leakage((0.3, 0.7)) / 3.0)
    while not watch.update(*drawn((0.3, 0.7), 50, rng)):
        assert watch.records < 2_000
    raised = watch.records
    for _ in range(10):
        assert watch.update(*drawn((0.5, 0.5), 5_000, rng))
    found = watch.report()
    assert found["promises"][0]["alarm"] == raised
    assert found["promises"][0]["leakage"]["low"] < 0.01
    assert f"alarm after {raised:,} records" in found["statement"]


def test_counts_are_all_that_matters():
    """The order of records, and whether they come one by one, in parts or after a restart."""
    group, guess = drawn((0.3, 0.4), 60, default_rng(2))
    whole = watching(0.01)
    whole.update(group, guess)
    parts = watching(0.01)
    for start in range(59, -1, -1):
        parts.update(group[start : start + 1], guess[start : start + 1])
    assert parts.report() == whole.report()


def test_a_restart_changes_nothing(tmp_path):
    rng = default_rng(3)
    place = tmp_path / "watch.json"
    whole = watching(0.01)
    for _ in range(5):
        records = drawn((0.3, 0.7), 100, rng)
        whole.update(*records)
        again = watching(0.01)
        if place.exists():
            again.resume(place)
        again.update(*records)
        again.save(place)
        assert again.report() == whole.report()
    assert whole.alarm


def test_groups_that_the_promise_is_not_about_are_left_out():
    watch = watching(0.01)
    watch.update(["f", "x", None, "m"], ["no", "yes", "yes", "no"])
    found = watch.report()
    assert (found["records"], found["promises"][0]["records"]) == (4, 2)
    assert found["promises"][0]["left_out"] == 2
    assert (
        "2 records were left out, since the promise is not about their groups"
        in (found["statement"])
    )


def test_promises_about_two_columns_are_about_people_who_are_within_both():
    groups = {"sex": GROUPS, "old": ("no", "yes")}
    watch = ds.Monitor({"sex": 0.01, "old": 0.01}, guesses=GUESSES, groups=groups)
    hidden = {"sex": ["f", "x", "m", "m"], "old": ["no", "yes", "perhaps", "yes"]}
    watch.update(hidden, ["no", "yes", "yes", "no"])
    assert [each["records"] for each in watch.report()["promises"]] == [2, 2]


def test_what_cannot_be_counted_is_refused_and_changes_nothing():
    watch = watching(0.01)
    before = watch.report()
    with raises_input_error("guess 1 is 'perhaps'"):
        watch.update(["f", "m"], ["no", "perhaps"])
    with raises_input_error("1 entries of sensitive_features for 2"):
        watch.update(["f"], ["no", "yes"])
    with raises_input_error("truth is missing"):
        watching(0.01, "conditional-mutual-information").update(["f"], ["no"])
    named = ds.Monitor({"sex": 0.01}, guesses=GUESSES, groups={"sex": GROUPS})
    with raises_input_error("no column 'sex'"):
        named.update({"age": ["f"]}, ["no"])
    assert watch.report() == before
    for wrong in (0.0, 0.7, "x"):
        with raises_input_error("alpha"):
            watching(0.01, alpha=wrong)
    with raises_input_error("guesses="):
        ds.Monitor(0.01)
    with raises_input_error("no budget"):
        watching(np.inf)
    measure = measure_of("conditional-mutual-information")
    with raises_input_error("labels of truths"):
        ds.Monitor(LeakageBudget(0.01, measure), guesses=GUESSES, groups=GROUPS)


def test_several_promises_share_the_probability_of_a_false_alarm():
    rng = default_rng(4)
    sex, guess = drawn((0.2, 0.9), 3_000, rng)
    old = rng.choice(["yes", "no"], 3_000)
    watch = ds.Monitor(
        {"sex": 0.01, "old": LeakageBudget(0.1, measure_of("parity-difference"))},
        guesses=GUESSES,
        groups={"sex": GROUPS, "old": ("no", "yes")},
    )
    assert watch.level == 0.025
    assert watch.update({"sex": sex, "old": old}, guess)
    assert [each["alarm"] for each in watch.report()["promises"]] == [3_000, None]


@pytest.mark.parametrize(
    "change",
    [
        {"counts": [[[1, -1], [0, 0]]]},
        {"counts": [[[1, 1]]]},
        {"counts": []},
        {"counts": [[["x", 1], [0, 0]]]},
        {"records": 0, "counts": [[[1, 0], [0, 0]]]},
        {"format": "other"},
        {"alpha": 0.1},
        {"promises": []},
    ],
)
def test_a_file_that_is_corrupt_or_of_another_promise_is_refused(tmp_path, change):
    place = tmp_path / "watch.json"
    watching(0.01).save(place)
    state = json.loads(place.read_text()) | change
    place.write_text(json.dumps(state))
    with raises_file_error(r"watch\.json"):
        watching(0.01).resume(place)


def test_no_other_file_is_overwritten(tmp_path):
    place = tmp_path / "watch.json"
    place.write_text("mine")
    with raises_file_error("was not made here"):
        watching(0.01).save(place)
    with raises_file_error("holds no monitor"):
        watching(0.01).resume(place)
    watching(0.01).save(place, overwrite=True)


@pytest.mark.gate
def test_a_classifier_and_its_folder_promise_the_same(tmp_path):
    rng = default_rng(5)
    seen = rng.normal(size=(1_000, 2))
    sex, old, paid = (
        rng.random(1_000) < 1 / (1 + np.exp(-score)) for score in (*seen.T, seen.sum(axis=1))
    )
    model = LogisticRegression()
    private = ds.PrivateClassifier(
        model,
        model,
        budget={"sex": 0.02, "old": 0.3},
        measure={"sex": "mutual-information", "old": "parity-difference"},
        random_state=0,
    )
    private.fit(seen, paid, sensitive_features={"sex": np.where(sex, "m", "f"), "old": old})
    private.save(tmp_path / "rule", seen)
    folder = ds.DeployedRule.load(tmp_path / "rule")
    first, second = (ds.Monitor(each) for each in (private, folder))
    assert [each.promise for each in first.watched] == [each.promise for each in second.watched]
    assert [each.name for each in first.watched] == ["sex", "old"]
    assert first.watched[1].groups == (False, True)
    assert first.watched[0].stated.sum() == 500
    bare = ds.Monitor(
        private.budgets_,
        guesses=GUESSES,
        groups={name: private.hidden_[name] for name in ("sex", "old")},
    )
    assert bare.watched[0].stated is None


def test_a_cell_that_a_file_withholds_disables_no_alarm():
    """The table of a rule's file is null where fewer than five people are; a monitor that reads it
    as no number would never raise an alarm.
    """
    budget = LeakageBudget(0.05, measure_of("parity-difference"))
    shown = {"": [[None, 120.0], [200.0, 180.0]]}
    watched = Watched.of("", PromiseTerms({"": budget}, {"": GROUPS}, (0, 1), (), shown))
    region = watched.region(0.05)
    assert np.isfinite([region.radius, *region.low.ravel(), *region.high.ravel()]).all()
    watched.counts += np.array([[900.0, 100.0], [100.0, 900.0]])
    assert lowest_of(watched.measure, watched.region(0.05)) > 0.05


def test_rare_groups_are_watched_together():
    budget = LeakageBudget(0.05, measure_of("parity-difference"))
    monitor = ds.Monitor(budget, guesses=(0, 1), groups=("f", "m", RARE))
    monitor.update(["f", "m", "x", "y"], [0, 1, 0, 1])
    assert monitor.watched[0].counts.tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
