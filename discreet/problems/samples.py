"""From observed triples (x, y, z) to their joint law: bin the columns of z, count, smooth.

Every column of z is cut at quantiles or at given edges, or kept categorical; an outcome is a combination of bins (a *cell*)
that was observed. Smoothing adds α pseudo-records per cell, spread over (x, y) as in the whole sample. Leakage and
certificate are those of the smoothed model; α = 0 keeps the raw frequencies.

Source: docs/theory.md, section 21, which says what smoothing does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.problems.checks import as_numbers, brief, positive, whole
from discreet.problems.errors import InputError
from discreet.problems.numerics.double_double import Array

DEFAULT_BINS = 4
"""Quantile bins of a numeric column by default."""

DEFAULT_SMOOTHING = 1.0
"""Pseudo-records per cell."""

REST = -1
"""In `SampleReport.cells`: the outcome that gathers the cells with too few records."""

_LARGEST = 1 << 27  # entries of a joint tensor: a gigabyte
_Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class SampleReport:
    """How samples became a model.

    records          triples used
    dropped          triples left out because x, y or a column of z was missing (NaN, None)
    columns          names of the columns of z
    edges            per column its cuts e (k cuts make k + 1 bins (e_k, e_{k+1}], the outer ones open), None if categorical
    categories       per column its sorted categories, None if numeric
    merged_edges     per column how many bins were lost because quantiles coincided
    cells_possible   product of the numbers of bins
    cells_occupied   cells that were observed
    merged_cells     observed cells with under `min_count` records that were gathered into the rest
    cells            bin per column of every outcome [N, columns]; a row of −1 is the rest
    counts           records per outcome [N]
    x_labels, y_labels   the values of X and Y, sorted
    smoothing        pseudo-records per cell, α
    min_count        least number of records of an outcome asked for
    """

    records: int
    dropped: int
    columns: tuple[str, ...]
    edges: tuple[Array | None, ...]
    categories: tuple[tuple[Any, ...] | None, ...]
    merged_edges: tuple[int, ...]
    cells_possible: int
    cells_occupied: int
    merged_cells: int
    cells: _Codes
    counts: _Codes
    x_labels: tuple[Any, ...]
    y_labels: tuple[Any, ...]
    smoothing: float
    min_count: int

    def __repr__(self) -> str:
        return (
            f"SampleReport({self.records} records, {self.dropped} dropped, {len(self.columns)} columns, "
            f"{len(self.counts)} outcomes of {self.cells_possible} possible cells, {self.merged_cells} cells and "
            f"{sum(self.merged_edges)} edges merged, smoothing {self.smoothing:g})"
        )


@dataclass(frozen=True)
class _Column:
    """A column of z after binning: the bin of every record, the number of bins, and how they were made."""

    codes: _Codes
    bins: int
    edges: Array | None
    categories: tuple[Any, ...] | None
    merged: int


def joint_of_samples(
    x: Any,
    y: Any,
    z: Any,
    *,
    bins: int | Sequence[int | None] | None = DEFAULT_BINS,
    edges: Any = None,
    smoothing: float = DEFAULT_SMOOTHING,
    min_count: int = 0,
) -> tuple[Array, SampleReport]:
    """The joint tensor p(x, y, z) [n, m, N] of observed triples, and the report of how it was made.

    x, y        labels [records] of any hashable kind; their sorted values become the private and public values
    z           [records], [records, columns], or a mapping (or data frame) from names to columns
    bins        quantile bins of a numeric column: one number for all, or one entry per column; None keeps a column
                categorical. Columns of text or truth values always are. Equal quantiles merge.
    edges       increasing cuts that replace the quantiles: a row of numbers if z has one column, else one entry per column
                (None for quantiles); outer bins are open, so ±inf may be left out
    smoothing   α ≥ 0, pseudo-records per cell (see the module's text)
    min_count   cells with fewer records are gathered into one rest outcome, which comes last; if even the rest has fewer,
                the smallest other cell joins it, and so on

    Records with a missing value are dropped and counted. Raises InputError.
    """
    columns, names = _columns(z)
    x_raw, y_raw = _flat(x, "x"), _flat(y, "y")
    for what, values in (("x", x_raw), *((f"z column {name_}", c) for name_, c in zip(names, columns, strict=True))):
        if len(values) != len(y_raw):
            raise InputError(f"{what} has {len(values)} records and y has {len(y_raw)}; give one entry per record")
    kept = ~np.logical_or.reduce([_missing(values) for values in (x_raw, y_raw, *columns)])
    records = int(kept.sum())
    if records == 0:
        raise InputError(f"none of the {len(kept)} records is complete; give at least one with x, y and z all present")
    x_labels, x_codes = _labelled(x_raw[kept], "x")
    y_labels, y_codes = _labelled(y_raw[kept], "y")
    counts_wanted, cuts = _per_column(bins, "bins", len(columns)), _edges_per_column(edges, len(columns))
    binned = [
        _bin(values[kept], wanted, cut, f"z column {title}")
        for values, wanted, cut, title in zip(columns, counts_wanted, cuts, names, strict=True)
    ]
    table = np.stack([column.codes for column in binned], axis=1)
    cells, codes = np.unique(table, axis=0, return_inverse=True)
    occupied = len(cells)
    cells, codes = _gather_rare(cells, codes.reshape(-1), whole(min_count, "min_count", 0))
    sizes = len(x_labels), len(y_labels), len(cells)
    if math.prod(sizes) > _LARGEST:
        raise InputError(
            f"{sizes[0]:,} values of x, {sizes[1]:,} of y and {sizes[2]:,} cells of z make {math.prod(sizes):,} entries and "
            f"the limit is {_LARGEST:,}; merge rare values, or take fewer bins or a larger min_count"
        )
    flat = np.ravel_multi_index((x_codes, y_codes, codes), sizes)
    counts = np.bincount(flat, minlength=math.prod(sizes)).reshape(sizes)
    alpha = positive(smoothing, "smoothing", zero=True, most=1e100)
    totals = counts.sum(axis=(0, 1))
    for array in (cells, totals):
        array.setflags(write=False)
    report = SampleReport(
        records=records,
        dropped=len(kept) - records,
        columns=names,
        edges=tuple(column.edges for column in binned),
        categories=tuple(column.categories for column in binned),
        merged_edges=tuple(column.merged for column in binned),
        cells_possible=math.prod(column.bins for column in binned),
        cells_occupied=occupied,
        merged_cells=int(occupied - (cells[:, 0] != REST).sum()),
        cells=cells,
        counts=totals,
        x_labels=x_labels,
        y_labels=y_labels,
        smoothing=alpha,
        min_count=int(min_count),
    )
    return _smoothed(counts, alpha), report


def _smoothed(counts: _Codes, alpha: float) -> Array:
    """Posterior mean [n, m, N] of counts [n, m, N] under α pseudo-records per cell, spread as p(x, y) of the sample."""
    overall = counts.sum(axis=2, keepdims=True) / counts.sum()
    model = counts + alpha * overall
    return np.asarray(model / model.sum())


# -- labels and missing values -----------------------------------------------------------------------------------------


def _flat(values: Any, what: str) -> NDArray[Any]:
    """A one-dimensional array with one element per record; objects stay what they are (tuples are labels too)."""
    if np.ma.is_masked(values):
        raise InputError(f"{what} has masked entries; fill them with NaN, and their records are left out")
    if hasattr(values, "dtype"):
        array = np.asarray(values)
        if array.ndim != 1:
            raise InputError(f"{what} has shape {list(array.shape)}; give one entry per record")
        return array
    try:
        items = list(values)
    except TypeError:
        raise InputError(f"{what} is {brief(values)}; give one entry per record") from None
    array = np.empty(len(items), dtype=object)
    for k, item in enumerate(items):
        array[k] = item
    return array


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind in "fcmM":
        return np.asarray(values != values)
    if values.dtype.kind == "O":
        return np.array([_is_missing(value) for value in values], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def _is_missing(value: Any) -> bool:
    # pandas.NA has no truth value, so it is known by the name of its type.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and math.isnan(value))


def _labelled(values: NDArray[Any], what: str) -> tuple[tuple[Any, ...], _Codes]:
    """Sorted distinct labels and the index of each record's label. Labels without an order are sorted by type and text."""
    if values.dtype.kind != "O":
        labels, codes = np.unique(values, return_inverse=True)
        return tuple(labels.tolist()), codes.reshape(-1)
    try:
        distinct = set(values)
    except TypeError as error:
        raise InputError(
            f"{what} has a label that cannot be compared for equality ({error}); give hashable labels"
        ) from None
    try:
        ordered = sorted(distinct)
    except TypeError:
        ordered = sorted(distinct, key=lambda label: (type(label).__name__, repr(label)))
    position = {label: k for k, label in enumerate(ordered)}
    return tuple(ordered), np.array([position[value] for value in values], dtype=np.intp)


# -- columns and their bins --------------------------------------------------------------------------------------------


def _columns(z: Any) -> tuple[list[NDArray[Any]], tuple[str, ...]]:
    """The columns of z and their names ("0", "1", … without names)."""
    if isinstance(z, Mapping) or hasattr(z, "columns"):
        named = {str(key): _flat(column, f"z column {key}") for key, column in z.items()}
        if not named:
            raise InputError("z has no columns; give at least one")
        return list(named.values()), tuple(named)
    if np.ma.is_masked(z):
        raise InputError("z has masked entries; fill them with NaN, and their records are left out")
    array = np.asarray(z) if hasattr(z, "dtype") else _table(z)
    if array.ndim == 1:
        return [array], ("0",)
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"z has shape {list(array.shape)}; give [records], [records, columns] or a mapping of columns")
    return list(array.T), tuple(map(str, range(array.shape[1])))


