"""`discreet report` as people type it: pages, snapshots, numbers, and mistakes that
lose nothing.
"""

import json
import os
from functools import cache
from pathlib import Path

import pytest
from command import done, recorded, refused

from discreet.reports.html import report_numbers
from discreet.reports.measurements import reference_measurements, write_csv
from discreet.reports.published import NAMES

pytestmark = pytest.mark.usefixtures("here")


@cache
def some_rows():
    """A few of the shipped results, which take longer to read than most commands here."""
    return reference_measurements()[:60]


def numbers_of(rows):
    """The numbers of the report, as JSON has them."""
    return json.loads(json.dumps(report_numbers(rows)))


def test_without_arguments_the_shipped_results_become_one_page(monkeypatch):
    """Here a few of them; test_html_report opens the page of all."""
    monkeypatch.setattr("discreet.reports.measurements.reference_measurements", some_rows)
    said = done("report")
    assert said.stdout == ""
    assert "wrote discreet-report.html" in said.stderr
    assert os.listdir() == ["discreet-report.html"]
    page = Path("discreet-report.html").read_text()
    assert "reference results shipped" in page


def test_json_is_the_numbers_and_nothing_else():
    write_csv(some_rows(), Path("mine.csv.gz"))
    found = recorded("report mine.csv.gz --out page.html --json")
    assert found == numbers_of(some_rows())
    assert '"source":"mine.csv.gz"' in Path("page.html").read_text()


def test_backends_are_ranked_among_themselves():
    rows = [row for row in reference_measurements() if row.label in ("tilt", "conic:solver=scs")]
    assert recorded("report --backends tilt,conic:solver=scs --json") == numbers_of(rows)
    assert "'nobody' was not measured; the results are of blahut-arimoto, " in refused(
        "report --backends tilt,nobody"
    )
    assert os.listdir() == []


def test_publish_alone_writes_the_snapshot_alone():
    write_csv(some_rows(), Path("mine.csv.gz"))
    done("report mine.csv.gz --publish snapshot")
    assert sorted(os.listdir()) == ["mine.csv.gz", "snapshot"]
    assert {"README.md", "results.csv"} <= set(os.listdir("snapshot")) & set(NAMES)


@pytest.mark.parametrize(
    "arguments, said",
    {
        "nowhere": "there are no results at 'nowhere'",
        "mine.html": "not a file of results by its name",
        "broken.csv": "column",
        "empty.csv": "hold no finished attempts",
        "--asv nowhere": "is not a folder; give the results_dir",
        "--asv .": "holds no results of asv",
        "--out mine.html": "was not made here, or was changed since, and is left alone",
        "--out .": "is a folder and cannot be written as a file",
        "some.csv --out no/such/page.html": "cannot be written",
        "--publish mine.html": "is a file and the results need a folder",
    }.items(),
)
def test_a_mistake_is_one_sentence_and_nothing_is_touched(tmp_path, arguments, said):
    Path("mine.html").write_text("mine")
    Path("broken.csv").write_text("a,b\n1,2\n")
    write_csv([], Path("empty.csv"))
    write_csv(some_rows(), Path("some.csv"))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert said in refused(f"report {arguments}")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
