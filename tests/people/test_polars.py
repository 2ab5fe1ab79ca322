"""Tables of Polars go in wherever those of pandas do, and guesses come out as a Polars column."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from evaluating import evaluated
from few_trees import grow_few_trees
from test_deployment import table

import discreet as ds


@pytest.fixture(scope="module")
def tables():
    """Return a table of pandas and of Polars: numbers, texts, times and missing cells."""
    frame, truth, sex = table(600)
    seen = frame[["age", "hours per week", "job", "since"]]
    hidden = pd.DataFrame({"sex": sex, "south": np.where(frame["own"], "a", "b")})
    return [
        (seen, hidden, pd.Series(truth, name="paid")),
        (in_polars(seen), in_polars(hidden), pl.Series("paid", truth.tolist())),
    ]


def in_polars(frame):
    """The same table; a missing cell is null."""
    cells = frame.astype(object).where(frame.notna(), None)
    return pl.DataFrame({name: column.tolist() for name, column in cells.items()})


@pytest.fixture(scope="module")
def fitted(tables):
    with pytest.MonkeyPatch.context() as patch:
        grow_few_trees(patch)
        return [
            ds.PrivateClassifier(budget=0.3, random_state=0).fit(
                seen, truth, sensitive_features=hidden["sex"]
            )
            for seen, hidden, truth in tables
        ]


def test_a_classifier_is_the_same_for_polars_and_pandas(fitted, tables):
    ours, theirs = fitted
    assert ours.statement_ == theirs.statement_
    assert ours.groups_ == theirs.groups_
    (first, *_), (second, *_) = tables
    chances = [ours.predict_proba(first), theirs.predict_proba(second)]
    np.testing.assert_array_equal(*chances)
    guesses = theirs.predict(second, range(600))
    assert isinstance(guesses, pl.Series)
    assert guesses.name == "guess"
    assert guesses.to_list() == ours.predict(first, range(600)).tolist()
    assert isinstance(ours.predict(first, range(600)), np.ndarray)


def test_a_deployed_rule_reads_polars(fitted, tables, tmp_path):
    second, hidden, truth = tables[1]
    fitted[1].save(tmp_path / "rule", second)
    rule = ds.DeployedRule.load(tmp_path / "rule")
    guesses = rule.predict(second, range(600))
    assert isinstance(guesses, pl.Series)
    assert guesses.to_list() == fitted[1].predict(second, range(600)).to_list()
    assert rule.predict(tables[0][0], range(600)).tolist() == guesses.to_list()
    of_rule = ds.evaluate(rule, second, truth, sensitive_features=hidden["sex"], ids=range(600))
    of_guesses = evaluated(guesses, truth, hidden["sex"])
    assert of_rule.to_dict() == of_guesses.to_dict()
    assert of_rule.cohort_statement() == of_guesses.cohort_statement()


def test_an_evaluation_is_the_same_for_polars_and_pandas(tables):
    ours, theirs = (evaluated(truth, truth, hidden) for _, hidden, truth in tables)
    assert ours.groups == theirs.groups
    assert list(ours.secrets) == list(theirs.secrets) == ["sex", "south"]
    np.testing.assert_array_equal(ours.table, theirs.table)