def _table(z: Any) -> NDArray[Any]:
    """Rows that are not an array yet: numbers become an array of numbers, anything else one of objects."""
    try:
        array = np.asarray(list(z), dtype=object)
    except (TypeError, ValueError) as error:
        raise InputError(f"z is not a table ({error}); give [records], [records, columns] or a mapping of columns") from None
    if array.ndim == 1 and any(isinstance(row, list | tuple | np.ndarray) for row in array):
        raise InputError("the rows of z differ in length; give [records, columns] or a mapping of columns")
    try:
        return array.astype(np.float64) if not any(isinstance(v, str | bool) for v in array.flat) else array
    except (TypeError, ValueError, OverflowError):
        return array


def _per_column(given: Any, what: str, columns: int) -> list[Any]:
    if given is None or isinstance(given, int | np.integer):
        return [given] * columns
    try:
        listed = list(given)
    except TypeError:
        raise InputError(f"{what} is {given!r}; give an integer, None, or a list with one entry per column") from None
    if len(listed) != columns:
        raise InputError(f"{what} has {len(listed)} entries and z has {columns} columns; give one entry per column")
    return listed


def _edges_per_column(edges: Any, columns: int) -> list[Any]:
    if edges is None:
        return [None] * columns
    if columns == 1 and all(isinstance(e, int | float | np.number) for e in np.atleast_1d(np.asarray(edges, dtype=object))):
        return [edges]
    return _per_column(edges, "edges", columns)


