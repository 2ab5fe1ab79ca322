"""A study killed at any moment and resumed equals an uninterrupted one, cell for cell; a cell's row
says what happened.
"""

import os
import signal
import tempfile
from pathlib import Path

import fake_backends
import pytest
from command import run, solving_here, start
from refusals import raises_file_error, raises_input_error
from waiting import within

from discreet import Status, verification
from discreet.reports.study.cells import cells_of
from discreet.reports.study.plan import parse_study
from discreet.reports.study.runner import measure, run_cells
from discreet.reports.study.store import Store, rows

DETERMINISTIC = """
name = "kill"
repeats = 2
[limits]
time_seconds = 20
[profiles.default]
gap = 1e-9
[[backends]]
name = "tilt"
[[backends]]
name = "highs"
[[instances]]
problem = "paper-single"
budgets = ["perfect"]
parameters = { bins = [4, 8] }
[[reach]]
backends = ["highs"]
outcomes_above = 3
reason = "for the test"
"""

FAKES = """
name = "fakes"
[limits]
time_seconds = 0.5
[profiles.default]
gap = 1e-9
[[backends]]
name = "fake-raises"
[[backends]]
name = "fake-hangs"
[[backends]]
name = "fake-segfaults"
[[backends]]
name = "fake-bayes"
[[instances]]
problem = "paper-single"
budgets = ["fraction=0.5"]
"""


@pytest.fixture(autouse=True)
def trial(monkeypatch):
    monkeypatch.setenv("DISCREET_BACKENDS", fake_backends.TRIAL)
    # This process hangs and never stops by itself.
    monkeypatch.setattr("discreet.backends.isolated.GRACE_SECONDS", 0.1)


def cells_in(text=DETERMINISTIC):
    return cells_of(parse_study(text, "study.toml")).cells


def outcome(row):
    """Return the fields that do not depend on the clock."""
    return (
        row.cell,
        row.status,
        row.upper,
        row.lower,
        row.own_leakage_nats,
        row.iterations,
        row.message,
        row.repeat,
    )


@pytest.mark.gate
def test_killed_and_resumed_equals_uninterrupted(tmp_path, monkeypatch):
    cells = cells_in()
    solving_here(monkeypatch)
    with Store(tmp_path / "whole") as store:
        run_cells(cells, store, {})
    whole = rows(tmp_path / "whole")
    assert len(whole) == 8
    (tmp_path / "kill.toml").write_text(DETERMINISTIC)
    folder = tmp_path / "killed"
    line = f"bench {tmp_path / 'kill.toml'} --out {folder}"
    killed = start(line, {})
    assert within(30, lambda: any((folder / "cells").glob("[!.]*.parquet")))
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    kept = {row.cell for row in rows(folder)}
    assert 1 <= len(kept) < 8
    assert f'"measured": {8 - len(kept)}' in run(f"{line} --json").stdout
    assert list(map(outcome, rows(folder))) == list(map(outcome, whole))


@pytest.mark.gate
def test_every_end_of_an_attempt_is_its_own_status_with_its_reason(tmp_path, ticking):
    with Store(tmp_path) as store:
        summary = run_cells(cells_in(FAKES), store, {})
    by_backend = {row.backend: row for row in rows(tmp_path)}
    assert {name: row.status for name, row in by_backend.items()} == {
        "fake-raises": Status.FAILED,
        "fake-hangs": Status.TIMED_OUT,
        "fake-segfaults": Status.FAILED,
        "fake-bayes": Status.VIOLATED_PRIVACY,
    }
    assert summary.statuses == {"failed": 2, "timed-out": 1, "violated-privacy": 1}
    raised = by_backend["fake-raises"]
    assert raised.traceback.endswith("ZeroDivisionError: the pivot is zero\n")
    assert 'File "discreet/backends/run.py"' in raised.traceback
    assert str(Path(__file__).parents[2]) not in raised.traceback
    assert "SIGSEGV" in by_backend["fake-segfaults"].message
    good = by_backend["fake-bayes"]
    assert good.samples
    assert good.wall_seconds >= 1.0
    assert good.machine["cores"] == os.cpu_count()
    assert good.versions["python"].startswith("3.")
    assert good.claimed == "optimal"
    assert good.violated


def test_a_certified_row_is_verified(monkeypatch):
    cell = cells_in()[0]
    solving_here(monkeypatch)
    row = measure(cell)
    assert (row.status, row.contradictions) == (Status.CERTIFIED, 0)
    monkeypatch.setattr(verification.exact, "arb", None)
    assert measure(cell).contradictions is None


def test_a_skip_is_a_row_that_ran_nothing():
    cells = cells_in()
    row = measure(next(cell for cell in cells if cell.skipped))
    assert row.status is Status.UNSUPPORTED
    assert row.message == "highs is not tried above 3 outcomes: for the test"
    assert row.wall_seconds == row.seconds == 0.0
    assert row.samples == ()


def test_a_setting_of_bad_value_names_the_cell():
    text = FAKES.replace('name = "fake-raises"', 'name = "tilt"\nsettings = { threads = "tiny" }')
    cell = next(cell for cell in cells_in(text) if cell.configuration.backend == "tilt")
    with raises_input_error(r"tilt:threads=tiny on paper-single fraction=0.5, default: .*'tiny'"):
        measure(cell)


def test_a_full_temporary_folder_is_one_sentence_and_keeps_what_is_done(tmp_path, monkeypatch):
    cells = cells_in()
    with Store(tmp_path) as store:
        run_cells(cells[:2], store, {})

        def full(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(tempfile, "mkdtemp", full)
        with raises_file_error("No space left on device"):
            run_cells([cell for cell in cells if not cell.skipped], store, {})
    assert len(rows(tmp_path)) >= 2
