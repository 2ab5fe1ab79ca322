"""The measurements of large problems: rows are compared with their targets, and the script runs
from end to end.
"""

import csv

import pytest
from checkout import REPORTS, ROOT, text_of

pytestmark = pytest.mark.gate


@pytest.fixture
def table(load):
    """Rows and targets."""
    return load("large.table")


def test_a_target_is_met_only_in_full_and_without_excess_leakage(table):
    target = table.Target("words", seconds=3.0, faster=2.0, gap=1e-9)
    row = table.Row(
        "case",
        "work",
        seconds=1.0,
        reference_seconds=2.0,
        status="certified",
        gap=1e-12,
        leakage_share=1.0,
    )
    assert target.missed(row) == []
    row.leakage_share = 1.001
    assert target.missed(row) == ["1× the budget"]
    row.leakage_share = 1.0
    row.status = "violated-privacy"
    assert target.missed(row) == ["status violated-privacy"]


def test_a_row_without_an_answer_misses_its_target(table):
    assert table.Target("words").missed(table.Row("case", "work", note="no disk")) == ["no disk"]


def test_a_case_is_measured_in_a_process_and_reported(load, tmp_path):
    command = f"--quick --only guesses-2x50-20k --no-peers --out {tmp_path / 'found'}"
    assert load("large.main").main(command.split()) == 0
    page = text_of(tmp_path / "found.md")
    assert "no target is judged" in page
    assert str(ROOT) not in page
    rows = list(csv.DictReader(text_of(tmp_path / "found.csv").splitlines()))
    own = rows[0]
    assert own["case"] == "guesses-2x50-20k"
    assert own["status"] == "certified"
    assert float(own["gap"]) <= 1e-6
    assert float(own["leakage_share"]) <= 1.0
    assert own["verdict"] == "not judged"


def test_a_row_is_added_to_a_report_of_the_same_machine_and_the_others_stay(load, tmp_path):
    published = REPORTS / "large-scale"
    report = load("large.report")
    out = tmp_path / "large-scale"
    rows = report.read(published)
    table = text_of(published.with_suffix(".md"))
    head = table.partition("\n\n## ")[0].partition("\n\n")[2]
    machine = {"cores": "2"}
    report.write(out, rows, machine, 0.0, quick=False, head=head)
    assert text_of(out.with_suffix(".md")) == table
    assert out.with_suffix(".csv").read_bytes() == published.with_suffix(".csv").read_bytes()
    added = report.head_with(out, machine, 0.0, ["groups-50"], quick=False)
    assert added.startswith(head)
    assert "--add --only groups-50" in added
    for cores, quick in (("3", False), ("2", True)):
        with pytest.raises(ValueError, match=r"machine|--quick"):
            report.head_with(out, {"cores": cores}, 0.0, ["groups-50"], quick=quick)


def test_unknown_rows_are_refused(load, tmp_path, capsys):
    assert load("large.main").main(["--only", "nothing", "--out", str(tmp_path / "found")]) == 2
    assert "--list" in capsys.readouterr().err
