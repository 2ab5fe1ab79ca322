"""Systematic samples of outcomes in blocks: what is drawn, how it is scaled, and what is read for
it.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose
from random_laws import random_columns, random_joint
from strategies import seeds

from discreet.problems.outcomes import ArrayBlocks, Chunk
from discreet.problems.streams.sample import sample

SHAPES = [(1, 3), (3, 1), (2, 3), (5, 4)]


def weighed(blocks):
    """Masses and least losses of strips of 128 outcomes, chunk by chunk."""
    found = {}
    for chunk in blocks.chunks():
        p_xz, loss = chunk.read()
        starts = np.arange(0, chunk.count, 128)
        each = np.stack([p_xz.sum(axis=0), loss.min(axis=0)])
        found[chunk.start] = np.add.reduceat(each, starts, axis=1)
    return found


@given(
    st.sampled_from(SHAPES),
    st.integers(1, 900),
    seeds,
    st.booleans(),
    st.integers(1, 400),
)
def test_draws_are_systematic(shape, count, seed, by_error, size):
    n, m = shape
    rng = default_rng(seed)
    joint = random_joint(rng, n, m, count, spread=0.5)
    p_xz = joint.sum(axis=1)
    loss = by_error * (joint.sum(axis=(0, 1)) - joint.sum(axis=0))
    doubt = float(loss.min(axis=0).sum()) or math.inf
    blocks = ArrayBlocks(p_xz, loss, size)
    drawn, counts = sample(blocks, weighed(blocks), 128, 100, threads=1)
    weights = p_xz.sum(axis=0) + loss.min(axis=0) / doubt
    found = drawn[:n].sum(axis=0) + drawn[n:].min(axis=0) / doubt
    assert found.sum() == pytest.approx(weights.sum(), rel=1e-12)
    # Evenly spaced in cumulative weight over all outcomes: each is drawn as often as it holds such
    # a place.
    step = weights.sum() / 100
    times = np.histogram((np.arange(100) + 0.5) * step, np.append(0.0, np.cumsum(weights)))[0]
    # a place at the edge of an outcome may go either way
    assert abs(counts.size - int((times > 0).sum())) <= 2
    expected = np.sort(times[times > 0] * step / weights[times > 0])
    if counts.size == expected.size and not by_error:
        assert np.median(np.abs(np.sort(counts) / expected - 1.0)) <= 1e-9


def test_a_draw_for_every_outcome_is_the_problem_itself():
    count = 256
    rng = default_rng(0)
    split = random_columns(rng, 3, count) / count
    p_xz = np.concatenate([split[:2], split[2:] + (1 / count - split.sum(axis=0))])
    loss = rng.random((2, count)) * [[0.0], [1.0 / count]]  # without an error to weigh by
    for size in (32, 256):
        blocks = ArrayBlocks(p_xz, loss, size)
        drawn, counts = sample(blocks, weighed(blocks), 128, count, threads=1)
        assert_allclose(drawn, np.concatenate([p_xz, loss]), rtol=1e-12)
        assert_allclose(counts, 1.0, rtol=1e-12)


def test_only_the_strips_that_are_drawn_from_are_read():
    p_xz = np.full((2, 4096), 1e-12)
    loss = np.zeros((2, 4096))
    p_xz[:, 3000:3100] = 0.005
    blocks = ArrayBlocks(p_xz, loss, 512)
    first = weighed(blocks)
    read = []

    class Watched(ArrayBlocks):
        def chunks(self):
            for chunk in blocks.chunks():
                yield Chunk(
                    chunk.start,
                    chunk.count,
                    lambda chunk=chunk: (read.append(chunk.start), chunk.read())[1],
                )

    drawn, _ = sample(Watched(p_xz, loss, 512), first, 128, 50, threads=1)
    assert read == [2560, 3072]
    assert_allclose(drawn[:2].sum(), p_xz.sum(), rtol=1e-12)
