"""Which backend is tried on which instance: it follows from the backend's capabilities and its
declared `reach`.

An instance beyond reach is skipped and does not count as a failure, so hours are not spent on cells
that are known to take them.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import discreet as ds

_DECLARED = Path(__file__).resolve().parents[1] / "discreet" / "backends" / "declared.py"

OTHER_KINDS = ("auto", "intervals", "sequence-form")
"""Backends that answer no problem of arrays by themselves: a policy, and those for densities and
for guesses over time.
"""

LINEAR = ("highs", "pyomo", "glop", "pdlp", "qif")
"""Backends for linear programs, which serve no positive budget of mutual information."""


def backends(*left_out: str) -> list[str]:
    """The project's own backends in their fixed order, then those that other packages register,
    without those that would be skipped for every instance of a suite.

    The project's are read from the files of the checkout that holds these benchmarks, and a list is
    left out, not asked for. asv tells a measuring process only the position of a cell in the grid,
    so the grid has to be the same for every commit that is measured, whichever backends that commit
    has.
    """
    declared = runpy.run_path(str(_DECLARED))
    own = list(declared["BACKENDS"])
    others = set(ds.backends.backend_names()).difference(own, declared["UNTESTED"])
    return [name for name in (*own, *sorted(others)) if name not in (*OTHER_KINDS, *left_out)]


def absence(backend: str) -> str:
    """Why the backend cannot run here: this version of discreet lacks it, or its libraries cannot
    be loaded; empty if it can.
    """
    if backend not in ds.backends.backend_names():
        return f"this version of discreet has no backend {backend}"
    found = ds.backends.availability(backend)
    return "" if found.state == "available" else str(found.reason)


def refusal(backend: str, problem: Any, *, curve: bool = False) -> str:
    """Why a backend is not tried on this instance, or on its whole curve, even if it is available;
    empty if it is tried.
    """
    reason = ds.backends.load_backend(backend).capabilities.skipped(problem, {}, curve=curve)
    return reason and f"{backend} {reason}"
