"""The action and the hook call the command with flags that it has."""

import os
import re
import shlex
import subprocess

import pytest
import yaml
from checkout import PROJECT, ROOT
from command import done, solving_here


def action():
    """The action as GitHub reads it."""
    found = yaml.safe_load((ROOT / "action.yml").read_text())
    assert found["runs"]["using"] == "composite"
    return dict(found)


def steps():
    return {step["name"]: step for step in action()["runs"]["steps"]}


def test_every_step_gets_what_its_line_asks_for():
    inputs = action()["inputs"]
    for step in steps().values():
        assert step["shell"] == "bash"
        asked = set(re.findall(r"\$\{?([A-Z]+)\b", step["run"]))
        assert asked == set(step["env"])
        for value in step["env"].values():
            (name,) = re.fullmatch(
                r"\$\{\{ inputs\.(\w+) \}\}",
                value,
            ).groups()
            assert "default" in inputs[name]
    used = " ".join(value for step in steps().values() for value in step["env"].values())
    assert all(f"inputs.{name} " in used for name in inputs), "an input that nothing reads"


def asked_of_python(step, inputs, folder):
    """What a step's line hands to Python, by a shell that finds one that only writes down what it
    is asked for.
    """
    fake = folder / "python"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)
    surroundings = {**inputs, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euc", steps()[step]["run"]], env=surroundings, capture_output=True, text=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "extras, ending", [("conic,pyomo", "[verify,conic,pyomo]"), ("", "[verify]")]
)
def test_the_first_step_installs_this_checkout(extras, ending, tmp_path):
    words = asked_of_python(
        "Install", {"GITHUB_ACTION_PATH": "/checkout", "EXTRAS": extras}, tmp_path
    )
    installed = f"--quiet -c /checkout/constraints.txt /checkout{ending}"
    assert " ".join(words) == f"-m pip install {installed}"


@pytest.fixture
def tilt_alone(monkeypatch):
    """Flags that ask one backend only, in this process; so no other may be required by the
    surroundings.
    """
    solving_here(monkeypatch)
    monkeypatch.delenv("DISCREET_REQUIRED_BACKENDS", raising=False)
    return ["--backends", "tilt"]


def test_the_last_step_of_the_action_runs(tilt_alone, tmp_path):
    """The shell makes the words, and the command takes them."""
    report = tmp_path / "out.xml"
    for problems, size in (("", "1"), ("paper-single:bins=4 independent", "")):
        inputs = {"SEED": "0", "SIZE": size, "REQUIRE": "tilt", "JUNIT": str(report)}
        words = asked_of_python("Crosscheck", {"PROBLEMS": problems, **inputs}, tmp_path)
        assert words[:3] == ["-m", "discreet", "crosscheck"]
        done(*words[2:], *tilt_alone)
        assert report.exists()


def test_the_hook_runs_the_command(tilt_alone):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["language"] == "python"
    assert hook["pass_filenames"] is False
    assert hook["additional_dependencies"] == PROJECT["optional-dependencies"]["verify"]
    program, *words = shlex.split(hook["entry"])
    assert program == "discreet"
    done(*words, *tilt_alone)
