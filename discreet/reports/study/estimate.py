"""How long cells will take: from rows of the same cell, else of the same backend, else of any, else a guess."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable

from discreet.reports.measurements import Measurement
from discreet.reports.study.cells import Cell

__all__ = ["Estimate"]

_FIRST_GUESS_SECONDS = 2.0  # starting a process, importing, a short attempt a few times
_SKIP_SECONDS = 0.02


class Estimate:
    """Learns from rows; medians, so that single slow cells do not stretch every forecast."""

    def __init__(self, rows: Iterable[Measurement]) -> None:
        self._same: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self._backend: dict[str, list[float]] = defaultdict(list)
        for row in rows:
            self.learn(row)

    def learn(self, row: Measurement) -> None:
        """Take a row into account; one that nothing ran for says nothing."""
        if row.wall_seconds > 0.0:
            self._same[row.problem_hash, row.label, row.profile].append(row.wall_seconds)
            self._backend[row.label].append(row.wall_seconds)

    def of(self, cells: Iterable[Cell]) -> float:
        """Seconds that these cells will take together."""
        means = {label: statistics.fmean(seconds) for label, seconds in self._backend.items()}
        overall = statistics.fmean(means.values()) if means else _FIRST_GUESS_SECONDS
        return sum(self._one(cell, means.get(cell.contender.label, overall)) for cell in cells)

    def _one(self, cell: Cell, otherwise: float) -> float:
        if cell.skipped:
            return _SKIP_SECONDS
        same = self._same.get((cell.instance.hash, cell.contender.label, cell.profile.name))
        return statistics.median(same) if same else otherwise
