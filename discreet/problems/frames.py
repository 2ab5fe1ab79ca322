"""Tables of people in memory: their columns, missing values and labels, and checks of labels.

A table is anything with named columns: a mapping from names to columns, a data frame of pandas or
polars, a table of Arrow, a structured array. None of these libraries is imported. A value is
missing if it is None, NaN, NaT or NA.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import as_list, brief, nearest
from discreet.errors import InputError
from discreet.lazy import cached_property
from discreet.numerics.double_double import Array

Codes = NDArray[np.intp]

UNKNOWN = -2
"""Code of a value that is not among the labels."""

MOST_NUMBERS = 32
"""A column with more distinct numbers counts as a measurement, not as labels."""

MOST_LABELS = 1000
"""A column with more distinct values of any other kind counts as names or texts, not as labels."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, eq=False)
class Values:
    """One column of a table, with an entry for each person.

    name      name of the column
    raw       the entries [people], as an array of one dimension
    ordered   its labels in the order stated by the table, for example of an ordered categorical; or
              None
    """

    name: str
    raw: NDArray[Any]
    ordered: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return len(self.raw)

    @cached_property
    def _numeric(self) -> bool:
        """True if the entries are an array of numbers or times; entries of other types are examined
        once for each distinct value.
        """
        return self.raw.dtype.kind in "iufcmM"

    @cached_property
    def distinct(self) -> tuple[list[Any], Codes]:
        """The distinct entries, and the index of each person's entry among them [people]."""
        if self.raw.dtype.kind != "O":
            labels, index = np.unique(self.raw, return_inverse=True)
            return labels.tolist(), index.reshape(-1)
        place: dict[Any, int] = {}
        try:
            index = np.array(
                [place.setdefault(value, len(place)) for value in self.raw.tolist()], dtype=np.intp
            )
        except TypeError as error:
            raise InputError(
                f"column {brief(self.name)} has a label that cannot be compared for equality "
                f"({error}); give hashable labels"
            ) from None
        return list(place), index

    def _per_person(self, about: Sequence[Any], dtype: Any) -> NDArray[Any]:
        """Return, for each person, the property of their distinct entry."""
        return np.array(about, dtype=dtype)[self.distinct[1]]

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """A mask of the missing entries [people]."""
        if self._numeric:
            return np.asarray(self.raw != self.raw)
        return self._per_person([is_missing(value) for value in self.distinct[0]], bool)

    @cached_property
    def _present(self) -> list[Any]:
        """The distinct entries that are not missing."""
        return [value for value in self.distinct[0] if not is_missing(value)]

    @cached_property
    def numbers(self) -> Array | None:
        """The entries as float64 [people], NaN if missing; None if some entries are not numbers, or
        are truth values.
        """
        if self.raw.dtype.kind in "iuf":
            return self.raw.astype(np.float64)
        if self.raw.dtype.kind != "O" or not self._present:
            return None
        kinds = int | float | np.integer | np.floating | decimal.Decimal
        if not all(
            isinstance(value, kinds) and not isinstance(value, bool) for value in self._present
        ):
            return None
        try:
            return self._per_person(
                [np.nan if is_missing(value) else float(value) for value in self.distinct[0]],
                np.float64,
            )
        except OverflowError:
            raise InputError(
                f"column {brief(self.name)} has a number beyond those of doubles; scale it"
            ) from None

    @property
    def measured(self) -> str:
        """The reason, as words of a sentence, why the column is a measurement and not labels; empty
        if there is none.
        """
        if self.numbers is None:
            return ""
        known = self.numbers[~self.missing]
        if not np.isfinite(known).all():
            return "an infinite value"
        fraction = known[known != np.floor(known)]
        if fraction.size:
            return f"numbers with fractions, such as {fraction[0]:g}"
        distinct = np.unique(known).size
        return f"{distinct:,} different numbers" if distinct > MOST_NUMBERS else ""

    def kept(self, people: NDArray[np.bool_] | Codes) -> Values:
        """Return the column for some of the people."""
        return Values(self.name, self.raw[people], self.ordered)

    @property
    def holds_texts(self) -> bool:
        """True if some entries are texts."""
        return not self._numeric and any(isinstance(value, str) for value in self._present)

    def as_texts(self) -> Values:
        """Return the column with numbers written as texts, as in a file in which no code has a
        leading zero.
        """
        if self.numbers is None:
            return self
        numbers, index = np.unique(self.numbers, return_inverse=True)
        texts = np.array(
            [
                *(None if value is None else str(value) for value in map(plain, numbers.tolist())),
                None,
            ],
            dtype=object,
        )
        return Values(self.name, texts[index.reshape(-1)], self.ordered)

    def refuse_times(self) -> None:
        """Raise InputError for dates, times and durations, which the user must convert to classes
        or numbers.
        """
        some = self.raw.dtype.kind in "mM"
        texts = False
        if self.raw.dtype.kind in "OSU":
            times = (
                datetime.date,
                datetime.time,
                datetime.timedelta,
                np.datetime64,
                np.timedelta64,
            )
            some = any(
                isinstance(value, times) or type(value).__name__ == "Period"
                for value in self._present
            )
            texts = bool(self._present) and all(
                isinstance(v, str) and _DATE.match(v) for v in self._present
            )
        if some or texts:
            raise InputError(
                f"column {brief(self.name)} holds dates or times; replace it by what matters "
                "about them, such as the month "
                "as text or an age as a number, or leave it out with use="
            )

    def labels(self) -> tuple[Any, ...]:
        """Return the distinct values that are not missing, in the stated order or sorted; values
        that cannot be compared are sorted by type and text.

        Values are plain Python objects; whole numbers are integers. Raises InputError for values
        that cannot be labels.
        """
        if self.numbers is not None:
            labels = [plain(value) for value in np.unique(self.numbers[~self.missing]).tolist()]
        else:
            labels = list(dict.fromkeys(map(plain, self._present)))
        if self.ordered is not None:
            place = {plain(label): k for k, label in enumerate(self.ordered)}
            return tuple(sorted(labels, key=lambda label: place[label]))
        return tuple(sorted_labels(labels))

    def codes(self, labels: Sequence[Any]) -> Codes:
        """Return the index of each entry among the labels [people]; a missing entry has the index
        of None; `UNKNOWN` for other values.
        """
        place = {label: k for k, label in enumerate(labels)}
        absent = place.get(None, UNKNOWN)
        if self.numbers is None:
            entries, index = self.distinct
        else:
            numbers, index = np.unique(self.numbers, return_inverse=True)
            entries = numbers.tolist()
        codes = [
            absent if is_missing(entry) else place.get(plain(entry), UNKNOWN) for entry in entries
        ]
        return np.array(codes, dtype=np.intp)[index.reshape(-1)]


