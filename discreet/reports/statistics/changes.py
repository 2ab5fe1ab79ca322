"""Changes between two studies beyond the noise, from pairs of trials of one task and one solver
configuration.

A claim that became wrong, a task that is no longer certified and a task that is newly certified are
facts, unless a time limit decided: an answer that needed more than half of its limit may miss it by
chance.

A time counts if the control, before and after the attempt, took within 5 % of its median over both
studies. The noise is that of an A/A test: the factor between two halves of the repeats of one
trial. A configuration is slower if most of its tasks are, by a sign test at a level of 5 % for all
configurations together, and if their median factor exceeds the 95th percentile of the noise of
either study. A single task is slower if each of its timings is slower than all earlier ones, by a
factor of at least `LARGE` that also exceeds the largest noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from discreet.backends.solution import Status
from discreet.reports.measurements import Measurement, group_by
from discreet.reports.statistics.aggregates import aa_ratios, noise_floor
from discreet.reports.statistics.trials import Trial, comparable, control_of, trials

LARGE = 2.0
"""Smallest factor between the times of a single task that counts as a change."""

_LEVEL = 0.05
_WITHIN_LIMIT = 0.5


@dataclass(frozen=True)
class Change:
    """A change: `wrong`, `worse` or `better`, of a configuration on an instance at a gap, or on all
    instances (an empty instance, gap 0).
    """

    kind: str
    contestant: str
    instance: str
    gap: float
    what: str


@dataclass(frozen=True)
class TrialPair:
    """One solver configuration on one task before and after. `timed`: whether both have certified
    answers with comparable times.
    """

    before: Trial
    after: Trial
    timed: bool

    @property
    def factor(self) -> float:
        """Seconds after ÷ seconds before."""
        return self.after.seconds / self.before.seconds


@dataclass(frozen=True)
class Changes:
    """All changes between two studies.

    noise     the factor that a change of a configuration must exceed; nan if nothing was repeated,
              so that no times are compared
    only_before, only_after   number of trials that only one study has
    """

    changes: tuple[Change, ...]
    pairs: tuple[TrialPair, ...]
    noise: float
    only_before: int
    only_after: int

    def of(self, kind: str) -> list[Change]:
        """Return the changes of one kind."""
        return [each for each in self.changes if each.kind == kind]


def changes_between(before: Sequence[Measurement], after: Sequence[Measurement]) -> Changes:
    """Return what became wrong, worse or better from the first study to the second."""
    control = control_of([*before, *after])
    old, new = (
        {(each.task, each.label): each for each in trials(rows, control) if each.tried}
        for rows in (before, after)
    )
    noise = max(noise_floor(old.values()), noise_floor(new.values()))
    pairs = tuple(
        TrialPair(
            old[key],
            new[key],
            not math.isnan(noise)
            and old[key].success
            and new[key].success
            and all(
                comparable(row, control, alone=False) for row in (*old[key].rows, *new[key].rows)
            ),
        )
        for key in sorted(old.keys() & new.keys())
    )
    largest = max([LARGE, *aa_ratios(old.values()), *aa_ratios(new.values())])
    slower = _of_configurations(pairs, noise)
    known = {each.contestant for each in slower}
    changes = [
        *(each for pair in pairs for each in _of_accuracy(pair)),
        *slower,
        *(
            each
            for pair in pairs
            if pair.after.label not in known
            for each in _of_time(pair, largest)
        ),
    ]
    return Changes(
        tuple(changes), pairs, noise, len(old.keys() - new.keys()), len(new.keys() - old.keys())
    )


def _of_accuracy(pair: TrialPair) -> list[Change]:
    was, now = pair.before, pair.after
    statuses = f"{_statuses(was)} → {_statuses(now)}"
    if now.wrong and not was.wrong:
        claimed = next(row.claimed for row in now.rows if not row.certified or row.contradictions)
        return [_change("wrong", now, f"claims {claimed!r}: {statuses}")]
    if was.success == now.success:
        return [_change("better", now, statuses)] if was.wrong and not now.wrong else []
    if _by_chance(was, now):
        return []
    return [_change("better" if now.success else "worse", now, statuses)]


def _by_chance(was: Trial, now: Trial) -> bool:
    """Return True if a time limit decided between two trials of which one succeeded."""
    solved, other = (now, was) if now.success else (was, now)
    late = any(row.status is Status.TIMED_OUT for row in other.rows)
    return late and solved.seconds > _WITHIN_LIMIT * min(solved.limit, other.limit)


def _of_configurations(pairs: Sequence[TrialPair], noise: float) -> list[Change]:
    timed = group_by((pair for pair in pairs if pair.timed), lambda pair: pair.after.label)
    changes = []
    for label, own in timed.items():
        factors = [pair.factor for pair in own]
        middle = median(factors)
        slower = sum(factor > 1.0 for factor in factors)
        faster = sum(factor < 1.0 for factor in factors)
        unlikely = _sign_test(max(slower, faster), slower + faster) < _LEVEL / len(timed)
        if unlikely and max(middle, 1.0 / middle) > noise:
            kind = "worse" if middle > 1.0 else "better"
            what = f"takes {middle:.2g} times as long, in the median of {len(own)} tasks"
            changes.append(Change(kind, label, "", 0.0, what))
    return changes


def _sign_test(most: int, count: int) -> float:
    """Return the two-sided probability that at least this many of `count` fair coins show the same
    side.
    """
    tail = sum(math.comb(count, k) for k in range(most, count + 1))
    return min(1.0, 2.0 * tail / 2.0**count)


def _of_time(pair: TrialPair, least: float) -> list[Change]:
    if not pair.timed or max(pair.factor, 1.0 / pair.factor) <= least:
        return []
    slower = pair.factor > 1.0
    fast, slow = (pair.before, pair.after) if slower else (pair.after, pair.before)
    if max(fast.timings) >= min(slow.timings):
        return []
    what = f"takes {pair.factor:.2g} times as long"
    return [_change("worse" if slower else "better", pair.after, what)]


def _change(kind: str, trial: Trial, what: str) -> Change:
    return Change(kind, trial.label, trial.task.instance, trial.task.gap, what)


def _statuses(trial: Trial) -> str:
    return ", ".join(dict.fromkeys(row.status.value for row in trial.rows))
