"""`discreet bench`: a study from its plan to its published file, interrupted, damaged, and refused
in one sentence.
"""

import json
import signal
from pathlib import Path

import pytest
from command import done, recorded, refused, run, solving_here, start
from waiting import within

from discreet.reports.measurements import read_csv
from discreet.reports.study import runner
from discreet.reports.study.store import rows
from discreet.verification import TermVerification, Verification

STUDY = """
name = "tiny"
[limits]
time_seconds = 20
[profiles.default]
gap = 1e-9
settings.tilt = { threads = 1 }
[[backends]]
name = "tilt"
[[backends]]
name = "highs"
[[instances]]
problem = "paper-single"
budgets = ["perfect"]
parameters = { bins = [4, 5] }
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    solving_here(monkeypatch)
    Path("tiny.toml").write_text(STUDY)
    return "tiny.toml"


def test_a_study_from_plan_to_published_file(study, ticking):
    plan = done(f"bench {study} --out results --dry-run")
    assert "threads = 1" in plan.stdout
    assert "highs on paper-single:bins=5 perfect, default" in plan.stdout
    assert "4 cells, 4 to run" in plan.stderr
    assert not Path("results").exists()

    assert recorded(f"bench {study} --out results --only tilt --json")["measured"] == 2
    listed = recorded("bench results --dry-run --json")
    assert listed["missing"] == 2
    assert listed["estimated_seconds"] > 0.0

    rest = done("bench results")
    assert "2 cells measured" in rest.stderr
    assert "certified" in rest.stdout
    again = recorded(f"bench {study} --out results --json")
    assert again["measured"] == 0
    assert again["statuses"] == {"certified": 4}

    answer = run(
        "bench results --json --query",
        "SELECT outcomes, count(*) AS k FROM cells GROUP BY ALL ORDER BY ALL",
    )
    assert json.loads(answer.stdout) == [{"outcomes": 4, "k": 2}, {"outcomes": 5, "k": 2}]
    assert "certified" in run("bench results --query", "SELECT status FROM cells LIMIT 1").stdout

    written = run("bench results --reference rows.csv.gz")
    assert "wrote 4 rows to rows.csv.gz" in written.stderr
    assert sorted(row.cell for row in read_csv(Path("rows.csv.gz"))) == [
        row.cell for row in rows("results")
    ]


def test_what_is_wrong_is_one_sentence(study):
    Path("empty").mkdir()
    assert "did you mean 'quick'" in refused("bench quik")
    assert "is a folder without a study.toml" in refused("bench empty")
    assert "has 'nobody' in its title" in refused(f"bench {study} --only nobody")
    assert "is a folder without a study.toml" in refused("bench empty --query", "SELECT 1")
    Path("begun").mkdir()
    Path("begun", "study.toml").write_text(STUDY)
    assert "which continues in place" in refused("bench begun --out elsewhere")
    Path("bad.toml").write_text(STUDY.replace("gap", "gpa"))
    assert "bad.toml: profiles.default.gap is missing" in refused("bench bad.toml")
    assert not Path("discreet-bench").exists()
    Path("results").write_text("")
    assert "Not a directory" in refused(f"bench {study} --out results")
    assert "null character" in refused(f"bench {study} --out", "a\0b")
    run(f"bench {study} --out done --only", "tilt on paper-single:bins=4")
    assert "the query is refused" in refused("bench done --query", "SELEC 1")
    assert "let it end in .csv.gz" in refused("bench done --reference rows.txt")
    assert "cannot be written" in refused("bench done --reference nowhere/rows.csv")


def test_a_study_with_a_contradicted_certificate_fails(study, monkeypatch):
    term = TermVerification("mutual-information", 0.0, False, (1.0, 1.0), (1.0, 1.0))
    opinion = (Verification((1.0, 1.0), False, 0.0, (0.0, 1.0), (term,)), ["it leaks"])
    monkeypatch.setattr(runner, "second_opinion", lambda solution, gap: opinion)
    result = done(f"bench {study} --out results --only", "tilt on paper-single:bins=4", code=1)
    assert "verify contradicts the certificate of tilt on paper-single:bins=4" in result.stderr


def test_a_study_in_which_nothing_is_certified_fails(study):
    Path(study).write_text(
        STUDY + '[[reach]]\nbackends = ["tilt", "highs"]\nreason = "for the test"\n'
    )
    result = done(f"bench {study} --out results", code=1)
    assert "unsupported" in result.stdout


def test_a_backend_that_does_not_load_is_a_row(study, monkeypatch):
    monkeypatch.setenv("DISCREET_BACKENDS", "fake-gone=no_such_module:Backend")
    Path(study).write_text(STUDY.replace('name = "highs"', 'name = "fake-gone"'))
    found = recorded(f"bench {study} --out results --json")
    assert found["statuses"] == {"failed": 2, "certified": 2}


def test_a_damaged_cell_is_set_aside_and_measured_again(study):
    run(f"bench {study} --out results --only tilt")
    path = next(Path("results/cells").glob("*.parquet"))
    path.write_bytes(path.read_bytes()[:100])
    result = done(f"bench {study} --out results --only tilt")
    assert "moved to set-aside and its cell is measured again" in result.stderr
    assert "1 cells measured" in result.stderr


@pytest.mark.gate
def test_an_interrupt_says_what_is_kept(study):
    Path(study).write_text(STUDY.replace("[4, 5]", "{ from = 4, to = 60, points = 30 }"))
    # Not measured: an interrupt that finds coverage inside its lock ends in a deadlock there.
    measured = ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START")
    running = start(f"bench {study} --out results", {}, without=measured)
    assert within(120, lambda: any(Path("results").glob("cells/[!.]*.parquet")))
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "cells are kept in results; run the same command again to continue" in said
    assert "Traceback" not in said
    kept = len(rows("results"))
    assert 1 <= kept < 60
    assert f"{kept} of " in said
