"""Trials: the repeats of one backend on one task taken together, the unit that every comparison
counts.

A *task* is an instance (problem and budget) with the relative gap that is asked for. A trial
succeeds when every repeat is certified: a success in some repeats only is a failure. Its seconds
are the median of the repeats' own seconds, of those that may be compared (`comparable`) if any may.
Comparisons of times leave out the tasks in which a trial has none.

An attempt that ran beside others, or on a machine that may run other things, is *shared*. Its time
counts where the control, before and after it, took within 5 % of its median over the attempts that
ran alone, or over all where none did. Accuracy does not depend on any of this: what is certified
counts wherever it ran.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from discreet.backends.solution import Status
from discreet.lazy import cached_property
from discreet.reports.measurements import Measurement, group_by

NOT_TRIED = frozenset({Status.UNSUPPORTED, Status.ABSENT})
"""The backend does not serve the task, or is not installed: neither success nor failure."""


WITHIN = 0.05
"""How far a control may be from the median, relative to it."""


def control_of(rows: Sequence[Measurement]) -> float:
    """The median seconds of the control over the rows that ran alone, or over all if none did; nan
    without a control.
    """
    own = [row for row in rows if not row.submitted]
    alone = [row for row in own if not row.shared]
    found = [seconds for row in alone or own for seconds in row.control_seconds]
    return median(found) if found else math.nan


def comparable(row: Measurement, control: float, *, alone: bool = True) -> bool:
    """Whether the time of a row may be set beside others, given the median of the control; nan: no
    control is known.

    alone   whether a row that ran alone needs no control; between two studies it does
    """
    if alone and not row.shared:
        return True
    return bool(row.control_seconds) and all(
        abs(each - control) <= WITHIN * control for each in row.control_seconds
    )


@dataclass(frozen=True, order=True)
class Task:
    """What is asked for: an instance and a relative gap. problem_hash distinguishes equal names of
    different data.
    """

    instance: str
    gap: float
    problem_hash: str


@dataclass(frozen=True)
class Trial:
    """One solver configuration on one task. `rows` are its repeats, one at least; the times of
    `timed` may be compared.

    label     of the configuration, as typed on the command line
    success   every repeat certified
    seconds   median over repeats of lowering, solving and lifting; those of a failure say when it
              gave up
    """

    task: Task
    label: str
    rows: tuple[Measurement, ...]
    timed: tuple[Measurement, ...]

    @cached_property
    def success(self) -> bool:
        """Whether every repeat is certified."""
        return all(row.certified for row in self.rows)

    @cached_property
    def tried(self) -> bool:
        """Whether the backend serves the task and is installed."""
        return not any(row.status in NOT_TRIED for row in self.rows)

    @property
    def kept(self) -> bool:
        """Whether every repeat was answered and its own answer kept the budget."""
        return self.tried and all(row.answered and not row.violated for row in self.rows)

    @property
    def achieved(self) -> float:
        """The largest relative gap its repeats were certified to."""
        return max(row.relative_gap for row in self.rows)

    @cached_property
    def seconds(self) -> float:
        """Median seconds of the repeats whose times may be compared, or of all where there are
        none.
        """
        return median(row.seconds for row in self.timed or self.rows)

    @property
    def cost(self) -> float:
        """Seconds of a success, inf of anything else."""
        return self.seconds if self.success else math.inf

    @property
    def limit(self) -> float:
        """The time limit in seconds (inf where none was set)."""
        return max(row.time_limit_seconds for row in self.rows)

    @property
    def timings(self) -> tuple[float, ...]:
        """Repeated timings in seconds that may be compared: warm runs inside the processes, and the
        processes themselves.
        """
        return tuple(seconds for row in self.timed for seconds in row.timings)


def trials(rows: Iterable[Measurement], control: float | None = None) -> tuple[Trial, ...]:
    """Rows as trials, sorted by task, then configuration; the order of the rows does not matter.

    control   the median seconds of the control, of these rows unless it is given
    """
    rows = list(rows)
    control = control_of(rows) if control is None else control
    found = group_by(
        rows, lambda row: (Task(row.instance, row.gap_target, row.problem_hash), row.label)
    )
    made = []
    for task, label in sorted(found):
        own = tuple(
            sorted(found[task, label], key=lambda row: (row.repeat, row.started, row.seconds))
        )
        made.append(Trial(task, label, own, tuple(row for row in own if comparable(row, control))))
    return tuple(made)


def timed(found: Iterable[Trial]) -> tuple[Trial, ...]:
    """The trials of the tasks in which all that were tried have a time that may be compared."""
    found = tuple(found)
    untimed = {trial.task for trial in found if trial.tried and not trial.timed}
    return tuple(trial for trial in found if trial.task not in untimed)


def labels_of(found: Iterable[Trial]) -> tuple[str, ...]:
    """Every configuration that was tried on a task, sorted by name."""
    return tuple(sorted({trial.label for trial in found if trial.tried}))


def by_task(found: Iterable[Trial]) -> dict[Task, dict[str, Trial]]:
    """task -> configuration -> trial, of those that were tried."""
    tried = group_by((trial for trial in found if trial.tried), lambda trial: trial.task)
    return {task: {trial.label: trial for trial in own} for task, own in tried.items()}
