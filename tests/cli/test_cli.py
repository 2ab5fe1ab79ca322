"""The command line: what goes where, and that every way in ends with an exit code and at most one
sentence of complaint.
"""

import json
import os
import re
import shlex
import signal
from dataclasses import replace
from functools import cache
from pathlib import Path

import fake_backends
import numpy as np
import pytest
from command import COMMAND, done, parse_line, process, recorded, refused, run, solving_here, start
from gated import gated
from random_laws import random_joint
from waiting import within

import discreet
from discreet.backends import isolated, registry
from discreet.cli.app import GROUPS
from discreet.cli.compare import _cases
from discreet.cli.flags import ProblemOptions
from discreet.reports import compare, notation


@pytest.fixture(autouse=True, scope="module")
def trial():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_BACKENDS", fake_backends.TRIAL)
        yield


# -- solve
# --------------------------------------------------------------------------------------------------


def test_solve_json_is_json_and_nothing_else():
    result = done("solve paper-single --fraction 1.5 --backend fake-noisy --json")
    record = json.loads(result.stdout)
    wanted = """status backend claimed error_probability lower_bound upper_bound relative_gap leakage_nats budget_nats
    equivocation_nats multiplier iterations lower_seconds solve_seconds lift_seconds certify_seconds
    compile_seconds versions"""
    assert set(wanted.split()) <= set(record)
    assert record["status"] == "certified"
    assert record["error_probability"] == pytest.approx(0.0793277703, abs=1e-10)
    assert result.stderr == ""


def test_solve_exits_with_one_unless_certified(tmp_path):
    out = tmp_path / "answer.npz"
    result = done(
        f"solve paper-single:bins=4 --fraction 0.1 --backend fake-bayes --out {out}", code=1
    )
    assert "violated-privacy" in result.stdout
    with np.load(out, allow_pickle=False) as stored:
        assert stored["estimator"].shape == (2, 4)
    assert (
        recorded(
            f"solve paper-single --backend fake-crashes --json --out {tmp_path / 'none.npz'}",
            code=1,
        )["status"]
        == "failed"
    )
    assert not (tmp_path / "none.npz").exists()


def test_a_problem_file_is_solved_under_its_own_or_another_budget(tmp_path, monkeypatch):
    solving_here(monkeypatch)
    file = tmp_path / "p.npz"
    joint = random_joint(2, 2, 2, 3)
    discreet.save_problem(str(file), discreet.Problem.from_joint(joint, budget=0.5))
    own = run(f"solve {file} --backend fake-bayes --json")
    assert json.loads(own.stdout)["budget_nats"] == 0.5
    other = run(f"solve {file} --backend fake-bayes --json --leakage 0.25")
    assert json.loads(other.stdout)["budget_nats"] == 0.25
    assert "is a file and has no parameters to set" in refused(f"solve {file} --set bins=3")


@pytest.mark.parametrize(
    "arguments, said",
    {
        "solve nope": "'nope'",
        "solve paper-single --backend nobody": "'nobody'",
        "solve paper-single --set bins=3 --set bins=4": "'bins'",
        "solve paper-single --set budget=3": "budget",
        "solve paper-single --perfect --leakage 1": "leakage and perfect",
        "solve paper-single --gap 2": "gap is 2",
        "solve paper-single --backend fake-bayes --option handle=1": "'handle'",
        "solve no/such/file.npz": "no/such/file.npz",
        "solve": "Missing",
        "solve paper-single --unknown": "--unknown",
        "frobnicate": "frobnicate",
        "problems --set bins=3": "NAME",
        "problems paper-single --set bins=x": "bins",
        "doctor --require nobody": "'nobody'",
        "compare --set bins=3": "--set",
        "compare paper-single paper-single": "paper-single",
        "compare paper-single --backends ,": "there is no backend to compare",
        f"compare paper-single --out {os.devnull}": "the results need a folder",
    }.items(),
)
def test_bad_input_is_one_sentence_and_exit_code_two(arguments, said):
    assert said in refused(arguments)


# -- compare
# --------------------------------------------------------------------------------------------------


