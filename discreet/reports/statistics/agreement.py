"""Who agrees with whom: two solver configurations agree on a problem when their certified brackets intersect.

Each bracket contains the optimum of the same problem, or a proof is wrong; brackets that exclude one another are therefore
never a matter of accuracy. How far apart the error probabilities are is a matter of accuracy, and is shown beside it.

At budget 0 a rule counts as leak-free up to a residual of `LEAK_FREE`, which lets its error probability fall below the exact
optimum by a few times that: brackets that miss one another there by less than ten times it are `touching`, and agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

from discreet.problems.measures.law import LEAK_FREE
from discreet.reports.measurements import Measurement

ALLOWED = 10.0 * LEAK_FREE
"""By how much brackets may miss one another at budget 0."""

_Answer = tuple[tuple[str, str, str], tuple[float, float, float]]  # hash, instance, configuration; lower, upper, budget


@dataclass(frozen=True)
class Agreement:
    """Two solver configurations on one case: whether their brackets intersect, and |difference| of error probabilities."""

    case: str
    first: str
    second: str
    agree: bool
    touching: bool
    difference: float


@dataclass(frozen=True)
class Pair:
    """Two configurations over the cases both answered: how many, on how many they agree, the largest difference."""

    first: str
    second: str
    cases: int
    agreeing: int
    largest_difference: float


def agreements(rows: Iterable[Measurement]) -> tuple[Agreement, ...]:
    """Every pair of configurations on every problem that both answered.

    A configuration's bracket is the intersection of those of its own repeats and gaps.
    """
    best: dict[tuple[str, str, str], tuple[float, float, float]] = {}
    for row in rows:
        if row.answered:
            key = (row.problem_hash, row.instance, row.label)
            lower, upper, _ = best.get(key, (row.lower, row.upper, row.budget_nats))
            best[key] = max(row.lower, lower), min(row.upper, upper), row.budget_nats
    cases = groupby(sorted(best.items()), key=lambda found: found[0][:2])
    return tuple(_agreement(one, other) for _, found in cases for one, other in combinations(list(found), 2))


def summarise(pairs: Sequence[Agreement]) -> list[Pair]:
    """A `Pair` for every two configurations with a case in common, in the order of their names."""
    met: dict[tuple[str, str], list[Agreement]] = {}
    for pair in pairs:
        met.setdefault((pair.first, pair.second), []).append(pair)
    return [
        Pair(*names, len(own), sum(each.agree for each in own), max(each.difference for each in own))
        for names, own in sorted(met.items())
    ]


def _agreement(one: _Answer, other: _Answer) -> Agreement:
    (_, case, first), (lower, upper, budget) = one
    (_, _, second), (other_lower, other_upper, _) = other
    missed = max(lower, other_lower) - min(upper, other_upper)
    touching = 0.0 < missed <= ALLOWED and budget == 0.0
    return Agreement(case, first, second, missed <= 0.0 or touching, touching, abs(upper - other_upper))
