"""Writing a snapshot: all of its files, or none where one would go over somebody else's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.problems.errors import InputError
from discreet.reports.asv_results import AsvRecord
from discreet.reports.measurements import Measurement
from discreet.reports.outputs import check_folder, write_folder
from discreet.reports.published.contents import contents

__all__ = ["NAMES", "publish"]

NAMES = (
    "README.md", "leakage.svg", "time.svg", "performance.svg", "data.svg", "precision.svg", "commits.svg", "results.csv",
    "commits.csv",
)  # fmt: skip
"""Every file a snapshot may hold."""


def publish(rows: Sequence[Measurement], folder: str | Path, commits: Sequence[AsvRecord] = ()) -> tuple[Path, ...]:
    """Write the snapshot of these rows, and of asv's results over commits, into a folder, made if need be; the paths.

    Raises InputError without rows; FileError, changing nothing, when a name is taken by a file that was not made here or has
    been changed since, or when the folder cannot be written.
    """
    if not rows:
        raise InputError("there are no measurements to publish; give the results of a discreet bench that has run")
    check_folder(folder, NAMES)
    return write_folder(folder, contents(rows, commits), {"kind": "snapshot", "rows": len(rows)})
