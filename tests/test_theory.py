"""The identities that docs/theory.md states, checked in numbers on small random instances.

Each test names the section whose sentence it checks. The formulas of the page are written out again
here, with NumPy only; the package is tested against them and is never their source.
"""

import itertools
import math
import re
from math import inf

import numpy as np
import pytest
from checkout import text_of
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose
from random_laws import laws_of_secrets, random_columns, random_joint
from scipy.special import logsumexp
from strategies import seeds

from discreet import Constraint, Problem, inference, local_inference, solve
from discreet.backends.repairs import duals_along
from discreet.judge import certify
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.problems import local_law
from discreet.problems.adversary.inference import error_of_best
from discreet.problems.binning import Binning
from discreet.problems.duals import feasible_duals, feasible_for
from discreet.problems.samples import count
from discreet.problems.sensors import (
    grouped_sensors,
    index_sensors,
    mixed_sensors,
    paper_conditional,
    paper_p_xy,
)

seeds = seeds


def instance(seed, budget=0.01):
    rng = default_rng(seed)
    n, m, outcomes = (int(k) for k in rng.integers([2, 2, 4], [5, 5, 12]))
    joint = rng.dirichlet(np.full(n * m * outcomes, 0.5)) + 1e-6
    return Problem.from_joint((joint / joint.sum()).reshape(n, m, outcomes), budget=budget), rng


def random_estimator(problem, rng):
    return random_columns(rng, problem.m, problem.N)


def support(tilt, pi, mu):
    """h of one row by its definition; at μ = 0 its limit."""
    if mu == 0.0:
        return float(tilt.max())
    return float(mu * logsumexp(tilt / mu, b=pi))


def blahut_arimoto(problem, mu, sweeps):
    """The iteration of the page at a fixed multiplier, from the uniform estimator; J after every
    sweep; the mean tilt.
    """
    posterior = problem.p_xz / problem.p_z
    estimator = np.full((problem.m, problem.N), 1.0 / problem.m)
    exponent = np.log(estimator)
    values = []
    mean_tilt = np.zeros((problem.m, problem.n))
    for _ in range(sweeps):
        joint = estimator @ problem.p_xz.T
        log_ratio = np.log(joint / joint.sum(axis=1, keepdims=True) / problem.p_x)
        mean_tilt += mu * log_ratio / sweeps
        exponent = exponent - problem.loss / (mu * problem.p_z) - log_ratio @ posterior
        # e^-600 stands for what would underflow
        exponent = np.maximum(exponent - logsumexp(exponent, axis=0), -600.0)
        estimator = np.exp(exponent)
        values.append(float((problem.loss * estimator).sum()) + mu * problem.leakage(estimator))
    return estimator, values, mean_tilt


# -- the letters of the page
# --------------------------------------------------------------------------------------

WORDS = (
    "(?i:let|put|write|take|with|some|another|off "
    "by|numbers?|constant|parameter|vectors?|matrix|tilt|slack|up to)"
)


def test_a_letter_is_introduced_only_where_the_page_says():
    page = text_of("docs/theory.md")
    sections = dict(enumerate(re.split(r"^## \d+\. ", page, flags=re.MULTILINE)))
    letters = re.findall(
        r"^\| \$(\\?\w+)\$ \| .* \| ([\d, ]+) \|$",
        sections[1],
        flags=re.MULTILINE,
    )
    assert len(letters) == 10
    for letter, listed in letters:
        introduced = re.compile(
            rf"\b{WORDS}\s+\$+\n?{re.escape(letter)}(?:_\\?\w+|_\{{[^}}]*\}}|\([^)]*\))?(?![\w'])"
        )
        found = {number for number, text in sections.items() if introduced.search(text)}
        assert found <= {int(number) for number in listed.split(",")}, (
            f"{letter} is introduced again"
        )


# -- the gap splits
# -----------------------------------------------------------------------------------------------


@given(seeds, st.floats(1e-4, 0.9), st.booleans())
def test_the_gap_is_complementarity_plus_alignment_plus_slackness(seed, fraction, perfect):
    """So what an excess of leakage buys is bounded by its price."""
    model, rng = instance(seed)
    problem = model.with_budget(
        0.0 if perfect else fraction * model.leakage(random_estimator(model, rng))
    )
    estimator = random_estimator(problem, rng)
    tilt = 0.05 * rng.standard_normal((problem.m, problem.n))
    verdict = certify(problem, estimator, tilt, None if perfect else float(rng.uniform(0.1, 5.0)))
    mu = 0.0 if perfect else verdict.multiplier
    losses = problem.loss + verdict.tilt @ problem.p_xz
    complementarity = (verdict.estimator * (losses - losses.min(axis=0))).sum()
    law = verdict.estimator @ problem.p_xz.T
    leakage = problem.leakage(verdict.estimator)
    alignment = mu * leakage - (verdict.tilt * law).sum()
    slackness = 0.0 if perfect else mu * (problem.budget - leakage)
    gap = problem.error_probability(verdict.estimator) - (
        losses.min(axis=0).sum() - mu * problem.budget
    )
    assert complementarity + alignment + slackness == pytest.approx(gap, abs=1e-13)
    assert min(complementarity, alignment, slackness) >= -1e-13
    kkt = verdict.certificate.kkt
    assert (kkt.complementarity, kkt.alignment, kkt.slackness) == pytest.approx(
        (complementarity, alignment, slackness), abs=1e-12
    )
    if not perfect:
        worth = mu * max(0.0, problem.leakage(estimator) - problem.budget)
        assert verdict.certificate.own_error >= verdict.certificate.lower - worth - 1e-13


