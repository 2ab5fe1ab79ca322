"""Performance profiles and data profiles.

A *performance profile* is the share of tasks on which a solver configuration needs at most a factor
τ of the best time; a *data profile* the share solved within so many seconds. A failure counts as
infinite time: its task is never reached, but stays in the denominator. So does a task that the
configuration does not serve.

Sources: E. Dolan, J. Moré, "Benchmarking optimization software with performance profiles" (2002);
J. Moré, S. Wild, "Benchmarking derivative-free optimization algorithms" (2009).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.reports.statistics.trials import Trial, by_task, labels_of


@dataclass(frozen=True)
class Profile:
    """A step function that never falls: `shares[k]` of `tasks` are reached from `at[k]` on; 0
    before the first.
    """

    contestant: str
    at: tuple[float, ...]
    shares: tuple[float, ...]
    tasks: int

    def share(self, value: float) -> float:
        """The share reached at a value."""
        place = bisect_right(self.at, value)
        return self.shares[place - 1] if place else 0.0


def performance_profiles(found: Sequence[Trial]) -> tuple[Profile, ...]:
    """One profile a configuration over every task that any configuration solved; `at` are ratios to
    the best time, ≥ 1.
    """
    table = by_task(found)
    best = {task: min(trial.cost for trial in met.values()) for task, met in table.items()}
    solved = [task for task in table if math.isfinite(best[task])]
    profiles = []
    for name in labels_of(found):
        ratios = [
            _ratio(table[task][name].cost, best[task]) for task in solved if name in table[task]
        ]
        profiles.append(_profile(name, ratios, len(solved)))
    return tuple(profiles)


def data_profiles(found: Sequence[Trial]) -> tuple[Profile, ...]:
    """One profile a configuration over every task that any configuration was tried on; `at` are
    seconds.
    """
    table = by_task(found)
    return tuple(
        _profile(name, [met[name].cost for met in table.values() if name in met], len(table))
        for name in labels_of(found)
    )


def _ratio(cost: float, best: float) -> float:
    return 1.0 if cost == best else cost / best if best > 0.0 else math.inf


def _profile(name: str, values: Iterable[float], tasks: int) -> Profile:
    finite = sorted(value for value in values if math.isfinite(value))
    at = sorted(set(finite))
    return Profile(
        name, tuple(at), tuple(bisect_right(finite, value) / tasks for value in at), tasks
    )
