"""What rounding may cost is charged at every size: cases that a fixed allowance does not cover,
against exact arithmetic.
"""

import math
from dataclasses import replace
from fractions import Fraction
from math import inf

import exactly
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import assert_bound_proven, certify_rule
from numpy.random import default_rng
from random_laws import random_columns, random_joint
from strategies import seeds

from discreet import verify
from discreet.judge import certify
from discreet.measures.law import OutputLaw
from discreet.numerics.sums import Sums, sum_doubt
from discreet.problems import ArrayBlocks, BlockProblem, LeakageBudget, OutcomeRule, Problem
from discreet.problems.constraint import Term

_TINY = 5e-324


def _bayes_error(problem):
    """Σ_l min_i L_il over the total probability, exactly."""
    least = exactly.dot(problem.blocks.loss.min(axis=0))
    return least / exactly.dot(problem.blocks.p_xz)


# -- the total of blocks
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1.0 + 2.0**-31, 1.0 - 2.0**-32])
@pytest.mark.parametrize("small", [2.0**-54 * 0.99, 2.0**-54 * 1.01, 2.0**-53 * 0.99])
@pytest.mark.parametrize("n", [128, 4096])
def test_totals_of_many_private_values_do_not_move_the_bracket(n, small, scale):
    """A plain sum of these p(x) loses or gains half a last place at every eighth of them."""
    p_x = np.zeros(n)
    p_x[:2] = 0.5
    p_x[8::8] = small
    p_xz = np.stack([0.5 * p_x, 0.5 * p_x], axis=1) * scale
    loss = np.array([[1.0, 0.3], [0.2, 0.7]]) * p_xz.sum(axis=0)
    terms = (Term.of(LeakageBudget(inf), [n]),)
    totals = p_xz.sum(axis=1), loss.sum(axis=1)
    problem = BlockProblem(ArrayBlocks(p_xz, loss), terms, *totals)
    judged = certify_rule(problem, OutcomeRule(np.zeros((2, n))), 0.0).certificate
    assert Fraction(judged.lower) <= _bayes_error(problem) <= Fraction(judged.upper)
    assert judged.relative_gap < 1e-13


@pytest.mark.parametrize("off", [-8, -1, 1, 5, 8])
@pytest.mark.parametrize("scale", [1.0, 2.0**-1064])
@pytest.mark.parametrize("budget", [inf, 1e-3, 1e-10, 0.0])
def test_a_bracket_holds_for_masses_divided_by_their_total(off, scale, budget):
    """Arrays within 2⁻⁵⁰ of a total of one are taken as they are; `verify` divides them."""
    p_xz = [[0.25, 0.125, 0.125], [0.125, 0.125, 0.25 + off * 2.0**-53]]
    problem = Problem(p_xz, np.array([[0.125, 0.25, 0.0], [0.25, 0.0, 0.375]]) * scale, budget)
    assert exactly.total(problem) != 1
    for estimator in (problem.bayes_estimator, np.array([[0.5, 0.5, 1.0], [0.5, 0.5, 0.0]])):
        verdict = certify(
            problem, estimator, np.array([[1.0, -1.0], [-1.0, 1.0]]) * 0.1 * scale, scale
        )
        judged = verdict.certificate
        found = verify(problem, verdict.estimator)
        assert judged.lower <= found.error[0]
        assert found.error[1] <= judged.upper
        if math.isinf(budget):
            least = exactly.dot(problem.loss.min(axis=0)) / exactly.total(problem)
            assert Fraction(judged.lower) <= least <= Fraction(judged.upper)


def test_plain_sums_over_many_outcomes_are_more_in_doubt():
    """The share of a law that comes from drawn guesses is a plain sum of 2⁴⁰ terms, off by up to
    2⁴⁰ u.
    """
    high = np.array([[0.5]])
    few = Sums(
        (high, 0.0 * high), (np.zeros(()), np.zeros(())), 0.5 * high, 0.0, 0.0, 0.0, 0.0, 0.0, 4
    )
    assert few.drawn_share() < 0.5 * (1.0 + 2.0**-38)
    assert replace(few, outcomes=1 << 40).drawn_share() >= 0.5 * (1.0 + 2.0**-13)


@given(seeds, st.sampled_from([0, 3, 40, 60, 100]), st.sampled_from([inf, 1e-3]))
def test_losses_near_the_smallest_number(seed, exponent, budget):
    rng = default_rng(seed)
    m, n, outcomes = (int(each) for each in rng.integers(2, 5, 3))
    p_xz = random_joint(rng, n, outcomes)
    loss = rng.integers(0, 1 << int(rng.integers(1, 53)), (m, outcomes)) * (_TINY * 2.0**exponent)
    problem = Problem(p_xz, loss, budget)
    estimator = random_columns(rng, m, outcomes, 0.5)
    tilt = rng.normal(size=(m, n)) * rng.choice([0.0, 1e-320, 1e-310, 1.0])
    verdict = certify(problem, estimator, tilt, float(rng.choice([0.0, 1e-320, 1e-3])))
    judged = verdict.certificate
    for normalised in (False, True):
        assert exactly.error_probability(problem, verdict.estimator, normalised) <= Fraction(
            judged.upper
        )
    assert_bound_proven(problem, verdict)


