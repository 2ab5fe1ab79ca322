"""Entropy, leakage and the Fano bound: relative accuracy at every size, and the laws of mutual
information.
"""

import math

import exactly
import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from random_laws import random_joint

from discreet.measures.law import output_law
from discreet.measures.mutual_information import phi_divergence
from discreet.problems import Problem, entropy, fano_bound


def _near_private(rng, n, m, outcomes, size):
    """A joint p_xz, and an estimator whose probabilities vary by about `size` over the outcomes."""
    p_xz = random_joint(rng, n, outcomes)
    base = rng.dirichlet(np.ones(m))[:, None]
    return p_xz, base * (1.0 + size * rng.uniform(-1.0, 1.0, (m, outcomes)))


@pytest.mark.parametrize("size", [1.0, 1e-2, 1e-4, 1e-7, 1e-10, 1e-13])
@pytest.mark.parametrize("shape", [(2, 2, 4), (2, 2, 64), (3, 4, 20)])
def test_leakage_is_accurate_relative_to_itself(shape, size):
    p_xz, estimator = _near_private(np.random.default_rng(3), *shape, size)
    problem = Problem(p_xz, np.zeros((shape[1], shape[2])), math.inf)
    exact = exactly.leakage(problem, estimator)
    assert size <= 1e-2 or exact > 1e-6
    assert abs(problem.leakage(estimator) / exact - 1) < 1e-12


@pytest.mark.parametrize("tiny", [1e-200, 1e-300, 1e-310, 5e-324])
def test_a_rare_private_value_revealed_by_a_guess_has_its_exact_leakage(tiny):
    """Here s_i π_j underflows, but the leakage u log(u / (π s)) does not."""
    p_xz = np.array([[1.0, 0.0], [0.0, tiny]])
    law = output_law(p_xz, np.eye(2))
    exact = exactly.leakage(Problem(p_xz, np.zeros((2, 2)), math.inf), np.eye(2))
    if tiny >= 1e-300:
        assert law.leakage() == pytest.approx(float(exact), rel=1e-12)
    assert law.leakage_ceiling() >= exact
    assert law.excess[1, 1] == pytest.approx(1.0, rel=1e-15)


@given(st.floats(-1.0, 1e300))
def test_divergence_kernel_is_accurate_relative_to_itself(x):
    exact = (
        mpmath.mpf(1)
        if x == -1.0
        else (1 + mpmath.mpf(x)) * mpmath.log1p(mpmath.mpf(x)) - mpmath.mpf(x)
    )
    if abs(x) < 1e-20:
        exact = mpmath.mpf(x) ** 2 / 2
    assert (
        abs(float(phi_divergence(np.array([x]))[0]) - exact)
        <= 1e-14 * exact + mpmath.mpf(10) ** -307
    )


def test_entropy():
    assert entropy(np.array([1.0])) == 0.0
    assert entropy(np.array([1.0 + 2.0**-52])) == 0.0
    assert entropy(np.array([0.5, 0.5, 0.0])) == math.log(2.0)
    assert entropy(np.full(8, 0.125)) == pytest.approx(math.log(8.0), rel=1e-15)


def test_plain_fano_bound_is_in_bits_and_empty_for_two_values():
    """(H − 1)/log2 n with H in bits: 2 bits of equivocation over 4 values leave an error of at
    least one half.
    """
    assert fano_bound(2 * math.log(2.0), 4) == pytest.approx(0.5, rel=1e-14)
    assert fano_bound(math.log(2.0), 2) == pytest.approx(0.0, abs=1e-15)
    assert fano_bound(0.3, 1) == 0.0
    assert fano_bound(0.0, 5) == 0.0
    assert fano_bound(0.0, 5, sharp=True) == 0.0


@given(st.integers(2, 6), st.floats(0.0, 1.0))
def test_sharp_fano_bound_is_attained(n, fraction):
    """The symmetric channel attains it: right with probability 1 − e, otherwise uniform over the
    wrong values.
    """
    e = fraction * (1.0 - 1.0 / n)
    law = np.array([1.0 - e, *[e / (n - 1)] * (n - 1)])
    assume(entropy(law) > 1e-12)
    assert fano_bound(entropy(law), n, sharp=True) == pytest.approx(e, rel=1e-6, abs=2e-8)


def test_sharp_fano_bound_saturates():
    assert fano_bound(math.log(3.0) + 1e-9, 3, sharp=True) == pytest.approx(2 / 3, rel=1e-12)
