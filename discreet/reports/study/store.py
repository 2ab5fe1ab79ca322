"""Rows of a study on disk: one Parquet file a cell, written to a temporary name, fsynced, renamed; never changed after.

    FOLDER/cells/KEY.parquet    a finished cell
    FOLDER/set-aside/           files found unreadable; their cells are measured again
    FOLDER/study.toml           the study the cells are of
    FOLDER/lock                 held while a run writes

Because a name appears only when its content is on the disk, a run killed at any moment leaves finished cells and at most one
temporary file, which the next run removes. DuckDB (extra `bench`) writes and reads the files.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import IO, Any, get_type_hints

from discreet.problems.errors import FileError
from discreet.reports.measurements import COLUMNS, Measurement, from_record, to_record
from discreet.reports.outputs import replace_file

__all__ = ["Store", "duckdb_module", "query", "read_parquet", "rows"]

_TYPES = {int: "BIGINT", int | None: "BIGINT", float: "DOUBLE"}
_HINTS = get_type_hints(Measurement)
_SQL_TYPES = {each.name: _TYPES.get(_HINTS[each.name], "VARCHAR") for each in fields(Measurement)}
_EMPTY_TABLE = ", ".join(f"NULL::{kind} AS {name}" for name, kind in _SQL_TYPES.items())


def duckdb_module() -> Any:
    """The library, or FileError with the remedy where it is not there."""
    try:
        import duckdb
    except ImportError as error:
        raise FileError(
            f'Parquet files need duckdb, which does not import ({error}); pip install "discreet[bench]"'
        ) from None
    return duckdb


class Store:
    """The folder of one study, open for writing by one process at a time. Use as a context manager."""

    def __init__(self, folder: Path) -> None:
        self._duckdb = duckdb_module()
        self.folder = folder
        self.cells = folder / "cells"
        self._lock: IO[bytes] | None = None
        self._connection: Any = None

    def __enter__(self) -> Store:
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
            self._lock = open(self.folder / "lock", "ab")  # held until the run ends
        except (OSError, ValueError) as error:
            raise FileError(f"{str(self.folder)!r} cannot hold a study: {error}; choose another --out") from None
        _take_lock(self._lock, self.folder)
        for left in self.cells.glob(".*.tmp"):
            left.unlink(missing_ok=True)
        self._connection = self._duckdb.connect()
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._lock is not None:
            self._lock.close()

    def adopt(self, name: str, source: str) -> None:
        """Keep the study file with its results. Raises FileError if the folder belongs to a study of another name."""
        from discreet.reports.study.study_file import parse_study

        path = self.folder / "study.toml"
        if path.exists():
            try:
                other = parse_study(path.read_text(encoding="utf-8"), path.name).name
            except (FileError, OSError, UnicodeDecodeError):
                other = name  # torn or of another version: the study given takes its place
            if other != name:
                raise FileError(f"{self.folder} holds the study {other!r}, this one is {name!r}; choose another --out")
        replace_file(path, source)

    def finished(self) -> tuple[dict[str, Measurement], list[str]]:
        """The finished cells by key, and one sentence for each file that was set aside."""
        found, notices = {}, []
        for path, read in _read_each(self.cells):
            if isinstance(read, Measurement) and read.cell == path.stem:
                found[read.cell] = read
            else:
                reason = "it holds another cell" if isinstance(read, Measurement) else str(read)
                notices.append(self._set_aside(path, reason))
        return found, notices

    def add(self, row: Measurement) -> None:
        """Write the row of a finished cell, for good. Raises FileError when the disk is full or the folder is gone."""
        target = self.cells / f"{row.cell}.parquet"
        temporary = self.cells / f".{row.cell}.tmp"
        try:
            _write_parquet(self._connection, row, temporary)
            _sync(temporary)
            os.replace(temporary, target)
            _sync(self.cells)
        except (OSError, self._duckdb.Error) as error:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            reason = getattr(error, "strerror", None) or " ".join(str(error).split())
            raise FileError(
                f"a result cannot be written to {self.folder}: {reason}; make room there and run the same command again, "
                "every cell finished before is kept"
            ) from None

    def _set_aside(self, path: Path, reason: str) -> str:
        aside = self.folder / "set-aside"
        try:
            aside.mkdir(exist_ok=True)
            target = next(
                place for k in range(len(COLUMNS) ** 3) if not (place := aside / f"{path.stem}-{k}{path.suffix}").exists()
            )
            os.replace(path, target)
        except OSError as error:
            raise FileError(f"{path} is unreadable and cannot be set aside: {error.strerror or error}; remove it") from None
        return f"{path.name} is unreadable ({reason}); it was moved to {target.parent.name} and its cell is measured again"


def rows(folder: str | Path) -> list[Measurement]:
    """The rows of a study, by key. Raises FileError for a folder that holds none and for a file that cannot be read."""
    cells = _cells_folder(Path(folder))
    found = []
    for path, read in _read_each(cells):
        if isinstance(read, Exception):
            raise FileError(
                f"{path} cannot be read: {read}; run discreet bench on the folder again to measure its cell anew"
            )
        found.append(read)
    return sorted(found, key=lambda row: row.cell)


def query(folder: str | Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names and rows of the answer to a query over the table `cells`, one column per field of `Measurement`.

    Nothing outside the folder can be read or written by it. Raises FileError for a query that DuckDB refuses.
    """
    duckdb = duckdb_module()
    table = rows(folder)
    with contextlib.closing(duckdb.connect()) as connection:
        connection.execute(f"CREATE TABLE cells AS SELECT * FROM (SELECT {_EMPTY_TABLE}) LIMIT 0")
        holes = ", ".join("?" for _ in COLUMNS)
        if table:
            connection.executemany(f"INSERT INTO cells VALUES ({holes})", [_values(row) for row in table])
        connection.execute("SET enable_external_access = false")
        try:
            answer = connection.execute(sql)
            return [column[0] for column in answer.description or ()], list(answer.fetchall())
        except duckdb.Error as error:
            said = " ".join(str(error).split())
            raise FileError(f"the query is refused: {said}; the table is cells, its columns: {', '.join(COLUMNS)}") from None


