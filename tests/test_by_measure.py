"""The page of measures: what it says follows from its rows, and its script runs from end to end in
small.
"""

import csv
import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from measured import measurement

import discreet as ds
from discreet.backends.solution import Status
from discreet.reports.measurements import Stakes

pytestmark = pytest.mark.gate

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


def _attempt(measure, backend, seconds, gap, status=Status.CERTIFIED):
    problem = ds.problems.census(measure=measure)
    stakes = Stakes.of(problem)
    return measurement(
        problem=f"census:measure={measure}",
        entry="census",
        family="survey",
        budget_nats=stakes.budget,
        outcomes=90,
        bayes_leakage_nats=stakes.bayes_leakage,
        backend=backend,
        status=status,
        measure=measure,
        upper=0.3,
        relative_gap=gap,
        own_leakage_nats=stakes.budget,
        solve_seconds=seconds,
        wall_seconds=1.0,
    )


def _skipped(measure, backend):
    row = _attempt(measure, backend, 0.0, math.inf, Status.UNSUPPORTED)
    return replace(row, upper=math.inf, wall_seconds=0.0, message=f"{backend} does not serve it")


def test_the_page_says_what_its_rows_say(load, tmp_path):
    report = load("leakages.report")
    table = load("large.table")
    main = load("leakages.main")
    attempts = (
        _attempt("max-lift", "tilt", 0.002, 1e-13),
        replace(_attempt("max-lift", "tilt", 0.008, 2e-8, Status.INACCURATE), problem="other"),
        _attempt("chi-square", "conic", 0.02, 5e-10),
        _skipped("chi-square", "highs"),
    )
    done = {"status": "certified", "gap": 1e-13, "leakage_share": 1.0}
    rows = [
        table.Row("sizes-mutual-information", "tilt", 200_000, 2.0, 0.1, **done),
        table.Row("sizes-max-lift", "tilt", 200_000, 2.0, 0.6, **done),
        table.Row("parity", "100,000 people, tilt", 100_000, seconds=0.02, **done),
        table.Row("secrets", "two, tilt", status="unsupported", note="tilt does not serve it"),
    ]
    rows[1].reference = "mutual information"
    rows[1].reference_seconds = 0.1
    rows[2].reference = "HiGHS through cvxpy"
    rows[2].reference_seconds = 2.0
    for row in rows:
        main._judge(row, quick=False)
    assert [row.verdict for row in rows] == [
        "",
        "not met: reference × 6, not 5",
        "met",
        "not met: tilt does not serve it",
    ]
    report.write(
        tmp_path / "page",
        report.Found(attempts, tuple(rows), (1.01, 1.2, 9, "abc1234"), 0.0, False),
    )
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    for words in (
        "| max-lift | 1 of 2, gap ≤ 2·10⁻⁸, 2 ms | – |",
        "| chi-square | – | 1 of 1, gap ≤ 5·10⁻¹⁰, 20 ms |",
        "| max-lift | 600 ms (6×) |",
        "HiGHS through cvxpy: 2 s | 100 | certified",
        "takes 1.01 times as long as at commit abc1234",
        "0 of 1 rows meet the target",
    ):
        assert words in " ".join(page.split()), words
    drawn = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert drawn == ["page-gaps.svg", "page-ratios.svg", "page-times.svg"]
    for name in drawn:
        ElementTree.parse(tmp_path / name)
        assert f"({name})" in page
    lines = list(csv.DictReader((tmp_path / "page.csv").read_text(encoding="utf-8").splitlines()))
    assert len(lines) == 8
    assert [line["note"] for line in lines if line["backend"] == "highs"] == [
        "highs does not serve it"
    ]


def test_the_script_runs_from_end_to_end_in_small(load, tmp_path):
    main = load("leakages.main")
    assert main.main(["--quick", "--only", "conditional", "--out", str(tmp_path / "page")]) == 0
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "no target is judged" in page
    assert "information given Y" in page
    assert str(FOLDER.parent) not in page
