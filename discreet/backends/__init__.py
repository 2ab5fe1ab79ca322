"""The methods, one file each, the contract they keep, the registry that finds them and the loop that runs them.

Names load when first used (PEP 562), so that importing this package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.backends.contract import Answer, Backend, Capabilities, Options, Raw, Regime
    from discreet.backends.isolated import probe, solve_isolated
    from discreet.backends.registry import Availability, availability, backend_names, capabilities, load_backend
    from discreet.backends.run import solve
    from discreet.backends.solution import Solution, Status, Timings

__all__ = [
    "Answer",
    "Availability",
    "Backend",
    "Capabilities",
    "Options",
    "Raw",
    "Regime",
    "Solution",
    "Status",
    "Timings",
    "availability",
    "backend_names",
    "capabilities",
    "load_backend",
    "probe",
    "solve",
    "solve_isolated",
]

_HOME = {
    "Answer": "contract",
    "Availability": "registry",
    "Backend": "contract",
    "Capabilities": "contract",
    "Options": "contract",
    "Raw": "contract",
    "Regime": "contract",
    "Solution": "solution",
    "Status": "solution",
    "Timings": "solution",
    "availability": "registry",
    "backend_names": "registry",
    "capabilities": "registry",
    "load_backend": "registry",
    "probe": "isolated",
    "solve": "run",
    "solve_isolated": "isolated",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