# -- columns that do not sum to one
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize("uneven", [0.0, 0.3])
@pytest.mark.parametrize("m", [2, 3, 11, 25, 50, 61])
def test_a_certificate_holds_however_a_column_is_completed(m, uneven):
    """Divided by its sum, or its likeliest guess given what the others leave: m times as much, for
    one probability.

    Columns differ by one last place at their likeliest guess, which tells X. All that leaks is
    rounding.
    """
    even = np.full(m, 1.0 / m) + uneven / m * default_rng(m).uniform(-1.0, 1.0, m)
    even[:2] = 1.5 / m
    columns = np.repeat(even[:, None], 2, axis=1)
    columns[[0, 1], [0, 1]] = np.nextafter(1.5 / m, 2.0)
    joint = [[0.5, 0.0], [0.0, 0.5]]
    loss = default_rng(1).random((m, 2)) * 0.5
    free = Problem(joint, loss, inf)
    perfect = Problem(joint, loss, 0.0)
    found = certify(free, columns)
    within = certify(perfect, columns).certificate.own_private_within
    judged = found.certificate
    stored = exactly.fractions(found.answer)
    for read in (stored / stored.sum(axis=0), exactly.completed(stored)):
        assert exactly.leakage(free, read) <= judged.own_leakage_ceiling
        assert exactly.error_probability(free, read) <= Fraction(judged.upper)
        assert within == 0.0 or exactly.distance(free, read) <= Fraction(within)


# -- leakage
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [4096, 65536])
def test_the_ceiling_holds_for_many_private_values(n):
    """r is 1 ± ½ everywhere. Sums with four accumulators lose half a last place for nearly every
    private value.
    """
    p_x = np.full(n, 2.0**-55 * 0.99)
    p_x[:4] = 0.25
    x = np.where(np.arange(n) % 2 == 0, 0.5, -0.5)
    deviation = np.stack([x, -x]) * p_x * 0.5
    with mpmath.workdps(40):
        halves = [(1 + x) * mpmath.log(1 + x) - x for x in (mpmath.mpf("0.5"), mpmath.mpf("-0.5"))]
        exact = (
            sum(halves) / 2 * exactly.real(exactly.dot(p_x))
        )  # Σ_i s_i Σ_j π_j φ, with s = (½, ½)
        found = OutputLaw(np.array([0.5, 0.5]), deviation, p_x).leakage_ceiling()
        assert exact <= found <= exact * (1 + 2 * n * mpmath.mpf(2) ** -53 + mpmath.mpf(10) ** -13)


@pytest.mark.parametrize("size, digits", [(1e-3, 13), (1e-12, 11), (1e-22, 3), (1e-30, 0)])
def test_an_estimate_loses_digits_where_the_leakage_is_tiny_and_the_ceiling_holds(size, digits):
    """Leakage is about size². The columns are 0.5 ± 2⁻⁴⁰ exactly; only the joint law brings it
    down.
    """
    p_xz = np.full((2, 2), 0.25)
    shift = 2.0**-40
    estimator = np.array([[0.5 + shift, 0.5 - shift], [0.5 - shift, 0.5 + shift]])
    moved = size / shift
    if moved > 1.0:
        estimator = np.eye(2)
        moved = size
    unit = 2.0 ** round(math.log2(0.25 * min(moved, 1.0)))
    p_xz += unit * np.array([[-1.0, 1.0], [1.0, -1.0]])
    problem = Problem(p_xz, np.zeros((2, 2)), inf)
    judged = certify(problem, estimator).certificate
    exact = exactly.leakage(problem, estimator)
    assert abs(judged.own_leakage - exact) <= exact * 10.0**-digits
    assert exact <= judged.own_leakage_ceiling


def test_sums_over_more_outcomes_are_more_in_doubt():
    """One addition of double-doubles, up to 2⁻¹⁰⁴, for every block of outcomes; and one for 2¹³
    products.
    """
    assert sum_doubt(1, 4) <= 2.0**-84.99
    assert sum_doubt(10**6, 4) >= 10**6 * 2.0**-104
    assert sum_doubt(10**6, 1 << 20) >= 128 * 10**6 * 2.0**-104
    assert sum_doubt(1 << 40, 4) < 2.0**-63


def test_more_guesses_than_short_integers_count():
    """Labels, and the guesses that are drawn, may be any of 70,000."""
    m = 70_000
    p_xz = np.array([[0.25, 0.125, 0.125], [0.125, 0.25, 0.125]])
    loss = np.ones((m, 3)) * p_xz.sum(axis=0)
    loss[[m - 1, m - 2, 5], [0, 1, 2]] = 0.0
    estimator = np.zeros((m, 3))
    estimator[[m - 1, m - 2], [0, 1]] = 1.0
    estimator[[5, m - 3], 2] = 0.75, 0.25
    judged = certify(Problem(p_xz, loss, inf), estimator).certificate
    assert judged.own_error == 0.25 * 0.25
    assert judged.own_error <= judged.upper <= judged.own_error * (1.0 + 2.0**-35)
    assert judged.lower == 0.0
    even = np.full((m, 3), 1.0 / m)
    assert certify(Problem(p_xz, loss, 0.01), even).certificate.blend == 0.0


# -- equivocation
# --------------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 40), st.floats(0.0, 1.0))
def test_a_leakage_within_the_budget_keeps_the_equivocation(seed, n, share):
    p_x = default_rng(seed).dirichlet(np.full(n, 0.3))
    wanted = share * float(-(p_x[p_x > 0.0] * np.log(p_x[p_x > 0.0])).sum())
    problem = Problem(p_x[:, None], np.zeros((1, 1)), equivocation=wanted)
    with mpmath.workdps(60):
        total = exactly.dot(problem.p_xz)
        masses = problem.p_xz.ravel().tolist()
        prior = [exactly.real(Fraction(p) / total) for p in masses if p > 0.0]
        exact = -sum(p * mpmath.log(p) for p in prior)
        assert problem.budget == 0.0 or exact - mpmath.mpf(problem.budget) >= mpmath.mpf(wanted)
        # `entropy_x` itself may round that far
        assert problem.budget >= exact - wanted - n * 2.0**-53 * (1 + exact)
