"""Reading and writing `.npz` files of real arrays and short texts; every error is one sentence.

An `.npz` is a zip file of `.npy` members. They are read here without numpy.load: nothing is
unpickled, sizes are checked as declared and again while reading, and checksums are verified to the
end.

Source: the NPY format, numpy.lib.format (versions 1.0 to 3.0).
"""

from __future__ import annotations

import math
import os
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from discreet.checks import brief, whole
from discreet.errors import FileError
from discreet.numerics.double_double import Array
from discreet.storage.texts import check_ordinary
from discreet.storage.writing import replacing, shown_path

DEFAULT_MAX_BYTES = 1 << 31
"""Default limit of the array data in a file: 2 GiB, about 67 million outcomes at n = m = 2."""


_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OverflowError,
    ValueError,
    LookupError,
    RuntimeError,
)
"""Exceptions raised by damaged files; zipfile raises RuntimeError for an encrypted member."""


@dataclass(frozen=True)
class Archive:
    """The members of a file: arrays (float64 when read, any numbers when mapped) and texts by
    name.
    """

    arrays: Mapping[str, np.ndarray[Any, Any]]
    texts: Mapping[str, str]


@dataclass(frozen=True)
class _ArrayHeader:
    """The layout of an `.npy` file: its content follows a header of `offset` bytes, in Fortran or C
    order.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    offset: int

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


# -- reading
# --------------------------------------------------------------------------------------------------


def read_archive(
    path: str | os.PathLike[str],
    *,
    arrays: tuple[str, ...],
    texts: tuple[str, ...],
    max_bytes: int | None,
) -> Archive:
    """Read every member of an `.npz`; all must be among the named arrays and texts.

    max_bytes bounds the unpacked size of the members. With None, any size is allowed: arrays are
    mapped in the file, which must not be compressed. Raises FileError, one sentence.
    """
    where = os.fspath(path)
    if max_bytes is not None:
        whole(max_bytes, "max_bytes", 1)
    values: dict[str, np.ndarray[Any, Any]] = {}
    words: dict[str, str] = {}
    with _open_zip(where, max_bytes) as archive:
        members = _check_members(where, archive, arrays + texts)
        declared = sum(info.file_size for info in members.values())
        if max_bytes is not None and declared > max_bytes:
            raise FileError(
                f"{where} unpacks to {declared:,} bytes and the limit is {max_bytes:,}; raise "
                "max_bytes to read it"
            )
        for name, info in members.items():
            what = f"{where}: {name}"
            with archive.open(info) as stream:
                if name in texts:
                    words[name] = _read_text(what, stream, info.file_size)
                elif max_bytes is not None:
                    values[name] = _read_numbers(what, stream, info.file_size)
                elif (
                    info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size
                ):
                    raise FileError(
                        f"{what} is compressed and cannot be mapped; write it with numpy.savez"
                    )
                else:
                    values[name] = _map_array(
                        what, where, _layout(what, stream, info.file_size), _content(archive, info)
                    )
    return Archive(values, words)


def map_npy(where: str) -> np.ndarray[Any, Any]:
    """Return the numbers of an `.npy` file, mapped. Raises FileError, and OSError if it cannot be
    opened.
    """
    check_ordinary(where)
    with open(where, "rb") as stream:
        layout = _layout(where, stream, os.fstat(stream.fileno()).st_size)
    return _map_array(where, where, layout, 0)


def _map_array(what: str, where: str, layout: _ArrayHeader, start: int) -> np.ndarray[Any, Any]:
    """Return the mapped numbers of an `.npy` that begins at byte `start` of a file."""
    if 0 in layout.shape:
        raise FileError(f"{what} has shape {list(layout.shape)}; give a non-empty array")
    order: Any = "F" if layout.fortran else "C"
    offset = start + layout.offset
    shape = layout.shape or (1,)
    return np.memmap(where, dtype=layout.dtype, mode="r", offset=offset, shape=shape, order=order)


def member_names(path: str | os.PathLike[str]) -> set[str]:
    """Return the names of the members of an `.npz`; an empty set for any other file."""
    try:
        with _open_zip(os.fspath(path), None) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except FileError:
        return set()


@contextmanager
def _open_zip(where: str, max_bytes: int | None) -> Iterator[zipfile.ZipFile]:
    """Open a zip file; any error in it, including one raised inside the block, becomes one
    sentence.
    """
    try:
        check_ordinary(where)
        size = os.stat(where).st_size
        structure = 1 << 20  # allowance for the structure of a zip file
        if max_bytes is not None and size > max_bytes + structure:
            raise FileError(
                f"{where} takes {size:,} bytes and the limit is {max_bytes:,}; raise "
                "max_bytes to read it"
            )
        with open(where, "rb") as stream, zipfile.ZipFile(stream) as archive:
            # zipfile does not compare these numbers.
            if _count_announced(stream) != len(archive.infolist()):
                raise zipfile.BadZipFile(
                    "its directory does not list as many members as it announces"
                )
            yield archive
    except FileError:
        raise
    except OSError as error:
        raise FileError(
            f"{shown_path(where)} cannot be read: {error.strerror or error}; give another file"
        ) from None
    except MemoryError:
        raise FileError(f"{where} does not fit into memory; give a smaller problem") from None
    except _DAMAGED as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise FileError(
            f"{shown_path(where)} is not a readable .npz file ({reason}); write it again, for "
            "example by save_problem"
        ) from None


def _count_announced(stream: IO[bytes]) -> int:
    """Return the number of members in the closing record of a zip file without a comment."""
    # The end of central directory record; its third field counts the members.
    record = struct.Struct("<4s6sH10s")
    stream.seek(-record.size, os.SEEK_END)
    signature, _, members, _ = record.unpack(stream.read(record.size))
    return int(members) if signature == b"PK\5\6" else -1


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """Return the offset of the content of a member: after its local header, whose name and extra
    field may differ from those in the directory.
    """
    stream: Any = archive.fp
    place = stream.tell()
    stream.seek(info.header_offset + 26)
    name, extra = struct.unpack("<HH", stream.read(4))
    stream.seek(place)
    return int(info.header_offset) + 30 + int(name) + int(extra)


def _check_members(
    where: str, archive: zipfile.ZipFile, known: tuple[str, ...]
) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name after checking that all are known, unique and not encrypted."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name not in known or not info.filename.endswith(".npy"):
            raise FileError(
                f"{where} has a member {info.filename!r} that does not belong; it may "
                f"hold {', '.join(known)}"
            )
        if name in members:
            raise FileError(f"{where} has two members named {name!r}; keep one")
        if (
            info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            or info.flag_bits & 0x1
        ):
            raise FileError(
                f"{where}: {name} is encrypted or compressed in an unusual way; write "
                "it with numpy.savez"
            )
        members[name] = info
    return members


def _layout(what: str, stream: IO[bytes], size: int, *, text: bool = False) -> _ArrayHeader:
    """Return the layout of the numbers (or the text) of an `.npy` of `size` bytes; the stream is
    left after the header.
    """
    try:
        if np.lib.format.read_magic(stream)[0] == 1:
            read_header = np.lib.format.read_array_header_1_0
        else:
            read_header = np.lib.format.read_array_header_2_0
        with warnings.catch_warnings(action="error"):
            shape, fortran, dtype = read_header(stream)
    except Exception as error:  # NumPy evaluates a literal, which may fail in many ways
        raise FileError(
            f"{what} has no header of the NPY format ({brief(str(error))}); write it with "
            "numpy.savez"
        ) from None
    if text and (dtype.kind != "U" or shape != ()):
        raise FileError(f"{what} is not a single text; write it as numpy.array('...')")
    if not text and (dtype.kind not in "iuf" or dtype.itemsize > 8):
        raise FileError(
            f"{what} has elements of type {brief(str(dtype))}; give an array of real numbers "
            "(float64)"
        )
    layout = _ArrayHeader(dtype, shape, fortran, stream.tell())
    if layout.offset + layout.bytes != size:
        raise FileError(
            f"{what} declares shape {list(shape)}, {layout.bytes:,} bytes, but holds "
            f"{size - layout.offset:,}; the file is damaged, write it again"
        )
    return layout


def _read_numbers(what: str, stream: IO[bytes], size: int) -> Array:
    layout = _layout(what, stream, size)
    array = np.frombuffer(_read_data(what, stream, layout), dtype=layout.dtype).astype(np.float64)
    return array.reshape(layout.shape, order="F" if layout.fortran else "C")


def _read_text(what: str, stream: IO[bytes], size: int) -> str:
    layout = _layout(what, stream, size, text=True)
    order = "le" if layout.dtype.str[0] == "<" else "be"
    return _read_data(what, stream, layout).decode(f"utf-32-{order}").rstrip("\0")


def _read_data(what: str, stream: IO[bytes], layout: _ArrayHeader) -> bytearray:
    """Return the bytes of the array, allocated as they are read, so that a false size costs no
    memory. Reads to the end to verify the checksum.
    """
    data = bytearray()
    while chunk := stream.read(min(1 << 22, layout.bytes - len(data) + 1)):
        data += chunk
        if len(data) > layout.bytes:
            break
    if len(data) != layout.bytes:
        raise FileError(
            f"{what} should hold {layout.bytes:,} bytes, but the file has another "
            "length; write it again"
        )
    return data


# -- writing
# --------------------------------------------------------------------------------------------------


def write_archive(
    path: str | os.PathLike[str], members: Mapping[str, Any], *, overwrite: bool
) -> None:
    """Write arrays as an `.npz`, all or nothing. Raises FileError if the target exists and may not
    be overwritten.
    """
    with replacing(path, overwrite=overwrite) as stream:
        np.savez(stream, **members)


def new_array(stream: IO[bytes], shape: tuple[int, ...]) -> np.memmap[Any, np.dtype[np.float64]]:
    """Return an `.npy` array of float64 zeros, mapped from an empty file open for reading and
    writing.
    """
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    stream.flush()
    return np.memmap(stream, dtype="<f8", mode="r+", offset=stream.tell(), shape=shape)
