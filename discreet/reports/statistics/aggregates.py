"""Aggregate measures of time: shifted geometric means with confidence intervals, penalties for
failures, and the noise floor.

The shifted geometric mean of times t is exp(mean log(t + s)) − s. The shift s keeps the shortest
times, which are mostly noise and start-up, from deciding the mean; a shift far above the data would
turn it into an arithmetic mean. The shift is the tenth percentile of all successful times of the
comparison. It is the same for every configuration and is reported together with the means.

A failure is charged k times its time limit. Means for several k show how far the ranking depends on
that charge; the mean over the tasks that every configuration solved is reported as well. The
intervals are 95 % Student intervals of the mean log(t + s) over tasks.

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
    confidence interval.

    penalty   the factor k by which the time limit of a failure is multiplied; None for the mean
              over the tasks that all compared configurations solved
    tasks     number of tasks averaged over
    failures  number of those tasks that were charged
    """

    contestant: str
    penalty: float | None
    tasks: int
    failures: int
    seconds: float
    low: float
    high: float


def fitting_shift(trials: Iterable[Trial]) -> float:
    """Return the tenth percentile of the successful times in seconds, which shifts every mean of
    this comparison; 0 if no trial succeeded.
    """
    times = [trial.seconds for trial in trials if trial.success]
    return float(np.percentile(times, SHIFT_PERCENTILE)) if times else 0.0


def means(trials: Sequence[Trial]) -> tuple[Mean, ...]:
    """Return each configuration's mean for every penalty, over the tasks it was tried on, and its
    mean over the tasks that all configurations solved.

    A failure is charged k times the larger of its time limit, if it has one, and its own seconds.
    """
    shift = fitting_shift(trials)
    table = by_task(trials)
    names = labels_of(trials)
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


def noise_floor(trials: Iterable[Trial]) -> float:
    """The factor below which a difference of times says nothing: an A/A test on the repeats.

    Each trial's repeated timings are split into every other one; the ratio of the two medians would
    be 1 without noise. The floor is the 95th percentile of that ratio over all trials (≥ 1); nan
    without a trial that was repeated.
    """
    ratios = aa_ratios(trials)
    return float(np.percentile(ratios, 95.0)) if ratios else math.nan


def aa_ratios(trials: Iterable[Trial]) -> list[float]:
    """The ratio ≥ 1 of the medians of every other timing, of each success that was repeated."""
    ratios = []
    for trial in trials:
        times = trial.timings
        if trial.success and len(times) >= 2:
            one = median(times[0::2])
            other = median(times[1::2])
            ratios.append(max(one, other) / min(one, other))
    return ratios


@cache
def student_quantile(free: int) -> float:
    """Return the 97.5 % quantile of Student's t distribution with `free` degrees of freedom."""
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
    """Return exp(mean log(v + shift)) − shift of values ≥ 0 and the ends of its interval; all are
    nan without values.

    All three are clipped to the range of the values. The values are sorted first, so that their
    order does not affect the rounding. Where the shift is far above the values, log(1 + v/shift) is
    averaged instead, which avoids cancellation.
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
