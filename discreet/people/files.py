"""Tables of people in CSV files: some columns of them, as texts; an empty cell is a missing value."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.problems.checks import brief, nearest
from discreet.problems.errors import FileError
from discreet.problems.files.texts import read_text
from discreet.problems.files.writing import PathLike, shown_path

_LARGEST = 1 << 31  # bytes of a file, after unpacking


def read_columns(path: PathLike, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Columns of a CSV file (or .csv.gz) with a header, by name: arrays of texts, None where a cell is empty.

    Raises FileError, naming the line, for what is no such table, and for a column that it lacks.
    """
    shown = shown_path(path)
    lines = csv.reader(io.StringIO(read_text(path, _LARGEST).removeprefix("\ufeff"), newline=""), strict=True)
    try:
        header = next(lines, [])
        places = [_place(header, name, shown) for name in names]
        rows = []
        for row in lines:
            if len(row) != len(header):
                if not row:
                    continue  # an empty line
                where = f"{shown}, line {lines.line_num}"
                raise FileError(f"{where} has {len(row)} cells and the header {len(header)}; give one for each column")
            rows.append([row[place] or None for place in places])
    except csv.Error as error:
        raise FileError(f"{shown}, line {lines.line_num} is not CSV: {error}; write it with commas and a header") from None
    if not rows:
        raise FileError(f"{shown} has no people; give a header and a line for each person")
    found = np.empty((len(rows), len(names)), dtype=object)
    found[:] = rows
    return {name: found[:, k] for k, name in enumerate(names)}


def _place(header: list[str], name: str, shown: str) -> int:
    if header.count(name) == 1:
        return header.index(name)
    if name in header:
        raise FileError(f"{shown} has {header.count(name)} columns {brief(name)}; give each a name of its own")
    known = ", ".join(header[:20]) + (", …" if len(header) > 20 else "")
    raise FileError(f"{shown} has no column {brief(name)}{nearest(name, header)}; it has {known or 'none'}")
