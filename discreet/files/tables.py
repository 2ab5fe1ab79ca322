"""Tables of people in files: CSV (also .csv.gz), without further libraries, and Parquet, which
needs DuckDB.

A column of a CSV file contains numbers if every cell that is not empty is written as a number
without leading zeros; otherwise it contains texts. An empty cell is a missing value: None among
texts and NaN among numbers.

A `TableStream` reads some people at a time, and `read_table` puts its parts together. The file is
read twice, because the type of a column is known only after its last cell.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import brief, nearest
from discreet.errors import FileError
from discreet.files.parquet import query
from discreet.storage.texts import open_packed
from discreet.storage.writing import PathLike, shown_path

TABLES = (".csv", ".csv.gz", ".parquet")
"""File name extensions of tables."""

TOGETHER = 1 << 16
"""Number of people in a part of a stream."""

_LONGEST = 1 << 24  # most characters of a line
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]+)?", re.ASCII)


def is_table(path: PathLike) -> bool:
    """Return True if a file is a table according to its extension."""
    return os.fspath(path).lower().endswith(TABLES)


def read_table(path: PathLike) -> dict[str, NDArray[Any]]:
    """Return all columns of a CSV or Parquet file by name. Raises FileError, naming the line, if
    the file is not such a table.
    """
    parts = list(TableStream(path).parts())
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class TableStream:
    """Columns of a CSV or Parquet file, some people at a time. Every part has the type of the whole
    column.

    header   the names of all columns
    people   the number of people; the file is read once to count them at first access
    """

    def __init__(
        self, path: PathLike, names: Collection[str] | None = None, *, texts: Collection[str] = ()
    ) -> None:
        """names: the columns to read if they exist; default: all. texts: columns of CSV that are
        read as texts even if they contain numbers. Raises FileError.
        """
        self.path = path
        self.texts = texts
        shown = shown_path(path)
        if _is_parquet(path):
            self.header = [
                str(each[0]) for each in query(path, "SELECT * FROM rows LIMIT 0").description
            ]
        else:
            self.header = _read_header(csv.reader(_lines(path)), shown)
        self.names = [name for name in self.header if names is None or name in names]
        _places(self.header, self.names, shown)

    @property
    def people(self) -> int:
        """The number of people. Raises FileError, naming the line, if the file is not such a
        table.
        """
        return self._people_and_kinds[0]

    @cached_property
    def _people_and_kinds(self) -> tuple[int, dict[str, str]]:
        """The number of people and, for each column, the result of `_kind`; for Parquet, whether
        cells are missing.
        """
        shown = shown_path(self.path)
        people = 0
        kinds = dict[str, str]()
        if _is_parquet(self.path):
            counts = ", ".join(["count(*)", *(f"count({_quote(name)})" for name in self.names)])
            people, *there = query(self.path, f"SELECT {counts} FROM rows").fetchall()[0]
            kinds = {
                name: "missing" if count < people else ""
                for name, count in zip(self.names, there, strict=True)
            }
        else:
            for part in _cells(_lines(self.path), self.names, shown):
                people += len(next(iter(part.values()), ()))
                for name, cells in part.items():
                    kinds[name] = _common_kind(
                        kinds.get(name), "texts" if name in self.texts else _kind(cells)
                    )
        if not people:
            raise FileError(f"{shown} has no people; give a header and a line for each person")
        return people, kinds

    def parts(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the columns of `TOGETHER` people at a time, of fewer in the last part."""
        people, kinds = self._people_and_kinds
        shown = shown_path(self.path)
        if not _is_parquet(self.path):
            for cells in _cells(_lines(self.path), self.names, shown):
                yield {name: _of_kind(each, kinds[name], shown) for name, each in cells.items()}
            return
        wanted = ", ".join(map(_quote, self.names))
        for first in range(0, people, TOGETHER):
            among = f"file_row_number >= {first} AND file_row_number < {first + TOGETHER}"
            table = query(self.path, f"SELECT {wanted} FROM rows WHERE {among}").fetchnumpy()
            yield {name: _fill_missing(table[name], bool(kinds[name])) for name in self.names}


def _is_parquet(path: PathLike) -> bool:
    return os.fspath(path).lower().endswith(".parquet")


def _lines(path: PathLike) -> Iterator[str]:
    """Yield the lines of a text file, which is unpacked if its name ends in .gz. Raises
    FileError.
    """
    with (
        open_packed(path) as packed,
        io.TextIOWrapper(packed, "utf-8-sig", newline="") as stream,
    ):
        while line := stream.readline(_LONGEST):
            if len(line) == _LONGEST:
                raise FileError(
                    f"{shown_path(path)} has a line of over {_LONGEST:,} characters; give a table"
                )
            yield line


