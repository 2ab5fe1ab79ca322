"""Rows and targets as data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = ["Row", "Target"]

# a feasible answer; what its gap is, is a matter of its own
_STATED = ("", "certified", "inaccurate")


@dataclass
class Row:
    """One measured piece of work. A value that was not measured is None.

    seconds            median of `repeats` warm runs; `first_seconds` is the run before them,
                       compiling included
    work               what was done, in words; `size` is what costs are plotted against
    reference          what it is compared with; `reference_seconds` of that work, in the same run
    gap                certified relative gap (upper − lower) / upper
    leakage_share      what the answer leaks ÷ the budget; of a reference: what it leaks before the
                       judge repairs it
    phi_residual       ‖Φ P‖∞, likewise
    iterations         of the interior point, in all
    peak_mib           most resident memory of the process
    private_mib        the same without pages of mapped files
    """

    case: str
    work: str
    outcomes: int = 0
    size: float = 0.0
    seconds: float | None = None
    first_seconds: float | None = None
    repeats: int = 0
    reference: str = ""
    reference_seconds: float | None = None
    status: str = ""
    error_probability: float | None = None
    gap: float | None = None
    leakage_share: float | None = None
    phi_residual: float | None = None
    iterations: int | None = None
    peak_mib: float | None = None
    private_mib: float | None = None
    target: str = ""
    missed: list[str] = field(default_factory=list)
    judged: bool = False
    note: str = ""

    @property
    def compile_seconds(self) -> float | None:
        """Return the additional time of the first run: compiling and loading."""
        if self.seconds is None or self.first_seconds is None:
            return None
        return max(0.0, self.first_seconds - self.seconds)

    @property
    def multiple(self) -> float | None:
        """Return the seconds divided by the seconds of the reference."""
        if self.seconds is None or not self.reference_seconds:
            return None
        return self.seconds / self.reference_seconds

    @property
    def verdict(self) -> str:
        """met, not met (and why), or what else there is to say."""
        if not self.target:
            return ""
        if not self.judged:
            return "not judged"
        return "not met: " + "; ".join(self.missed) if self.missed else "met"


@dataclass(frozen=True)
class Target:
    """The target of a row; None where there is none. The budget must be kept in any case.

    faster     the least factor by which it is faster than the reference
    multiple   the largest multiple of the reference's time
    private    MiB, without the pages of mapped files
    """

    words: str
    seconds: float | None = None
    faster: float | None = None
    multiple: float | None = None
    gap: float | None = None
    phi_residual: float | None = None
    iterations: int | None = None
    peak: float | None = None
    private: float | None = None

    def missed(self, row: Row) -> list[str]:
        """Return what the row misses, in words; nothing if it meets the target."""
        if row.seconds is None:
            return [row.note or "no answer"]
        over = [
            _over("seconds", row.seconds, self.seconds, ".3g", " s"),
            _over("gap", row.gap, self.gap, ".1e", ""),
            _over("‖ΦP‖∞", row.phi_residual, self.phi_residual, ".1e", ""),
            _over("iterations", row.iterations, self.iterations, "d", ""),
            _over("peak memory", row.peak_mib, self.peak, ".0f", " MiB"),
            _over("memory without the page cache", row.private_mib, self.private, ".0f", " MiB"),
            _over("reference ×", row.multiple, self.multiple, ".3g", ""),
        ]
        if self.faster is not None:
            times = 1.0 / row.multiple if row.multiple else math.nan
            over.append(
                "" if times >= self.faster else f"{times:.3g}× faster, not {self.faster:g}×"
            )
        over.append("" if row.status in _STATED else f"status {row.status}")
        over.append(
            ""
            if row.leakage_share is None or row.leakage_share <= 1.0
            else f"{row.leakage_share:.3g}× the budget"
        )
        return [words for words in over if words]


def _over(what: str, value: float | None, limit: float | None, style: str, unit: str) -> str:
    if limit is None:
        return ""
    if value is None:
        return f"{what} was not measured"
    return "" if value <= limit else f"{what} {value:{style}}{unit}, not {limit:{style}}{unit}"
