"""Who agrees with whom over a whole study: pairs of certified brackets of the same problem, counted.

Two brackets that exclude one another mean that a certificate is wrong; see `discreet.reports.agreement`. At budget 0 a rule
counts as leak-free up to a residual of `LEAK_FREE`, which lets its error probability fall below the exact optimum by a few
times that: brackets that miss one another by less than ten times it are counted as `touching`, and agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from discreet.problems.measures.law import LEAK_FREE
from discreet.reports.agreement import Agreement, Pair, agreements, summarise
from discreet.reports.measurements import Measurement

__all__ = ["AgreementMatrix", "agreement_matrix"]

_ALLOWED = 10.0 * LEAK_FREE


@dataclass(frozen=True)
class _Bracket:
    case: str
    contestant: str
    lower_bound: float
    error_probability: float
    answered: bool


@dataclass(frozen=True)
class AgreementMatrix:
    """`pairs` (first, second) -> counts, both ways round; `against` are the pairs of brackets that exclude one another.

    met        how many pairs met on a problem;   touching   how many of them miss by no more than budget 0 allows
    """

    contestants: tuple[str, ...]
    pairs: dict[tuple[str, str], Pair]
    met: int
    touching: int
    against: tuple[Agreement, ...]


def agreement_matrix(rows: Iterable[Measurement]) -> AgreementMatrix:
    """Brackets of every contestant on every problem, narrowed to the intersection of its own repeats and gaps."""
    best: dict[tuple[str, str, str], _Bracket] = {}
    perfect: set[str] = set()
    for row in rows:
        if row.answered:
            key = (row.problem_hash, row.instance, row.label)
            before = best.get(key)
            lower = max(row.lower, before.lower_bound) if before else row.lower
            upper = min(row.upper, before.error_probability) if before else row.upper
            perfect.update({_case(row)} if row.budget_nats == 0.0 else ())
            best[key] = _Bracket(_case(row), row.label, lower, upper, True)
    brackets = [best[key] for key in sorted(best)]
    names = tuple(sorted({each.contestant for each in brackets}))
    exact = agreements(brackets)
    found = agreements([_widened(each, perfect) for each in brackets])
    against = tuple(pair for pair in found if not pair.agree)
    touching = sum(not pair.agree for pair in exact) - len(against)
    # differences of error probabilities are the answers' own, not those of the widened brackets
    told = [replace(pair, difference=own.difference) for pair, own in zip(found, exact, strict=True)]
    return AgreementMatrix(names, summarise(told, names), len(found), touching, against)


def _case(row: Measurement) -> str:
    return f"{row.instance} [{row.problem_hash}]"


def _widened(bracket: _Bracket, perfect: set[str]) -> _Bracket:
    return replace(bracket, error_probability=bracket.error_probability + _ALLOWED) if bracket.case in perfect else bracket
