"""Limits for people: the region holds the truth as often as it says, and no law in the region leaks
beyond the limits.
"""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from gated import gated
from numpy.random import default_rng
from random_laws import random_columns
from scipy.special import rel_entr
from scipy.stats import multinomial

from discreet.measures.g_leakage import GLeakage
from discreet.measures.registry import MEASURES, measure_of
from discreet.people.extremes import highest_of, leakage_of, limits_of
from discreet.people.region import (
    Levels,
    ball_radius,
    best_power,
    binomial_limits,
    odds_limits,
    region_of,
)
from discreet.problems.adversary.inference import confidence_interval

MUTUAL = measure_of("mutual-information")
CONDITIONAL = measure_of("conditional-mutual-information")
Law = tuple[np.ndarray, np.ndarray]


def measures_of(n, rng):
    """Every family: Sibson's of a low and a high order, gains of three random actions."""
    plain = [measure_of(name) for name in MEASURES if name not in ("sibson", "g-leakage")]
    return [
        *plain,
        measure_of("sibson:alpha=1.5"),
        measure_of("sibson:alpha=20"),
        GLeakage(rng.random((3, n))),
    ]


def drawn_law(m, n, rng, *, null):
    rates = random_columns(rng, m, n)
    return (np.repeat(rates[:, :1], n, axis=1) if null else rates), rng.dirichlet(np.full(n, 2.0))


def table_of(law, people, rng):
    joint = law[0] * law[1]
    return rng.multinomial(people, joint.ravel() / joint.sum()).reshape(joint.shape).astype(float)


def filled(low, high, rng):
    """A vertex of a box and the simplex: entries filled up in a random order."""
    found = low.copy()
    left = 1.0 - low.sum()
    for i in rng.permutation(low.size):
        more = min(high[i] - low[i], left)
        found[i] += more
        left -= more
    return found


def distance(region, rates):
    return float((region.people * rel_entr(region.rates, rates)).sum())


def log_odds(rates):
    """The log of the odds ratio of rates [2, 2 · given] for each given value."""
    first = np.log(rates[0]) - np.log(rates[1])
    return first[0::2] - first[1::2]


def log_evidence(region, rates):
    """The log of the e-value of rates W [m, n · given] against their own mixture q = Σ_j ρ_j W_j,
    for which the guess is independent of the group:

    Σ_j N_j (a Σ_i Ŵ_ij log(q_i/W_ij) − log Σ_i q_i^a W_ij^{1−a})
    """
    by_value = (rates * region.weights).reshape(len(rates), region.given, -1)
    mixture = np.repeat(by_value.sum(axis=2), by_value.shape[2], axis=1)
    seen = region.rates > 0.0
    ratio = np.divide(mixture, rates, out=np.full(rates.shape, np.inf), where=rates > 0.0)
    gained = (region.rates * np.log(ratio, where=seen, out=np.zeros_like(rates))).sum(axis=0)
    scale = (mixture**region.power * rates ** (1.0 - region.power)).sum(axis=0)
    return float(region.people @ (region.power * gained - np.log(scale)))


def holds(region, rates):
    """Return whether rates are within the ball, the evidence and the odds."""
    if region.odds is None:
        within = distance(region, rates) <= region.radius
        return bool(within and log_evidence(region, rates) <= region.evidence)
    found = log_odds(rates)
    return bool(
        (region.odds[:, 0] <= found + 1e-12).all() and (found <= region.odds[:, 1] + 1e-12).all()
    )


def laws_in(region, count, rng):
    """Laws in a region, most of them on its border: vertices, moved towards the table until they
    are in ball, evidence and odds.
    """
    for _ in range(count):
        columns = [
            filled(low, high, rng) for low, high in zip(region.low.T, region.high.T, strict=True)
        ]
        shares = filled(region.share_low, region.share_high, rng)
        rates = np.array(columns).T
        inside = 1.0
        if not holds(region, rates):
            inside = 0.0
            outside = 1.0
            for _ in range(30):
                middle = 0.5 * (inside + outside)
                within = holds(region, middle * rates + (1 - middle) * region.rates)
                inside, outside = (middle, outside) if within else (inside, middle)
        yield inside * rates + (1.0 - inside) * region.rates, shares


