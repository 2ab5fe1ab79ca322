"""discreet: design, solve, compare and certify privacy-aware minimum-error estimators.

    import discreet as ds

    p = ds.problems.paper_single(bins=64, budget=0.01)     # leakage budget in nats
    s = ds.solve(p, backend="tilt")
    s.status, s.error_probability, s.leakage, s.certificate.lower, s.certificate.upper

The best randomised guess Ŷ of a public variable Y from a measurement Z, when the guess may reveal at most a stated amount
about a private variable X. Names load when first used (PEP 562): importing this package imports nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet import backends, problems, reports
    from discreet.backends.contract import Options
    from discreet.backends.isolated import solve_isolated
    from discreet.backends.run import solve
    from discreet.backends.solution import Solution, Status
    from discreet.curve import Frontier, FrontierPoint, frontier
    from discreet.problems.adversary import Inference, inference
    from discreet.problems.errors import DiscreetError, FileError, InputError
    from discreet.problems.files import load_problem, load_solution, save_problem, save_solution
    from discreet.problems.judge import Certificate, certify
    from discreet.problems.local_estimates import local_inference
    from discreet.problems.problem import Problem

__all__ = [
    "Certificate",
    "DiscreetError",
    "FileError",
    "Frontier",
    "FrontierPoint",
    "Inference",
    "InputError",
    "Options",
    "Problem",
    "Solution",
    "Status",
    "__version__",
    "backends",
    "certify",
    "frontier",
    "inference",
    "load_problem",
    "load_solution",
    "local_inference",
    "problems",
    "reports",
    "save_problem",
    "save_solution",
    "solve",
    "solve_isolated",
]

__version__ = "0.1.0"

_HOME = {
    "Certificate": "problems.judge",
    "DiscreetError": "problems.errors",
    "FileError": "problems.errors",
    "Frontier": "curve",
    "FrontierPoint": "curve",
    "Inference": "problems.adversary",
    "InputError": "problems.errors",
    "Options": "backends.contract",
    "Problem": "problems.problem",
    "Solution": "backends.solution",
    "Status": "backends.solution",
    "certify": "problems.judge",
    "frontier": "curve",
    "inference": "problems.adversary",
    "load_problem": "problems.files",
    "load_solution": "problems.files",
    "local_inference": "problems.local_estimates",
    "save_problem": "problems.files",
    "save_solution": "problems.files",
    "solve": "backends.run",
    "solve_isolated": "backends.isolated",
}
_PACKAGES = ("backends", "problems", "reports")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
