"""The judge of blocks proves what the judge of arrays proves, and exact arithmetic confirms it."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf, nan
from pathlib import Path
from types import SimpleNamespace

import exactly
import numpy as np
import pytest
from block_cases import in_blocks, watched
from checkout import python
from command import environment
from hypothesis import given
from hypothesis import strategies as st
from judging import assert_bound_proven, certify_rule
from numpy.random import default_rng
from random_laws import random_columns, random_problem
from refusals import raises_input_error
from strategies import problems, seeds

from discreet import BlockProblem, OutcomeRule
from discreet.judge import certify
from discreet.judge.privacy import PRIVATE_LIMIT
from discreet.problems import ArrayBlocks

BOTH = pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "numba"])


problem_of = partial(random_problem, spread=0.5)
SIZES = np.array([0.0, 1e-300, 1e-12, 1e-3, 1.0, 50.0, 1e150])


def rule_of(problem, seed):
    """Any rule for a problem: tilts of any size, ties anywhere, sometimes blended."""
    rng = default_rng(seed)
    tilt = rng.uniform(-1.0, 1.0, (problem.m, problem.n)) * rng.choice(
        SIZES, (problem.m, problem.n)
    )
    ties = rng.permutation(problem.N)[: rng.integers(0, problem.N + 1)]
    columns = random_columns(rng, problem.m, ties.size, 0.5) if ties.size else None
    share = rng.choice([0.0, 0.0, 1e-17, 0.1, 1.0])
    return OutcomeRule(
        tilt, ties, columns, share, np.eye(problem.m)[rng.integers(problem.m)] if share else None
    )


MULTIPLIERS = st.sampled_from([0.0, 1e-9, 0.3, 5.0, 1e9, inf, nan])


def assert_proven(problem, verdict):
    """Check every claim of a certificate about the dense rule with exact arithmetic."""
    judged = verdict.certificate
    dense = verdict.answer.dense(BlockProblem.of(problem).blocks)
    assert 0.0 <= judged.lower <= judged.upper
    assert exactly.error_probability(problem, dense, normalised=True) <= Fraction(
        judged.upper
    ) * Fraction(1 + 2.0**-50)
    if problem.constraint.perfect:
        assert judged.private_within <= PRIVATE_LIMIT
    elif not problem.constraint.oblivious and problem.budget > 1e-25:
        assert (
            exactly.leakage(problem, dense, normalised=True) <= problem.budget * (1 + 1e-13) + 1e-30
        )
    assert_bound_proven(problem, verdict)


@given(problems(), seeds, MULTIPLIERS)
def test_certificates_are_proofs_for_arbitrary_rules(problem, seed, multiplier):
    verdict = certify_rule(
        in_blocks(problem, 2), rule_of(problem, seed), multiplier, threads=1, compiled=False
    )
    assert_proven(problem, verdict)


@given(
    st.integers(1, 3),
    st.integers(1, 4),
    seeds,
    st.sampled_from([0.0, 1e-6, 1e-3, 0.05, 1.0, inf]),
)
def test_agrees_with_the_judge_in_memory(n, m, seed, budget):
    problem = problem_of(40, n, m, seed=seed, budget=budget)
    rng = default_rng(seed)
    ties = rng.choice(40, size=3, replace=False)
    rule = OutcomeRule(0.2 * rng.normal(size=(m, n)), ties, random_columns(rng, m, 3))
    multiplier = float(rng.random())
    dense = rule.dense(BlockProblem.of(problem).blocks)
    here = certify_rule(in_blocks(problem, 16), rule, multiplier, threads=1).certificate
    there = certify(problem, dense, rule.tilt, multiplier).certificate
    assert here.own_error == pytest.approx(there.own_error, rel=1e-14)
    assert here.own_leakage == pytest.approx(there.own_leakage, rel=1e-12, abs=1e-30)
    assert here.own_phi_residual == pytest.approx(there.own_phi_residual, rel=1e-12, abs=1e-25)
    assert here.upper >= there.upper * (1 - 1e-12)  # the repair of the matrix is at least as good
    assert here.lower <= there.lower * (1 + 1e-12)  # for a matrix the judge also tries zero duals
    if there.blend == 0.0:
        assert here.blend <= 1e-12
        assert here.upper == pytest.approx(there.upper, rel=1e-11)


# -- blending
# --------------------------------------------------------------------------------------------------


@BOTH
def test_a_rule_that_leaks_too_much_is_blended_just_enough(compiled):
    problem = problem_of(200, budget=1e-4)
    rule = OutcomeRule(np.zeros((2, 2)))
    verdict = certify_rule(in_blocks(problem), rule, 0.0, compiled=compiled)
    judged = verdict.certificate
    assert judged.own_leakage > problem.budget
    assert 0.0 < judged.blend < 1.0
    assert judged.leakage <= problem.budget
    assert judged.leakage >= problem.budget * (1 - 1e-9)
    dense = verdict.answer.dense(BlockProblem.of(problem).blocks)
    assert problem.leakage(dense) == pytest.approx(judged.leakage, rel=1e-9)
    assert problem.error_probability(dense) == pytest.approx(judged.upper, rel=1e-12)


def test_at_budget_zero_a_leaking_rule_becomes_the_best_constant():
    problem = problem_of(200, budget=0.0)
    verdict = certify_rule(in_blocks(problem), OutcomeRule(np.zeros((2, 2))), inf)
    assert verdict.answer.share == 1.0
    assert verdict.certificate.upper == pytest.approx(problem.constant_error, rel=1e-14)
    assert verdict.certificate.phi_residual == 0.0


# -- threads, sizes, adversaries
# -------------------------------------------------------------------------------------------


@BOTH
def test_threads_and_progress(compiled):
    problem = problem_of(5000, 3, 3)
    seen = []
    rule = OutcomeRule(0.1 * default_rng(0).normal(size=(3, 3)), [7, 4321], np.eye(3)[:, :2])
    blocks = in_blocks(problem, 300)
    verdicts = [
        certify_rule(blocks, rule, 0.5, threads=threads, compiled=compiled) for threads in (1, 2, 5)
    ]
    assert verdicts[0].certificate == verdicts[1].certificate == verdicts[2].certificate
    certify_rule(blocks, rule, 0.5, threads=2, progress=lambda done, of: seen.append((done, of)))
    assert seen == [(min(300 * (k + 1), 5000), 5000) for k in range(17)]


# -- refusals
# --------------------------------------------------------------------------------------------------


@BOTH
def test_blocks_that_contradict_the_problem_are_refused(compiled):
    problem = problem_of(200)
    rule = OutcomeRule(np.zeros((2, 2)))
    honest = BlockProblem.of(problem)

    def refused(words, p_xz, loss, outcomes=200):
        chunks = ArrayBlocks(p_xz, loss).chunks
        lying = replace(honest, blocks=SimpleNamespace(n=2, m=2, N=outcomes, chunks=chunks))
        with raises_input_error(words):
            certify_rule(lying, rule, 0.1, compiled=compiled)

    a = problem.p_xz.copy()
    loss = problem.loss.copy()
    refused("hold 200 outcomes", a, loss, 201)
    refused("p_x is up to", a * 1.001, loss)
    refused("p_x is up to", a[::-1], loss)
    refused("losses of constant guesses", a, loss * 1.001)
    for bad in (-1e-30, nan):
        for array in (a, loss):
            kept = array[1, 7]
            array[1, 7] = bad
            refused("must be a number ≥ 0", a, loss)
            array[1, 7] = kept


def test_wrong_shapes_are_refused():
    problem = BlockProblem.of(problem_of(200))
    with raises_input_error(r"tilt .*\[2, 3\] .*\[2, 2\]"):
        certify_rule(problem, OutcomeRule(np.zeros((2, 3))), 0.1)
    with raises_input_error("outcome 200 "):
        certify_rule(problem, OutcomeRule(np.zeros((2, 2)), [200], [[1.0], [0.0]]), 0.1)


# -- memory
# --------------------------------------------------------------------------------------------------

_MEASURE = """
from judging import certify_rule
from discreet.numerics.compiled import compiled_available
from discreet.problems.outcome_rules import OutcomeRule
from discreet.problems.sensors import PAPER_EDGES, linear_conditional, paper_p_xy
from discreet.problems.streams.lattice import lattice_problem

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

def run(sensors):
    law, compiled = linear_conditional(0.4, 0.6, 1.0, PAPER_EDGES), compiled_available()
    problem = lattice_problem(law, paper_p_xy(), sensors, 0.01, compiled=compiled)
    certify_rule(problem, OutcomeRule([[0.1, -0.1], [-0.1, 0.1]]), 0.2, compiled=compiled)
    return problem.N

run(60)  # loads the compiler, if there is one
before = peak()
outcomes = run(200)
print(outcomes, peak() - before)
"""


@pytest.mark.gate
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux tells the peak of one program"
)
def test_memory_does_not_grow_with_the_outcomes():
    outcomes, grown = map(int, python("-c", _MEASURE, env=environment()).split())
    assert outcomes > 1_300_000  # 43 MB of columns
    assert grown < 20_000  # KiB


@pytest.mark.parametrize("outcomes", [500, 5_000])
def test_judging_a_rule_takes_one_pass_over_the_outcomes(outcomes):
    problem = problem_of(outcomes)
    blocks, source = watched(problem)
    rule = OutcomeRule([[0.1, 0.0], [0.0, 0.2]], [3, 7], np.full((2, 2), 0.5))
    certify(blocks, rule, None, 0.4, threads=1)
    assert source.passes == 1
