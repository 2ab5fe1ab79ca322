"""Who agrees with whom: two solver configurations agree on a problem unless a certified bracket
excludes another.

Each bracket contains the optimum of the same problem, or a proof is wrong; brackets that exclude
one another are therefore never a matter of accuracy. How far apart the error probabilities are is a
matter of accuracy, and is shown beside it.

At budget 0 a bracket is about all estimators that are private within a number δ of its own. A lower
bound for one δ and an upper bound for a larger one cannot contradict each other, so they are not
compared. Nor are rows that do not record δ.

A vacuous bracket, which excludes hardly anything, agrees with nobody; that it excludes another one
is still said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from discreet.reports.measurements import Measurement, group_by


@dataclass(frozen=True)
class Agreement:
    """Two solver configurations on one case: whether no bracket excludes one of the other;
    |difference| of best errors.
    """

    case: str
    first: str
    second: str
    agree: bool
    difference: float


@dataclass(frozen=True)
class Pair:
    """Two configurations over the cases both answered: how many, on how many they agree, the
    largest difference.
    """

    first: str
    second: str
    cases: int
    agreeing: int
    largest_difference: float


def agreements(rows: Iterable[Measurement]) -> tuple[Agreement, ...]:
    """Every pair of configurations on every problem that both answered, with all repeats and gaps
    of both.
    """
    found = group_by(
        (row for row in rows if row.answered), lambda row: (row.problem_hash, row.instance)
    )
    pairs = (
        _agreement(key[1], *one, *other)
        for key in sorted(found)
        for one, other in combinations(
            sorted(group_by(found[key], lambda row: row.label).items()), 2
        )
    )
    return tuple(pair for pair in pairs if pair is not None)


def summarise(pairs: Sequence[Agreement]) -> list[Pair]:
    """A `Pair` for every two configurations with a case in common, in the order of their names."""
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
    """What two configurations say of one case; None where no bracket excludes another and all of
    one are vacuous.
    """
    excluded = any(
        _excludes(one, other) or _excludes(other, one) for one, other in product(ones, others)
    )
    if not excluded and (all(map(_vacuous, ones)) or all(map(_vacuous, others))):
        return None
    difference = abs(min(row.upper for row in ones) - min(row.upper for row in others))
    return Agreement(case, first, second, not excluded, difference)


def _vacuous(row: Measurement) -> bool:
    """Whether a bracket says little: its ends differ by more than a factor of two, or it holds all
    that was known before.

    Known before are the errors of the Bayes rule and of the best constant guess.
    """
    known_before = row.lower <= row.bayes_error and row.constant_error <= row.upper
    return not row.certified and (row.relative_gap > 0.5 or known_before)


def _excludes(one: Measurement, other: Measurement) -> bool:
    """As `Certificate.excludes`; an unknown δ at budget 0 excludes nothing."""
    known = one.budget_nats > 0.0 or math.isfinite(one.private_within)
    return known and other.private_within <= one.private_within and one.lower > other.upper
