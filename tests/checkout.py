"""The checkout of the tests: its folders, its texts, the scripts of `.ci`; and a new Python."""

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
REPORTS = ROOT / "reports"
BENCHMARKS = ROOT / "benchmarks"


def text_of(path):
    """The text of a file; a path that is not absolute begins in the checkout."""
    return (ROOT / path).read_text(encoding="utf-8")


PROJECT = tomllib.loads(text_of("pyproject.toml"))["project"]
"""What pyproject.toml says about the package."""


def python(*arguments, **options):
    """Return what a new process of this Python prints; it must succeed."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def ci_script(name):
    """A helper script of `.ci/`, loaded as a module."""
    spec = importlib.util.spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
