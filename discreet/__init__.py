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
    from discreet.backends.continuous import (
        ContinuousSolution,
        QuantiserDesign,
        SampledEstimate,
        design_quantiser,
        estimate_continuous_by_samples,
        solve_continuous,
    )
    from discreet.backends.contract import Options
    from discreet.backends.isolated import solve_isolated
    from discreet.backends.run import solve
    from discreet.backends.solution import Solution, Status
    from discreet.backends.tilt.streaming import BlockSolution, solve_blocks
    from discreet.curve import Frontier, FrontierPoint, frontier
    from discreet.problems.blocks import BlockProblem
    from discreet.problems.continuous import (
        ContinuousCertificate,
        ContinuousProblem,
        Density,
        IntervalRule,
        Mixture,
        NormalDensity,
        certify_rule,
        paper_continuous,
    )
    from discreet.problems.errors import DiscreetError, FileError, InputError
    from discreet.problems.files.records import load_problem, load_solution, save_problem, save_solution
    from discreet.problems.inference.adversary import Inference, inference
    from discreet.problems.inference.local_estimates import local_inference
    from discreet.problems.judge import Certificate, certify
    from discreet.problems.problem import Problem
    from discreet.problems.rule import Rule
    from discreet.reports.advice import Advice, advise

__all__ = [
    "Advice",
    "BlockProblem",
    "BlockSolution",
    "Certificate",
    "ContinuousCertificate",
    "ContinuousProblem",
    "ContinuousSolution",
    "Density",
    "DiscreetError",
    "FileError",
    "Frontier",
    "FrontierPoint",
    "Inference",
    "InputError",
    "IntervalRule",
    "Mixture",
    "NormalDensity",
    "Options",
    "Problem",
    "QuantiserDesign",
    "Rule",
    "SampledEstimate",
    "Solution",
    "Status",
    "__version__",
    "advise",
    "backends",
    "certify",
    "certify_rule",
    "design_quantiser",
    "estimate_continuous_by_samples",
    "frontier",
    "inference",
    "load_problem",
    "load_solution",
    "local_inference",
    "paper_continuous",
    "problems",
    "reports",
    "save_problem",
    "save_solution",
    "solve",
    "solve_blocks",
    "solve_continuous",
    "solve_isolated",
]

__version__ = "0.1.0"

_HOME = {
    "Advice": "reports.advice",
    "BlockProblem": "problems.blocks",
    "BlockSolution": "backends.tilt.streaming",
    "Certificate": "problems.judge",
    "ContinuousCertificate": "problems.continuous",
    "ContinuousProblem": "problems.continuous",
    "ContinuousSolution": "backends.continuous",
    "Density": "problems.continuous",
    "DiscreetError": "problems.errors",
    "FileError": "problems.errors",
    "Frontier": "curve",
    "FrontierPoint": "curve",
    "Inference": "problems.inference.adversary",
    "InputError": "problems.errors",
    "IntervalRule": "problems.continuous",
    "Mixture": "problems.continuous",
    "NormalDensity": "problems.continuous",
    "Options": "backends.contract",
    "Problem": "problems.problem",
    "QuantiserDesign": "backends.continuous",
    "Rule": "problems.rule",
    "SampledEstimate": "backends.continuous",
    "Solution": "backends.solution",
    "Status": "backends.solution",
    "advise": "reports.advice",
    "certify": "problems.judge",
    "certify_rule": "problems.continuous",
    "design_quantiser": "backends.continuous",
    "estimate_continuous_by_samples": "backends.continuous",
    "frontier": "curve",
    "inference": "problems.inference.adversary",
    "load_problem": "problems.files.records",
    "load_solution": "problems.files.records",
    "local_inference": "problems.inference.local_estimates",
    "paper_continuous": "problems.continuous",
    "save_problem": "problems.files.records",
    "save_solution": "problems.files.records",
    "solve": "backends.run",
    "solve_blocks": "backends.tilt.streaming",
    "solve_continuous": "backends.continuous",
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
