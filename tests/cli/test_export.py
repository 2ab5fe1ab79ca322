"""`discreet export`: files of one problem and of a study, what they say, and refusals."""

import csv
import hashlib
import json

import pytest
from command import done, recorded, refused

import discreet as ds

STUDY = """
name = "small"
[profiles.default]
gap = 1e-9
[[backends]]
name = "tilt"
[[instances]]
problem = "paper-single"
budgets = ["fraction=0.5", "perfect"]
parameters = { bins = [4, 8] }
note = "what it breaks"
"""


def test_one_problem_with_its_certified_bracket(tmp_path):
    path = tmp_path / "sensor.cbf"
    record = recorded(f"export paper-single:bins=8 --leakage 0.005 --out {path} --certify --json")
    problem = ds.problems.paper_single(bins=8, budget=0.005)
    assert record["problem"] == problem.digest
    best = ds.solve(problem).error_probability
    assert record["lower_bound"] <= best <= record["upper_bound"] <= best * (1.0 + 1e-9)
    text = path.read_text(encoding="ascii")
    assert f"[{record['lower_bound']!r}, {record['upper_bound']!r}]" in text
    done(f"export paper-single:bins=8 --leakage 0.005 --out {path}")
    assert "certified:" not in path.read_text(encoding="ascii")


def test_a_study_as_files_with_a_table_of_them(tmp_path):
    study = tmp_path / "small.toml"
    folder = tmp_path / "files"
    study.write_text(STUDY)
    said = done(f"export {study} --study --out {folder} --json")
    with (folder / "instances.csv").open(newline="") as stream:
        table = list(csv.DictReader(stream))
    assert [line["file"] for line in table] == [
        f"paper-single_bins_{bins}_{ending}"
        for bins in (4, 8)
        for ending in (
            "fraction_0.5.cbf",
            "fraction_0.5.json",
            "perfect.cbf",
            "perfect.mps",
            "perfect.json",
        )
    ]
    assert all(line["file"].startswith(f"{line['name']}.") for line in table)
    assert {line["note"] for line in table} == {"what it breaks"}
    assert [line["sha256"] for line in table] == [
        hashlib.sha256((folder / line["file"]).read_bytes()).hexdigest() for line in table
    ]
    assert [line["file"] for line in table] == [line["file"] for line in json.loads(said.stdout)]
    # Its own files are replaced.
    done(f"export {study} --study --out {folder}")


def test_a_file_in_the_way_and_an_input_are_left_alone(tmp_path):
    model = tmp_path / "model.npz"
    other = tmp_path / "other.cbf"
    ds.save_problem(str(model), ds.problems.paper_single(bins=4, budget=0.005))
    other.write_text("mine")
    assert "was not made here" in refused(f"export {model} --out {other}")
    assert other.read_text() == "mine"
    kept = model.read_bytes()
    assert "is an input" in refused(f"export {model} --format cbf --out {model} --force")
    assert model.read_bytes() == kept


@pytest.mark.parametrize(
    "words, said",
    {
        "paper-single --out a.mps": "makes no linear program",
        "paper-single --out a": "does not tell its format",
        "paper-single --out a.cbf --format xml": "there is no format 'xml'",
        "hrad --study --out a": "there is no study 'hrad' (did you mean 'hard'?)",
        "hard --study --out a --format xml": "there is no format 'xml'",
        "hard --study --out a --perfect": "a study states its own budgets",
    }.items(),
)
def test_what_cannot_be_done_is_one_sentence(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in refused("export", *words.split())
    assert not list(tmp_path.iterdir())