def test_compare_shows_claim_against_truth_and_writes_a_report(tmp_path, monkeypatch):
    solving_here(monkeypatch, "fake-crashes")
    out = tmp_path / "report"
    asked = (
        f"compare paper-single:bins=6 --backends fake-bayes,fake-constant,fake-crashes --out {out}"
    )
    result = done(f"{asked} --fraction 0.5", code=1)
    for word in (
        "violated-privacy",
        "inaccurate",
        "failed",
        "Agreement",
        "2 ×",
        "Use none of them",
    ):
        assert word in result.stdout
    assert "wrote" in result.stderr
    assert (out / "index.html").exists()
    record = recorded(f"{asked} --leakage 1 --json")
    assert [row["status"] for row in record["rows"]] == ["certified", "inaccurate", "failed"]
    assert record["disagreements"] == 0


def test_a_disagreement_fails(tmp_path, monkeypatch):
    def disagreeing(*args, **options):
        found = real(*args, **options)
        first, *others = found.rows
        return replace(found, rows=(replace(first, lower=0.9, upper=0.9), *others))

    real = compare.run_comparison
    solving_here(monkeypatch)
    asked = f"compare paper-single --leakage 1 --backends fake-bayes,fake-constant --out {tmp_path}"
    done(asked)
    monkeypatch.setattr(compare, "run_comparison", disagreeing)
    said = done(asked, code=1).stdout
    assert "at least one certificate is wrong" in " ".join(said.split())


def test_without_a_budget_a_catalog_problem_is_compared_at_two():
    cases = _cases(["paper-single", "independent"], ProblemOptions())
    assert [case.title for case in cases] == [
        "paper-single, 0.5 of the Bayes leakage",
        "paper-single, perfect privacy",
        "independent, perfect privacy",
    ]
    assert cases[0].problem.budget == pytest.approx(0.5 * 0.01062397241)


# -- problems and doctor
# --------------------------------------------------------------------------------------------------


def test_problems_lists_the_catalog_and_shows_an_entry():
    listed = recorded("problems --json")
    names = [entry["name"] for entry in listed]
    assert {"paper-single", "paper-multi"} <= set(names)
    table = run("problems").stdout
    assert all(name in table for name in names)
    shown = recorded("problems paper-multi --set sensors=10 --json")
    assert shown["instance"]["outcomes"] == 286
    assert shown["instance"]["bayes_error_probability"] == pytest.approx(0.0022650930, abs=1e-10)
    assert "number of sensors" in run("problems paper-multi").stdout


def test_doctor_tells_backends_that_crash_from_those_that_work(monkeypatch):
    monkeypatch.setenv(
        "DISCREET_BACKENDS", "fake-bayes=fake_backends:Bayes,fake-lethal=fake_backends:DiesAtImport"
    )
    monkeypatch.setattr(isolated, "probe", cache(isolated.probe))  # asked twice, and slow to start
    tilt = {"tilt": registry.own_backends()["tilt"]}
    monkeypatch.setattr(registry, "own_backends", lambda: tilt)
    found = {entry["backend"]: entry for entry in recorded("doctor --json --require fake-bayes")}
    assert found["tilt"]["state"] == found["fake-bayes"]["state"] == "available"
    assert found["fake-bayes"]["capabilities"]["regimes"] == ["constrained", "oblivious", "perfect"]
    assert found["fake-lethal"]["state"] == "broken"
    assert "exit code 9" in found["fake-lethal"]["reason"]
    result = done("doctor --require fake-lethal", code=1)
    assert "required backend fake-lethal is broken" in result.stderr
    assert "fake-lethal" in result.stdout


# -- words
# --------------------------------------------------------------------------------------------------


