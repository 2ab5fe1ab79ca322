"""Trials: the repeats of one backend on one task taken together, which is the unit that every
comparison counts.

A *task* is an instance (problem and budget) with the relative gap that is asked for. A trial
succeeds when every repeat is certified; a success in some repeats only is a failure. The seconds of
a trial are the median over its repeats with comparable times (`comparable`), or over all repeats if
none is comparable. Comparisons of times leave out the tasks in which a trial has no comparable
time.

An attempt is *shared* if it ran concurrently with other attempts, or on a machine that may run
other programs. Its time is comparable if the control, before and after it, took within 5 % of its
median over the attempts that were not shared, or over all attempts if every one was. Accuracy does
not depend on any of this: a certified answer counts wherever it was computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from discreet.lazy import cached_property
from discreet.reports.measurements import Measurement, group_by
from discreet.reports.statistics.claims import NOT_TRIED, claims_success

WITHIN = 0.05
"""Largest relative deviation of a control from the median at which a shared row is comparable."""


def control_of(rows: Sequence[Measurement]) -> float:
    """Return the median seconds of the control over the rows that are not shared, or over all rows
    if every one is; nan without a control.
    """
    own = [row for row in rows if not row.submitted]
    alone = [row for row in own if not row.shared]
    seconds_alone = [seconds for row in alone or own for seconds in row.control_seconds]
    return median(seconds_alone) if seconds_alone else math.nan


def comparable(row: Measurement, control: float, *, alone: bool = True) -> bool:
    """Return whether the time of a row may be compared with others, given the median of the
    control; nan: no control is known.

    alone   whether a row without other work needs no control; between two studies it does
    """
    if alone and not row.shared:
        return True
    return bool(row.control_seconds) and all(
        abs(each - control) <= WITHIN * control for each in row.control_seconds
    )


@dataclass(frozen=True, order=True)
class Task:
    """An instance and the relative gap that is asked for. `problem_hash` distinguishes different
    data under equal names.
    """

    instance: str
    gap: float
    problem_hash: str


@dataclass(frozen=True)
class Trial:
    """One solver configuration on one task.

    label     the configuration, as typed on the command line
    rows      its repeats, at least one
    timed     the repeats whose times are comparable
    success   whether every repeat is certified
    seconds   median over the repeats of lowering, solving and lifting; for a failure, the time
              until it gave up
    """

    task: Task
    label: str
    rows: tuple[Measurement, ...]
    timed: tuple[Measurement, ...]

    @cached_property
    def success(self) -> bool:
        """Return whether every repeat is certified."""
        return all(row.certified for row in self.rows)

    @cached_property
    def tried(self) -> bool:
        """Return whether the backend serves the task and is installed."""
        return not any(row.status in NOT_TRIED for row in self.rows)

    @property
    def kept(self) -> bool:
        """Return whether every repeat was answered and the backend's own answer kept the budget."""
        return self.tried and all(row.answered and not row.violated for row in self.rows)

    @property
    def wrong(self) -> bool:
        """Return whether a claim of success is not certified, or `verify` contradicts a
        certificate.
        """
        return any(
            row.contradictions or (claims_success(row.claimed) and not row.certified)
            for row in self.rows
        )

    @property
    def achieved(self) -> float:
        """Return the largest relative gap over the repeats."""
        return max(row.relative_gap for row in self.rows)

    @cached_property
    def seconds(self) -> float:
        """Return the median seconds of the repeats with comparable times, or of all repeats if none
        is comparable.
        """
        return median(row.seconds for row in self.timed or self.rows)

    @property
    def cost(self) -> float:
        """Return the seconds of a success, and inf for a failure."""
        return self.seconds if self.success else math.inf

    @property
    def limit(self) -> float:
        """Return the time limit in seconds (inf if none was set)."""
        return max(row.time_limit_seconds for row in self.rows)

    @property
    def timings(self) -> tuple[float, ...]:
        """Return the comparable repeated timings in seconds: warm runs inside the processes, and
        the processes themselves.
        """
        return tuple(seconds for row in self.timed for seconds in row.timings)


def trials(rows: Iterable[Measurement], control: float | None = None) -> tuple[Trial, ...]:
    """Group rows into trials, sorted by task, then configuration; the order of the rows does not
    matter.

    control   the median seconds of the control; computed from these rows by default
    """
    rows = list(rows)
    control = control_of(rows) if control is None else control
    groups = group_by(
        rows, lambda row: (Task(row.instance, row.gap_target, row.problem_hash), row.label)
    )
    made = []
    for task, label in sorted(groups):
        own = tuple(
            sorted(groups[task, label], key=lambda row: (row.repeat, row.started, row.seconds))
        )
        made.append(Trial(task, label, own, tuple(row for row in own if comparable(row, control))))
    return tuple(made)


def timed(all_trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return the trials of the tasks in which every trial that was tried has a comparable time."""
    all_trials = tuple(all_trials)
    untimed = {trial.task for trial in all_trials if trial.tried and not trial.timed}
    return tuple(trial for trial in all_trials if trial.task not in untimed)


def labels_of(tried_trials: Iterable[Trial]) -> tuple[str, ...]:
    """Return the sorted labels of the configurations that were tried on any task."""
    return tuple(sorted({trial.label for trial in tried_trials if trial.tried}))


def best_costs(met: Mapping[Task, Mapping[str, Trial]]) -> dict[Task, float]:
    """Return the least cost of any configuration on each task of `by_task`."""
    return {task: min(trial.cost for trial in own.values()) for task, own in met.items()}


def by_task(all_trials: Iterable[Trial]) -> dict[Task, dict[str, Trial]]:
    """Return a dictionary task → configuration → trial of the trials that were tried."""
    tried = group_by((trial for trial in all_trials if trial.tried), lambda trial: trial.task)
    return {task: {trial.label: trial for trial in own} for task, own in tried.items()}
