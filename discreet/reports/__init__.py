"""Measured results for people: comparisons, tables, pictures and pages. Names load when first used (PEP 562)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.reports.agreement import Agreement
    from discreet.reports.compare import Case, CaseFacts, Comparison, Contestant, Row, run_comparison
    from discreet.reports.files import write_report
    from discreet.reports.page import page

__all__ = [
    "Agreement",
    "Case",
    "CaseFacts",
    "Comparison",
    "Contestant",
    "Row",
    "page",
    "run_comparison",
    "write_report",
]

_HOME = {
    "Agreement": "agreement",
    "Case": "compare",
    "CaseFacts": "compare",
    "Comparison": "compare",
    "Contestant": "compare",
    "Row": "compare",
    "page": "page",
    "run_comparison": "compare",
    "write_report": "files",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
