"""A table of people wherever a command takes a problem: parameters, warnings, refusals, other
people from the file.
"""

import json

import pytest
from command import done, people_columns, recorded, refused, run, solving_here, write_table

import discreet as ds


@pytest.fixture
def people(tmp_path, monkeypatch):
    """3,000 people in people.csv of the working folder."""
    columns = people_columns(3000)
    del columns["job"]
    monkeypatch.chdir(tmp_path)
    solving_here(monkeypatch)
    return write_table(tmp_path / "people.csv", **columns)


def test_a_table_is_solved_and_its_solution_guesses_for_other_people(people):
    spec = "people.csv:hide=sex,south,guess=income,edges.age=30,50,60,seed=3"
    record = recorded(f"solve {spec} --fraction 0.2 --backend tilt --out answer.npz --json")
    assert (record["problem"], record["private_values"], record["outcomes"]) == ("people.csv", 4, 4)
    rule = ds.TableRule("answer.npz")
    assert rule.samples.seed == 3
    assert rule.samples.columns[0].edges.tolist() == [30.0, 50.0, 60.0]
    assert rule.predict({"age": [20, 75]}).tolist() == ["low", "high"]


def test_parameters_are_those_of_from_frame(people):
    parameters = (
        "hide=sex guess=income bins.age=6 bins.south=none smoothing=0 min_count=9"
        " missing=category use=age,south"
    )
    asked = " ".join(f"--set {each}" for each in parameters.split())
    record = recorded(f"solve people.csv {asked} --measure parity-difference --leakage 0.1 --json")
    assert (record["measure"], record["budget"], record["outcomes"]) == (
        "parity-difference",
        0.1,
        12,
    )
    odds = run(
        "solve people.csv:hide=sex,guess=income --perfect --json"
        " --measure conditional-mutual-information"
    )
    assert json.loads(odds.stdout)["private_values"] == 4
    assert "people.csv:hide=sex,guess=income,bins.age=6" in run("solve --help").stdout


def test_other_commands_take_tables_and_spare_them(people):
    spec = "people.csv:hide=sex,guess=income"
    before = people.read_bytes()
    done(f"solve {spec} --out answer.npz")
    done(f"audit {spec} answer.npz")
    done(f"verify {spec} answer.npz")
    assert "is an input" in refused(f"solve {spec} --out people.csv --force")
    assert people.read_bytes() == before


def test_few_people_are_a_warning_in_one_sentence(people):
    lines = people.read_text().splitlines()[:100]
    people.write_text("\n".join(lines) + "\n")
    with pytest.warns(ds.FewRecordsWarning, match="^99 people "):
        run("solve people.csv:hide=sex,guess=income,bins.age=12 --backend tilt")


@pytest.mark.parametrize(
    "spec, said",
    {
        "people.csv": "it is not stated what to hide; write people.csv:hide=COLUMN,guess=COLUMN",
        "people.csv:hide=sex": "it is not stated what to guess",
        "people.csv:hide=sex,guess=incom": "no column 'incom' (did you mean 'income'?)",
        "people.csv:hide=sex,guess=age": "so it is a measurement and cannot be guessed",
        "people.csv:hide=sex,guess=income,bin=3": "no parameter 'bin' (did you mean 'bins'?)",
        "people.csv:hide=sex,guess=income,edges.age=a": "edges.age of the table is 'a'",
        "people.csv:hide=sex,guess=income,bins=3,bins.age=4": "bins is given for all",
        "nobody.parquet:hide=sex,guess=income": "nobody.parquet cannot be read",
    }.items(),
)
def test_bad_tables_are_refused_in_one_sentence(people, spec, said):
    assert said in refused(f"solve {spec} --backend tilt")
