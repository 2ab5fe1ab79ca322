"""How cost grows with size: exponents fitted on logarithmic axes, and where one contestant overtakes another.

Cost is modelled as c · size^a above a constant floor (start-up, imports). Only points well above the floor say anything
about a: those from the first size on at which the cost is twice the least. The interval of a is Student's, 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.reports.measurements import Measurement
from discreet.reports.statistics.trials import Trial

__all__ = ["SIZES", "Crossover", "Scaling", "Series", "crossovers", "fit_exponent", "scalings", "series_by_size"]

SIZES: dict[str, Callable[[Measurement], float | None]] = {
    "outcomes": lambda row: float(row.outcomes),
    "bins": lambda row: _parameter(row, "bins"),
    "sensors": lambda row: _parameter(row, "sensors"),
    "alphabet": lambda row: float(row.private_values) if row.private_values == row.guesses else None,
}
"""What sizes are read off a row by name: N; the entry's parameters; n where n = m. None: the row has no such size."""

_ABOVE_FLOOR = 2.0
_FEWEST = 3  # points of a line whose slope has an interval
# Student's t, 97.5 %, by degrees of freedom 1 … 30
_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True)
class Series:
    """Costs of one contestant by size, successes only: the median over the tasks of that size. Sizes rise."""

    contestant: str
    sizes: tuple[float, ...]
    costs: tuple[float, ...]


@dataclass(frozen=True)
class Scaling:
    """cost ≈ factor · size^exponent from `from_size` on, by least squares over `points` sizes; low, high: 95 % interval."""

    contestant: str
    exponent: float
    low: float
    high: float
    factor: float
    points: int
    from_size: float

    def at(self, size: float) -> float:
        """The fitted cost at a size."""
        return float(self.factor * size**self.exponent)


@dataclass(frozen=True)
class Crossover:
    """`faster` is the cheaper from `size` on, `slower` below it."""

    faster: str
    slower: str
    size: float


def series_by_size(found: Iterable[Trial], size: str, cost: str = "seconds") -> tuple[Series, ...]:
    """Costs by size for each contestant. `size` is one of SIZES, `cost` "seconds" or "bytes" (peak beyond the imports)."""
    table: dict[str, dict[float, list[float]]] = {}
    for trial in found:
        place = SIZES[size](trial.rows[0])
        value = _cost(trial, cost)
        if trial.success and place is not None and place > 0.0 and value is not None and value > 0.0:
            table.setdefault(trial.contestant, {}).setdefault(place, []).append(value)
    return tuple(
        Series(name, tuple(sorted(table[name])), tuple(float(np.median(table[name][s])) for s in sorted(table[name])))
        for name in sorted(table)
    )


def fit_exponent(series: Series) -> Scaling | None:
    """The fit above the constant floor; None with fewer than three sizes there."""
    sizes, costs = _above_floor(series)
    if len(sizes) < _FEWEST:
        return None
    x, y = np.log(sizes), np.log(costs)
    spread = float(np.sum((x - x.mean()) ** 2))
    slope = float(np.sum((x - x.mean()) * (y - y.mean()))) / spread
    intercept = float(y.mean() - slope * x.mean())
    free = len(sizes) - 2
    residual = float(np.sum((y - intercept - slope * x) ** 2))
    reach = _STUDENT[min(free, len(_STUDENT)) - 1] * math.sqrt(residual / free / spread)
    return Scaling(series.contestant, slope, slope - reach, slope + reach, math.exp(intercept), len(sizes), sizes[0])


def scalings(found: Iterable[Trial], size: str, cost: str = "seconds") -> tuple[Scaling, ...]:
    """The fits of every contestant that has one."""
    fits = (fit_exponent(series) for series in series_by_size(found, size, cost))
    return tuple(fit for fit in fits if fit is not None)


def crossovers(all_series: Sequence[Series], noise: float = 1.0) -> tuple[Crossover, ...]:
    """Where the measured costs of two contestants cross, between the sizes both have, by log-log interpolation.

    Only crossings after which the overtaking contestant is cheaper by more than the factor `noise`, and before which it was
    dearer by more, at some common size: what happens inside the noise is no crossover.
    """
    found = []
    for k, one in enumerate(all_series):
        for other in all_series[k + 1 :]:
            found += _crossings(one, other, math.log(max(noise, 1.0)))
    return tuple(found)


def _crossings(one: Series, other: Series, noise: float) -> list[Crossover]:
    sizes = sorted(set(one.sizes) & set(other.sizes))
    ones, others = dict(zip(one.sizes, one.costs, strict=True)), dict(zip(other.sizes, other.costs, strict=True))
    clear = [(math.log(s), math.log(ones[s] / others[s])) for s in sizes if abs(math.log(ones[s] / others[s])) > noise]
    found = []
    for (x, before), (y, after) in pairwise(clear):
        if before * after < 0.0:
            faster, slower = (one, other) if after < 0.0 else (other, one)
            size = math.exp(x + (y - x) * before / (before - after))
            found.append(Crossover(faster.contestant, slower.contestant, size))
    return found


def _above_floor(series: Series) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The largest sizes, from the first on where this and every larger one cost more than twice the least."""
    floor = min(series.costs, default=math.inf)
    start = len(series.costs)
    while start > 0 and series.costs[start - 1] >= _ABOVE_FLOOR * floor:
        start -= 1
    return series.sizes[start:], series.costs[start:]


def _cost(trial: Trial, cost: str) -> float | None:
    if cost == "seconds":
        return trial.seconds
    known = [row.solve_bytes for row in trial.rows if row.solve_bytes is not None]
    return float(np.median(known)) if known else None


def _parameter(row: Measurement, name: str) -> float | None:
    value = row.parameters.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
