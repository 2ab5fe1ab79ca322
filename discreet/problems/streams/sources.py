"""Sources of blocks: mapped files, and any iterator that can be started again.

A mapped file is never read as a whole. `.npy` arrays and the uncompressed members of an `.npz` (as
`numpy.savez` and `write_blocks` write them) are mapped where they lie; a compressed member is
refused. One pass checks every entry and adds up the totals, with the rules and messages of
`Problem`. A total that is one within 1e-9 but not within rounding is divided out of every chunk
when it is read.
"""

from __future__ import annotations

import math
import os
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import IO, Any

import numpy as np

from discreet.problems.blocks import BlockProblem
from discreet.problems.checks import (
    TOTAL_TOLERANCE,
    are_masses,
    check_ceiling,
    check_entries,
    check_stray_losses,
    checked_name,
    loss_table,
    refuse_total,
    whole,
)
from discreet.problems.constraint import LeakageBudget, Term, constraint_of, named, one_term
from discreet.problems.errors import FileError, InputError
from discreet.problems.files.archive import Archive, map_npy
from discreet.problems.files.records import model_arrays, printable, stored_model, under_budget
from discreet.problems.files.writing import path_text, replacing
from discreet.problems.folds import fold
from discreet.problems.numerics.double_double import Array, DoubleDouble, dd_add
from discreet.problems.numerics.label_strips import compiled_pays, strip_sums
from discreet.problems.numerics.sums import totals
from discreet.problems.outcomes import CHUNK_OUTCOMES, ArrayBlocks, Blocks, Chunk, Mapped
from discreet.problems.problem import LARGEST_LOSS, ROUNDED_TOTAL, masses_of_joint
from discreet.problems.stacking import check_rows, check_same_outcomes

_PathLike = str | os.PathLike[str]
_Pairs = tuple[Array, Array]


# -- any blocks
# --------------------------------------------------------------------------------------------------


def block_problem(
    blocks: Blocks,
    budget: float | LeakageBudget | None = None,
    *,
    equivocation: float | None = None,
    terms: tuple[Term, ...] | None = None,
    name: str = "",
    threads: int = 0,
) -> BlockProblem:
    """The problem of any blocks: one pass checks every entry and adds up the totals.

    Give one of budget (nats) and equivocation (H0, nats); or terms, if the rows of p_xz are the
    private joints of several secrets, one under the other. threads: 0 = all cores. Raises
    InputError, naming the entry, for everything that `Problem` refuses (entries that are negative
    or not finite, a total further than 1e-9 from one, a loss above 1e100 or on an outcome without
    probability), and for blocks of the wrong shape or number.
    """
    if blocks.N < 1:
        raise InputError("the blocks hold no outcomes; give at least one")
    if terms is not None and not (budget is None and equivocation is None):
        raise InputError("the terms state their budgets; leave budget and equivocation out")
    chosen = one_term(LeakageBudget(math.inf), blocks.n) if terms is None else terms
    check_rows(chosen, blocks.n)
    checked = partial(_checked, blocks.n, blocks.m, compiled_pays(blocks.N), chosen)
    seen, sums = fold(blocks, checked, _added, threads=threads)
    if seen != blocks.N:
        raise InputError(
            f"the blocks hold {seen} outcomes but say N = {blocks.N}; state the number they hold"
        )
    totals = [
        math.fsum([*sums[0][term.rows].tolist(), *sums[1][term.rows].tolist()]) for term in chosen
    ]
    names = [f"{named(number, len(chosen))}p_xz" for number in range(len(chosen))]
    for total, what in zip(totals, names, strict=True):
        refuse_total(total, what)
    totals = [1.0 if abs(total - 1.0) <= ROUNDED_TOTAL else total for total in totals]
    if any(total != 1.0 for total in totals):
        by = np.repeat([*totals, totals[0]], [*(sum(term.sizes) for term in chosen), blocks.m])
        blocks = Mapped(blocks, partial(_scaled, by))
        sums = sums[0] / by, sums[1] / by
    p_x, losses = np.split(sums[0] + sums[1], [blocks.n])
    if terms is None:
        terms = one_term(constraint_of(budget, equivocation, [p_x]), blocks.n)
    return BlockProblem(blocks, terms, p_x, losses, checked_name(name))


def _added(parts: list[tuple[int, DoubleDouble]]) -> tuple[int, DoubleDouble]:
    """How many outcomes, and their totals."""
    return sum(count for count, _ in parts), reduce(dd_add, [totals for _, totals in parts])


