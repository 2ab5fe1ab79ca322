"""Rows of a study on disk: one Parquet file per cell, written to a temporary name, fsynced,
renamed; never changed after.

    FOLDER/cells/KEY.parquet    a finished cell
    FOLDER/set-aside/           files found unreadable; their cells are measured again
    FOLDER/study.toml           the study the cells are of
    FOLDER/lock                 held while a run writes

Because a name appears only when its content is on the disk, a run killed at any moment leaves
finished cells and at most one temporary file, which the next run removes. DuckDB (extra `bench`)
writes and reads the files.

`read_results` reads rows from wherever they lie; `write_reference` writes a finished study as one
file that can be published: no folders, people or hosts of the machine it ran on.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import platform
import re
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from discreet.checks import as_list
from discreet.errors import FileError
from discreet.files import parquet
from discreet.reports.measurements import (
    COLUMNS,
    IS_RESULTS,
    KINDS,
    Measurement,
    from_record,
    read_csv,
    to_record,
    write_csv,
)
from discreet.reports.outputs import replace_file
from discreet.reports.study.machine import without_folders, without_hosts
from discreet.reports.study.plan import read_study
from discreet.storage.texts import check_ordinary
from discreet.storage.writing import (
    check_output,
    lock,
    path_text,
    refusals,
    replacing,
    scratch_folder,
)


def _columns() -> dict[str, str]:
    """Return a dictionary from each column to its SQL type."""
    types = {int: "BIGINT", int | None: "BIGINT", float: "DOUBLE"}
    return {name: types.get(kind, "VARCHAR") for name, kind in KINDS.items()}


class Store:
    """The folder of one study, open for writing by one process at a time. It is used as a context
    manager.
    """

    def __init__(self, folder: Path) -> None:
        self._duckdb = parquet.library()
        self.folder = folder
        self.cells = folder / "cells"
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Store:
        held = self.folder / "lock"
        with refusals(self.folder):
            self.cells.mkdir(parents=True, exist_ok=True)
            check_output(held, lambda _: True)
            self._lock = open(held, "ab")  # held until the run ends
        if not lock(self._lock.fileno()):
            self._lock.close()
            raise FileError(
                f"another run is writing to {self.folder}; wait until it ends, or "
                "choose another --out"
            )
        for left in self.cells.glob(".*.part"):
            left.unlink(missing_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.close()

    def adopt(self, name: str, source: str, *, overwrite: bool = False) -> None:
        """Keep the study file with its results.

        Raises FileError if the folder belongs to a study of another name, or holds a study.toml and
        no results (unless it is to be overwritten).
        """
        check_study(self.folder, source, overwrite=overwrite)
        path = self.folder / "study.toml"
        if path.exists():
            try:
                other = read_study(str(path)).name
            except FileError:
                other = name  # of another version, or to be overwritten
            if other != name:
                raise FileError(
                    f"{self.folder} holds the study {other!r}, this one is {name!r}; "
                    "choose another --out"
                )
        replace_file(path, source)

    def finished(self) -> tuple[dict[str, Measurement], list[str]]:
        """Return the finished cells by key, and one sentence for each file that was set aside."""
        cells = {}
        notices = []
        for path in _files(self.cells):
            try:
                cells[path.stem] = _read_cell(path)
            except FileError as error:
                notices.append(self._set_aside(path, str(error)))
        return cells, notices

    def add(self, row: Measurement) -> None:
        """Write the row of a finished cell permanently. Raises FileError if the disk is full or the
        folder does not exist any more.
        """
        try:
            with replacing(self.cells / f"{row.cell}.parquet", overwrite=True) as stream:
                stream.write(_parquet(row))
        except (FileError, OSError, self._duckdb.Error) as error:
            raise FileError(
                f"a result is lost: {' '.join(str(error).split()).partition(';')[0]}; make room "
                "there and run the same "
                "command again, every cell finished before is kept"
            ) from None

    def _set_aside(self, path: Path, reason: str) -> str:
        aside = self.folder / "set-aside"
        try:
            aside.mkdir(exist_ok=True)
            os.replace(path, aside / f"{path.stem}-{secrets.token_hex(4)}{path.suffix}")
        except OSError as error:
            raise FileError(
                f"{path} is unreadable and cannot be set aside: "
                f"{error.strerror or error}; remove it"
            ) from None
        return (
            f"{path.name} is unreadable ({reason}); it was moved to {aside.name} and its cell "
            "is measured again"
        )


def check_study(folder: Path, source: str, *, overwrite: bool = False) -> None:
    """Raise FileError if a run of this study would replace a study.toml that does not belong to the
    folder's results.
    """
    path = folder / "study.toml"
    if path.exists() or path.is_symlink():
        finished = any((folder / "cells").glob("*.parquet"))
        check_output(
            path,
            lambda file: finished or file.read_bytes() == source.encode(),
            overwrite=overwrite,
        )


def rows(folder: str | Path) -> list[Measurement]:
    """Return the rows of a study, by key. Raises FileError for a folder without rows and for a file
    that cannot be read.
    """
    measured = []
    for path in _files(_cells_folder(Path(folder))):
        try:
            measured.append(_read_cell(path))
        except FileError as error:
            raise FileError(
                f"{path} cannot be read: {error}; run discreet bench on the folder again to "
                "measure its cell anew"
            ) from None
    return measured


def query(folder: str | Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names and rows that answer an SQL query over the table `cells`, which has one
    column per field of `Measurement`.

    The query cannot read or write anything outside the folder. Raises FileError for a query that
    DuckDB refuses.
    """
    if not sql.strip():
        raise FileError("the query is empty; write one such as SELECT * FROM cells")
    duckdb = parquet.library()
    cells = _cells_folder(Path(folder))
    columns = ", ".join(f"{name} {kind}" for name, kind in _columns().items())
    with contextlib.closing(duckdb.connect()) as connection:
        connection.execute(f"CREATE TABLE cells ({columns})")
        finished = _files(cells)
        for path in finished:
            check_ordinary(path)
        if finished:
            files = "read_parquet(?, union_by_name = true)"
            connection.execute(
                f"INSERT INTO cells BY NAME SELECT * FROM {files}", [str(cells / "[!.]*.parquet")]
            )
        connection.execute("SET enable_external_access = false")
        try:
            answer = connection.execute(sql)
            named = answer and answer.description  # neither for a comment
            return [column[0] for column in named or ()], list(answer.fetchall()) if named else []
        except (
            duckdb.Error,
            UnicodeError,
            RuntimeError,
        ) as error:  # the last: no text
            said = " ".join(str(error).split())
            raise FileError(
                f"the query is refused: {said}; the table is cells, its columns: "
                f"{', '.join(COLUMNS)}"
            ) from None


