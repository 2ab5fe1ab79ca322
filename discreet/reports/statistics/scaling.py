"""Growth of the cost with size: sweeps, exponents fitted on logarithmic axes, and crossovers where
one configuration becomes faster than another.

A *sweep* consists of the trials of one catalog entry under one budget and gap at several sizes, so
that all tasks of one size are of one kind. Trials of different problems at one size would give a
curve of their mixture.

The cost is modelled as c · size^a above a constant floor (start-up, imports). Only points well
above the floor determine a: those from the first size on at which the cost is twice the smallest.
The interval of a is a 95 % Student interval; if it extends more than `WIDEST` to either side, no
exponent is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from discreet.reports.measurements import Measurement, group_by
from discreet.reports.statistics.aggregates import student_quantile
from discreet.reports.statistics.trials import Trial

SIZES: dict[str, Callable[[Measurement], float | None]] = {
    "outcomes": lambda row: float(row.outcomes),
    "sensors": lambda row: _parameter(row, "sensors"),
    "alphabet": lambda row: (
        float(row.private_values) if row.private_values == row.guesses else None
    ),
}
"""What sizes are read off a row by name: N; the entry's parameters; n where n = m. None: the row
has no such size.
"""

ABOVE_FLOOR = 2.0
"""A size enters a fit if its cost is at least this multiple of the smallest cost."""

WIDEST = 0.5
"""Largest half width of an exponent's interval: a wider one does not distinguish linear from
quadratic growth.
"""

FEWEST = 3
"""The fewest points for which the slope of a line has an interval."""


@dataclass(frozen=True)
class CostCurve:
    """Costs of one configuration by increasing size: the median over the solved tasks of each
    size.
    """

    contestant: str
    sizes: tuple[float, ...]
    costs: tuple[float, ...]


@dataclass(frozen=True)
class Scaling:
    """The fit cost ≈ factor · size^exponent for sizes from `from_size` on, by least squares over
    `points` sizes; `low` and `high` bound the exponent's 95 % interval.
    """

    contestant: str
    exponent: float
    low: float
    high: float
    factor: float
    points: int
    from_size: float


@dataclass(frozen=True)
class Crossover:
    """A size from which one configuration is cheaper: `slower` costs less below `size`, `faster`
    from it on.
    """

    faster: str
    slower: str
    size: float


@dataclass(frozen=True)
class SizeSweep:
    """Cost curves of one entry, budget and gap over one kind of size; `sizes` and `successes` are
    counts.
    """

    size: str
    entry: str
    budget: str
    gap: float
    constrained: bool
    sizes: int
    successes: int
    series: tuple[CostCurve, ...]
    fits: tuple[Scaling, ...]
    crossovers: tuple[Crossover, ...]


def series_by_size(all_trials: Iterable[Trial], size: str) -> tuple[CostCurve, ...]:
    """Return the seconds by size for each configuration; `size` is one of SIZES."""

    def place(trial: Trial) -> float:
        return SIZES[size](trial.rows[0]) or 0.0

    solved = (
        trial
        for trial in all_trials
        if trial.success and trial.seconds > 0.0 and place(trial) > 0.0
    )
    series = []
    for name, own in sorted(group_by(solved, lambda trial: trial.label).items()):
        sizes, trials = zip(*sorted(group_by(own, place).items()), strict=True)
        series.append(
            CostCurve(
                name, sizes, tuple(median(trial.seconds for trial in same) for same in trials)
            )
        )
    return tuple(series)


def fit_exponent(series: CostCurve) -> Scaling | None:
    """Fit the exponent above the constant floor. Return None if fewer than three sizes lie above it
    or the interval is too wide.
    """
    sizes, costs = _above_floor(series)
    if len(sizes) < FEWEST:
        return None
    x = np.log(sizes)
    y = np.log(costs)
    line, covariance = np.polyfit(x, y, 1, cov=True)
    slope, intercept = line.tolist()
    reach = student_quantile(len(sizes) - 2) * math.sqrt(covariance[0, 0])
    if reach > WIDEST:
        return None
    return Scaling(
        series.contestant,
        slope,
        slope - reach,
        slope + reach,
        math.exp(intercept),
        len(sizes),
        sizes[0],
    )


def crossovers(all_series: Sequence[CostCurve], noise: float = 1.0) -> tuple[Crossover, ...]:
    """Find where the measured costs of two configurations cross, by log-log interpolation between
    the sizes that both have.

    A crossing counts only if, at common sizes, the overtaking configuration costs more by a factor
    above `noise` before it, and less by a factor above `noise` after it.
    """
    crossings = []
    for k, one in enumerate(all_series):
        for other in all_series[k + 1 :]:
            crossings += _crossings(one, other, math.log(max(noise, 1.0)))
    return tuple(crossings)


def sweeps(trials: Sequence[Trial], noise: float = 1.0) -> tuple[SizeSweep, ...]:
    """Return every sweep with at least two sizes that any configuration certified. Within each kind
    of size, the sweep with the most sizes comes first.

    noise   the ratio of costs that a crossover must exceed
    """
    # Files are different problems.
    alike = (trial for trial in trials if trial.rows[0].entry != "file")
    groups = group_by(
        alike, lambda trial: (trial.rows[0].entry, trial.rows[0].limit, trial.rows[0].gap_target)
    )
    order = list(SIZES)
    made = [_sweep(size, key, own, noise) for size in order for key, own in groups.items()]
    return tuple(
        sorted(
            (sweep for sweep in made if sweep.sizes >= 2),
            key=lambda s: (
                order.index(s.size),
                -s.sizes,
                not s.constrained,
                -s.successes,
                s.entry,
                s.budget,
                s.gap,
            ),
        )
    )


def _sweep(size: str, key: tuple[str, str, float], own: Sequence[Trial], noise: float) -> SizeSweep:
    series = series_by_size(own, size)
    sizes = len({place for each in series for place in each.sizes})
    constrained = own[0].rows[0].regime == "constrained"
    fits = tuple(fit for fit in map(fit_exponent, series) if fit is not None)
    return SizeSweep(
        size,
        *key,
        constrained,
        sizes,
        sum(t.success for t in own),
        series,
        fits,
        crossovers(series, noise),
    )


def _crossings(one: CostCurve, other: CostCurve, noise: float) -> list[Crossover]:
    sizes = sorted(set(one.sizes) & set(other.sizes))
    ones = dict(zip(one.sizes, one.costs, strict=True))
    others = dict(zip(other.sizes, other.costs, strict=True))
    apart = {s: math.log(ones[s]) - math.log(others[s]) for s in sizes}
    clear = [(math.log(s), ratio) for s, ratio in apart.items() if abs(ratio) > noise]
    crossings = []
    for (x, before), (y, after) in pairwise(clear):
        if before * after < 0.0:
            faster, slower = (one, other) if after < 0.0 else (other, one)
            size = math.exp(x + (y - x) * before / (before - after))
            crossings.append(Crossover(faster.contestant, slower.contestant, size))
    return crossings


def _above_floor(series: CostCurve) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the largest sizes and their costs, from the first size on where this and every larger
    size costs more than twice the smallest cost.
    """
    floor = min(series.costs, default=math.inf)
    start = len(series.costs)
    while start > 0 and series.costs[start - 1] >= ABOVE_FLOOR * floor:
        start -= 1
    return series.sizes[start:], series.costs[start:]


def _parameter(row: Measurement, name: str) -> float | None:
    value: Any = row.parameters.get(name)
    return float(value) if type(value) in (int, float) else None
