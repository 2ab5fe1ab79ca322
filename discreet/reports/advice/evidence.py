"""Measured rows as evidence: one `Cell` for what an option did on an instance, whatever the number of repeats.

An *option* is what one can really choose: a backend, its settings, and the gap to ask it for. A cell succeeds at a gap if
every repeat kept the budget and was certified to that gap or a tighter one. Asking for a tighter gap than needed is an
option like any other: some solvers break the budget at loose tolerances and keep it at tight ones.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.backends.solution import Status
from discreet.reports.advice.features import Features
from discreet.reports.measurements import Measurement

__all__ = ["Cell", "Option", "cells_of", "joined"]

_SAYS_NOTHING = (Status.ABSENT, Status.UNSUPPORTED)  # of what the backend would do here


@dataclass(frozen=True)
class Option:
    """A backend with settings (as JSON text, so that options can be compared), asked for a relative gap."""

    backend: str
    settings_json: str
    gap: float

    @property
    def settings(self) -> dict[str, Any]:
        """The settings by name."""
        found: dict[str, Any] = json.loads(self.settings_json)
        return found

    @property
    def label(self) -> str:
        """Backend and settings as typed on the command line: conic, or conic:solver=scs."""
        pairs = ",".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.backend}:{pairs}" if pairs else self.backend


@dataclass(frozen=True, eq=False)
class Cell:
    """What an option did on an instance.

    instance   problem and budget as typed; `identity` is the hash of its arrays and budget
    group      what is held out together in a test of the advice: the catalog entry, or the file
    seconds    median over the repeats; `samples` holds them all
    gap        the widest certified relative gap of the repeats; inf where one had no answer or broke the budget
    outcome    what the worst repeat came to, for people
    local      measured by the user, not shipped with the package
    """

    option: Option
    instance: str
    identity: str
    group: str
    features: Features
    seconds: float
    samples: tuple[float, ...]
    gap: float
    outcome: str
    local: bool = False

    @property
    def timed(self) -> bool:
        """Whether its seconds are those of work done to an end, not of a limit or a crash."""
        return self.outcome in (Status.CERTIFIED.value, Status.INACCURATE.value, Status.VIOLATED_PRIVACY.value)

    @property
    def out_of_time(self) -> bool:
        """Whether it was stopped at its time limit."""
        return self.outcome == Status.TIMED_OUT.value

    def succeeds(self, gap: float) -> bool:
        """Whether the budget was kept and the gap proven."""
        return self.gap <= gap


def cells_of(rows: Iterable[Measurement], *, local: bool = False) -> list[Cell]:
    """Rows gathered by option and instance. Rows of `auto` and of backends that were absent or refused are left out."""
    found: dict[tuple[Option, str], list[Measurement]] = defaultdict(list)
    for row in rows:
        if row.backend != "auto" and row.status not in _SAYS_NOTHING:
            found[_option_of(row), row.problem_hash].append(row)
    return [_cell(option, repeats, local) for (option, _), repeats in found.items()]


def joined(shipped: Iterable[Cell], local: Iterable[Cell], factor: float) -> list[Cell]:
    """Shipped cells, their times multiplied by how much slower this machine is, replaced by local ones of the same cell."""
    own = list(local)
    measured = {(cell.option, cell.identity) for cell in own}
    scaled = [
        replace(cell, seconds=cell.seconds * factor) for cell in shipped if (cell.option, cell.identity) not in measured
    ]
    return scaled + own


def _option_of(row: Measurement) -> Option:
    profile: Mapping[str, Any] = row.profile_settings
    return Option(row.backend, json.dumps({**profile, **row.settings}, sort_keys=True), row.gap_target)


def _cell(option: Option, rows: list[Measurement], local: bool) -> Cell:
    first = rows[0]
    worst = max(rows, key=lambda row: (row.violated, not row.answered, row.relative_gap))
    samples = tuple(each for row in rows for each in (row.samples[1:] or row.samples or (row.seconds,)))
    return Cell(
        option=option,
        instance=first.instance,
        identity=first.problem_hash,
        group=first.problem_hash if first.entry == "file" else first.entry,
        features=Features.of_measurement(first),
        seconds=statistics.median(row.seconds for row in rows),
        samples=samples,
        gap=max(row.relative_gap if row.answered and not row.violated else float("inf") for row in rows),
        outcome=worst.status.value,
        local=local,
    )
