"""How a peer is tuned, as data: the solver's own setting, the value it gets here, the solver's
default, and why.

Each peer has one table `tuning` and passes exactly its entries to the solver, so
docs/reference/peers.md shows the settings that run. Limits that the caller asks for (time,
iterations) are added; the same file names them.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.backends.contract import Options
from discreet.backends.lowering import Setting, limits
from discreet.backends.precision import ShareOfGap


@dataclass(frozen=True)
class Tuned:
    """One setting: `name` as the solver calls it, the `value` it gets, the solver's `default`, and
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
    """All settings for the solver: every entry of the table by its name there, and the limits that
    the caller asks for by theirs (`limits`).
    """
    found: dict[str, Setting] = {
        each.name: each.value.of(options.gap, outcomes)
        if isinstance(each.value, ShareOfGap)
        else each.value
        for each in tuning
    }
    return found | limits(options, iterations, seconds)
