"""What is said of the machine: hardware and versions; no host name, no user, no path."""

from __future__ import annotations

import platform

from large.measure import cores

from discreet.problems.provenance import version_of
from discreet.reports.study.machine import machine

__all__ = ["described"]

_LIBRARIES = ("numpy", "scipy", "numba", "cvxpy", "clarabel", "highspy")


def described() -> dict[str, str]:
    """Name → words, for the head of the report."""
    here = machine()
    memory = here["memory_gib"]
    facts = {
        "processor": here["processor"],
        "cores": str(cores()),
        "memory": "unknown" if memory is None else f"{memory:.0f} GiB",
        "system": platform.system(),
        "python": platform.python_version(),
        "discreet": version_of("discreet"),
    }
    for library in _LIBRARIES:
        facts[library] = version_of(library).replace("absent", "not installed")
    return facts
