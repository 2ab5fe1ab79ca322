"""Who agrees with whom: two contestants agree on a case when their certified brackets intersect.

Each bracket contains the optimum of the same problem, or a proof is wrong; brackets that exclude one another are therefore
never a matter of accuracy. How far apart the error probabilities are is a matter of accuracy, and is shown beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Protocol

__all__ = ["Agreement", "Bracketed", "Pair", "agreements", "summarise"]


class Bracketed(Protocol):
    """What agreement needs of a row."""

    @property
    def case(self) -> str: ...
    @property
    def contestant(self) -> str: ...
    @property
    def lower_bound(self) -> float: ...
    @property
    def error_probability(self) -> float: ...
    @property
    def answered(self) -> bool: ...


@dataclass(frozen=True)
class Agreement:
    """Two contestants on one case: whether their brackets intersect, and |difference| of their error probabilities."""

    case: str
    first: str
    second: str
    agree: bool
    difference: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name."""
        return asdict(self)


@dataclass(frozen=True)
class Pair:
    """Two contestants over all cases both answered: how many those are, on how many they agree, the largest difference."""

    first: str
    second: str
    cases: int
    agreeing: int
    largest_difference: float


def agreements(rows: Iterable[Bracketed]) -> tuple[Agreement, ...]:
    """Every pair of contestants on every case that both answered."""
    by_case: dict[str, list[Bracketed]] = {}
    for row in rows:
        if row.answered:
            by_case.setdefault(row.case, []).append(row)
    return tuple(_agreement(*pair) for answered in by_case.values() for pair in combinations(answered, 2))


def summarise(pairs: Sequence[Agreement], contestants: Sequence[str]) -> dict[tuple[str, str], Pair]:
    """(first, second) -> `Pair`, both ways round, for every two contestants that met on a case."""
    found: dict[tuple[str, str], Pair] = {}
    for first, second in combinations(contestants, 2):
        met = [pair for pair in pairs if {pair.first, pair.second} == {first, second}]
        if met:
            summary = Pair(first, second, len(met), sum(p.agree for p in met), max(p.difference for p in met))
            found[first, second] = found[second, first] = summary
    return found


def _agreement(one: Bracketed, other: Bracketed) -> Agreement:
    agree = max(one.lower_bound, other.lower_bound) <= min(one.error_probability, other.error_probability)
    return Agreement(one.case, one.contestant, other.contestant, agree, abs(one.error_probability - other.error_probability))