def _read_header(lines: Iterator[list[str]], shown: str) -> list[str]:
    """The names of the columns; FileError if there are none, or one that holds several."""
    header = next(lines, [])
    if not header:
        raise FileError(f"{shown} has no people; give a header and a line for each person")
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and separator in header[0]:
            raise FileError(
                f"{shown} has one column, {brief(header[0])}, which looks like several separated "
                f"by {name}; write it with commas"
            )
    return header


def _kind(cells: list[str]) -> str:
    """Return the type of these cells of a column: "texts", "numbers", "whole numbers", or "" if all
    of them are empty. Cells are whole numbers if none is empty and doubles represent them exactly.
    """
    filled = [cell for cell in cells if cell]
    if not filled:
        return ""
    if not all(any(map(str.isdigit, cell)) and _NUMBER.fullmatch(cell) for cell in filled):
        return "texts"
    fractions = any("." in cell or "e" in cell or "E" in cell for cell in filled)
    if fractions or len(filled) < len(cells) or max(map(abs, map(float, filled))) >= 2.0**53:
        return "numbers"
    return "whole numbers"


def _common_kind(one: str | None, other: str) -> str:
    """Return the type of a column from the types of two parts: whole numbers with missing values
    are numbers.
    """
    if one is None or one == other:
        return other
    return "texts" if "texts" in (one, other) else "numbers"


def _of_kind(cells: list[str], kind: str, shown: str) -> NDArray[Any]:
    if kind in ("texts", ""):
        return _texts(cells)
    try:
        numbers = np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        raise FileError(
            f"{shown} was changed while it was read; give a file that stays as it is"
        ) from None
    return numbers.astype(np.int64) if kind == "whole numbers" else numbers


def _cells(text: Iterable[str], names: Sequence[str], shown: str) -> Iterator[dict[str, list[str]]]:
    """Yield the cells of these columns, of at most `TOGETHER` people at a time; nothing for a table
    without people.
    """
    lines = csv.reader(text, strict=True)
    try:
        header = _read_header(lines, shown)
        places = _places(header, names, shown)
        columns: dict[str, list[str]] = {name: [] for name in places}
        pairs = [(columns[name], place) for name, place in places.items()]
        people = 0
        for row in lines:
            if len(row) != len(header):
                if not row:
                    continue  # an empty line
                where = f"{shown}, line {lines.line_num}"
                raise FileError(
                    f"{where} has {len(row)} cells and the header {len(header)}; give "
                    "one for each column"
                )
            for column, place in pairs:
                column.append(row[place])
            people += 1
            if people % TOGETHER == 0:
                yield columns
                columns = {name: [] for name in places}
                pairs = [(columns[name], place) for name, place in places.items()]
        if places and any(columns.values()):
            yield columns
    except csv.Error as error:
        raise FileError(
            f"{shown}, line {lines.line_num} is not CSV: {error}; write it with commas and a header"
        ) from None


def _texts(cells: list[str]) -> NDArray[Any]:
    texts = np.empty(len(cells), dtype=object)
    texts[:] = [cell or None for cell in cells]
    return texts


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _fill_missing(values: Any, missing: bool) -> NDArray[Any]:
    """Return a column with masked entries replaced by NaN, NaT or None.

    missing: True if any entry of the column is missing, possibly in another part.
    """
    lost = {"f": np.nan, "m": np.timedelta64("NaT", "ns"), "M": np.datetime64("NaT", "ns")}.get(
        values.dtype.kind
    )
    if not missing:
        return np.asarray(values)
    column = np.array(np.ma.getdata(values), dtype=object if lost is None else values.dtype)
    column[np.ma.getmaskarray(values)] = lost
    return column


def _places(header: Sequence[str], names: Sequence[str], shown: str) -> dict[str, int]:
    """Return the positions of the columns with these names; each name must occur once."""
    positions = {}
    for name in names:
        if header.count(name) > 1:
            raise FileError(
                f"{shown} has {header.count(name)} columns {brief(name)}; give each a "
                "name of its own"
            )
        if name not in header:
            known = ", ".join(header[:20]) + (", …" if len(header) > 20 else "")
            raise FileError(
                f"{shown} has no column {brief(name)}{nearest(name, header)}; it has "
                f"{known or 'none'}"
            )
        positions[name] = header.index(name)
    return positions
