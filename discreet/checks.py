"""Checks of input: probability arrays, numbers and tables are checked once, with the same messages
everywhere.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.numerics.double_double import Array, DoubleDouble, dd_sum

TOTAL_TOLERANCE = 1e-9
"""Largest difference of a total probability from one that is not an error."""


def mass_array(values: Any, what: str, dimensions: int, shape: str) -> Array:
    """Return a new float64 array of finite entries ≥ 0 with the given number of dimensions;
    otherwise raise InputError, naming the entry.

    `what` is the name of the array in messages, `shape` its shape in words, such as "[n, m, N]".
    """
    array = np.array(as_numbers(values, what, shape), order="C")
    if array.ndim != dimensions or 0 in array.shape:
        raise InputError(
            f"{what} has shape {list(array.shape)}; give a non-empty array of shape {shape}"
        )
    check_entries(array, what)
    return array


def as_numbers(values: Any, what: str, shape: str) -> Array:
    """Return numbers as float64, or raise InputError: text would be parsed, and imaginary parts and
    masks would be dropped.
    """
    if type(values) is np.ndarray and values.dtype == np.float64:  # as inside the library
        return values
    try:
        if _is_masked(values):
            raise TypeError("entries are masked")
        raw = np.asarray(values)
        if raw.dtype.kind not in "biufO":
            raise TypeError(f"its type is {raw.dtype}")
        if raw.dtype.kind == "O" and any(
            isinstance(each, str | bytes | np.ma.MaskedArray) for each in raw.flat
        ):
            raise TypeError("it holds text or masked entries")
        with np.errstate(over="ignore"):  # numbers beyond the range of doubles become infinite
            return np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(
            f"{what} is not an array of real numbers ({error}); give shape {shape}"
        ) from None


def _is_masked(values: Any) -> bool:
    if isinstance(values, list | tuple):
        return any(_is_masked(each) for each in values if hasattr(each, "__len__"))
    return bool(np.ma.is_masked(values))


def check_entries(array: Array, what: str, start: int = 0, *, signed: bool = False) -> None:
    """Raise InputError for entries that are not finite, or negative unless `signed`; the first is
    named.

    The outcomes of array [..., ·] begin at `start`.
    """
    if signed:
        sound = np.isfinite(array).all()
    else:  # two passes, without a temporary array
        sound = array.min(initial=0.0) >= 0.0 and array.max(initial=0.0) < np.inf
    if sound:
        return
    rule = "finite" if signed else "finite and ≥ 0"
    for bad, word in (
        (~np.isfinite(array), "not finite"),
        ((array < 0.0) & (not signed), "negative"),
    ):
        if bad.any():
            index = [int(k) for k in np.argwhere(bad)[0]]
            value = float(array[tuple(index)])
            index[-1] += start
            raise InputError(
                f"{what}{index} is {value!r}, which is {word}; every entry must be {rule}"
            )


def real_numbers(what: str, values: Any, shape: tuple[int, ...]) -> Array:
    """Return numbers of that shape, or raise InputError."""
    array = as_numbers(values, f"the {what}", f"{list(shape)}")
    if array.shape != shape:
        raise InputError(
            f"the {what} has shape {list(array.shape)} but the problem needs {list(shape)}"
        )
    return array


def are_masses(*arrays: Array) -> bool:
    """Return True if all entries are numbers from 0 to 1e150; sums of larger ones may overflow."""
    return all(bool(array.min() >= 0.0 and array.max() <= 1e150) for array in arrays if array.size)


def check_columns(array: Array, what: str) -> None:
    """Raise InputError for an array [m, ·] with a column that does not sum to one within
    `TOTAL_TOLERANCE`, naming the worst.
    """
    off = np.abs(array.sum(axis=0) - 1.0)
    if not off.max() <= TOTAL_TOLERANCE:
        column = int(off.argmax())
        total = float(array[:, column].sum())
        raise InputError(
            f"column {column} of {what} sums to {total!r}, not to 1; divide it by its sum"
        )


def row_totals(array: Array, what: str) -> tuple[DoubleDouble, float]:
    """Return the sums of the rows of array [k, ·], double-double [k], and their total, which must
    be one within `TOTAL_TOLERANCE`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(array.sum())
    if total < 2.0:  # very large entries would overflow the exact sums
        sums = dd_sum(array)
        total = math.fsum([*sums[0], *sums[1]])
    refuse_total(total, what)
    return sums, total


def refuse_total(total: float, what: str) -> None:
    """Raise InputError for a total probability that is not one within `TOTAL_TOLERANCE`."""
    if not abs(total - 1.0) <= TOTAL_TOLERANCE:
        raise InputError(
            f"{what} sums to {total!r}, not to 1 within {TOTAL_TOLERANCE:g}; divide it by its sum"
        )


def check_ceiling(array: Array, what: str, most: float, remedy: str, start: int = 0) -> None:
    """Raise InputError for entries above `most`, naming the first; the outcomes of array [·, ·]
    begin at `start`.
    """
    if array.max() > most:
        row, column = (int(k) for k in np.argwhere(array > most)[0])
        raise InputError(
            f"{what}[{row}, {start + column}] is {array[row, column]:g}, above {most:g}; {remedy}"
        )


