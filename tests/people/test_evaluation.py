"""`ds.evaluate`: what a fixed rule does to people, from labels of any kind, and its sentences."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from evaluating import evaluated
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from refusals import raises_input_error
from strategies import seeds

import discreet as ds
from discreet.measures.registry import measure_of
from discreet.people.counting import OTHER
from discreet.people.design import Labels, constant_rule
from discreet.people.extremes import leakage_of
from discreet.people.places import Lottery
from discreet.people.published import published, published_leakage
from discreet.reports.card import evaluation_tables
from discreet.showing.page import html

PEOPLE = 4000


def people(seed=0):
    """Groups "a" and "b", truths "no" and "yes", and guesses that are right four
    times out of five.
    """
    rng = default_rng(seed)
    group = rng.choice(["a", "b"], PEOPLE, p=[0.7, 0.3])
    truth = np.where(rng.random(PEOPLE) < np.where(group == "a", 0.2, 0.5), "yes", "no")
    other = np.where(truth == "yes", "no", "yes")
    return group, truth, np.where(rng.random(PEOPLE) < 0.8, truth, other)


def test_an_evaluation_counts_what_the_table_says():
    group, truth, guess = people()
    found = evaluated(guess, truth, group)
    assert found.guesses == ("no", "yes")
    assert found.groups == ("a", "b")
    counts = [
        [int(((guess == i) & (group == j)).sum()) for j in found.groups] for i in found.guesses
    ]
    assert found.table.tolist() == counts
    assert found.error.estimate == pytest.approx((guess != truth).mean())
    assert (found.error.low, found.error.high) == pytest.approx(
        ds.problems.confidence_interval(int((guess != truth).sum()), PEOPLE)
    )
    joint = np.asarray(counts).T / PEOPLE  # guesses see Z = Ŷ
    model = ds.Problem(joint, np.zeros((2, 2)), budget=1.0)
    assert found.leakage.estimate == pytest.approx(model.leakage(np.eye(2)), rel=1e-9)
    assert found.rates["b"]["yes"].estimate == pytest.approx(
        counts[1][1] / sum(row[1] for row in counts)
    )
    assert found.shares["a"].low < 0.7 < found.shares["a"].high


def test_equalized_odds_are_what_the_guess_says_to_who_knows_the_truth():
    group, truth, guess = people()
    found = evaluated(guess, truth, group, measure="conditional-mutual-information")
    joint = np.array(
        [
            [
                [((truth == k) & (group == j) & (guess == i)).mean() for i in found.guesses]
                for j in "ab"
            ]
            for k in ("no", "yes")
        ]
    )
    model = ds.Problem(
        joint, np.zeros((2, 2)), budget=1.0, measure="conditional-mutual-information"
    )
    assert found.leakage.estimate == pytest.approx(model.leakage(np.eye(2)), rel=1e-9)
    assert (
        found.leakage.low
        <= found.leakage.estimate
        < found.leakage.high
        < 0.003
        < found.leakages["mutual-information"].low
    )
    assert "of conditional-mutual-information" in found.statement(1.0)
    assert found.given["yes"].rates["b"]["yes"].estimate == pytest.approx(
        joint[1, 1, 1] / joint[1, 1].sum()
    )
    assert found.given["no"].error.estimate == pytest.approx(joint[0, :, 1].sum() / joint[0].sum())
    assert sum(each.people for each in found.given.values()) == PEOPLE
    unfair = np.where((truth == "yes") & (group == "b"), "no", guess)
    assert evaluated(unfair, truth, group).given["yes"].leakages["parity-difference"].low > 0.7
    lone = evaluated(guess, np.full(PEOPLE, "no"), group, measure=found.measure)
    assert list(lone.given) == ["no"]
    # The other guess is a truth that some people may have.
    assert lone.leakage.high > lone.given["no"].leakage.high


def test_every_sensitive_column_is_evaluated_alone_too():
    group, truth, guess = people()
    other = default_rng(5).choice(["x", "y", "z"], PEOPLE)
    frame = pd.DataFrame({"group": group, "other": other, "same": "all"})
    found = evaluated(guess, truth, frame)
    assert list(found.secrets) == ["group", "other"]
    alone = evaluated(guess, truth, group)
    assert found.secrets["group"].table.tolist() == alone.table.tolist()
    assert found.secrets["other"].leakage.high < 0.006 < found.leakage.high
    assert found.error == found.secrets["other"].error
    assert found.holds({"group": 0.2, "other": 0.006})
    assert not found.holds({"group": 0.003, "other": 0.006})
    with raises_input_error(r"'sex'.*'group', 'other'"):
        found.holds({"sex": 0.1})
    named = evaluated(guess, truth, frame[["group", "other"]], group_labels=[("c", "x")])
    assert named.secrets["group"].groups == ("c", "a", "b")


class Constant:
    """A rule that always makes the same guess."""

    def predict(self, table):
        """Return the same guess for everyone."""
        return ["no"] * len(table)


class Sure(Constant):
    """A constant rule that declares itself constant."""

    possible_guesses = ("no",)


def test_a_rule_is_asked_and_one_that_guesses_alike_leaks_nothing():
    group, truth, _ = people()
    table = np.zeros((PEOPLE, 3))
    unknown = ds.evaluate(Constant(), table, truth, sensitive_features=group)
    assert unknown.leakage.estimate == 0.0
    # It might have guessed otherwise once in a thousand times.
    assert 0.0 < unknown.leakage.high < 0.003
    sure = ds.evaluate(Sure(), table, truth, sensitive_features=group)
    assert (sure.leakage.low, sure.leakage.high) == (0.0, 0.0)
    assert sure.error.estimate == unknown.error.estimate
    assert sure.holds(0.0)


def test_equal_guesses_do_not_prove_that_a_rule_never_guesses_otherwise():
    groups = ["f", "m"] * 10
    seen = evaluated(["a"] * 20, ["a"] * 20, groups)
    assert seen.guesses == ("a", OTHER)
    other = evaluated(["a"] * 20, ["a"] * 20, groups, labels=["a", "b"])
    assert [str(limits) for limits in seen.leakages.values()] == [
        str(limits) for limits in other.leakages.values()
    ]
    for limits in (*seen.leakages.values(), *(each[OTHER] for each in seen.rates.values())):
        assert limits.low == limits.estimate == 0.0 < limits.high
    assert not seen.holds(0.01)
    assert (seen.error.estimate, seen.error.high) == (0.0, pytest.approx(0.168, abs=5e-4))
    many = evaluated(["a"] * 20_000, ["a"] * 20_000, groups * 1000)
    assert many.holds(0.01)
    known = evaluated(["a"] * 20, ["a"] * 20, groups, labels=["a"])
    assert known.guesses == ("a",)
    assert (known.leakage.low, known.leakage.high, known.at_most) == (0.0, 0.0, 0.0)


def test_a_rule_that_draws_is_asked_for_its_probabilities():
    group, truth, _ = people()
    seen = np.full((PEOPLE, 2), 0.5)
    rule = ds.design_rule(
        [[0.4, 0.6], [0.7, 0.3]],
        [[0.5, 0.5], [0.6, 0.4]],
        0.001,
        guesses=["no", "yes"],
        key="00" * 16,
    ).rule
    told = ds.evaluate(rule, (seen, seen), truth, sensitive_features=group, soft=True)
    stated = evaluated(rule.predict_proba(seen, seen), truth, group, labels=["no", "yes"])
    assert told.table.tolist() == stated.table.tolist()
    assert told.error == stated.error
    assert not told.counted
    constant = constant_rule(
        1, Labels.of(["no", "yes"], ["a", "b"], None, 1.0 - np.eye(2), 2), "00" * 16
    )
    sure = ds.evaluate(constant, (seen, seen), truth, sensitive_features=group, soft=True)
    assert (sure.guesses[0], sure.at_most) == ("yes", 0.0)
    with raises_input_error("predict_proba"):
        ds.evaluate(Constant(), seen, truth, sensitive_features=group, soft=True)


@pytest.mark.gate
def test_gains_about_combinations_are_none_about_a_column():
    group, truth, guess = people()
    both = np.column_stack([group, truth])
    found = evaluated(guess, truth, both, measure="g-leakage:gain=[[1,0,0,0],[0,1,1,1]]")
    assert [str(each.measure) for each in found.secrets.values()] == ["mutual-information"] * 2
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_loss_matrix_takes_the_place_of_errors():
    group, truth, guess = people()
    costs = [[0.0, 1.0], [5.0, 0.0]]  # truth no, yes
    found = evaluated(guess, truth, group, loss_matrix=costs)
    mean = ((truth == "no") & (guess == "yes")).mean() + 5.0 * (
        (truth == "yes") & (guess == "no")
    ).mean()
    assert found.error.estimate == pytest.approx(mean)
    assert found.error.low < mean < found.error.high


def test_groups_of_several_columns_and_missing_values():
    rng = default_rng(1)
    frame = pd.DataFrame(
        {
            "sex": pd.array(rng.choice(["f", "m"], PEOPLE), dtype="string"),
            "old": pd.array(rng.choice([True, False], PEOPLE), dtype="boolean"),
        }
    )
    frame.loc[:99, "sex"] = pd.NA
    guess = rng.integers(0, 2, PEOPLE)
    found = evaluated(guess, guess, frame)
    assert set(found.groups) == {(sex, old) for sex in ("f", "m", None) for old in (True, False)}
    assert found.error.estimate == 0.0
    one = evaluated(guess.tolist(), pd.Series(guess), frame[["sex"]])
    assert set(one.groups) == {"f", "m", None}
    array = evaluated(guess, guess, np.column_stack([guess, guess]))
    assert array.groups == ((0, 0), (1, 1))
    assert array.to_dict()["groups"] == ["0, 0", "1, 1"]


def test_the_sentences_say_for_whom_and_how_surely():
    group, truth, guess = people()
    found = evaluated(guess, truth, group)
    assert found.statement(1.0).startswith("holds for people, 95 %: the guess leaks at most ")
    assert found.statement(found.leakage.estimate).startswith("not shown for people, 95 %: ")
    assert found.statement(1e-6).startswith("broken for people, 95 %: the guess leaks at least ")
    assert found.statement().startswith("for people, 95 %: ")
    assert "4,000 people" in repr(found)
    assert found.holds(math.inf)
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_group_that_no_one_here_belongs_to_widens_the_limits():
    group, truth, guess = people()
    seen = evaluated(guess, truth, group)
    more = evaluated(guess, truth, group, group_labels=["c", "b", "a"])
    assert more.groups == ("c", "b", "a")
    assert more.table[:, 0].tolist() == [0.0, 0.0]
    assert more.leakage.estimate == pytest.approx(seen.leakage.estimate)
    assert more.leakage.high > seen.leakage.high
    assert more.rates["c"]["yes"].high == 1.0
    alone = evaluated(
        guess[:1],
        truth[:1],
        group[:1],
        group_labels=["a", "b"],
        labels=["no", "yes"],
    )
    assert alone.leakage.high > 0.6


@pytest.mark.parametrize(
    "complaint, changed",
    {
        "y is missing": {"y": None},
        "sensitive_features is missing": {"sensitive_features": None},
        "3 .*sensitive_features.* 4000 of y": {"sensitive_features": ["a"] * 3},
        "each person": {"sensitive_features": "sex"},
        "cannot be compared": {"sensitive_features": [[1]] * PEOPLE},
        "4000 .*one group": {"sensitive_features": ["a"] * PEOPLE},
        "confidence is 1.0": {"confidence": 1.0},
        "3 .* 2": {"rule_or_predictions": np.full((PEOPLE, 3), 1 / 3)},
        "sums to 0.6": {"rule_or_predictions": np.full((PEOPLE, 2), 0.3)},
        r"shape \[2, 2, 2\]": {"rule_or_predictions": np.zeros((2, 2, 2))},
    }.items(),
)
def test_what_cannot_be_evaluated_is_refused_in_a_sentence(changed, complaint):
    group, truth, guess = people()
    given = {"rule_or_predictions": guess, "y": truth, "sensitive_features": group, **changed}
    with raises_input_error(complaint):
        ds.evaluate(given.pop("rule_or_predictions"), None, given.pop("y"), **given)


def test_a_cohort_is_known_exactly():
    group, guess = ["f"] * 10 + ["m"] * 10, [*"a" * 6, *"b" * 4, *"a" * 3, *"b" * 7]
    found = evaluated(guess, guess, group, measure="parity-difference")
    told = "20 people: their guesses leak 0.3 of parity-difference"
    assert told in found.cohort_statement()
    assert ", within the budget of 0.3 of parity-difference, and err 0;" in found.cohort_statement(
        0.3 + 1e-9
    )
    assert (
        ", more than the budget of 0.2 of parity-difference, and err 0;"
        in found.cohort_statement(0.2)
    )
    soft = evaluated(
        np.array([[0.6, 0.4]] * 10 + [[0.3, 0.7]] * 10),
        guess,
        group,
        measure="parity-difference",
    )
    assert "on average over its coins" in soft.cohort_statement()
    assert " leak 0.3 of" in soft.cohort_statement()


@pytest.mark.parametrize("name", ["mutual-information", "conditional-mutual-information"])
def test_asymptotic_limits_cover_as_often_as_they_say_and_are_near_the_statistical_limit(name):
    rng = default_rng(0)
    groups = 2 if name.startswith("conditional") else 1
    covered = 0
    draws = 400
    for _ in range(draws):
        law = np.outer(rng.dirichlet([5.0] * 3), rng.dirichlet([8.0] * 2 * groups))
        law = law * np.exp(0.2 * rng.normal(size=law.shape))
        law /= law.sum()
        table = rng.multinomial(2000, law.ravel()).reshape(3, 2 * groups) * 1.0
        measure = measure_of(name)
        truth = leakage_of(measure, law / law.sum(axis=0), law.sum(axis=0), groups)
        tables = np.stack(np.split(table, groups, axis=1))
        covered += truth <= measure.asymptotic_level(tables, 0.05)
    assert 0.92 * draws <= covered <= 0.98 * draws
    independent = 2000 * np.outer([0.5, 0.3, 0.2], [0.5 / groups] * 2 * groups)
    limit = measure.asymptotic_level(np.stack(np.split(independent, groups, axis=1)), 0.05)
    assert limit * 2000 == pytest.approx({1: 3.17, 2: 3.9}[groups], rel=0.02)
    with raises_input_error("ask for the exact promise"):
        measure_of("chi-square").asymptotic_level(independent[None], 0.05)


def test_an_asymptotic_limit_says_so_and_gives_way_where_people_are_few():
    group = np.repeat(["f", "m"], 300)
    guess = np.where(np.arange(600) % 5 < np.repeat([2, 3], 300), "a", "b")
    exact, near = (evaluated(guess, guess, group, asymptotic=each) for each in (False, True))
    assert near.at_most < exact.at_most
    assert near.statement(0.1).startswith("holds for people, 95 %, asymptotically: ")
    few = [
        evaluated(guess[::60], guess[::60], group[::60], asymptotic=each) for each in (False, True)
    ]
    assert few[0].at_most == few[1].at_most


# -- what files say about few people
# --------------------------------------------------------------------------------------------------


def counted(table, **more):
    """The evaluation of people of groups "a" and "b" who got guesses "no" and "yes" so often."""
    sexes, guesses = [], []
    for guess, row in zip(("no", "yes"), table, strict=True):
        for group, count in zip("ab", row, strict=True):
            sexes += [group] * count
            guesses += [guess] * count
    truth = ["no", "yes"] * (len(sexes) // 2)
    return evaluated(guesses, truth, sexes, **more)


def test_a_file_states_no_count_of_fewer_than_five_people():
    """Whichever of the counts from 0 to 4 it is, the file is the same but for the errors, which are
    not about groups, and every limit lies outside of the exact one. In a group of thirty people
    two digits of the leakage would tell it.
    """
    records = []
    for count in range(5):
        found = counted([[count, 120], [30 - count, 180]])
        for each, share in ((found, 0.0), (found.diluted(Lottery(0.5, np.array([0.0, 1.0]))), 0.5)):
            record = published(each)
            exact = each.to_dict()
            assert record["table"][0] == [None, (1.0 - share) * 120]
            assert [row["guesses"]["no"]["estimate"] is None for row in record["rates"]] == [1, 0]
            for row, whole in zip(record["rates"], exact["rates"], strict=True):
                for guess, limits in row["guesses"].items():
                    assert limits["low"] <= whole["guesses"][guess]["low"] + 1e-15
                    assert limits["high"] >= whole["guesses"][guess]["high"] - 1e-15
            del record["error"]
            records.append((share, record))
    for share in (0.0, 0.5):
        assert len({json.dumps(each) for s, each in records if s == share}) == 1
    page = html(evaluation_tables(published(found)))
    assert "&lt; 5" in page
    assert "&lt; 5" not in html(found.tables())
    assert found.to_dict()["table"][0] == [4.0, 120.0]


def test_a_file_states_what_is_about_more_people():
    found = counted([[5, 120], [195, 180]])
    assert published(found) == found.to_dict()
    assert published_leakage(found, "")["leakage"] == found.leakage.estimate


@pytest.mark.gate
def test_few_people_of_a_combination_do_not_follow_from_the_columns_alone():
    rng = default_rng(0)
    sexes, ages = rng.choice(["f", "m"], 400), rng.choice(["old", "young"], 400)
    guesses = np.where(rng.random(400) < 0.5, "no", "yes")
    guesses[(sexes == "f") & (ages == "old")] = "no"
    hidden = pd.DataFrame({"sex": sexes, "age": ages})
    found = evaluated(guesses, guesses, hidden)
    record = published(found)
    assert sum(count is None for row in record["table"] for count in row) == 1
    for name in ("sex", "age"):
        for row in record["secrets"][name]["table"]:
            assert all(count % 20 == 0 for count in row)
    assert published_leakage(found, "sex")["leakage_at_most"] == found.secrets["sex"].at_most
    assert published_leakage(found, "") == {"leakage": None, "leakage_at_most": None}


def test_a_group_of_few_people_has_no_share():
    found = counted([[2, 120], [1, 177]])
    first, other = (row["share"] for row in published(found)["rates"])
    assert first["estimate"] is None
    assert other["estimate"] == pytest.approx(1.0, abs=0.05)
    assert first["low"] == 0.0


@pytest.mark.gate
def test_impact_ratios_are_those_of_selection_rates():
    """The group that is selected most has 1; limits are the worst of the rates' own."""
    group = np.repeat(["a", "b", "c"], [200, 300, 500])
    guess = np.concatenate(
        [np.arange(size) < hits for size, hits in ((200, 100), (300, 60), (500, 250))]
    )
    found = evaluated(guess, guess, group)
    ratios = {name: row[True] for name, row in found.impact_ratios.items()}
    assert [each.estimate for each in ratios.values()] == [1.0, pytest.approx(0.4), 1.0]
    rates = {name: row[True] for name, row in found.rates.items()}
    most = max(rates["a"].high, rates["c"].high)
    assert ratios["b"].low == pytest.approx(rates["b"].low / most)
    assert ratios["b"].high == pytest.approx(rates["b"].high / max(rates["a"].low, rates["c"].low))
    assert (ratios["a"].low < 1.0, ratios["a"].high) == (True, 1.0)
    row = next(each for each in found.to_dict()["rates"] if each["group"] == "b")
    assert row["impact_ratios"]["True"]["estimate"] == pytest.approx(0.4)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=4),
    seeds,
)
def test_impact_ratios_lie_between_their_limits_for_all_rates_in_the_intervals(counts, seed):
    table = np.array(counts, dtype=float).T
    group = np.repeat(np.arange(len(counts)), table.sum(axis=0).astype(int))
    guess = np.concatenate([np.repeat([0, 1], each) for each in counts])
    if group.size == 0:
        return
    known = {"labels": [0, 1], "group_labels": list(range(len(counts)))}
    found = evaluated(guess, guess, group, **known)
    region = found.region
    rng = default_rng(seed)
    for trial in range(10):
        ends = rng.random(region.low.shape[1])
        if trial % 2:
            ends = ends.round()
        rates = region.low[1] + ends * (region.high[1] - region.low[1])
        if not rates.max():
            continue
        for place, rate in enumerate(rates):
            limits = found.impact_ratios[place][1]
            assert limits.low * (1.0 - 1e-12) <= rate / rates.max() <= limits.high * (1.0 + 1e-12)


def test_a_number_and_its_text_are_two_groups_where_both_are_named():
    mixed = np.array([1, "1", 2, "1", 1], dtype=object)
    found = evaluated(["a"] * 5, ["a"] * 5, mixed, labels=("a", "b"), groups=[1, "1", 2])
    assert found.groups == (1, "1", 2)
    assert found.table[0].tolist() == [2.0, 2.0, 1.0]
