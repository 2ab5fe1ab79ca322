"""Results of asv without paths and names of the machine: what is kept, what is removed, and what is
refused.
"""

import getpass
import importlib
import json
import math
import socket
import sys

import pytest
from checkout import BENCHMARKS, text_of

from discreet.reports.asv_results import read_asv

pytestmark = pytest.mark.gate

FOLDER = BENCHMARKS / "site"
HOME = "/" + "/".join(("home", "someone"))
NAME = "bench_bins.BinsSteps.time_solve"


@pytest.fixture
def command(monkeypatch):
    """The module of the command."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "share_results", raising=False)
    return importlib.import_module("share_results")


def held(**changes):
    """A file as asv 0.6.6 writes it for an existing interpreter."""
    python = f"{HOME}/venv/bin/python"
    machine = {
        "arch": "x86_64",
        "cpu": "fast",
        "machine": "secret-box",
        "num_cpu": "2",
        "os": "Linux 6.1.2-mine",
        "ram": "9",
    }
    columns = ["result", "params", "version", "started_at", "duration", "samples", "profile"]
    cells = [[1.0, math.nan], [["'tilt'"], ["4", "16"]], "v", 1, 2.0, [[1.0, 1.1], None], "secret"]
    return {
        "commit_hash": "c0ffee00c0ffee",
        "env_name": "existing" + python.replace("/", "_"),
        "date": 1_700_000_000_000,
        "params": machine | {"python": python},
        "python": python,
        "requirements": {"numpy": "2.0"},
        "env_vars": {"TOKEN": "secret"},
        "result_columns": columns,
        "results": {NAME: cells},
        "durations": {"<build>": 1.0},
        "version": 2,
        **changes,
    }


def results(folder, *files, machine="secret-box"):
    """A results folder of asv that holds one machine."""
    place = folder / "results" / machine
    place.mkdir(parents=True)
    (place / "machine.json").write_text(json.dumps(held()["params"] | {"version": 1}))
    for k, content in enumerate(files):
        (place / f"c0ffee{k}-existing_home_someone.json").write_text(json.dumps(content))
    about = {
        NAME: {
            "param_names": ["backend", "bins"],
            "unit": "seconds",
            "code": f"open('{HOME}/a/b')",
        },
        "version": 2,
    }
    (folder / "results" / "benchmarks.json").write_text(json.dumps(about))
    return folder / "results"


def test_numbers_are_kept_and_paths_and_names_removed(command, tmp_path):
    source = results(tmp_path, held())
    copy = tmp_path / "copy"
    assert command.main([str(source), str(copy), "--machine", "two-cores"]) == 0
    names = sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*.json"))
    assert names == [
        "benchmarks.json",
        "two-cores/c0ffee00-existing.json",
        "two-cores/machine.json",
    ]
    text = "".join((copy / name).read_text() for name in names[1:])
    for word in ("secret", "someone", "6.1.2", "<build>", "profile", "TOKEN"):
        assert word not in text
    assert '"cpu": "fast"' in text
    assert '"numpy": "2.0"' in text
    before = read_asv(source)
    after = read_asv(copy)
    assert [(r.benchmark, r.parameters, r.commit, r.date, r.outcome, r.unit) for r in before] == [
        (r.benchmark, r.parameters, r.commit, r.date, r.outcome, r.unit) for r in after
    ]
    assert [r.value for r in after if r.outcome == "measured"] == [1.0]
    assert {r.machine for r in after} == {"two-cores"}


@pytest.mark.parametrize(
    "change, words",
    [
        ({"results": {NAME: [[1.0], [[f"'{HOME}/model.npz'"]]]}}, "would hold the path '/home/"),
        ({"requirements": {"discreet": f"{HOME}/wheels/discreet.whl"}}, "would hold the path"),
        ({"requirements": {"host": socket.gethostname()}}, "a name of this machine or its user"),
        ({"requirements": {"user": getpass.getuser()}}, "a name of this machine or its user"),
        ({"results": 3}, "is not a file of results as asv writes them"),
    ],
)
def test_results_that_reveal_the_machine_are_refused_and_nothing_is_written(
    command, tmp_path, capsys, change, words
):
    assert command.main([str(results(tmp_path, held(**change))), str(tmp_path / "copy")]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not (tmp_path / "copy").exists()


def test_committed_results_reveal_no_machine_and_are_the_published_ones(command):
    root = FOLDER.parents[1]
    history = root / "benchmarks" / "history"
    for path in sorted(history.rglob("*.json")):
        command._look_through(path.name, json.loads(text_of(path)))
    records = read_asv(history)
    commits = {record.commit for record in records}
    assert set(text_of(history / "commits.txt").split()) == commits
    assert len(commits) >= 5
    published = text_of(root / "reports" / "published" / "commits.csv").splitlines()
    assert len(published) == 1 + sum(record.outcome != "skipped" for record in records)
    assert all(any(commit[:12] in line for line in published) for commit in commits)
    page = text_of(root / "reports" / "published" / "README.md")
    assert f"{len(commits)} commits" in page
