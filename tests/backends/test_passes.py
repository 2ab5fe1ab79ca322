"""The passes over the outcomes: NumPy and numba agree, whatever the chunks and the threads; cells,
shells and samples.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from strategies import seeds

from discreet.backends.tilt import passes
from discreet.backends.tilt.passes import SCREENED, SHELLS, TIES, Pass, _visit, classify, shell_top
from discreet.numerics import label_strips
from discreet.numerics.compiled import compiled_available
from discreet.problems import ArrayBlocks

NUMBA = pytest.mark.skipif(not compiled_available(), reason="numba is not installed (extra fast)")
BOTH = pytest.mark.parametrize(
    "compiled", [False, pytest.param(True, marks=NUMBA)], ids=["numpy", "numba"]
)
# Few, as each is compiled: nothing to hide, nothing to choose, n > m.
SHAPES = [(1, 3), (3, 1), (3, 2)]


def outcomes(n, m, count, seed, size=64):
    """Outcomes of all kinds: ordinary, of no mass, tiny, equal in all losses, without loss,
    repeated.
    """
    rng = default_rng(seed)
    p_xz = rng.random((n, count)) / (n * count)
    loss = rng.random((m, count)) / count
    kind = rng.integers(0, 8, size=count)
    loss[:, kind == 1] = loss[0, kind == 1]
    loss[:, kind == 2] = 0.0
    p_xz[:, kind == 3] = 1e-310
    loss[:, kind == 3] = 1e-311
    p_xz[:, kind == 4] = 0.25 / count
    loss[:, kind == 4] = 0.125 / count
    p_xz[:, kind == 5] = 5e-324  # margins beyond the largest double
    p_xz[:, kind == 6] = 0.0
    loss[:, kind == 6] = 0.0
    return ArrayBlocks(p_xz, loss, size)


def scan(
    blocks,
    tilt,
    retain,
    most=None,
    threads=0,
    compiled=None,
    **how,
):
    """One pass, by default over all outcomes that the margin allows."""
    wanted = Pass(tilt, retain, blocks.N if most is None else most, **how)
    return passes.scan(blocks, wanted, threads=threads, compiled=compiled)


def tilt_for(n, m, seed, scale):
    return scale * default_rng(seed).normal(size=(m, n))


def assert_same(one, other, *, rounding):
    assert_array_equal(one.retained, other.retained)
    count = one.retained.size
    assert_array_equal(one.columns[:, :count], other.columns[:, :count])
    assert_array_equal(one.keys, other.keys)
    assert_array_equal(one.counts, other.counts)
    assert one.threshold == other.threshold
    assert list(one.weights) == list(other.weights)
    for start, mine in one.weights.items():
        assert_allclose(mine, other.weights[start], rtol=max(rounding, 1e-12), atol=1e-300)
    assert_allclose(one.columns[:, count:], other.columns[:, count:], rtol=rounding, atol=0.0)
    assert one.total == pytest.approx(other.total, rel=10 * rounding, abs=rounding)


thresholds = st.sampled_from([-math.inf, 0.0, 1e-12, 0.01, 0.3, math.inf])
scales = st.sampled_from([0.0, 1e-17, 1e-9, 0.3, 5.0])
screens = st.sampled_from([0.0, 1e-6, 0.1, 1.0, math.inf])
mosts = st.sampled_from([None, 0, 1, 20])


CASES = (
    st.sampled_from(SHAPES),
    st.integers(1, 400),
    seeds,
    scales,
    thresholds,
    screens,
    mosts,
)


@NUMBA
@given(*CASES)
def test_compiled_and_numpy_decide_alike(shape, count, seed, scale, threshold, screen, most):
    n, m = shape
    blocks = outcomes(n, m, count, seed, 300)
    tilt = tilt_for(n, m, seed, scale)
    asked = {"screen": screen, "most": most, "strip": 128, "threads": 1}
    with np.errstate(all="raise", under="ignore"):
        one = scan(blocks, tilt, threshold, compiled=False, **asked)
    other = scan(blocks, tilt, threshold, compiled=True, **asked)
    assert_same(one, other, rounding=1e-12)


@NUMBA
def test_kernels_are_compiled_once_for_tilts_in_any_order():
    blocks = outcomes(3, 2, 200, 0)
    tilt = tilt_for(3, 2, 0, 0.3)
    one, other = (
        scan(blocks, each, 0.1, screen=1.0, compiled=True)
        for each in (tilt, np.asfortranarray(tilt))
    )
    assert_same(one, other, rounding=0.0)
    assert [len(kernel.signatures) for kernel in (label_strips._kernel(), _visit(3, 2))] == [1, 1]


@BOTH
@given(*CASES)
def test_everything_is_listed_or_in_a_cell(
    compiled, shape, count, seed, scale, threshold, screen, most
):
    n, m = shape
    blocks = outcomes(n, m, count, seed)
    tilt = tilt_for(n, m, seed, scale)
    found = scan(blocks, tilt, threshold, screen=screen, most=most, threads=1, compiled=compiled)
    assert found.retained.size <= (count if most is None else most)
    assert found.threshold <= threshold
    possible = blocks.p_xz.sum(axis=0) > 0.0
    assert found.retained.size + found.counts.sum() == possible.sum()
    assert (np.diff(found.retained) > 0).all()
    assert (found.counts > 0).all()
    stacked = np.concatenate([blocks.p_xz, blocks.loss])
    assert_array_equal(found.columns[:, : found.retained.size], stacked[:, found.retained])
    assert_allclose(found.columns.sum(axis=1), stacked[:, possible].sum(axis=1), rtol=1e-12)
    least = (blocks.loss + tilt @ blocks.p_xz).min(axis=0)[possible]
    assert found.total == pytest.approx(least.sum(), rel=1e-12, abs=1e-13)


@given(st.sampled_from(SHAPES), st.integers(1, 300), seeds, scales)
def test_keys_say_best_second_and_shell(shape, count, seed, scale):
    n, m = shape
    blocks = outcomes(n, m, count, seed)
    tilt = tilt_for(n, m, seed, scale)
    margin, key, least = classify(blocks.p_xz, blocks.loss, tilt)
    possible = blocks.p_xz.sum(axis=0) > 0.0
    best = key // (m * SHELLS)
    second = key // SHELLS % m
    shell = key % SHELLS
    losses = blocks.loss + tilt @ blocks.p_xz
    places = np.arange(count)
    rounding = 1e-13 * (blocks.loss.max(axis=0) + np.abs(tilt).max() * blocks.p_xz.sum(axis=0))
    assert (losses[best, places] <= losses.min(axis=0) + rounding).all()
    assert (np.abs(least - losses.min(axis=0)) <= rounding).all()
    if m > 1:
        assert (second != best).all()
        assert (losses[second, places] <= np.sort(losses, axis=0)[1] + rounding).all()
    assert np.isnan(margin[~possible]).all()
    assert (margin[possible] >= 0.0).all()
    for place in np.flatnonzero(possible):
        assert shell[place] == SHELLS - 1 or margin[place] < shell_top(shell[place])
        assert shell[place] < TIES or shell_top(shell[place] - 1) <= margin[place]


@BOTH
def test_ties_are_told_apart_by_their_mean_private_value(compiled):
    rng = default_rng(1)
    mean = np.append(rng.random(400), [0.0, 1.0])
    p_xz = np.stack([1.0 - mean, np.zeros_like(mean), mean]) / 402
    loss = np.stack([p_xz[2], 0.5 * p_xz[2]])
    tilt = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.5]])  # the second guess costs what it saves
    found = scan(ArrayBlocks(p_xz, loss, 100), tilt, -math.inf, compiled=compiled)
    assert found.ties == 402
    cells = np.minimum((mean * TIES).astype(int), TIES - 1)
    assert_array_equal(found.keys % SHELLS, np.unique(cells))
    assert_array_equal(found.counts, np.unique(cells, return_counts=True)[1])
    assert_allclose(found.columns[2], np.bincount(cells, weights=p_xz[2])[np.unique(cells)])


@BOTH
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_chunks_and_threads_change_nothing(compiled, size):
    whole = outcomes(3, 2, 500, 7, 1000)
    tilt = tilt_for(3, 2, 7, 0.2)
    blocks = ArrayBlocks(whole.p_xz, whole.loss, size)
    alone = scan(blocks, tilt, 0.1, threads=1, compiled=compiled)
    for threads in (2, 3, 0):
        assert_same(
            scan(blocks, tilt, 0.1, threads=threads, compiled=compiled), alone, rounding=0.0
        )
    assert_same(scan(whole, tilt, 0.1, threads=1, compiled=compiled), alone, rounding=1e-13)


def test_screened_outcomes_share_a_cell_for_each_label():
    blocks = outcomes(3, 3, 400, 5)
    tilt = tilt_for(3, 3, 5, 0.3)
    apart = scan(blocks, tilt, 0.01, compiled=False)
    together = scan(blocks, tilt, 0.01, screen=0.2, compiled=False)
    assert_array_equal(together.retained, apart.retained)
    distant = together.screened
    assert not apart.screened.any()
    assert distant.sum() == 3
    best = np.argmin(blocks.loss + tilt @ blocks.p_xz, axis=0)
    margin, _, _ = classify(blocks.p_xz, blocks.loss, tilt)
    for label, cell in zip(range(3), np.flatnonzero(distant), strict=True):
        members = (best == label) & (margin >= 0.2)
        assert together.counts[cell] == members.sum()
        assert_allclose(
            together.columns[:3, together.retained.size + cell],
            blocks.p_xz[:, members].sum(axis=1),
            rtol=1e-12,
        )


def test_too_many_outcomes_of_equal_margins_are_left_to_the_cells():
    p_xz = np.full((2, 100), 0.005)
    loss = np.tile([[0.004], [0.006]], 100)
    loss[1, :7] = 0.0045
    found = scan(ArrayBlocks(p_xz, loss, 10), np.zeros((2, 2)), 1.0, most=20)
    assert_array_equal(found.retained, np.arange(7))
    assert found.counts.sum() == 93
    assert 0.05 < found.threshold < 0.2


@BOTH
@given(st.integers(1, 400), seeds, st.sampled_from([1e-12, 0.01, 0.3]), screens, mosts)
def test_draws_are_those_of_the_threshold_reached(compiled, count, seed, threshold, screen, most):
    """Whatever the chunks: all outcomes retained, and of others a share in inverse proportion to
    the margin.
    """
    blocks = outcomes(3, 2, count, seed, 300)
    tilt = tilt_for(3, 2, seed, 0.3)
    found = scan(
        blocks, tilt, threshold, screen=screen, most=most, draws=True, threads=1, compiled=compiled
    )
    margin, _, _ = classify(blocks.p_xz, blocks.loss, tilt, max(screen, threshold))
    phase = np.modf((np.arange(count) + 1.0) * 0.5 * (math.sqrt(5.0) - 1.0))[0]
    with np.errstate(invalid="ignore"):
        chosen = (margin * phase <= found.threshold) & (margin <= SCREENED * found.threshold)
    expected = np.concatenate([blocks.p_xz, blocks.loss, margin[None]])[:, chosen]
    assert_allclose(found.drawn[:-1], expected, rtol=1e-12)
    assert set(found.retained.tolist()) <= set(np.flatnonzero(chosen).tolist())
    assert scan(blocks, tilt, threshold, most=most, threads=1, compiled=compiled).drawn.shape == (
        7,
        0,
    )