def test_specifications_are_read():
    assert notation.problem("paper-multi:sensors=3,bins=5").N == 35
    assert notation.problem("paper-single:bins=5", {"bins": "6"}).N == 6
    found = notation.configurations(
        "tilt,conic:solver=scs,eps=1e-3,verbose=true,highs:presolve=none, pyomo"
    )
    assert [c.label for c in found] == [
        "tilt",
        "conic:solver=scs,eps=0.001,verbose=True",
        "highs:presolve=None",
        "pyomo",
    ]
    found = notation.configurations(
        "conic:solver=scs,form=joint@scs>=3.2,<3.3  numpy<2,tilt,highs@highspy==1.9.0"
    )
    assert [(c.backend, dict(c.settings), c.environment) for c in found] == [
        ("conic", {"solver": "scs", "form": "joint"}, "scs>=3.2,<3.3 numpy<2"),
        ("tilt", {}, ""),
        ("highs", {}, "highspy==1.9.0"),
    ]
    assert notation.read("x:edges=.2,.5,.8,bins=4", "problem") == (
        "x",
        {"edges": ".2,.5,.8", "bins": "4"},
    )


@pytest.mark.parametrize(
    "words, wanted",
    {
        "discreet au": ["audit"],
        "discreet solve paper": ["paper-single", "paper-multi"],
        "discreet advise p.npz --among tilt,hi": ["tilt,highs"],
        "discreet solve paper-single --measure chi": ["chi-square"],
        "discreet fit people.csv --measure sex=par": ["sex=parity-difference"],
        "discreet bench qu": ["quick"],
        "discreet solve paper-multi --set se": ["sensors="],
        "discreet fit people.csv --hide s": ["sex", "state"],
        "discreet evaluate rule people.csv --truth in": ["income"],
        "discreet fit nowhere.csv --hide s": [],
    }.items(),
)
def test_shells_complete_names_of_every_kind(words, wanted, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("sex,state,income\nm,a,1\n")
    monkeypatch.setenv("_DISCREET_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    assert run().stdout.split() == wanted


def test_the_help_lists_every_command_in_one_group_and_cuts_none():
    said = run("--help").stdout
    listed = [name for commands in GROUPS.values() for name in commands]
    assert sorted(listed) == sorted(COMMAND.commands)
    for title, commands in GROUPS.items():
        assert f"\n{title}:\n" in said
        for name, words in commands.items():
            assert re.search(rf"^  {name} +{re.escape(words)}$", said, re.MULTILINE)


@pytest.mark.parametrize("name", COMMAND.commands)
def test_examples_of_the_help_can_be_typed(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(f"{name} --help").stdout.partition("Examples:\n")[2]
    examples = shown.partition("\nArguments:")[0].partition("\nOptions:")[0]
    assert f"discreet {name}" in examples
    assert max(map(len, examples.splitlines())) <= 80
    for example in examples.replace("\\\n", " ").splitlines():
        words = shlex.split(example.partition("|")[0])
        if words:
            assert words[0] == "discreet"
            parse_line(words[1:])


# -- real processes
# --------------------------------------------------------------------------------------------------


@pytest.mark.gate
def test_exit_codes_of_real_processes():
    for line, status, lines in (("problems --json", 0, 0), ("solve no/such/file.npz", 2, 1)):
        ended = process(line)
        assert (ended.returncode, ended.stderr.count("\n")) == (status, lines)
        assert bool(ended.stdout) == (status == 0)


def test_the_bare_command_and_its_version():
    assert run("--version").stdout == f"discreet {discreet.__version__}\n"
    for flag in ("--show-completion", "--install-completion"):
        assert flag in run("--help").stdout
    bare = done()
    assert all(command in bare.stdout for command in ("solve", "compare", "problems", "doctor"))


def test_ctrl_c_exits_with_130_and_one_word(tmp_path):
    note = tmp_path / "child"
    running = start("solve paper-single --backend fake-hangs", {"FAKE_CHILD": str(note)})
    try:
        assert within(60, lambda: note.exists() and bool(note.read_text()))
        running.send_signal(signal.SIGINT)
        out, complaint = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 130
    assert out == ""
    assert complaint == "discreet: interrupted\n"


@pytest.mark.parametrize(
    "words",
    gated(
        [
            "problems",
            "advise paper-single:bins=64 --leakage 0.01 --among conic:solver=scs --gap 1e-12",
            "advise paper-single:bins=64 --leakage 0.01 --among conic:solver=scs --gap 1e-12 --json",
        ]
    ),
)
def test_a_closed_pipe_does_not_change_the_exit_code(words):
    with start(words, {}) as running:
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode == words.startswith("advise")
