"""The common problem, the models it comes from, and the judge. Names load when they are first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.problems import catalog, errors
    from discreet.problems.catalog import paper_multi, paper_single
    from discreet.problems.information import entropy, fano_bound
    from discreet.problems.judge import Certificate, KKTResiduals, Verdict, certify
    from discreet.problems.problem import LeakageBudget, PhiRank, Problem
    from discreet.problems.reduction import reduce

__all__ = [
    "Certificate",
    "KKTResiduals",
    "LeakageBudget",
    "PhiRank",
    "Problem",
    "Verdict",
    "catalog",
    "certify",
    "entropy",
    "errors",
    "fano_bound",
    "paper_multi",
    "paper_single",
    "reduce",
]

_HOMES = {
    "catalog": ("paper_multi", "paper_single"),
    "information": ("entropy", "fano_bound"),
    "judge": ("Certificate", "KKTResiduals", "Verdict", "certify"),
    "problem": ("LeakageBudget", "PhiRank", "Problem"),
    "reduction": ("reduce",),
}
_MODULES = ("catalog", "errors")
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import the home of an exported name at its first use (PEP 562)."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
