"""Passes: what is found of chunks is merged in one order, wherever the chunks lie and however they
are cut into parts.
"""

import numpy as np
from refusals import raises_input_error

from discreet.problems.folds import FAN, fold
from discreet.problems.outcomes import Chunk, chunk_size


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


def test_siblings_are_merged_at_once_and_once():
    assert fold(Counted(1), own_start, nested) == (0,)
    assert fold(Counted(FAN), own_start, nested, threads=2) == tuple(range(FAN))
    assert fold(Counted(FAN + 2), own_start, nested) == (tuple(range(FAN)), (FAN, FAN + 1))


def test_only_chunks_that_something_is_given_for_are_visited():
    visited = fold(
        Counted(50), lambda chunk, more: (chunk.start, more), nested, given={3: "a", 40: "b"}
    )
    assert visited == ((3, "a"), (40, "b"))


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
