"""Data frames of libraries other than pandas, such as Polars: the one place where they come in, as
columns of arrays, and where guesses go out as a column of the same library.

narwhals reads them. scikit-learn 1.9 and later brings it; without it they are refused like any
other value that is not a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def in_columns(table: Any) -> Any:
    """A data frame of another library as a mapping of arrays; anything else as it is."""
    frame = _foreign(table)
    if frame is None:
        return table
    return {part.name: part.to_numpy() for part in frame.iter_columns()}


def guesses_like(table: Any, guesses: Any) -> Any:
    """Guesses as a column of the library of the table that they are about; an array for tables of
    pandas and arrays.
    """
    frame = _foreign(table)
    if frame is None:
        return guesses
    import narwhals

    made = narwhals.new_series("guess", guesses.tolist(), backend=frame.implementation)
    return made.to_native()


def _foreign(table: Any) -> Any:
    if isinstance(table, Mapping | np.ndarray) or hasattr(table, "iloc"):
        return None
    if not hasattr(table, "columns"):
        return None
    try:
        import narwhals
    except ImportError:
        return None
    frame = narwhals.from_native(table, eager_only=True, pass_through=True)
    return frame if isinstance(frame, narwhals.DataFrame) else None
