"""Performance profiles and data profiles.

A *performance profile* is the share of tasks on which a solver configuration takes at most τ times
the best time. A *data profile* is the share of tasks solved within a given number of seconds. A
failure counts as an infinite time: its task is never reached, but stays in the denominator. The
same holds for a task that the configuration does not serve.

Sources: E. Dolan, J. Moré, "Benchmarking optimization software with performance profiles" (2002);
J. Moré, S. Wild, "Benchmarking derivative-free optimization algorithms" (2009).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.reports.statistics.trials import Trial, best_costs, by_task, labels_of


@dataclass(frozen=True)
class Profile:
    """A nondecreasing step function: from the value `at[k]` on, the share `shares[k]` of `tasks` is
    reached; the share is 0 below `at[0]`.
    """

    contestant: str
    at: tuple[float, ...]
    shares: tuple[float, ...]
    tasks: int

    def share(self, value: float) -> float:
        """Return the share reached at a value."""
        place = bisect_right(self.at, value)
        return self.shares[place - 1] if place else 0.0


def performance_profiles(trials: Sequence[Trial]) -> tuple[Profile, ...]:
    """Return one profile for each configuration, over every task that any configuration solved;
    `at` holds ratios to the best time, ≥ 1.
    """
    table = by_task(trials)
    best = best_costs(table)
    solved = [task for task in table if math.isfinite(best[task])]
    profiles = []
    for name in labels_of(trials):
        ratios = [
            _ratio(table[task][name].cost, best[task]) for task in solved if name in table[task]
        ]
        profiles.append(_profile(name, ratios, len(solved)))
    return tuple(profiles)


def data_profiles(trials: Sequence[Trial]) -> tuple[Profile, ...]:
    """Return one profile for each configuration, over every task that any configuration was tried
    on; `at` holds seconds.
    """
    table = by_task(trials)
    return tuple(
        _profile(name, [met[name].cost for met in table.values() if name in met], len(table))
        for name in labels_of(trials)
    )


def _ratio(cost: float, best: float) -> float:
    if cost == best:
        return 1.0
    return cost / best if best > 0.0 else math.inf


def _profile(name: str, values: Iterable[float], tasks: int) -> Profile:
    finite = sorted(value for value in values if math.isfinite(value))
    at = sorted(set(finite))
    return Profile(
        name, tuple(at), tuple(bisect_right(finite, value) / tasks for value in at), tasks
    )
