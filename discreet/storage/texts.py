"""Reading text files from other programs: only ordinary files, only up to a size, and every error
is one sentence.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from discreet.errors import FileError
from discreet.storage.writing import PathLike, shown_path


def check_ordinary(path: PathLike) -> None:
    """Raise FileError for anything but an ordinary file, such as a pipe, which could block."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise FileError(f"{shown_path(path)} cannot be read: {why}; give another file") from None
    if not stat.S_ISREG(mode):
        raise FileError(f"{shown_path(path)} is not an ordinary file; give one that is")


def not_utf8(path: PathLike, fault: UnicodeDecodeError) -> FileError:
    """The error of a file that is not text in UTF-8, which names what it seems to be."""
    if fault.object.startswith(b"PK"):
        what = "a zip archive, such as an Excel file; save the table as CSV"
    elif fault.object.startswith((b"\xff\xfe", b"\xfe\xff")):
        what = "UTF-16; save it as UTF-8, for example by iconv -f UTF-16 -t UTF-8"
    else:
        what = (
            f"not UTF-8: it contains the byte {fault.object[fault.start]:#04x}; save it as UTF-8, "
            "for example by iconv -f LATIN1 -t UTF-8"
        )
    return FileError(f"{shown_path(path)} is {what}")


@contextmanager
def open_packed(path: PathLike) -> Iterator[Any]:
    """Open an ordinary file, which is unpacked if its name ends in .gz. Errors while it is read,
    also bytes that are not UTF-8, become a FileError.
    """
    check_ordinary(path)
    try:
        with gzip.open(path) if os.fspath(path).endswith(".gz") else open(path, "rb") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from None
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{shown_path(path)} cannot be read: {error}; give a text file") from None


def read_text(path: PathLike, most: int) -> str:
    """Return the text of a file, which is unpacked if its name ends in .gz; FileError if it has
    over `most` bytes or is not UTF-8.
    """
    with open_packed(path) as stream:
        data = stream.read(most + 1)
        text: str = data.decode("utf-8")
    if len(data) > most:
        raise FileError(f"{shown_path(path)} holds more than {most:,} bytes; give a smaller file")
    return text
