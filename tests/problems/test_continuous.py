"""Continuous problems, rules, and the lower bound: laws, exact values, and refusals; and brackets
that hold whatever the masses of intervals may be wrong by.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import inf, nan
from types import SimpleNamespace

import exactly
import mpmath
import numpy as np
import pytest
from density_cases import NORMALS, P_XY, grid, mixtures
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose
from random_laws import random_columns, random_joint
from refusals import raises_input_error
from scipy import optimize, stats
from solving import assert_certified
from strategies import seeds

import discreet as ds
from discreet.judge import certify
from discreet.problems import (
    ContinuousProblem,
    Density,
    IntervalRule,
    Mixture,
    NormalDensity,
    paper_continuous,
)
from discreet.problems.continuous.bound import _Cells, _decide, _Tilted, _where_to_split, sweep
from discreet.problems.continuous.density import component

NORMAL = NormalDensity(0, 1)


# -- the problem
# --------------------------------------------------------------------------------------------------


def test_on_a_partition_a_continuous_problem_is_the_discrete_one():
    edges = np.array([-inf, 0.2, 0.5, 0.8, inf])
    from discreet.problems import paper_single

    ours = paper_continuous(0.01).on(edges)
    theirs = paper_single(budget=0.01)
    assert_allclose(ours.p_xz, theirs.p_xz, rtol=1e-14)
    assert_allclose(ours.loss, theirs.loss, rtol=1e-14)
    assert ours.budget == theirs.budget


def test_equal_distributions_are_one_density():
    same = ContinuousProblem(grid(lambda j, i: stats.norm(i, 1.0)), P_XY, 0.0)
    assert len(same.components) == 2
    spelt = ContinuousProblem(
        [[stats.norm(0, 1), stats.norm(loc=0.0, scale=1.0)]], [[0.5, 0.5]], 0.1
    )
    assert len(spelt.components) == 1


def test_budget_and_equivocation_agree():
    problem = paper_continuous(0.01)
    assert problem.with_budget(equivocation=problem.entropy_x - 0.02).budget == pytest.approx(
        0.02, rel=1e-12
    )
    assert paper_continuous(equivocation=problem.equivocation).budget == pytest.approx(
        0.01, rel=1e-12
    )
    assert problem.with_budget(0.0).components is problem.components
    assert_allclose(problem.posterior([0.5, 1e9]).sum(axis=0), 1.0)
    assert_allclose(problem.posterior([1e9])[:, 0], problem.p_x)
    assert "4 densities" in repr(problem)


@pytest.mark.parametrize(
    "words, entry",
    {
        "does not integrate": Density(
            lambda z: 1.01 * NORMAL.pdf(z),
            NORMAL.cdf,
            breakpoints=[0.0],
        ),
        "not from 0 to 1": Density(
            NORMAL.pdf,
            lambda z: 0.99 * NORMAL.cdf(z),
            breakpoints=[0.0],
        ),
        "nan": Density(lambda z: np.full(z.shape, nan), NORMAL.cdf, breakpoints=[0.0]),
        "vectorise": Density(lambda z: 1.0, NORMAL.cdf, breakpoints=[0.0]),
        "add up to 1": Density(NORMAL.pdf, NORMAL.cdf, NormalDensity(0.1, 1).sf, [0.0]),
        "infinite near z = -?1": stats.rdist(0.2),
        r"2.*e-07.* z = -?1\)": stats.rdist(0.9),
        "one distribution": stats.norm([0, 1], 1),
        "no pdf and cdf": stats.poisson(3),
    }.items(),
)
def test_a_bad_density_is_refused_in_one_sentence(entry, words):
    with raises_input_error(words):
        ContinuousProblem([[NORMAL, entry]], [[0.5, 0.5]], 0.1)


@pytest.mark.parametrize(
    "p_xy, options, words",
    [
        ([[0.3, 0.2], [0.15, nan]], {}, "not finite"),
        ([[0.3, 0.2], [0.15, 0.35 + 2e-9]], {}, "not to 1 within 1e-09"),
        ([[0.3, 0.2, 0.5]], {}, "give 1 rows of 3"),
        ([[0.3, 0.2], [0.15, 0.35]], {"loss_matrix": np.ones((3, 2))}, "3 rows"),
        ([[0.3, 0.2], [0.15, 0.35]], {"accuracy": 0.1}, "accuracy"),
    ],
)
def test_a_bad_model_is_refused_in_one_sentence(p_xy, options, words):
    with raises_input_error(words):
        ContinuousProblem(NORMALS, p_xy, 0.1, **options)


def test_bad_budgets_parameters_and_mixtures_are_refused():
    with raises_input_error(r"budget= .*equivocation="):
        ContinuousProblem(NORMALS, P_XY)
    with raises_input_error("-1 nats"):
        paper_continuous(-1.0)
    with raises_input_error("σ"):
        NormalDensity(0.0, 0.0)
    with raises_input_error(r"\[0.5, 0.4\]"):
        Mixture([0.5, 0.4], [NORMAL, NormalDensity(1, 1)])
    with raises_input_error("components"):
        Mixture([1.0], [])


def test_a_total_within_the_tolerance_is_scaled():
    problem = ContinuousProblem(NORMALS, P_XY + np.array([[0, 0], [0, 5e-10]]), 0.1)
    assert problem.p_xy.sum() == pytest.approx(1.0, abs=1e-15)


# -- densities
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "law",
    [
        stats.chi(3, scale=0.3),
        stats.gamma(3, scale=0.3),
        stats.gumbel_l(scale=0.3),
        stats.gumbel_r(scale=0.3),
    ],
)
def test_a_density_that_is_nan_at_the_largest_doubles_is_0_there(law):
    """In scipy.stats (z - location) / scale overflows, and the density with it."""
    ends = np.array([-1.0, 1.0]) * np.finfo(float).max
    with np.errstate(all="ignore"):
        assert np.isnan(law.pdf(ends)).any()
    assert component(law, "Z").pdf(ends).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "law, turn, place", [(stats.norm(30.0, 0.5), 30.0, 0.5), (stats.pareto(0.1), 1.0, 1e100)]
)
def test_a_density_that_is_nan_where_its_cdf_does_not_prove_it_small_is_refused(law, turn, place):
    """A normal law is known to fall only beyond its breakpoint, and mass 1e-10 of the Pareto law
    lies beyond 1e100.
    """
    broken = Density(lambda z: np.where(z == place, nan, law.pdf(z)), law.cdf, law.sf, [turn])
    with raises_input_error(r"nan .*z = (0\.5|1e\+100)"):
        component(broken, "Z").pdf(np.array([place]))


@pytest.mark.parametrize("law", [stats.gumbel_r, stats.gumbel_l])
def test_gumbel_densities_are_solved_at_small_budgets(law):
    problem = ContinuousProblem(grid(lambda j, i: law(0.5 * j + i, 0.3 + 0.1 * i)), P_XY, 1e-3)
    solution = assert_certified(problem)
    assert solution.leakage <= 1e-3


def test_turning_points_are_found_where_they_are_not_known():
    law = stats.skewnorm(2.0)
    prepared = component(law, "skew")
    assert prepared.located
    top = max(prepared.breakpoints, key=lambda z: law.pdf(z) if np.isfinite(z) else 0.0)
    assert (law.pdf(top) >= law.pdf(np.linspace(-3, 3, 10001)) - 1e-14).all()
    two_humps = Density(
        lambda z: 0.5 * NormalDensity(-2, 0.5).pdf(z) + 0.5 * NormalDensity(2, 0.5).pdf(z),
        lambda z: 0.5 * NormalDensity(-2, 0.5).cdf(z) + 0.5 * NormalDensity(2, 0.5).cdf(z),
    )
    found = component(two_humps, "two humps")
    assert found.located
    assert_allclose(found.breakpoints, [-2, 0, 2], atol=1e-6)
    assert found.upper_floor > 0.0


# -- the lower bound
# --------------------------------------------------------------------------------------------------


def integral_of_the_least(problem, tilt):
    """The integral only by roots and cdf differences: labels on a fine grid, every change
    bisected.
    """
    coefficients = problem.tilted(tilt)

    def label(z):
        return (coefficients @ problem.densities(z)).argmin(axis=0)

    points = np.unique(
        np.concatenate(
            [problem.quantiles, np.linspace(problem.quantiles[0], problem.quantiles[-1], 4001)]
        )
    )
    labels = label(points)
    changes = np.flatnonzero(labels[1:] != labels[:-1])
    low = points[changes]
    high = points[changes + 1]
    left = labels[changes]
    for _ in range(60):
        middle = 0.5 * (low + high)
        same = label(middle) == left
        low = np.where(same, middle, low)
        high = np.where(same, high, middle)
    edges = [-inf, *low]
    names = [labels[0], *labels[changes + 1]]
    masses, _ = problem.masses(np.array([*edges, inf]))
    return math.fsum((coefficients[names].T * masses).ravel())


@given(seeds, st.floats(0.0, 2.0))
def test_the_sweep_bounds_the_integral_from_below_and_tightly(seed, size):
    problem = mixtures(seed, n=2, m=3, parts=2)
    tilt = size * default_rng(seed).normal(size=(3, 2))
    exact = integral_of_the_least(problem, tilt)
    swept = sweep(problem, tilt, 1e-9)
    assert swept.value <= exact + 1e-14
    assert swept.value >= exact - 1e-9 - 2.0 * swept.allowance
    assert swept.slack <= 1e-9


@given(seeds)
def test_the_sweep_of_any_families_is_a_lower_bound_where_losses_nearly_tie(seed):
    rng = default_rng(seed)
    families = [
        *(stats.beta(2, 3), stats.cauchy(1, 2), stats.chi(3), stats.expon(1, 2)),
        *(stats.gamma(3, loc=1), stats.gumbel_l(1), stats.halfcauchy(), stats.invgamma(3)),
        *(stats.laplace(1, 2), stats.lognorm(0.7), stats.norm(1, 2), stats.pareto(2.5)),
        *(stats.rayleigh(), stats.t(3, 1, 2), stats.triang(0.3), stats.uniform()),
    ]
    laws = [[families[k] for k in rng.integers(len(families), size=2)] for _ in range(2)]
    problem = ContinuousProblem(laws, P_XY, inf)
    tilt = np.zeros((2, 2))
    point = float(rng.choice(problem.quantiles))
    private = problem.private @ problem.densities(point)[:, 0]
    losses = problem.losses @ problem.densities(point)[:, 0]
    assume(private[0] > 0.0)
    tilt[0, 0] = (losses[1] - losses[0]) / private[0] * (1.0 + rng.choice([0.0, 1e-6, 1e-3]))
    exact = integral_of_the_least(problem, tilt)
    for target in (1e-3, 1e-6, 1e-9):
        swept = sweep(problem, tilt, target * abs(exact))
        assert swept.value <= exact + 1e-13 * (1.0 + np.abs(tilt).max())


def test_sub_exponential_tails_that_nearly_tie_need_few_cells():
    """Their ratio changes slowly over a hundred decades, and no density is constant on a cell."""
    laws = [[stats.lomax(0.1331), stats.lomax(0.1345)]]
    problem = ContinuousProblem(laws, [[0.5, 0.5]], inf)
    swept = sweep(problem, np.zeros((2, 1)), 1e-11)
    assert swept.slack <= 1e-11
    assert swept.cells < 10_000


def test_a_sweep_goes_on_while_slack_matters_beside_what_narrow_masses_allow():
    """The allowance of differences of cdfs is 700 times that of the densities, and ended it at a
    relative slack of 7e-9.
    """
    laws = [
        [stats.beta(4.565327837842925, 8.618587535903064, scale=2.1575), stats.pareto(5874393.03)],
        [
            stats.pareto(0.6483110361580045, scale=0.27433329786160054),
            stats.triang(1.0, loc=1.3755725015065698e-07, scale=0.26089952421535906),
        ],
    ]
    prior = [
        [8.781202720896442e-13, 9.276313363531481e-12],
        [0.2463467671447746, 0.753653232845071],
    ]
    problem = ContinuousProblem(laws, prior, 0.0)
    row = np.array([3569.594312479, -3.62472086e-08])
    swept = sweep(problem, np.stack([row, -row]), 1e-20)
    assert swept.slack <= 0.1 * swept.allowance
    assert swept.slack + swept.allowance <= 1e-9 * swept.value


def test_a_sweep_whose_time_is_over_is_coarse_and_valid():
    problem = mixtures(3)
    tilt = default_rng(1).normal(size=(3, 3))
    finest = sweep(problem, tilt, 1e-13)
    coarse = sweep(problem, tilt, 1e-13, deadline=-inf)
    assert coarse.cells < finest.cells
    assert coarse.slack > finest.slack
    assert coarse.value <= finest.value + finest.slack + finest.allowance


def test_a_sweep_does_not_trust_labels_between_its_cells():
    """A narrow spike is found that decides a tiny interval far from all other mass."""
    spike = NormalDensity(5.0, 1e-6)
    problem = ContinuousProblem(
        [[NORMAL, Mixture([0.999, 0.001], [NormalDensity(0.1, 1), spike])]],
        [[0.5, 0.5]],
        1.0,
    )
    swept = sweep(problem, np.zeros((2, 1)), 1e-12)
    assert swept.value <= 0.5 * 0.999
    inside = (swept.edges[:-1] < 5.0) & (swept.edges[1:] > 5.0)
    assert swept.labels[inside] == 1


def test_proportional_densities_that_tie_are_decided_by_their_ratio():
    """Left of all peaks Laplace densities are proportional: two guesses can tie on the whole
    half-line.
    """
    problem = ContinuousProblem(grid(lambda j, i: stats.laplace(i + 0.5 * j, 0.3)), P_XY, 0.1)
    coefficients = problem.losses
    left = problem.densities(-1.0)[:, 0]
    tilt = np.zeros((2, 2))
    tilt[0, 0] = -float((coefficients[0] - coefficients[1]) @ left) / float(
        problem.private[0] @ left
    )
    swept = sweep(problem, tilt, 1e-11)
    assert swept.slack <= 1e-11
    assert swept.cells < 2000
    assert swept.value == pytest.approx(integral_of_the_least(problem, tilt), abs=2e-11)


def test_the_slack_of_an_unbounded_interval_covers_the_loss_of_its_label():
    """Left of −5 a normal law beats a Cauchy law in mass, but nowhere except next to −5."""
    laws = [[stats.cauchy(), NormalDensity(-5.0, 0.1)]]
    problem = ContinuousProblem(laws, [[0.5, 0.5]], 1.0)
    cells = _Cells.at(problem, np.array([-inf, -5.0, 0.0, inf]))
    labels, slack = _decide(problem, _Tilted(problem.losses, problem.losses), cells)
    assert labels[0] == 1
    crossing = optimize.brentq(lambda z: laws[0][0].pdf(z) - float(laws[0][1].pdf(z)), -6.0, -5.1)
    lost = 0.5 * (laws[0][0].cdf(crossing) - float(laws[0][1].cdf(crossing)))
    assert lost <= slack[0] <= 1.2 * lost


# -- rules
# --------------------------------------------------------------------------------------------------


def test_a_rule_guesses_by_interval():
    rule = IntervalRule.from_labels([0.0, 1.0], [0, 1, 0], 2)
    assert rule([-1.0, 0.0, 0.5, 1.0, 1.5]).tolist() == [0, 0, 1, 1, 0]
    assert rule(np.array([[-inf, inf]])).tolist() == [[0, 0]]
    assert rule.deterministic
    assert rule.labels.tolist() == [0, 1, 0]
    assert "labels [0, 1, 0]" in repr(rule)


def test_a_random_rule_draws_with_its_probabilities():
    rule = IntervalRule([-inf, 0.0, inf], [[1.0, 0.3], [0.0, 0.7]])
    assert rule([-1.0, -2.0]).tolist() == [0, 0]
    with raises_input_error("rng="):
        rule([1.0])
    drawn = rule(np.ones(20_000), default_rng(0))
    assert abs(drawn.mean() - 0.7) < 0.015
    assert rule.labels.tolist() == [0, -1]


@pytest.mark.parametrize(
    "edges, estimator, words",
    [
        ([-inf, 1.0, 0.0, inf], np.full((2, 3), 0.5), "strictly increasing"),
        ([-inf, nan, inf], np.full((2, 2), 0.5), "strictly increasing"),
        ([0.0, inf], np.ones((2, 1)), "from -inf to inf"),
        ([-inf, inf], np.full((2, 2), 0.5), "shape"),
        ([-inf, inf], [[0.5], [0.6]], "column 0 .*1.1"),
        ([-inf, inf], [[nan], [1.0]], r"the estimator\[0, 0\] is nan"),
    ],
)
def test_a_bad_rule_is_refused(edges, estimator, words):
    with raises_input_error(words):
        IntervalRule(edges, estimator)


def test_invalid_labels_measurements_and_problems_are_refused():
    with raises_input_error("labels"):
        IntervalRule.from_labels([0.0], [0, 2], 2)
    rule = IntervalRule.from_labels([0.0], [0, 1], 2)
    with raises_input_error("NaN"):
        rule([nan])
    with raises_input_error("guesses"):
        rule.on(mixtures(0))


# -- the certificate
# --------------------------------------------------------------------------------------------------


@cache
def optimum_of_the_paper(budget):
    """The bracket of the optimum under a budget that a solution proves."""
    from discreet.backends.run import solve

    certificate = solve(paper_continuous(budget)).certificate
    return certificate


@given(seeds, st.sampled_from([0.0, 1e-6, 0.01, 0.05, inf]))
def test_any_rule_and_any_duals_give_a_valid_bracket(seed, budget):
    """The bracket of any answer holds the optimum, which is known here from a
    certified solution.
    """
    rng = default_rng(seed)
    problem = paper_continuous(budget)
    optimum = optimum_of_the_paper(budget)
    rule = IntervalRule.from_labels(np.sort(rng.uniform(-0.5, 1.5, 3)), rng.integers(0, 2, 4), 2)
    judged = certify(
        problem,
        rule,
        rng.normal(size=(2, 2)) * rng.choice([1e-3, 1.0, 1e3]),
        float(rng.exponential()),
    )
    assert 0.0 <= judged.certificate.lower <= optimum.upper
    assert judged.certificate.upper >= optimum.lower
    if budget > 0.0:
        assert judged.answer.output_law(problem).leakage_ceiling() <= budget
    else:
        assert judged.certificate.phi_residual <= 1e-13


def test_duals_are_derived_for_a_rule_without():
    problem = paper_continuous(0.01)
    rule = IntervalRule.from_labels([0.474593741, 1.19611633], [0, 1, 0], 2)
    judged = ds.certify(problem, rule)
    assert judged.certificate.relative_gap < 1e-6
    with raises_input_error("shape"):
        certify(problem, rule, np.zeros((3, 2)), 0.0)


def test_a_problem_lists_the_assumptions_of_its_certificates():
    assert any("5e-13 relative" in sentence for sentence in paper_continuous(0.01).assumes)
    laws = grid(lambda j, i: stats.skewnorm(2.0, i + 0.5 * j, 0.3))
    assert any(
        "found numerically" in sentence for sentence in ContinuousProblem(laws, P_XY, 0.01).assumes
    )
    bare = Density(NORMAL.pdf, NORMAL.cdf, breakpoints=[0.0])
    coarse = ContinuousProblem([[NormalDensity(1, 1), bare]], [[0.5, 0.5]], 0.01)
    assert any("absolute" in sentence for sentence in coarse.assumes)


def test_a_less_accurate_model_gets_a_wider_bracket():
    rule = IntervalRule.from_labels([0.5], [0, 1], 2)
    problems = [
        ContinuousProblem(NORMALS, P_XY, inf, accuracy=accuracy) for accuracy in (5e-13, 1e-9, 1e-7)
    ]
    gaps = [certify(problem, rule, np.zeros((2, 2)), 0.0).certificate.lower for problem in problems]
    assert gaps[0] > gaps[1] > gaps[2]


def test_a_subdivision_has_at_most_as_many_new_points_as_allowed():
    """The cells of the largest slack are cut first."""
    edges = np.array([-inf, *np.arange(8.0), inf])
    slack = np.arange(9.0)
    points = _where_to_split(edges, slack, 1e-9, 6)
    assert points.size <= 6
    assert points.min() > 6.0


def test_a_density_that_takes_no_arrays_is_refused():
    law = Density(lambda z: math.exp(-z), lambda z: 1.0 - math.exp(-z), breakpoints=[0.0])
    with raises_input_error(r"the (cdf|density|survival function) of Z given .* array of points"):
        ContinuousProblem(grid(lambda j, i: law), P_XY, 0.1)


class Unhashable:
    """A distribution that defines equality but no hash."""

    __hash__ = None

    def __init__(self, law):
        self.pdf = law.pdf
        self.cdf = law.cdf
        self.sf = law.sf
        self.breakpoints = law.breakpoints


def test_the_same_object_is_one_density_even_if_it_has_no_hash():
    laws = [Unhashable(NORMAL), Unhashable(NORMAL)]
    problem = ContinuousProblem(grid(lambda j, i: laws[i]), P_XY, 0.1)
    assert len(problem.components) == 2


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
    rng = default_rng(seed)
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
