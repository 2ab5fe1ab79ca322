"""Measured results for people: comparisons, studies, advice, tables, pictures and pages. Names load when first used.

measurements, study/, compare, crosscheck/   measuring: one row for every attempt, and where rows come from
statistics/, advice/                         what rows say
figures, pictures, tables, wording           showing it
html/, published/, outputs                   pages and files
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.reports.compare import Case, Comparison, run_comparison, write_comparison
    from discreet.reports.measurements import Configuration, Measurement
    from discreet.reports.statistics.agreement import Agreement

__all__ = [
    "Agreement",
    "Case",
    "Comparison",
    "Configuration",
    "Measurement",
    "run_comparison",
    "write_comparison",
]

_HOME = {
    "Agreement": "statistics.agreement",
    "Case": "compare",
    "Comparison": "compare",
    "Configuration": "measurements",
    "Measurement": "measurements",
    "run_comparison": "compare",
    "write_comparison": "compare",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
