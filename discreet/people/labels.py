"""Labels of people: columns of any kind become codes and sorted labels; a missing value is a label
of its own, None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.checks import brief
from discreet.errors import InputError
from discreet.people.tables import in_columns
from discreet.problems.frames import (
    MOST_LABELS,
    Codes,
    Values,
    digest_of,
    plain,
    sorted_labels,
)

TOGETHER = ""
"""The name of all sensitive columns together, which one budget without a name is about."""

RARE = "other groups"
"""The label of all rare groups together."""

T = TypeVar("T")


def by_name(given: T | Mapping[Any, T]) -> Mapping[Any, T]:
    """What is given by the name of a sensitive column; without names it is about all together."""
    return given if isinstance(given, Mapping) else {TOGETHER: given}


def unnamed(each: Mapping[Any, T]) -> T | Mapping[Any, T]:
    """The inverse of `by_name`."""
    return each.get(TOGETHER, each)


def about(name: Any) -> str:
    """Words that name the sensitive column that a budget is about; none for all together."""
    return "" if name == TOGETHER else f" about {name}"


def objects(labels: Iterable[Any]) -> NDArray[Any]:
    """Labels as an array of one dimension: a tuple stays one label."""
    return np.array([*labels, None], dtype=object)[:-1]


def column(values: Any, what: str) -> NDArray[Any]:
    """One label for each person, as an array of one dimension; InputError for anything else."""
    if values is None:
        raise InputError(f"{what} is missing; give one entry for each person")
    if isinstance(values, str | bytes):
        raise InputError(f"{what} is {brief(values)}; give one entry for each person")
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    array = np.asarray(values) if isinstance(values, np.ndarray) else _as_list(values, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{what} has shape {list(array.shape)}; give one entry for each person")
    return array


def _as_list(values: Any, what: str) -> NDArray[Any]:
    try:
        return objects(values)
    except TypeError:
        raise InputError(f"{what} is {brief(values)}; give one entry for each person") from None


def groups(values: Any, what: str = "sensitive_features") -> NDArray[Any]:
    """The group of each person: a value or, of several columns (see `columns_of`), a tuple of
    values.
    """
    if values is None:
        raise InputError(f"{what} is missing; give the group of each person")
    parts = [part for _, part in columns_of(values, what)]
    if not parts:
        return column(values, what)
    if len(parts) == 1:
        return parts[0]
    if len({len(part) for part in parts}) > 1:
        raise InputError(
            f"the columns of {what} have {[len(part) for part in parts]} entries; give one for "
            "each person in all"
        )
    return objects(zip(*(map(plain, part.tolist()) for part in parts), strict=True))


def columns_of(values: Any, what: str = "sensitive_features") -> list[tuple[Any, NDArray[Any]]]:
    """Name and values of each column of a data frame, a mapping, or an array [people, k], where
    numbers are the names.

    None of a single column.
    """
    values = in_columns(values)
    if isinstance(values, Mapping) or (hasattr(values, "items") and hasattr(values, "columns")):
        columns = [(name, column(part, f"{what} {name!r}")) for name, part in values.items()]
    elif getattr(values, "ndim", 1) == 2:
        columns = list(enumerate(np.asarray(values).T))
    else:
        return []
    return columns


def people_digest(*parts: Any) -> str:
    """SHA-256 of tables, arrays [people, columns] and single columns side by side, whatever kind
    they are of.
    """
    columns = [
        each
        for part in parts
        for each in columns_of(part, "the table") or [("", column(part, "the column"))]
    ]
    return digest_of(Values(str(name), cells) for name, cells in columns)


def encode_labels(
    values: NDArray[Any], what: str, known: Sequence[Any] = ()
) -> tuple[tuple[Any, ...], Codes]:
    """Labels and the code of each person's: first the known ones, then the others, sorted.

    Labels are as `plain` makes them; a missing value is None. A label that is not known, but is
    written like a known one, is that one: a column of the numbers 0 and 1 in one file is one of
    texts in another that has a text in it. Raises InputError for values that are not labels.
    """
    entries, index = Values(what, values).distinct
    known = tuple(map(plain, known))
    same = {_written(label): label for label in known} | {label: label for label in known}
    seen = [same.get(label, same.get(_written(label), label)) for label in map(plain, entries)]
    if len(set(seen)) > MOST_LABELS:
        raise InputError(
            f"{what} has {len(set(seen)):,} different values, as a measurement has; cut it into "
            "ranges, and give those"
        )
    labels = merge_labels(known, seen)
    place = {label: code for code, label in enumerate(labels)}
    return labels, np.array([place[label] for label in seen], dtype=np.intp)[index]


def _written(label: Any) -> Any:
    """Return a label as a file of texts holds it; None for a missing value."""
    if isinstance(label, tuple):
        return tuple(map(_written, label))
    return None if label is None else str(label)


def encode_groups(
    values: NDArray[Any], what: str, known: Sequence[Any] = ()
) -> tuple[tuple[Any, ...], Codes]:
    """The same of groups: one that is not known belongs to `RARE`, if that is known."""
    labels, codes = encode_labels(values, what, known)
    if RARE not in known:
        return labels, codes
    return tuple(known), np.where(codes < len(known), codes, labels.index(RARE))


def known_codes(values: NDArray[Any], what: str, known: Sequence[Any]) -> Codes:
    """The places of groups or other values among the known ones; −1 for others."""
    codes = encode_groups(values, what, known)[1]
    return np.where(codes < len(known), codes, -1)


def merge_labels(known: Sequence[Any], more: Iterable[Any]) -> tuple[Any, ...]:
    """The known labels, then the others, sorted where they can be, else by type and text."""
    have = {*known}
    return (*known, *sorted_labels(dict.fromkeys(label for label in more if label not in have)))
