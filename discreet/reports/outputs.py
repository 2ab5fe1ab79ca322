"""Writing files atomically. In folders, only files are replaced that were made here and not changed since.

A folder of outputs holds a manifest with the SHA-256 of every file written. A file that is not in it, or that has been
changed since, is never replaced.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.problems.errors import FileError
from discreet.problems.files.archive import replacing

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MANIFEST = "made-by-discreet.json"

Watch = Callable[[int, int, str], None]
"""Progress of long work: called with (steps done, steps in all, what happens now)."""

_LARGEST_MANIFEST = 1 << 20


def replace_file(path: str | Path, content: str | bytes) -> Path:
    """Write a file atomically, by renaming a temporary file over an old one. Raises FileError."""
    target = Path(path)
    try:
        with replacing(target, overwrite=True) as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
    except (FileError, ValueError) as error:
        raise FileError(f"{error}; choose another place") from None
    return target


def plain(value: Any) -> Any:
    """The value as JSON can hold it: words for members of an enumeration, None for numbers that are not finite, lists for
    tuples, mappings of their fields for records, all the way down."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return value


def csv_text(columns: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    """A table as comma-separated text; None is an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    return text.getvalue()


def records_csv(kind: type[DataclassInstance], records: Iterable[DataclassInstance]) -> str:
    """Records of one kind as comma-separated text, a column for each of its fields, values as `plain` gives them."""
    return csv_text([each.name for each in fields(kind)], (plain(record).values() for record in records))


def check_folder(folder: str | Path, names: Iterable[str]) -> None:
    """Raise FileError if `write_folder` would refuse these names; call it before long work."""
    directory = Path(folder)
    if "\0" in str(directory):
        raise FileError(f"{str(directory)!r} holds a null character, which no path can; choose another --out")
    try:
        there = next(path for path in (directory.absolute(), *directory.absolute().parents) if path.exists())
        if not there.is_dir():
            raise FileError(f"{there} is a file and the results need a folder; choose another --out")
        if not os.access(there, os.W_OK):
            raise FileError(f"{there} cannot be written; choose another --out")
        known = _known(directory)
        for name in names:
            _refuse_foreign(directory / name, known.get(name, []))
    except OSError as error:
        raise FileError(f"{str(directory)!r} cannot be used for results: {error}; choose another --out") from error


def write_folder(folder: str | Path, contents: Mapping[str, str | bytes], record: Mapping[str, Any]) -> tuple[Path, ...]:
    """Write files by name into a folder, made if need be, with a manifest that also holds `record`.

    Raises FileError, and changes nothing, when a name is taken by a file that was not made here or has been changed since,
    or when the folder cannot be written.
    """
    directory = Path(folder)
    check_folder(directory, contents)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        old = _known(directory)
        new = {name: [_digest(content)] for name, content in contents.items()}
        # Both generations while files change over, so that an interruption leaves nothing that looks foreign.
        both = {name: [*old.get(name, []), *new.get(name, [])] for name in {*old, *new}}
        replace_file(directory / MANIFEST, _manifest(record, both))
        written = tuple(replace_file(directory / name, content) for name, content in contents.items())
        replace_file(directory / MANIFEST, _manifest(record, old | new))
    except OSError as error:
        raise FileError(f"{directory} cannot be written: {error.strerror or error}; choose another --out") from error
    return written


def _manifest(record: Mapping[str, Any], digests: Mapping[str, list[str]]) -> str:
    entries = {"made_by": "discreet", **record, "sha256": dict(sorted(digests.items()))}
    return json.dumps(entries, indent=1, allow_nan=False) + "\n"


def _known(directory: Path) -> dict[str, list[str]]:
    """Digests of the files made here before, by name; a manifest that is not one says nothing and is never replaced."""
    path = directory / MANIFEST
    if not path.exists() and not path.is_symlink():
        return {}
    try:
        if path.is_symlink() or path.stat().st_size > _LARGEST_MANIFEST:
            raise ValueError("it is a link or too large")
        found = json.loads(path.read_text(encoding="utf-8"))["sha256"]
        return {str(name): [str(digest) for digest in digests] for name, digests in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(f"{path} is not a list of files made by discreet ({error}); choose another --out") from None


def _refuse_foreign(path: Path, digests: list[str]) -> None:
    if not path.exists() and not path.is_symlink():
        return
    if path.is_symlink() or not path.is_file() or _digest(path.read_bytes()) not in digests:
        raise FileError(f"{path} was not made here, or was changed since, and is left alone; choose another --out")


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()
