"""The action and the hook call the command with flags that it has."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="the extra `dev` is not installed")

ROOT = Path(__file__).resolve().parents[2]


def action() -> dict[str, Any]:
    """The action as GitHub reads it."""
    found = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert found["runs"]["using"] == "composite"
    return dict(found)


def steps() -> dict[str, dict[str, Any]]:
    return {step["name"]: step for step in action()["runs"]["steps"]}


def test_every_step_gets_what_its_line_asks_for() -> None:
    inputs = action()["inputs"]
    for step in steps().values():
        assert step["shell"] == "bash"
        asked = set(re.findall(r"\$\{?([A-Z]+)\b", step["run"]))
        assert asked == set(step["env"])
        for value in step["env"].values():
            (name,) = re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", value).groups()  # type: ignore[union-attr]
            assert "default" in inputs[name]
    used = " ".join(value for step in steps().values() for value in step["env"].values())
    assert all(f"inputs.{name} " in used for name in inputs), "an input that nothing reads"


@pytest.mark.parametrize(("extras", "ending"), [("conic,pyomo", "[conic,pyomo]"), ("", "")])
def test_the_first_step_installs_this_checkout(extras: str, ending: str, tmp_path: Path) -> None:
    """The line runs with a pip that only writes down what it is asked for."""
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)
    surroundings = {
        "GITHUB_ACTION_PATH": "/checkout",
        "EXTRAS": extras,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(["bash", "-euc", steps()["Install"]["run"]], env=surroundings, capture_output=True, text=True)
    assert done.stdout.split() == [
        "-m",
        "pip",
        "install",
        "--quiet",
        "-c",
        "/checkout/constraints.txt",
        f"/checkout{ending}",
    ]


def test_the_last_step_of_the_action_runs(tmp_path: Path) -> None:
    line = steps()["Crosscheck"]["run"]
    inputs = {"SEED": "1", "SIZE": "1", "REQUIRE": "tilt", "JUNIT": str(tmp_path / "out.xml"), "PYTHONPATH": str(ROOT)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-euc", line], env=os.environ | inputs | {"PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.xml").exists()


def test_the_hook_runs_the_command() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["language"] == "python"
    assert hook["pass_filenames"] is False
    program, *flags = shlex.split(hook["entry"])
    assert program == "discreet"
    words = [sys.executable, "-m", program, *flags, "--backends", "tilt"]
    # Only tilt is asked here, so no other backend may be required by the surroundings.
    surroundings = {name: value for name, value in os.environ.items() if name != "DISCREET_REQUIRED_BACKENDS"}
    assert subprocess.run(words, cwd=ROOT, env=surroundings, capture_output=True).returncode == 0
