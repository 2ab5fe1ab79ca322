"""A solved table as a rule for other people: probabilities, coins, files, evaluation."""

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_array_equal
from refusals import raises_input_error

import discreet as ds


def people(count, seed):
    rng = default_rng(seed)
    sex = rng.choice(["f", "m"], count)
    town = rng.choice(["n", "s", "w"], count)
    score = rng.normal(size=count) + 0.7 * (sex == "m")
    pay = np.where(score + (town == "n") + rng.normal(size=count) > 0.7, "high", "low")
    return {"sex": sex, "town": town, "score": score, "pay": pay}


@pytest.fixture(scope="module")
def solution():
    problem = ds.Problem.from_frame(
        people(20_000, 0), hide="sex", guess="pay", fraction=0.1, bins=20, seed=1
    )
    return ds.solve(problem, "tilt")


def test_on_the_people_of_the_table_it_does_what_was_certified():
    problem = ds.Problem.from_frame(
        people(5000, 0), hide="sex", guess="pay", fraction=0.1, bins=10, smoothing=0.0, seed=1
    )
    found = ds.solve(problem, "tilt")
    table = people(5000, 0)
    rule = ds.TableRule(found)
    chances = rule.predict_proba(table)
    right = chances[np.arange(5000), np.searchsorted(["high", "low"], table["pay"])]
    assert 1.0 - right.mean() == pytest.approx(found.error_probability, rel=1e-9)
    told = ds.evaluate(
        chances, None, table["pay"], sensitive_features=table["sex"], labels=rule.guesses
    )
    assert told.leakage.estimate == pytest.approx(found.leakage, rel=1e-6)


def test_it_guesses_for_new_people_and_is_evaluated_on_them(solution):
    rule = ds.TableRule(solution)
    new = people(30_000, 1)
    seen = {name: new[name] for name in ("score", "town")}
    guesses = rule.predict(seen)
    assert set(guesses.tolist()) == {"high", "low"} == set(rule.possible_guesses)
    found = ds.evaluate(rule, seen, new["pay"], sensitive_features=new["sex"])
    assert found.error.low <= solution.error_probability <= found.error.high
    assert found.leakage.low <= solution.leakage <= found.leakage.high
    assert (np.mean(guesses != new["pay"])) == pytest.approx(found.error.estimate)


def test_coins_are_sticky_and_survive_files_and_other_kinds_of_tables(solution, tmp_path):
    import pandas as pd

    rule = ds.TableRule(solution)
    new = people(3000, 2)
    chances = rule.predict_proba(new)
    assert (chances.max(axis=1) < 1.0).sum() > 20  # some guesses are drawn
    first = rule.predict(new)
    order = default_rng(0).permutation(3000)
    assert_array_equal(
        rule.predict({name: column[order] for name, column in new.items()}), first[order]
    )
    assert_array_equal(rule.predict(pd.DataFrame(new)), first)
    solution.save(tmp_path / "s.npz")
    stored = ds.TableRule(tmp_path / "s.npz")
    assert_array_equal(stored.predict(new), first)
    ids = np.arange(3000)
    by_id = rule.predict(new, ids=ids)
    assert_array_equal(rule.predict(new, ids=ids.astype(str)), by_id)
    assert (by_id != first).any()
    fresh = [rule.predict(new, fresh=default_rng(k)) for k in range(30)]
    assert (fresh[0] != fresh[1]).any()
    shares = np.mean(np.array(fresh) == "high", axis=0)
    assert shares.mean() == pytest.approx(chances[:, 0].mean(), abs=0.01)


def test_people_in_no_cell_fall_back(solution):
    rule = ds.TableRule(solution)
    placed = rule.outcome_of({"score": [0.0, np.nan, 0.0], "town": ["n", "n", "elsewhere"]})
    assert placed.fallback.tolist() == [False, True, True]
    assert rule.predict({"score": [0.0, np.nan, 0.0], "town": ["n", "n", "elsewhere"]}).shape == (
        3,
    )


def test_what_is_no_solved_table_is_refused(solution, tmp_path):
    plain = ds.solve(ds.problems.paper_single(bins=8), "tilt")
    plain.save(tmp_path / "plain.npz")
    for given, said in (
        (plain, "not made from a table"),
        (tmp_path / "plain.npz", "not made from a table"),
        (5, "5 is not a solution"),
        (ds.solve(solution.problem, "highs"), "holds no answer: unsupported"),
    ):
        with raises_input_error(said):
            ds.TableRule(given)
    with raises_input_error(r"ids .*\[1\].* 3000"):
        ds.TableRule(solution).predict(people(3000, 2), ids=[1])