def _cells_folder(folder: Path) -> Path:
    cells = folder / "cells"
    if not cells.is_dir():
        raise FileError(
            f"{str(folder)!r} is not the folder of a study; give one that discreet "
            "bench --out wrote"
        )
    return cells


def _parquet(row: Measurement) -> bytes:
    """Return the bytes of a Parquet file with one row."""
    holes = ", ".join(f"?::{kind} AS {name}" for name, kind in _columns().items())
    with scratch_folder() as scratch, parquet.library().connect() as engine:
        engine.execute(f"CREATE TABLE cell AS SELECT {holes}", list(to_record(row).values()))
        engine.execute(f"COPY cell TO '{scratch}/cell.parquet' (FORMAT parquet)")
        return Path(scratch, "cell.parquet").read_bytes()


def _read_parquet(path: Path) -> list[Measurement]:
    """Return the rows of one Parquet file. Raises FileError if discreet did not write it."""
    answer = parquet.query(path, "SELECT * FROM rows")
    names = [column[0] for column in answer.description]
    return [
        from_record(dict(zip(names, values, strict=True)), str(path))
        for values in answer.fetchall()
    ]


def _files(cells: Path) -> list[Path]:
    """Return the files of finished cells, by key."""
    return sorted(cells.glob("[!.]*.parquet"))


