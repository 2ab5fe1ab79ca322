"""Reading text files from other programs: only ordinary files, only up to a size, and every error
is one sentence.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib

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


def read_text(path: PathLike, most: int) -> str:
    """Return the text of a file, which is unpacked if its name ends in .gz; FileError if it has
    over `most` bytes or is not UTF-8.
    """
    check_ordinary(path)
    try:
        with gzip.open(path) if os.fspath(path).endswith(".gz") else open(path, "rb") as stream:
            data = stream.read(most + 1)
        text = data.decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise FileError(f"{shown_path(path)} cannot be read: {error}; give a text file") from None
    if len(data) > most:
        raise FileError(f"{shown_path(path)} holds more than {most:,} bytes; give a smaller file")
    return text