@pytest.mark.parametrize(
    "m, n, people, null",
    gated(
        [
            (2, 2, 400, True),
            (4, 3, 60, False),
            (2, 2, 400, False),
            (2, 4, 3000, False),
            (3, 2, 3000, True),
            (3, 2, 3000, False),
            (6, 3, 20000, True),
            (2, 20, 9000, True),
            (5, 15, 90000, False),
        ],
        2,
    ),
    ids=str,
)
def test_no_law_in_the_region_leaks_beyond_the_limits(m, n, people, null):
    """Counts of independent guesses, and probabilities of guesses that say something."""
    counted = null
    rng = default_rng([m, n, people, null, counted])
    region = region_of(table_of(drawn_law(m, n, rng, null=null), people, rng) + 1.0, 0.95, counted)
    laws = [(region.rates, region.shares), *laws_in(region, 15, rng)]
    for measure in measures_of(n, rng):
        low, high = limits_of(measure, region)
        values = [leakage_of(measure, *law) for law in laws]
        assert 0.0 <= low <= min(values) + 1e-12, measure
        assert max(values) <= high * (1.0 + 1e-9) + 1e-12, measure


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize(
    "m, n, given, people", [(2, 2, 2, 900), (2, 2, 3, 60), (3, 2, 2, 3000), (2, 3, 4, 5000)]
)
def test_no_law_in_the_region_says_more_to_who_knows_another_variable(m, n, given, people, counted):
    rng = default_rng([m, n, given, counted])
    region = region_of(
        table_of(drawn_law(m, n * given, rng, null=False), people, rng) + 1.0, 0.95, counted, given
    )
    low, high = limits_of(CONDITIONAL, region)
    for rates, shares in [(region.rates, region.shares), *laws_in(region, 20, rng)]:
        parts = [slice(k * n, (k + 1) * n) for k in range(given)]
        value = sum(
            leakage_of(MUTUAL, rates[:, own], shares[own] / shares[own].sum()) * shares[own].sum()
            for own in parts
        )
        assert low - 1e-12 <= value <= high * (1 + 1e-9)
        assert leakage_of(CONDITIONAL, rates, shares, given) == pytest.approx(value, rel=1e-9)


def test_the_limits_are_near_what_laws_in_the_region_reach():
    """Two groups, two guesses: of the measures that people ask for most the bound is no more than 6
    % above a law.
    """
    rng = default_rng(3)
    for name in (
        "mutual-information",
        "parity-difference",
        "local-differential-privacy",
        "maximal-leakage",
    ):
        region = region_of(table_of(drawn_law(2, 2, rng, null=False), 20000, rng), 0.95)
        reached = max(leakage_of(measure_of(name), *law) for law in laws_in(region, 60, rng))
        assert limits_of(measure_of(name), region)[1] <= 1.06 * reached


CASES = {  # rates [guesses, groups], shares, people
    "null": ([[0.7, 0.7], [0.3, 0.3]], [0.5, 0.5], 500),
    "rare group": ([[0.9, 0.6], [0.1, 0.4]], [0.98, 0.02], 1000),
    "rare guess": ([[0.995, 0.999], [0.005, 0.001]], [0.4, 0.6], 2000),
    "ten classes": (np.full((10, 2), 0.1), [0.7, 0.3], 3000),
    "sixteen groups": (np.full((2, 16), 0.5), np.full(16, 1 / 16), 4000),
    "given a variable": ([[0.7, 0.7, 0.2, 0.3], [0.3, 0.3, 0.8, 0.7]], [0.3, 0.4, 0.2, 0.1], 800),
}
QUICK = ("ten classes", "sixteen groups")


