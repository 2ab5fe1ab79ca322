"""Environments: a Python of its own for a backend, with the requested releases of libraries.

An environment is a folder made by `uv`, or by `venv` and `pip` without `uv`. It contains the
requested releases, the backend's libraries, and `MINIMUM`, which is everything that the backend's
side of this package imports; the package itself is not installed there but loaded from its own
folder (`process`). A folder is made once, and kept in the user's cache or in the folder that
DISCREET_ENVIRONMENTS names. Its name is a hash of its contents and of the version of Python, so a
requirement without a version keeps its release until the folder is removed.

Settings of the installer, such as UV_NO_BUILD=1 or PIP_INDEX_URL, are read from its own variables.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from discreet.errors import Absent
from discreet.problems.provenance import distribution_of, version_of

FOLDER_VARIABLE = "DISCREET_ENVIRONMENTS"

MINIMUM = ("lazy-loader", "numpy", "scipy")
"""Libraries that the backend's side of this package imports."""

_INSTALL_SECONDS = 900.0


@dataclass(frozen=True)
class Environment:
    """A Python with chosen libraries; without requirements, the Python that runs here.

    requirements   as pip reads them, such as "clarabel==0.9.0", in their order
    """

    requirements: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: str, libraries: Iterable[str] = ()) -> Environment:
        """Return the environment of requirements separated by spaces, completed by a backend's
        libraries. Without words it is the Python that runs here.
        """
        asked = words.split()
        if not asked:
            return cls()
        names = {_name(each) for each in asked}
        needed = (*map(distribution_of, libraries), *MINIMUM)
        return cls(tuple(sorted([*asked, *{name for name in needed if _name(name) not in names}])))

    @property
    def folder(self) -> Path:
        """The folder where it is kept, whether or not it has been made."""
        key = " ".join((sys.version, *self.requirements))
        return _cache() / hashlib.sha256(key.encode()).hexdigest()[:16]

    @property
    def python(self) -> str:
        """The path of its interpreter. The first use makes the environment; Absent if that
        fails.
        """
        if not self.requirements:
            return sys.executable
        if failure := _make(self):
            raise Absent(f"the environment {' '.join(self.requirements)} cannot be made: {failure}")
        return _interpreter(self.folder)

    def version_of(self, library: str) -> str:
        """Return the version of a library there, or "absent", without importing it. The first use
        makes the environment.
        """
        if library == "discreet" or not self.requirements:
            return version_of(library)
        if _make(self):
            return "absent"
        scheme = {"base": str(self.folder), "platbase": str(self.folder)}
        path = [sysconfig.get_path("purelib", "venv", scheme)]
        distributions = importlib.metadata.distributions(name=distribution_of(library), path=path)
        return next((each.version for each in distributions), "absent")


@cache
def _make(environment: Environment) -> str:
    """Make the folder unless it exists; return the reason of a failure, or an empty text."""
    folder = environment.folder
    if folder.exists():
        return ""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.mkdtemp(prefix=".making-", dir=folder.parent)
    except OSError as error:
        return f"{error.strerror} ({folder.parent}); name another folder in {FOLDER_VARIABLE}"
    try:
        made = Path(scratch, "environment")
        failure = _install(environment.requirements, made)
        if not failure:
            with contextlib.suppress(OSError):  # another process was first
                made.rename(folder)
        return failure
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _install(requirements: tuple[str, ...], folder: Path) -> str:
    """Install into a folder; return the end of the installer's output if it fails, or an empty
    text.
    """
    python = _interpreter(folder)
    if uv := _uv():
        commands = [
            [*uv, "venv", "-q", "--python", sys.executable, str(folder)],
            [*uv, "pip", "install", "-q", "-p", python, *requirements],
        ]
    else:
        commands = [
            [sys.executable, "-m", "venv", str(folder)],
            [python, "-m", "pip", "install", "-q", *requirements],
        ]
    for command in commands:
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode:
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            return " / ".join(lines[-3:])
    return ""


def _uv() -> list[str]:
    """Return the command that starts uv; empty if it is not installed."""
    if path := shutil.which("uv"):
        return [path]
    return [sys.executable, "-m", "uv"] if importlib.util.find_spec("uv") else []


def _interpreter(folder: Path) -> str:
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def _cache() -> Path:
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given).absolute()
    cache_folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache_folder) / "discreet" / "environments"


def _name(requirement: str) -> str:
    """Return the normalised name of the project of a requirement."""
    match = re.match(r"[A-Za-z0-9._-]*", requirement)
    return re.sub(r"[-_.]+", "-", match.group() if match else "").lower()
