"""Problems that stay in their files: mapped, checked in one pass, and written block by block.

A mapped file is never read as a whole. `.npy` arrays and the uncompressed members of an `.npz` (as
written by `numpy.savez` and `write_blocks`) are mapped in place; a compressed member is refused.
"""

from __future__ import annotations

import math
import os
import struct
import zipfile
from typing import IO, Any

import numpy as np

from discreet.checks import check_entries, loss_table
from discreet.errors import FileError, InputError
from discreet.files.records import model_arrays, printable, stored_model, under_budget
from discreet.numerics.double_double import Array
from discreet.problems.blocks import BlockProblem
from discreet.problems.constraint import LeakageBudget, Term
from discreet.problems.outcomes import ArrayBlocks, Blocks
from discreet.problems.problem import masses_of_joint
from discreet.problems.streams.sources import Pairs, block_problem, blocks_by_range
from discreet.storage.archive import Archive, map_npy
from discreet.storage.writing import path_text, replacing

_PathLike = str | os.PathLike[str]


def map_problem(
    path: _PathLike,
    budget: float | LeakageBudget | None = None,
    *,
    equivocation: float | None = None,
    loss: _PathLike | None = None,
    loss_matrix: Any = None,
    threads: int = 0,
) -> BlockProblem:
    """Return a problem that stays in its file: an `.npz` with uncompressed members, or one or two
    `.npy` files.

    path           `.npz` with `joint` [n, m, N], or `p_xz` [n, N] and `loss` [m, N]; optional
                   `budget` and `name` as in problem files. Or `.npy` with a joint [n, m, N], or
                   with p_xz [n, N] together with `loss`.
    loss           `.npy` with the loss [m, N] that belongs to a p_xz
    loss_matrix    for a joint: loss of guessing i' when the truth is i [m, guesses], ≥ 0; default
                   0/1 loss
    budget, equivocation   nats; replace the budget in the file. One is needed if the file has none.

    float64 in C order is mapped; other types and orders are converted chunk by chunk. The file must
    not change while the problem is in use. Raises FileError for anything wrong with the files.
    Checksums of members are not verified, but their entries are.
    """
    where = path_text(path)
    try:
        stored = _map_members(where, None if loss is None else path_text(loss))
    except OSError as error:
        raise FileError(f"{where} cannot be read: {error.strerror or error}") from None
    blocks = _blocks_of(where, model_arrays(where, stored), loss_matrix)

    def build(name: str, terms: tuple[Term, ...] | None) -> BlockProblem:
        free = math.inf if terms is None else None
        return block_problem(blocks, free, terms=terms, name=name, threads=threads)

    return under_budget(where, stored, build, budget, equivocation)


def _map_members(where: str, loss: str | None) -> Archive:
    """Return the members of the file, mapped; only the budget and the name are read."""
    if where.endswith(".npy"):
        first = map_npy(where)
        return Archive(
            {"joint": first} if loss is None else {"p_xz": first, "loss": map_npy(loss)}, {}
        )
    if loss is not None:
        raise FileError(
            f"{where} is not an .npy file, so loss= cannot be used with it; leave it out"
        )
    return stored_model(where, None)


def _blocks_of(where: str, arrays: dict[str, np.ndarray[Any, Any]], loss_matrix: Any) -> Blocks:
    """Return the blocks of mapped arrays: `joint`, or `p_xz` and `loss`."""
    if "joint" in arrays:
        joint = arrays["joint"]
        if joint.ndim != 3:
            raise FileError(
                f"{where}: joint has shape {list(joint.shape)}; give [n, m, N], or "
                "p_xz [n, N] with its loss"
            )
        return _joint_blocks(joint, loss_table(loss_matrix, joint.shape[1]))
    if loss_matrix is not None:
        raise InputError(
            f"{where} states its own losses, so loss_matrix cannot be used; leave it out"
        )
    a = arrays["p_xz"]
    loss = arrays["loss"]
    if a.ndim != 2 or loss.ndim != 2 or a.shape[1] != loss.shape[1]:
        raise FileError(
            f"{where}: p_xz has shape {list(a.shape)} and loss {list(loss.shape)}; give [n, N] "
            "and [m, N] with the same N"
        )
    if all(
        array.dtype == np.float64 and array.flags.c_contiguous and array.flags.aligned
        for array in (a, loss)
    ):
        return ArrayBlocks(a, loss)
    # Other types and orders are converted chunk by chunk.
    return blocks_by_range(
        len(a), len(loss), a.shape[1], lambda lo, hi: (_plain(a[:, lo:hi]), _plain(loss[:, lo:hi]))
    )


def _joint_blocks(joint: np.ndarray[Any, Any], loss_matrix: Array) -> Blocks:
    """Return the blocks of a mapped joint tensor [n, m, N], summed to p_xz and loss chunk by
    chunk.
    """

    def read(start: int, stop: int) -> Pairs:
        part = _plain(joint[:, :, start:stop])
        check_entries(part, "joint", start)  # sums could hide a negative entry
        return masses_of_joint(part, loss_matrix)

    return blocks_by_range(len(joint), loss_matrix.shape[1], joint.shape[2], read)


def _plain(array: np.ndarray[Any, Any]) -> Array:
    return np.require(array, np.float64, ["C", "A"])


def write_blocks(
    path: _PathLike,
    blocks: Blocks,
    *,
    budget: float | None = None,
    name: str = "",
    overwrite: bool = False,
) -> None:
    """Write blocks as a problem file (`.npz` with p_xz and loss), all or nothing, in n + m passes
    over single chunks.

    budget (nats) and name are stored if given. Law: `map_problem` and `load_problem` read back the
    same numbers. Raises FileError if the file exists and may not be overwritten, or cannot be
    written.
    """
    where = os.fspath(path)
    with (
        replacing(path, overwrite=overwrite) as stream,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive,
    ):
        for which, (member, rows) in enumerate((("p_xz", blocks.n), ("loss", blocks.m))):
            with _aligned_member(archive, stream, f"{member}.npy") as out:
                header = {"descr": "<f8", "fortran_order": False, "shape": (rows, blocks.N)}
                np.lib.format.write_array_header_1_0(out, header)
                for row in range(rows):
                    for chunk in blocks.chunks():
                        out.write(np.ascontiguousarray(chunk.read()[which][row], dtype="<f8").data)
        if budget is not None:
            _write_small(archive, "budget", np.float64(LeakageBudget(budget).amount))
        if printable(where, name):
            _write_small(archive, "name", np.array(name))


def _aligned_member(archive: zipfile.ZipFile, stream: IO[bytes], name: str) -> IO[bytes]:
    """Return a new member whose content begins at a multiple of 64 bytes of the file, so that
    mapped numbers are aligned.
    """
    info = zipfile.ZipInfo(name)
    fixed = 30 + len(name) + 20  # local header, name, sizes in 64 bits
    padding = -(stream.tell() + fixed + 4) % 64
    # An extra field with a tag of our own, which readers skip.
    info.extra = struct.pack("<HH", 0x7864, padding) + bytes(padding)
    info.external_attr = 0o600 << 16
    return archive.open(info, "w", force_zip64=True)


def _write_small(archive: zipfile.ZipFile, name: str, value: Any) -> None:
    with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as out:
        np.lib.format.write_array(out, np.asanyarray(value), allow_pickle=False)
