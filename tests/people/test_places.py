"""The upper limit of only one leakage: it fails no more often than its level, and each place of a
table has all of the level.
"""

from itertools import combinations

import numpy as np
import pytest
from gated import gated
from numpy.random import default_rng

import discreet as ds
from discreet.measures.registry import measure_of
from discreet.people.extremes import highest_of, leakage_of
from discreet.people.places import upper_limit
from discreet.people.region import region_of

PAIRS = ("parity-difference", "local-differential-privacy")
BY_PLACES = (*PAIRS, "max-lift", "maximal-leakage")


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("m, n", [(2, 2), (2, 5), (4, 3)])
def test_a_limit_is_the_largest_of_those_of_each_guess_and_each_two_groups(name, m, n):
    measure = measure_of(name)
    rng = default_rng([m, n])
    table = rng.multinomial(900, rng.dirichlet(np.ones(m * n))).reshape(m, n) * 1.0
    people = table.sum(axis=0)
    each = [
        upper_limit(measure, np.array([row[pair], people[pair] - row[pair]]), 0.9)
        for row in table
        for pair in map(list, combinations(range(n), 2))
    ]
    assert upper_limit(measure, table, 0.9) == pytest.approx(max(each), rel=1e-12)


@pytest.mark.parametrize("counted", gated([True, False]))
@pytest.mark.parametrize("name", gated(BY_PLACES[::-1]))
def test_a_limit_lies_below_the_truth_no_more_often_than_it_says(name, counted):
    """Where one place decides, which is when most of the level is used."""
    measure = measure_of(name)
    rates = np.array([[0.5, 0.4, 0.3], [0.3, 0.4, 0.4], [0.2, 0.2, 0.3]])
    shares = np.array([0.4, 0.3, 0.3])
    truth = leakage_of(measure, rates, shares)
    rng = default_rng(4)
    tables = rng.multinomial(400, (rates * shares).ravel(), size=80).reshape(-1, 3, 3) * 1.0
    missed = sum(upper_limit(measure, table, 0.8, counted) < truth for table in tables)
    # So few once in a thousand times, if limits failed with probability 0.2.
    assert missed <= 80 * 0.2 + 3.1 * (80 * 0.2 * 0.8) ** 0.5


@pytest.mark.gate
def test_the_difference_of_equalized_odds_lies_above_its_limit_no_more_often_than_it_says():
    """The truth is one of two guesses, two truths and two groups, of which two nearly tie."""
    rates = np.array([[[0.3, 0.5], [0.7, 0.5]], [[0.8, 0.61], [0.2, 0.39]]])  # truth, guess, group
    groups = np.array([[0.3, 0.2], [0.25, 0.25]])  # truth, group
    truth = np.abs(rates[..., 0] - rates[..., 1]).max()
    law = rates * groups[:, None, :]
    rng = default_rng(4)
    missed = 0
    for table in rng.multinomial(400, law.ravel(), size=80).reshape(-1, 2, 2, 2):
        cells = np.repeat(np.indices((2, 2, 2)).reshape(3, -1), table.ravel(), axis=1)
        found = ds.evaluate(
            cells[1],
            None,
            cells[0],
            sensitive_features=cells[2],
            measure="equalized-odds-difference",
            confidence=0.8,
        )
        shown = table / table.sum(axis=1, keepdims=True)
        exact = np.abs(shown[..., 0] - shown[..., 1]).max()
        assert found.leakage.estimate == pytest.approx(exact, rel=1e-12)
        assert found.at_most == max(each.at_most for each in found.given.values())
        assert found.leakage.low <= found.leakage.estimate <= found.leakage.high
        missed += found.at_most < truth
    assert missed <= 80 * 0.2 + 3.1 * (80 * 0.2 * 0.8) ** 0.5


@pytest.mark.parametrize("name", BY_PLACES)
def test_more_guesses_and_groups_cost_no_part_of_the_level(name):
    """A region of all rates needs at least 1.6 times the people for the same limit."""
    measure = measure_of(name)
    for m, n in ((3, 2), (3, 3), (5, 10)):
        people = 1600.0 * n
        even = np.full((m, n), people / (m * n))
        alone = upper_limit(measure, even, 0.95)
        assert highest_of(measure, region_of(1.6 * even, 0.95)) > alone


def test_a_group_that_no_one_has_may_get_any_guess():
    table = np.array([[30.0, 50.0, 0.0], [20.0, 40.0, 0.0]])
    assert upper_limit(measure_of("parity-difference"), table, 0.95) > 0.5
    assert upper_limit(measure_of("local-differential-privacy"), table, 0.95) == np.inf


def test_one_guess_or_one_group_leaks_nothing():
    for table in (np.array([[30.0, 50.0]]), np.array([[30.0], [50.0]])):
        assert upper_limit(measure_of("max-lift"), table, 0.95) == 0.0
