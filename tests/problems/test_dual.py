"""The lower bound: repaired duals are feasible, and the bound is at most its exact value, for any
numbers.
"""

from fractions import Fraction
from functools import partial
from math import inf, nan
from types import SimpleNamespace

import exactly
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from judging import lower_bound
from numpy.random import default_rng
from random_laws import random_problem
from strategies import finite_tilts, problems

from discreet.numerics.rounding import LARGEST_TILT
from discreet.numerics.tilted_losses import dd_label_doubt, in_order_losses, label_doubt
from discreet.problems.duals import feasible_duals, feasible_for
from discreet.problems.problem import Problem

_MULTIPLIERS = st.one_of(
    st.floats(0.0, 10.0),
    st.sampled_from([0.0, 1e-320, 1e-300, 1e-12, 1e5, 1e150, 1e300]),
    st.floats(0.0, allow_nan=False, allow_infinity=False),
)

_SMALL = st.sampled_from([0.0, 1e-9, 0.01])


_small = partial(random_problem, 4, m=3, seed=11)


@given(st.data())
def test_repaired_duals_are_feasible_and_their_bound_is_rounded_down(data):
    problem = data.draw(problems())
    repaired = feasible_duals(
        data.draw(finite_tilts((problem.m, problem.n))),
        data.draw(_MULTIPLIERS),
        problem.p_x,
        problem.budget,
    )
    tilt, multiplier = repaired
    assert np.isfinite(tilt).all()
    if not problem.constraint.oblivious:
        assert exactly.support(problem, tilt, multiplier) <= 0
    bound = lower_bound(problem, tilt, multiplier)
    assert bound == -inf or Fraction(bound) <= exactly.bound(problem, tilt, multiplier)


@given(st.data())
def test_repair_moves_feasible_duals_by_rounding_only(data):
    problem = data.draw(problems(_SMALL))
    tilt = data.draw(hnp.arrays(np.float64, (problem.m, problem.n), elements=st.floats(-1e6, 1e6)))
    multiplier = data.draw(st.floats(1e-3, 1e3))
    first = feasible_duals(tilt, multiplier, problem.p_x, problem.budget)
    second = feasible_duals(*first, problem.p_x, problem.budget)
    size = np.abs(tilt).max(axis=1, keepdims=True) + 1e-300
    far = 800.0 * multiplier  # log of the smallest prior
    assert (
        np.abs(second[0] - first[0]) <= 2.0**-45 * (size + (far if np.isfinite(second[1]) else 0.0))
    ).all()


def test_a_rare_private_value_costs_the_others_no_digits():
    """Its log ratios may be of order one where those of common values are 1e-9: h_i is off by
    rounding of its own terms.
    """
    for seed in range(40):
        rng = default_rng(seed)
        rare = 10.0 ** -rng.uniform(3.0, 60.0)
        p_x = np.array([0.3, 0.7 - rare, rare])
        problem = Problem(p_x[:, None] * [0.5, 0.5], np.ones((2, 2)), 1e-9)
        multiplier = 10.0 ** rng.uniform(-3.0, 12.0)
        log_ratio = rng.uniform(-1.0, 1.0, (2, 3)) * [1e-9, 1e-9, 10.0 ** rng.uniform(0.0, 1.5)]
        repaired = feasible_duals(multiplier * log_ratio, multiplier, problem.p_x, problem.budget)
        size = np.abs(repaired[0] / multiplier)
        terms = float((problem.p_x * (np.expm1(size) + size)).sum(axis=1).max())
        assert -256.0 * 2.0**-53 * terms <= float(exactly.support(problem, *repaired)) <= 0.0


