"""Sensor models: counts of equal and of different sensors, tails, the paper's parameters, laws from
distributions, refusals.
"""

import itertools
import math
import tracemalloc
from fractions import Fraction
from math import inf, nan

import exactly
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose
from random_laws import random_joint
from refusals import raises_input_error
from scipy import special, stats
from strategies import seeds

from discreet.problems.sensors import (
    NormalDensity,
    binned_law,
    count_vectors,
    grouped_count_vectors,
    grouped_sensors,
    iid_sensors,
    index_sensors,
    index_vectors,
    interval_masses,
    mixed_sensors,
    paper_conditional,
    single_sensor,
)

EDGES = [-inf, 0.2, 0.5, 0.8, inf]


# -- counts
# --------------------------------------------------------------------------------------------------


def test_counts_keep_twelve_digits_for_a_thousand_sensors():
    law = np.array([0.1, 0.3, 0.6])
    joint = iid_sensors(law[None, None], [[1.0]], 1000)[0, 0]
    lattice = count_vectors(1000, 3)
    picks = [
        np.flatnonzero((lattice[:, 0] == a) & (lattice[:, 1] == b))[0]
        for a, b in ((100, 300), (150, 250), (60, 420), (0, 500))
    ]
    exact_law = [Fraction(float(q)) for q in law]
    total = sum(exact_law)
    for k in picks:
        c = [int(v) for v in lattice[k]]
        exact = Fraction(math.factorial(1000), math.prod(math.factorial(v) for v in c))
        for q, v in zip(exact_law, c, strict=True):
            exact *= (q / total) ** v
        assert abs(Fraction(float(joint[k])) / exact - 1) < 1e-12


def test_a_pair_of_probability_zero_may_have_any_law():
    joint = iid_sensors([[[0.5, 0.5], [0.0, 0.0]]], [[1.0, 0.0]], 3)
    assert (joint[0, 1] == 0.0).all()
    assert joint.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    "law, prior, count, message",
    [
        ([[[0.5, 0.6]]], [[1.0]], 2, r"p_z_given_xy\[0, 0\] sums to 1.1"),
        ([[[1.5, -0.5]]], [[1.0]], 2, r"p_z_given_xy\[0, 0, 1\] is -0.5"),
        ([[[0.5, 0.5]]], [[0.5, 0.5]], 2, "with the same n and m"),
        ([[[0.5, 0.5]]], [[1.0]], 2.5, "sensors is 2.5"),
        ([[["0.5", "0.5"]]], [[1.0]], 2, "p_z_given_xy is not"),
    ],
)
def test_bad_count_models_are_refused_in_one_sentence(law, prior, count, message):
    with raises_input_error(message):
        iid_sensors(law, prior, count)


# -- intervals
# --------------------------------------------------------------------------------------------------


def test_normal_tails_keep_relative_precision_on_both_sides():
    edges = np.array([-inf, -37.0, -20.0, -8.0, 0.0, 8.0, 20.0, 37.0, inf])
    masses = interval_masses(stats.norm(), edges)
    assert_allclose(masses, masses[::-1], rtol=1e-14)
    tails = special.ndtr([-20.0, -8.0])
    assert masses[1] == pytest.approx(tails[0], rel=1e-13)
    assert masses[2] == pytest.approx(tails[1] - tails[0], rel=1e-13)
    assert masses.min() > 0.0


def test_a_distribution_without_survival_function_gets_its_upper_tail_from_its_density():
    class Logistic(stats.rv_continuous):
        def _pdf(self, x):
            return 0.25 / np.cosh(0.5 * x) ** 2

        def _cdf(self, x):
            return special.expit(x)

    edges = np.array([-inf, -30.0, 0.0, 30.0, 36.0, inf])
    masses = interval_masses(Logistic(name="own")(), edges)
    assert masses[3] == pytest.approx(special.expit(-30.0) - special.expit(-36.0), rel=1e-9)
    assert masses[4] == pytest.approx(special.expit(-36.0), rel=1e-9)


