"""Values as data: what JSON can hold, and tables as comma-separated text."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

# How a text begins that a spreadsheet runs, behind any apostrophes.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def plain(value: Any) -> Any:
    """The value as JSON can hold it: words for members of an enumeration, None for numbers that are
    not finite, lists for tuples, mappings of their fields for records, all the way down."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case Enum():
            return value.value
        case Mapping():
            return {name: plain(each) for name, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case _ if is_dataclass(value):
            return chosen(value, (each.name for each in fields(value)))
        case _:
            return value


def chosen(record: Any, names: Iterable[str]) -> dict[str, Any]:
    """These attributes of a record by name, as `plain` gives them."""
    return {name: plain(getattr(record, name)) for name in names}


def csv_text(columns: Iterable[str] | None, lines: Iterable[Iterable[Any]]) -> str:
    """A table as comma-separated text; None is an empty cell. No spreadsheet takes a cell for a
    formula: see `unguarded`.

    columns: their names, for a header; None for lines only.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    if columns is not None:
        writer.writerow(columns)
    for line in lines:
        writer.writerow(
            f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell for cell in line
        )
    return text.getvalue()


def remove_guard(cell: str) -> str:
    """The text of a cell: without the apostrophe before what a spreadsheet would run."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def records_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Records with the same keys as comma-separated text, a column for each key, values as `plain`
    gives them.
    """
    return csv_text(records[0], (plain(record).values() for record in records))
