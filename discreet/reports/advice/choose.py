"""The advice itself: among the options that are safe here, the one that is predicted to be fastest.

Options that cannot run here, do not serve the problem, are peers (backends that are there to be compared with) or are not
safe are set aside with the reason. Without a safe one the surest is named, and the advice says that it is not safe.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from discreet.backends.contract import Options
from discreet.problems.problem import Problem
from discreet.reports.advice.evidence import Cell, Option, cells_of, joined
from discreet.reports.advice.features import Features
from discreet.reports.advice.notes import notes
from discreet.reports.advice.prospects import Prospect, plain, prospects, rank
from discreet.reports.advice.refusals import reasons, refused, runnable
from discreet.reports.advice.times import TimeModel
from discreet.reports.measurements import Measurement, reference_measurements

__all__ = ["Advice", "advise", "machine_factor"]

_FEWEST = 3  # local rows from which a machine's speed is told


@dataclass(frozen=True)
class Advice:
    """Which backend for a problem, and why.

    chosen        what to use; None only when nothing that was measured can run here
    runner_up     the next best backend, or None
    not_chosen    label -> why, for every other backend or setting
    notes         where the evidence is thin, or the time asked for is short
    """

    problem: str
    features: Features
    gap: float
    seconds: float | None
    chosen: Prospect | None
    runner_up: Prospect | None
    not_chosen: Mapping[str, str]
    notes: tuple[str, ...]
    measured_rows: int
    local_rows: int
    machine_factor: float

    @property
    def backend(self) -> str:
        """Name of the advised backend, for `solve`; auto when there is nothing to advise."""
        return self.chosen.option.backend if self.chosen else "auto"

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the advised backend, for `solve`."""
        return self.chosen.option.settings if self.chosen else {}

    @property
    def gap_to_ask(self) -> float:
        """Gap to pass to `solve`: some backends keep the budget only when asked for more than is needed."""
        return self.chosen.option.gap if self.chosen else self.gap

    @property
    def safe(self) -> bool:
        """Whether measurements support the choice; False: solve, and look at the certificate."""
        return self.chosen is not None and self.chosen.safe

    def to_dict(self) -> dict[str, Any]:
        """The record for machines: plain numbers and strings, units in the names, None where undefined."""
        return {
            "problem": self.problem,
            "kind": self.features.kind,
            "outcomes": self.features.outcomes,
            "budget_nats": plain(self.features.budget_nats),
            "gap": self.gap,
            "seconds": self.seconds,
            "safe": self.safe,
            "chosen": self.chosen.to_dict() if self.chosen else None,
            "runner_up": self.runner_up.to_dict() if self.runner_up else None,
            "not_chosen": dict(self.not_chosen),
            "notes": list(self.notes),
            "measured_rows": self.measured_rows,
            "local_rows": self.local_rows,
            "machine_factor": self.machine_factor,
        }


def advise(
    problem: Problem,
    gap: float = 1e-9,
    seconds: float | None = None,
    *,
    results: Iterable[Measurement | str | Path] = (),
    peers: bool = False,
    reference: Sequence[Measurement] | None = None,
) -> Advice:
    """Which backend to use for a problem in production, from what was measured on problems like it. Solves nothing.

    gap        relative certified gap that is needed
    seconds    how long one solve may take; where the prediction is longer, the notes say so
    results    what was measured on this machine: rows, or study folders, .parquet, .csv and .csv.gz files of them. They
               count like shipped rows, replace those of the same cell, and tell how fast this machine is
    peers      also consider backends that are there to be compared with
    reference  rows to use instead of those shipped with the package

    Raises InputError for a gap outside (0, 1) or a time that is not positive, FileError for results that cannot be read.
    """
    Options(gap=gap, time_limit=seconds)  # refuses what is out of range
    own = _rows(results)
    shipped = _reference_cells() if reference is None else tuple(cells_of(reference))
    local = cells_of(own, local=True)
    factor = machine_factor(shipped, local)
    features = Features.of_problem(problem)
    considered = prospects(joined(shipped, local, factor), features, gap)
    judged = [refused(each, problem, peers) for each in considered]
    judged = runnable(judged)
    ranked = rank(judged)
    chosen = ranked[0] if ranked else None
    others = [each for each in ranked[1:] if chosen and each.option.label != chosen.option.label]
    runner_up = next((each for each in others if each.safe), None)
    return Advice(
        problem=problem.name,
        features=features,
        gap=gap,
        seconds=seconds,
        chosen=chosen,
        runner_up=runner_up,
        not_chosen=reasons(chosen, runner_up, [*ranked, *(each for each in judged if each.refusal)], problem, peers),
        notes=notes(chosen, features, gap, seconds, [*shipped, *local]),
        measured_rows=sum(len(cell.samples) for cell in shipped),
        local_rows=len(own),
        machine_factor=factor,
    )


def _rows(results: Iterable[Measurement | str | Path]) -> list[Measurement]:
    given = [results] if isinstance(results, str | Path) else list(results)
    paths = [each for each in given if not isinstance(each, Measurement)]
    rows = [each for each in given if isinstance(each, Measurement)]
    if paths:
        from discreet.reports.study.results import read_results

        rows += read_results(paths)
    return rows


@cache
def _reference_cells() -> tuple[Cell, ...]:
    return tuple(cells_of(reference_measurements()))


def machine_factor(shipped: Sequence[Cell], local: Sequence[Cell]) -> float:
    """How many times longer local rows took than the shipped ones predict: the median; 1 with fewer than three of them."""
    models: dict[tuple[Option, str], TimeModel] = {}
    by_key: dict[tuple[Option, str], list[Cell]] = defaultdict(list)
    same = {(cell.option, cell.identity): cell.seconds for cell in shipped}
    for cell in shipped:
        by_key[cell.option, cell.features.kind].append(cell)
    ratios = []
    for cell in (each for each in local if each.timed and each.seconds > 0.0):
        key = cell.option, cell.features.kind
        if key in by_key:
            model = models.setdefault(key, TimeModel(by_key[key]))
            expected = same.get((cell.option, cell.identity)) or model.predict(cell.features).seconds
            ratios.append(cell.seconds / expected)
    ratios = sorted(each for each in ratios if math.isfinite(each) and each > 0.0)
    return ratios[len(ratios) // 2] if len(ratios) >= _FEWEST else 1.0
