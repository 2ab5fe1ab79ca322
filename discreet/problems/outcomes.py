"""Where outcomes come from: the kinds of problem, and sources that are passed over in chunks.

`Blocks` is the interface of a source of outcomes: its sizes, and chunks that can be read in any
order and from several threads. Arrays in memory, files, generated lattices and collections of
Dask are such sources.
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
# Outcomes from which chunks of arrays are four times as large: handing one out costs 30 µs.
_LARGE_FROM = 1 << 22
_SHARED_FROM = 1 << 20  # outcomes from which sharing a pass over arrays between threads pays
_AHEAD = 3  # pieces of work handed out per thread before the oldest result is taken

Item = TypeVar("Item")
Found = TypeVar("Found")


class Kind(Enum):
    """The kinds of problem; the value is the word for it in messages.

    answer   what answers a problem of the kind
    arrays   how to make a problem in arrays of one of the kind
    """

    ARRAYS = "outcomes in arrays", "a matrix [m, N] or an OutcomeRule", "give it as it is"
    BLOCKS = "outcomes in blocks", "an OutcomeRule", "give fewer outcomes"
    DENSITIES = "a continuous measurement", "an IntervalRule", "bin it: give `problem.on(edges)`"
    STEPS = "guesses over time", "a CausalRule", "give its `noncausal`"

    answer: str
    arrays: str

    def __new__(cls, word: str, answer: str, arrays: str) -> Kind:
        """A member whose value is its word in messages."""
        member = object.__new__(cls)
        member._value_ = word
        member.answer = answer
        member.arrays = arrays
        return member


def in_order(items: Iterable[Item], threads: int, work: Callable[[Item], Found]) -> Iterator[Found]:
    """work(item) for every item, on `threads` threads (0 = all cores), results in the order of the
    items.

    Only a few items are taken ahead of the results, so that few chunks are in memory at once. When
    the caller stops early or an exception passes through, items that have not begun are cancelled.
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
    """Whether the outcomes are in arrays, from which they are read quickly; all others are made
    anew in every pass.
    """
    return isinstance(blocks, ArrayBlocks | Elsewhere)


def threads_for(blocks: Blocks, asked: int) -> int:
    """Threads for passes over the blocks: those asked for (0 = all cores), but one for few that are
    read quickly.
    """
    return 1 if asked == 0 and is_stored(blocks) and blocks.N < _SHARED_FROM else asked


def chunk_size(outcomes: int) -> int:
    """Outcomes in a chunk of arrays, by how many there are in all; there are at most 2¹⁷ chunks."""
    larger = CHUNK_OUTCOMES * (4 if outcomes >= _LARGE_FROM else 1)
    return max(larger, 1 << max(0, (outcomes - 1).bit_length() - 17))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive outcomes; `read()` gives their (p_xz [n, count], loss [m, count]) and may be
    called from any thread.
    """

    start: int
    count: int
    read: Callable[[], tuple[Array, Array]]

    def changed(self, change: Callable[[Array, Array], tuple[Array, Array]]) -> Chunk:
        """The chunk whose outcomes are change(p_xz, loss)."""
        return Chunk(self.start, self.count, lambda: change(*self.read()))


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over all outcomes that the judge divides by or compares with.

    marginal      Σ_l a_l [n]
    constraints   its sum for each constraint
    errors        of constant guesses [m], for a total probability of one
    off           |total − 1| of masses that are not divided by it, at most
    """

    marginal: DoubleDouble
    constraints: list[float]
    errors: Array
    off: float


class Blocks(Protocol):
    """A source of N outcomes that can be passed over any number of times, always in
    the same order.
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
    """Blocks in arrays of other processes or machines: work is sent there, and what it finds comes
    back merged.
    """

    def fold(
        self,
        work: Callable[..., Any],
        merge: Callable[[list[Any]], Any],
        given: Mapping[int, Any] | None,
    ) -> Any:
        """As the function `fold` of `folds`."""


@dataclass(frozen=True, eq=False)
class ArrayBlocks:
    """Arrays in memory or mapped from a file, p_xz [n, N] and loss [m, N], in chunks of `size` (0:
    a size that suits N).
    """

    p_xz: Array
    loss: Array
    size: int = 0

    @property
    def n(self) -> int:
        """Private values."""
        return int(self.p_xz.shape[0])

    @property
    def m(self) -> int:
        """Guesses."""
        return int(self.loss.shape[0])

    @property
    def N(self) -> int:  # noqa: N802
        """Outcomes."""
        return int(self.p_xz.shape[1])

    def chunks(self) -> Iterator[Chunk]:
        """Slices; nothing is copied."""
        size = self.size or chunk_size(self.N)
        for start in range(0, self.N, size):
            stop = min(start + size, self.N)
            yield Chunk(start, stop - start, partial(self._read, slice(start, stop)))

    def _read(self, places: slice) -> tuple[Array, Array]:
        return self.p_xz[:, places], self.loss[:, places]


@dataclass(frozen=True, eq=False)
class Mapped:
    """Blocks that are those of `base`, each changed when it is read: change(p_xz [n, ·], loss [m,
    ·]) gives both anew.
    """

    base: Blocks
    change: Callable[[Array, Array], tuple[Array, Array]]

    @property
    def n(self) -> int:
        """Private values."""
        return self.base.n

    @property
    def m(self) -> int:
        """Guesses."""
        return self.base.m

    @property
    def N(self) -> int:  # noqa: N802
        """Outcomes."""
        return self.base.N

    def chunks(self) -> Iterator[Chunk]:
        """The chunks of the base, changed."""
        return (chunk.changed(self.change) for chunk in self.base.chunks())
