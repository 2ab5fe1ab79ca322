"""The rows of a table of people: the features, what is guessed, what is hidden, and the person of
each row.

A promise is about people who were drawn independently. Several rows of one person are not
independent: all of them go to the same side of every split, and one of them, drawn at random,
counts wherever people are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.lazy import cached_property
from discreet.numerics.double_double import Array
from discreet.people.labels import column, columns_of
from discreet.problems.frames import Codes

FREQUENT = 20
"""Number of people with one record from which on none of them has more than 5 % of the weight in a
classifier's probabilities for it.
"""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of people.

    table    the features [rows, columns]
    truths   the code of what is guessed, for each row
    hidden   the codes of each sensitive column, by its name
    weight   number of people that each row represents in fitting; None for one
    person   the code of the person of each row; None if every row is another person
    records  a number for each row, equal for equal cells
    """

    table: Any
    truths: Codes
    hidden: Mapping[Any, Codes] = field(default_factory=dict)
    weight: Array | None = None
    person: Codes | None = None
    records: Codes | None = None

    def __len__(self) -> int:
        return int(self.table.shape[0])

    def take(self, rows: Codes) -> Rows:
        """Return some of the rows."""

        def some(values: Any) -> Any:
            return None if values is None else values[rows]

        return replace(
            self,
            table=take_rows(self.table, rows),
            truths=self.truths[rows],
            hidden={name: codes[rows] for name, codes in self.hidden.items()},
            weight=some(self.weight),
            person=some(self.person),
            records=some(self.records),
        )

    @cached_property
    def frequent(self) -> Codes:
        """True for rows whose record occurs so often that one person hardly affects a classifier
        there.
        """
        if self.records is None:
            return np.zeros(0, dtype=np.intp)
        _, place, times = np.unique(self.records, return_inverse=True, return_counts=True)
        return np.flatnonzero(times[place] >= FREQUENT)

    def split(self, share: float, rng: np.random.Generator) -> tuple[Codes, Codes]:
        """Return the rows of all people but a share of them (at least two), and one row of each
        person in that share.
        """
        person = np.arange(len(self)) if self.person is None else self.person
        people = int(person.max(initial=-1)) + 1
        chosen = np.zeros(people, dtype=bool)
        chosen[rng.permutation(people)[: max(0, min(int(share * people), people - 2))]] = True
        apart = np.flatnonzero(chosen[person])
        if self.person is not None:
            apart = apart[one_row_each(person[apart], rng)]
        return np.flatnonzero(~chosen[person]), apart


def one_row_each(person: Codes, rng: np.random.Generator) -> Codes:
    """Return one row of each person, drawn at random, in their order."""
    order = rng.permutation(person.size)
    return np.sort(order[np.unique(person[order], return_index=True)[1]])


def persons_of(values: Any, people: int) -> Codes | None:
    """Return the code of the person of each row; None without such information. Raises
    InputError.
    """
    if values is None:
        return None
    persons, codes = np.unique(column(values, "person").astype(str), return_inverse=True)
    if codes.size != people:
        raise InputError(f"person has {codes.size} entries for {people} rows; give one for each")
    return codes if persons.size < people else None


def take_rows(table: Any, rows: Codes) -> Any:
    """Return some rows of a data frame or an array."""
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


# -- what a table of people should not have
# --------------------------------------------------------------------------------------------------

_IDENTIFIES = 0.8  # share of the people with a text or a whole number of their own
_FEW = 50  # with fewer people, such values do not show that they identify a person
_MEASURED = 0.1  # share of the people with values of their own in a column that identifies people,
# and largest number that share a value there; more share one that stands for missing values
_SHARED = 10
_REPEATED = 0.05  # share of the rows that shows that persons have several


def warnings_about(rows: Rows) -> list[str]:
    """Return sentences about columns that identify persons, and about rows that repeat."""
    columns = columns_of(rows.table, "X")
    measured = np.zeros(len(rows), dtype=bool)  # in a way that identifies people
    warnings = []
    for name, cells in columns:
        if is_measured(cells):
            if measured.all():
                continue
            _, place, times = np.unique(cells, return_inverse=True, return_counts=True)
            measured |= (times[place] <= _SHARED) & (times.size > _MEASURED * len(cells))
        elif len({*cells.tolist()}) > max(_FEW, _IDENTIFIES * len(cells)):
            kind = "texts" if cells.dtype.kind == "O" else "numbers"
            warnings.append(
                f"column {name!r} has nearly as many {kind} as people; if it identifies people, "
                "leave it out"
            )
    if rows.person is None and rows.records is not None:
        records = rows.records[measured]
        again = records.size - np.unique(records).size
        if again > _REPEATED * len(rows):
            warnings.append(
                f"{again:,} of {len(rows):,} rows repeat another, measurements included; if one "
                "person has several rows, say whose each is with person=, as the promise holds for "
                "independent people"
            )
    return warnings


def is_measured(cells: NDArray[Any]) -> bool:
    """Return True if a column contains times, or numbers that are not all whole."""
    if cells.dtype.kind != "f":
        return cells.dtype.kind in "Mm"
    parts = (cells[:_FEW], cells)  # usually the first cells suffice
    return any(bool((np.floor(each) < each).any()) for each in parts)
