"""The leakage of the joint laws of secrets and guess by every measure, and the guess that changes
the odds of a private value most.

Leakages are computed as in `OutputLaw`, correct up to rounding; the upper bound next to each is
proven. The odds of a value are p/(1 − p) for its probability p. Local
differential privacy of e^ε bounds every change of odds by e^ε.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.measures.law import OutputLaw
from discreet.measures.measure import Measure, Scope
from discreet.measures.registry import MEASURES
from discreet.measures.sibson import Sibson
from discreet.problems.laws import Law


@dataclass(frozen=True)
class Leak:
    """The leakage of an estimator by one measure.

    measure   name and parameters of the measure
    unit      unit of both numbers; empty if they have none
    guesses   "all": the sum over guesses, or "each": the worst guess
    leakage   computed: the exact value up to rounding; inf if a guess excludes a private value
    ceiling   proven upper bound of the exact value; inf if nothing is proven
    secret    index of the constraint that the secret belongs to
    """

    measure: str
    unit: str
    guesses: str
    leakage: float
    ceiling: float
    secret: int = 0


@dataclass(frozen=True)
class Odds:
    """The guess and the private value whose odds it raises by the largest factor.

    guess, value    indices i and j
    before, after   odds of x_j before and after the guess: its probability ÷ that of all other
                    values
    factor          after ÷ before
    ceiling         proven upper bound of the factor, for every guess and value
    secret          index of the constraint that the secret belongs to
    """

    guess: int
    value: int
    before: float
    after: float
    factor: float
    ceiling: float
    secret: int = 0


def every_measure(own: Measure) -> tuple[Measure, ...]:
    """Return one measure of every family without parameters, Sibson's of order 2, and the given
    one.
    """
    plain = [
        family() for family in MEASURES.values() if not getattr(family, "__dataclass_fields__", {})
    ]
    order = list(MEASURES)
    return tuple(
        sorted(dict.fromkeys([*plain, Sibson(2.0), own]), key=lambda each: order.index(each.name))
    )


def leaks_of(
    law: Law, doubt: float, own: Sequence[Measure]
) -> tuple[tuple[Leak, ...], Odds | None]:
    """Return the leakage of each secret by every measure, and the largest change of odds; `doubt`
    is the relative error of the entries of the law.

    own: the measures of the constraints. A secret with a conditional measure is measured only by
    it, and its odds are not considered. The odds are None if no secret with odds has more than one
    value, or if no guess is ever made.
    """
    leaks = []
    odds = list[Odds]()
    for secret, (groups, measure) in enumerate(zip(law.constraints, own, strict=True)):
        for each in (measure,) if measure.conditional else every_measure(measure):
            seen = Law((tuple([replace(group, measure=each) for group in groups]),))
            guesses = "all" if each.scope is Scope.TOTAL else "each"
            leakage = float(seen.leakages[0])
            ceiling = float(seen.ceilings(doubt)[0])
            leaks.append(Leak(str(each), each.unit, guesses, leakage, ceiling, secret))
        if measure.conditional:
            continue
        if np.count_nonzero(groups[0].p_x) > 1 and groups[0].mass.any():
            odds.append(_largest_odds(groups[0], doubt, secret))
    return tuple(leaks), max(odds, key=lambda each: each.factor, default=None)


def _largest_odds(law: OutputLaw, doubt: float, secret: int) -> Odds:
    factors = law.odds_ratios()
    guess, value = (int(k) for k in np.unravel_index(np.argmax(factors), factors.shape))
    before = float(law.p_x[value] / np.delete(law.p_x, value).sum())
    factor = float(factors[guess, value])
    ceiling = float(law.odds_ratios(doubt).max())
    return Odds(guess, value, before, before * factor, factor, ceiling, secret)
