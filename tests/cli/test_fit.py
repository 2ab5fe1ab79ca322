"""`discreet fit`, `predict` and `evaluate` of a rule: from a table to guesses, exit codes,
refusals, nothing overwritten.
"""

import contextlib
import csv
import json
import sys

import duckdb
import pytest
from command import done, people_columns, recorded, refused, run, write_table
from few_trees import grow_few_trees

import discreet as ds
from discreet.people import classifier, promise, saving


def write(path, count, seed):
    return write_table(path, customer=range(count), **people_columns(count, seed))


@pytest.fixture(scope="module", autouse=True)
def few_trees():
    """These tests are about commands: a few trees are enough to guess, and every second rung of the
    ladder to promise.
    """
    with pytest.MonkeyPatch.context() as patch:
        grow_few_trees(patch)
        rungs = promise.LADDER[1::2]
        for module in (classifier, promise, saving):
            patch.setattr(module, "LADDER", rungs)
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with people, others, and a rule that the command fitted."""
    found = tmp_path_factory.mktemp("people")
    write(found / "people.csv", 900, 0)
    write(found / "others.csv", 600, 1)
    fitted = done(f"fit {found / 'people.csv'} {ASKED} --leakage 0.1 --out {found / 'rule'} --json")
    (found / "said.json").write_text(fitted.stdout)
    return found


ASKED = "--hide sex --guess income --ignore customer --seed 0 --calibration 0.5"


def test_fit_writes_a_rule_and_says_what_it_promises(place):
    said = json.loads((place / "said.json").read_text())
    assert said["statement"].startswith("holds for people, 95 %")
    assert said["asked"] == {
        "budget": 0.1,
        "fraction": None,
        "measure": "mutual-information",
        "unit": "nats",
        "confidence": 0.95,
        "hide": ["sex"],
        "guess": ["income"],
    }
    assert said["data"]["columns"] == ["age", "job", "south"]
    assert {"file": "people.csv", "people": 900, "calibration people": 450}.items() <= said[
        "data"
    ].items()
    rule = ds.DeployedRule.load(place / "rule")
    assert rule.rule.guesses == ("high", "low")
    assert sorted(path.name for path in (place / "rule").iterdir()) == [
        "card.html",
        "card.json",
        "made-by-discreet.json",
        "model.onnx",
        "rule.json",
    ]


def test_predict_guesses_for_everybody_in_their_order(place, tmp_path):
    rule = str(place / "rule")
    people = str(place / "others.csv")
    out = tmp_path / "guesses.csv"
    said = done(f"predict {rule} {people} --out {out} --id customer --probabilities --json")
    rows = [*csv.reader(out.read_text().splitlines())]
    assert rows[0] == ["customer", "guess", "p(high)", "p(low)"]
    assert [row[0] for row in rows[1:]] == [str(k) for k in range(600)]
    record = json.loads(said.stdout)
    assert record["people"] == 600
    assert record["guesses"] == {
        each: sum(row[1] == each for row in rows) for each in ("high", "low")
    }
    printed = run(f"predict {rule} {people} --id customer").stdout.splitlines()
    assert printed == [",".join(row[:2]) for row in rows]


def test_predict_needs_ids_for_a_lottery_and_the_key_for_coins(place, tmp_path, monkeypatch):
    asked = f"predict {place / 'rule'} {place / 'others.csv'}"
    said = refused(asked)
    assert "the coin must depend on the person's id" in said
    assert "give --id COLUMN" in said
    done(f"{asked} --fresh")
    printed = run(f"{asked} --id customer").stdout
    moved = tmp_path / "rule"
    moved.mkdir()
    for each in (place / "rule").iterdir():
        (moved / each.name).write_bytes(each.read_bytes())
    asked = f"predict {moved} {place / 'others.csv'} --id customer"
    with pytest.warns(UserWarning, match="was not checked"):
        assert "their key is not known; give key=" in refused(asked)
    monkeypatch.setenv("DISCREET_KEY", str(place / "rule.key"))
    assert run(asked).stdout == printed
    text = (moved / "rule.json").read_text()
    assert "95 %" in text
    (moved / "rule.json").write_text(text.replace("95 %", "99 %"))
    assert "its checksum does not fit" in refused(asked)


def test_parquet_goes_in_and_out(place, tmp_path):
    people = tmp_path / "others.parquet"
    out = tmp_path / "guesses.parquet"
    with duckdb.connect() as engine:
        engine.execute(f"COPY (SELECT * FROM '{place / 'others.csv'}') TO '{people}'")
        done(f"predict {place / 'rule'} {people} --id customer --out {out}")
        found = engine.execute(f"SELECT customer, guess FROM '{out}'").fetchall()
    printed = run(
        f"predict {place / 'rule'} {place / 'others.csv'} --id customer"
    ).stdout.splitlines()
    assert [f"{who},{guess}" for who, guess in found] == printed[1:]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_people_are_read_some_at_a_time_and_an_interruption_leaves_nothing(
    place, tmp_path, monkeypatch, ending
):
    """The file contains what one reading of all people gives."""
    from discreet.files import tables
    from discreet.files.tables import read_table
    from discreet.people.folder import DeployedRule

    asked = f"predict {place / 'rule'} {place / 'others.csv'} --id customer"
    asked = f"{asked} --probabilities --out"
    at_once = tmp_path / f"at-once.{ending}"
    done(f"{asked} {at_once}")
    monkeypatch.setattr(tables, "TOGETHER", 100)
    honest = DeployedRule.decide
    seen = []

    def decide(self, table, *more):
        seen.append(len(table["age"]))
        if len(seen) == 3:
            raise KeyboardInterrupt
        return honest(self, table, *more)

    monkeypatch.setattr(DeployedRule, "decide", decide)
    out = tmp_path / f"guesses.{ending}"
    stopped = run(f"{asked} {out}")
    assert (stopped.exit_code, stopped.stdout) == (130, "")
    assert [path.name for path in tmp_path.iterdir()] == [at_once.name]
    said = done(f"{asked} {out} --json")
    assert seen == [100] * 9
    assert json.loads(said.stdout)["people"] == 600
    parts = read_table(out)
    for name, column in read_table(at_once).items():
        assert column.tolist() == parts[name].tolist(), name
    if ending == "csv":
        assert out.read_bytes() == at_once.read_bytes()
        assert run(asked.removesuffix(" --out")).stdout == out.read_text()


def test_a_promise_that_new_people_break_is_exit_code_1(place, tmp_path):
    """In other people the guess gives the sex away; those of the held-out table only leave the
    budget unproven.
    """
    text = (place / "others.csv").read_text().splitlines()
    broken = tmp_path / "broken.csv"
    asked = f"predict {place / 'rule'} {place / 'others.csv'} --id customer"
    guesses = [line.split(",")[1] for line in run(asked).stdout.splitlines()[1:]]
    cells = [line.split(",") for line in text[1:]]
    lines = [
        ",".join([*row[:3], "fm"[guess == "high"], *row[4:]])
        for row, guess in zip(cells, guesses, strict=True)
    ]
    broken.write_text("\n".join([text[0], *lines]) + "\n")
    said = done(f"evaluate {place / 'rule'} {broken}", code=1)
    assert "broken for people, 95 %" in " ".join(said.stdout.split())
    few = tmp_path / "few.csv"
    few.write_text("\n".join(text[:40]) + "\n")
    done(f"evaluate {place / 'rule'} {few}")
    done(f"evaluate {place / 'rule'} {few} --leakage 0.1", code=1)
    cohort = done(f"evaluate {place / 'rule'} {few} --leakage 0.5 --cohort")
    assert "holds exactly for this cohort of 39 people" in " ".join(cohort.stdout.split())
    done(f"evaluate {place / 'rule'} {broken} --leakage 0.1 --cohort", code=1)


def test_another_measure_and_a_fraction(place, tmp_path):
    asked = f"{ASKED} --fraction 0.5 --measure total-variation --out {tmp_path / 'rule'}"
    said = done(f"fit {place / 'people.csv'} {asked}")
    assert "total-variation" in " ".join(said.stdout.split())


@pytest.mark.gate
def test_each_secret_may_have_a_budget_and_a_measure_of_its_own(place, tmp_path):
    rule = str(tmp_path / "rule")
    people = str(place / "others.csv")
    budgets = "--leakage sex=0.2 --leakage south=0.5 --measure south=parity-difference"
    said = done(f"fit {place / 'people.csv'} {ASKED} --hide south {budgets} --out {rule}")
    words = " ".join(said.stdout.split())
    assert "the budgets of 0.2 nats about sex and 0.5 of parity-difference about south" in words
    assert "leaks at most about south" in words
    record = recorded(f"evaluate {rule} {people} --json")
    assert record["budget"] == {"sex": 0.2, "south": 0.5}
    assert record["secrets"]["south"]["measure"] == "parity-difference"
    done(f"evaluate {rule} {people} --leakage sex=0.000001", code=1)
    assert "of 0.2 nats about sex" in run(f"evaluate {rule} {people} --hide sex").stdout.replace(
        "\n", " "
    )


def test_nothing_is_overwritten_without_force(place, tmp_path):
    mine = tmp_path / "guesses.csv"
    mine.write_text("mine")
    rule = str(place / "rule")
    people = str(place / "others.csv")
    assert "--force" in refused(f"predict {rule} {people} --out {mine}")
    assert mine.read_text() == "mine"
    assert "is an input" in refused(f"predict {rule} {people} --out {people} --force")
    done(f"predict {rule} {people} --id customer --out {mine} --force")
    (tmp_path / "rule.key").write_text("mine")
    asked = ASKED.replace("--seed 0", "")
    said = refused(f"fit {people} {asked} --leakage 0.1 --out {tmp_path / 'rule'}")
    assert "rule.key may hold the key of another rule" in said
    assert (tmp_path / "rule.key").read_text() == "mine"
    taken = tmp_path / "rule"
    taken.mkdir()
    (taken / "card.html").write_text("mine")
    assert "--force" in refused(f"fit {people} {ASKED} --leakage 0.1 --out {taken}")


@pytest.mark.parametrize(
    "more, complaint",
    {
        "--leakage 0.1 --fraction 0.5": "one of --leakage and --fraction",
        "": "one of --leakage and --fraction",
        "--leakage a": "'a'",
        "--leakage sex=0.1 --leakage 0.1": "--leakage",
        "--hide south --leakage sex=0.1": "'south'",
        "--leakage 0.1 --hide sexe": "'sex'?",
        "--leakage 0.1 --measure guilt": "'guilt'",
        "--leakage 0.1 --hide income": "'income'",
    }.items(),
)
def test_bad_input_is_one_sentence(place, tmp_path, more, complaint):
    assert complaint in refused(
        f"fit {place / 'people.csv'} {ASKED} {more} --out {tmp_path / 'rule'}"
    )
    assert not (tmp_path / "rule").exists()


@pytest.mark.parametrize(
    "cells, complaint",
    {
        "x,m,\n": "column 'income' of {0} is empty for 1 people, first in row 1",
        "x,m,1.5\ny,f,2.25\n": "column 'income' of {0} holds measurements; cut it into ranges",
        "x,m,1\ny,f,1\nz,f,1\n": "column 'income' of {0} is the same for everybody",
        "x,m,1\ny,m,2\nz,m,2\n": "column 'sex' of {0} is the same for everybody",
        "x,m,1\ny,f,2\n": "2 people; give at least 3",
        "x,m,1\ny,f,2\nz,f,2\n": "3 people, of whom calibration=0.1 keeps no one apart",
    }.items(),
)
def test_labels_that_are_none_are_refused(tmp_path, cells, complaint):
    people = tmp_path / "people.csv"
    people.write_text("job,sex,income\n" + cells)
    asked = f"--hide sex --guess income --leakage 0.1 --calibration 0.1 --out {tmp_path / 'rule'}"
    assert complaint.format(people) in refused(f"fit {people} {asked}")


def test_what_is_no_rule_or_lacks_a_column_is_refused(place, tmp_path):
    people = str(place / "people.csv")
    assert "not a folder with a rule" in refused(f"predict {people} {people}")
    assert "say what is what" in refused(f"evaluate {people}")
    assert "say where with --out" in refused(f"predict {place / 'rule'} {people} --json")
    less = tmp_path / "less.csv"
    less.write_text("age,sex\n30,f\n")
    assert "no column 'job', which the rule reads" in refused(f"predict {place / 'rule'} {less}")
    assert "no column 'custom'" in refused(f"predict {place / 'rule'} {people} --id custom")


@pytest.mark.parametrize(
    "asked", ["predict RULE FILE --id customer", "evaluate RULE FILE --truth income"]
)
@pytest.mark.parametrize("lines", [0, 1])
def test_a_table_without_people_is_refused(place, tmp_path, asked, lines):
    empty = tmp_path / "empty.csv"
    text = (place / "people.csv").read_text(encoding="utf-8").splitlines()
    empty.write_text("\n".join(text[:lines]), encoding="utf-8")
    line = asked.replace("RULE", str(place / "rule")).replace("FILE", str(empty))
    assert f"{empty} has no people" in refused(line)


def test_what_is_not_installed_is_said_before_anything_is_fitted(place, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    asked = f"fit {place / 'people.csv'} {ASKED} --leakage 0.1 --out {tmp_path / 'rule'}"
    assert 'pip install "discreet[people,onnx]"' in refused(asked)
    assert not (tmp_path / "rule").exists()


@pytest.mark.parametrize(
    "cell, kind",
    {
        "name {}": "texts",
        "{}": "numbers",
        "{}.0": "numbers",
        "{}.5": "",
    }.items(),
)
def test_a_column_that_names_people_is_pointed_out(tmp_path, cell, kind):
    people = tmp_path / "people.csv"
    lines = [f"{cell.format(k % 60)},{k % 7},{'fm'[k % 2]},{'yn'[k % 3 == 0]}" for k in range(72)]
    people.write_text("\n".join(["name,n,sex,paid", *lines]) + "\n")
    asked = f"fit {people} --hide sex --guess paid --leakage 1 --out {tmp_path / 'rule'}"
    warns = pytest.warns(ds.InputWarning, match=f"'name' has nearly as many {kind}")
    with warns if kind else contextlib.nullcontext():
        done(asked)


def test_a_rule_that_is_constant_says_so_first_and_may_fail(place, tmp_path):
    asked = f"fit {place / 'people.csv'} {ASKED} --leakage 0"
    card = recorded(f"{asked} --out {tmp_path / 'rule'} --fail-if-constant --json", code=1)
    assert card["constant"] is True
    assert card["statement"].startswith("CONSTANT: ")
    assert 0.0 < card["least"] < 0.1
    done(f"{asked} --out {tmp_path / 'other'}")
    page = (tmp_path / "rule" / "card.html").read_text()
    assert page.index("CONSTANT") < page.index("What it does to people")


def test_expected_errors_are_drawn_before_a_budget_is_chosen(place, tmp_path):
    out = tmp_path / "prospects"
    points = recorded(f"fit {place / 'people.csv'} {ASKED} --frontier --out {out} --json")["points"]
    assert len(points) == 24
    assert points[0]["error"] > points[-1]["error"]
    assert (out / "prospects.svg").read_text().startswith("<svg")
    drawn = run(f"fit {place / 'people.csv'} {ASKED} --frontier --out {out} --force")
    assert "lottery" in drawn.stdout


def test_groups_persons_and_rare_groups_are_options(place, tmp_path):
    asked = f"fit {place / 'people.csv'} {ASKED} --leakage 0.2"
    assert "two different groups" in refused(f"{asked} --groups f --out {tmp_path / 'rule'}")
    found = run(f"{asked} --groups f,m --person customer --out {tmp_path / 'rule'}")
    assert "about people of the groups f, m" in " ".join(found.stdout.split())
    assert "promise is 'sure'" in refused(f"{asked} --promise sure --out {tmp_path / 'other'}")
    assert "rare_groups" in refused(f"{asked} --rare drop --out {tmp_path / 'other'}")


def write_rows(path, rows):
    """A table of these people."""
    return write_table(path, **{name: [row[name] for row in rows] for name in rows[0]})


@pytest.mark.gate
def test_a_group_that_nobody_named_belongs_to_the_rare_ones(place, tmp_path):
    """A promise about "other groups" is about everybody whose group was rare or not seen."""
    renamed = {}
    for name, others in (("people.csv", "xyz"), ("others.csv", "uvw")):
        rows = [*csv.DictReader((place / name).read_text().splitlines())]
        for row in rows[::20]:
            row["sex"] = others[int(row["age"]) % 3]
        renamed[name] = write_rows(tmp_path / name, rows)
    rule = tmp_path / "rule"
    asked = f"{ASKED} --hide south --rare merge --rare-below 60"
    done(f"fit {renamed['people.csv']} {asked} --leakage 0.3 --out {rule}")
    record = recorded(f"evaluate {rule} {renamed['others.csv']} --json")
    assert record["groups"][-1] == "other groups"
    assert len(record["groups"]) == 5
    assert not {"u", "v", "w"} & {*record["groups"]}
    assert sum(map(sum, record["table"])) == pytest.approx(600)
    # Each of several columns has its own values, since they were not joined.
    assert [len(each["groups"]) for each in record["secrets"].values()] == [5, 2]


STRANGERS = "\n".join(f"{900 + k},79,cook,x,{k % 2},high" for k in range(300))


def with_strangers(place, path):
    """The other people, and 300 of a third group."""
    path.write_text((place / "others.csv").read_text() + STRANGERS + "\n")
    return path


@pytest.mark.gate
def test_people_to_whom_nothing_was_promised_break_no_promise(place, tmp_path):
    """A third group, all of whom are old, is not part of a promise about f and m."""
    table = with_strangers(place, tmp_path / "others.csv")
    alone = recorded(f"evaluate {place / 'rule'} {place / 'others.csv'} --json")
    found = run(f"evaluate {place / 'rule'} {table} --json")
    assert found.exit_code == 0, found.stdout
    record = json.loads(found.stdout)
    why = "300 people were left out, since the promise is not about their groups"
    assert record["statement"] == f"{alone['statement']}; {why}"
    assert (alone["left_out"], record["left_out"]) == (0, 300)
    assert record["groups"] == ["f", "m"]
    assert record["table"] == alone["table"]
    assert why in " ".join(run(f"evaluate {place / 'rule'} {table}").stdout.split())
    cohort = recorded(f"evaluate {place / 'rule'} {table} --cohort --json")
    assert cohort["statement"].endswith(why)
    # A budget of one's own is about everybody in the table, as guesses without a rule are.
    own = recorded(f"evaluate {place / 'rule'} {table} --leakage 0.1 --json", code=1)
    assert own["statement"].startswith("broken for people")
    assert (own["people"], own["groups"], own["left_out"]) == (900, ["f", "m", "x"], 0)
    nobody = tmp_path / "nobody.csv"
    nobody.write_text(table.read_text().splitlines()[0] + "\n" + STRANGERS + "\n")
    assert "none of the 300 people" in refused(f"evaluate {place / 'rule'} {nobody}")


@pytest.mark.gate
@pytest.mark.parametrize(
    "how, hide",
    [("--rare exclude --rare-below 60", ""), ("--groups sex=f,m", "--hide south --hide sex")],
)
def test_a_promise_about_two_columns_is_about_who_is_within_both(place, tmp_path, how, hide):
    rows = [*csv.DictReader((place / "people.csv").read_text().splitlines())]
    for row in rows[::25]:
        row["sex"] = "x"
    table = write_rows(tmp_path / "people.csv", rows)
    rule = tmp_path / "rule"
    asked = f"{ASKED} --hide south --leakage sex=0.3 --leakage south=0.3 {how}"
    fitted = run(f"fit {table} {asked} --out {rule}")
    assert fitted.exit_code == 0, fitted.stderr
    record = recorded(f"evaluate {rule} {table} {hide} --json")
    assert (record["people"], record["left_out"]) == (864, 36)
    assert {*record["secrets"]["sex"]["groups"]} == {"f", "m"}


@pytest.mark.gate
def test_a_promise_about_combinations_is_about_their_values_in_each_column(place, tmp_path):
    table = with_strangers(place, tmp_path / "others.csv")
    rule = tmp_path / "rule"
    asked = f"{ASKED} --hide south --leakage 0.3 --out {rule}"
    assert run(f"fit {place / 'people.csv'} {asked}").exit_code == 0
    for hide, left_out in (("", 300), ("--hide sex", 300), ("--hide south", 0)):
        found = run(f"evaluate {rule} {table} {hide} --json")
        assert found.exit_code == 0, found.stdout
        record = json.loads(found.stdout)
        assert (record["people"], record["left_out"]) == (900 - left_out, left_out)
        assert record["budget"] == 0.3
    other = recorded(f"evaluate {rule} {table} --hide job --json")
    assert other["budget"] is None


def test_plan_says_how_many_people_a_promise_needs():
    found = run("plan --leakage 0.05 --measure parity-difference --groups 0.8,0.2 --json")
    needed = json.loads(found.stdout)["calibration_people"]
    assert 1000 < needed < 4000
    assert (
        f"{needed:,}"
        in run("plan --leakage 0.05 --measure parity-difference --groups 0.8,0.2").stdout
    )
    assert "--groups is 'many'" in refused("plan --leakage 0.05 --groups many")