def test_a_histogram_law_is_cut_without_being_refined_beyond_its_rounding():
    law = stats.rv_histogram(
        (np.array([1, 5, 3, 1]), np.array([0.0, 1.0, 2.0, 3.0, 4.0])), density=False
    )
    masses = interval_masses(law, np.array([-inf, 0.5, 1.5, 3.5, 4.0, inf]))
    assert_allclose(masses, [0.05, 0.3, 0.6, 0.05, 0.0], atol=1e-15)


def test_discrete_laws_use_half_open_bins():
    masses = interval_masses(stats.poisson(3.0), np.array([-inf, 0.0, 2.0, 5.0, inf]))
    pmf = stats.poisson(3.0).pmf(np.arange(6))
    assert_allclose(
        masses, [pmf[0], pmf[1:3].sum(), pmf[3:].sum(), stats.poisson(3.0).sf(5)], rtol=1e-13
    )


@given(
    st.lists(st.floats(-50.0, 50.0), min_size=1, max_size=8, unique=True),
    st.floats(-5.0, 5.0),
    st.floats(0.1, 10.0),
)
def test_interval_masses_sum_to_one_and_merge(cuts, mean, sigma):
    edges = np.array([-inf, *sorted(cuts), inf])
    masses = interval_masses(NormalDensity(mean, sigma), edges)
    assert (masses >= 0.0).all()
    assert masses.sum() == pytest.approx(1.0, abs=1e-14)
    coarse = interval_masses(NormalDensity(mean, sigma), edges[[0, *range(2, edges.size)]])
    assert coarse[0] == pytest.approx(masses[0] + masses[1], abs=1e-15, rel=1e-12)


# -- one sensor
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message, edges",
    {
        "must be strictly increasing": [-inf, nan, inf],
        "give a row of at least two": [0.0],
        "row of edges": ["a", "b"],
        r"\(x\[0\], y\[0\]\) .*−inf and inf": [0.0, 1.0],
    }.items(),
)
def test_bad_edges_are_refused_in_one_sentence(edges, message):
    with raises_input_error(message):
        single_sensor([[stats.norm()]], [[1.0]], edges)


@pytest.mark.parametrize(
    "laws, prior, message",
    [
        ([[stats.norm()]], [[0.5, 0.5]], "1 .* 2 "),
        ([[stats.norm()]], [[0.9]], "p_xy sums to 0.9"),
        ([[stats.norm(0.0, -1.0)]], [[1.0]], "a distribution has no cdf value at some edge"),
    ],
)
def test_bad_single_models_are_refused(laws, prior, message):
    with raises_input_error(message):
        single_sensor(laws, prior, EDGES)


def random_laws(seed, sensors, n, m, bins, share_of_zeros=0.0):
    """Laws [sensors, n, m, bins] with wide-ranging entries and, if asked for, bins that are never
    reported.
    """
    rng = default_rng(seed)
    weights = 10.0 ** rng.uniform(-8.0, 0.0, size=(sensors, n, m, bins))
    weights[rng.random(weights.shape) < share_of_zeros] = 0.0
    weights[..., 0] += 1e-3
    prior = random_joint(rng, n, m)  # X and Y are dependent
    return weights / weights.sum(axis=-1, keepdims=True), prior


def enumerated(laws, prior):
    """p(x, y, counts) summed exactly over all bins^sensors vectors of reports, in the order of
    `count_vectors`.
    """
    sensors, n, m, bins = laws.shape
    place = {tuple(c): k for k, c in enumerate(count_vectors(sensors, bins).tolist())}
    joint = np.zeros((n, m, len(place)))
    for j, i in np.ndindex(n, m):
        exact = [[exactly.rational(p) for p in laws[s, j, i]] for s in range(sensors)]
        sums = [exactly.rational(0.0)] * len(place)
        for reports in itertools.product(range(bins), repeat=sensors):
            key = tuple(np.bincount(reports, minlength=bins).tolist())
            sums[place[key]] += math.prod(exact[s][k] for s, k in enumerate(reports))
        scale = exactly.rational(prior[j, i]) / math.prod(sum(row) for row in exact)
        joint[j, i] = [float(each * scale) for each in sums]
    return joint