# -- the iteration
# ------------------------------------------------------------------------------------------------


@pytest.mark.gate
@given(seeds, st.floats(0.05, 5.0))
def test_the_iteration_descends_and_its_mean_tilt_certifies_the_rate(seed, mu):
    model, _ = instance(seed)
    sweeps = 50
    estimator, values, tilt = blahut_arimoto(model, mu, sweeps)
    assert all(b <= a + 1e-13 for a, b in itertools.pairwise(values))
    for k, value in enumerate(values, start=1):
        assert value - values[-1] <= mu * math.log(model.m) / k + 1e-13
    problem = model.with_budget(model.leakage(estimator))
    assert (
        certify(problem, estimator, tilt, mu).certificate.gap
        <= mu * math.log(model.m) / sweeps + 1e-12
    )


# -- duals for an estimator that came without, and Fano
# -----------------------------------------------------------


@given(seeds)
def test_derived_duals_are_log_ratios_and_feasible(seed):
    problem, rng = instance(seed)
    law = problem.output_law(random_estimator(problem, rng))
    direction = MUTUAL_INFORMATION.slope(law.ratio_minus_one(), law.p_x)
    tilt, mu = duals_along(direction, problem.p_xz, problem.loss, problem.budget)
    ratio = 1.0 + law.ratio_minus_one()
    assert tilt == pytest.approx(mu * np.log(ratio), rel=1e-9, abs=1e-12)
    repaired = feasible_duals(tilt, mu, problem.p_x, problem.budget)
    assert max(support(row, problem.p_x, mu) for row in repaired[0]) <= 1e-15 + 1e-14 * mu


def test_an_unused_guess_has_a_tilt_that_proves_optimality():
    """A guess that is never made has no posterior; the row exists, and the inequalities are
    those of section 6.
    """
    found = 0
    for seed in range(12):
        rng = default_rng(seed)
        joint = random_joint(rng, 3, 4, 5, spread=0.7) * np.array([1.0, 1.0, 1.0, 0.05])[:, None]
        model = Problem.from_joint(joint / joint.sum(), budget=inf)
        problem = model.with_budget(0.2 * model.bayes_leakage)
        solution = solve(problem, "tilt")
        assert solution.certificate is not None
        law = problem.output_law(solution.estimator)
        tilted = problem.loss + solution.tilt @ problem.p_xz
        reduced = (tilted - tilted.min(axis=0)) / problem.p_z
        assert reduced[solution.estimator > 1e-3].max() <= 1e-6
        for i in np.flatnonzero(law.mass == 0.0):
            assert support(solution.tilt[i], problem.p_x, solution.multiplier) <= 1e-14
            assert reduced[i].min() >= 0.0
            found += 1
    assert found >= 3


# -- several sensors, inference, samples
# ----------------------------------------------------------------------------


def sensor_laws(rng, sensors, bins):
    return rng.dirichlet(np.ones(bins), size=(sensors, 2, 2))


@pytest.mark.parametrize("fraction", [0.0, 0.3, inf])
@pytest.mark.parametrize("seed", range(3))
def test_counts_by_group_of_identical_sensors_lose_nothing_and_pooled_ones_may(seed, fraction):
    rng = default_rng(seed)
    one, other = sensor_laws(rng, 2, 3)
    prior = random_joint(rng, 2, 2)
    joints = (
        index_sensors([one, one, other, other], prior),
        grouped_sensors([np.array([one, one]), np.array([other, other])], prior),
        mixed_sensors([one, one, other, other], prior),
    )
    models = [Problem.from_joint(joint, budget=inf) for joint in joints]
    budget = inf if fraction == inf else fraction * models[0].bayes_leakage
    every, grouped, pooled = (
        solve(model.with_budget(budget), "tilt").certificate for model in models
    )
    assert grouped.lower <= every.upper * (1.0 + 1e-12)
    assert every.lower <= grouped.upper * (1.0 + 1e-12)
    assert max(every.relative_gap, grouped.relative_gap) <= 1e-9
    assert pooled.upper >= every.lower


