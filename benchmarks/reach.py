"""Which backend is tried on which instance: it follows from the backend's capabilities and its
declared `reach`.

An instance beyond reach is skipped and is no failure, so no hours are spent on cells that are known
to take them.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import discreet as ds

_DECLARED = Path(__file__).resolve().parents[1] / "discreet" / "backends" / "declared.py"


def own_backends() -> list[str]:
    """The project's backends, read from the files of the checkout that holds these benchmarks.

    `discreet` itself is not asked: asv tells a measuring process only the position of a cell in the
    grid. So the grid has to be the same for every commit that is measured, whichever backends that
    commit has.
    """
    return list(runpy.run_path(str(_DECLARED))["BACKENDS"])


OTHER_KINDS = ("auto", "intervals", "sequence-form")
"""Backends that answer no problem of arrays by themselves: a policy, and those for densities and
for guesses over time.
"""

LINEAR = ("highs", "pyomo", "glop", "pdlp", "qif")
"""Backends for linear programs, which serve no positive budget of mutual information."""


def backends(*left_out: str) -> list[str]:
    """The project's own backends in their fixed order, then those that other packages register,
    without those that would be skipped for every instance of a suite.

    A list is left out, not asked for: see `own_backends`.
    """
    own = own_backends()
    found = [*own, *sorted(set(ds.backends.backend_names()) - set(own))]
    return [name for name in found if name not in (*OTHER_KINDS, *left_out)]


def unknown(backend: str) -> str:
    """The message that this version of discreet lacks the backend; empty if it has it."""
    return (
        ""
        if backend in ds.backends.backend_names()
        else f"this version of discreet has no backend {backend}"
    )


def absence(backend: str) -> str:
    """Why the backend's libraries cannot be loaded here; empty if they can."""
    found = ds.backends.availability(backend)
    return "" if found.state == "available" else str(found.reason)


def refusal(backend: str, problem: Any, *, curve: bool = False) -> str:
    """Why a backend is not tried on this instance, or on its whole curve, even if it is available;
    empty if it is tried.
    """
    reason = ds.backends.load_backend(backend).capabilities.skipped(problem, {}, curve=curve)
    return reason and f"{backend} {reason}"
