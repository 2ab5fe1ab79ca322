"""Aggregate, solve, certify, shrink: the same optimum as the interior point on everything, and
never more leakage.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from block_cases import in_blocks, random_problem, retain_few, watched
from numpy.random import default_rng
from random_laws import random_joint
from solving import assert_certified, at_share, under

from discreet import BlockProblem, Constraint, Problem
from discreet.backends.precision import Precision
from discreet.backends.tilt import passes, rounds
from discreet.backends.tilt.rounds import WorkLimits, first_retained, solve_in_rounds
from discreet.problems import catalog

GAP = 1e-9


@pytest.fixture(autouse=True)
def few_retained(monkeypatch):
    """Problems of some hundred outcomes have to be aggregated, and draw."""
    retain_few(monkeypatch)
    monkeypatch.setattr(rounds, "_DRAWN_FROM", 0)


def in_rounds(blocks, **limits):
    return solve_in_rounds(blocks, Precision.of(blocks, GAP), WorkLimits(**limits))


def begun(values):
    """Outcomes with as many private values as guesses, and their rounds before the first pass."""
    problem = catalog.build("mixture", n=values, m=values, N=5_000, budget=0.01)
    blocks = in_blocks(problem, 700)
    return blocks, rounds._Rounds(blocks, Precision.of(blocks, GAP), WorkLimits(threads=1))


def test_a_stubborn_problem_ends_with_all_of_it():
    problem = catalog.build("mixture", n=3, m=5, N=202, seed=377819, fraction=0.001)
    found = assert_certified(in_blocks(problem), "tilt", gap=GAP)
    assert found.claimed == "optimal"


def test_passes_are_counted():
    blocks, source = watched(random_problem("mixture", 3, 3, 3000, 1, 0.3))
    reports = []
    found = in_rounds(blocks, threads=1, report=lambda *said: reports.append(said))
    assert found.passes == source.passes
    assert [said[0] for said in reports] == [f"round {k}" for k in range(1, len(reports) + 1)]
    lowers = [said[1] for said in reports]
    uppers = [said[2] for said in reports]
    assert lowers == sorted(lowers)
    assert uppers == sorted(uppers, reverse=True)
    assert found.result.upper == uppers[-1]


def test_a_vertex_is_private_for_a_guess_of_a_millionth_too(monkeypatch):
    # As it was imported, before it was replaced.
    monkeypatch.setattr(rounds, "first_retained", first_retained)
    problem = BlockProblem.of(
        catalog.build("weighted-mixture", n=2, m=6, N=40_000, seed=1, budget=0.0)
    )
    assert_certified(problem, "tilt")


def test_a_crossed_vertex_is_brought_within_the_budget(monkeypatch):
    plain = rounds.crossover
    found = []

    def leaking(*given, **how):
        point = plain(*given, **how)
        if point is None:
            return None
        columns = point.columns * (1.0 + 1e-9 * np.arange(len(point.columns)))[:, None]
        found.append(replace(point, columns=columns / columns.sum(axis=0)))
        return found[-1]

    monkeypatch.setattr(rounds, "crossover", leaking)
    problem = random_problem("mixture", 3, 3, 2000, 1, 0.0)
    assert_certified(in_blocks(problem), "tilt")
    assert found


def test_a_sample_that_keeps_the_budget_still_gives_a_tilt():
    """Of these shuffled outcomes the sample leaks less under its Bayes rule than the
    budget allows.
    """
    ordered = catalog.build("paper-single", bins=20_000, budget=0.01)
    order = default_rng(3).permutation(ordered.N)
    shuffled = Problem(ordered.p_xz[:, order], ordered.loss[:, order], 0.01)
    ended = in_rounds(in_blocks(shuffled), threads=1)
    assert ended.ending.optimal
    assert ended.result.source.wanted == rounds.first_retained(2, 2)  # every round made progress


@pytest.mark.parametrize(
    "name",
    [
        "mutual-information",
        "chi-square",
        "maximal-leakage",
        "local-differential-privacy",
        "parity-difference",
    ],
)
def test_outcomes_that_cannot_be_told_apart_decide_as_tie_classes_under_every_measure(name):
    """Copies of a few outcomes, of margins equal to rounding: the rule is a tilt, a band and a
    column for each class.
    """
    rng = default_rng(0)
    joint = np.repeat(random_joint(rng, 2, 2, 10), 400, axis=2)
    joint *= 1.0 + 1e-15 * rng.random(joint.shape)
    problem = under(joint / joint.sum(), name, 0.3)
    solution = assert_certified(BlockProblem.of(problem), "tilt", gap=GAP)
    assert solution.rule.band > 0.0
    assert not solution.rule.ties.size


@pytest.mark.parametrize(
    "name",
    ["conditional-mutual-information", "maximal-leakage", "parity-difference", "total-variation"],
)
def test_draws_find_the_tilt_that_aggregates_cannot(monkeypatch, name):
    """Tilts of aggregates were worse than the sample's, until all outcomes were retained; those of
    draws are better.
    """
    monkeypatch.setattr(rounds, "first_retained", lambda n, m: 100 * n)
    model = catalog.build("mixture", n=3, m=3, N=20_000, budget=math.inf, measure=name)
    blocks = in_blocks(at_share(model, 0.5), 5_000)
    bounds = []

    class Noted(rounds._Rounds):
        def _nearer(self, proof):
            better = super()._nearer(proof)
            bounds.extend([proof.bound, better.bound])
            return better

    ended = Noted(blocks, Precision.of(blocks, GAP), WorkLimits(threads=1)).run(None)
    assert ended.ending.optimal
    assert ended.result.source.wanted < 2_000  # so no round asked for more
    first, nearer = (ended.result.upper - bound for bound in bounds)
    assert nearer < 0.1 * first


def test_draws_keep_what_all_outcomes_add_up_to(monkeypatch):
    """The problem of draws has the priors of the whole one, and labels leak and err as much."""
    monkeypatch.setattr(rounds, "first_retained", lambda n, m: 100)
    blocks, kept = begun(3)
    proof = kept._prove_by_sample(*kept._scan_labels())
    small = kept._representative(proof.scan, math.inf)
    assert small.N <= 200 + 3
    np.testing.assert_allclose(small.p_x, blocks.p_x, rtol=1e-12)
    total = float((small.loss + proof.scan.tilt @ small.p_xz).min(axis=0).sum())
    assert total == pytest.approx(proof.scan.total, rel=1e-12)


@pytest.mark.parametrize("guesses", [2, 3])
def test_a_group_that_ties_as_a_whole_takes_few_passes(guesses):
    """Equalized odds with the group seen: the group that is easier to tell apart ties."""
    rng = default_rng(1)
    group = rng.integers(2, size=40_000)
    scores = rng.normal(size=(40_000, guesses)) * np.where(group, 2.5, 0.7)[
        :, None
    ] + 0.4 * np.arange(guesses)
    p_y = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True) / 40_000
    joint = p_y.T[:, None, :] * np.eye(2)[group].T
    given = Constraint(joint, 0.0, "conditional-mutual-information")
    found = assert_certified(Problem(loss=(1.0 / 40_000 - p_y).T, constraints=[given]), "tilt")
    assert found.passes <= 6
    assert found.rule.ties.size > 5_000


def test_ties_are_never_screened():
    """A rule may draw all outcomes of a band of margins, so the pass must know each of them, even
    where it retains only margins far below the first shell.
    """
    _, kept = begun(2)
    proof = kept._prove(np.zeros((2, 2)), np.ones(1), 1e-16)
    assert proof.scan.screen < math.inf
    assert proof.scan.screen >= passes.shell_top(-1)
