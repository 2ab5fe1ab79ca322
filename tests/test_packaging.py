"""Tests of the installed package: the wheel's contents, the two top-level links, the typing marker,
conflicting libraries.

Law: a tree with the links `problems` and `backends` and a tree without them give the same wheel,
which holds every module of `discreet` and nothing else.
"""

import os
import shutil
import tarfile
import zipfile

import pytest
import yaml
from checkout import PROJECT, ROOT, ci_script, python, text_of

import discreet as ds

LINKS = {"problems": "discreet/problems", "backends": "discreet/backends"}
NEEDED = ("pyproject.toml", "README.md", "LICENSE")


def build_wheel(tree, *, links, build="build_wheel"):
    """Build a wheel from a copy of the sources, in `tree`, by the backend of pyproject.toml that is
    installed here.

    build: the function of the backend, `build_wheel` or `build_editable`.
    """
    tree.mkdir()
    shutil.copytree(
        ROOT / "discreet", tree / "discreet", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in NEEDED:
        shutil.copy(ROOT / name, tree / name)
    # As in the repository: present, and not to be packaged.
    for folder in ("tests", "benchmarks", "reports"):
        (tree / folder).mkdir()
        (tree / folder / "stray.py").write_text("")
    if links:
        for name, target in LINKS.items():
            (tree / name).symlink_to(target, target_is_directory=True)
    code = f"from setuptools import build_meta; build_meta.{build}('dist')"
    python("-c", code, timeout=300, cwd=tree)
    (wheel,) = (tree / "dist").glob("*.whl")
    return wheel


def modules_of(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


@pytest.mark.gate
def test_the_wheel_holds_every_module_and_only_discreet_with_and_without_the_links(tmp_path):
    linked = build_wheel(tmp_path / "linked", links=True)
    plain = build_wheel(tmp_path / "plain", links=False)
    assert ci_script("check_wheel").complaints(linked, ROOT / "discreet") == []
    assert modules_of(linked) == modules_of(plain)
    assert {name.split("/")[0] for name in modules_of(plain)} == {"discreet"}


@pytest.mark.gate
def test_an_editable_installation_is_found_next_to_a_folder_of_its_name(tmp_path):
    wheel = build_wheel(tmp_path / "discreet", links=True, build="build_editable")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    lines = (
        "import os, site, sys",
        # Without any installation of this project that there is already.
        "sys.path = [each for each in sys.path if not os.path.isfile(os.path.join(each, "
        "'discreet', '__init__.py'))]",
        f"site.addsitedir({str(tmp_path / 'installed')!r})",
        "import discreet as ds",
        "print(ds.problems.__file__)",
    )
    program = "; ".join(lines)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    place = python("-c", program, cwd=tmp_path, env=environment).strip()
    assert place == str(tmp_path / "discreet" / "discreet" / "problems" / "__init__.py")


def test_the_checker_notices_a_missing_module_a_stale_one_and_a_stray_package(tmp_path):
    package = tmp_path / "discreet"
    package.mkdir()
    for name in ("__init__.py", "kept.py", "lost.py"):
        (package / name).write_text("")
    wheel = tmp_path / "discreet-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in (
            "discreet/__init__.py",
            "discreet/kept.py",
            "discreet/stale.py",
            "problems/kept.py",
        ):
            archive.writestr(name, "")
        archive.writestr("discreet-1.dist-info/METADATA", "Metadata-Version: 2.4\nName: discreet\n")
    report = "\n".join(ci_script("check_wheel").complaints(wheel, package))
    assert "lacks discreet/lost.py" in report
    assert "lacks discreet/py.typed" in report
    assert "holds discreet/stale.py" in report
    assert "holds problems/kept.py" in report
    assert "lacks its LICENSE" in report
    assert "metadata are not valid: 'version' is a required field" in report


def test_the_checker_notices_what_a_source_archive_lacks_and_must_not_hold(tmp_path):
    package = tmp_path / "discreet"
    package.mkdir()
    (package / "lost.py").write_text("")
    sources = tmp_path / "discreet-1.tar.gz"
    with tarfile.open(sources, "w:gz") as archive:
        link = tarfile.TarInfo("discreet-1/problems")
        link.type = tarfile.SYMTYPE
        link.linkname = "discreet/problems"
        archive.addfile(link)
        archive.addfile(tarfile.TarInfo("discreet-1/tests/test_one.py"))
    report = ci_script("check_wheel").source_complaints(sources, package)
    assert "the source archive lacks discreet/lost.py" in report
    assert "the source archive lacks SECURITY.md" in report
    assert "the source archive holds the link problems" in report
    assert "the source archive holds tests/test_one.py, a part of the tests" in report


def test_every_python_that_is_declared_is_tested_by_the_workflow():
    declared = [
        each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: 3." in each
    ]
    jobs = yaml.safe_load(text_of(".github/workflows/ci.yml"))["jobs"]
    assert jobs["gate"]["strategy"]["matrix"]["python"] == declared
    assert PROJECT["requires-python"] == f">={declared[0]}"
    assert {each["which"] for each in jobs["versions"]["strategy"]["matrix"]["include"]} == {
        "oldest",
        "newest",
    }


def test_the_package_and_the_citation_name_the_version():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert citation["version"] == ds.__version__ == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert {"cff-version", "message", "title", "authors"} <= set(citation)


def test_the_top_level_links_lead_into_the_package():
    for name, target in LINKS.items():
        link = ROOT / name
        if link.is_symlink():
            assert os.readlink(link) == target
            assert link.resolve() == (ROOT / target).resolve()
        else:  # a checkout without symbolic links holds a small file with the target, or nothing
            assert not link.is_dir()


def test_the_extras_are_the_documented_ones_and_all_includes_them():
    extras = PROJECT["optional-dependencies"]
    ours = {"all", "dev", "lint", "site"}  # for those who work on the project
    assert {"conic", "pyomo", "data", "fast", "peers", "verify", "bench"} | ours <= set(extras)
    (everything,) = extras["all"]
    included = set(everything.removeprefix("discreet[").removesuffix("]").split(","))
    assert included == set(extras) - ours - {"gpu"}, "cupdlpx cannot be installed without CUDA"
    assert "discreet[all]" in extras["dev"]


@pytest.mark.parametrize("other", ["casadi", "unopy"])
@pytest.mark.parametrize("ours_first", [True, False])
def test_highspy_shares_a_process_with_other_libraries_that_contain_highs(other, ours_first):
    """OR-Tools does not: its backends have processes of their own; see
    docs/decisions/0002-base-install.md.
    """
    pytest.importorskip(other.split(".")[0], reason="the extra `peers` is not installed")
    order = ["highspy", other] if ours_first else [other, "highspy"]
    code = (
        f"import {order[0]}\nimport {order[1]}\nimport highspy\n"
        "h = highspy.Highs()\nh.setOptionValue('output_flag', False)\n"
        "x = h.addVariable(0.25, 1.0)\nh.minimize(x)\n"
        "print(h.getObjectiveValue())"
    )
    assert float(python("-c", code, timeout=120)) == 0.25
