"""Groups of sensors generated on the fly: the outcomes of `grouped_sensors`, and what truncation
leaves out of them.
"""

import math

import numpy as np
import pytest
from block_cases import assert_streamed, together
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from refusals import raises_input_error

from discreet.problems import GroupLattice, Problem, grouped_problem
from discreet.problems.sensors import PAPER_EDGES, grouped_sensors, linear_conditional, paper_p_xy
from discreet.problems.streams import groups

FAR, NEAR = (linear_conditional(weight, 0.6, 0.5, PAPER_EDGES) for weight in (0.1, 0.7))
LOSSES = np.array([[0.0, 1.0, 0.3], [2.0, 0.0, 0.3]])


def alike(law, sensors):
    return np.tile(law, (sensors, 1, 1, 1))


def different(seed, sensors, bins, n=3, m=2):
    return np.random.default_rng(seed).dirichlet(np.full(bins, 0.7), size=(sensors, n, m))


SPARSE = np.array([[0.1, 0.2], [0.3, 0.0], [0.15, 0.25]])
CASES = {
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


@pytest.mark.parametrize("name", CASES)
def test_blocks_are_the_stored_model(name):
    laws, prior = CASES[name]
    losses = LOSSES if prior.shape == (3, 2) else None
    stored = Problem.from_joint(grouped_sensors(laws, prior), 0.1, loss_matrix=losses)
    streamed = grouped_problem(laws, prior, 0.1, loss_matrix=losses, name="many")
    assert_streamed(streamed, stored)
    assert streamed.name == "many"


@given(st.sampled_from(list(CASES)), st.sampled_from([1e-300, 1e-15, 1e-6, 1e-2, 0.4]))
def test_what_is_left_out_is_in_the_last_outcome(name, tail):
    laws, prior = CASES[name]
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
def test_bad_models_are_refused(laws, prior, tail, words):
    with raises_input_error(words):
        GroupLattice(laws, prior, tail=tail)
