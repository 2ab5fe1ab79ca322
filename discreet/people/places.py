"""The upper limit of a leakage that a single place of the table determines, from two-by-two tables.

The difference of parity and local differential privacy are maxima over guesses and pairs of groups,
the difference of equalized odds over pairs with the same truth, and max-lift over a group and all
others. The truth attains its maximum at some place, which is fixed though unknown. A limit of the
whole that lies below the truth also lies below it at that place, where a limit fails with
probability δ. So each place may use the whole level (an intersection–union test), whatever the
number of places.

Such a place is a table of two guesses (this one or another) and two groups, with intervals of both
rates and of their odds ratio. Maximal leakage is a maximum of sums of rates: a place assigns a
group to each guess. Beyond two guesses and two groups, half of its level is used for the sum, by
Hoeffding, and half for a region, which gives a smaller limit if guesses are rare. All other
measures have the limit of a region.

Source: docs/theory.md, section 23; R. L. Berger, J. C. Hsu, Bioequivalence Trials,
Intersection–Union Tests and Equivalence Confidence Sets, Statistical Science 11 (1996) 283–319; W.
Hoeffding, JASA 58 (1963) 13–30.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet.measures.measure import Contrast, Measure
from discreet.measures.region import OUTWARD, odds_boxes
from discreet.numerics.double_double import Array
from discreet.people.differences import largest_difference
from discreet.people.extremes import highest_of
from discreet.people.region import binomial_limits, odds_limits, region_of

_ODDS = 0.75  # share of the level for odds ratios; the rest is for rates
_AT_ONCE = 128  # places


@dataclass(frozen=True, eq=False)
class Lottery:
    """A lottery: for a share of the people, regardless of who they are, a guess is drawn from
    `towards` [m].
    """

    share: float
    towards: Array


def upper_limit(
    measure: Measure,
    table: Array,
    confidence: float,
    counted: bool = True,
    given: int = 1,
    lottery: Lottery | None = None,
) -> float:
    """Return an upper limit of the leakage, with the confidence; the arguments are those of
    `region_of`.

    It holds individually: limits by several measures need not hold together. lottery: dilutes the
    rule after the guesses in the table.
    """
    m, n = len(table), table.shape[1] // given
    drawn = Lottery(0.0, np.zeros(m)) if lottery is None else lottery
    level = 1.0 - confidence
    if measure.contrast in (None, Contrast.EACH) or min(m, n) == 1:
        by_sum = measure.contrast is Contrast.EACH and max(m, n) > 2
        own = 0.5 * level if by_sum else level
        region = region_of(table, 1.0 - own, counted, given, upper=True)
        if lottery is not None:
            region = region.diluted(lottery.share, lottery.towards)
        highest = highest_of(measure, region)
        if not by_sum:
            return highest
        of_sum = (1.0 - drawn.share) * _largest_sum(table, own) * (1.0 + OUTWARD)
        return min(highest, measure.amount(of_sum))
    if measure.contrast is Contrast.DIFFERENCE and counted:
        pairs = np.round(_pairs(table, given))
        both = np.concatenate([pairs, pairs[:, :, ::-1]])
        highest = largest_difference(both[:, 0], both.sum(axis=1), level)
        return min(1.0, highest * (1.0 + OUTWARD))
    if measure.contrast in (Contrast.PAIR, Contrast.DIFFERENCE):
        return measure.amount(_largest(measure, _pairs(table, given), drawn, 0.5, level, counted))
    shares = binomial_limits(table.sum(axis=0), np.full(n, table.sum()), 0.05 * level)[0]
    return measure.amount(
        max(
            _largest(measure, _against_others(table, j), drawn, float(share), 0.95 * level, counted)
            for j, share in enumerate(shares)
        )
    )


def _largest_sum(table: Array, level: float) -> float:
    """Return an upper limit of Σ_i max_j W_ij − 1 by Hoeffding: for any assignment of a group to
    each guess, the sum consists of means over disjoint sets of guesses, each in its own group.
    """
    people = table.sum(axis=0)
    if not people.all():
        return np.inf
    groups = np.sort(1.0 / people)[-len(table) :]  # largest number considered
    shown = float((table / people).max(axis=1).sum())
    return shown + float(np.sqrt(-0.5 * np.log(level) * groups.sum())) - 1.0


def _pairs(table: Array, given: int) -> Array:
    """Return the tables [places, 2, 2] of each pair of groups with the same given value, for each
    guess in turn.
    """
    by_value = np.arange(table.shape[1]).reshape(given, -1)
    first, second = np.array([pair for row in by_value for pair in combinations(row, 2)]).T
    return _two_by_two(table[:, first], table[:, second], table.sum(axis=0)[[first, second]])


def _against_others(table: Array, group: int) -> Array:
    """Return the tables [places, 2, 2] of each guess, and of a group and all others."""
    groups = np.array([table[:, group].sum(), np.delete(table, group, axis=1).sum()])
    own = table[:, group, None]
    return _two_by_two(own, table.sum(axis=1, keepdims=True) - own, groups[:, None])


def _two_by_two(first: Array, second: Array, people: Array) -> Array:
    """Return the tables of people of two groups who got a guess [guesses, k], out of those in the
    groups [2, k].
    """
    guessed = np.stack([first, second])
    tables = np.stack([guessed, people[:, None, :] - guessed])
    return tables.reshape(2, 2, -1).transpose(2, 0, 1)


def _largest(
    measure: Measure, tables: Array, lottery: Lottery, share: float, level: float, counted: bool
) -> float:
    """Return an upper limit of the largest level at these places, equally many for each guess,
    where a share of the people is in the first group.
    """
    of_odds = _ODDS * level if counted else 0.0
    people = tables.sum(axis=1)
    low, high = binomial_limits(tables[:, 0], people, 0.5 * (level - of_odds), counted)
    shares = np.array([share, 1.0 - share])
    drawn = lottery.share * np.repeat(lottery.towards, len(tables) // len(lottery.towards))

    def values(first: Array, second: Array, here: Any = slice(None)) -> Array:
        """Return the levels [places, ...] if both groups have these rates of the guess before the
        lottery.
        """
        added = drawn[here].reshape(-1, *[1] * first.ndim)
        rates = (1.0 - lottery.share) * np.stack([first, second], axis=-1) + added
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            both = [
                measure.contributions(each.reshape(-1, 2), shares) for each in (rates, 1.0 - rates)
            ]
        return np.maximum(*both).reshape(first.shape)

    # The box also bounds each place. It shows which places may still exceed the maximum found so
    # far.
    boxes = np.maximum(values(low[:, 0], high[:, 1]), values(high[:, 0], low[:, 1]))
    order = np.argsort(-boxes)
    largest = 0.0
    for start in range(0, order.size, _AT_ONCE):
        here = order[start : start + _AT_ONCE]
        if boxes[here[0]] <= largest:
            break
        odds = np.array([[-np.inf, np.inf]])
        if counted:
            odds = odds_limits(tables[here], 2.0 * of_odds)
            odds = np.stack([np.minimum(odds[:, 0], 0.0), np.maximum(odds[:, 1], 0.0)], axis=-1)
        w_low, w_high, v_low, v_high = odds_boxes(low[here], high[here], odds)
        corners = np.maximum(values(w_low, v_high, here), values(w_high, v_low, here))
        within = np.where(v_low <= v_high, corners, 0.0).max(axis=1)
        largest = max(largest, float(np.minimum(within, boxes[here]).max()))
    return largest * (1.0 + OUTWARD)
