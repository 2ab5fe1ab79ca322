"""Which backends exist, and whether each can be used here.

The project's own backends are named below and load only when asked for. Another package adds its own through the entry
point group `discreet.backends` (name = "package.module:Class"); a name used twice is an error. A backend whose library is
not installed is *absent*; one whose library is installed but fails to import is *broken*, with the reason.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from dataclasses import dataclass
from functools import cache

from discreet.backends.contract import Backend, Capabilities
from discreet.problems.errors import Absent, Broken, DiscreetError, InputError

__all__ = ["Availability", "availability", "backend_names", "capabilities", "load_backend", "versions_of"]

ENTRY_POINT_GROUP = "discreet.backends"

_OWN = {
    "tilt": "discreet.backends.tilt:Tilt",
    "blahut-arimoto": "discreet.backends.blahut_arimoto:BlahutArimoto",
    "conic": "discreet.backends.conic:Conic",
    "slsqp": "discreet.backends.slsqp:Slsqp",
    "highs": "discreet.backends.highs:Highs",
    "pyomo": "discreet.backends.pyomo_:Pyomo",
    "auto": "discreet.backends.auto:Auto",
}


@dataclass(frozen=True)
class Availability:
    """Whether a backend can run here. state is "available", "absent" or "broken"; reason says what to do about it."""

    name: str
    state: str
    reason: str
    versions: dict[str, str]


@cache
def _targets() -> dict[str, str]:
    targets = dict(_OWN)
    for point in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP):
        if targets.get(point.name, point.value) != point.value:
            raise DiscreetError(
                f"backend {point.name!r} is registered twice ({targets[point.name]} and {point.value}); uninstall one of them"
            )
        targets[point.name] = point.value
    return targets


def backend_names() -> tuple[str, ...]:
    """Every registered backend, the project's own first."""
    return tuple(_targets())


def load_backend(name: str) -> Backend:
    """The backend object; its solver library need not be there yet. Raises InputError for an unknown name, Broken."""
    if name not in _targets():
        raise InputError(f"there is no backend {name!r}; choose one of: {', '.join(backend_names())}")
    return _load(name)


@cache
def _load(name: str) -> Backend:
    module, _, attribute = _targets()[name].partition(":")
    try:
        backend = getattr(importlib.import_module(module), attribute)()
    except Exception as error:  # a third party's code may raise anything
        raise Broken(f"backend {name} cannot be loaded from {module}: {type(error).__name__}: {error}") from error
    if not isinstance(backend, Backend):
        raise Broken(
            f"backend {name} ({module}:{attribute}) lacks part of the contract: name, capabilities, lower, solve, lift"
        )
    return backend


def capabilities() -> dict[str, Capabilities]:
    """Name -> capabilities of every backend that loads."""
    found = {}
    for name in backend_names():
        try:
            found[name] = load_backend(name).capabilities
        except Broken:
            continue
    return found


def require_libraries(backend: Backend) -> None:
    """Import what the backend needs; raises Absent or Broken with the remedy."""
    able = backend.capabilities
    remedy = f'pip install "discreet[{able.extra}]"' if able.extra else "reinstall discreet"
    for library in able.libraries:
        if importlib.util.find_spec(library) is None:
            raise Absent(f"backend {backend.name} needs {library}, which is not installed; {remedy}")
        try:
            importlib.import_module(library)
        except Exception as error:  # a broken binary can raise anything at import
            raise Broken(f"backend {backend.name}: {library} is installed but fails to import: {error}") from error


def availability(name: str) -> Availability:
    """Whether the backend can run here, by really importing what it needs."""
    try:
        backend = load_backend(name)
        require_libraries(backend)
    except Absent as error:
        return Availability(name, "absent", str(error), {})
    except Broken as error:
        return Availability(name, "broken", str(error), {})
    return Availability(name, "available", "", versions_of(backend))


def versions_of(backend: Backend) -> dict[str, str]:
    """Versions of discreet, numpy, scipy and the backend's libraries, for the record of a solution."""
    found = {}
    for library in ("discreet", "numpy", "scipy", *backend.capabilities.libraries):
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            found[library] = "unknown"
    return found
