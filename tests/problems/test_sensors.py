"""Sensor models: counts, tails, the paper's parameters, refusals."""

import math
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from refusals import raises_input_error
from scipy import special, stats

from discreet.problems.sensors import (
    NormalDensity,
    count_vectors,
    iid_sensors,
    interval_masses,
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
