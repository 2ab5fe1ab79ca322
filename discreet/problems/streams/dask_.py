"""Outcomes that are stored in Dask: on the workers of a cluster, or in the threads of this process.

The outcomes are cut into *parts* that stay where Dask put them. A pass sends a function and a tilt,
a few kilobytes, to every part; each part works through its chunks, and neighbouring parts merge
their results on the workers, in the fixed order of `folds`. One small result is returned, whatever
the number of outcomes. So answers are reproducible bit for bit, for any number of workers and any
partition, and equal those of the same arrays in this process.

Dask recomputes lost parts from their origin (a file, a function), and repeats the work on them: a
worker that dies costs only time.

Source: Dask, https://docs.dask.org (delayed, persist); docs/decisions/0011-passes.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import accumulate, chain, pairwise
from typing import Any, TypeVar

import numpy as np

from discreet.checks import as_list
from discreet.errors import Absent, InputError, how_to_install
from discreet.numerics.double_double import Array
from discreet.problems.blocks import BlockProblem
from discreet.problems.constraint import LeakageBudget, Term
from discreet.problems.folds import FAN, Node, found_in, join_nodes, merge_nodes
from discreet.problems.outcomes import Chunk, chunk_size, chunks_of_pairs
from discreet.problems.streams.sources import block_problem, check_shapes

_LARGE = 1 << 23
"""Number of outcomes from which a block is a part of its own: a pass over it takes 30 ms, and Dask
needs 1 ms to schedule it.
"""

Found = TypeVar("Found")
_Pair = tuple[Array, Array]
_Delayed = Any


def from_dask(
    p_xz: Any,
    loss: Any = None,
    budget: float | LeakageBudget | None = None,
    *,
    equivocation: float | None = None,
    terms: tuple[Term, ...] | None = None,
    name: str = "",
) -> BlockProblem:
    """Return a problem whose outcomes are stored in Dask, on the workers of the current client or
    in threads of this process.

    p_xz   p(x_j, z_l): a Dask array [n, N]; or a Dask DataFrame with n columns and a row for every
           outcome; or a list of delayed blocks, each an array [n, ·], or each a pair (p_xz [n, ·],
           loss [m, ·]), and then without `loss`
    loss   L_i(z_l): an array [m, N], DataFrame with m columns or list of delayed blocks [m, ·],
           partitioned like p_xz
    budget, equivocation, terms, name   as for `block_problem`; budget and equivocation in nats

    The outcomes are computed and persisted where Dask puts them, so they must fit into the memory
    of all workers. Blocks of fewer than 2^23 outcomes are merged, as long as two parts per thread
    remain. Larger blocks are not changed: give at least one block for each thread. One pass checks
    every entry and adds up the totals. Raises InputError for blocks of other shapes, and as
    `block_problem` does; Absent if Dask is not installed.
    """
    try:
        import_module("dask.delayed")
    except ImportError as error:
        raise Absent(
            f"from_dask needs dask, which does not import ({error}); "
            f"{how_to_install('distributed')}"
        ) from None
    return block_problem(
        _open_pairs(_pairs_of(p_xz, loss)),
        budget,
        equivocation=equivocation,
        terms=terms,
        name=name,
    )


# -- blocks in Dask
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DaskBlocks:
    """Outcomes in persisted parts, in chunks of `size` outcomes, except that the last may be
    smaller.

    n, m, N  numbers of private values, guesses, outcomes
    starts   the first outcome of each part, a multiple of `size`
    parts    Dask's delayed values, each a `Partition`
    """

    n: int
    m: int
    N: int
    size: int
    starts: tuple[int, ...]
    parts: tuple[_Delayed, ...]

    def chunks(self) -> Iterator[Chunk]:
        """Yield chunks that fetch their outcomes when they are read, one at a time."""
        for (start, stop), part in zip(pairwise([*self.starts, self.N]), self.parts, strict=True):
            for at in range(start, stop, self.size):
                yield Chunk(at, min(self.size, stop - at), partial(_fetch_pair, part, at))

    def fold(
        self,
        work: Callable[..., Found],
        merge: Callable[[list[Found]], Found],
        given: Mapping[int, Any] | None,
    ) -> Found:
        """Make one pass on the workers, where the nodes of `FAN` neighbouring parts at a time are
        joined.
        """
        import dask
        from dask.delayed import delayed

        visit = delayed(_visit_part, pure=False)
        join = delayed(_join_parts, pure=False)
        parts = [visit(part, *place, work, merge) for part, place in self._visits(given)]
        while len(parts) > FAN:
            parts = [join(parts[at : at + FAN], merge) for at in range(0, len(parts), FAN)]
        nodes: list[Node[Found]] = _join_parts(dask.compute(*parts, optimize_graph=False), merge)
        return merge_nodes(nodes, merge)

    def _visits(
        self, given: Mapping[int, Any] | None
    ) -> Iterator[tuple[_Delayed, tuple[int, Mapping[int, Any] | None]]]:
        """Yield the parts to visit, each with the number of its first visited chunk and the entries
        of `given` for its chunks.
        """
        keys = np.array(sorted(given or ()))
        for bounds, part in zip(pairwise([*self.starts, self.N]), self.parts, strict=True):
            if given is None:
                yield part, (bounds[0] // self.size, None)
                continue
            first, last = np.searchsorted(keys, bounds).tolist()
            if last > first:
                yield part, (first, {key: given[key] for key in keys[first:last].tolist()})


@dataclass(frozen=True, eq=False)
class Partition:
    """Consecutive outcomes that begin with number `start`, in a pair (p_xz [n, ·], loss [m, ·]) for
    each chunk of `size` outcomes; only the last may have fewer.
    """

    start: int
    size: int
    pairs: tuple[_Pair, ...]

    def chunks(self) -> Iterator[Chunk]:
        """Return chunks of slices; nothing is copied."""
        return chunks_of_pairs(self.pairs, self.size, self.start)


def _fetch_pair(part: _Delayed, start: int) -> _Pair:
    from dask.delayed import delayed

    arrays: _Pair = delayed(_read, pure=False)(part, start).compute()
    return arrays


def _read(part: Partition, start: int) -> _Pair:
    return part.pairs[(start - part.start) // part.size]


def _visit_part(
    part: Partition,
    first: int,
    given: Mapping[int, Any] | None,
    work: Callable[..., Found],
    merge: Callable[[list[Found]], Found],
) -> list[Node[Found]]:
    return join_nodes(found_in(part.chunks(), part.start, first, work, given), merge)


def _join_parts(
    parts: Sequence[list[Node[Found]]], merge: Callable[[list[Found]], Found]
) -> list[Node[Found]]:
    return join_nodes(chain.from_iterable(parts), merge)


# -- opening
# --------------------------------------------------------------------------------------------------


def _open_pairs(pairs: list[_Delayed]) -> DaskBlocks:
    """Persist the pairs, read their sizes, and cut them into parts of whole chunks."""
    import dask
    from dask.delayed import delayed

    held = dask.persist(*pairs, optimize_graph=False)
    shapes = dask.compute(
        *(delayed(_shapes, pure=False)(pair) for pair in held), optimize_graph=False
    )
    n, m = (shape[0] for shape in shapes[0])
    for number, pair_shapes in enumerate(shapes):
        check_shapes(f"block {number}", pair_shapes, n, m)
    ends = np.cumsum([columns for _, (_, columns) in shapes]).tolist()
    if ends[-1] == 0:
        raise InputError("the blocks hold no outcomes; give at least one")
    size = chunk_size(ends[-1])
    starts = _starts(ends, size)
    make = delayed(_part, pure=False)
    cut = delayed(_cut_pair, pure=False)
    parts = list[_Delayed]()
    for start, stop in pairwise([*starts, ends[-1]]):
        pieces = []
        for (first, last), pair in zip(pairwise([0, *ends]), held, strict=True):
            low = max(start, first)
            high = min(stop, last)
            if low < high:  # cut a pair before it moves to another machine
                pieces.append(cut(pair, low - first, high - first))
        parts.append(make(start, size, pieces))
    return DaskBlocks(
        n, m, ends[-1], size, tuple(starts), dask.persist(*parts, optimize_graph=False)
    )


def _starts(ends: list[int], size: int) -> list[int]:
    """Return the starts of the parts: the next chunk after the end of a block, if that makes the
    previous part large enough.
    """
    wanted = min(_LARGE, -(-ends[-1] // (2 * _threads())))
    starts = [0]
    for end in ends[:-1]:
        following = -(-end // size) * size
        if following < ends[-1] and following - starts[-1] >= wanted:
            starts.append(following)
    return starts


def _threads() -> int:
    """Return the number of threads of all workers of the current client, or of this machine."""
    try:
        from distributed import get_client

        return max(1, sum(map(int, get_client().nthreads().values())))
    except (ImportError, ValueError):  # no client
        return os.cpu_count() or 1


def _part(start: int, size: int, pieces: Sequence[_Pair]) -> Partition:
    """Return a part of consecutive pieces, cut into chunks. Only chunks that span several pieces
    are copied.
    """
    ends = list(accumulate([piece[0].shape[1] for piece in pieces], initial=0))
    pairs = []
    for first in range(0, ends[-1], size):
        cuts = [
            _cut_pair(piece, max(0, first - begin), first + size - begin)
            for (begin, end), piece in zip(pairwise(ends), pieces, strict=True)
            if begin < first + size and first < end
        ]
        pairs.append(_concatenate_pairs(cuts))
    return Partition(start, size, tuple(pairs))


def _cut_pair(pair: _Pair, start: int, stop: int) -> _Pair:
    return pair[0][:, start:stop], pair[1][:, start:stop]


def _concatenate_pairs(pairs: list[_Pair]) -> _Pair:
    if len(pairs) == 1:
        return pairs[0]
    return np.concatenate([pair[0] for pair in pairs], axis=1), np.concatenate(
        [pair[1] for pair in pairs], axis=1
    )


def _shapes(pair: _Pair) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return pair[0].shape, pair[1].shape


# -- what Dask holds
# --------------------------------------------------------------------------------------------------


def _pairs_of(p_xz: Any, loss: Any) -> list[_Delayed]:
    """Return one delayed pair (p_xz [n, ·], loss [m, ·]) for each block."""
    from dask.delayed import delayed

    pair = delayed(_pair, pure=False)
    if loss is None:
        return [
            pair(number, block)
            for number, block in enumerate(_blocks(p_xz, "p_xz, which comes without a loss,"))
        ]
    arrays = hasattr(p_xz, "rechunk") and hasattr(loss, "rechunk") and p_xz.ndim == loss.ndim == 2
    if arrays and p_xz.shape[1] == loss.shape[1]:  # False if the sizes are unknown
        loss = loss.rechunk({1: p_xz.chunks[1]})
    masses = _blocks(p_xz, "p_xz")
    losses = _blocks(loss, "loss")
    if len(masses) != len(losses):
        raise InputError(f"p_xz has {len(masses)} blocks and loss {len(losses)}; cut both alike")
    return [pair(number, both) for number, both in enumerate(zip(masses, losses, strict=True))]


def _blocks(given: Any, what: str) -> list[_Delayed]:
    """Return the delayed blocks of an array, a data frame or a list."""
    from dask import is_dask_collection

    wanted = (
        "give a Dask array [rows, outcomes], a Dask DataFrame with a row for every outcome, "
        "or a list of delayed blocks"
    )
    if isinstance(given, list | tuple):
        blocks = as_list(given, what, "a list of delayed blocks")
    elif is_dask_collection(given) and hasattr(given, "rechunk"):
        if given.ndim != 2:
            raise InputError(
                f"{what} is a Dask array of shape {list(given.shape)}; give one of [rows, outcomes]"
            )
        blocks = given.rechunk({0: -1}).to_delayed().ravel().tolist()
    elif is_dask_collection(given) and hasattr(given, "npartitions") and hasattr(given, "columns"):
        blocks = given.to_delayed()
    else:
        raise InputError(f"{what} is {type(given).__name__}, which is not in Dask; {wanted}")
    if not (blocks and all(map(is_dask_collection, blocks))):
        raise InputError(f"{what} is a list of other things than delayed blocks; {wanted}")
    return list(blocks)


def _pair(number: int, block: Any) -> _Pair:
    """Return a block as a pair of arrays in rows."""
    if not (isinstance(block, list | tuple) and len(block) == 2):
        raise InputError(
            f"block {number} is {type(block).__name__}; give pairs (p_xz, loss), or the loss apart"
        )
    return _array(block[0], "p_xz", number), _array(block[1], "loss", number)


def _array(block: Any, what: str, number: int) -> Array:
    """Return rows of doubles, from an array or the columns of a data frame."""
    try:
        array = np.asarray(
            block.to_numpy().T if hasattr(block, "to_numpy") else block, dtype=np.float64
        )
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the {what} of block {number} is not made of numbers ({error}); give numbers alone"
        ) from None
    if array.ndim != 2:
        raise InputError(
            f"the {what} of block {number} has shape {list(array.shape)}; give [rows, outcomes]"
        )
    return np.require(array, np.float64, ["C", "A"])