def _checked(
    n: int, m: int, compiled: bool, terms: tuple[Term, ...], chunk: Chunk
) -> tuple[int, DoubleDouble]:
    """How many outcomes a chunk has, and their totals [n + m], after checking all entries."""
    a, loss = chunk.read()
    for what, array, rows in (("p_xz", a, n), ("loss", loss, m)):
        if array.shape != (rows, chunk.count):
            raise InputError(
                f"the {what} of the chunk at outcome {chunk.start} has shape {list(array.shape)}; "
                f"give {[rows, chunk.count]}"
            )
    found = None
    rest = (a, loss)
    if compiled:  # all that is not a mass is among what is not clear
        found = strip_sums(a, loss, np.zeros((m, n)), 0.0)
        rest = a[:, found.unclear], loss[:, found.unclear]
    if not are_masses(*rest):
        _refuse_no_masses(chunk.start, a, loss)
    sums = totals(*rest, found)
    if not (sums[0][:n].max() <= 1.0 and sums[0][n:].max() <= LARGEST_LOSS):
        # Sums that are not too large have no entries that are.
        _refuse_no_masses(chunk.start, a, loss)
    if not any(row.min() > 0.0 for row in a):
        check_stray_losses(a, loss, chunk.start)
    check_same_outcomes(a, terms, chunk.start)
    return chunk.count, sums


def _refuse_no_masses(start: int, a: Array, loss: Array) -> None:
    """Refuse entries that are no masses, naming the first."""
    if (
        a.min() >= 0.0
        and loss.min() >= 0.0
        and a.max() <= 1.0 + TOTAL_TOLERANCE
        and loss.max() <= LARGEST_LOSS
    ):
        return
    check_entries(a, "p_xz", start)
    check_entries(loss, "loss", start)
    check_ceiling(a, "p_xz", 1.0 + TOTAL_TOLERANCE, "divide p_xz by its sum", start)
    check_ceiling(loss, "loss", LARGEST_LOSS, "state losses in a larger unit", start)


@dataclass(frozen=True, eq=False)
class _Source:
    """Blocks of the sizes n, m, N, with chunks from a function."""

    n: int
    m: int
    N: int
    chunks: Callable[[], Iterator[Chunk]]


def _scaled(totals: Array, p_xz: Array, loss: Array) -> _Pairs:
    """Every row of p_xz and loss divided by a total [n + m]."""
    n = len(p_xz)
    return p_xz / totals[:n, None], loss / totals[n:, None]


def _by_range(n: int, m: int, outcomes: int, read: Callable[[int, int], _Pairs]) -> Blocks:
    """Blocks from a function that reads outcomes, given the first and the one after the last."""

    def chunks() -> Iterator[Chunk]:
        for start in range(0, outcomes, CHUNK_OUTCOMES):
            stop = min(start + CHUNK_OUTCOMES, outcomes)
            yield Chunk(start, stop - start, partial(read, start, stop))

    return _Source(n, m, outcomes, chunks)


# -- iterators
# --------------------------------------------------------------------------------------------------


def blocks_from(
    factory: Callable[[], Iterable[_Pairs]], n: int, m: int, N: int | None = None
) -> Blocks:
    """Blocks of an iterator that can be started again: factory() yields (p_xz [n, ·], loss [m, ·])
    pairs.

    Every call must yield the same outcomes in the same order. N is counted in a pass of its own
    when it is not given. Raises InputError for pairs of the wrong shape, or another number of
    outcomes than N.
    """
    sizes = whole(n, "n", 1, 1e6), whole(m, "m", 1, 1e6)
    if N is None:
        N = sum(a.shape[1] for a, _ in _pairs(factory, *sizes))
    N = whole(N, "N", 1)
    return _Source(*sizes, N, partial(_iterated, factory, *sizes, N))


def _iterated(
    factory: Callable[[], Iterable[_Pairs]], n: int, m: int, outcomes: int
) -> Iterator[Chunk]:
    start = 0
    for a, loss in _pairs(factory, n, m):
        for chunk in ArrayBlocks(a, loss, CHUNK_OUTCOMES).chunks():
            yield Chunk(start + chunk.start, chunk.count, chunk.read)
        start += a.shape[1]
    if start != outcomes:
        raise InputError(
            f"the iterator gave {start} outcomes where {outcomes} were announced; it must give "
            "the same ones every time"
        )


