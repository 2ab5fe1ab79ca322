"""Optima that others have published in closed form are certified, over grids and random instances.

docs/how-to/published-results.md states and proves each; the sources are named there and here.
"""

import itertools
import math

import numpy as np
import pytest
from gated import gated
from numpy.random import default_rng
from random_laws import random_joint
from scipy.optimize import linprog
from solving import under

import discreet as ds

SEEDS = gated(range(12), 4)


def _least_error(problem, gap=1e-9):
    """Certified within the gap: the error of the answer, repaired where a guess of mass 1e-17 says
    too much.
    """
    solution = ds.solve(
        problem, "conic" if problem.measure.name == "chi-square" else "highs", gap=gap
    )
    assert solution.certificate is not None, solution
    assert solution.certificate.relative_gap <= gap, solution
    return solution.error_probability


def _release(prior, budget, measure):
    """X is what is seen and what is asked for."""
    return _disclosure(prior, 1.0 - np.eye(prior.size), budget, measure)


def _drawn(seed, most):
    """A generator, a prior of two to `most` private values, and losses of two to four guesses."""
    rng = default_rng(seed)
    n = int(rng.integers(2, most + 1))
    return rng, rng.dirichlet(np.ones(n)), rng.random((int(rng.integers(2, 5)), n))


def _disclosure(prior, loss, budget, measure):
    """X is seen, and guess i costs loss_ij if it is x_j."""
    return ds.Problem(np.diag(prior), loss * prior, budget, measure=measure)


def _bayes_risk(prior, loss, channel):
    """Return the error of the best guess from the output of a channel Pr(k given x_j) [k, n]."""
    return float((loss @ (prior * channel).T).min(axis=0).sum())


@pytest.mark.parametrize(
    "text, budget, right, within",
    [
        ("local-differential-privacy", 1.0, math.e / (math.e + 3.0), 1e-10),
        ("max-lift", 0.5, math.exp(0.5) / 4.0, 1e-10),
        ("min-entropy-leakage", 0.5, math.exp(0.5) / 4.0, 1e-10),
        ("maximal-leakage", 0.5, math.exp(0.5) / 4.0, 1e-10),
        ("total-variation", 0.25, 0.25 + 0.25, 1e-10),
        ("parity-difference", 0.2, (1.0 + 3.0 * 0.2) / 4.0, 1e-10),
        ("chi-square", 0.3, (1.0 + math.sqrt(3.0 * 0.3)) / 4.0, 1e-7),
    ],
)
def test_a_guess_of_a_uniform_x_that_is_seen_is_as_good_as_known(text, budget, right, within):
    problem = _release(np.full(4, 0.25), budget, text)
    assert _least_error(problem, within) == pytest.approx(1.0 - right, rel=within)