def _bin(values: NDArray[Any], bins: Any, cuts: Any, what: str) -> _Column:
    numeric = _numeric(values)
    if cuts is not None:
        if numeric is None:
            raise InputError(f"{what} is not numeric, so it cannot be cut at edges; give None for it")
        edges = _checked_cuts(cuts, what)
        return _Column(np.searchsorted(edges, numeric, side="left"), edges.size + 1, edges, None, 0)
    if bins is None or numeric is None:
        labels, codes = _labelled(values, what)
        return _Column(codes, len(labels), None, labels, 0)
    edges, merged = _quantiles(numeric, whole(bins, f"bins of {what}", 1, 1e6))
    return _Column(np.searchsorted(edges, numeric, side="left"), edges.size + 1, edges, None, merged)


def _numeric(values: NDArray[Any]) -> Array | None:
    """The values as float64, or None if they are not numbers."""
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    numbers = (int, float, np.integer, np.floating)
    if values.dtype.kind == "O" and all(isinstance(v, numbers) and not isinstance(v, bool) for v in values):
        return as_numbers(values, "a column of z", "[records]")
    return None


def _checked_cuts(cuts: Any, what: str) -> Array:
    edges = as_numbers(cuts, f"the row of edges of {what}", "[cuts]").reshape(-1)
    wrong = np.flatnonzero(~(edges[1:] > edges[:-1]))
    if wrong.size or np.isnan(edges).any():
        k = int(wrong[0]) if wrong.size else 0
        raise InputError(f"the edges of {what} do not increase at position {k}: {edges.tolist()}; give increasing numbers")
    return np.asarray(edges[np.isfinite(edges)])


def _quantiles(values: Array, bins: int) -> tuple[Array, int]:
    """Cuts at the inner quantiles (values of the sample), equal ones merged, and how many bins that cost."""
    cuts = np.unique(np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf"))
    cuts = cuts[cuts < values.max()]  # bins are closed above: a cut at the maximum has nothing beyond it
    return cuts, bins - 1 - cuts.size


# -- cells -------------------------------------------------------------------------------------------------------------


def _gather_rare(cells: _Codes, codes: _Codes, least: int) -> tuple[_Codes, _Codes]:
    """Merge cells with fewer than `least` records into one outcome, the last; its cell is a row of `REST`."""
    counts = np.bincount(codes, minlength=len(cells))
    order = np.argsort(counts, kind="stable")
    total = np.cumsum(counts[order])
    rare = int((counts < least).sum())
    while 0 < rare < len(cells) and total[rare - 1] < least:
        rare += 1
    if rare == 0:
        return cells, codes
    common = np.ones(len(cells), dtype=bool)
    common[order[:rare]] = False
    index = np.where(common, np.cumsum(common) - 1, common.sum())
    rest = np.full((1, cells.shape[1]), REST, dtype=np.intp)
    return np.concatenate([cells[common], rest]), index[codes]
