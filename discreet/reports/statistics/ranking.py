"""Which solver to use: how many tasks each solver configuration solves, by class of problem, how
often it claims success wrongly, and its seconds relative to the best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from discreet.measures.mutual_information import MutualInformation
from discreet.reports.statistics.trials import Task, Trial, best_costs, by_task, labels_of, timed
from discreet.showing.data import chosen

CLASSES = {
    "perfect": "budget 0",
    "information": "mutual information",
    "measures": "other measures",
    "oblivious": "no constraint",
}
"""Classes of problems by budget and measure: a key, and the words for it."""


def class_of(trial: Trial) -> str:
    """The class of its problem: perfect privacy and problems without a constraint are linear
    programs under every measure.
    """
    row = trial.rows[0]
    if row.regime != "constrained":
        return row.regime
    return "information" if row.measure == MutualInformation.name else "measures"


@dataclass(frozen=True)
class Rank:
    """A line of the ranking. A trial is solved if every repeat is certified.

    tasks, solved      tasks tried, and solved
    wrong              tasks of which it claimed success wrongly
    seconds_over_best  geometric mean of its seconds ÷ those of the fastest, over the tasks that it
                       solved and whose times may be compared; inf without any
    classes            class -> tasks solved and tried there, in words; None where none was tried
    """

    contestant: str
    tasks: int
    solved: int
    wrong: int
    seconds_over_best: float
    classes: Mapping[str, str | None]

    @property
    def record(self) -> dict[str, Any]:
        """Return plain values, each class under its own key."""
        names = ("contestant", "tasks", "solved", "wrong", "seconds_over_best")
        return chosen(self, names) | dict(self.classes)


def ranking(trials: Sequence[Trial]) -> tuple[Rank, ...]:
    """A line for each configuration, in the order of tasks solved, wrong claims and seconds."""
    best = best_costs(by_task(timed(trials)))
    ranks = (_rank(label, trials, best) for label in labels_of(trials))
    return tuple(sorted(ranks, key=lambda rank: (-rank.solved, rank.wrong, rank.seconds_over_best)))


def _rank(label: str, trials: Sequence[Trial], best: Mapping[Task, float]) -> Rank:
    own = [trial for trial in trials if trial.tried and trial.label == label]
    ratios = [
        math.log(trial.seconds / best[trial.task])
        for trial in own
        if trial.success and best.get(trial.task, 0.0) > 0.0
    ]
    classes = dict[str, str | None]()
    for name in CLASSES:
        members = [trial for trial in own if class_of(trial) == name]
        solved = sum(trial.success for trial in members)
        classes[name] = f"{solved} of {len(members)}" if members else None
    return Rank(
        label,
        len(own),
        sum(trial.success for trial in own),
        sum(trial.wrong for trial in own),
        math.exp(fmean(ratios)) if ratios else math.inf,
        classes,
    )
