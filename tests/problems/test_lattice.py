"""Counts of sensors that are generated on the fly, of one kind and in groups: the outcomes are
those of the stored models, and the outcomes left out are accounted for.
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

from discreet.problems import CountLattice, GroupLattice, Problem, grouped_problem, lattice_problem
from discreet.problems.outcomes import in_order
from discreet.problems.sensors import (
    PAPER_EDGES,
    count_vectors,
    grouped_sensors,
    iid_sensors,
    linear_conditional,
    paper_conditional,
    paper_p_xy,
)
from discreet.problems.sensors.counts import lattice_size
from discreet.problems.streams import groups
from discreet.problems.streams.lattice_kernels import windows

SPARSE = np.array([[0.1, 0.2], [0.3, 0.0], [0.15, 0.25]])
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
    "three by two": (DISTINCT, SPARSE, 12),
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


FAR, NEAR = (linear_conditional(weight, 0.6, 0.5, PAPER_EDGES) for weight in (0.1, 0.7))


def alike(law, sensors):
    return np.tile(law, (sensors, 1, 1, 1))


def different(seed, sensors, bins, n=3, m=2):
    return default_rng(seed).dirichlet(np.full(bins, 0.7), size=(sensors, n, m))


GROUPS = {
    "two groups": ([alike(FAR, 12), alike(NEAR, 9)], paper_p_xy()),
    "one group": ([alike(FAR, 20)], paper_p_xy()),
    "three of several bins": ([different(1, 4, 3), different(2, 3, 2), different(3, 5, 4)], SPARSE),
    "a long last group": ([different(4, 1, 2), different(5, 60, 4)], SPARSE),
    "single sensors": ([different(seed, 1, 3) for seed in range(6)], np.full((3, 2), 1 / 6)),
    "empty bins": (
        [np.array([[[[0.0, 0.5, 0.5]], [[0.3, 0.7, 0.0]]]] * 7)] * 2,
        np.array([[0.4], [0.6]]),
    ),
}


@pytest.mark.parametrize("name", GROUPS)
def test_blocks_of_groups_are_the_stored_model(name):
    laws, prior = GROUPS[name]
    losses = LOSSES if prior.shape == (3, 2) else None
    stored = Problem.from_joint(grouped_sensors(laws, prior), 0.1, loss_matrix=losses)
    streamed = grouped_problem(laws, prior, 0.1, loss_matrix=losses, name="many")
    assert_streamed(streamed, stored)
    assert streamed.name == "many"


@given(st.sampled_from(list(GROUPS)), st.sampled_from([1e-300, 1e-15, 1e-6, 1e-2, 0.4]))
def test_what_is_left_out_is_in_the_last_outcome(name, tail):
    laws, prior = GROUPS[name]
    lattice = GroupLattice(laws, prior, tail=tail)
    assert lattice.tail <= tail * (1 + 1e-15)
    assert lattice.size == lattice.left_out + lattice.N - (1 if lattice.left_out else 0)
    a, loss = together(lattice)
    assert_allclose(a.sum(axis=1), prior.sum(axis=1), rtol=1e-13)
    assert_allclose(loss.sum(axis=1), lattice.loss_matrix.T @ prior.sum(axis=0), rtol=1e-13)
    if lattice.left_out:
        assert_array_equal(a[:, -1], lattice.rest.sum(axis=1))
    tables = [groups._keep_likely(law, prior, tail / len(laws))[0] for law in laws]
    assert math.prod(table.shape[1] for table in tables) == lattice.size - lattice.left_out
    kept = np.prod([[math.fsum(row) for row in table] for table in tables], axis=0)
    lost = prior[prior > 0.0] * (1.0 - kept)
    rest = lattice.rest[prior > 0.0]
    assert (lost <= rest + 1e-14).all()
    assert (rest <= lost * (1 + 1e-8) + 1e-14).all()


def test_what_is_refused_for_memory_in_arrays_is_streamed():
    many = [alike(FAR, 50), alike(NEAR, 50)]
    with raises_input_error("grouped_problem"):
        grouped_sensors(many, paper_p_xy())
    lattice = GroupLattice(many, paper_p_xy())
    assert lattice.N == lattice.size == math.comb(53, 3) ** 2
    p_xz, loss = next(lattice.chunks()).read()
    assert p_xz.shape[1] == 2 * math.comb(53, 3)
    assert (p_xz >= 0.0).all()
    assert (loss <= p_xz.sum(axis=0)).all()


@pytest.mark.parametrize(
    "laws, prior, tail, words",
    [
        ([], [[1.0]], 0.0, "groups"),
        ([[[[[0.5, 0.4]]]]], [[1.0]], 0.0, "sums to 0.9"),
        ([[[[[0.5, 0.5]]]]], [[0.9]], 0.0, "p_xy"),
        ([[[[[0.5, 0.5]]]]], [[1.0]], 0.6, "tail"),
        ([np.full((50, 1, 1, 8), 0.125)] * 2, [[1.0]], 0.0, "bytes of tables"),
        ([np.full((9, 1, 1, 8), 0.125)] * 6, [[1.0]], 0.0, "more than can be visited"),
    ],
)
def test_bad_groups_are_refused(laws, prior, tail, words):
    with raises_input_error(words):
        GroupLattice(laws, prior, tail=tail)