def test_a_rare_value_of_a_group_costs_the_others_no_digits():
    """Its tilt is of order μ where those of common values are 1e-9 μ: the rounding of its prior
    counts by its probability.
    """
    for seed in range(40):
        rng = default_rng(seed)
        rare = 10.0 ** -rng.uniform(3.0, 60.0)
        p_x = np.outer([0.4, 0.6], [0.3, 0.7 - rare, rare])
        joint = p_x[:, :, None] * [0.5, 0.5]
        problem = Problem(joint, np.ones((2, 2)), 1e-9, measure="conditional-mutual-information")
        multiplier = 10.0 ** rng.uniform(-3.0, 12.0)
        size = [1e-9, 1e-9, 10.0 ** rng.uniform(0.0, 1.5)]
        log_ratio = rng.uniform(-1.0, 1.0, (2, 6)) * np.tile(size, 2)
        tilt, prices = feasible_for(
            multiplier * log_ratio, np.array([multiplier]), problem.p_x, problem.terms
        )
        for rows in problem.groups:
            group = SimpleNamespace(p_xz=problem.p_xz[rows])
            prior = group.p_xz.sum(axis=1) / group.p_xz.sum()
            reached = np.abs(tilt[:, rows] / multiplier)
            terms = float((prior * (np.expm1(reached) + reached)).sum(axis=1).max())
            support = exactly.support(group, tilt[:, rows], prices[0])
            assert -256.0 * 2.0**-53 * terms <= float(support) <= 0.0


@pytest.mark.parametrize("budget", [0.0, 1e-4, 0.02])
@pytest.mark.parametrize("scale", [1e-9, 1e-3, 0.3])
def test_bound_loses_no_more_than_rounding(budget, scale):
    problem = _small(budget=budget)
    tilt = scale * default_rng(1).uniform(-1, 1, (3, 2))
    repaired = feasible_duals(tilt, 2.0, problem.p_x, problem.budget)
    exact = exactly.bound(problem, *repaired)
    assert 0 <= exact - Fraction(lower_bound(problem, *repaired)) <= abs(exact) * 2**-50
    assert exactly.support(problem, *repaired) > -1e-13


@pytest.mark.parametrize(
    "tilt, multiplier",
    [
        (nan, 1.0),
        (inf, 1.0),
        (0.0, -1.0),
        (0.0, nan),
        (0.0, inf),
        (-inf, 0.0),
    ],
)
def test_unusable_duals_are_refused(tilt, multiplier):
    assert feasible_duals(np.full((3, 2), tilt), multiplier, _small().p_x, 0.1) is None


def test_tilts_stay_within_the_largest_after_they_are_lowered():
    """Larger ones are refused in files, and by the exact second opinion."""
    problem = _small(budget=1e-3)
    repaired = feasible_duals(
        np.array([[-1e308, 1e308], [1.0, -1e308], [0.0, 0.0]]), 1.0, problem.p_x, problem.budget
    )
    assert repaired is not None
    assert np.abs(repaired[0]).max() <= LARGEST_TILT


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_label_doubt_covers_rounding_where_guesses_are_nearly_equal(n):
    """Two guesses whose tilted losses differ by less than rounding, checked at every outcome."""
    rng = default_rng(n)
    for _ in range(300):
        p_xz = rng.dirichlet(np.ones(n))[:, None]
        tilt = rng.standard_normal((2, n)) * 10.0 ** rng.integers(-3, 3)
        loss = np.abs(rng.standard_normal((2, 1)))
        loss[1] = max(0.0, float(loss[0, 0] + (tilt[0] - tilt[1]) @ p_xz[:, 0]))
        losses = in_order_losses(p_xz, loss, tilt)
        size = float(np.abs(tilt).max() + loss.max())
        products = exactly.fractions(tilt) @ exactly.fractions(p_xz)
        true = (exactly.fractions(loss) + products)[:, 0]
        for chosen in range(2):
            doubt = label_doubt(p_xz, tilt, losses[chosen], losses[1 - chosen])
            finer = dd_label_doubt(p_xz, loss, tilt)[chosen]
            wasted = true[chosen] - min(true)
            assert wasted <= Fraction(float(doubt[0]))
            assert (
                wasted
                <= Fraction(float(finer[0]))
                <= wasted * Fraction(1.0 + 2.0**-48) + Fraction(1e-25 * size)
            )
