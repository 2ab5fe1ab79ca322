"""Densities: a bracket holds whatever the masses of intervals may be wrong by, against integrals of
50 digits.
"""

import math
from fractions import Fraction
from itertools import pairwise
from math import inf
from types import SimpleNamespace

import exactly
import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from random_laws import random_columns, random_joint
from scipy import stats
from strategies import seeds

from discreet.judge import certify
from discreet.problems import (
    ContinuousProblem,
    Density,
    IntervalRule,
    NormalDensity,
    paper_continuous,
)

_NARROW = 1e-9


def _normal_mass(mean, sigma, low, high):
    """Pr(low < Z ≤ high), with 30 digits and more."""
    with mpmath.workdps(50):
        if low > mean:  # the upper tail keeps its digits as a lower one
            return _normal_mass(-mean, sigma, -high, -low)
        below, above = (
            (mpmath.mpf(z) - mpmath.mpf(mean)) / mpmath.mpf(sigma)
            if math.isfinite(z)
            else mpmath.mpf(z)
            for z in (low, high)
        )
        return mpmath.ncdf(above) - mpmath.ncdf(below)


def _true_law(problem, rule, laws):
    """(error probability, leakage) of a rule for normal components (mean, σ); its columns are
    divided by their sums.
    """
    masses = np.array(
        [
            [
                Fraction(mpmath.nstr(_normal_mass(*law, *ends), 40))
                for ends in pairwise(rule.edges.tolist())
            ]
            for law in laws
        ]
    )
    exact = SimpleNamespace(
        p_xz=exactly.fractions(problem.private) @ masses,
        loss=exactly.fractions(problem.losses) @ masses,
    )
    error = exactly.error_probability(exact, rule.estimator, True) / exactly.total(exact)
    return error, exactly.leakage(exact, rule.estimator, True)


def test_a_narrow_interval_between_cdfs_near_one_half_is_charged_what_it_may_be_wrong_by():
    """N(0, 1) against uniform(0, 1e-9): the difference of two cdfs has eight digits."""
    laws = [[NormalDensity(0.0, 1.0), stats.uniform(0.0, _NARROW)]]
    problem = ContinuousProblem(laws, [[0.5, 0.5]], inf)
    rule = IntervalRule.from_labels([0.0, _NARROW], [0, 1, 0], 2)
    judged = certify(problem, rule, np.zeros((2, 1)), 0.0).certificate
    with mpmath.workdps(50):
        truth = _normal_mass(0.0, 1.0, 0.0, _NARROW) / 2
        assert judged.lower <= truth <= judged.upper
    # The survival function of scipy's uniform law is 1 − cdf: 4e-16 absolute.
    assert judged.relative_gap < 1e-5


