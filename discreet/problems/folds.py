"""Passes over outcomes: apply a function to every chunk, and merge the results in a fixed order.

Results are merged as a tree over the numbers of the chunks: `FAN` neighbours at a time, beginning
with the first chunk, then `FAN` of these results, and so on. The tree depends only on the chunks.
So a rounded sum is the same, bit for bit, on any number of threads, processes and machines, and for
any partition of the outcomes: the holder of neighbouring chunks merges the groups that are
complete, and passes the rest on for others to complete (`join_nodes`).

Source: J. Demmel, H. D. Nguyen, "Parallel reproducible summation", IEEE Transactions on Computers
64 (2015), which also describes exact accumulators, the alternative (docs/decisions/0011-passes.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from discreet.errors import InputError
from discreet.problems.outcomes import Blocks, Chunk, Elsewhere, Mapped, in_order, threads_for

FAN = 16
"""Neighbours merged at a time: this gives few merges, and few incomplete groups at the ends of a
part.
"""

Found = TypeVar("Found")
Node = tuple[int, int, Found]
"""(level, index, result for the FAN^level chunks that begin with number index·FAN^level)."""


def fold(
    blocks: Blocks,
    work: Callable[..., Found],
    merge: Callable[[list[Found]], Found],
    *,
    threads: int = 0,
    given: Mapping[int, Any] | None = None,
    seen: Callable[[int], object] | None = None,
) -> Found:
    """Make one pass: apply work(chunk) to every chunk, and merge the results in the fixed order.

    work     a function that can be pickled and does not contain the blocks; it may run in any
             thread or process
    merge    merges the results of consecutive chunks, in order; called at least once
    threads  0 = all cores; the result does not depend on it
    given    if not None, only the chunks that start at one of its keys are visited, by work(chunk,
             given[chunk.start])
    seen     called with the number of outcomes after each chunk, or once at the end if the blocks
             are in other processes

    Raises InputError for chunks out of order.
    """
    if isinstance(blocks, Mapped):
        return fold(
            blocks.base,
            partial(_work_on_changed, work, blocks.change),
            merge,
            threads=threads,
            given=given,
            seen=seen,
        )
    if isinstance(blocks, Elsewhere):
        total: Found = blocks.fold(work, merge, given)
        if seen is not None:
            seen(blocks.N)
        return total

    workers = threads_for(blocks, threads)
    nodes = found_in(blocks.chunks(), 0, 0, work, given, threads=workers, seen=seen)
    return merge_nodes(join_nodes(nodes, merge), merge)


def found_in(
    chunks: Iterable[Chunk],
    start: int,
    first: int,
    work: Callable[..., Found],
    given: Mapping[int, Any] | None,
    *,
    threads: int = 1,
    seen: Callable[[int], object] | None = None,
) -> Iterator[Node[Found]]:
    """Yield the results of work for chunks that begin at outcome `start`; the first visited chunk
    has number `first`. The other arguments are those of `fold`.
    """

    def visit(chunk: Chunk) -> tuple[int, Found]:
        return chunk.count, work(chunk) if given is None else work(chunk, given[chunk.start])

    parts = in_order(_select_chunks(chunks, start, given), threads, visit)
    for number, (count, part) in enumerate(parts, first):
        if seen is not None:
            seen(count)
        yield 0, number, part


def join_nodes(
    nodes: Iterable[Node[Found]], merge: Callable[[list[Found]], Found]
) -> list[Node[Found]]:
    """Return nodes of consecutive chunks with every complete group of siblings merged.

    Law: joining joined parts gives the same result as joining all nodes, for any partition of the
    chunks.
    """
    done = list[Node[Found]]()
    for node in nodes:
        _append(done, node, merge)
    return done


def merge_nodes(nodes: list[Node[Found]], merge: Callable[[list[Found]], Found]) -> Found:
    """Return the value of all chunks from joined nodes: incomplete groups are merged from the
    lowest level up.
    """
    left = list(nodes)
    while len(left) > 1 or left[0][0] == 0:
        level, index, _ = left[-1]
        group = next((at for at in range(len(left)) if left[at][0] == level), 0)
        siblings = [value for _, _, value in left[group:]]
        left = left[:group]
        _append(left, (level + 1, index // FAN, merge(siblings)), merge)
    return left[0][2]


def _append(
    nodes: list[Node[Found]], node: Node[Found], merge: Callable[[list[Found]], Found]
) -> None:
    """Append a node, and merge the groups that it completes."""
    nodes.append(node)
    while True:
        level, index, _ = nodes[-1]
        first = len(nodes) - FAN
        if index % FAN != FAN - 1 or first < 0 or nodes[first][:2] != (level, index - FAN + 1):
            return
        nodes[first:] = [(level + 1, index // FAN, merge([value for _, _, value in nodes[first:]]))]


def _select_chunks(
    chunks: Iterable[Chunk], start: int, given: Mapping[int, Any] | None
) -> Iterator[Chunk]:
    """Yield the chunks to visit, beginning at an outcome; InputError if they are out of order."""
    for chunk in chunks:
        if chunk.start != start:
            raise InputError(
                f"a chunk starts at outcome {chunk.start} where {start} comes next; "
                "give chunks in order"
            )
        start += chunk.count
        if given is None or chunk.start in given:
            yield chunk


def _work_on_changed(
    work: Callable[..., Found], change: Callable[[Any, Any], Any], chunk: Chunk, *given: Any
) -> Found:
    """Apply work to a changed chunk."""
    return work(chunk.changed(change), *given)
