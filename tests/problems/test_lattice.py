"""Count lattices: the generated outcomes are those of `iid_sensors`, and the outcomes left out are
accounted for.
"""

import math

import numpy as np
import pytest
from block_cases import assert_close, assert_streamed, together
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from random_laws import random_joint
from refusals import raises_input_error
from strategies import seeds

from discreet.problems import CountLattice, Problem, lattice_problem
from discreet.problems.outcomes import in_order
from discreet.problems.sensors import (
    PAPER_EDGES,
    count_vectors,
    iid_sensors,
    linear_conditional,
    paper_conditional,
    paper_p_xy,
)
from discreet.problems.sensors.counts import lattice_size
from discreet.problems.streams.lattice_kernels import windows

LOSSES = np.array([[0.0, 1.0, 0.3], [2.0, 0.0, 0.3]])
"""Rules of three guesses for three private values: few shapes, as each is compiled."""
BOTH = pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "numba"])
DISTINCT = default_rng(3).dirichlet(np.full(4, 0.7), size=(3, 2))
CASES = {
    "paper": (paper_conditional(), paper_p_xy(), 15),
    "noisy": (linear_conditional(0.4, 0.6, 1.0, PAPER_EDGES), paper_p_xy(), 40),
    "two bins": (
        np.array([[[0.2, 0.8], [0.7, 0.3]], [[1.0, 0.0], [0.0, 1.0]]]),
        np.full((2, 2), 0.25),
        200,
    ),
    "three by two": (DISTINCT, np.array([[0.1, 0.2], [0.3, 0.0], [0.15, 0.25]]), 12),
    "empty bins": (
        np.array([[[0.0, 0.5, 0.0, 0.5]], [[0.3, 0.0, 0.7, 0.0]]]),
        np.array([[0.4], [0.6]]),
        9,
    ),
    "one sensor": (DISTINCT, np.full((3, 2), 1 / 6), 1),
    "long rows": (
        DISTINCT[:, :, :3] / DISTINCT[:, :, :3].sum(axis=2, keepdims=True),
        np.full((3, 2), 1 / 6),
        300,
    ),
}


@BOTH
@pytest.mark.parametrize("name", CASES)
def test_blocks_are_the_stored_model(name, compiled):
    law, prior, sensors = CASES[name]
    losses = LOSSES if law.shape[:2] == (3, 2) else None
    stored = Problem.from_joint(iid_sensors(law, prior, sensors), 0.1, loss_matrix=losses)
    streamed = lattice_problem(law, prior, sensors, 0.1, loss_matrix=losses, compiled=compiled)
    assert_streamed(streamed, stored)
    assert_allclose(streamed.p_x, stored.p_x, rtol=1e-14)
    assert abs(streamed.p_x.sum() - 1.0) < 1e-14
    assert streamed.N == lattice_size(sensors, law.shape[2])


@given(st.data())
def test_windows_hold_all_outcomes_with_mass(data):
    """The mass that windows leave out is under the limit of the theorem, for every law."""
    seed = data.draw(seeds)
    bins = data.draw(st.integers(2, 4))
    sensors = data.draw(st.sampled_from([3, 17, 60]))
    tail = data.draw(st.sampled_from([1e-15, 1e-6, 1e-2, 0.4]))
    rng = default_rng(seed)
    law = rng.dirichlet(np.full(bins, 10.0 ** rng.uniform(-1, 1)), size=(2, 2))
    prior = random_joint(rng, 2, 2)
    lattice = CountLattice(law, prior, sensors, tail=tail, compiled=False)
    tables = lattice._tables
    rows = lattice_size(sensors, bins - 1)
    low, high = windows(tables, tables.rows(np.arange(rows)))
    assert int(np.maximum(high - low, 0).sum()) == lattice.size - lattice.left_out
    counts = count_vectors(sensors, bins)
    row = np.repeat(np.arange(rows), tables.rows(np.arange(rows))[:, -1] + 1)
    out = (counts[:, -2] < low[row]) | (counts[:, -2] >= high[row])
    joint = iid_sensors(law, prior, sensors)
    lost = joint[:, :, out].sum(axis=2)
    assert (lost <= tail * prior * (1 + 1e-12)).all()
    assert (lost <= lattice.rest * (1 + 1e-9)).all()
    assert lattice.tail <= tail * (1 + 1e-15)


@BOTH
def test_truncated_totals_are_exact(compiled):
    law, prior, sensors = CASES["noisy"]
    for tail in (1e-300, 1e-15, 1e-6, 0.1):
        problem = lattice_problem(law, prior, sensors, 0.1, tail=tail, compiled=compiled)
        a, loss = together(problem.blocks)
        assert_allclose(a.sum(axis=1), problem.p_x, rtol=4e-16)
        assert_allclose(loss.sum(axis=1), problem.constant_errors, rtol=4e-16)
        if problem.tail:
            assert problem.tail <= tail * (1 + 1e-15)
            assert a[:, -1].sum() == pytest.approx(problem.tail, rel=1e-12)


@BOTH
def test_long_rows_are_cut_into_pieces(compiled):
    law = np.array([[[0.3, 0.7]], [[0.31, 0.69]]])
    whole = CountLattice(law, [[0.5], [0.5]], 200_000, compiled=compiled)
    sizes = [chunk.count for chunk in whole.chunks()]
    assert max(sizes) <= 1 << 16
    a, _ = together(whole)
    stored = iid_sensors(law, [[0.5], [0.5]], 200_000).sum(axis=1)
    assert_close(a, stored, 2e-10)  # |log p| here is up to 10^5: neither side has more digits
    likely = stored > 1e-30
    assert_allclose(a[likely], stored[likely], rtol=1e-10)
    short = CountLattice(law, [[0.5], [0.5]], 200_000, tail=1e-15, compiled=compiled)
    assert short.N < 7_000


def test_values_do_not_depend_on_threads_or_chunks():
    law, prior, _ = CASES["noisy"]
    one, two = (
        CountLattice(law, prior, 80, tail=1e-12, threads=threads, compiled=True)
        for threads in (1, 2)
    )
    assert sum(1 for _ in one.chunks()) > 1
    for left, right in zip(together(one), together(two), strict=True):
        assert_array_equal(left, right)
    parallel = list(in_order(two.chunks(), 2, lambda chunk: chunk.read()[0]))
    assert_array_equal(np.concatenate(parallel, axis=1), together(one)[0])


@pytest.mark.parametrize(
    "law, prior, sensors, tail, words",
    [
        ([[[1.0]]], [[1.0]], 3, 0.0, "at least two bins"),
        ([[[0.5, 0.4]]], [[1.0]], 3, 0.0, "sums to 0.9"),
        ([[[0.5, 0.5]]], [[1.0]], 0, 0.0, "sensors"),
        ([[[0.5, 0.5]]], [[1.0]], 3, math.nan, "tail"),
        (np.full((1, 1, 40), 1 / 40), [[1.0]], 500, 0.0, "more than can be visited"),
        ([[[0.5, 0.5]]], [[1.0]], 10**8, 0.0, "tables"),
    ],
)
def test_bad_models_are_refused(law, prior, sensors, tail, words):
    with raises_input_error(words):
        CountLattice(law, prior, sensors, tail=tail)


def test_a_loss_matrix_needs_a_row_per_value_of_y():
    with raises_input_error(r"loss_matrix .*2 .*1"):
        CountLattice([[[0.5, 0.5]]], [[1.0]], 3, np.ones((2, 2)))