@pytest.mark.parametrize("width", [1e-9, 1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("at", [0.3, 1.0])
def test_a_budget_is_kept_by_a_guess_on_a_narrow_interval(width, at):
    """N(0, 1) against N(0, 1.5): the ratio of two masses is that of the densities, of which cdfs
    know little.
    """
    free = ContinuousProblem(
        [[NormalDensity(0.0, 1.0)] * 2, [NormalDensity(0.0, 1.5)] * 2],
        [[0.25, 0.25], [0.25, 0.25]],
        inf,
    )
    rule = IntervalRule.from_labels([at, at + width], [0, 1, 0], 2)
    normals = [(0.0, 1.0), (0.0, 1.5)]
    _, exact = _true_law(free, rule, normals)
    judged = certify(free, rule).certificate
    ceiling = rule.output_law(free).leakage_ceiling()
    assert exact <= ceiling <= exact * (1 + mpmath.mpf(10) ** -4)
    assert judged.own_leakage == pytest.approx(float(exact), rel=1e-7)
    for budget in (float(exact) * (1.0 - 1e-10), float(exact) * (1.0 - 1e-7), float(exact) * 0.5):
        verdict = certify(free.with_budget(budget), rule)
        assert _true_law(free, verdict.answer, normals)[1] <= budget
        assert _true_law(free, verdict.answer, normals)[0] <= verdict.certificate.upper


@example(87914, 0.0, 1e-12)
@given(
    seeds,
    st.floats(-12.0, 0.0),
    st.sampled_from([1e-12, 1e-6, 1e-3, 0.02, 0.1, inf]),
)
def test_brackets_of_rules_with_intervals_of_any_width(seed, exponent, budget):
    rng = np.random.default_rng(seed)
    normals = [(float(rng.normal()), float(rng.uniform(0.2, 2.0))) for _ in range(4)]
    laws = [
        [NormalDensity(*normals[0]), NormalDensity(*normals[1])],
        [NormalDensity(*normals[2]), NormalDensity(*normals[3])],
    ]
    problem = ContinuousProblem(laws, random_joint(rng, 2, 2), budget)
    inner = np.unique(rng.normal(size=3)[:, None] + np.array([0.0, 10.0**exponent]))
    rule = IntervalRule(
        np.concatenate([[-inf], inner, [inf]]), random_columns(rng, 2, inner.size + 1)
    )
    verdict = certify(problem, rule)
    error, leaked = _true_law(problem, verdict.answer, normals)
    assert verdict.certificate.lower <= error <= verdict.certificate.upper
    assert leaked <= budget
    wrong = [float(each) for each in _true_law(problem, rule, normals)]
    assert wrong[1] <= rule.output_law(problem).leakage_ceiling()


@pytest.mark.parametrize("low", [-36.0, -5.0, -0.1, 0.0, 0.7, 3.0, 20.0])
@pytest.mark.parametrize("width", [5e-14, 1e-9, 1e-4, 0.2, 1.0])
def test_masses_are_as_far_from_the_true_ones_as_stated(low, width):
    problem = paper_continuous(0.01)
    edges = np.array([low, low + width])
    found, error = problem.masses(edges)
    with mpmath.workdps(50):
        for q, mean in enumerate(each.pdf_.__self__.mean for each in problem.components):
            exact = _normal_mass(float(mean), 0.1, *edges.tolist())
            assert abs(mpmath.mpf(float(found[q, 0])) - exact) <= error[q, 0]
    if low == 0.0:
        assert (error[:, 0] <= 1e-5 * found[:, 0] + 1e-300).all()


def test_a_value_on_the_wrong_side_of_a_jump_is_not_taken_for_the_density():
    """A uniform density on the open interval (0, 1): its values at both ends are 0."""
    inside = Density(
        lambda z: np.where((z > 0.0) & (z < 1.0), 1.0, 0.0),
        lambda z: np.clip(z, 0.0, 1.0),
        lambda z: np.clip(1.0 - z, 0.0, 1.0),
        breakpoints=[0.0, 1.0],
    )
    problem = ContinuousProblem([[inside, NormalDensity(0.5, 1.0)]], [[0.5, 0.5]], inf)
    masses, error = problem.masses(np.array([-1.0, 0.0, 0.25, 0.25 + 1e-9, 1.0, 2.0]))
    exact = np.array([0.0, 0.25, 0.25 + 1e-9 - 0.25, 0.75 - (0.25 + 1e-9 - 0.25), 0.0])
    assert (np.abs(masses[0] - exact) <= error[0] + 2e-16 * exact).all()
    assert error[0, 2] <= 1e-11 * masses[0, 2]


def test_a_stated_ratio_family_is_listed_among_the_assumptions():
    def stated(mean, family):
        law = NormalDensity(mean, 1.0)
        return Density(law.pdf, law.cdf, law.sf, breakpoints=[mean], ratio_family=family)

    with_family = ContinuousProblem([[stated(0.0, "mine"), stated(1.0, "mine")]], [[0.5, 0.5]], 0.1)
    without = ContinuousProblem([[stated(0.0, None), NormalDensity(1.0, 1.0)]], [[0.5, 0.5]], 0.1)
    assert any(
        "monotone ratios" in each and "y[0]" in each and "y[1]" in each
        for each in with_family.assumes
    )
    assert not any("ratio" in each for each in without.assumes)
    assert any("next to a breakpoint" in each for each in without.assumes)
