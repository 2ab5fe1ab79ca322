"""Whom a promise is about: named, rare and left-out groups, several rows of one person, and tables
that should not be promised anything.
"""

import numpy as np
import pytest
from evaluating import evaluated
from gated import gated
from numpy.random import default_rng
from refusals import raises_input_error
from sklearn.naive_bayes import GaussianNB

import discreet as ds
from discreet.people.labels import RARE
from discreet.people.rows import Rows, one_row_each, persons_of


def population(people, seed=0, groups="fm"):
    """X, y and a group, both of which depend on the first column."""
    rng = default_rng(seed)
    table = rng.normal(size=(people, 2))
    group = np.where(table[:, 0] + rng.logistic(size=people) > 0, *groups)
    return table, (table.sum(axis=1) + rng.logistic(size=people) > 0).astype(int), group


def classifier(**given):
    asked = {"budget": 0.1, "random_state": 0} | given
    return ds.PrivateClassifier(GaussianNB(), GaussianNB(), **asked)


def fitted(table, truth, group, **given):
    return classifier(**given).fit(table, truth, sensitive_features=group)


def test_rows_of_a_person_stay_together_and_one_of_them_counts():
    person = np.repeat(np.arange(40), 3)
    rows = Rows(np.arange(120.0)[:, None], np.zeros(120, dtype=int), person=person)
    rng = default_rng(0)
    inside, apart = rows.split(0.5, rng)
    assert len(apart) == len(np.unique(person[apart])) == 20
    assert len(inside) == 60
    assert not {*person[inside]} & {*person[apart]}
    drawn = np.array([one_row_each(person, rng) % 3 for _ in range(200)])
    assert np.abs((drawn == 1).mean() - 1 / 3) < 0.03
    assert persons_of(["a", "b", "c"], 3) is None
    with raises_input_error("2 entries for 3 rows"):
        persons_of(["a", "b"], 3)


def test_a_promise_counts_persons():
    table, truth, group = population(300)
    again = [np.repeat(each, 4, axis=0) for each in (table, truth, group)]
    with pytest.warns(ds.InputWarning, match="900 of 1,200 rows"):
        rows = fitted(again[0], again[1], again[2])
    assert rows.data_["calibration people"] == 600
    private = classifier().fit(
        again[0], again[1], sensitive_features=again[2], person=np.repeat(np.arange(300), 4)
    )
    assert private.data_["calibration people"] == private.evaluation_.people == 150
    assert "one row of each person counts" in private.statement_


def test_named_groups_are_in_the_sentence_and_others_are_left_out():
    table, truth, group = population(400)
    group[:12] = "x"
    private = fitted(table, truth, group, groups=["f", "m"])
    assert private.groups_ == private.evaluation_.groups == ("f", "m")
    assert "about people of the groups f, m; 12 people of other groups were left out" in (
        private.statement_
    )
    assert private.evaluation_.people == 194
    seen = fitted(table[12:], truth[12:], group[12:])
    assert "about people of the groups seen, f, m" in seen.statement_
    unseen = classifier(groups=["f", "m", "y"]).fit(
        table[12:], truth[12:], sensitive_features=group[12:]
    )
    assert unseen.evaluation_.groups == ("f", "m", "y")
    assert min(unseen.promise_.leasts.values()) > 5 * min(seen.promise_.leasts.values())
    with raises_input_error("two different groups"):
        fitted(table, truth, group, groups=["f"])


@pytest.mark.parametrize("how", gated(["merge", "exclude"]))
def test_rare_groups_are_one_or_left_out(how):
    """Twelve people of a group must not make every promise impossible."""
    table, truth, group = population(1200)
    group[:12] = "x"
    group[12:20] = "y"
    private = classifier(budget=0.02, rare_groups=how, rare_below=50)
    private.fit(table, truth, sensitive_features=group)
    assert private.groups_ == (("f", "m", RARE) if how == "merge" else ("f", "m"))
    assert private.evaluation_.at_most <= 0.02
    if how == "exclude":
        every = fitted(table, truth, group, budget=0.02)
        assert "20 people of other groups were left out" in private.statement_
        assert private.promise_.least < 0.5 * every.promise_.least
        assert private.promise_.taken.model_error < every.promise_.taken.model_error
    else:
        assert "groups of fewer than 50 fitted people are one" in private.statement_
        others, wanted, theirs = population(500, seed=1, groups="zm")
        curve = private.frontier(others, wanted, sensitive_features=theirs, points=2)
        assert curve.points[0].people.groups == ("f", "m", RARE)
    with raises_input_error("rare_groups"):
        fitted(table, truth, group, rare_groups="drop")
    with raises_input_error("rare_below"):
        fitted(table, truth, group, rare_groups=how, rare_below=5000)


@pytest.mark.gate
def test_a_rule_does_not_tell_how_few_people_of_a_group_got_a_guess():
    """The leakage of a group of seven follows from its counts, so neither the sentence nor the
    file states it, and the share of the lottery has two digits.
    """
    table, truth, group = population(1200)
    group[:14] = "x"
    private = fitted(table, truth, group, budget=0.1)
    lottery = private.promise_.taken.lottery.share
    assert 0.0 < lottery == 1.0 - float(f"{1.0 - lottery:.1e}")
    assert private.evaluation_.at_most <= 0.1
    exact = private.evaluation_.before.leakage.estimate
    people = private.rule_.document["about"]["people"]
    assert people["leakage"] is people["leakage_at_most"] is None
    assert f"{exact:.4g}" not in private.rule_.text


def test_an_evaluation_of_a_rule_is_about_whom_its_promise_is_about():
    table, truth, group = population(600)
    private = fitted(table, truth, group, groups=["f", "m"])
    group[:90] = "x"
    found = ds.evaluate(private, table, truth, sensitive_features=group)
    assert (found.groups, found.people, found.left_out) == (("f", "m"), 510, 90)
    why = "90 people were left out, since the promise is not about their groups"
    for sentence in (found.statement(0.1), found.statement(1e-9), found.cohort_statement(0.1)):
        assert sentence.endswith(why)
    assert found.to_dict()["left_out"] == 90
    every = evaluated(private.predict(table), truth, group)
    assert (every.groups, every.left_out) == (("f", "m", "x"), 0)
    named = evaluated(private.predict(table), truth, group, groups=["f", "m"])
    assert (named.table == found.table).all()
    plain = classifier(budget=None).fit(table, truth)
    assert ds.evaluate(plain, table, truth, sensitive_features=group).people == 600
    with raises_input_error("none of the 600 people"):
        ds.evaluate(private, table, truth, sensitive_features=table[:, 1] > 0)


def test_what_weights_touch_is_said():
    table, truth, group = population(400)
    private = classifier().fit(
        table, truth, sensitive_features=group, sample_weight=np.linspace(1.0, 2.0, 400)
    )
    assert "weights touch the fit and the design" in private.statement_


def test_tables_that_cannot_be_meant_are_refused_or_warned_of():
    table, truth, group = population(400)
    with raises_input_error("nothing to guess"):
        fitted(table, truth * 0, group)
    with raises_input_error("at least 3"):
        classifier().fit(table[:2], [0, 1], sensitive_features=["f", "m"])
    with raises_input_error("no one apart"):
        classifier(calibration=0.1).fit(table[:6], truth[:6], sensitive_features=[*"fmfmfm"])
    with pytest.warns(ds.InputWarning, match="are the same for everyone"):
        fitted(table, group == "f", group)
    numbered = np.column_stack([table, np.arange(400)])
    with pytest.warns(ds.InputWarning, match="column 2 has nearly as many numbers"):
        fitted(numbered, truth, group)
