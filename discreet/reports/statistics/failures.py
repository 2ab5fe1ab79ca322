"""Failures with their reasons, grouped: the same sentence with other numbers is the same reason."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.backends.solution import Status
from discreet.reports.measurements import Measurement

__all__ = ["Failure", "failure_groups", "reason_of"]

_NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[\\/][\w.@~+-]+){2,}[\\/]?|~[\\/][\w.@~+\\/-]+")
_LONGEST = 160


@dataclass(frozen=True)
class Failure:
    """How often a contestant ended so, for this reason; `example` is one of the instances."""

    contestant: str
    status: Status
    reason: str
    count: int
    example: str


def failure_groups(rows: Iterable[Measurement]) -> tuple[Failure, ...]:
    """Every attempt that is not certified, grouped by contestant, status and reason; the most frequent first."""
    found: dict[tuple[str, Status, str], list[str]] = {}
    for row in rows:
        if not row.certified:
            found.setdefault((row.label, row.status, reason_of(row)), []).append(row.instance)
    groups = [Failure(*key, len(where), min(where)) for key, where in found.items()]
    return tuple(sorted(groups, key=lambda each: (-each.count, each.contestant, each.status.value, each.reason)))


def reason_of(row: Measurement) -> str:
    """The message with # for its numbers, without paths, shortened; for an answer, what its backend claimed of it."""
    if row.answered:
        return f"claimed {row.claimed!r}" if row.claimed else row.status.meaning
    words = " ".join(_NUMBER.sub("#", _PATH.sub("…", row.message)).split())
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
