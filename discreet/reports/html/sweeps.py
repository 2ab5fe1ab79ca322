"""Sweeps: trials of one catalog entry under one budget and gap at several sizes, so that one size is one kind of task.

Trials of different problems at one size would make a curve of their mixture. `scaling.js` finds the same sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.reports.statistics.scaling import Series, series_by_size
from discreet.reports.statistics.trials import Trial

__all__ = ["SIZE_WORDS", "Sweep", "sweeps"]

SIZE_WORDS = {"outcomes": "outcomes N", "sensors": "sensors", "alphabet": "n = m"}
"""Kinds of size that the page has plots for, with the words of their axes."""

_FEWEST = 2  # sizes


@dataclass(frozen=True)
class Sweep:
    """Curves of one entry, budget and gap over a kind of size; `sizes` and `successes` say how much there is of it."""

    size: str
    entry: str
    budget: str
    gap: float
    constrained: bool
    sizes: int
    successes: int
    series: tuple[Series, ...]


def sweeps(found: Sequence[Trial]) -> tuple[Sweep, ...]:
    """Every sweep with at least two sizes certified by somebody; for each kind of size the widest first."""
    groups: dict[tuple[str, str, float], list[Trial]] = {}
    for trial in found:
        row = trial.rows[0]
        groups.setdefault((row.entry, row.budget_word, row.gap_target), []).append(trial)
    made = [_sweep(size, key, own) for size in SIZE_WORDS for key, own in groups.items()]
    kinds = list(SIZE_WORDS)
    return tuple(
        sorted(
            (sweep for sweep in made if sweep.sizes >= _FEWEST),
            key=lambda s: (kinds.index(s.size), -s.sizes, not s.constrained, -s.successes, s.entry, s.budget, s.gap),
        )
    )


def _sweep(size: str, key: tuple[str, str, float], own: Sequence[Trial]) -> Sweep:
    series = series_by_size(own, size)
    sizes = len({place for each in series for place in each.sizes})
    constrained = own[0].rows[0].regime == "constrained"
    return Sweep(size, *key, constrained, sizes, sum(trial.success for trial in own), series)
