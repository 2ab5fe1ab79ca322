"""Limits for people: the region holds the truth as often as it says, and no law in the region leaks beyond the limits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.special import rel_entr

from discreet.people.extremes import MOST_GROUPS, leakage_of, limits_of
from discreet.people.region import Region, ball_radius, binomial_limits, region_of
from discreet.problems.errors import InputError
from discreet.problems.inference.adversary import confidence_interval
from discreet.problems.measures.g_leakage import GLeakage
from discreet.problems.measures.measure import Measure
from discreet.problems.measures.registry import MEASURES, measure_of

Law = tuple[np.ndarray, np.ndarray]


def measures_of(n: int, rng: np.random.Generator) -> list[Measure]:
    """Every family: Sibson's of a low and a high order, gains of three random actions."""
    plain = [measure_of(name) for name in MEASURES if name not in ("sibson", "g-leakage")]
    return [*plain, measure_of("sibson:alpha=1.5"), measure_of("sibson:alpha=20"), GLeakage(rng.random((3, n)))]


def drawn_law(m: int, n: int, rng: np.random.Generator, *, null: bool) -> Law:
    rates = rng.dirichlet(np.ones(m), size=n).T
    return (np.repeat(rates[:, :1], n, axis=1) if null else rates), rng.dirichlet(np.full(n, 2.0))


def table_of(law: Law, people: int, rng: np.random.Generator) -> np.ndarray:
    joint = law[0] * law[1]
    return rng.multinomial(people, joint.ravel() / joint.sum()).reshape(joint.shape).astype(float)


