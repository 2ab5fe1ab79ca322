"""The exact upper limit of the difference of two probabilities, from the counts of two groups.

Tables are ordered by an approximate limit of the difference (Wald's, with the variances of Agresti
and Coull). For given probabilities w and v, the chance of a table whose approximate limit is at
most that of the counts is a sum of products of binomial masses, and where it is at most the level,
(w, v) is excluded. The limit is the largest difference w − v that is not excluded for some w in an
interval of Clopper and Pearson, which has a small part of the level (Berger and Boos). No limit
that is an increasing function of the approximate one is smaller for every table (Kabaila and
Lloyd).

The approximate limit increases with the first count and decreases with the second, so the chance
decreases with w and increases with v. The interval of w is cut into pieces, and in a piece the
chance is largest for its least w and the largest v. The first group is the larger one: if that is
the second, misses take the place of hits. Which one it is must not depend on the guesses, or both
rates would need an interval.

Source: docs/theory.md, section 23; P. Kabaila, C. J. Lloyd, Tight upper confidence limits from
discrete data, Australian Journal of Statistics 39 (1997) 193–204; R. L. Berger, D. D. Boos, P
values maximized over a confidence set for the nuisance parameter, JASA 89 (1994).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.double_double import Array
from discreet.numerics.rounding import UNIT
from discreet.people.region import binomial_limits
from discreet.problems.roots import bisect

_OF_RATE = 0.02  # share of the level for the interval of the first rate
_FAR = 1e-3  # share of the level below which counts are summed in one term
_CUTS = 16  # pieces of the interval, and then of each piece that is left
_LARGEST = 1 << 20  # most masses that are computed at a time
_TIED = 1e-12  # approximate limits that differ by less, by rounding, are equal
_CLOSE = 0.01  # accuracy of the limit, in standard errors


def largest_difference(hits: Array, people: Array, level: float) -> float:
    """Return an upper limit of the largest difference of the first and the second rate at places
    that hold `hits` [places, 2] of `people`; each place has the whole level.
    """
    if not people.all():
        return 1.0  # nothing is known about the rate of a group that no one has
    first, second = (hits / people).T
    largest = 0.0
    for place in np.argsort(second - first):  # each is compared with the largest limit so far
        largest = max(largest, difference_limit(hits[place], people[place], level, largest))
    return largest


def difference_limit(hits: Array, people: Array, level: float, least: float = 0.0) -> float:
    """Return an upper limit of the difference of two rates, or `least` if it is larger; `hits` and
    `people` [2] are whole numbers.
    """
    if people[0] < people[1]:  # the difference of the misses, in the opposite order
        people = people[::-1]
        hits = people - hits[::-1]
    ends = binomial_limits(hits[:1], people[:1], _OF_RATE * level)
    low, high = (float(end[0]) for end in ends)
    test = _Test(hits, people, level, (low, high))
    first = np.array([low])
    width = high - low
    cuts = min(_CUTS, max(2, int((_LARGEST / test.terms) ** 0.5)))
    for _ in range(2):
        width /= cuts
        first = (first[:, None] + width * np.arange(cuts)).ravel()
        first = first[test.possible(least, first, width)]
    if not first.size:
        return least
    low = -1.0
    high = 1.0
    near = float(test.limit(*hits))
    deviation = float(test.deviation(*hits))
    trials = [near + 0.25 * deviation, near - 0.25 * deviation]
    while high - low > _CLOSE * deviation:
        middle = trials.pop() if trials else 0.5 * (low + high)
        if not low < middle < high:
            continue
        left = first if middle <= least else first[test.possible(middle, first, width)]
        if left.size:
            low = middle
            first = left
        else:
            high = middle
    return high


class _Test:
    """The test of two rates by the chance of a table whose approximate limit is not larger."""

    def __init__(self, hits: Array, people: Array, level: float, ends: tuple[float, float]) -> None:
        self.people, self.other_people = (int(each) for each in people)
        self.quantile = _quantile_above(level)
        # Logarithms of masses are sums of numbers up to N log N, and lose that many units.
        rounding = 16.0 * UNIT * self.people * math.log(self.people + 1.0)
        self.level = (1.0 - _OF_RATE) * level * (1.0 - rounding)
        self.first = _likely_counts(self.people, ends, _FAR * level)
        self.needed = self._needed_counts(self.limit(*hits) + _TIED)
        self.second = np.arange(self.needed[0], self.needed[-1] + 1.0)
        self.terms = self.first.size + self.second.size

    def deviation(self, *counts: Any) -> Any:
        """Return the standard error of the difference for these counts, where half the square of
        the quantile is added to hits and misses: then the limit is monotone in both counts.
        """
        square = self.quantile**2
        variance = 0.0
        for hits, people in zip(counts, (self.people, self.other_people), strict=True):
            rate = (hits + 0.5 * square) / (people + square)
            variance = variance + rate * (1.0 - rate) / people
        return variance**0.5

    def limit(self, first: Any, second: Any) -> Any:
        """Return the approximate limit for these counts."""
        difference = first / self.people - second / self.other_people
        return difference + self.quantile * self.deviation(first, second)

    def _needed_counts(self, limit: float) -> Array:
        """Return, for each first count, the least second count with at most this approximate limit;
        one more than there are people if there is none.
        """
        most = float(self.other_people)

        def above(second: Array) -> NDArray[np.bool_]:
            return np.asarray(self.limit(self.first, np.clip(second, 0.0, most)) > limit)

        start = np.full(self.first.size, -1.0)
        return np.ceil(bisect(above, start, np.full(self.first.size, most + 1.0))[1])

    def possible(self, difference: float, first: Array, width: float) -> NDArray[np.bool_]:
        """Return True for the pieces of the interval of the first rate, which begin at `first` [k],
        in which some rates with this difference or a larger one are not excluded.
        """
        second = first + width - difference
        return (second >= 0.0) & ~(self.chance(first, np.maximum(second, 0.0)) <= self.level)

    def chance(self, first: Array, second: Array) -> Array:
        """Return an upper bound of the chance under these rates [k]: first counts that are less
        likely than `_FAR` are counted where they add most.
        """
        from scipy.special import bdtr, bdtrc

        masses = _binomial_masses(self.first, self.people, first)
        masses[:, -1] += bdtrc(self.first[-1], self.people, first)
        tails = _binomial_masses(self.second, self.other_people, second)
        last = min(self.second[-1], self.other_people)
        tails[:, -1] += bdtrc(last, self.other_people, second)
        tails = tails[:, ::-1].cumsum(axis=1)[:, ::-1]
        places = (self.needed - self.second[0]).astype(np.intp)
        chance = np.einsum("kc,kc->k", masses, tails.take(places, axis=1))
        if self.first[0] > 0.0:
            chance += bdtr(self.first[0] - 1.0, self.people, first)
        return np.asarray(chance)


def _quantile_above(level: float) -> float:
    """Return the number that a normal variable exceeds with this probability, or 0 if that is
    negative.
    """
    from scipy.special import ndtri

    return max(0.0, -float(ndtri(level)))


def _likely_counts(people: int, ends: tuple[float, float], chance: float) -> Array:
    """Return all counts but those with about this chance, if the rate is between these ends."""
    far = _quantile_above(chance)
    rates = np.array(ends)
    reach = far * np.sqrt(people * rates * (1.0 - rates)) + far**2
    low, high = people * rates + np.array([-1.0, 1.0]) * reach
    return np.arange(max(np.floor(low), 0.0), min(np.ceil(high), people) + 1.0)


def _binomial_masses(counts: Array, people: int, rates: Array) -> Array:
    """Return the probability of each count [k, counts] under each rate [k]."""
    from scipy.special import gammaln

    ways = gammaln(people + 1.0) - gammaln(counts + 1.0) - gammaln(people - counts + 1.0)
    rates = np.clip(rates, 1e-300, 1.0 - 2.0**-53)
    logs = np.outer(np.log(rates), counts) + np.outer(np.log1p(-rates), people - counts)
    return np.asarray(np.exp(ways + logs))
