"""The region that may be looked at at any time: its e-values have mean 1 under every law, and what
follows from them is true of every law that it holds.
"""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.random import default_rng
from strategies import seeds
from test_region import distance, measures_of

from discreet.measures.registry import measure_of
from discreet.people import anytime
from discreet.people.anytime import anytime_region
from discreet.people.extremes import leakage_of, limits_of, lowest_of
from discreet.people.region import region_of

COUNTS = st.integers(0, 40)


def law_on_the_border(region, rng):
    """Rates in the ball, as far from the table in a random direction as it allows."""
    m, n = region.rates.shape
    far = rng.dirichlet(np.full(m, 0.3), size=n).T
    inside = 0.0
    outside = 1.0
    for _ in range(50):
        middle = 0.5 * (inside + outside)
        near = distance(region, (1.0 - middle) * region.rates + middle * far) <= region.radius
        inside, outside = (middle, outside) if near else (inside, middle)
    return (1.0 - inside) * region.rates + inside * far


@example([(0, 9, 1), (0, 4, 0)], 69481)
@given(st.lists(st.tuples(COUNTS, COUNTS, COUNTS), min_size=2, max_size=4), seeds)
def test_a_linear_function_is_least_at_no_law_of_the_ball(columns, seed):
    """Also where guesses are certain, or a group is empty. The ball is larger than its intersection
    with the intervals, so these are left out.
    """
    rng = default_rng(seed)
    region = anytime_region(np.array(columns, dtype=float).T, None, 0.05)
    region = replace(region, low=np.zeros(region.low.shape), high=np.ones(region.high.shape))
    price = rng.normal(size=region.rates.shape)
    for _ in range(5):
        rates = law_on_the_border(region, rng)
        assert region.least_sum(price) <= (price * rates).sum()


def test_the_bound_over_the_ball_is_nearly_reached_with_many_people():
    """Its least value is c̄ − √(2 r v), up to what is small."""
    table = np.array([[30_000.0, 20_000.0], [10_000.0, 40_000.0]])
    region = anytime_region(table, None, 0.05)
    price = np.array([[1.0, -1.0], [0.0, 0.0]])
    spread = (region.rates[0] * region.rates[1] / region.people).sum()
    nearly = region.rates[0, 0] - region.rates[0, 1] - math.sqrt(2.0 * region.radius * spread)
    assert region.least_sum(price) == pytest.approx(nearly, rel=3e-3)


@pytest.mark.gate
@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=2, max_size=3), seeds)
def test_no_law_in_the_region_leaks_beyond_the_limits(columns, seed):
    rng = default_rng(seed)
    table = np.array(columns, dtype=float).T
    region = anytime_region(table, table[:, ::-1], 0.05)
    laws = []
    for _ in range(4):
        rates = law_on_the_border(region, rng)
        shares = region.share_low + rng.dirichlet(np.ones(len(columns))) * (
            1.0 - region.share_low.sum()
        )
        if (rates >= region.low).all() and (rates <= region.high).all():
            laws.append((rates, np.minimum(shares, region.share_high)))
    laws = [(rates, shares) for rates, shares in laws if abs(shares.sum() - 1.0) < 1e-12]
    for measure in measures_of(len(columns), rng):
        low, high = limits_of(measure, region)
        for rates, shares in laws:
            assert low <= leakage_of(measure, rates, shares) * (1.0 + 1e-9) + 1e-12
            assert leakage_of(measure, rates, shares) <= high * (1.0 + 1e-9) + 1e-12


@pytest.mark.parametrize("stated", [None, [[9.0, 1.0], [2.0, 5.0]]])
@pytest.mark.parametrize("rates", [[0.5, 0.5], [0.9, 0.2], [0.01, 0.99]])
def test_the_mean_of_an_e_value_is_one(rates, stated):
    """Over all tables of four people of each group: exact, as are the laws of smaller tables."""
    first = np.array([rates, [1.0 - each for each in rates]])
    people = 4
    total = 0.0
    for hits in product(range(people + 1), repeat=2):
        table = np.array([hits, [people - each for each in hits]], dtype=float)
        ways = math.prod(math.comb(people, each) for each in hits)
        mass = ways * float(np.prod(first**table))
        region = anytime_region(table, None if stated is None else np.array(stated), 0.05)
        level = (1.0 - anytime._RATES - anytime._SHARES) * 0.05
        total += mass * math.exp(distance(region, first) - region.radius - math.log(level))
    assert 1.0 - 1e-8 < total <= 1.0  # what rounding may add is taken off


@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=2, max_size=3))
def test_the_next_guess_leaves_the_mean_of_an_e_value_as_it_is(columns):
    """A martingale, from any table on, with priors that were centred at another."""
    table = np.array(columns, dtype=float).T
    stated = table[::-1] + 1.0
    rates = default_rng(0).dirichlet(np.ones(2), size=len(columns)).T

    def evidence(counts):
        region = anytime_region(counts, stated, 0.05)
        return distance(region, rates) - region.radius

    grown = [evidence(table + np.outer(np.eye(2)[i], np.eye(len(columns))[0])) for i in range(2)]
    mean = rates[:, 0] @ np.exp(np.array(grown) - evidence(table))
    assert mean == pytest.approx(1.0, rel=1e-8)


def test_priors_that_resemble_the_records_make_the_ball_smaller():
    table = np.array([[300.0, 2000.0, 700.0], [100.0, 500.0, 150.0], [10.0, 90.0, 30.0]])
    assert (
        anytime_region(table, table, 0.05).radius < 0.7 * anytime_region(table, None, 0.05).radius
    )


def test_lower_limits_of_evaluations_use_the_ball():
    """Ten groups and five guesses: the intervals without the ball reach a quarter of it."""
    rng = default_rng(1)
    rates = rng.dirichlet(np.full(5, 30.0), size=10)
    table = np.array([rng.multinomial(2000, each) for each in rates], dtype=float).T
    region = region_of(table, 0.95)
    mutual = measure_of("mutual-information")
    assert lowest_of(mutual, region) > 0.2 * leakage_of(mutual, region.rates, region.shares)