def _pairs(factory: Callable[[], Iterable[_Pairs]], n: int, m: int) -> Iterator[_Pairs]:
    for number, pair in enumerate(factory()):
        try:
            a, loss = (np.asarray(part, dtype=np.float64) for part in pair)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"item {number} of the iterator is not a pair of arrays ({error}); "
                "give (p_xz, loss)"
            ) from None
        if (
            a.ndim != 2
            or loss.ndim != 2
            or (len(a), len(loss)) != (n, m)
            or a.shape[1] != loss.shape[1]
        ):
            raise InputError(
                f"item {number} of the iterator has shapes {list(a.shape)} and {list(loss.shape)}; "
                f"give [{n}, B] and [{m}, B] with the same B"
            )
        if a.shape[1]:
            yield a, loss


# -- mapped files
# --------------------------------------------------------------------------------------------------


def map_problem(
    path: _PathLike,
    budget: float | LeakageBudget | None = None,
    *,
    equivocation: float | None = None,
    loss: _PathLike | None = None,
    loss_matrix: Any = None,
    threads: int = 0,
) -> BlockProblem:
    """A problem that stays in its file: an `.npz` with uncompressed members, or one or two `.npy`
    files.

    path           `.npz` with `joint` [n, m, N], or `p_xz` [n, N] and `loss` [m, N]; optional
                   `budget` and `name` as in problem files. Or `.npy` with a joint [n, m, N], or
                   with p_xz [n, N] beside `loss`.
    loss           `.npy` with the loss [m, N] that goes with a p_xz
    loss_matrix    for a joint: loss of guessing i' when the truth is i [m, guesses], ≥ 0; default
                   0/1 loss
    budget, equivocation   nats; replace the budget in the file. One is needed if the file has none.

    float64 in C order is mapped; other numbers and orders are converted chunk by chunk. The file
    must not change while the problem is in use. Raises FileError for anything wrong with the files.
    Checksums of members are not verified, but their entries are.
    """
    where = path_text(path)
    try:
        stored = _stored(where, None if loss is None else path_text(loss))
    except OSError as error:
        raise FileError(f"{where} cannot be read: {error.strerror or error}") from None
    blocks = _blocks_of(where, model_arrays(where, stored), loss_matrix)

    def build(name: str, terms: tuple[Term, ...] | None) -> BlockProblem:
        free = math.inf if terms is None else None
        return block_problem(blocks, free, terms=terms, name=name, threads=threads)

    return under_budget(where, stored, build, budget, equivocation)


def _stored(where: str, loss: str | None) -> Archive:
    """The members of the file, mapped; nothing is read yet but the budget and the name."""
    if where.endswith(".npy"):
        first = map_npy(where)
        return Archive(
            {"joint": first} if loss is None else {"p_xz": first, "loss": map_npy(loss)}, {}
        )
    if loss is not None:
        raise FileError(f"{where} is no .npy file, so loss= cannot be used with it; leave it out")
    return stored_model(where, None)


def _blocks_of(where: str, arrays: dict[str, np.ndarray[Any, Any]], loss_matrix: Any) -> Blocks:
    """The blocks of mapped arrays: `joint`, or `p_xz` and `loss`."""
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
    # other numbers and orders are converted chunk by chunk
    return _by_range(
        len(a), len(loss), a.shape[1], lambda lo, hi: (_plain(a[:, lo:hi]), _plain(loss[:, lo:hi]))
    )


def _joint_blocks(joint: np.ndarray[Any, Any], loss_matrix: Array) -> Blocks:
    """A mapped joint tensor [n, m, N], summed to p_xz and loss chunk by chunk."""

    def read(start: int, stop: int) -> _Pairs:
        part = _plain(joint[:, :, start:stop])
        if not (part.min() >= 0.0 and part.max() <= 1.0 + TOTAL_TOLERANCE):  # sums could hide it
            check_entries(part, "joint", start)
        return masses_of_joint(part, loss_matrix)

    return _by_range(len(joint), loss_matrix.shape[1], joint.shape[2], read)


def _plain(array: np.ndarray[Any, Any]) -> Array:
    return np.require(array, np.float64, ["C", "A"])


# -- writing
# --------------------------------------------------------------------------------------------------


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
    """A new member whose content begins at a multiple of 64 bytes of the file, so that mapped
    numbers are aligned.
    """
    info = zipfile.ZipInfo(name)
    fixed = 30 + len(name) + 20  # local header, name, sizes in 64 bits
    padding = -(stream.tell() + fixed + 4) % 64
    # a tag of discreet's own, which readers skip
    info.extra = struct.pack("<HH", 0x7864, padding) + bytes(padding)
    info.external_attr = 0o600 << 16
    return archive.open(info, "w", force_zip64=True)


def _write_small(archive: zipfile.ZipFile, name: str, value: Any) -> None:
    with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as out:
        np.lib.format.write_array(out, np.asanyarray(value), allow_pickle=False)
