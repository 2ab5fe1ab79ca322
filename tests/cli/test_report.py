"""`discreet report` as people type it: pages, snapshots, numbers, and mistakes that
lose nothing.
"""

import contextlib
import json
from functools import cache

import command
import pytest

from discreet.reports.html import report_numbers
from discreet.reports.measurements import reference_measurements, write_csv
from discreet.reports.published import NAMES


def run(line="", *, cwd):
    """The command in a folder of its own."""
    with contextlib.chdir(cwd):
        return command.run(f"report {line}")


@cache
def some_rows():
    """A few of the shipped results, which take longer to read than most commands here."""
    return reference_measurements()[:60]


def test_without_arguments_the_shipped_results_become_one_page(tmp_path, monkeypatch):
    """Here a few of them; test_html_report opens the page of all."""
    monkeypatch.setattr("discreet.reports.measurements.reference_measurements", some_rows)
    done = run(cwd=tmp_path)
    assert (done.exit_code, done.stdout) == (0, "")
    assert "wrote discreet-report.html" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["discreet-report.html"]
    assert "reference results shipped" in (tmp_path / "discreet-report.html").read_text(
        encoding="utf-8"
    )


def test_json_is_the_numbers_and_nothing_else(tmp_path):
    rows = some_rows()
    write_csv(rows, tmp_path / "mine.csv.gz")
    done = run("mine.csv.gz --out page.html --json", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(json.dumps(report_numbers(rows)))
    assert '"source":"mine.csv.gz"' in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_backends_are_ranked_among_themselves(tmp_path):
    rows = [row for row in reference_measurements() if row.label in ("tilt", "conic:solver=scs")]
    done = run("--backends tilt,conic:solver=scs --json", cwd=tmp_path)
    assert json.loads(done.stdout) == json.loads(json.dumps(report_numbers(rows)))
    done = run("--backends tilt,nobody", cwd=tmp_path)
    assert done.exit_code == 2
    assert "'nobody' was not measured; the results are of blahut-arimoto, " in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_json_alone_writes_no_file(tmp_path):
    done = run("--json", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    assert set(json.loads(done.stdout)) == set(report_numbers(some_rows()))
    assert list(tmp_path.iterdir()) == []


def test_publish_alone_writes_the_snapshot_alone(tmp_path):
    write_csv(some_rows(), tmp_path / "mine.csv.gz")
    done = run("mine.csv.gz --publish snapshot", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv.gz", "snapshot"]
    assert {"README.md", "results.csv"} <= {
        path.name for path in (tmp_path / "snapshot").iterdir()
    } & set(NAMES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("nowhere", "there are no results at 'nowhere'"),
        ("mine.html", "not a file of results by its name"),
        ("broken.csv", "column"),
        ("empty.csv", "hold no finished attempts"),
        ("--asv nowhere", "is not a folder; give the results_dir"),
        ("--asv .", "holds no results of asv"),
        ("--out mine.html", "was not made here, or was changed since, and is left alone"),
        ("--out .", "is a folder and cannot be written as a file"),
        ("some.csv --out no/such/page.html", "cannot be written"),
        ("--publish mine.html", "is a file and the results need a folder"),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_touched(tmp_path, arguments, said):
    (tmp_path / "mine.html").write_text("mine", encoding="utf-8")
    (tmp_path / "broken.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    write_csv([], tmp_path / "empty.csv")
    write_csv(some_rows(), tmp_path / "some.csv")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = run(arguments, cwd=tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("discreet: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
