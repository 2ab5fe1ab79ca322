"""The kinds of problem, and sources of outcomes that are read in chunks.

`Blocks` is the interface of a source of outcomes: its sizes, and chunks that can be read in any
order and from several threads. Arrays in memory, files, generated lattices and Dask collections
implement it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

from discreet.numerics.double_double import Array, DoubleDouble

CHUNK_OUTCOMES = 1 << 16
# Number of outcomes from which chunks are four times as large, since each chunk costs 30 µs.
_LARGE_FROM = 1 << 22
_SHARED_FROM = 1 << 20  # number of outcomes from which several threads are faster than one
_AHEAD = 3  # tasks submitted per thread before the oldest result is taken

Item = TypeVar("Item")
Found = TypeVar("Found")


class Kind(Enum):
    """The kinds of problem; the value is the description in messages.

    answer   the type of an answer to a problem of this kind
    arrays   how to make a problem in arrays from one of this kind
    """

    ARRAYS = "outcomes in arrays", "a matrix [m, N] or an OutcomeRule", "give it as it is"
    BLOCKS = "outcomes in blocks", "an OutcomeRule", "give fewer outcomes"
    DENSITIES = "a continuous measurement", "an IntervalRule", "bin it: give `problem.on(edges)`"
    STEPS = "guesses over time", "a CausalRule", "give its `noncausal`"

    answer: str
    arrays: str

    def __new__(cls, word: str, answer: str, arrays: str) -> Kind:
        """Return a member whose value is its description in messages."""
        member = object.__new__(cls)
        member._value_ = word
        member.answer = answer
        member.arrays = arrays
        return member


def in_order(items: Iterable[Item], threads: int, work: Callable[[Item], Found]) -> Iterator[Found]:
    """Yield work(item) for every item in order, computed by `threads` threads (0 = all cores).

    Only a few items are taken ahead of the results, so that few chunks are in memory at the same
    time. If the caller stops early or an exception is raised, items that have not started are
    cancelled.
    """
    workers = threads or os.cpu_count() or 1
    if workers <= 1:
        yield from map(work, items)
        return
    waiting: deque[Future[Found]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= _AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def is_stored(blocks: Blocks) -> bool:
    """Return True if the outcomes are stored in arrays, which are fast to read; all other sources
    compute them again in every pass.
    """
    return isinstance(blocks, ArrayBlocks | Elsewhere)


def threads_for(blocks: Blocks, asked: int) -> int:
    """Return the number of threads for passes over the blocks: as requested (0 = all cores), but 1
    by default for few stored outcomes.
    """
    return 1 if asked == 0 and is_stored(blocks) and blocks.N < _SHARED_FROM else asked


def chunk_size(outcomes: int) -> int:
    """Return the number of outcomes in a chunk of arrays; there are at most 2¹⁷ chunks."""
    larger = CHUNK_OUTCOMES * (4 if outcomes >= _LARGE_FROM else 1)
    return max(larger, 1 << max(0, (outcomes - 1).bit_length() - 17))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive outcomes; `read()` returns (p_xz [n, count], loss [m, count]) and may be called
    from any thread.
    """

    start: int
    count: int
    read: Callable[[], tuple[Array, Array]]

    def changed(self, change: Callable[[Array, Array], tuple[Array, Array]]) -> Chunk:
        """Return the chunk with outcomes change(p_xz, loss)."""
        return Chunk(self.start, self.count, lambda: change(*self.read()))


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over all outcomes that the judge divides by or compares with.

    marginal      Σ_l a_l [n]
    constraints   the sum of the marginal for each constraint
    errors        error probabilities of the constant guesses [m], for a total probability of one
    off           upper bound of |total − 1| for masses that are not divided by their total
    """

    marginal: DoubleDouble
    constraints: list[float]
    errors: Array
    off: float


class Blocks(Protocol):
    """A source of N outcomes that can be passed over any number of times, always in the same
    order.
    """

    @property
    def n(self) -> int: ...
    @property
    def m(self) -> int: ...
    @property
    def N(self) -> int: ...  # noqa: N802 (the symbol of the theory)
    def chunks(self) -> Iterator[Chunk]: ...


@runtime_checkable
class Elsewhere(Protocol):
    """Blocks in arrays of other processes or machines: work is sent there, and the merged results
    are returned.
    """

    def fold(
        self,
        work: Callable[..., Any],
        merge: Callable[[list[Any]], Any],
        given: Mapping[int, Any] | None,
    ) -> Any:
        """Do the same as the function `fold` of `folds`."""


@dataclass(frozen=True, eq=False)
class ArrayBlocks:
    """Arrays in memory or mapped from a file, p_xz [n, N] and loss [m, N], in chunks of `size`
    outcomes (0: chosen by N).
    """

    p_xz: Array
    loss: Array
    size: int = 0

    @property
    def n(self) -> int:
        """The number n of private values."""
        return int(self.p_xz.shape[0])

    @property
    def m(self) -> int:
        """The number m of guesses."""
        return int(self.loss.shape[0])

    @property
    def N(self) -> int:  # noqa: N802
        """The number N of outcomes."""
        return int(self.p_xz.shape[1])

    def chunks(self) -> Iterator[Chunk]:
        """Yield slices; nothing is copied."""
        size = self.size or chunk_size(self.N)
        for start in range(0, self.N, size):
            stop = min(start + size, self.N)
            yield Chunk(start, stop - start, partial(self._read, slice(start, stop)))

    def _read(self, places: slice) -> tuple[Array, Array]:
        return self.p_xz[:, places], self.loss[:, places]


def chunks_of_pairs(
    pairs: Iterable[tuple[Array, Array]], size: int, start: int = 0
) -> Iterator[Chunk]:
    """Yield chunks of consecutive arrays (p_xz [n, ·], loss [m, ·]), the first of which begins at
    outcome `start`. Nothing is copied, and no chunk spans two pairs.
    """
    for p_xz, loss in pairs:
        for chunk in ArrayBlocks(p_xz, loss, size).chunks():
            yield Chunk(start + chunk.start, chunk.count, chunk.read)
        start += p_xz.shape[1]


@dataclass(frozen=True, eq=False)
class Mapped:
    """The blocks of `base`, changed when they are read: change(p_xz [n, ·], loss [m, ·]) returns
    both.
    """

    base: Blocks
    change: Callable[[Array, Array], tuple[Array, Array]]

    @property
    def n(self) -> int:
        """The number n of private values."""
        return self.base.n

    @property
    def m(self) -> int:
        """The number m of guesses."""
        return self.base.m

    @property
    def N(self) -> int:  # noqa: N802
        """The number N of outcomes."""
        return self.base.N

    def chunks(self) -> Iterator[Chunk]:
        """Return the changed chunks of the base."""
        return (chunk.changed(self.change) for chunk in self.base.chunks())