def pooled(joint, counts, coarse):
    """Sum the outcomes of a joint [n, m, N] with counts [N, bins] over the lattice `coarse` of
    their pooled counts.
    """
    place = {tuple(c): k for k, c in enumerate(coarse.tolist())}
    found = np.zeros((*joint.shape[:2], len(coarse)))
    for l, c in enumerate(counts.tolist()):  # noqa: E741
        found[:, :, place[tuple(c)]] += joint[:, :, l]
    return found


# -- against enumeration
# -----------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 4), st.integers(2, 4), st.floats(0.0, 0.6))
def test_pooled_counts_of_any_law_equal_enumeration(seed, sensors, bins, share_of_zeros):
    laws, prior = random_laws(seed, sensors, 2, 1, bins, share_of_zeros)
    alike = np.tile(laws[:1], (sensors, 1, 1, 1))
    for found, wanted, rounding in (
        (mixed_sensors(laws, prior), enumerated(laws, prior), 1e-13),
        # A probability that is computed from its logarithm has the rounding of the logarithm.
        (iid_sensors(laws[0], prior, sensors), enumerated(alike, prior), 1e-12),
    ):
        assert_allclose(found, wanted, rtol=rounding, atol=0.0)
        assert (found[wanted == 0.0] == 0.0).all()


def test_long_sums_keep_their_digits_down_to_the_smallest_double():
    rare = 1e-3
    sensors = 120
    laws = np.tile(np.array([rare, 1.0 - rare]), (sensors, 1, 1, 1))
    laws[::2] = [2.0 * rare, 1.0 - 2.0 * rare]
    found = mixed_sensors(laws, [[1.0]])[0, 0]
    exact = np.zeros(sensors + 1, dtype=object)
    exact[0] = exactly.rational(1.0)
    for law in laws[:, 0, 0]:
        seldom, usual = map(exactly.rational, law)
        exact[1:] = exact[1:] * usual + exact[:-1] * seldom
        exact[0] *= usual
    wanted = np.array([float(each) for each in exact])
    kept = wanted > 1e-307
    assert 100 < kept.sum() < sensors + 1
    assert_allclose(found[kept], wanted[kept], rtol=1e-13)


@pytest.mark.parametrize("sensors, bins", [(1, (4,)), (2, (3, 2)), (3, (2, 4, 3)), (6, (4,) * 6)])
def test_vectors_of_reports_are_products(sensors, bins):
    prior = np.array([[0.1, 0.2], [0.0, 0.7]])
    laws = [random_laws(s, 1, 2, 2, count)[0][0] for s, count in enumerate(bins)]
    joint = index_sensors(laws, prior)
    vectors = index_vectors(bins)
    assert vectors.tolist() == [list(v) for v in itertools.product(*map(range, bins))]
    for l in default_rng(0).integers(0, len(vectors), 30):  # noqa: E741
        for j, i in np.ndindex(2, 2):
            wanted = prior[j, i] * math.prod(laws[s][j, i, k] for s, k in enumerate(vectors[l]))
            assert joint[j, i, l] == pytest.approx(wanted, rel=1e-13, abs=0.0)


