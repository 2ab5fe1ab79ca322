"""Which solver to use: tasks solved, wrong claims and relative speed, for each class of problem.

Problems are of one class if the same solvers can state them: perfect privacy and linear measures
are linear programs, smooth measures (mutual information, chi-square) need other cones,
and without a budget the Bayes rule is optimal. Configurations are ranked by the tasks that they
solved, then by wrong claims, then by speed.

Speed is the geometric mean, over the tasks that a configuration solved, of its seconds divided by
those of the fastest configuration that solved the same task. It is at least 1, and does not depend
on which tasks the others were tried on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from discreet.measures.registry import LINEAR, measure_of
from discreet.reports.measurements import Measurement, group_by
from discreet.reports.statistics.claims import claims_success
from discreet.reports.statistics.trials import Task, Trial, by_task, labels_of


@dataclass(frozen=True)
class Rank:
    """How a solver configuration did on the tasks of a class.

    problems    the class, in words
    tasks       number of tasks of the class
    tried       tasks that the backend serves and was tried on
    solved      tasks that it solved: certified in every repeat
    wrong       attempts in which it claimed success and the judge found otherwise
    slowdown    geometric mean of its seconds ÷ those of the fastest; nan without comparable times
    """

    problems: str
    contestant: str
    tasks: int
    tried: int
    solved: int
    wrong: int
    slowdown: float


def class_of(row: Measurement) -> str:
    """Return the class of a problem, in words."""
    if row.regime == "perfect":
        return "perfect privacy"
    if row.regime == "oblivious":
        return "no budget"
    if all(measure_of(word).name in LINEAR for word in row.measure.split(" and ")):
        return "linear measures"
    return "smooth measures"


def rank_contestants(found: Iterable[Trial]) -> tuple[Rank, ...]:
    """Rank the configurations that were tried, class by class; the largest class comes first."""
    classes = group_by(
        (trial for trial in found if trial.tried), lambda trial: class_of(trial.rows[0])
    )
    sizes = {name: len(by_task(own)) for name, own in classes.items()}
    ranks = []
    for name in sorted(classes, key=lambda each: (-sizes[each], each)):
        own = [_rank(name, label, by_task(classes[name])) for label in labels_of(classes[name])]
        ranks += sorted(
            own,
            key=lambda each: (-each.solved, each.wrong, _last(each.slowdown), each.contestant),
        )
    return tuple(ranks)


def _last(number: float) -> float:
    return math.inf if math.isnan(number) else number


def _rank(name: str, label: str, tasks: Mapping[Task, Mapping[str, Trial]]) -> Rank:
    own = [trials[label] for trials in tasks.values() if label in trials]
    rows = [row for trial in own for row in trial.rows]
    ratios = []
    for trials in tasks.values():
        times = {
            each: trial.seconds
            for each, trial in trials.items()
            if trial.success and trial.timed and trial.seconds > 0.0
        }
        if label in times:
            ratios.append(times[label] / min(times.values()))
    return Rank(
        name,
        label,
        tasks=len(tasks),
        tried=len(own),
        solved=sum(trial.success for trial in own),
        wrong=sum(claims_success(row.claimed) and not row.certified for row in rows),
        slowdown=float(np.exp(np.mean(np.log(ratios)))) if ratios else math.nan,
    )
