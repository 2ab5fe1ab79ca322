"""The families of scipy.stats against ball arithmetic: their functions are as accurate as stated,
at both ends.
"""

import math
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from gated import gated
from numpy.random import default_rng
from scipy import stats
from solving import assert_certified

import discreet as ds
from discreet.problems import ContinuousProblem, NormalDensity
from discreet.problems.continuous.density import UNDERFLOW, component
from discreet.problems.continuous.families import BENDS, TURNS, Member
from discreet.problems.continuous.model import ACCURACY
from discreet.problems.duals import change_with_prior, feasible_duals

flint = pytest.importorskip("flint", reason="the extra `verify` is not installed")


SHAPES = {
    "beta": [(1.3, 2.4), (3.0, 0.6), (65.0, 34.0), (200.0, 300.0)],
    "chi": [(0.8,), (195.0,), (600.0,)],
    "chi2": [(1.2,), (195.0,), (900.0,)],
    "gamma": [(0.6,), (97.0,), (430.0,)],
    "invgamma": [(0.7,), (97.0,), (770.0,)],
    "lognorm": [(0.01,), (0.03,), (2.0,)],
    "lomax": [(0.1,), (3e5,)],
    "pareto": [(0.1,), (1e7,)],
    "t": [(0.6,), (600.0,)],
    "triang": [(0.0,), (1.0,), (1e-10,), (0.92,)],
    "truncnorm": [
        (0.4, 9.5),
        (-35.0, -0.2),
        (-1.0, 2.0),
        (5.0, 5.0 + 1e-9),
        (-inf, -3.0),
        (300.0, inf),
    ],
    "weibull_min": [(0.8,), (52.0,)],
}


@pytest.fixture
def exactly(load):
    """The campaign of densities, which does not belong to the package."""
    return load("densities")


def points_of(law, rng):
    """Points in the middle, in tails down to 1e-250, and next to finite ends down to the
    neighbouring double.
    """
    ends = np.array(law.support())
    inner = ends[np.isfinite(ends)]
    tails = 10.0 ** rng.uniform(-250.0, -1.0, 5)
    spread = float(np.ptp(law.ppf([0.01, 0.99])))
    beside = inner[:, None] + spread * np.array([[-1.0], [1.0]])[
        : inner.size or 1
    ] * 10.0 ** rng.uniform(-16.0, 0.0, 8)
    near = np.concatenate([np.nextafter(inner, inf), np.nextafter(inner, -inf)])
    with np.errstate(all="ignore"):
        found = np.concatenate(
            [law.ppf(tails), law.isf(tails), law.ppf(rng.random(5)), beside.ravel(), near]
        )
    found = found[np.isfinite(found) & (np.abs(found - law.kwds["loc"]) > 1e-290)]
    return np.unique(found[(found > ends[0]) & (found < ends[1])])


@pytest.mark.parametrize("name", BENDS)
def test_every_family_is_convex_or_concave_between_its_bends(name, exactly):
    """Slopes of exact values rise all along a piece, or fall."""
    flint.ctx.prec = 2500
    for shapes in SHAPES.get(name, [()]):
        law = getattr(stats, name)(*shapes, loc=0.37, scale=0.0625)
        bends = component(law, name).bends
        levels = np.concatenate([10.0 ** np.arange(-12.0, -1.0), np.linspace(0.02, 0.5, 25)])
        points = np.concatenate([law.ppf(levels), law.isf(levels)])
        points = np.concatenate([points, np.linspace(points.min(), points.max(), 40)])
        points = np.setdiff1d(points, bends)
        for piece in np.split(points, np.searchsorted(points, bends)):
            values = [(flint.arb(z), exactly.exact_values(law, z)[0]) for z in piece.tolist()]
            slopes = [(g - f) / (b - a) for (a, f), (b, g) in pairwise(values)]
            turns = [right - left for left, right in pairwise(slopes)]
            assert not (any(t > 0 for t in turns) and any(t < 0 for t in turns)), (shapes, piece[0])


@pytest.mark.parametrize("place", [(0.0, 1.0), (-56.93, 13.8)])
@pytest.mark.parametrize("name", TURNS)
def test_every_family_is_as_accurate_as_stated_at_both_ends(name, place, exactly):
    flint.ctx.prec = 2500
    for shapes in SHAPES.get(name, [()]):
        law = getattr(stats, name)(*shapes, loc=place[0], scale=place[1])
        known = component(law, name)
        z = np.union1d(points_of(law, default_rng(5)), known.quantiles)
        z = np.setdiff1d(z, known.breakpoints)
        computed = np.stack([known.pdf(z), *known.tails(z)])
        accuracy = max(ACCURACY, known.accuracy)
        for point, values in zip(z.tolist(), computed.T.tolist(), strict=True):
            logarithms = (-math.log(max(v, 1e-300)) / 690.0 for v in values[1:])
            shares = [1.0, *(min(1.0, max(known.steady, each)) for each in logarithms)]
            for value, exact, share in zip(
                values, exactly.exact_values(law, point), shares, strict=True
            ):
                allowed = flint.arb(accuracy) * share * exact + UNDERFLOW
                assert abs(flint.arb(value) - exact) <= allowed, (
                    shapes,
                    point,
                    value,
                    float(exact.mid()),
                )