@given(seeds, st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_pooling_the_groups_gives_the_pooled_counts(seed, first, second, alike):
    laws, prior = random_laws(seed, first + second, 2, 2, 3)
    if alike:
        laws[:first] = laws[0]
    joint = grouped_sensors([laws[:first], laws[first:]], prior)
    counts = grouped_count_vectors([first, second], [3, 3])
    wanted = pooled(joint, counts[:, :3] + counts[:, 3:], count_vectors(first + second, 3))
    assert_allclose(mixed_sensors(laws, prior), wanted, rtol=2e-13)


# -- size
# --------------------------------------------------------------------------------------------------


def test_no_sensor_has_nothing_to_count_in_any_number_of_bins(monkeypatch):
    """A million bins are not visited one by one."""
    with monkeypatch.context() as patch:
        patch.setattr(np, "repeat", None)
        counts = count_vectors(0, 10**6)
    assert counts.shape == (1, 10**6)
    assert not counts.any()


def peak_bytes(make):
    tracemalloc.start()
    try:
        make()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "name, size",
    [
        ("iid", 40),
        ("iid", 2),
        ("mixed", 40),
        ("mixed", 2),
        ("grouped", 9),
        ("index", 7),
        ("counts", 40),
        ("grouped counts", 90),
    ],
)
def test_no_model_takes_more_memory_than_it_was_allowed(name, size):
    laws, prior = random_laws(0, size, 2, 2, 4)
    groups = [laws[: size // 2], laws[size // 2 :]]
    builders = {
        "iid": lambda limit: iid_sensors(laws[0], prior, size, max_bytes=limit),
        "mixed": lambda limit: mixed_sensors(laws, prior, max_bytes=limit),
        "grouped": lambda limit: grouped_sensors(groups, prior, max_bytes=limit),
        "index": lambda limit: index_sensors(laws, prior, max_bytes=limit),
        "counts": lambda limit: count_vectors(size, 4, max_bytes=limit),
        "grouped counts": lambda limit: grouped_count_vectors([1, size], [2, 4], max_bytes=limit),
    }
    build = builders[name]
    with raises_input_error(r" 1 bytes; .*max_bytes"):
        build(1)
    taken = peak_bytes(lambda: build(1 << 40))
    # Every limit below what the model takes must be refused.
    for limit in np.geomspace(1 << 12, taken, 12):
        with raises_input_error("max_bytes"):
            build(int(limit))


# -- refusals
# --------------------------------------------------------------------------------------------------


HALF = np.full((2, 1, 1, 2), 0.5)


@pytest.mark.parametrize(
    "message, build",
    {
        r"p_z_given_xy\[1, 0, 0\] sums to 1.1": lambda: mixed_sensors(
            [[[[0.5, 0.5]]], [[[0.5, 0.6]]]], [[1.0]]
        ),
        r"\[sensors, n, m, bins\]": lambda: mixed_sensors(HALF[0], [[1.0]]),
        r"p_z_given_xy .*\[2, 1, 1, 2\] .*p_xy \[1, 2\]": lambda: mixed_sensors(HALF, [[0.5, 0.5]]),
        r"groups\[1\]\[0, 0, 0\] sums to 1.1": lambda: grouped_sensors([HALF, HALF * 1.1], [[1.0]]),
        "groups is empty or no row": lambda: grouped_sensors([], [[1.0]]),
        "sizes .*1 .*bins 2": lambda: grouped_count_vectors([3], [2, 2]),
        "bins is 0": lambda: index_vectors([2, 0]),
        "4000 .* 10,682,674,001 .*955 GiB .*max_bytes": lambda: mixed_sensors(
            np.full((4000, 1, 1, 4), 0.25), [[1.0]]
        ),
        r"90 .* 4 .*10\^15": lambda: grouped_sensors([np.full((90, 1, 1, 4), 0.25)] * 3, [[1.0]]),
        r"200 .* 4 .*10\^120": lambda: index_sensors([np.full((1, 1, 4), 0.25)] * 200, [[1.0]]),
        "max_bytes is 0": lambda: iid_sensors(HALF[0], [[1.0]], 3, max_bytes=0),
    }.items(),
)
def test_bad_models_are_refused_in_one_sentence(build, message):
    with raises_input_error(message):
        build()


def test_the_law_of_a_pair_of_probability_zero_does_not_matter():
    laws = np.full((3, 2, 1, 2), 0.5)
    laws[:, 1] = 7.0
    joint = mixed_sensors(laws, [[1.0], [0.0]])
    assert_allclose(joint[0, 0], [0.125, 0.375, 0.375, 0.125], rtol=1e-15)
    assert (joint[1] == 0.0).all()


# -- laws from distributions
# -------------------------------------------------------------------------------------------


def test_a_binned_law_is_the_papers():
    laws = [[stats.norm(0.4 * x + 0.6 * y, 0.1) for y in (0, 1)] for x in (0, 1)]
    assert_allclose(binned_law(laws, EDGES), paper_conditional(), rtol=1e-14)


@pytest.mark.parametrize(
    "table, message",
    [
        ([[stats.norm()], []], "a row of distributions is empty or no row"),
        ([[stats.norm()], [stats.norm()] * 2], "distributions is not a table"),
        ([[stats.expon(loc=-1.0)]], (r"\(x\[0\], y\[0\]\) .*edges")),
    ],
)
def test_a_bad_table_of_distributions_is_refused(table, message):
    with raises_input_error(message):
        binned_law(table, [0.0, 1.0, inf])
