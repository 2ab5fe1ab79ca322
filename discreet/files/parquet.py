"""Parquet files, which DuckDB (extra `bench`) reads and writes."""

from __future__ import annotations

import os
from typing import Any

from discreet.errors import FileError, how_to_install
from discreet.storage.texts import check_ordinary
from discreet.storage.writing import PathLike, shown_path


def library() -> Any:
    """Return the DuckDB module. Raises FileError, with the remedy, if it does not import."""
    try:
        import duckdb
    except ImportError as error:
        raise FileError(
            f"Parquet needs DuckDB, which does not import ({error}); give CSV, or "
            f"{how_to_install('bench')}"
        ) from None
    return duckdb


def query(path: PathLike, select: str) -> Any:
    """Return the result of a DuckDB query of the table `rows`, the rows of a Parquet file.

    Its column `file_row_number` is the index of the row. Raises FileError for a file that cannot be
    read.
    """
    duckdb = library()
    check_ordinary(path)
    numbered = ", file_row_number = true" if "file_row_number" in select else ""
    statement = select.replace("FROM rows", f"FROM read_parquet(?{numbered})", 1)
    try:
        return duckdb.connect().execute(statement, [os.fspath(path)])
    except duckdb.Error as error:
        reason = " ".join(str(error).split())
        raise FileError(
            f"cannot read {shown_path(path)}, which is not Parquet ({reason}); write it again, or "
            "give CSV"
        ) from None