def drawn_table(rates, shares, people, counted, rng):
    """People of each group and their guesses: counted, or stated probabilities of mean W_j, one of
    each person's own, from Dirichlet's law.
    """
    columns = []
    for column, k in zip(rates.T, rng.multinomial(people, shares), strict=True):
        if counted:
            columns.append(rng.multinomial(k, column))
        else:
            columns.append(rng.dirichlet(4.0 * column, size=k).sum(axis=0))
    return np.array(columns, dtype=float).T


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize(
    "case", gated(sorted(CASES, key=lambda name: name not in QUICK), len(QUICK))
)
def test_the_region_holds_the_law_and_limits_its_leakage_as_often_as_it_says(case, counted):
    """An upper limit of two guesses has all of the level."""
    rates, shares, people = CASES[case]
    rates = np.asarray(rates)
    shares = np.asarray(shares)
    given = 2 if case == "given a variable" else 1
    measure = MUTUAL if given == 1 else CONDITIONAL
    truth = leakage_of(measure, rates, shares, given)
    rng = default_rng(7)
    levels = Levels.of(*rates.shape, 0.05, counted, given, upper=False)
    draws = 2_000 if counted and not levels.odds else 500
    held = 0
    limited = 0
    near = 0
    believed = 0
    for _ in range(draws):
        table = drawn_table(rates, shares, people, counted, rng)
        region = region_of(table, 0.95, counted, given)
        inside = (region.low <= rates + 1e-12).all() and (rates <= region.high + 1e-12).all()
        inside &= (region.share_low <= shares).all() and (shares <= region.share_high).all()
        held += bool(inside) and holds(region, rates)
        if region.odds is not None:
            upper = region_of(table, 0.95, counted, given, upper=True)
            limited += truth <= highest_of(measure, upper)
        else:
            near += distance(region, rates) <= region.radius
            believed += log_evidence(region, rates) <= region.evidence
    assert held >= 0.95 * draws
    if region.odds is not None:
        assert limited >= 0.95 * draws
    else:
        assert near >= (1.0 - levels.ball) * draws
        assert believed >= (1.0 - levels.evidence) * draws


@pytest.mark.parametrize(
    "name, table",
    {
        "mutual-information": [[29, 35, 35], [29, 35, 35]],
        "chi-square": [[3, 5], [3, 5]],
        "maximal-leakage": [[6, 5, 1], [36, 30, 6], [18, 15, 3]],
        "sibson:alpha=2": [[21, 35], [12, 20]],
    }.items(),
)
def test_a_guess_that_may_be_independent_leaks_at_least_nothing(name, table):
    """To the last digit: the table itself is in the region. Rounding of tangents claimed 1e-16."""
    assert limits_of(measure_of(name), region_of(np.array(table, dtype=float), 0.95))[0] == 0.0


def test_limits_of_an_odds_ratio_are_those_of_fisher():
    """As `scipy.stats.contingency.odds_ratio` has them; and where a margin leaves no room there is
    no limit.
    """
    from scipy.stats.contingency import odds_ratio

    tables = np.array(
        [
            [[30, 20], [10, 40]],
            [[0, 5], [10, 3]],
            [[3, 1], [0, 4]],
            [[5, 0], [5, 0]],
            [[0, 0], [3, 4]],
        ]
    )
    for table, (low, high) in zip(tables, np.exp(odds_limits(tables * 1.0, 0.05)), strict=True):
        assert (low, high) == pytest.approx(
            tuple(odds_ratio(table).confidence_interval(0.95)), rel=1e-9
        )
    (low, high), (mirrored, _) = odds_limits(
        np.array([[[300.0, 5e5], [200, 4e5]], [[5e5, 300.0], [4e5, 200]]]), 0.01
    )
    assert mirrored == pytest.approx(-high, abs=1e-12)
    assert low < math.log(300 * 4 / (200 * 5)) < high


def test_limits_of_a_probability_are_those_of_clopper_and_pearson_and_chernoffs_are_wider():
    hits = np.array([0.0, 3.0, 40.0, 41.0])
    trials = np.full(4, 41.0)
    low, high = binomial_limits(hits, trials, 0.05)
    for k in range(4):
        assert (low[k], high[k]) == pytest.approx(confidence_interval(int(hits[k]), 41), abs=1e-13)
    wide_low, wide_high = binomial_limits(hits, trials, 0.05, counted=False)
    assert (wide_low <= low + 1e-14).all()  # equal where no one was hit
    assert (wide_high >= high - 1e-14).all()


@pytest.mark.parametrize("given", [1, 2])
def test_the_mean_of_an_e_value_is_one(given):
    """Under the law that it is about: summed over all tables of groups of four people and one."""
    rng = default_rng(given)
    rates = random_columns(rng, 3, 2 * given)
    people = np.resize([4, 1], 2 * given)
    region = region_of(np.ones((3, 2 * given)), 0.95, True, given)
    columns = [
        [column for column in product(range(k + 1), repeat=3) if sum(column) == k] for k in people
    ]
    mean = 0.0
    for table in product(*columns):
        counts = np.array(table).T * 1.0
        chance = multinomial.pmf(counts.T, people, rates.T).prod()
        seen = replace(region, people=people * 1.0, rates=counts / people, power=0.6)
        mean += chance * math.exp(log_evidence(seen, rates))
    assert mean == pytest.approx(1.0, rel=1e-12)


