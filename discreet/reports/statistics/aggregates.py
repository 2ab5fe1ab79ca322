"""One number for many times: shifted geometric means with intervals, penalties for failures, and
the noise floor.

The shifted geometric mean of times t is exp(mean log(t + s)) − s. The shift s keeps the shortest
times, which are mostly noise and start-up, from deciding; a shift far above the data would make it
an arithmetic mean. It is the tenth percentile of all successful times of the comparison, the same
for every configuration, and is stated beside the means.

A failure is charged k times its time limit, for several k, so that a reader sees how far the
ranking rests on the charge; beside it stands the mean over the tasks that all solved. Intervals are
Student's, 95 %, of the mean log(t + s) over tasks.

Source: H. Mittelmann's benchmarks (shifted geometric means).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

import numpy as np

from discreet.reports.statistics.trials import Trial, by_task, labels_of

PENALTIES = (1.0, 2.0, 10.0)
"""k: what a failure is charged, in time limits."""

SHIFT_PERCENTILE = 10.0
"""Percentile of the successful times that serves as shift."""


@dataclass(frozen=True)
class Mean:
    """A solver configuration's shifted geometric mean of seconds, with the ends of its 95 %
    interval.

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


def fitting_shift(found: Iterable[Trial]) -> float:
    """The tenth percentile of the successful times (0 without any): what every mean of this
    comparison is shifted by.
    """
    times = [trial.seconds for trial in found if trial.success]
    return float(np.percentile(times, SHIFT_PERCENTILE)) if times else 0.0


def means(found: Sequence[Trial]) -> tuple[Mean, ...]:
    """For every configuration the mean for each penalty over the tasks it was tried on, and over
    those that all solved.

    A failure without a time limit, or below it, is charged k × the larger of its limit and what it
    took.
    """
    shift = fitting_shift(found)
    table = by_task(found)
    names = labels_of(found)
    shared = [
        met
        for met in table.values()
        if set(met) == set(names) and all(t.success for t in met.values())
    ]
    result = []
    for name in names:
        own = [met[name] for met in table.values() if name in met]
        failures = sum(not trial.success for trial in own)
        result += [
            _mean(name, k, [_charge(trial, k) for trial in own], failures, shift) for k in PENALTIES
        ]
        result.append(_mean(name, None, [met[name].seconds for met in shared], 0, shift))
    return tuple(result)


def noise_floor(found: Iterable[Trial]) -> float:
    """The factor below which a difference of times says nothing: an A/A test on the repeats.

    Each trial's repeated timings are split into every other one; the ratio of the two medians would
    be 1 without noise. The floor is the 95th percentile of that ratio over all trials (≥ 1); nan
    without a trial that was repeated.
    """
    ratios = aa_ratios(found)
    return float(np.percentile(ratios, 95.0)) if ratios else math.nan


def aa_ratios(found: Iterable[Trial]) -> list[float]:
    """The ratio ≥ 1 of the medians of every other timing, of each success that was repeated."""
    ratios = []
    for trial in found:
        times = trial.timings
        if trial.success and len(times) >= 2:
            one = median(times[0::2])
            other = median(times[1::2])
            ratios.append(max(one, other) / min(one, other))
    return ratios


@cache
def student_quantile(free: int) -> float:
    """Student's t, 97.5 %, for so many degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(free, 0.975))


def _charge(trial: Trial, k: float) -> float:
    if trial.success:
        return trial.seconds
    return k * max(trial.limit if math.isfinite(trial.limit) else 0.0, trial.seconds)


def _mean(
    name: str, penalty: float | None, values: list[float], failures: int, shift: float
) -> Mean:
    return Mean(name, penalty, len(values), failures, *shifted_geometric_mean(values, shift))


def shifted_geometric_mean(values: Sequence[float], shift: float) -> tuple[float, float, float]:
    """exp(mean log(v + shift)) − shift of values ≥ 0, and the ends of its interval; nan of none.

    All three are kept between the least and the largest value. Values are sorted, so that their
    order plays no part in the rounding. Where the shift is far above them log(1 + v/s) is averaged,
    without cancellation.
    """
    if not values:
        return math.nan, math.nan, math.nan
    data = np.sort(values)
    far = shift > data.max()
    logs = np.log1p(data / shift) if far else np.log(np.maximum(data + shift, np.finfo(float).tiny))
    middle = float(logs.mean())
    reach = 0.0
    free = data.size - 1
    if free > 0:
        reach = student_quantile(free) * float(logs.std(ddof=1)) / math.sqrt(data.size)
    ends = (middle, middle - reach, middle + reach)
    plain = (shift * math.expm1(end) if far else math.exp(min(end, 700.0)) - shift for end in ends)
    seconds, low, high = (min(max(each, float(data.min())), float(data.max())) for each in plain)
    return seconds, low, high