def check_stray_losses(p_xz: Array, loss: Array, start: int = 0) -> None:
    """Raise InputError for losses [m, ·] on outcomes of mass 0 in p_xz [n, ·], naming the first;
    outcomes begin at `start`.
    """
    mass = p_xz.sum(axis=0)
    if mass.all():
        return
    stray = np.flatnonzero((mass == 0.0) & (loss.max(axis=0) > 0.0))
    if stray.size:
        raise InputError(
            f"outcome {start + stray[0]} has zero probability in p_xz but a positive loss mass; "
            "set its loss to 0"
        )


def check_total(array: Array, what: str) -> float:
    """Return the sum of the entries, which must be one within `TOTAL_TOLERANCE`."""
    return row_totals(array.reshape(1, -1), what)[1]


def check_prior(p_xy: Any) -> Array:
    """Return p(x_j, y_i) [n, m], normalised; InputError for anything else."""
    prior = mass_array(p_xy, "p_xy", 2, "[n, m]")
    return np.asarray(prior / check_total(prior, "p_xy"))


def check_table(distributions: Any, prior: Array) -> list[list[Any]]:
    """Return the distributions [n][m], one for each entry of p(x_j, y_k) [n, m]; InputError for
    anything else.
    """
    n, m = prior.shape
    rows = [
        as_list(row, "a row of distributions", f"{m} distributions")
        for row in as_list(distributions, "distributions", "[n][m]")
    ]
    if len(rows) != n or any(len(row) != m for row in rows):
        raise InputError(
            f"p_xy has shape {[n, m]} but distributions does not; give {n} rows of "
            f"{m} distributions"
        )
    return rows


def check_name(name: Any) -> str:
    """Return the name of a problem, which must be a text; otherwise raise InputError."""
    if not isinstance(name, str):
        raise InputError(f"the name is {brief(name)}; give a text")
    return name


def freeze(frozen: Any, /, **fields: Any) -> None:
    """Set fields of a frozen dataclass during construction; arrays among them become read-only."""
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        object.__setattr__(frozen, name, value)


def as_list(values: Any, what: str, wanted: str, *, empty: bool = False) -> list[Any]:
    """Return the entries of a sequence, which may be empty only with `empty`; InputError for
    anything else, and for text.
    """
    try:
        items = [] if isinstance(values, str | bytes) else list(values)
    except (TypeError, OverflowError):
        items = []
        empty = False
    if not (items or empty):
        raise InputError(f"{what} is empty or no row; give {wanted}")
    return items


def refuse_repeated(names: Sequence[str], what: str) -> None:
    """Raise InputError for the first name that is given twice."""
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"the {what} {repeated!r} is given twice; give it once")


def loss_table(loss_matrix: Any, m: int) -> Array:
    """Return the loss of guessing i' when the truth is i [m, guesses], ≥ 0; 0/1 loss for None.
    InputError for anything else.
    """
    if loss_matrix is None:
        if m > 8192:
            raise InputError(
                f"Y has {m:,} values, whose 0/1 losses take {8 * m * m:,} bytes; give at most 8,192"
            )
        return np.asarray(1.0 - np.eye(m))
    matrix = mass_array(loss_matrix, "loss_matrix", 2, "[m, guesses]")
    if matrix.shape[0] != m:
        raise InputError(
            f"loss_matrix has {matrix.shape[0]} rows but Y has {m} values; give one "
            "row per value of Y"
        )
    return matrix


def whole(value: Any, what: str, least: int, most: float = 2.0**62) -> int:
    """Return an integer ≥ least and ≤ most, or raise InputError."""
    if (
        isinstance(value, bool | np.bool_)
        or not isinstance(value, int | np.integer)
        or not least <= value <= most
    ):
        too_large = isinstance(value, int) and value > most
        above = f" and ≤ {most:g}" if too_large or most < 2.0**62 else ""
        raise InputError(f"{what} is {brief(value)}; give an integer ≥ {least}{above}")
    return int(value)


def real(value: Any) -> float:
    """Return a real number as a double: inf if it is too large, and NaN for anything else."""
    if not isinstance(value, int | float | np.integer | np.floating):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def positive(value: Any, what: str, *, zero: bool = False, most: float = np.inf) -> float:
    """Return a finite number > 0 (≥ 0 with `zero`) and ≤ most, or raise InputError."""
    limits = ("≥ 0" if zero else "> 0") + ("" if np.isinf(most) else f" and ≤ {most:g}")
    number = real(value)
    if not np.isfinite(number) or number < 0.0 or (number == 0.0 and not zero) or number > most:
        raise InputError(f"{what} is {brief(value)}; give a finite number {limits}")
    return number


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint at the nearest known word, as part of a sentence; empty if there is none."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def at_most(value: float, figures: int) -> str:
    """Return a number ≥ 0 with `figures` significant digits, rounded up."""
    upward = Context(prec=figures, rounding=ROUND_CEILING)
    rounded = float(upward.create_decimal(repr(float(value))))
    return f"{rounded:.{figures}g}"


def brief(value: Any, most: int = 80) -> str:
    """Return the `repr` of a value for a message, at most one line of it."""
    if isinstance(value, str | bytes):
        value = value[:most]
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an integer of 5,000 digits, or an object of any kind
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def format_value(value: Any) -> str:
    """Return a value as written on the command line."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