def sorted_labels(values: Iterable[Any]) -> list[Any]:
    """Return sorted values; values that cannot be compared are sorted by type and text."""
    labels = list(values)
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, repr(label)))


def plain(value: Any) -> Any:
    """Return a label in the form stored in files: a truth value, a number, a text, None, or a tuple
    of these; anything else becomes text.
    """
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case tuple():
            return tuple(map(plain, value))
        case float() if value.is_integer():
            return int(value)
        case float():
            return None if math.isnan(value) else value
        case int() if value.bit_length() > 1024:
            return brief(value)
        case bool() | int() | str():
            return value
        case decimal.Decimal():
            return plain(float(value))
    return None if is_missing(value) else str(value)


def is_missing(value: Any) -> bool:
    """Return True if a value is None, NaN, NaT or NA."""
    # pandas.NA has no truth value, so it is recognised by the name of its type.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating | np.datetime64 | np.timedelta64) and bool(
        value != value
    )


def names_of(table: Any) -> list[str]:
    """Return the names of the columns of a table, as texts; InputError for anything but a table,
    and for repeated names.
    """
    return list(_places(table))


def columns_of(table: Any, names: Sequence[str]) -> dict[str, Values]:
    """Return the columns with these names; InputError for anything but a table, and for a missing
    column.
    """
    place = _places(table)
    columns = dict[str, Values]()
    for name in names:
        if name not in place:
            some = ", ".join(list(place)[:20]) + (", …" if len(place) > 20 else "")
            raise InputError(
                f"the table has no column {brief(name)}{nearest(name, place)}; it "
                f"has {some or 'none'}"
            )
        columns[name] = _values(name, table[place[name]])
    first = next(iter(columns.values()))
    for each in columns.values():
        if len(each) != len(first):
            raise InputError(
                f"column {brief(each.name)} has {len(each)} entries and {brief(first.name)} "
                f"{len(first)}; "
                "give one for each person"
            )
    return columns


def _places(table: Any) -> dict[str, Any]:
    """Return the name of each column as text → its key in the table."""
    known = list(table) if isinstance(table, Mapping) else _names(table)
    texts = list(map(title, known))
    twice = next((text for text in texts if texts.count(text) > 1), None)
    if twice is not None:
        raise InputError(
            f"the table has {texts.count(twice)} columns {brief(twice)}; give each a "
            "name of its own"
        )
    return dict(zip(texts, known, strict=True))


