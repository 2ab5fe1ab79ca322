"""How good the advice is on catalog entries it has never seen: leave-one-entry-out
cross-validation.

Every instance is advised from the rows of all other entries, then looked up in its own. *Regret* is
the time of the advised option ÷ the time of the fastest that was certified there. A difference
that repeated measurements of one backend also show is not regret: the noise of a cell is estimated
from all repeats of the study (A/A), and a time within the noise of the best counts as the best.
Instances that no backend certified have no regret; they are counted.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.reports.advice.evidence import Observation, observations_of
from discreet.reports.advice.prediction import prospects, rank
from discreet.reports.measurements import Measurement

__all__ = ["HeldOut", "Trial", "cross_validate", "noise_of"]


@dataclass(frozen=True)
class Trial:
    """One instance advised without its entry. `outcome` is what the advised option
    came to there.
    """

    instance: str
    gap: float
    advised: str
    best: str
    outcome: str
    certified: bool
    warned: bool
    seconds: float
    best_seconds: float
    predicted: bool
    inside: bool
    noise: float

    @property
    def raw_regret(self) -> float:
        """Time of the advised ÷ time of the best; inf where the advised was not certified and
        another was.
        """
        return self.seconds / self.best_seconds if self.certified else math.inf

    @property
    def regret(self) -> float:
        """Return the raw regret, or 1 if the difference is within the noise."""
        return 1.0 if self.raw_regret <= self.noise else self.raw_regret


@dataclass(frozen=True)
class HeldOut:
    """All trials of a cross-validation; `unsolved` instances were certified by no backend."""

    trials: tuple[Trial, ...]
    unsolved: tuple[str, ...]

    def quantile(self, q: float) -> float:
        """The q-quantile of the regrets: the smallest that at least a share q of them do not
        exceed.
        """
        ordered = sorted(trial.regret for trial in self.trials)
        return ordered[max(0, math.ceil(q * len(ordered)) - 1)]

    @property
    def median(self) -> float:
        """Return the median of the regret."""
        return self.quantile(0.5)

    @property
    def failures(self) -> tuple[Trial, ...]:
        """Where the advised failed, was not certified or broke the budget although another was
        certified.
        """
        return tuple(trial for trial in self.trials if not trial.certified)

    @property
    def coverage(self) -> float:
        """Share of the certified trials with a predicted interval whose measured time lay in it."""
        inside = [trial.inside for trial in self.trials if trial.certified and trial.predicted]
        return sum(inside) / len(inside) if inside else 0.0


def cross_validate(rows: Iterable[Measurement], *, labels: Sequence[str] | None = None) -> HeldOut:
    """Leave one entry out at a time. Peers are neither advised nor compared with; `labels`
    restricts the options further.
    """
    cells = [
        cell
        for cell in observations_of(rows)
        if not cell.option.is_peer and (labels is None or cell.option.label in labels)
    ]
    noise = noise_of(cells)
    asked = sorted({cell.option.gap for cell in cells})
    trials = []
    unsolved = []
    for group in sorted({cell.group for cell in cells}):
        known = [cell for cell in cells if cell.group != group]
        instances: dict[str, list[Observation]] = defaultdict(list)
        for cell in cells:
            if cell.group == group:
                instances[cell.identity].append(cell)
        for mine in instances.values():
            for gap in asked:
                there = [cell for cell in mine if cell.option.gap <= gap]
                solved = [cell for cell in there if cell.succeeds(gap)]
                if not any(cell.option.gap == gap for cell in there):
                    continue
                if not solved:
                    unsolved.append(there[0].instance)
                    continue
                trial = _trial(known, there, solved, gap, noise)
                if trial is not None:
                    trials.append(trial)
    return HeldOut(tuple(trials), tuple(unsolved))


def _trial(
    known: Sequence[Observation],
    there: Sequence[Observation],
    solved: Sequence[Observation],
    gap: float,
    noise: float,
) -> Trial | None:
    """None where none of the options that the advice could name was run on this instance."""
    best = min(solved, key=lambda cell: cell.seconds)
    run = {cell.option: cell for cell in there}
    ranked = rank(each for each in prospects(known, best.features, gap) if each.option in run)
    if not ranked:
        return None
    advised = ranked[0]
    cell = run[advised.option]
    return Trial(
        instance=best.instance,
        gap=gap,
        advised=f"{advised.option.label} at {advised.option.gap:g}",
        best=f"{best.option.label} at {best.option.gap:g}",
        outcome=cell.outcome.value,
        certified=cell.succeeds(gap),
        warned=not advised.safe,
        seconds=cell.seconds,
        best_seconds=best.seconds,
        predicted=not advised.remote,
        inside=advised.low <= cell.seconds <= advised.high,
        noise=noise,
    )


def noise_of(cells: Iterable[Observation]) -> float:
    """The factor that two medians of the same work differ by: 95% of halves of the same repeats
    differ by less.
    """
    factors = []
    for cell in cells:
        odd = cell.samples[::2]
        even = cell.samples[1::2]
        if cell.timed and odd and even:
            pair = sorted((statistics.median(odd), statistics.median(even)))
            if pair[0] > 0.0:
                factors.append(pair[1] / pair[0])
    factors.sort()
    return factors[min(len(factors) - 1, int(0.95 * len(factors)))] if factors else 1.0