def _cells_folder(folder: Path) -> Path:
    cells = folder / "cells"
    if not cells.is_dir():
        raise FileError(f"{str(folder)!r} is not the folder of a study; give one that discreet bench --out wrote")
    return cells


def _values(row: Measurement) -> list[Any]:
    return list(to_record(row).values())


def _write_parquet(connection: Any, row: Measurement, path: Path) -> None:
    holes = ", ".join(f"?::{kind} AS {name}" for name, kind in _SQL_TYPES.items())
    connection.execute(f"CREATE OR REPLACE TEMP TABLE cell AS SELECT {holes}", _values(row))
    place = str(path).replace("'", "''")
    connection.execute(f"COPY cell TO '{place}' (FORMAT parquet)")


def read_parquet(path: Path) -> list[Measurement]:
    """The rows of one Parquet file; FileError where it is not one of ours."""
    duckdb = duckdb_module()
    with contextlib.closing(duckdb.connect()) as connection:
        return _read_one(duckdb, connection, path)


def _read_one(duckdb: Any, connection: Any, path: Path) -> list[Measurement]:
    try:
        answer = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [column[0] for column in answer.description]
        return [from_record(dict(zip(names, values, strict=True)), str(path)) for values in answer.fetchall()]
    except duckdb.Error as error:
        raise FileError(f"cannot read {path}: {' '.join(str(error).split())}") from None


def _read_each(cells: Path) -> Iterator[tuple[Path, Any]]:
    """Every finished file with its row, or the error that reading it raised. All at once where none is damaged."""
    duckdb = duckdb_module()
    paths = sorted(cells.glob("[!.]*.parquet"))
    if not paths:
        return
    with contextlib.closing(duckdb.connect()) as connection:
        whole = _read_together(duckdb, connection, paths)
        for path in paths:
            row = whole.get(path.name)
            yield path, row if row is not None else _row_or_error(duckdb, connection, path)


def _read_together(duckdb: Any, connection: Any, paths: list[Path]) -> Mapping[str, Measurement]:
    try:
        answer = connection.execute(
            "SELECT * FROM read_parquet(?, union_by_name = true, filename = true)", [[str(path) for path in paths]]
        )
        names = [column[0] for column in answer.description]
        found: dict[str, Measurement] = {}
        for values in answer.fetchall():
            record = dict(zip(names, values, strict=True))
            name = Path(record["filename"]).name
            found[name] = from_record(record, name)
        return found
    except (duckdb.Error, FileError):
        return {}  # looked at one by one then


def _row_or_error(duckdb: Any, connection: Any, path: Path) -> Measurement | Exception:
    try:
        found = _read_one(duckdb, connection, path)
    except FileError as error:
        return error
    return found[0] if len(found) == 1 else FileError(f"{path.name} holds {len(found)} rows where one is due")


def _sync(path: Path) -> None:
    if path.is_dir() and os.name != "posix":
        return  # Windows opens no folders
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _take_lock(stream: IO[bytes], folder: Path) -> None:
    """Exclusive, let go by the system when the process ends, however it ends."""
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        stream.close()
        raise FileError(f"another run is writing to {folder}; wait until it ends, or choose another --out") from None