@pytest.mark.gate
@pytest.mark.parametrize("m, n, most", [(3, 2, 9.0), (3, 3, 12.0), (5, 5, 25.0), (10, 2, 22.0)])
def test_how_little_information_can_be_promised_of_an_independent_guess(m, n, most):
    """N times the upper limit, in the median of tables: the statistical limits are 3.2 to 6.3."""
    rng = default_rng(5)
    people = 20_000
    tables = rng.multinomial(people, np.full(m * n, 1.0 / (m * n)), size=9).reshape(9, m, n) * 1.0
    regions = [region_of(table, 0.95, upper=True) for table in tables]
    assert people * np.median([highest_of(MUTUAL, region) for region in regions]) <= most


def test_the_power_of_an_e_value_limits_an_independent_guess_best():
    for freedom, evidence in ((1, 3.0), (9, 3.3), (16, 5.0)):
        limits = {}
        for power in np.linspace(0.05, 1.0, 20):
            t = np.linspace(0.0, 300.0, 300_001)
            value = power * (2.0 - power) * t - power * np.sqrt(2.0 * freedom * t)
            limits[power] = t[np.flatnonzero(value < evidence)[-1]]
        assert best_power(freedom, evidence) == pytest.approx(min(limits, key=limits.get), abs=0.05)


@pytest.mark.parametrize("freedom", [1, 4, 90])
def test_the_radius_of_the_ball_solves_its_equation(freedom):
    radius = ball_radius(freedom, 0.01)
    assert radius > freedom
    assert freedom * (1.0 + math.log(radius / freedom)) - radius == pytest.approx(math.log(0.01))


def test_a_group_that_no_one_has_may_get_any_guess():
    region = region_of(np.array([[30.0, 50.0, 0.0], [20.0, 40.0, 0.0]]), 0.95)
    assert region.low[:, 2].tolist() == [0.0, 0.0]
    assert region.high[:, 2].tolist() == [1.0, 1.0]
    for measure in measures_of(3, default_rng(0)):
        low, high = limits_of(measure, region)
        assert low <= leakage_of(measure, region.rates, region.shares) <= high


def test_rates_that_may_be_equal_have_a_lower_limit_of_zero():
    """Also where rounding makes a little of equal rates, in one part of a region or in all."""
    table = np.array([[375.0, 470.0, 90.0, 39.0], [90.0, 106.0, 224.0, 106.0]])
    assert limits_of(CONDITIONAL, region_of(table, 0.95, given=2))[0] == 0.0
    for measure in measures_of(2, default_rng(0)):
        assert limits_of(measure, region_of(table[:, :2], 0.95))[0] == 0.0


def test_one_guess_or_one_group_leaks_exactly_nothing():
    for table in (np.array([[30.0, 50.0]]), np.array([[30.0], [50.0]])):
        assert limits_of(measure_of("chi-square"), region_of(table, 0.95)) == (0.0, 0.0)


def test_any_number_of_groups_has_limits_by_every_measure():
    """More than have their corners looked at: a guess that is independent of 40 groups is known to
    leak little.
    """
    region = region_of(np.full((2, 40), 4000.0), 0.95)
    most = {
        "mutual-information": 0.01,
        "chi-square": 0.02,
        "total-variation": 0.05,
        "maximal-leakage": 0.08,
        "min-entropy-leakage": 0.2,
        "parity-difference": 0.08,
        "max-lift": 0.1,
        "local-differential-privacy": 0.2,
        "pointwise-information": 0.01,
        "sibson:alpha=2": 0.02,
    }
    for name, bound in most.items():
        low, high = limits_of(measure_of(name), region)
        assert low == 0.0
        assert 0.0 < high < bound, name


def test_the_least_mass_of_a_guess_is_that_of_a_linear_program():
    from scipy.optimize import linprog

    rng = default_rng(8)
    region = region_of(table_of(drawn_law(3, 5, rng, null=False), 300, rng), 0.95)
    bounds = list(zip(region.share_low, region.share_high, strict=True))
    for rates in rng.random((5, 5)):
        least, most = (
            linprog(sign * rates, A_eq=np.ones((1, 5)), b_eq=[1.0], bounds=bounds).fun * sign
            for sign in (1.0, -1.0)
        )
        assert region.least_mean(rates) == pytest.approx(least, rel=1e-9)
        assert region.largest_mean(rates) == pytest.approx(most, rel=1e-9)
