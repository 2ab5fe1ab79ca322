"""Who agrees with whom over a whole study: pairs of certified brackets of the same problem, counted.

Two brackets that exclude one another mean that a certificate is wrong; see `discreet.reports.agreement`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.reports.agreement import Agreement, Pair, agreements, summarise
from discreet.reports.measurements import Measurement

__all__ = ["AgreementMatrix", "agreement_matrix"]


@dataclass(frozen=True)
class _Bracket:
    case: str
    contestant: str
    lower_bound: float
    error_probability: float
    answered: bool


@dataclass(frozen=True)
class AgreementMatrix:
    """`pairs` (first, second) -> counts, both ways round; `against` are the pairs of brackets that exclude one another."""

    contestants: tuple[str, ...]
    pairs: dict[tuple[str, str], Pair]
    met: int
    against: tuple[Agreement, ...]


def agreement_matrix(rows: Iterable[Measurement]) -> AgreementMatrix:
    """Brackets of every contestant on every problem, narrowed to the intersection of its own repeats and gaps."""
    best: dict[tuple[str, str, str], _Bracket] = {}
    for row in rows:
        if row.answered:
            key = (row.problem_hash, row.instance, row.label)
            before = best.get(key)
            lower = max(row.lower, before.lower_bound) if before else row.lower
            upper = min(row.upper, before.error_probability) if before else row.upper
            best[key] = _Bracket(f"{row.instance} [{row.problem_hash}]", row.label, lower, upper, True)
    brackets = [best[key] for key in sorted(best)]
    names = tuple(sorted({each.contestant for each in brackets}))
    found = agreements(brackets)
    return AgreementMatrix(names, summarise(found, names), len(found), tuple(pair for pair in found if not pair.agree))
