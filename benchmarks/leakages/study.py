"""The cells of the study `measures`, each in a process of its own, and their rows for the page and
for advice.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from discreet.reports.measurements import Measurement
from discreet.reports.study.cells import cells_of
from discreet.reports.study.plan import read_study
from discreet.reports.study.runner import measure
from discreet.reports.study.store import Store, rows, write_reference

__all__ = ["measured"]

_REPEAT_SECONDS = 0.2  # a short attempt is repeated within that time


def measured(reference: Path | None, quick: bool, tell: Callable[[str], None]) -> list[Measurement]:
    """The rows of all cells; written to a reference file if one is named. quick: every twentieth
    cell.
    """
    cells = cells_of(read_study("measures")).cells[:: 20 if quick else 1]
    with tempfile.TemporaryDirectory() as folder:
        with Store(Path(folder)) as store:
            for number, cell in enumerate(cells):
                tell(f"{number} of {len(cells)} cells; {cell.title}")
                store.add(measure(cell, repeat_seconds=_REPEAT_SECONDS))
        if reference is not None:
            write_reference(Path(folder), reference)
        return rows(folder)
