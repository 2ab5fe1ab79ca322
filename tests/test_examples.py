"""The examples: workflows that actionlint accepts and whose commands exist; packages of a backend
and of a problem family that can be installed next to discreet.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
import yaml
from checkout import DOCS, ROOT, text_of
from command import environment, parse_line

WORKFLOWS = sorted((ROOT / "examples" / "workflows").glob("*.yml"))


@pytest.mark.parametrize(
    "page, folder", [("add-a-backend", "backend"), ("add-a-problem-family", "family")]
)
def test_a_page_explains_the_files_of_its_example(page, folder):
    text = text_of(DOCS / "how-to" / f"{page}.md")
    blocks = dict(re.findall(r"```\w+\n# file: (\S+)\n(.*?)```", text, flags=re.DOTALL))
    files = {path.name: text_of(path) for path in (ROOT / "examples" / folder).iterdir()}
    assert blocks == files


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment of a process in which both example packages are installed."""
    folder = tmp_path_factory.mktemp("examples")
    sources = []
    for name in ("backend", "family"):
        ours = folder / name
        shutil.copytree(
            ROOT / "examples" / name, ours, ignore=shutil.ignore_patterns("__pycache__")
        )
        sources.append(str(ours))
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    target = ["--no-index", "--disable-pip-version-check", "--target", str(folder / "site")]
    subprocess.run([*pip, *target, *sources], check=True)
    found = environment()
    return found | {"PYTHONPATH": os.pathsep.join([str(folder / "site"), found["PYTHONPATH"]])}


def asked(line, surroundings, folder):
    """The JSON of a command, in a folder of its own."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "discreet", *line.split(), "--json"],
        capture_output=True,
        text=True,
        check=False,
        env=surroundings,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.gate
def test_an_installed_backend_of_another_package_gets_its_row(installed, tmp_path):
    states = {each["backend"]: each["state"] for each in asked("doctor", installed, tmp_path)}
    assert states["cuts"] == "available"
    line = "compare paper-single:bins=16 --fraction 0.5 --backends cuts,tilt --gap 1e-6"
    rows = asked(line, installed, tmp_path)["rows"]
    assert [(row["contestant"], row["status"]) for row in rows] == [
        ("cuts", "certified"),
        ("tilt", "certified"),
    ]
    assert "cuts" in text_of(tmp_path / "discreet-compare" / "index.html")


@pytest.mark.gate
def test_an_installed_family_of_another_package_is_in_the_catalog(installed, tmp_path):
    found = asked("solve service-calls:rate=3 --fraction 0.5 --backend tilt", installed, tmp_path)
    assert found["status"] == "certified"
    record = asked("crosscheck service-calls --backends tilt,blahut-arimoto", installed, tmp_path)
    assert record["findings"] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_commands_of_a_workflow_exist_with_their_flags(path):
    jobs = yaml.safe_load(text_of(path))["jobs"]
    scripts = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    lines = re.findall(r"python -m discreet (.*?)(?: >| \|\||\n|$)", "\n".join(scripts))
    assert lines
    for line in lines:
        parse_line(shlex.split(line))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_scripts_of_a_workflow_read_no_expression(path):
    """What others write, such as the name of a branch, reaches a shell as a variable only."""
    jobs = yaml.safe_load(text_of(path))["jobs"]
    for job in jobs.values():
        assert not [step for step in job["steps"] if "${{" in step.get("run", "")]


def test_ci_has_actionlint_look_at_every_workflow():
    jobs = yaml.safe_load(text_of(".github/workflows/ci.yml"))["jobs"]
    (step,) = [each for each in jobs["workflows"]["steps"] if "actionlint" in each["uses"]]
    named = step["with"]["args"].split()
    for path in (*WORKFLOWS, ROOT / ".github" / "workflows" / "ci.yml"):
        assert path.relative_to(ROOT).as_posix() in named
