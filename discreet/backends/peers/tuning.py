"""The settings of a peer, as data: the solver's own setting, the value it gets here, the solver's
default, and the reason.

Each peer has one table `tuning` and passes exactly its entries to the solver, so
docs/reference/peers.md shows the actual settings. Limits requested by the caller (time, iterations)
are added; their names are in the file of the peer.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.backends.contract import Options
from discreet.backends.lowering import Setting, limits
from discreet.backends.precision import ShareOfGap


@dataclass(frozen=True)
class Tuned:
    """One setting: its `name` in the solver, its `value`, the solver's `default`, and the reason,
    `why`.
    """

    name: str
    value: Setting | ShareOfGap
    default: Setting
    why: str


Tuning = tuple[Tuned, ...]


def native(
    tuning: Tuning, options: Options, outcomes: int, iterations: str, seconds: str
) -> dict[str, Setting]:
    """Return all settings for the solver: every entry of the table by its name, and the caller's
    limits by theirs (`limits`).
    """
    settings: dict[str, Setting] = {
        each.name: each.value.of(options.gap, outcomes)
        if isinstance(each.value, ShareOfGap)
        else each.value
        for each in tuning
    }
    return settings | limits(options, iterations, seconds)
