"""The registry: the existing backends, and whether each can be used here.

The project's own backends are listed in `declared` and load only on demand. Another package adds
its own through the entry point group `discreet.backends` (name = "package.module:Class"). A backend
that is not packaged yet is listed in the environment variable DISCREET_BACKENDS =
"name=module:Class,...", which child processes inherit. A name used twice is an error. A backend
whose library is not installed is *absent*; one whose library is installed but fails to import is
*broken*, with the reason.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from discreet.backends.auto import Auto
from discreet.backends.contract import (
    AnyBackend,
    AnyProblem,
    Backend,
    Capabilities,
    Kind,
    Options,
    Policy,
)
from discreet.backends.declared import BACKENDS, UNTESTED
from discreet.checks import brief
from discreet.errors import Absent, Broken, DiscreetError, InputError, Unsupported, how_to_install
from discreet.problems.provenance import version_of

ENTRY_POINT_GROUP = "discreet.backends"
TRIAL_VARIABLE = "DISCREET_BACKENDS"


@dataclass(frozen=True)
class Availability:
    """The availability of a backend on this machine.

    state          "available", "absent" or "broken"
    reason         how to make it available
    capabilities   its capabilities; None if its module does not load
    """

    name: str
    state: str
    reason: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    capabilities: Capabilities | None = None


@cache
def own_backends() -> Mapping[str, str]:
    """Return name -> "package.module:Class" of the project's own backends: first the preference of
    `auto`, then the others, then peers.
    """
    return {name: BACKENDS[name] for name in (*Auto.preference, *BACKENDS)} | UNTESTED


def _targets() -> dict[str, str]:
    """Return name -> "package.module:Class" of all registered backends, the project's own first."""
    targets = dict(own_backends())
    for name, target in (*_installed_backends(), *_on_trial()):
        if targets.get(name, target) != target:
            raise DiscreetError(
                f"backend {name!r} is registered twice ({targets[name]} and {target}); remove or "
                "rename one of them"
            )
        targets[name] = target
    return targets


@cache
def _installed_backends() -> tuple[tuple[str, str], ...]:
    return tuple(
        (point.name, point.value)
        for point in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
    )


def _on_trial() -> list[tuple[str, str]]:
    targets = []
    for entry in filter(None, os.environ.get(TRIAL_VARIABLE, "").split(",")):
        name, equals, target = entry.strip().partition("=")
        if not (name and equals and ":" in target):
            raise InputError(
                f"{TRIAL_VARIABLE} holds {entry!r}; write name=module:Class, separated by commas"
            )
        targets.append((name, target))
    return targets


def backend_names(kind: Kind | None = None) -> tuple[str, ...]:
    """Return the names of all registered backends, the project's own first; for a given kind of
    problem only those that serve it.
    """
    if kind is None:
        return tuple(_targets())
    return tuple(name for name, able in capabilities().items() if kind in able.kinds)


def load_backend(name: str) -> AnyBackend | Policy:
    """Return the backend object, without importing its solver library. Raises InputError for an
    unknown name, or Broken.
    """
    return _load(name, _target_of(name))


def refuse_unknown_names(names: Iterable[str]) -> None:
    """Raise InputError for the first name that is not a backend."""
    for name in names:
        _target_of(name)


def _target_of(name: str) -> str:
    targets = _targets()
    if name not in targets:
        raise InputError(f"there is no backend {brief(name)}; choose one of: {', '.join(targets)}")
    return targets[name]


@cache
def _load(name: str, target: str) -> AnyBackend | Policy:
    module, _, attribute = target.partition(":")
    try:
        backend = getattr(importlib.import_module(module), attribute)()
    except Exception as error:  # code of another package may raise anything
        raise Broken(
            f"backend {name} cannot be loaded from {module}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(backend, Backend | Policy):
        raise Broken(
            f"backend {name} ({module}:{attribute}) lacks part of the contract: name, "
            "capabilities, lower, solve, lift"
        )
    return backend


def capabilities_of(name: str) -> Capabilities | None:
    """Return the capabilities of the backend of that name; None if there is none, or it does not
    load.
    """
    try:
        return load_backend(name).capabilities
    except (Broken, InputError):
        return None


def capabilities() -> dict[str, Capabilities]:
    """Return name -> capabilities of every backend that loads."""
    return {name: able for name in backend_names() if (able := capabilities_of(name)) is not None}


def peers() -> frozenset[str]:
    """Return the names of the backends that exist for comparison, which are used only if named."""
    return frozenset(name for name, able in capabilities().items() if able.peer)


def refuse_unserved(name: str, able: Capabilities, problem: AnyProblem, options: Options) -> None:
    """Raise Unsupported (or InputError for an unknown setting), with the same message for all
    backends, naming alternatives.
    """
    unknown = sorted(set(options.settings) - set(able.settings))
    if unknown:
        known = ", ".join(sorted(able.settings))
        remedy = f"its settings are {known}" if known else "it has none"
        raise InputError(f"backend {name} has no setting {brief(unknown[0])}; {remedy}")
    if refusal := able.refusal(problem):
        others = capabilities().items()
        fit = [
            other for other, c in others if other != name and not c.peer and not c.refusal(problem)
        ]
        remedy = f"use one of: {', '.join(fit)}" if fit else "no other backend serves it either"
        raise Unsupported(f"backend {name} {refusal}; {remedy}")


def missing_library(backend: AnyBackend | Policy) -> str:
    """Return which library of a backend is not installed and how to install it, as text after the
    backend's name; empty if all are. Nothing is imported.
    """
    able = backend.capabilities
    remedy = how_to_install(able.extra) if able.extra else "reinstall discreet"
    for library in able.libraries:
        if importlib.util.find_spec(library) is None:
            return f"needs {library}, which is not installed; {remedy}"
    return ""


def require_libraries(backend: AnyBackend | Policy) -> None:
    """Import the libraries of a backend; raises Absent or Broken with the remedy."""
    import numpy as np

    if lack := missing_library(backend):
        raise Absent(f"backend {backend.name} {lack}")
    for library in backend.capabilities.libraries:
        try:
            with np.printoptions():  # libqif changes the global print options of NumPy
                importlib.import_module(library)
        except Exception as error:  # a broken binary can raise anything at import
            raise Broken(
                f"backend {backend.name}: {library} is installed but fails to import: {error}"
            ) from error


def availability(name: str) -> Availability:
    """Return whether the backend can run here, found by importing its libraries."""
    able: Capabilities | None = None
    try:
        backend = load_backend(name)
        able = backend.capabilities
        require_libraries(backend)
    except (Absent, Broken) as error:
        return Availability(
            name, "absent" if isinstance(error, Absent) else "broken", str(error), capabilities=able
        )
    return Availability(name, "available", "", versions_of(backend), able)


def versions_of(backend: AnyBackend | Policy) -> dict[str, str]:
    """Return the versions of discreet, numpy, scipy and the backend's libraries, for the record of
    a solution.
    """
    return {
        library: version_of(library)
        for library in ("discreet", "numpy", "scipy", *backend.capabilities.libraries)
    }