def title(name: Any) -> str:
    """Return the name of a column as text; InputError for values that cannot be names."""
    match name:
        case str() | float() | tuple() | np.generic():
            return str(name)
        case int() if abs(name) < 2**63:
            return str(name)
    raise InputError(f"{brief(name)} is not the name of a column; give a text")


def _names(table: Any) -> list[Any]:
    for where in ("column_names", "columns"):
        names = getattr(table, where, None)
        if names is not None and hasattr(table, "__getitem__"):
            return list(names)
    if (fields := getattr(getattr(table, "dtype", None), "names", None)) is not None:
        return list(fields)
    raise InputError(
        f"{brief(table)} is not a table; give a data frame, or a mapping from names of columns to "
        "one entry for each person"
    )


def _values(name: str, column: Any) -> Values:
    kind: Any = getattr(column, "dtype", None)
    ordered = tuple(kind.categories) if getattr(kind, "ordered", False) is True else None
    if np.ma.is_masked(column):
        raise InputError(
            f"column {brief(name)} has masked entries; fill them with NaN, and they "
            "count as missing"
        )
    if hasattr(column, "dtype") or hasattr(column, "__array__"):
        array = np.asarray(column)
        if array.ndim != 1:
            raise InputError(
                f"column {brief(name)} has shape {list(array.shape)}; give one entry "
                "for each person"
            )
        if array.dtype.kind not in "biufOSUmM":
            raise InputError(
                f"column {brief(name)} is of type {array.dtype}; give numbers or labels"
            )
        return Values(name, array, ordered)
    if isinstance(column, str | bytes):
        raise InputError(f"column {brief(name)} is {brief(column)}; give one entry for each person")
    try:
        items = list(column)
    except TypeError:
        raise InputError(
            f"column {brief(name)} is {brief(column)}; give one entry for each person"
        ) from None
    array = np.empty(len(items), dtype=object)
    for k, item in enumerate(items):
        array[k] = item
    return Values(name, array, ordered)


def label_column(values: Values, what: str) -> Values:
    """Return the column, which must contain labels, not measurements or dates; otherwise InputError
    with advice.
    """
    values.refuse_times()
    if values.measured:
        raise InputError(
            f"column {brief(values.name)} has {values.measured}, so it is a measurement and "
            f"cannot be {what}; cut it into a "
            "few ranges (pandas.cut, numpy.digitize), or write its values as text if they are "
            "labels"
        )
    return values


def refuse_many(labels: Sequence[Any], name: str) -> None:
    """Raise InputError if there are more labels than anything except names or free text has."""
    if len(labels) > MOST_LABELS:
        raise InputError(
            f"column {brief(name)} has {len(labels):,} different values, as names and identifiers "
            "do; leave it out, or "
            f"merge its values to at most {MOST_LABELS:,}"
        )


def one_or_several(names: Any, what: str) -> tuple[str, ...]:
    """Return the names of columns, given as one name or as several; InputError for anything
    else.
    """
    columns = (
        [names]
        if isinstance(names, str)
        else as_list(names, what, ("the name of a column, or a list of them"))
    )
    texts = tuple(map(title, columns))
    if len(set(texts)) < len(texts):
        raise InputError(f"{what} names a column twice: {brief(list(texts))}; give each once")
    return texts


def row_texts(columns: Sequence[Values]) -> list[str]:
    """Return the entries of each person as one text, equal for equal entries, for any type of
    table.
    """
    parts = []
    for column in columns:
        entries: list[Any] = (
            column.raw.tolist() if column.numbers is None else column.numbers.tolist()
        )
        parts.append(
            [
                None if gone else plain(entry)
                for entry, gone in zip(entries, column.missing.tolist(), strict=True)
            ]
        )
    return [repr(row) for row in zip(*parts, strict=True)]


def digest_of(columns: Iterable[Values]) -> str:
    """Return the SHA-256 of names and entries, independent of the type of table: numbers as
    doubles, labels by their texts.
    """
    digest = hashlib.sha256()
    for column in columns:
        if column.numbers is not None:
            kind = "numbers"
            data = np.where(column.missing, np.nan, column.numbers + 0.0).astype("<f8").tobytes()
        else:
            labels = column.labels()
            kind = json.dumps([repr(label) for label in labels])
            data = column.codes(labels).astype("<i8").tobytes()
        digest.update(f"{json.dumps([column.name, len(column), kind])}\n".encode())
        digest.update(data)
    return f"sha256:{digest.hexdigest()}"
