"""A backend in an environment of its own: what is installed there, what runs there, and that the
judge stays here. Nothing here needs a network: wheels are made on the spot.
"""

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from discreet import Options, Status
from discreet.backends import environments, solve_isolated
from discreet.backends.environments import Environment
from discreet.backends.isolated import attempt_isolated
from discreet.errors import Absent
from discreet.problems import paper_single
from discreet.reports.study.cells import cells_of
from discreet.reports.study.plan import parse_study
from discreet.reports.study.runner import measure


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder of environments, and installers that look nowhere but for our wheels."""
    monkeypatch.setenv(environments.FOLDER_VARIABLE, str(tmp_path / "environments"))
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(wheels)}.items():
        monkeypatch.setenv(f"UV_{name}", value)
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setattr(environments, "MINIMUM", ())
    environments._make.cache_clear()
    yield wheels
    environments._make.cache_clear()


def wheel(folder, name, version, source="", depends=()):
    """A wheel with one module."""
    facts = f"{name}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Requires-Dist: {each}" for each in depends]
    members = {
        f"{name}.py": source,
        f"{facts}/METADATA": "\n".join(metadata) + "\n",
        f"{facts}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{member},,\n" for member in [*members, f"{facts}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for member, text in {**members, f"{facts}/RECORD": record}.items():
            archive.writestr(member, text)


def share_libraries(folder):
    """A wheel whose environment also sees the libraries that are installed here."""
    places = [entry for entry in sys.path if entry.endswith("site-packages")]
    source = "".join(f"{entry}\n" for entry in places)
    name = folder / "borrowed-1-py3-none-any.whl"
    wheel(folder, "borrowed", "1")
    with zipfile.ZipFile(name, "a") as archive:
        archive.writestr("borrowed.pth", source)


@pytest.mark.parametrize("uv", [True, pytest.param(False, marks=pytest.mark.gate)])
def test_an_environment_is_made_once_and_has_the_release_asked_for(folder, monkeypatch, uv):
    if uv and not environments._uv():
        pytest.skip("uv is not installed")
    if not uv:
        monkeypatch.setattr(environments, "_uv", list)
    wheel(folder, "solver_x", "1.0", "answer = 1")
    wheel(folder, "solver_x", "2.0", "answer = 2")
    old = Environment.of("solver_x==1.0")
    done = subprocess.run(
        [old.python, "-c", "import solver_x; print(solver_x.answer)"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert done.stdout.strip() == "1"
    assert old.version_of("solver_x") == "1.0"
    assert old.version_of("nothing_x") == "absent"
    environments._make.cache_clear()
    monkeypatch.setattr(environments, "_install", None)  # it is there already
    assert old.python == Environment.of("solver_x==1.0").python
    assert os.listdir(old.folder.parent) == [old.folder.name]


def test_what_was_asked_for_is_completed_by_the_libraries_of_the_backend(monkeypatch):
    monkeypatch.setattr(environments, "MINIMUM", ("numpy", "scipy"))
    found = Environment.of(" clarabel==0.9.0   NumPy<2 ", ("cvxpy", "clarabel", "pounce"))
    assert found.requirements == ("NumPy<2", "clarabel==0.9.0", "cvxpy", "pounce-solver", "scipy")
    assert found.folder == Environment.of("NumPy<2 clarabel==0.9.0", ("pounce", "cvxpy")).folder
    assert found.folder != Environment.of("clarabel==0.9.1 NumPy<2", ("cvxpy", "pounce")).folder


def test_without_requirements_it_is_the_python_that_runs_here():
    here = Environment.of(" ", ("cvxpy",))
    assert here.python == sys.executable
    assert here.version_of("numpy") == np.__version__


def test_what_cannot_be_installed_is_absent_and_says_why():
    environment = Environment.of("solver_x==3")
    with pytest.raises(Absent, match=r"solver_x==3 cannot be made: .*solver.x"):
        _ = environment.python
    assert environment.version_of("solver_x") == "absent"
    found = solve_isolated(paper_single(bins=4), "tilt", environment="solver_x==3")
    assert found.status is Status.ABSENT
    assert "solver_x==3 cannot be made" in found.message
    assert os.listdir(environment.folder.parent) == []


def test_a_backend_runs_there_and_is_judged_here(folder):
    share_libraries(folder)
    problem = paper_single(bins=16)
    there = solve_isolated(problem, "tilt", environment="borrowed")
    here = solve_isolated(problem, "tilt")
    assert there.status is here.status is Status.CERTIFIED
    assert there.certificate == here.certificate
    assert dict(there.versions) == dict(here.versions)
    told = attempt_isolated(problem, "conic", Options(), environment="borrowed cvxpy==0")
    assert told.status is Status.ABSENT


STUDY = """
name = "releases"
[profiles.default]
gap = 1e-6
[[backends]]
name = "tilt"
environments = ["borrowed==1", "borrowed   solver_x", ""]
[[instances]]
problem = "paper-single:bins=8"
budgets = ["fraction=0.5"]
"""


@pytest.mark.gate
def test_a_study_has_a_cell_and_a_row_for_each_environment(folder):
    share_libraries(folder)
    wheel(folder, "solver_x", "2.0")
    cells = {cell.configuration.label: cell for cell in cells_of(parse_study(STUDY, "s")).cells}
    assert set(cells) == {"tilt@borrowed==1", "tilt@borrowed solver_x", "tilt"}
    assert len({cell.key for cell in cells.values()}) == 3
    row = measure(cells["tilt@borrowed solver_x"], repeat_seconds=0.0)
    assert row.certified
    assert (row.label, row.environment) == ("tilt@borrowed solver_x", "borrowed solver_x")
    assert row.contradictions == 0
    json.dumps(dict(row.versions))
