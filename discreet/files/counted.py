"""The report of a counted table in problem and solution files: facts as JSON, cells and counts as
arrays.

Three members: `samples` (one text), `cells` [N, columns] and `counts` [N]. Readers that do not know
them refuse the file, since without them the outcomes of people and the labels of guesses are
unknown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import as_numbers, brief, real, whole
from discreet.errors import FileError, InputError
from discreet.problems.binning import BinnedColumn
from discreet.problems.frames import Codes
from discreet.problems.samples import REST, SampleReport
from discreet.storage.archive import Archive

ARRAYS = ("cells", "counts")
TEXT = "samples"
"""Names of the members."""

_VERSION = 1
_PLAIN = (
    "records",
    "dropped",
    "guess",
    "weights",
    "cells_occupied",
    "merged_cells",
    "smoothing",
    "min_count",
    "digest",
    "date",
)


def report_members(report: SampleReport | None) -> dict[str, Any]:
    """Return the members of a file for a report, by name; empty without a report."""
    if report is None:
        return {}
    document: dict[str, Any] = {"version": _VERSION} | {
        name: getattr(report, name) for name in _PLAIN
    }
    document["secrets"] = [
        {"name": name, "labels": labels} for name, labels in report.private_labels.items()
    ]
    document["columns"] = [
        asdict(column) | {"edges": None if column.edges is None else column.edges.tolist()}
        for column in report.columns
    ]
    document |= {"truths": report.truths, "guesses": report.guesses}
    document |= {"seed": f"{report.seed:032x}", "versions": dict(report.versions)}
    text = json.dumps(document, allow_nan=False, sort_keys=True)
    return {TEXT: np.array(text), "cells": report.cells, "counts": report.counts}


def report_of(where: str, stored: Archive) -> SampleReport | None:
    """Return the report in a file, or None. Raises FileError for an incomplete or invalid
    report.
    """
    held = [name for name in (*ARRAYS, TEXT) if name in stored.arrays or name in stored.texts]
    if not held:
        return None
    if len(held) < 3:
        raise FileError(
            f"{where} has {held[0]} without all of samples, cells and counts; write "
            "it with save_problem"
        )
    try:
        return _report(
            json.loads(stored.texts[TEXT]), stored.arrays["cells"], stored.arrays["counts"]
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(
            f"{where}: samples cannot be read ({error}); write it with save_problem"
        ) from None


def _report(document: Any, cells: Any, counts: Any) -> SampleReport:
    if document["version"] != _VERSION:
        raise InputError(
            f"version {brief(document['version'])}, and version {_VERSION} is read: update discreet"
        )
    columns = tuple(map(_column, document["columns"]))
    places = _whole(cells, "cells", REST)
    records = _whole(counts, "counts", 0)
    if places.shape != (records.size, len(columns)) or records.ndim != 1 or not columns:
        raise InputError(
            f"cells have shape {list(places.shape)} and counts {list(records.shape)} for "
            f"{len(columns)} columns"
        )
    rest = places == REST
    if (places >= [column.bins for column in columns]).any() or (
        rest.any(axis=1) & ~rest.all(axis=1)
    ).any():
        raise InputError("cells have a bin that the columns lack")
    labels = {_text(each["name"]): _labels(each["labels"]) for each in document["secrets"]}
    facts = {name: document[name] for name in _PLAIN}
    for name in ("records", "dropped", "cells_occupied", "merged_cells", "min_count"):
        whole(facts[name], name, 0)
    for name in ("guess", "digest", "date"):
        _text(facts[name])
    if not (0.0 <= real(facts["smoothing"]) < math.inf and labels):
        raise InputError("its smoothing or its secrets make no sense")
    return SampleReport(
        hide=tuple(labels),
        private_labels=labels,
        truths=_labels(document["truths"]),
        guesses=_labels(document["guesses"]),
        columns=columns,
        cells=places,
        counts=records,
        seed=int(_text(document["seed"]), 16),
        versions={_text(key): _text(value) for key, value in document["versions"].items()},
        **facts,
    )


def _column(record: Mapping[str, Any]) -> BinnedColumn:
    edges = record["edges"]
    categories = record["categories"]
    if (edges is None) == (categories is None):
        raise InputError("a column needs edges or categories")
    if edges is not None:
        edges = as_numbers(edges, "edges", "[cuts]").reshape(-1)
        if not (np.isfinite(edges).all() and (edges[1:] > edges[:-1]).all()):
            raise InputError("edges do not increase")
        edges.setflags(write=False)
    known = None if categories is None else _labels(categories)
    merged = whole(record["merged"], "merged", 0)
    return BinnedColumn(
        _text(record["name"]),
        edges,
        known,
        bool(record["ordered"]),
        bool(record["missing"]),
        merged,
    )


def _labels(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise InputError("labels are not a list")
    labels = tuple(_labels(each) if isinstance(each, list) else each for each in value)
    hash(labels)
    return labels


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{brief(value)} is not a text")
    return value


def _whole(array: NDArray[Any], what: str, minimum: int) -> Codes:
    if not ((array >= minimum) & (array == np.floor(array)) & (array < 2.0**53)).all():
        raise InputError(f"{what} are not all whole numbers ≥ {minimum}")
    codes = array.astype(np.intp)
    codes.setflags(write=False)
    return codes
