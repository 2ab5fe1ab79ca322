"""`discreet advise`: JSON and nothing else, exit codes, one sentence for every mistake, and a table
people can read.
"""

import json

import command
import pytest
from solving import certified

import discreet as ds
from discreet.reports.measurements import reference_measurements, write_csv
from discreet.showing.numerals import span


def run(line):
    return command.run(f"advise {line}")


def test_json_says_what_python_says():
    result = run("paper-single:bins=64 --fraction 0.5 --gap 1e-6 --seconds 30 --json")
    record = json.loads(result.stdout)
    advice = ds.advise(ds.problems.paper_single(bins=64, fraction=0.5), 1e-6, 30.0)
    assert record == advice.to_dict()
    assert result.exit_code == (0 if advice.safe else 1)
    assert record["chosen"]["backend"] in ds.backends.backend_names()
    assert (
        record["chosen"]["low_seconds"]
        < record["chosen"]["predicted_seconds"]
        < record["chosen"]["high_seconds"]
    )
    certified(
        ds.problems.paper_single(bins=64, fraction=0.5),
        advice.backend,
        gap=advice.gap_to_ask,
        settings=advice.settings,
    )


def test_the_tables_name_the_choice_its_evidence_and_the_others():
    result = run("paper-multi:sensors=5 --perfect")
    for words in (
        "Advice for paper-multi",
        "nine times in ten",
        "Nearest measurements",
        "Not chosen",
        "measurements shipped",
    ):
        assert words in result.stdout


def test_local_results_are_taken_into_account(tmp_path):
    path = tmp_path / "mine.csv.gz"
    rows = reference_measurements()[:6]
    write_csv(rows, path)
    record = json.loads(run(f"paper-single --results {path} --json").stdout)
    assert record["local_rows"] == len(rows)


def test_advice_among_those_that_may_be_used():
    problem = "paper-single:bins=64 --fraction 0.5"
    found = run(f"{problem} --among conic:solver=scs,blahut-arimoto --json")
    record = json.loads(found.stdout)
    assert (found.exit_code, record["chosen"]["backend"]) == (0, "blahut-arimoto")
    assert list(record["not_chosen"]) == ["conic:solver=scs"]
    assert record["chosen"]["certified"] <= record["chosen"]["cases"]
    assert "comparable cases certified (at least " in run(problem).stdout
    none = run(f"{problem} --among highs --json")
    told = json.loads(none.stdout)
    assert (none.exit_code, told["chosen"], list(told["not_chosen"])) == (1, None, ["highs"])
    assert told["notes"] == [
        "of highs nothing can be advised here; the reasons are below, and others may serve"
    ]
    assert (
        json.loads(run(f"{problem} --among ipopt --json").stdout)["chosen"]["backend"] == "ipopt"
    )  # a peer, but named
    assert "there is no backend 'nobody'" in command.refused(f"advise {problem} --among nobody")
    with pytest.raises(ds.InputError, match="among "):
        ds.advise(ds.problems.paper_single(bins=4), among=[])


def test_nothing_safe_exits_with_one():
    result = run("paper-single:bins=64 --gap 1e-300 --json")
    assert result.exit_code == 1
    record = json.loads(result.stdout)
    assert record["safe"] is False
    assert any("no backend is safe" in note for note in record["notes"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("no-such-problem", "the catalog has no problem"),
        ("paper-single --gap 2", "give a relative gap"),
        ("paper-single --seconds -1", "give a positive number of seconds"),
        ("paper-single --perfect --leakage 0.1", "one"),
        ("paper-single --results nowhere-at-all", "there are no results at"),
        ("missing.npz", "missing.npz"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_two(arguments, words):
    result = run(arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("discreet: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_a_file_without_results_is_refused(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    result = run(f"paper-single --results {path}")
    assert result.exit_code == 2
    assert "not results of discreet bench" in result.stderr


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(4.2e-5, "42 µs"), (0.0064, "6.4 ms"), (0.25, "250 ms"), (3.21, "3.2 s"), (250.0, "250 s")],
)
def test_seconds_are_written_for_people(seconds, words):
    assert span(seconds) == words
