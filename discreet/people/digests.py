"""A digest of a table of people: the same for the same rows, whatever file or library they come from."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from discreet.people.folder import Column


def data_digest(table: Any, *labels: Any) -> str:
    """SHA-256 of the cells of a table and of the labels of its rows, as a text that names what it is."""
    found = hashlib.sha256()
    columns = Column.of(table)
    for name, cells in [(each.name, each.cells(table)) for each in columns] or [("X", np.asarray(table, dtype=np.float64))]:
        found.update(f"{name}\n".encode())
        _add(found, cells)
    for each in labels:
        _add(found, np.asarray(each))
    return f"sha256:{found.hexdigest()}"


def _add(found: Any, values: np.ndarray) -> None:
    if values.dtype.kind in "biuf":
        found.update(np.ascontiguousarray(values, dtype=np.float64) + 0.0)
    else:
        found.update("\n".join(map(repr, values.ravel().tolist())).encode(errors="backslashreplace"))