def filled(low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A vertex of a box and the simplex: entries filled up in a random order."""
    found, left = low.copy(), 1.0 - low.sum()
    for i in rng.permutation(low.size):
        more = min(high[i] - low[i], left)
        found[i] += more
        left -= more
    return found


def distance(region: Region, rates: np.ndarray) -> float:
    return float((region.people * rel_entr(region.rates, rates)).sum())


def laws_in(region: Region, count: int, rng: np.random.Generator) -> Iterator[Law]:
    """Laws in a region, most of them on its border: vertices, moved towards the table until they are in the ball."""
    for _ in range(count):
        columns = [filled(low, high, rng) for low, high in zip(region.low.T, region.high.T, strict=True)]
        shares = filled(region.share_low, region.share_high, rng)
        rates, inside = np.array(columns).T, 1.0
        if distance(region, rates) > region.radius:
            inside, outside = 0.0, 1.0
            for _ in range(30):
                middle = 0.5 * (inside + outside)
                within = distance(region, middle * rates + (1 - middle) * region.rates) <= region.radius
                inside, outside = (middle, outside) if within else (inside, middle)
        yield inside * rates + (1.0 - inside) * region.rates, shares


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("null", [True, False])
@pytest.mark.parametrize(("m", "n", "people"), [(2, 2, 400), (2, 4, 3000), (3, 2, 3000), (6, 3, 20000), (4, 3, 60)])
def test_no_law_in_the_region_leaks_beyond_the_limits(m: int, n: int, people: int, null: bool, counted: bool) -> None:
    rng = np.random.default_rng([m, n, people, null, counted])
    region = region_of(table_of(drawn_law(m, n, rng, null=null), people, rng) + 1.0, 0.95, counted)
    laws = [(region.rates, region.shares), *laws_in(region, 40, rng)]
    for measure in measures_of(n, rng):
        low, high = limits_of(measure, region)
        values = [leakage_of(measure, *law) for law in laws]
        assert 0.0 <= low <= min(values) + 1e-12, measure
        assert max(values) <= high * (1.0 + 1e-9) + 1e-12, measure


def test_the_limits_are_near_what_laws_in_the_region_reach() -> None:
    """Two groups, two guesses: of the measures that people ask for most the bound is no more than 6 % above a law."""
    rng = np.random.default_rng(3)
    for name in ("mutual-information", "parity-difference", "local-differential-privacy", "maximal-leakage"):
        region = region_of(table_of(drawn_law(2, 2, rng, null=False), 20000, rng), 0.95)
        reached = max(leakage_of(measure_of(name), *law) for law in laws_in(region, 60, rng))
        assert limits_of(measure_of(name), region)[1] <= 1.06 * reached


CASES = {
    "null": ([[0.7, 0.7], [0.3, 0.3]], [0.5, 0.5], 500),
    "rare group": ([[0.9, 0.6], [0.1, 0.4]], [0.98, 0.02], 1000),
    "rare guess": ([[0.995, 0.999], [0.005, 0.001]], [0.4, 0.6], 2000),
    "ten classes": (np.full((10, 2), 0.1), [0.7, 0.3], 3000),
    "sixteen groups": (np.full((2, 16), 0.5), np.full(16, 1 / 16), 4000),
}


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_the_region_holds_the_law_as_often_as_it_says(case: str, counted: bool) -> None:
    """Some tables each; benchmarks/people_coverage.py draws 10,000. What a rule states is drawn from Dirichlet's law."""
    rates, shares, people = (np.asarray(each) for each in CASES[case])
    rng, held, draws = np.random.default_rng(7), 0, 100 if counted else 40
    for _ in range(draws):
        if counted:
            table = table_of((rates, shares), int(people), rng)
        else:  # each person's guess has a probability of its own, of mean W_j
            groups = rng.multinomial(int(people), shares)
            table = np.array([rng.dirichlet(4.0 * rates[:, j], size=k).sum(axis=0) for j, k in enumerate(groups)]).T
        region = region_of(table, 0.95, counted)
        inside = (region.low <= rates + 1e-12).all() and (rates <= region.high + 1e-12).all()
        inside &= (region.share_low <= shares).all() and (shares <= region.share_high).all()
        held += bool(inside) and distance(region, rates) <= region.radius
    assert held >= 0.95 * draws - 2.6 * math.sqrt(draws * 0.95 * 0.05)  # so few once in 200 times, if it were just 95 %


def test_limits_of_a_probability_are_those_of_clopper_and_pearson_and_chernoffs_are_wider() -> None:
    hits, trials = np.array([0.0, 3.0, 40.0, 41.0]), np.full(4, 41.0)
    low, high = binomial_limits(hits, trials, 0.05)
    for k in range(4):
        assert (low[k], high[k]) == pytest.approx(confidence_interval(int(hits[k]), 41), abs=1e-13)
    wide_low, wide_high = binomial_limits(hits, trials, 0.05, counted=False)
    assert (wide_low <= low + 1e-14).all()  # equal where no one was hit
    assert (wide_high >= high - 1e-14).all()


@pytest.mark.parametrize("freedom", [1, 4, 90])
def test_the_radius_of_the_ball_solves_its_equation(freedom: int) -> None:
    radius = ball_radius(freedom, 0.01)
    assert radius > freedom
    assert freedom * (1.0 + math.log(radius / freedom)) - radius == pytest.approx(math.log(0.01))


def test_a_group_that_no_one_has_may_get_any_guess() -> None:
    region = region_of(np.array([[30.0, 50.0, 0.0], [20.0, 40.0, 0.0]]), 0.95)
    assert region.low[:, 2].tolist() == [0.0, 0.0]
    assert region.high[:, 2].tolist() == [1.0, 1.0]
    for measure in measures_of(3, np.random.default_rng(0)):
        low, high = limits_of(measure, region)
        assert low <= leakage_of(measure, region.rates, region.shares) <= high


def test_one_guess_or_one_group_leaks_exactly_nothing() -> None:
    for table in (np.array([[30.0, 50.0]]), np.array([[30.0], [50.0]])):
        assert limits_of(measure_of("chi-square"), region_of(table, 0.95)) == (0.0, 0.0)


def test_many_groups_have_limits_cell_by_cell_only() -> None:
    region = region_of(np.full((2, MOST_GROUPS + 1), 100.0), 0.95)
    low, high = limits_of(measure_of("mutual-information"), region)
    assert low == 0.0
    assert 0.0 < high < 0.1
    with pytest.raises(InputError, match=f"{MOST_GROUPS + 1} groups.*merge groups"):
        limits_of(measure_of("total-variation"), region)
