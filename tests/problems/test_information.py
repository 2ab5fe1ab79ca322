"""Entropy, leakage and the Fano bound: relative accuracy at every size, and the laws of mutual
information.
"""

from __future__ import annotations

import math

import exactly
import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import budgets, estimators, joints, problems

from discreet.measures.law import OutputLaw, output_law
from discreet.measures.mutual_information import phi_divergence
from discreet.numerics.double_double import Array
from discreet.problems.adversary.inference import fano_bound
from discreet.problems.constraint import entropy
from discreet.problems.problem import Problem

# a smaller leakage is rounding of the estimator's own entries, and is only bounded
_RESOLVED = 1e-100
SHARES = st.floats(0.0, 1.0)


def _near_private(
    rng: np.random.Generator, n: int, m: int, outcomes: int, size: float
) -> tuple[Array, Array]:
    """A joint p_xz, and an estimator whose probabilities vary by about `size` over the outcomes."""
    p_xz = rng.dirichlet(np.full(n * outcomes, 1.0)).reshape(n, outcomes)
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


@pytest.mark.parametrize("dependence", [1e-7, 1e-10, 1e-14])
def test_leakage_of_a_nearly_uninformative_channel(dependence):
    """The paper's hard case: X and Z are nearly independent, so that posteriors agree to many
    digits.
    """
    rng = np.random.default_rng(8)
    w = rng.dirichlet(np.ones(12))
    p_xz = (
        np.array([[0.3], [0.7]])
        * w
        * (1.0 + dependence * np.array([[0.7], [-0.3]]) * rng.uniform(-1, 1, 12))
    )
    problem = Problem(p_xz / p_xz.sum(), np.zeros((2, 12)), math.inf)
    exact = exactly.leakage(problem, np.eye(2)[:, np.arange(12) % 2])
    assert 0 < exact < 1e-13
    assert abs(problem.leakage(np.eye(2)[:, np.arange(12) % 2]) / exact - 1) < 1e-12


@given(st.data())
def test_laws_of_leakage(data):
    problem = data.draw(problems(math.inf))
    first, second = (data.draw(estimators((problem.m, problem.N))) for _ in range(2))
    near_exact_arithmetic_and_its_ceiling_above(problem, first)
    convex_in_the_estimator(problem, first, second, data.draw(SHARES))
    not_raised_by_processing(
        problem, first, *(data.draw(estimators((2, size))) for size in (problem.m, problem.N))
    )


def near_exact_arithmetic_and_its_ceiling_above(problem: Problem, estimator: Array) -> None:
    law = problem.output_law(estimator)
    exact = exactly.leakage(problem, estimator)
    computed = law.leakage()
    assert (
        abs(computed - exact)
        <= 1e-12 * exact + 2.0**-90 * mpmath.sqrt(exact) + 2.0**-180 + _RESOLVED
    )
    assert law.leakage_ceiling() >= exact
    assert law.leakage_ceiling((problem.m + 1) * 2.0**-53) >= exactly.leakage(
        problem, estimator, normalised=True
    )
    assert 0.0 <= computed <= problem.entropy_x + 1e-12


def convex_in_the_estimator(problem: Problem, first: Array, second: Array, share: float) -> None:
    a = problem.output_law(first)
    b = problem.output_law(second)
    mixed = a.blend(b, share)
    assert mixed.leakage() <= (1 - share) * a.leakage() + share * b.leakage() + 1e-15
    direct = problem.output_law((1 - share) * first + share * second)
    np.testing.assert_allclose(mixed.mass, direct.mass, rtol=0, atol=1e-15)
    np.testing.assert_allclose(mixed.deviation, direct.deviation, rtol=0, atol=1e-15)


def not_raised_by_processing(
    problem: Problem, estimator: Array, post: Array, merged: Array
) -> None:
    def leakage(columns: Array) -> float:  # of any number of guesses
        return output_law(problem.p_xz, columns).leakage()

    before = leakage(estimator)
    whole = leakage(np.eye(problem.N))  # I(X; Z)
    assert leakage(post @ estimator) <= before + 1e-15
    assert before <= whole + 1e-14
    assert leakage(merged) <= whole + 1e-14


