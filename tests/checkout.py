"""The checkout in which the tests run: its folders, its files as texts, the scripts of `.ci`."""

import importlib.util
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


def ci_script(name):
    """A helper script of `.ci/`, loaded as a module."""
    spec = importlib.util.spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
