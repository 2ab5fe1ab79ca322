"""Options and checks that the commands about tables of people share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

from discreet.checks import brief, nearest
from discreet.cli.flags import argument, column_names, measure_names, number, option
from discreet.errors import FileError, InputError
from discreet.people.labels import TOGETHER

People = Annotated[str, argument("PEOPLE.csv", "CSV or Parquet, a line for each person.")]
Hide = option("COLUMN", "Sensitive column; may be repeated.", complete=column_names)
Person = Annotated[
    str | None,
    option("COLUMN", "The column that identifies a person.", "--id", complete=column_names),
]
Budgets = Annotated[
    list[str] | None,
    option(
        "[COLUMN=]NATS",
        "Leakage budget in the unit of the measure; COLUMN= sets it for one column.",
        "--leakage",
    ),
]
Confidence = Annotated[float, number("P", "Probability with which limits and promises hold.")]
Measures = Annotated[
    list[str] | None,
    option(
        "[COLUMN=]NAME",
        "Measure of leakage; mutual information by default.",
        "--measure",
        complete=measure_names,
    ),
]


def by_column(
    given: Sequence[str] | None,
    hidden: Sequence[str],
    option: str,
    read: Callable[[str], Any] = str,
) -> dict[str, Any]:
    """Return the values of an option by the hidden columns that it names; a value without a name is
    about all columns together. Raises InputError.

    read: makes a value of its text.
    """
    values: dict[str, Any] = {}
    for text in given or ():
        column = max(
            (name for name in hidden if text.startswith(f"{name}=")), key=len, default=None
        )
        value = text if column is None else text[len(column) + 1 :]
        try:
            values[column or TOGETHER] = read(value)
        except ValueError:
            raise InputError(
                f"{option} is {brief(text)}; give a number, or COLUMN=NUMBER for a hidden column"
            ) from None
    if len(values) < len(given or ()) or (len(values) > 1 and TOGETHER in values):
        raise InputError(
            f"{option} is given twice; give it once, or once for each hidden column "
            f"as {option} COLUMN=VALUE"
        )
    return values


def check_column(path: str, columns: Iterable[str], name: str) -> None:
    """Raise FileError unless the table has the column."""
    have = [*columns]
    if name not in have:
        known = ", ".join(have[:20]) + (", …" if len(have) > 20 else "")
        raise FileError(f"{path} has no column {brief(name)}{nearest(name, have)}; it has {known}")
