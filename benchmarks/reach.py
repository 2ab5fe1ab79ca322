"""What is tried with which backend: its own capabilities, and the measured limits of `reach.toml`.

An entry of `reach.toml` says that a backend is not tried beyond a size in some suites, and why. Beyond reach is not failure:
those cells are skipped, so that hours do not go into what is known to take them.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import discreet as ds

TABLE = Path(__file__).with_name("reach.toml")
OWN = (
    "tilt", "blahut-arimoto", "conic", "slsqp", "highs", "pyomo", "auto",
    "trust-constr", "clarabel", "ipopt", "qics", "pdlp", "glop",
)  # fmt: skip
"""The project's backends. Told here and not asked for: asv tells a measuring process only the place of a cell in the grid,
so the grid has to be the same for every commit, whichever backends it has."""

KEYS = {"backend", "suites", "largest_outcomes", "largest_alphabet", "reason"}


@cache
def limits() -> list[dict[str, Any]]:
    """The entries of reach.toml; ValueError for one with an unknown key or without a limit or reason."""
    found: list[dict[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["limit"]
    for number, entry in enumerate(found, start=1):
        unknown = sorted(set(entry) - KEYS)
        if unknown:
            raise ValueError(f"reach.toml, limit {number}: there is no key {unknown[0]!r}; use {', '.join(sorted(KEYS))}")
        if not {"backend", "suites", "reason"} <= set(entry) or not {"largest_outcomes", "largest_alphabet"} & set(entry):
            raise ValueError(f"reach.toml, limit {number}: give backend, suites, reason and a largest_... to every limit")
    return found


def contestants() -> list[str]:
    """The project's own backends in their fixed order, then those that other packages register."""
    return [*OWN, *sorted(set(ds.backends.backend_names()) - set(OWN))]


def unknown(backend: str) -> str:
    """That this version of discreet lacks the backend; empty when it has it."""
    return "" if backend in ds.backends.backend_names() else f"this version of discreet has no backend {backend}"


def absence(backend: str) -> str:
    """Why the backend cannot run here at all, by loading its libraries; empty when it can."""
    found = ds.backends.availability(backend)
    return "" if found.state == "available" else str(found.reason)


def refusal(suite: str, backend: str, problem: Any) -> str:
    """Why a backend is not tried on this instance, were it there; empty when it is."""
    able = ds.backends.load_backend(backend).capabilities
    regime = ds.backends.Regime.of(problem)
    if regime not in able.regimes:
        return f"{backend} does not serve {regime.value}"
    if problem.N > able.largest_outcomes:
        return f"{backend} refuses more than {able.largest_outcomes} outcomes"
    beyond = (entry for entry in limits() if entry["backend"] == backend and suite in entry["suites"])
    return next((_words(entry) for entry in beyond if _exceeds(entry, problem)), "")


def _exceeds(entry: dict[str, Any], problem: Any) -> bool:
    outcomes, alphabet = entry.get("largest_outcomes"), entry.get("largest_alphabet")
    return (outcomes is not None and problem.N > outcomes) or (alphabet is not None and max(problem.n, problem.m) > alphabet)


def _words(entry: dict[str, Any]) -> str:
    sizes = (("largest_outcomes", "outcomes"), ("largest_alphabet", "values of an alphabet"))
    most = " or ".join(f"{entry[key]} {what}" for key, what in sizes if key in entry)
    return f"{entry['backend']} is not tried above {most}: {entry['reason']}"
