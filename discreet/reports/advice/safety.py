"""How sure an option is to be certified on an instance: a lower confidence bound from what it did on instances like it.

Every catalog entry that was measured votes once for its nearest success and once for its nearest failure, each with a weight
that falls with its distance (exp(−d²/2), features.py): entries, not rows, because rows of one entry share their
difficulties. The bound is the 5% quantile of the Beta posterior with Jeffreys' prior, Beta(½ + successes, ½ + failures):
L. D. Brown, T. T. Cai, A. DasGupta, Interval estimation for a binomial proportion, Statist. Sci. 16 (2001) 101–133. A
cell never counts less than `_FAR`, so that an option which failed somewhere under this kind of budget has to earn trust
nearby; but running out of time says something about size, and fades with distance altogether.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.reports.advice.evidence import Cell
from discreet.reports.advice.features import Features

__all__ = ["SAFE", "Certainty", "certainty"]

SAFE = 0.65
"""An option whose bound is at least this may be advised without a warning."""

_QUANTILE = 0.05
_FAR = 0.5  # the least weight of a cell: something is learnt from any instance of the same kind of budget


@dataclass(frozen=True, eq=False)
class Certainty:
    """successes and failures are weighted counts of entries; `nearest` are the cells that speak, nearest first."""

    bound: float
    successes: float
    failures: float
    nearest: tuple[tuple[float, Cell], ...]
    failed: tuple[tuple[float, Cell], ...]


def certainty(cells: Sequence[Cell], features: Features, gap: float) -> Certainty:
    """The bound for one option from its cells of the same kind of budget; `gap` is what has to be proven."""
    from scipy.special import betaincinv

    if not cells:
        return Certainty(0.0, 0.0, 0.0, (), ())
    distances = features.distances(np.array([cell.features.decades for cell in cells]))
    good: dict[str, float] = {}
    bad: dict[str, float] = {}
    for cell, near in zip(cells, np.exp(-0.5 * distances**2).tolist(), strict=True):
        votes = good if cell.succeeds(gap) else bad
        weight = near if cell.out_of_time else max(_FAR, near)
        votes[cell.group] = max(votes.get(cell.group, 0.0), weight)
    successes, failures = sum(good.values()), sum(bad.values())
    order = sorted(zip(distances.tolist(), cells, strict=True), key=lambda pair: pair[0])
    return Certainty(
        bound=float(betaincinv(0.5 + successes, 0.5 + failures, _QUANTILE)),
        successes=successes,
        failures=failures,
        nearest=tuple(order),
        failed=tuple(pair for pair in order if not pair[1].succeeds(gap)),
    )