def test_pooling_unlike_sensors_can_lose_everything():
    tells = np.array([[[1.0, 0.0], [0.0, 1.0]]])  # one value of X
    prior = [[0.5, 0.5]]
    laws = [tells, tells[:, :, ::-1]]
    assert Problem.from_joint(index_sensors(laws, prior), budget=0.0).bayes_error == 0.0
    assert Problem.from_joint(
        mixed_sensors(np.array(laws), prior), budget=0.0
    ).bayes_error == pytest.approx(0.5)


@given(seeds, st.floats(0.0, 1.0))
def test_what_a_leakage_lets_an_adversary_gain(seed, share):
    problem, rng = instance(seed)
    estimator = share * problem.bayes_estimator + (1.0 - share) * random_estimator(problem, rng)
    found = inference(problem, estimator)
    assert found.x_error <= found.x_error_blind + 1e-15
    assert found.x_error_blind - found.x_error <= math.sqrt(found.leakage_nats / 2.0) + 1e-12
    draw = np.outer(rng.dirichlet(np.ones(problem.m)), np.ones(problem.N))
    assert inference(problem, draw).x_error == pytest.approx(found.x_error_blind, abs=1e-12)


def test_the_reader_of_all_local_estimates_learns_x_in_the_end():
    found = [
        local_inference(paper_conditional(), paper_p_xy(), sensors)
        for sensors in (1, 4, 16, 64, 256)
    ]
    assert all(few.x_error >= many.x_error for few, many in itertools.pairwise(found))
    assert found[-1].x_error < 1e-9
    assert found[-1].equivocation_nats < 1e-7
    # The estimates as reports, every one kept apart.
    laws = [local_law(paper_conditional(), paper_p_xy())] * 4
    apart = index_sensors(laws, paper_p_xy())
    assert error_of_best(apart.sum(axis=1)) == pytest.approx(found[1].x_error, rel=1e-12)
    assert Problem.from_joint(apart, budget=0.0).bayes_error == pytest.approx(
        found[1].y_error, rel=1e-12
    )


@pytest.mark.parametrize("seed", range(3))
def test_smoothing_is_a_channel_on_the_cells(seed):
    rng = default_rng(seed)
    records = 60
    cells = 6
    x = rng.integers(0, 2, records)
    y = rng.integers(0, 2, records)
    z = rng.integers(0, cells, records)
    table = {"x": x, "y": y, "z": z}
    joints = [
        count(table, hide="x", guess="y", binning=Binning(None, smoothing=alpha))[0][0]
        for alpha in (0.0, 0.5, 3.0)
    ]
    drawn = joints[0].sum(axis=2, keepdims=True) / cells
    models = [Problem.from_joint(joint, budget=1e-4) for joint in joints]
    brackets = []
    estimator = random_estimator(models[0], rng)
    for alpha, joint, model in zip((0.0, 0.5, 3.0), joints, models, strict=True):
        uniform = alpha * cells / (records + alpha * cells)
        assert joint == pytest.approx((1.0 - uniform) * joints[0] + uniform * drawn, rel=1e-12)
        assert model.leakage(estimator) <= (1.0 - uniform) * models[0].leakage(estimator) * (
            1.0 + 1e-9
        )
        found = solve(model, "tilt").certificate
        brackets.append((found.lower, found.upper))
    assert all(less[0] <= more[1] for less, more in itertools.pairwise(brackets))
    assert brackets[0][1] <= brackets[-1][1] + 1e-9


def test_the_bounds_of_several_constraints_add_up():
    """Section 22: Σ_l min_i F_il − Σ_k μ_k B_k, with a tilt of its own for every constraint, groups
    lowered one by one.
    """
    rng = default_rng(5)
    _, second, given_y, loss = laws_of_secrets(random_joint(rng, 2, 3, 2, 6))
    constraints = [
        Constraint(second, 0.01, "chi-square"),
        Constraint(given_y, 0.002, "conditional-mutual-information"),
    ]
    problem = Problem(loss=loss, constraints=constraints)
    tilt = 0.05 * rng.normal(size=(2, 7))
    multiplier = np.array([0.2, 0.3])
    found = feasible_for(tilt, multiplier, problem.p_x, problem.terms)
    lowered = tilt - found[0]
    for group in (slice(0, 3), slice(3, 5), slice(5, 7)):  # one shift for each group and guess
        assert_allclose(lowered[:, group] - lowered[:, group][:, :1], 0.0, atol=1e-15)
    tilted = loss + found[0] @ problem.p_xz
    by_hand = tilted.min(axis=0).sum() - 0.2 * 0.01 - 0.3 * 0.002
    anything = certify(problem, problem.bayes_estimator, tilt, multiplier).certificate
    assert anything.lower == pytest.approx(max(by_hand, problem.bayes_error), rel=1e-12)
