"""`discreet evaluate`: the numbers of `ds.evaluate`, exit codes and refusals."""

import gzip

import numpy as np
import pytest
from command import people_columns, recorded, refused, run, write_table

import discreet as ds

ASKED = "--hide sex --truth income --guesses guess"


@pytest.fixture
def people(tmp_path):
    """400 people of two sexes: limits for more groups take much longer."""
    columns = people_columns(400)
    guess = np.where(columns["age"] % 9, columns["income"], "low")
    return write_table(tmp_path / "people.csv", guess=guess, **columns)


def test_it_prints_the_numbers_of_evaluate(people):
    record = recorded(f"evaluate {people} {ASKED} --json")
    rows = [line.split(",") for line in people.read_text().splitlines()[1:]]
    guess, _, _, sex, _, income = zip(*rows, strict=True)
    expected = ds.evaluate(guess, None, income, sensitive_features=sex)
    assert record == {
        "statement": expected.statement(),
        "budget": None,
        "holds": None,
        "left_out": 0,
        **expected.to_dict(),
    }
    assert record["groups"] == ["f", "m"]
    words = run(f"evaluate {people} {ASKED}").stdout
    for name in ("errors", "maximal-leakage", "change of odds", "high", expected.statement()):
        assert name in words.replace("\n", " ") or name in words


@pytest.mark.parametrize(
    "budget, code, said",
    [("0.5", 0, "holds"), ("0.12", 1, "not shown"), ("1e-6", 1, "broken")],
)
def test_the_exit_code_says_whether_the_budget_holds_for_people(people, budget, code, said):
    assert recorded(f"evaluate {people} {ASKED} --leakage {budget} --json", code=code)[
        "statement"
    ].startswith(f"{said} for people, 95 %: ")


def test_no_constraint_on_a_column_is_null_in_the_record(people):
    assert recorded(
        f"evaluate {people} {ASKED} --hide south --leakage sex=0.5 --leakage south=inf --json"
    )["budget"] == {"sex": 0.5, "south": None}


@pytest.mark.gate
def test_several_columns_measures_and_packed_files(people):
    packed = people.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + people.read_bytes()))
    more = "--hide south --measure parity-difference --confidence 0.5 --json"
    found = recorded(f"evaluate {packed} {ASKED} {more}")
    assert len(found["groups"]) == 4
    assert all(group.startswith("sex=") and ", south=" in group for group in found["groups"])
    assert (found["measure"], found["confidence"]) == ("parity-difference", 0.5)


def test_options_that_are_wrong_are_refused(people):
    assert "confidence is 2.0" in refused(f"evaluate {people} {ASKED} --confidence 2")
    assert "leakage budget is -1" in refused(f"evaluate {people} {ASKED} --leakage -1")
    assert "there is no measure" in refused(f"evaluate {people} {ASKED} --measure x")
    assert "--hide" in refused(f"evaluate {people} --truth income --guesses guess")


def test_impact_ratios_are_about_the_guess_that_selects(people):
    words = run(f"evaluate {people} {ASKED} --selected high").stdout
    of_all = run(f"evaluate {people} {ASKED}").stdout
    ratios, of_all = (
        each.partition("Impact ratios")[2].partition("How large") for each in (words, of_all)
    )
    assert "high" in ratios[0]
    assert "low" not in ratios[0]
    assert "low" in of_all[0]
    assert "'hgh'" in refused(f"evaluate {people} {ASKED} --selected hgh")


@pytest.fixture(scope="module")
def rule_about_numbers(tmp_path_factory):
    """A folder with a rule that hides a group written as 0 or 1, and 400 people of these groups."""
    rng = np.random.default_rng(0)
    seen = rng.normal(size=400)
    group = (rng.random(400) < 1 / (1 + np.exp(-seen))).astype(int)
    paid = np.where(rng.random(400) < 1 / (1 + np.exp(-2 * seen)), "yes", "no")
    folder = tmp_path_factory.mktemp("numbers")
    fitted = write_table(folder / "people.csv", seen=seen, group=group, paid=paid)
    asked = "--hide group --guess paid --leakage 0.3 --seed 0"
    run(f"fit {fitted} {asked} --out {folder / 'rule'}")
    return folder / "rule", fitted


def test_a_text_in_a_column_of_groups_does_not_hide_the_groups_that_are_numbers(
    rule_about_numbers, tmp_path
):
    rule, fitted = rule_about_numbers
    more = tmp_path / "more.csv"
    more.write_text(fitted.read_text() + "0.1,unknown,yes\n")
    before = recorded(f"evaluate {rule} {fitted} --json")
    found = recorded(f"evaluate {rule} {more} --json")
    assert (found["people"], found["left_out"]) == (400, 1)
    assert found["table"] == before["table"]


def test_groups_that_were_texts_are_found_in_a_column_of_numbers(tmp_path):
    sex = np.repeat(["0", "1"], 50)
    found = ds.evaluate(sex, None, sex, sensitive_features=(sex == "1") * 1.0, groups=["0", "1"])
    assert found.groups == ("0", "1")
    assert found.table.tolist() == [[50.0, 0.0], [0.0, 50.0]]
