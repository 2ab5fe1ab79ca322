"""`discreet advise`: JSON and nothing else, exit codes, and one sentence for every mistake."""

import json

import pytest
from command import recorded, refused, run
from refusals import raises_input_error
from solving import assert_certified

import discreet as ds
from discreet.reports.measurements import reference_measurements, write_csv


def test_json_says_what_python_says():
    problem = ds.problems.paper_single(bins=64, fraction=0.5)
    advice = ds.advise(problem, 1e-6, 30.0)
    record = recorded(
        "advise paper-single:bins=64 --fraction 0.5 --gap 1e-6 --seconds 30 --json",
        code=0 if advice.safe else 1,
    )
    assert record == advice.to_dict()
    chosen = record["chosen"]
    assert chosen["backend"] in ds.backends.backend_names()
    assert chosen["low_seconds"] < chosen["predicted_seconds"] < chosen["high_seconds"]
    assert_certified(problem, advice.backend, gap=advice.gap_to_ask, settings=advice.settings)


def test_local_results_are_taken_into_account(tmp_path):
    path = tmp_path / "mine.csv.gz"
    write_csv(reference_measurements()[:6], path)
    asked = run(f"advise paper-single --results {path} --json")
    assert json.loads(asked.stdout)["local_rows"] == 6


def test_advice_among_those_that_may_be_used():
    problem = "advise paper-single:bins=64 --fraction 0.5"
    record = recorded(f"{problem} --among conic:solver=scs,blahut-arimoto --json")
    assert record["chosen"]["backend"] == "blahut-arimoto"
    assert list(record["not_chosen"]) == ["conic:solver=scs"]
    assert record["chosen"]["certified"] <= record["chosen"]["cases"]
    assert "comparable cases certified (at least " in run(problem).stdout
    told = recorded(f"{problem} --among highs --json", code=1)
    assert (told["chosen"], list(told["not_chosen"])) == (None, ["highs"])
    assert told["notes"] == [
        "of highs nothing can be advised here; the reasons are below, and others may serve"
    ]
    peer = run(f"{problem} --among ipopt --json")
    assert json.loads(peer.stdout)["chosen"]["backend"] == "ipopt"  # a peer, but named
    assert "there is no backend 'nobody'" in refused(f"{problem} --among nobody")
    with raises_input_error("among "):
        ds.advise(ds.problems.paper_single(bins=4), among=[])


def test_nothing_safe_exits_with_one():
    record = recorded("advise paper-single:bins=64 --gap 1e-300 --json", code=1)
    assert record["safe"] is False
    assert any("no backend is safe" in note for note in record["notes"])


@pytest.mark.parametrize(
    "arguments, words",
    {
        "paper-single --gap 2": "give a relative gap",
        "paper-single --seconds -1": "give a positive number of seconds",
        "paper-single --results nowhere-at-all": "there are no results at",
        "paper-single --results notes.csv": "not results of discreet bench",
    }.items(),
)
def test_a_mistake_is_one_sentence_and_exit_code_two(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    assert words in refused(f"advise {arguments}")