@pytest.mark.parametrize(
    "steep", [stats.pareto(1e7), stats.lomax(1e7), stats.truncnorm(1.0, 1.0 + 1e-6)]
)
@pytest.mark.parametrize("flat", [stats.pareto(0.1), stats.truncnorm(1.0, 3.0)])
def test_mass_next_to_an_end_is_bracketed(steep, flat, exactly):
    """The optimum of Pareto laws once lay 2.2e-10 above a bracket of relative width 3e-12."""
    found = assert_certified(ContinuousProblem([[flat, steep]] * 2, [[0.4995, 0.0005]] * 2, inf))
    assert exactly.broken_claims(found, [flat, steep]) == []


@pytest.mark.parametrize("name", TURNS)
def test_masses_of_narrow_intervals_are_bracketed(name, exactly):
    """Intervals around quantiles, turning and inflection points, and next to the ends."""
    flint.ctx.prec = 1200
    rng = default_rng(8)
    for shapes in SHAPES.get(name, [()]):
        law = getattr(stats, name)(*shapes, loc=0.0 if name == "truncnorm" else 0.37)
        problem = ContinuousProblem([[law]], [[1.0]], inf)
        (known,) = problem.components
        centres = np.concatenate(
            [known.breakpoints, known.bends, known.quantiles[:: known.quantiles.size // 6]]
        )
        spread = float(np.ptp(law.ppf([0.01, 0.99])))
        widths = spread * 10.0 ** rng.uniform(-16.0, -2.0, (2, centres.size))
        around = np.unique([centres - widths[0], centres + widths[1]])
        edges = np.union1d(around, centres)
        for cut in (around, edges):
            masses, error = problem.masses(cut)
            tails = [exactly.exact_values(law, edge)[1:] for edge in cut.tolist()]
            for k, (low, high) in enumerate(pairwise(tails)):
                exact = high[0] - low[0]
                assert abs(exact - masses[0, k]) <= error[0, k], (law.args, cut[k : k + 2])
        narrow = np.diff(edges) < 1e-5 * spread
        relative = (error[0] / np.maximum(masses[0], 1e-300))[narrow & (masses[0] > 1e-12)]
        assert not relative.size or np.median(relative) < 1e-9


def test_a_gap_that_the_accuracy_of_the_functions_sets_is_called_so(exactly):
    """A rare guess that must not leak: its masses are differences of much larger numbers."""
    problem, laws, _ = exactly.Draw(7, 2598, False).problem()
    found = ds.solve(problem.with_budget(0.0))
    assert found.status is ds.Status.INACCURATE
    assert found.claimed.endswith("the accuracy of the distribution functions sets the gap")
    assert exactly.exact_gap(found, laws) < 0.1 * found.relative_gap


@pytest.mark.parametrize(
    "number, ends",
    gated(
        [
            (578, False),  # a large tilt of a rare guess
            (339, True),  # a jump between two doubles
            (703, True),  # steep densities between two doubles
            (333, True),  # a leakage that masses hide
            (425, True),  # masses of narrow intervals
            (410, True),  # what a tidied rule may leak
            (809, True),  # a rule with boundaries of Newton's method that a partition repairs
        ]
    ),
)
def test_random_densities_that_were_inaccurate_are_certified(number, ends, exactly):
    free, laws, share = exactly.Draw(7, number, ends).problem()
    found = ds.solve(free)
    if share < inf:
        found = ds.solve(free.with_budget(share * max(found.leakage, 1e-6)))
    assert found.status is ds.Status.CERTIFIED
    assert exactly.broken_claims(found, laws) == []


@pytest.mark.parametrize("rare", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_rare_private_value_is_solved_at_perfect_privacy(rare):
    laws = [
        [NormalDensity(0.0, 1.0), NormalDensity(1.0, 1.0)],
        [NormalDensity(0.5, 1.0), NormalDensity(2.0, 1.0)],
    ]
    prior = 0.5 * np.array([[1.0 - rare] * 2, [rare] * 2])
    found = assert_certified(ContinuousProblem(laws, prior, 0.0))
    assert found.error_probability < 0.38


@pytest.mark.parametrize("budget", [0.0, 0.02])
def test_duals_of_a_prior_that_errs_are_lowered_far_enough(budget):
    rng = default_rng(3)
    for _ in range(100):
        p_x = rng.dirichlet(np.full(3, 0.2)) + 1e-12
        p_x /= p_x.sum()
        found = feasible_duals(
            rng.normal(size=(2, 3)) / p_x, float(10.0 ** rng.uniform(-3.0, 3.0)), p_x, budget
        )
        share = 1e-6
        (tilt, multiplier) = found
        other = p_x * (1.0 + rng.uniform(-1.0, 1.0, 3) * share)
        other *= p_x.sum() / other.sum()
        lowered = tilt - 2.0 * share * change_with_prior(tilt, multiplier, p_x)[:, None]
        rounding = 1e-13 * np.abs(tilt) @ p_x
        if math.isinf(multiplier):
            assert (lowered @ other <= rounding).all()
        elif multiplier > 0.0:
            assert (
                multiplier * np.log(np.exp(lowered / multiplier) @ other)
                <= rounding + 1e-13 * multiplier
            ).all()


def test_disjoint_densities_are_certified_at_an_optimum_of_0():
    for budget in (0.0, inf):
        problem = ContinuousProblem(
            [[stats.uniform(0.0, 1.0), stats.uniform(1.0, 1.0)]] * 2, [[0.25, 0.25]] * 2, budget
        )
        found = assert_certified(problem)
        assert found.certificate.upper < 1e-290


@pytest.mark.parametrize(
    "law", [stats.gamma(1e200), stats.beta(1e200, 1e200)], ids=["gamma", "beta"]
)
def test_inflection_points_that_overflow_are_unknown(law):
    """They must not be left out: a density would count as convex or concave where it is not."""
    assert Member.of(law).bends is None
