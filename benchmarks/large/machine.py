"""What is said of the machine: hardware and versions; no host name, no user, no path."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from large.measure import cores

import discreet as ds

__all__ = ["described"]

_LIBRARIES = ("numpy", "scipy", "numba", "cvxpy", "clarabel", "highspy")


def described() -> dict[str, str]:
    """Name → words, for the head of the report."""
    facts = {
        "processor": _processor(),
        "cores": str(cores()),
        "memory": _memory(),
        "system": platform.system(),
    }
    facts["python"] = ".".join(map(str, sys.version_info[:3]))
    facts["discreet"] = ds.__version__
    for library in _LIBRARIES:
        facts[library] = _version(library) or "not installed"
    return facts


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        for line in listed.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return "unknown"
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
