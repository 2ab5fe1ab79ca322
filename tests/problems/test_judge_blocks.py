"""The judge of blocks proves what the judge of arrays proves, and its compiled pass sums what its
NumPy pass sums; exact arithmetic confirms both.
"""

import math
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
from exactly import rational, rationals
from hypothesis import given
from hypothesis import strategies as st
from judging import assert_bound_proven, certify_rule
from numpy.random import default_rng
from numpy.testing import assert_array_equal
from random_laws import random_columns, random_problem
from refusals import raises_input_error
from strategies import problems, seeds

from discreet import BlockProblem, OutcomeRule
from discreet.checks import are_masses
from discreet.judge import certify
from discreet.judge.privacy import PRIVATE_LIMIT
from discreet.numerics.estimators import Decisions, normalise
from discreet.numerics.label_strips import STRIP
from discreet.numerics.sums import block_sums, clear_strips, sums_of_strips, totals
from discreet.numerics.tilted_losses import in_order_losses, least_two
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


_U = 2.0**-53
KINDS = ("even", "tails", "empty", "heavy", "tied", "edge", "faint", "coarse")
COUNTS = (1, 5, STRIP - 1, STRIP, STRIP + 1, 3 * STRIP + 17)


def outcomes(kind, n, m, count, tilt, rng):
    """p_xz [n, count] and loss [m, count] of one kind of difficulty."""
    a = rng.random((n, count))
    loss = rng.random((m, count))
    if kind == "tails":  # masses over six hundred powers of ten
        scale = 10.0 ** rng.uniform(-300, 0, size=count)
        a = a * scale
        loss = loss * scale
    elif kind == "empty":
        a[:, ::3] = 0.0
        loss[:, ::3] = 0.0
    elif kind == "heavy":  # all mass but 1e-15 in one outcome
        a = a * 1e-15 / count
        loss = loss * 1e-15 / count
        a[:, count // 2] = 1.0 / n
        loss[:, count // 2] = rng.random(m)
    elif kind == "tied":
        loss[:] = loss[0]
        a[:, 1:] = a[:, :1]
    elif kind == "edge":  # margins at rounding level, on either side
        slopes = tilt @ a
        loss = 1.0 + slopes.max(axis=0) - slopes
        loss *= 1.0 + rng.integers(-3, 4, size=loss.shape) * _U
    elif kind == "faint":  # products and sums of subnormal size
        a = a * 1e-310
        loss = loss * 1e-310
    elif kind == "coarse":  # most losses are equal
        a = rng.integers(0, 3, (n, count)).astype(float)
        loss = rng.integers(0, 3, (m, count)) * (a.sum(axis=0) > 0.0)
    return a / max(1.0, a.sum()), loss / max(1.0, a.sum())


def plain(p_xz, loss, decide, tilt):
    """Sums under the rule with tilt `decide`, and totals, in NumPy."""
    rule = OutcomeRule(decide)
    level = np.zeros(p_xz.shape[0], dtype=np.int32)
    decided = rule.decisions(np.arange(p_xz.shape[1]), p_xz, loss)
    return block_sums(decided, p_xz, loss, tilt, level), totals(p_xz, loss)


def compiled(p_xz, loss, decide, tilt):
    """numba sums the clear outcomes to the same result."""
    found = clear_strips(p_xz, loss, decide, tilt)
    sums = sums_of_strips(found, np.zeros(p_xz.shape[0], dtype=np.int32))
    rest = found.unclear
    if rest.size:
        sums = sums.plus(plain(p_xz[:, rest], loss[:, rest], decide, tilt)[0])
    return sums, totals(p_xz[:, rest], loss[:, rest], found)


def exact(sums):
    """Double-double numbers as rationals."""
    return rationals(sums[0]) + rationals(sums[1])


def assert_same_sums(one, other):
    difference = exact(one) - exact(other)
    size = exact(other)
    assert np.all(np.abs(difference) <= np.abs(size) * rational(2.0**-84))


def assert_agree(one, other):
    (mine, counted) = one
    (theirs, all_counted) = other
    for both in ((mine.joint, theirs.joint), (mine.loss, theirs.loss), (counted, all_counted)):
        assert_same_sums(*both)
    assert mine.wasted <= theirs.wasted * (1.0 + 1e-9) + 1e-317
    assert mine.worst == pytest.approx(theirs.worst, rel=1e-12)


def exact_losses(p_xz, loss, tilt):
    return rationals(loss) + rationals(tilt) @ rationals(p_xz)


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from(COUNTS),
    st.sampled_from(KINDS),
    seeds,
    st.sampled_from([0.0, 1e-15, 1e-12, 1e-3]),
    st.sampled_from([0.0, 1e-8, 1.0, 1e6]),
)
def test_both_passes_agree(n, m, count, kind, seed, apart, size):
    rng = default_rng(seed)
    rule = size * rng.normal(size=(m, n))
    a, loss = outcomes(kind, n, m, count, rule, rng)
    tilt = rule - apart * size * rng.random((m, 1))
    assert_agree(compiled(a, loss, rule, tilt), plain(a, loss, rule, tilt))


@given(
    st.integers(1, 4),
    st.integers(2, 4),
    st.sampled_from(COUNTS),
    st.sampled_from(KINDS),
    seeds,
    seeds,
)
def test_every_member_of_a_tie_class_is_examined(n, m, count, kind, seed, which):
    """The band ends at an outcome's own margin: the compiled pass leaves every member of the class
    to NumPy.
    """
    rng = default_rng(seed)
    tilt = rng.normal(size=(m, n))
    a, loss = outcomes(kind, n, m, count, tilt, rng)
    _, least, _, runner = least_two(in_order_losses(a, loss, tilt))
    mass = a.sum(axis=0)
    margins = (runner - least)[mass > 0.0] / mass[mass > 0.0]
    band = float(min(margins[which % margins.size], 1e100)) if margins.size else 0.0
    rule = (
        OutcomeRule(tilt, band=band, tie_classes=np.full((m * m, m), 1.0 / m))
        if band > 0.0
        else OutcomeRule(tilt)
    )
    near = clear_strips(a, loss, tilt, tilt, band).unclear
    every = rule.decisions(np.arange(count), a, loss)
    if near.size:
        found = rule.decisions(near, a[:, near], loss[:, near])
        assert_array_equal(near[found.places], every.places)
        assert_array_equal(found.columns, every.columns)
    else:
        assert not every.places.size


@given(
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from(KINDS),
    seeds,
    st.sampled_from([0.0, 1e-15, 1e-3]),
)
def test_doubt_covers_the_loss_of_labels(n, m, kind, seed, apart):
    """Σ_l F_i(l),l − doubt ≤ Σ_l min_i F_il, and every sum is right, in exact arithmetic."""
    rng = default_rng(seed)
    rule = rng.normal(size=(m, n))
    a, loss = outcomes(kind, n, m, STRIP + 40, rule, rng)
    tilt = rule - apart * rng.random((m, 1))
    found, _ = compiled(a, loss, rule, tilt)
    losses = exact_losses(a, loss, tilt)
    labels = np.argmin(in_order_losses(a, loss, rule), axis=0)
    lost = losses[labels, np.arange(labels.size)] - losses.min(axis=0)
    assert sum(lost) <= rational(found.wasted)
    one = np.eye(m, dtype=int)[:, labels]
    masses = rationals(a)
    for i in range(m):
        own = (masses * one[i]).sum(axis=1)
        difference = np.abs(exact((found.joint[0][i], found.joint[1][i])) - own)
        assert np.all(difference <= own * rational(2.0**-86))


@given(
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from(KINDS),
    seeds,
    st.floats(0.0, 1.0),
    st.sampled_from([0.0, 1e-9, 1.0, 1e6]),
)
def test_the_sums_of_any_answer_bound_the_least_losses_from_below(n, m, kind, seed, drawn, size):
    """For any answer `least` is at most Σ_l min_i F_il in exact arithmetic, and lower by rounding
    only.
    """
    rng = default_rng(seed)
    tilt = size * rng.normal(size=(m, n))
    a, loss = outcomes(kind, n, m, 60, tilt, rng)
    estimator = np.eye(m)[:, rng.integers(0, m, 60)]
    places = np.flatnonzero(rng.random(60) < drawn)
    estimator[:, places] = random_columns(rng, m, places.size, 0.3)
    estimator = normalise(estimator)
    level = np.zeros(n, dtype=np.int32)
    found = block_sums(Decisions.of(estimator), a, loss, tilt, level)
    proven = sum(map(rational, found.least(tilt, level)))
    losses = exact_losses(a, loss, tilt)
    best = sum(losses.min(axis=0))
    scale = rational((loss + np.abs(tilt).max() * a.sum(axis=0)).max(axis=0).sum())
    assert proven <= best
    assert best - proven <= rational(1e-13) * scale + rational(1e-300)


def test_a_rare_label_keeps_its_digits():
    """One outcome of mass 1e-30 among heavy ones, in a label of its own."""
    a = np.full((2, 10 * STRIP), 1e-3)
    loss = np.full((2, 10 * STRIP), 1e-3)
    loss[1] = 2e-3
    a[:, 777] = (3e-31, 7e-31)
    loss[:, 777] = (1e-30, 0.0)
    zero = np.zeros((2, 2))
    found, _ = compiled(a, loss, zero, zero)
    assert exact(found.joint)[1].tolist() == [rational(3e-31), rational(7e-31)]
    assert found.wasted <= 1e-300


def test_a_guess_that_is_hardly_ever_drawn_costs_what_it_errs_and_no_rounding_of_others():
    """The guess that is drawn with probability 1 − 2⁻⁶⁰ leads by far: the rounding of its loss
    cannot change the best.
    """
    a = np.full((2, 1), 0.5)
    loss = np.array([[1e-9], [1.0]])
    tilt = np.array([[-1e-9, 1e-9], [0.3, -0.5]])
    decided = Decisions.of(np.array([[1.0], [2.0**-60]]))
    level = np.zeros(2, dtype=np.int32)
    assert decided.places.size == 1
    assert block_sums(decided, a, loss, tilt, level).wasted <= 2.0**-59


@pytest.mark.parametrize("place", [0, STRIP - 1, STRIP + 3, 2 * STRIP + 8])
def test_strips_with_invalid_masses_are_not_clear(place):
    rng = default_rng(1)
    for n, m in ((1, 1), (2, 2), (3, 4)):
        for rows in (0, 1):
            for bad in (-1e-30, math.nan):
                arrays = rng.random((n, 2 * STRIP + 9)), rng.random((m, 2 * STRIP + 9))
                arrays[rows][-1, place] = bad
                tilt = np.zeros((m, n))
                rest = clear_strips(*arrays, tilt, tilt).unclear
                assert not are_masses(*arrays)
                assert not are_masses(*(array[:, rest] for array in arrays))


def test_arrays_of_any_layout_give_the_same_sums():
    rng = default_rng(3)
    a = rng.random((2, 900))
    loss = rng.random((2, 900))
    rule = rng.normal(size=(2, 2))
    found, counted = compiled(a, loss, rule, rule)
    wide = np.zeros((4, 1000))
    wide[::2, 50:950] = a
    wide[1::2, 50:950] = loss
    for one, other in (
        (np.asfortranarray(a), loss),
        (wide[::2, 50:950], wide[1::2, 50:950]),
        (a, loss[::-1][::-1]),
    ):
        again, recounted = compiled(one, other, rule, rule)
        for mine, theirs in zip((*again.joint, *recounted), (*found.joint, *counted), strict=True):
            assert np.array_equal(mine, theirs)