@given(joints(), st.randoms(use_true_random=False))
def test_permuting_values_and_outcomes_changes_nothing(joint, random):
    rng = np.random.default_rng(7)
    p_xz = joint.sum(axis=1)
    estimator = rng.dirichlet(np.ones(3), p_xz.shape[1]).T
    rows, columns, labels = (rng.permutation(size) for size in (*p_xz.shape, 3))
    before = output_law(p_xz, estimator)
    after = output_law(p_xz[rows][:, columns], estimator[labels][:, columns])
    np.testing.assert_allclose(after.mass, before.mass[labels], rtol=1e-15)
    np.testing.assert_allclose(
        after.deviation, before.deviation[labels][:, rows], rtol=1e-12, atol=1e-30
    )
    assert after.leakage() == pytest.approx(before.leakage(), rel=1e-12, abs=1e-60)


def test_constant_guesses_leak_exactly_nothing():
    p_xz = np.random.default_rng(1).dirichlet(np.ones(90_000)).reshape(3, 30_000)
    law = output_law(p_xz, np.array([[1.0], [0.0]]) * np.ones(30_000))
    assert law.leakage() < 1e-57
    assert np.abs(law.excess).max() < 1e-29


def test_full_disclosure_leaks_the_entropy():
    p_xz = np.diag([0.5, 0.3, 0.2])
    assert output_law(p_xz, np.eye(3)).leakage() == pytest.approx(
        entropy(np.array([0.5, 0.3, 0.2])), rel=1e-15
    )


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


def test_private_values_of_probability_zero_do_not_count():
    p_xz = np.array([[0.5, 0.25], [0.0, 0.0], [0.05, 0.2]])
    with_unused = output_law(p_xz, np.eye(2))
    without = output_law(p_xz[[0, 2]], np.eye(2))
    assert with_unused.leakage() == without.leakage()
    assert (with_unused.deviation[:, 1] == 0.0).all()
    assert (with_unused.ratio_minus_one()[:, 1] == 0.0).all()


def test_one_private_value_leaks_nothing_provably():
    law = output_law(np.full((1, 7), 1 / 7), np.random.default_rng(0).dirichlet(np.ones(3), 7).T)
    assert law.leakage() < 1e-60
    assert law.leakage_ceiling(1e-16) == 0.0


def test_unused_guesses_have_no_ratio():
    law = OutputLaw(np.array([1.0, 0.0]), np.zeros((2, 2)), np.array([0.4, 0.6]))
    assert (law.ratio_minus_one() == 0.0).all()
    assert law.leakage() == 0.0


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


@given(st.sampled_from([1, -1]), st.floats(-16.0, -0.5))
def test_the_two_formulas_of_the_divergence_agree_where_they_meet(sign, exponent):
    x = mpmath.mpf(sign) * mpmath.mpf(10) ** exponent
    double = float(x)
    exact = (1 + mpmath.mpf(double)) * mpmath.log1p(mpmath.mpf(double)) - mpmath.mpf(double)
    assert abs(phi_divergence(np.array([double]))[0] / exact - 1) < 1e-14


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


@given(st.integers(2, 5), st.integers(2, 4), st.integers(0, 10_000))
def test_fano_bounds_hold_for_every_channel(n, guesses, seed):
    """No inference of X from Ŷ beats either bound, and the sharp bound is at least
    the plain one.
    """
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(n * guesses, rng.choice([0.05, 0.3, 2.0]))).reshape(n, guesses)
    p_out = joint.sum(axis=0)
    equivocation = entropy(joint.ravel()) - entropy(p_out)
    error = 1.0 - joint.max(axis=0).sum()
    plain = fano_bound(equivocation, n)
    sharp = fano_bound(equivocation, n, sharp=True)
    assert plain <= sharp + 1e-12
    assert sharp <= error + 1e-9


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


@given(budgets.filter(lambda budget: budget < 1e-3))
def test_ceiling_is_never_under_the_leakage(perturbation):
    law = output_law(np.array([[0.3, 0.2], [0.1, 0.4]]), np.eye(2))
    assert law.leakage_ceiling(perturbation) >= law.leakage()
