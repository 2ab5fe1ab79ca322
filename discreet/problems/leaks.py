"""What the joint laws of secrets and guess leak by every measure, and the guess that changes
somebody's odds most.

A leakage is computed as `OutputLaw` computes it, right to rounding; the ceiling beside it is
proven. The odds of a value are its probability against that of all other values. Local differential
privacy of e^ε bounds every change of odds by e^ε.
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
    """What an estimator leaks by one measure.

    measure   as it is typed; unit: of both numbers, "" if they have none
    guesses   "all": about the sum over guesses, or "each": about the worst of them
    leakage   computed: the exact value up to rounding, inf where a guess excludes a private value
    ceiling   proven: the exact value is at most this; inf where nothing is proven
    secret    the number of the constraint whose secret it is about, from 0
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
    factor          after ÷ before; `ceiling` is a proven upper bound of it, for every guess and
                    value
    secret          the number of the constraint whose secret it is about, from 0
    """

    guess: int
    value: int
    before: float
    after: float
    factor: float
    ceiling: float
    secret: int = 0


def every_measure(own: Measure) -> tuple[Measure, ...]:
    """One measure of every family that needs no parameter, Sibson's of order 2, and
    the given one.
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
    """The leakages of each secret by every measure; entries of the law have a relative `doubt`.

    own: the measures of the constraints. A conditional measure is the only one that is counted for
    its secret, and no odds are. They are None too if X has one value only, or if no guess is ever
    made.
    """
    found = []
    odds = list[Odds]()
    for secret, (groups, measure) in enumerate(zip(law.constraints, own, strict=True)):
        for each in (measure,) if measure.conditional else every_measure(measure):
            seen = Law((tuple([replace(group, measure=each) for group in groups]),))
            guesses = "all" if each.scope is Scope.TOTAL else "each"
            leakage = float(seen.leakages[0])
            ceiling = float(seen.ceilings(doubt)[0])
            found.append(Leak(str(each), each.unit, guesses, leakage, ceiling, secret))
        if measure.conditional:
            continue
        if np.count_nonzero(groups[0].p_x) > 1 and groups[0].mass.any():
            odds.append(_largest_odds(groups[0], doubt, secret))
    return tuple(found), max(odds, key=lambda each: each.factor, default=None)


def _largest_odds(law: OutputLaw, doubt: float, secret: int) -> Odds:
    factors = law.odds_ratios()
    guess, value = (int(k) for k in np.unravel_index(np.argmax(factors), factors.shape))
    before = float(law.p_x[value] / np.delete(law.p_x, value).sum())
    factor = float(factors[guess, value])
    ceiling = float(law.odds_ratios(doubt).max())
    return Odds(guess, value, before, before * factor, factor, ceiling, secret)
