"""Passes: what is found of chunks is merged in one order, wherever the chunks lie and however they
are cut into parts.
"""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from refusals import raises_input_error

from discreet.problems.folds import FAN, fold, found_in, join_nodes, merge_nodes
from discreet.problems.outcomes import Chunk, Mapped, chunk_size


class Counted:
    """N outcomes in chunks of one, without contents."""

    n = m = 1

    def __init__(self, outcomes):
        self.N = outcomes

    def chunks(self):
        for start in range(self.N):
            yield Chunk(start, 1, lambda start=start: (np.full((1, 1), float(start)),) * 2)


def nested(parts):
    """A merge that shows the order of all merges."""
    return tuple(parts)


def own_start(chunk):
    return chunk.start


@given(st.integers(1, 3 * FAN**2), st.data())
def test_the_order_does_not_depend_on_how_chunks_are_cut_into_parts(count, data):
    cuts = sorted(data.draw(st.sets(st.integers(1, count), max_size=9)) | {0, count})
    chunks = list(Counted(count).chunks())
    parts = [
        join_nodes(found_in(chunks[lo:hi], lo, lo, own_start, None), nested)
        for lo, hi in pairwise(cuts)
    ]
    whole = fold(Counted(count), own_start, nested, threads=1)
    while len(parts) > 1:  # neighbours join in any order
        at = data.draw(st.integers(0, len(parts) - 2))
        parts[at : at + 2] = [join_nodes(parts[at] + parts[at + 1], nested)]
    assert merge_nodes(parts[0], nested) == whole


def test_siblings_are_merged_at_once_and_once():
    assert fold(Counted(1), own_start, nested) == (0,)
    assert fold(Counted(FAN), own_start, nested, threads=2) == tuple(range(FAN))
    assert fold(Counted(FAN + 2), own_start, nested) == (tuple(range(FAN)), (FAN, FAN + 1))


def test_only_chunks_that_something_is_given_for_are_visited():
    visited = fold(
        Counted(50), lambda chunk, more: (chunk.start, more), nested, given={3: "a", 40: "b"}
    )
    assert visited == ((3, "a"), (40, "b"))


def test_mapped_blocks_are_read_through_their_change():
    doubled = Mapped(Counted(40), lambda p_xz, loss: (2.0 * p_xz, loss + 1.0))
    total = fold(
        doubled,
        lambda chunk: [part.sum() for part in chunk.read()],
        lambda parts: np.sum(parts, axis=0),
    )
    assert_array_equal(total, [2 * 780, 780 + 40])
    assert (doubled.n, doubled.m, doubled.N) == (1, 1, 40)
    assert_array_equal(next(doubled.chunks()).read()[1], [[1.0]])


def test_chunks_out_of_order_are_refused():
    class Late(Counted):
        def chunks(self):
            yield from list(super().chunks())[1:]

    with raises_input_error(r"outcome 1 .*0 "):
        fold(Late(5), own_start, nested)


def test_there_are_never_more_than_some_hundred_thousand_chunks():
    for outcomes in (1, 1 << 22, (1 << 22) - 1, 1 << 35, (1 << 35) + 1, 10**12, 1 << 45):
        size = chunk_size(outcomes)
        assert -(-outcomes // size) <= 1 << 17
        assert size & (size - 1) == 0
    assert (chunk_size(1 << 21), chunk_size(1 << 22), chunk_size(1 << 35)) == (
        1 << 16,
        1 << 18,
        1 << 18,
    )