def _read_cell(path: Path) -> Measurement:
    """Return the row in the file of a cell. Raises FileError if the file holds anything else."""
    measured = _read_parquet(path)
    if len(measured) != 1:
        raise FileError(f"{path.name} holds {len(measured)} rows, not one")
    if measured[0].cell != path.stem:
        raise FileError("it holds another cell")
    return measured[0]


# -- rows from any place, and rows to publish ---------------------------------------------------


def read_results(paths: Iterable[str | Path]) -> list[Measurement]:
    """Return the rows of study folders and of `.parquet`, `.csv` and `.csv.gz` files, in the order
    given, every measurement once.

    Raises FileError, naming the file and what to do, for anything that cannot be read, and for
    Parquet without duckdb.
    """
    newest: dict[tuple[str, str], Measurement] = {}
    for place in map(
        path_text, as_list(paths, "results", "a list of folders and files", empty=True)
    ):
        for row in _read(Path(place)):
            newest.setdefault((row.cell, row.started), row)
    return list(newest.values())


def _read(path: Path) -> list[Measurement]:
    try:
        is_folder = path.is_dir()
        exists = path.exists()
    except (OSError, ValueError) as error:
        raise FileError(f"{str(path)!r} cannot be read: {error}") from None
    if is_folder:
        return rows(path)
    if not exists:
        raise FileError(
            f"there are no results at {str(path)!r}; give a folder or file that "
            "discreet bench wrote"
        )
    if path.suffix == ".parquet":
        return _read_parquet(path)
    if path.suffix == ".csv" or path.name.endswith(".csv.gz"):
        return read_csv(path)
    raise FileError(
        f"{str(path)!r} is not a file of results by its name; give a folder, .parquet, .csv or "
        ".csv.gz"
    )


def write_reference(folder: Path, target: Path, *, overwrite: bool = False) -> int:
    """Write the rows of a study to `.csv` or `.csv.gz`, in an order that does not depend on the
    order of running, and return their number.

    Raises FileError for another file ending, for a folder without rows, for a row that still holds
    a path or the name of the user or host, for an existing file that holds no results (unless it is
    to be overwritten), and for a place that cannot be written.
    """
    if not target.name.endswith((".csv", ".csv.gz")):
        raise FileError(
            f"{str(target)!r} is not a file of results by its name; let it end in .csv.gz"
        )
    check_output(target, IS_RESULTS, overwrite=overwrite)
    measured = without_hosts(map(without_folders, rows(folder)))
    if not measured:
        raise FileError(f"{folder} holds no finished cells yet; run discreet bench on it first")
    measured.sort(
        key=lambda row: (
            row.family,
            row.problem,
            row.budget_word,
            row.label,
            row.profile,
            row.repeat,
            row.cell,
        )
    )
    names = _own_names()
    for row in measured:
        _refuse_traces(row, names)
    write_csv(measured, target)
    return len(measured)


def _own_names() -> list[str]:
    """Return the names of this user and host, without short names and ordinary words."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = ""
    # And short names stand in ordinary words.
    everyday = {"root", "user", "localhost", "runner", "ubuntu", "admin"}
    return [
        name for name in (user, platform.node()) if len(name) >= 3 and name.lower() not in everyday
    ]


def _refuse_traces(row: Measurement, names: list[str]) -> None:
    for column, value in to_record(row).items():
        text = str(value)
        path = re.search(r"(?:^|[\s\"'(])(/(?:[\w.-]+/)+[\w.-]*|[A-Za-z]:\\\S+)", text)
        name = next(
            (each for each in names if re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text)), None
        )
        if path or name:
            what = path.group(1) if path else name
            raise FileError(
                f"cell {row.cell}: column {column} holds {what!r}, which is private; "
                "remove that cell's file"
            )
