"""Output files: checked before work begins, replaced only if discreet wrote them, written whole or
not at all.

A temporary file in the same folder replaces the target once it is complete and on disk. Temporary
files and folders are locked while they are in use. Killed runs leave unlocked ones, which later
runs remove.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias

from discreet.checks import brief
from discreet.errors import FileError

PathLike: TypeAlias = str | os.PathLike[str]
Made: TypeAlias = Callable[[Path], bool]
"""A function that returns True if discreet wrote a file, given the path of an ordinary file."""

_PREFIX = ".discreet-"  # prefix of the names of temporary files and folders


def path_text(path: PathLike) -> str:
    """Return a path as text; FileError for anything else."""
    if not isinstance(path, str | os.PathLike):
        raise FileError(f"{brief(path)} is not a path; give the name of a file")
    return os.fspath(path)


def shown_path(path: PathLike) -> str:
    """Return a path as shown in messages: at most one line."""
    text = path_text(path)
    return text if text.isprintable() and 0 < len(text) <= 200 else brief(text)


def marked(*marks: str) -> Made:
    """Return a function that recognises text files, also compressed ones, by one of the marks
    within their first 4096 bytes.
    """

    def made(path: Path) -> bool:
        with path.open("rb") as stream:
            start = stream.read(4096)
        if start.startswith(b"\x1f\x8b"):
            with contextlib.suppress(zlib.error):
                start = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(start, 4096)
        return any(mark.encode() in start for mark in marks)

    return made


def check_output(
    path: PathLike, made: Made | None, *, inputs: Iterable[PathLike] = (), overwrite: bool = False
) -> Path:
    """Return the path of a file to be written, checked before work begins.

    made: recognises the files that may be replaced; None for files that carry no mark

    Raises FileError for a path that cannot be written, that is not an ordinary file, or that is one
    of `inputs`; and for a file that discreet did not write, unless `overwrite` is set.
    """
    target = Path(path_text(path))
    with refusals(path):
        if not os.fspath(path):
            raise FileError("the name of the output is empty; give the name of a file")
        if target.exists() and any(
            os.path.exists(each) and target.samefile(each) for each in inputs
        ):
            raise FileError(
                f"{target} is an input and would be lost; choose another place for the output"
            )
        if _is_there(target) and not overwrite:
            if made is None:
                raise FileError(f"{target} exists; choose another name, or replace it with --force")
            if not made(target):
                raise FileError(
                    f"{target} was not made here, or was changed since, and is left alone; choose "
                    "another place for the output, or replace it with --force (in Python "
                    "overwrite=True)"
                )
        if not target.parent.exists():
            raise FileError(
                f"{target} cannot be written: there is no folder {target.parent}; create it, or "
                "choose another place for the output"
            )
        try_writing(target.parent)
    return target


def try_writing(folder: Path) -> None:
    """Create a file in the folder and remove it, since permissions do not say whether that works;
    raises OSError.
    """
    tempfile.TemporaryFile(prefix=_PREFIX, dir=folder).close()


@contextmanager
def refusals(path: PathLike) -> Iterator[None]:
    """Turn an error of the operating system about a path into one sentence, a FileError."""
    shown = shown_path(path)
    if "\0" in path_text(path):
        raise FileError(
            f"{shown} holds a null character, which no path can; choose another place "
            "for the output"
        )
    try:
        yield
    except OSError as error:
        raise FileError(
            f"{shown} cannot be written: {error.strerror or error}; choose another place for the "
            "output"
        ) from None


def _is_there(target: Path) -> bool:
    """Return True if a file exists; FileError for anything but an ordinary file."""
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link"}
        kind = kinds.get(stat.S_IFMT(mode), "a device or pipe")
        raise FileError(
            f"{target} is {kind} and cannot be written as a file; choose another "
            "place for the output"
        )
    return True


@contextmanager
def replacing(path: PathLike, *, overwrite: bool) -> Iterator[IO[bytes]]:
    """Open a new file for reading and writing, which replaces `path` once the block ends without an
    exception.

    Raises FileError if the target exists and may not be overwritten or is not an ordinary file, or
    if the operating system does not permit writing.
    """
    target = Path(path_text(path))
    with refusals(path):
        if target.exists() and not overwrite:
            raise FileError(f"{target} exists already; choose another name or pass overwrite=True")
        _is_there(target)
        _remove_leftovers(target.parent, "part")
        temporary = target.absolute().with_name(f"{_PREFIX}{secrets.token_hex(8)}.part")
        # O_EXCL: never open an existing file; 0o666: the usual permissions of a new file.
        descriptor = os.open(
            temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
        )
        try:
            with os.fdopen(descriptor, "w+b") as stream:
                lock(stream.fileno())
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself durable, on systems that can open a folder."""
    if os.name == "posix":
        with _open_folder(folder) as descriptor:
            os.fsync(descriptor)


@contextmanager
def scratch_folder() -> Iterator[str]:
    """Create a temporary folder, after removing those of killed runs."""
    _remove_leftovers(Path(tempfile.gettempdir()), "scratch")
    with tempfile.TemporaryDirectory(".scratch", _PREFIX, ignore_cleanup_errors=True) as folder:
        if os.name != "posix":
            yield folder
            return
        with _open_folder(Path(folder)) as descriptor:
            lock(descriptor)
            yield folder


def lock(descriptor: int) -> bool:
    """Lock an open file or folder and return True, or False if another process has locked it. The
    lock ends with the process, even if it is killed.
    """
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True


def _remove_leftovers(place: Path, ending: str) -> None:
    """Remove unlocked temporary files of this user. Files younger than a minute stay, since they
    may not be locked yet.
    """
    if os.name != "posix":
        return
    for left in place.glob(f"{_PREFIX}*.{ending}"):
        with contextlib.suppress(OSError):
            status = left.lstat()
            if (
                status.st_uid != os.getuid()
                or time.time() - status.st_mtime < 60.0
                or stat.S_ISLNK(status.st_mode)
            ):
                continue
            with _open_folder(left) as descriptor:
                if lock(descriptor):
                    shutil.rmtree(left) if stat.S_ISDIR(status.st_mode) else left.unlink()


@contextmanager
def _open_folder(path: Path) -> Iterator[int]:
    """Yield the descriptor of a file or folder, opened without blocking."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
