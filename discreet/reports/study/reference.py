"""A finished study as one file that can be published: no folders, people or hosts of the machine it ran on."""

from __future__ import annotations

import getpass
import platform
import re
from dataclasses import replace
from pathlib import Path

from discreet.problems.errors import FileError
from discreet.reports.measurements import Measurement, to_record, write_csv
from discreet.reports.study.machine import scrubbed
from discreet.reports.study.store import rows

__all__ = ["write_reference"]

_SHORTEST_NAME = 3  # shorter names of people and hosts stand in ordinary words
_EVERYDAY_NAMES = frozenset({"root", "user", "localhost", "runner", "ubuntu", "admin"})


def write_reference(folder: Path, target: Path) -> int:
    """Write the rows of a study to `.csv` or `.csv.gz`, in an order that does not depend on the order of running.

    Returns how many there are. Raises FileError for another name, for a folder without rows, for a row that still holds a
    path or the name of the user or host, and for a place that cannot be written.
    """
    if not target.name.endswith((".csv", ".csv.gz")):
        raise FileError(f"{str(target)!r} is no file of results by its name; let it end in .csv.gz")
    found = [_clean(row) for row in rows(folder)]
    if not found:
        raise FileError(f"{folder} holds no finished cells yet; run discreet bench on it first")
    found.sort(key=lambda row: (row.family, row.problem, row.budget_word, row.label, row.profile, row.repeat, row.cell))
    names = _own_names()
    for row in found:
        _refuse_traces(row, names)
    try:
        write_csv(found, target)
    except OSError as error:
        raise FileError(f"{str(target)!r} cannot be written: {error.strerror or error}; choose another place") from None
    return len(found)


def _clean(row: Measurement) -> Measurement:
    return replace(
        row,
        problem=scrubbed(row.problem),
        message=scrubbed(row.message),
        traceback=scrubbed(row.traceback),
        claimed=scrubbed(row.claimed),
    )


def _own_names() -> list[str]:
    """Names of this user and host that are worth looking for."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = ""
    return [name for name in (user, platform.node()) if len(name) >= _SHORTEST_NAME and name.lower() not in _EVERYDAY_NAMES]


def _refuse_traces(row: Measurement, names: list[str]) -> None:
    for column, value in to_record(row).items():
        text = str(value)
        path = re.search(r"(?:^|[\s\"'(])(/(?:[\w.-]+/)+[\w.-]*|[A-Za-z]:\\\S+)", text)
        name = next((each for each in names if re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text)), None)
        if path or name:
            what = path.group(1) if path else name
            raise FileError(f"cell {row.cell}: column {column} holds {what!r}, which is private; remove that cell's file")
