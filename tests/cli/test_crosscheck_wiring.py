"""The action and the hook call the command with flags that it has."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_last_step_of_the_action_runs(tmp_path: Path) -> None:
    line = re.findall(r"^ +run: (python -m discreet .*)$", (ROOT / "action.yml").read_text(encoding="utf-8"), re.MULTILINE)[
        0
    ]
    inputs = {"SEED": "1", "SIZE": "1", "REQUIRE": "tilt", "JUNIT": str(tmp_path / "out.xml"), "PYTHONPATH": str(ROOT)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-euc", line], env=os.environ | inputs | {"PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.xml").exists()


def test_the_hook_runs_the_command() -> None:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    found = re.search(r"^  entry: discreet (.*)$", text, re.MULTILINE)
    assert found is not None
    words = [sys.executable, "-m", "discreet", *shlex.split(found.group(1)), "--backends", "tilt"]
    # Only tilt is asked here, so no other backend may be required by the surroundings.
    surroundings = {name: value for name, value in os.environ.items() if name != "DISCREET_REQUIRED_BACKENDS"}
    assert subprocess.run(words, cwd=ROOT, env=surroundings, capture_output=True).returncode == 0
