"""Bins of the columns of a table: cut at quantiles or at given edges, or categorical.

A bin (e_k, e_{k+1}] is open below and closed above; the outer bins are unbounded. A missing value
may have a bin of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.checks import as_numbers, brief, nearest, positive, whole
from discreet.errors import InputError
from discreet.numerics.double_double import Array
from discreet.problems.frames import UNKNOWN, Codes, Values, refuse_many, title

DEFAULT_BINS = 4
"""Default number of quantile bins of a numeric column."""

DEFAULT_SMOOTHING = 1.0
"""Default number of pseudo-records per cell."""


@dataclass(frozen=True, eq=False)
class BinnedColumn:
    """A column that is used for guessing, and its bins.

    name         name of the column
    edges        cuts e of numbers: k cuts make k + 1 bins (e_k, e_{k+1}], the outer ones unbounded;
                 None if categorical
    categories   the categories; None if the column is cut at edges
    ordered      True if the order of the categories is meaningful
    missing      True if a missing value has a bin of its own, the last
    merged       number of bins lost because quantiles coincided
    """

    name: str
    edges: Array | None
    categories: tuple[Any, ...] | None
    ordered: bool
    missing: bool
    merged: int = 0

    @property
    def bins(self) -> int:
        """The number of bins, including that of missing values."""
        known = len(self.categories) if self.edges is None else self.edges.size + 1  # type: ignore[arg-type]
        return known + self.missing

    def codes(self, values: Values) -> Codes:
        """Return the bin of each entry [people]; `UNKNOWN` for a category never seen, and for a
        missing value without a bin.
        """
        absent = self.bins - 1 if self.missing else UNKNOWN
        if self.edges is None:
            assert self.categories is not None
            kinds = {isinstance(category, str) for category in self.categories}
            if kinds == {True}:
                values = values.as_texts()
            elif self.ordered and values.holds_texts:
                raise InputError(
                    f"column {brief(self.name)} holds texts, and numbers in the table; give numbers"
                )
            return values.codes((*self.categories, None)[: self.bins])
        if values.numbers is None and not values.missing.all():
            raise InputError(
                f"column {brief(self.name)} is not numeric, so it cannot be cut at "
                "edges; give numbers"
            )
        numbers = np.full(len(values), np.nan) if values.numbers is None else values.numbers
        return np.where(values.missing, absent, np.searchsorted(self.edges, numbers, side="left"))

    def apart(self, codes: Codes) -> Array:
        """Return the distances of bins [k] from every bin, relative to the largest distance [k,
        bins]; 0 for unknown bins.

        The distance is 1 between different bins without an order, and between the bin of missing
        values and any other.
        """
        known = self.bins - self.missing
        here = codes[:, None]
        there = np.arange(self.bins)
        distance = np.asarray(here != there, dtype=np.float64)
        if self.ordered and known > 1:
            both = (here < known) & (there < known)
            distance = np.where(both, np.abs(here - there) / (known - 1), distance)
        return np.where(here == UNKNOWN, 0.0, distance)


@dataclass(frozen=True)
class Binning:
    """How the columns used for guessing are cut, and how cells are formed.

    bins        number of quantile bins of a numeric column, for all columns or by name (others get
                the default). None keeps a column categorical; columns of text or truth values
                always are. Equal quantiles merge.
    edges       by name, increasing cuts that replace the quantiles; outer bins are unbounded, so
                ±inf may be omitted
    missing     "drop": people with a missing value are left out; "category": a missing value has a
                bin of its own, and a missing secret is a group of its own
    smoothing   α ≥ 0, pseudo-records per cell (see `discreet.problems.samples`)
    min_count   cells with fewer records are gathered into one rest outcome, which comes last; if
                even the rest has fewer, the smallest other cell joins it, and so on
    """

    bins: int | Mapping[str, int | None] | None = DEFAULT_BINS
    edges: Mapping[str, Sequence[float]] | None = None
    missing: str = "drop"
    smoothing: float = DEFAULT_SMOOTHING
    min_count: int = 0

    def checked(self, names: Sequence[str]) -> Binning:
        """Return the binning; InputError if it is not valid for columns of these names."""
        if self.missing not in ("drop", "category"):
            raise InputError(f"missing is {brief(self.missing)}; give 'drop' or 'category'")
        if self.edges is not None and not isinstance(self.edges, Mapping):
            raise InputError(
                f"edges is {brief(self.edges)}; give a mapping from names of columns "
                "to increasing cuts"
            )
        for what, given in (("bins", self.bins), ("edges", self.edges)):
            for name in given if isinstance(given, Mapping) else ():
                if title(name) not in names:
                    suggestion = nearest(title(name), names)
                    raise InputError(
                        f"{what} names {brief(name)}, which is not a column to "
                        f"guess from{suggestion}; leave it out"
                    )
        if not isinstance(self.bins, Mapping) and self.bins is not None:
            whole(self.bins, "bins", 1, 1e6)
        positive(self.smoothing, "smoothing", zero=True, most=1e100)
        whole(self.min_count, "min_count", 0)
        return self

    def column(self, values: Values) -> BinnedColumn:
        """Return the bins of a column, computed from the people who are counted."""
        name = values.name
        missing = self.missing == "category" and bool(values.missing.any())
        cuts = {title(key): each for key, each in (self.edges or {}).items()}.get(name)
        bins = (
            {str(key): n for key, n in self.bins.items()}.get(name, DEFAULT_BINS)
            if isinstance(self.bins, Mapping)
            else self.bins
        )
        values.refuse_times()
        numbers = values.numbers
        if cuts is not None:
            if numbers is None:
                raise InputError(
                    f"column {brief(name)} is not numeric, so it cannot be cut at "
                    "edges; leave it out of edges"
                )
            return BinnedColumn(name, _check_cuts(cuts, name), None, True, missing)
        if bins is None or numbers is None:
            labels = values.labels()
            refuse_many(labels, name)
            return BinnedColumn(
                name, None, labels, numbers is not None or values.ordered is not None, missing
            )
        edges, merged = _quantiles(numbers[~values.missing], whole(bins, f"bins of {name}", 1, 1e6))
        return BinnedColumn(name, edges, None, True, missing, merged)


def _check_cuts(cuts: Any, name: str) -> Array:
    edges = as_numbers(cuts, f"the row of edges of {name}", "[cuts]").reshape(-1)
    wrong = np.flatnonzero(~(edges[1:] > edges[:-1]))
    if wrong.size or np.isnan(edges).any():
        k = int(wrong[0]) if wrong.size else 0
        raise InputError(
            f"the edges of {name} do not increase at position {k}: {edges.tolist()}; "
            "give increasing numbers"
        )
    return np.asarray(edges[np.isfinite(edges)])


def _quantiles(values: Array, bins: int) -> tuple[Array, int]:
    """Return cuts at the inner quantiles (values of the sample), with equal ones merged, and the
    number of bins lost by merging.
    """
    if not values.size:
        return np.zeros(0), bins - 1
    cuts = np.unique(np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf"))
    # Bins are closed above, so the bin beyond a cut at the maximum would be empty.
    cuts = cuts[cuts < values.max()]
    return cuts, bins - 1 - cuts.size
