"""Agreement of solver configurations: two configurations agree on a problem unless certified
brackets of the two are disjoint.

All brackets of one problem contain the same optimum unless a proof is wrong. Disjoint brackets are
therefore never the result of low accuracy. The difference of the error probabilities does depend on
the accuracy; it is reported separately.

At budget 0 a bracket covers all estimators that are private up to a number δ of its own. A lower
bound for one δ and an upper bound for a larger δ cannot contradict each other, so such a pair is
not compared. Rows that do not record δ are not compared either.

A vacuous bracket excludes almost nothing, so it counts as agreement with no other bracket. If it is
disjoint from another bracket, that contradiction is still reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from discreet.problems.certificate import excludes
from discreet.reports.measurements import Measurement, group_by


@dataclass(frozen=True)
class Agreement:
    """Two solver configurations on one case: whether no bracket of one excludes a bracket of the
    other, and the absolute difference of their best errors.
    """

    case: str
    first: str
    second: str
    agree: bool
    difference: float


@dataclass(frozen=True)
class Pair:
    """Two configurations over the cases that both answered: the number of cases, the number on
    which they agree, and the largest difference.
    """

    first: str
    second: str
    cases: int
    agreeing: int
    largest_difference: float


def agreements(rows: Iterable[Measurement]) -> tuple[Agreement, ...]:
    """Return an `Agreement` for every pair of configurations on every problem that both answered,
    over all repeats and gaps of both.
    """
    groups = group_by(
        (row for row in rows if row.answered), lambda row: (row.problem_hash, row.instance)
    )
    pairs = (
        _agreement(key[1], *one, *other)
        for key in sorted(groups)
        for one, other in combinations(
            sorted(group_by(groups[key], lambda row: row.label).items()), 2
        )
    )
    return tuple(pair for pair in pairs if pair is not None)


def summarise(pairs: Sequence[Agreement]) -> list[Pair]:
    """Return a `Pair` for every two configurations with a case in common, in the order of their
    names.
    """
    met = group_by(pairs, lambda pair: (pair.first, pair.second))
    return [
        Pair(
            *names, len(own), sum(each.agree for each in own), max(each.difference for each in own)
        )
        for names, own in sorted(met.items())
    ]


def _agreement(
    case: str, first: str, ones: list[Measurement], second: str, others: list[Measurement]
) -> Agreement | None:
    """Compare two configurations on one case. Return None if no bracket excludes another and all
    brackets of one configuration are vacuous.
    """
    excluded = any(
        _excludes(one, other) or _excludes(other, one) for one, other in product(ones, others)
    )
    if not excluded and (all(map(_vacuous, ones)) or all(map(_vacuous, others))):
        return None
    difference = abs(min(row.upper for row in ones) - min(row.upper for row in others))
    return Agreement(case, first, second, not excluded, difference)


def _vacuous(row: Measurement) -> bool:
    """Return whether a bracket without a certified gap is too wide to be informative: its ends
    differ by more than a factor of two, or it contains both the error of the Bayes rule and the
    error of the best constant guess, between which the optimum is known to lie.
    """
    known_before = row.lower <= row.bayes_error and row.constant_error <= row.upper
    return not row.certified and (row.relative_gap > 0.5 or known_before)


def _excludes(one: Measurement, other: Measurement) -> bool:
    """Compare the brackets of two rows; at budget 0, a row with an unknown δ excludes nothing."""
    known = one.budget_nats > 0.0 or math.isfinite(one.private_within)
    return known and excludes(one, other)
