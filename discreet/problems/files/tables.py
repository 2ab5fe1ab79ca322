"""Tables of people in files: CSV (also .csv.gz), which needs nothing, and Parquet, which needs DuckDB.

A column of a CSV file is one of numbers if every cell that is not empty is written as a number, without leading zeros, and
else one of texts. An empty cell is a missing value, None among texts and NaN among numbers.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.problems.checks import brief, nearest
from discreet.problems.errors import FileError
from discreet.problems.files.texts import check_ordinary, read_text
from discreet.problems.files.writing import PathLike, shown_path

TABLES = (".csv", ".csv.gz", ".parquet")
"""How names of tables end."""

_LARGEST = 1 << 31  # bytes of a file, after unpacking
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]+)?", re.ASCII)


def is_table(path: PathLike) -> bool:
    """Whether a file is meant as a table, by the end of its name."""
    return os.fspath(path).lower().endswith(TABLES)


def read_table(
    path: PathLike, names: Sequence[str] | None = None, *, texts: Collection[str] = ()
) -> dict[str, NDArray[Any]]:
    """Columns of a CSV or Parquet file by name; all of them, or those named. texts: columns of CSV that are no numbers.

    Raises FileError, naming the line, for what is no such table, and for a column that it lacks.
    """
    return _read_parquet(path, names) if os.fspath(path).lower().endswith(".parquet") else _read_csv(path, names, texts)


def _read_csv(path: PathLike, names: Sequence[str] | None, texts: Collection[str]) -> dict[str, NDArray[Any]]:
    shown = shown_path(path)
    lines = csv.reader(io.StringIO(read_text(path, _LARGEST).removeprefix("\ufeff"), newline=""), strict=True)
    try:
        header = next(lines, [])
        places = _places(header, header if names is None else names, shown)
        columns: list[list[str]] = [[] for _ in places]
        for row in lines:
            if len(row) != len(header):
                if not row:
                    continue  # an empty line
                where = f"{shown}, line {lines.line_num}"
                raise FileError(f"{where} has {len(row)} cells and the header {len(header)}; give one for each column")
            for column, place in zip(columns, places.values(), strict=True):
                column.append(row[place])
    except csv.Error as error:
        raise FileError(f"{shown}, line {lines.line_num} is not CSV: {error}; write it with commas and a header") from None
    if not places or not columns[0]:
        raise FileError(f"{shown} has no people; give a header and a line for each person")
    return {name: _texts(cells) if name in texts else _parsed(cells) for name, cells in zip(places, columns, strict=True)}


def _parsed(cells: list[str]) -> NDArray[Any]:
    """Numbers if all cells but the empty ones are, whole ones if nothing is missing; else texts."""
    if any(cells) and all(any(map(str.isdigit, cell)) and _NUMBER.fullmatch(cell) for cell in cells if cell):
        numbers = np.array([float(cell) if cell else np.nan for cell in cells])
        whole = not any("." in cell or "e" in cell or "E" in cell for cell in cells)
        return numbers.astype(np.int64) if whole and (np.abs(numbers) < 2.0**53).all() else numbers
    return _texts(cells)


def _texts(cells: list[str]) -> NDArray[Any]:
    texts = np.empty(len(cells), dtype=object)
    texts[:] = [cell or None for cell in cells]
    return texts


def _read_parquet(path: PathLike, names: Sequence[str] | None) -> dict[str, NDArray[Any]]:
    shown = shown_path(path)
    check_ordinary(path)
    try:
        import duckdb
    except ImportError:
        raise FileError(f"{shown} needs DuckDB to be read; pip install 'discreet[bench]', or give CSV") from None
    with duckdb.connect() as engine:
        try:
            rows = engine.execute("SELECT * FROM read_parquet(?)", [os.fspath(path)])
            found = rows.fetchnumpy()
        except duckdb.Error as error:
            reason = str(error).partition("\n")[0]
            raise FileError(f"{shown} is not Parquet ({reason}); write it again, or give CSV") from None
    header = list(found)
    places = _places(header, header if names is None else names, shown)
    if not places or not len(found[header[0]]):
        raise FileError(f"{shown} has no people; give a row for each person")
    return {name: _filled(found[name]) for name in places}


def _filled(values: Any) -> NDArray[Any]:
    """A column whose missing entries are masked, as one in which they are NaN, NaT or None."""
    if not np.ma.isMaskedArray(values):
        return np.asarray(values)
    lost = {"f": np.nan, "m": np.timedelta64("NaT"), "M": np.datetime64("NaT")}.get(values.dtype.kind)
    found = np.array(values.data, dtype=object if lost is None else values.dtype)
    found[np.ma.getmaskarray(values)] = lost
    return found


def _places(header: Sequence[str], names: Sequence[str], shown: str) -> dict[str, int]:
    """Where the columns of these names are, each once."""
    found = {}
    for name in names:
        if header.count(name) > 1:
            raise FileError(f"{shown} has {header.count(name)} columns {brief(name)}; give each a name of its own")
        if name not in header:
            known = ", ".join(header[:20]) + (", …" if len(header) > 20 else "")
            raise FileError(f"{shown} has no column {brief(name)}{nearest(name, header)}; it has {known or 'none'}")
        found[name] = header.index(name)
    return found
