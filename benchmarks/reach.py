"""What is tried with which backend: what it says about itself, its capabilities with their `reach`.

Beyond reach is not failure: those cells are skipped, so that hours do not go into what is known to take them.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import discreet as ds

_DECLARED = Path(__file__).resolve().parents[1] / "discreet" / "backends" / "declared.py"


def own_backends() -> list[str]:
    """The project's backends, read from the files that lie beside these benchmarks.

    Not asked of `discreet` itself: asv tells a measuring process only the place of a cell in the grid, so the grid has to be
    the same for every commit that is measured, whichever backends it has.
    """
    return list(runpy.run_path(str(_DECLARED))["declared"]())


def backends() -> list[str]:
    """The project's own backends in their fixed order, then those that other packages register."""
    own = own_backends()
    return [*own, *sorted(set(ds.backends.backend_names()) - set(own))]


def unknown(backend: str) -> str:
    """That this version of discreet lacks the backend; empty when it has it."""
    return "" if backend in ds.backends.backend_names() else f"this version of discreet has no backend {backend}"


def absence(backend: str) -> str:
    """Why the backend cannot run here at all, by loading its libraries; empty when it can."""
    found = ds.backends.availability(backend)
    return "" if found.state == "available" else str(found.reason)


def refusal(backend: str, problem: Any, *, curve: bool = False) -> str:
    """Why a backend is not tried on this instance, or on its whole curve, were it there; empty when it is."""
    reason = ds.backends.load_backend(backend).capabilities.skipped(problem, {}, curve=curve)
    return reason and f"{backend} {reason}"
