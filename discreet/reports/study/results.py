"""Measured results from wherever they lie, as one list."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from discreet.problems.errors import FileError
from discreet.reports.measurements import Measurement, read_csv
from discreet.reports.study.store import read_parquet, rows

__all__ = ["read_results"]


def read_results(paths: Iterable[str | Path]) -> list[Measurement]:
    """The rows of study folders, `.parquet`, `.csv` and `.csv.gz` files, in the order given, every measurement once.

    Raises FileError, naming the file and what to do, for anything that cannot be read, and for Parquet without duckdb.
    """
    found: dict[tuple[str, str], Measurement] = {}
    for place in paths:
        for row in _read(Path(place)):
            found.setdefault((row.cell, row.started), row)
    return list(found.values())


def _read(path: Path) -> list[Measurement]:
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:
        raise FileError(f"{str(path)!r} cannot be read: {error}") from None
    if is_folder:
        return rows(path)
    if not exists:
        raise FileError(f"there are no results at {str(path)!r}; give a folder or file that discreet bench wrote")
    if path.suffix == ".parquet":
        return read_parquet(path)
    if path.suffix == ".csv" or path.name.endswith(".csv.gz"):
        return read_csv(path)
    raise FileError(f"{str(path)!r} is no file of results by its name; give a folder, .parquet, .csv or .csv.gz")
