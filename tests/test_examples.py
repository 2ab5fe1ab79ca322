"""The examples: workflows that actionlint accepts and whose commands exist; packages of a backend
and of a problem family that can be installed next to discreet.
"""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from command import COMMAND

yaml = pytest.importorskip("yaml", reason="the extra `dev` is not installed")

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / "examples" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_commands_of_a_workflow_exist_with_their_flags(path):
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    scripts = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    lines = re.findall(r"python -m discreet (.*?)(?: >| \|\||\n|$)", "\n".join(scripts))
    assert lines
    for line in lines:
        name, *words = shlex.split(line)
        command = COMMAND.commands[name]
        known = {option for each in command.params for option in each.opts}
        assert {word for word in words if word.startswith("-")} <= known


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_scripts_of_a_workflow_read_no_expression(path):
    """What others write, such as the name of a branch, reaches a shell as a variable only."""
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    for job in jobs.values():
        assert not [step for step in job["steps"] if "${{" in step.get("run", "")]


def test_actionlint_accepts_all_workflows():
    program = shutil.which("actionlint")
    if program is None:
        pytest.skip("actionlint is not installed; the workflow `ci` runs it")
    files = [*WORKFLOWS, *(ROOT / ".github" / "workflows").glob("*.yml")]
    done = subprocess.run([program, *map(str, files)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_ci_has_actionlint_look_at_every_workflow():
    (step,) = [
        step
        for step in yaml.safe_load(
            (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
        )["jobs"]["workflows"]["steps"]
        if "actionlint" in step["uses"]
    ]
    named = {word for word in step["with"]["args"].split() if word.endswith(".yml")}
    assert named == {path.relative_to(ROOT).as_posix() for path in WORKFLOWS} | {
        ".github/workflows/ci.yml"
    }
