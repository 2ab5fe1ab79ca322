"""Measurements through samples: coverage of the confidence limits, honesty about what they are, and
refusals.
"""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from numpy.random import default_rng
from refusals import raises_input_error
from scipy import stats
from strategies import seeds

import discreet as ds
from discreet.backends.continuous.confidence import (
    Draws,
    LeakageBox,
    bernstein_radius,
    controlled_mean,
)
from discreet.backends.continuous.sampled import sampled_model
from discreet.measures.law import OutputLaw

P_XY = np.outer([0.7, 0.3], [0.5, 0.5])


def sensor(sigma=0.1):
    return [[stats.norm(0.4 * x + 0.6 * y, sigma) for y in (0, 1)] for x in (0, 1)]


def plane():
    return [
        [stats.multivariate_normal([0.6 * y, 0.5 * x - 0.2 * y], 0.04 * np.eye(2)) for y in (0, 1)]
        for x in (0, 1)
    ]


@cache
def optimum(budget):
    return ds.solve(ds.problems.paper_continuous(budget)).error_probability


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_holds_the_known_optimum_of_one_dimension(seed):
    exact = optimum(0.01)
    found = ds.estimate_continuous_by_samples(
        sensor(), P_XY, 0.01, samples=60_000, rng=default_rng(seed)
    )
    assert found.lower <= exact <= found.upper
    assert found.upper - found.lower < 0.08
    assert found.leakage_ceiling <= 0.01
    assert "not a certificate" in repr(found)


def test_the_rule_keeps_the_budget_on_fresh_draws():
    budget = 0.01
    rng = default_rng(8)
    found = ds.estimate_continuous_by_samples(plane(), P_XY, budget, samples=100_000, rng=rng)
    model = found.model
    counts = rng.multinomial(400_000, P_XY.ravel()).reshape(2, 2)
    joint = np.zeros((2, 2))
    wrong = 0
    for j, k in np.ndindex(2, 2):
        guesses = found.guess(
            model.distributions[j][k].rvs(size=counts[j, k], random_state=rng), rng
        )
        joint[:, j] += np.bincount(guesses, minlength=2) / 400_000
        wrong += int((guesses != k).sum())
    p_x = joint.sum(axis=0)
    mass = joint.sum(axis=1)
    assert OutputLaw(mass, joint - mass[:, None] * p_x, p_x).leakage() <= budget * 1.02
    assert wrong / 400_000 == pytest.approx(found.error, abs=0.004)
    assert found.lower <= wrong / 400_000 <= found.upper + 0.003


def test_the_same_seed_gives_the_same_answer():
    a, b = (ds.estimate_continuous_by_samples(plane(), P_XY, 0.02, samples=5000) for _ in range(2))
    assert (a.lower, a.upper) == (b.lower, b.upper)


def test_bernstein_limits_cover_at_least_as_often_as_they_say():
    rng = default_rng(0)
    missed = 0
    for _ in range(2000):
        values = (rng.random(200) < 0.05).astype(float)
        missed += values.mean() + bernstein_radius(values, 1.0, math.log(2.0 / 0.05)) < 0.05
    assert missed <= 0.05 * 2000


def test_control_variates_keep_the_mean_and_cut_the_radius():
    model = sampled_model(sensor(), P_XY, None)
    rng = default_rng(1)
    halves = []
    for _ in range(2):
        posterior = model.posterior(model.draw(20_000, rng))
        labels = model.labels(posterior, np.zeros((2, 2)))
        halves.append(Draws(posterior, labels, labels, 0.0))
    loss = np.broadcast_to(1.0 - np.eye(2)[:, None, :], (2, 2, 2)).copy()
    mean, radius = controlled_mean(loss, P_XY, *halves, log_risk=5.0)
    plain = halves[1].values(loss)
    exact = optimum(math.inf)
    assert abs(mean - exact) <= radius <= bernstein_radius(plain, 1.0, 5.0) * 1.2
    assert abs(plain.mean() - exact) <= bernstein_radius(plain, 1.0, 5.0)


@given(seeds)
def test_no_law_in_the_box_leaks_more_than_its_ceiling(seed):
    rng = default_rng(seed)
    n, m = rng.integers(2, 4, 2)
    p_x = rng.dirichlet(np.ones(n))
    joint = p_x * rng.dirichlet(rng.choice([0.1, 1.0, 20.0]) * np.ones(m), n).T
    mass = joint.sum(axis=1)
    law = OutputLaw(mass, joint - mass[:, None] * p_x, p_x)
    radii = rng.uniform(0, 0.05, m), rng.uniform(0, 0.05, (m, n))
    shift = rng.uniform(-1, 1, m) * radii[0], rng.uniform(-1, 1, (m, n)) * radii[1]
    box = LeakageBox(law.mass + shift[0], law.deviation + shift[1], *radii, p_x)
    assert law.leakage() <= box.ceiling() * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize(
    "words, options",
    {
        "nothing": {"budget": 0.0},
        "confidence": {"confidence": 1.0},
        "samples": {"samples": 10},
        "fewer draws": {"samples": 10**9},
        "not finite": {"p_xy": [[0.5, np.nan]]},
        "give 1 rows": {"p_xy": [[0.5, 0.5]]},
        "3 rows": {"loss_matrix": np.ones((3, 2))},
        "logpdf and rvs": {"distributions": [["a", "b"], ["c", "d"]]},
    }.items(),
)
def test_what_cannot_be_used_is_one_clear_sentence(options, words):
    arguments = {
        "distributions": sensor(),
        "p_xy": P_XY,
        "budget": 0.01,
        "samples": 2000,
        **options,
    }
    with raises_input_error(words):
        ds.estimate_continuous_by_samples(**arguments)
