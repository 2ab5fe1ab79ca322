"""One number for many times: shifted geometric means with intervals, penalties for failures, and the noise floor.

The shifted geometric mean of times t is exp(mean log(t + s)) − s. The shift s keeps the shortest times, which are mostly
noise and start-up, from deciding; a shift far above the data would make it an arithmetic mean. It is the tenth percentile of
all successful times of the comparison, one for everybody, and is always stated.

A failure is charged k times its time limit, for several k, so that a reader sees how far the ranking rests on the charge;
beside it stands the mean over the tasks that all solved. Intervals are percentile bootstraps over tasks, seeded.

Source: H. Mittelmann's benchmarks (shifted geometric means); B. Efron, R. Tibshirani, "An Introduction to the Bootstrap".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.problems.numerics.double_double import Array
from discreet.reports.statistics.trials import Task, Trial, by_task, contestants

__all__ = ["PENALTIES", "SHIFT_PERCENTILE", "Mean", "fitting_shift", "means", "noise_floor", "shifted_geometric_mean"]

PENALTIES = (1.0, 2.0, 10.0)
"""k: what a failure is charged, in time limits."""

SHIFT_PERCENTILE = 10.0
"""Percentile of the successful times that serves as shift."""

_RESAMPLES = 2000


@dataclass(frozen=True)
class Mean:
    """A contestant's shifted geometric mean of seconds, with the ends of its 95 % interval.

    penalty   k of the charge for a failure; None: over the tasks that all compared solved
    tasks     how many tasks it is over;   failures  how many of them were charged
    """

    contestant: str
    penalty: float | None
    tasks: int
    failures: int
    seconds: float
    low: float
    high: float
    shift: float


def shifted_geometric_mean(values: Sequence[float] | Array, shift: float) -> float:
    """exp(mean log(v + shift)) − shift of values ≥ 0 (nan of none), between the least and the largest of them."""
    if len(values) == 0:
        return math.nan
    data = np.asarray(values, dtype=float)
    mean = float(_shifted(data[np.newaxis], shift)[0])
    return min(max(mean, float(data.min())), float(data.max()))


def fitting_shift(found: Iterable[Trial]) -> float:
    """The tenth percentile of the successful times (0 without any): what every mean of this comparison is shifted by."""
    times = [trial.seconds for trial in found if trial.success]
    return float(np.percentile(times, SHIFT_PERCENTILE)) if times else 0.0


def means(found: Sequence[Trial], *, seed: int = 0) -> tuple[Mean, ...]:
    """For every contestant the mean for each penalty over the tasks it was tried on, and over those that all solved.

    A failure without a time limit, or below it, is charged k × the larger of its limit and what it took.
    """
    shift, table = fitting_shift(found), by_task(found)
    names = contestants(found)
    shared = [task for task, met in table.items() if set(met) == set(names) and all(t.success for t in met.values())]
    result = []
    for name in names:
        own = [met[name] for met in table.values() if name in met]
        for k in PENALTIES:
            result.append(_mean(name, k, [_charged(trial, k) for trial in own], _failures(own), shift, seed))
        result.append(_mean(name, None, _seconds(table, shared, name), 0, shift, seed))
    return tuple(result)


def noise_floor(found: Iterable[Trial]) -> float:
    """The factor below which a difference of times says nothing: an A/A test on the repeats.

    Each trial's repeated timings are split into every other one; the ratio of the two medians would be 1 without noise. The
    floor is the 95th percentile of that ratio over all trials (≥ 1); nan without a trial that was repeated.
    """
    ratios = []
    for trial in found:
        times = trial.timings
        if trial.success and len(times) >= 2:
            one, other = float(np.median(times[0::2])), float(np.median(times[1::2]))
            ratios.append(max(one, other) / min(one, other))
    return float(np.percentile(ratios, 95.0)) if ratios else math.nan


def _seconds(table: dict[Task, dict[str, Trial]], tasks: Iterable[Task], name: str) -> list[float]:
    return [table[task][name].seconds for task in tasks]


def _failures(own: Iterable[Trial]) -> int:
    return sum(not trial.success for trial in own)


def _charged(trial: Trial, k: float) -> float:
    if trial.success:
        return trial.seconds
    return k * max(trial.limit if math.isfinite(trial.limit) else 0.0, trial.seconds)


def _mean(name: str, penalty: float | None, values: list[float], failures: int, shift: float, seed: int) -> Mean:
    low, high = _interval(values, shift, seed)
    mean = shifted_geometric_mean(values, shift)
    ends = min(low, mean), max(high, mean)  # equal values: rounding must not put the mean outside
    return Mean(name, penalty, len(values), failures, mean, *ends, shift)


def _interval(values: list[float], shift: float, seed: int) -> tuple[float, float]:
    """Ends of the 95 % percentile bootstrap of the mean; sorted first, so that the order of rows plays no part."""
    if not values:
        return math.nan, math.nan
    data = np.sort(np.asarray(values, dtype=float))
    picks = np.random.default_rng(seed).integers(0, data.size, size=(_RESAMPLES, data.size))
    drawn = _shifted(data[picks], shift)
    low, high = np.percentile(drawn, (2.5, 97.5))
    return max(float(low), float(data[0])), min(float(high), float(data[-1]))


def _shifted(data: Array, shift: float) -> Array:
    """exp(mean log(t + shift)) − shift of each line, without cancellation where the shift is far above the data."""
    if shift > data.max():
        return np.asarray(shift * np.expm1(np.log1p(data / shift).mean(axis=1)))
    return np.asarray(np.exp(np.log(np.maximum(data + shift, np.finfo(float).tiny)).mean(axis=1)) - shift)