@pytest.mark.parametrize("seed", SEEDS)
def test_maximal_leakage_discloses_the_likeliest_symbols(seed):
    """As many as e^ε, the last in part: S. Saeidian, G. Cervia, T. Oechtering, M. Skoglund, arXiv
    2105.01033.
    """
    rng = default_rng(seed)
    prior = np.sort(rng.dirichlet(np.full(int(rng.integers(2, 7)), 0.8)))[::-1]
    budget = float(np.log1p((prior.size - 1) * rng.choice([0.1, 0.5, 0.9, 1.0 / (prior.size - 1)])))
    disclosed = np.clip(math.exp(budget) - np.arange(prior.size), 0.0, 1.0)
    problem = _release(prior, budget, "maximal-leakage")
    assert _least_error(problem) == pytest.approx(1.0 - disclosed @ prior, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_guessing_binary_x_and_y_has_the_published_closed_form(seed):
    """One of the two values of Y is sometimes misstated: S. Asoodeh, M. Diaz, F. Alajaji, T.
    Linder, arXiv 1707.02409.
    """
    rng = default_rng(seed)
    p_xy = random_joint(rng, 2, 2)
    p_xy = p_xy[np.argsort(-p_xy.sum(axis=1))]  # x_0 is the likelier value of X
    p_xy = p_xy[:, np.argsort(p_xy[1] - p_xy[0])]  # and y_1 the value of Y that speaks most for x_1
    guessed = p_xy.max(axis=0).sum()
    likeliest = p_xy.sum(axis=1).max()
    allowed = likeliest + rng.uniform() * (guessed - likeliest)
    hint = np.abs(p_xy[0] - p_xy[1])  # of each value of Y
    misstated = (guessed - allowed) * (p_xy.sum(axis=0) / hint).min()
    joint = p_xy[:, :, None] * np.eye(2)
    budget = math.log(allowed / likeliest)
    problem = ds.Problem.from_joint(joint, budget, measure="min-entropy-leakage")
    assert _least_error(problem) == pytest.approx(misstated, rel=1e-8, abs=1e-13)
    if guessed > likeliest:  # which value is misstated
        cheaper = p_xy[1].prod() < p_xy[0].prod()
        assert cheaper == (np.argmin(p_xy.sum(axis=0) / hint) == 0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_all_locally_private_answers_about_a_bit_come_from_randomised_response(epsilon, seed):
    """P. Kairouz, S. Oh, P. Viswanath, arXiv 1407.1338: for a binary X it is best for every
    purpose.
    """
    _, prior, loss = _drawn(seed, 2)
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    response = np.array([[truth, 1.0 - truth], [1.0 - truth, truth]])
    problem = _disclosure(prior, loss, epsilon, "local-differential-privacy")
    assert _least_error(problem) == pytest.approx(_bayes_risk(prior, loss, response), rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_staircase_mechanisms_are_best_under_local_differential_privacy(seed):
    """The same paper: the optimum is that of a linear program whose columns have entries 1 and e^ε
    only.
    """
    rng, prior, loss = _drawn(seed, 4)
    epsilon = float(rng.uniform(0.1, 3.0))
    steps = np.array(list(itertools.product([1.0, math.exp(epsilon)], repeat=prior.size)))
    risks = (steps * prior @ loss.T).min(axis=1)
    best = linprog(risks, A_eq=steps.T, b_eq=np.ones(prior.size))
    problem = _disclosure(prior, loss, epsilon, "local-differential-privacy")
    assert _least_error(problem) == pytest.approx(best.fun, rel=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_extremal_mechanisms_of_pointwise_maximal_leakage(seed):
    """L. Grosse, S. Saeidian, T. Oechtering, arXiv 2310.07381: where e^ε (1 − min π) ≤ 1 one is
    best for every purpose.

    It names x_k with probability e^ε π_k if X is another value. Of a bit the two ends of what is
    allowed are best at any ε.
    """
    rng, prior, loss = _drawn(seed, 5)
    epsilon = float(-np.log1p(-prior.min()) * rng.choice([0.01, 0.5, 1.0]))
    lift = math.exp(epsilon)
    mechanism = np.tile(lift * prior[:, None], prior.size)
    np.fill_diagonal(mechanism, np.maximum(0.0, 1.0 - lift * (1.0 - prior)))
    np.testing.assert_allclose(mechanism.sum(axis=0), 1.0)
    problem = _disclosure(prior, loss, epsilon, "max-lift")
    assert _least_error(problem) == pytest.approx(_bayes_risk(prior, loss, mechanism), rel=1e-9)
    bit = rng.dirichlet(np.ones(2))
    purpose = rng.random((3, 2))
    epsilon = float(rng.uniform(0.01, 2.0))
    most = np.minimum(math.exp(epsilon) * bit, 1.0)
    ends = np.array([[most[0], 1.0 - most[0]], [1.0 - most[1], most[1]]])  # posteriors
    outputs = np.linalg.solve(ends.T, bit)
    risk = _bayes_risk(bit, purpose, outputs[:, None] * ends / bit)
    assert _least_error(_disclosure(bit, purpose, epsilon, "max-lift")) == pytest.approx(
        risk, rel=1e-9
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_of_bits_total_variation_is_the_difference_of_parity(seed):
    """With two private values and two guesses ½ Σ |u_ij − π_j s_i| = 2 π_0 π_1 |Pr(ŷ given x_0) −
    Pr(ŷ given x_1)|.
    """
    problem = under(random_joint(seed, 2, 2, 7), "total-variation", 0.4)
    allowed = problem.budget / (2.0 * problem.p_x.prod())
    other = problem.with_budget(allowed, measure="parity-difference")
    assert _least_error(problem) == pytest.approx(_least_error(other), rel=1e-9)
