"""Aggregate, solve, certify, shrink: the same optimum as the interior point on everything, and never more leakage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from block_cases import ADVERSARIAL, HARD, in_blocks, random_problem, watched
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.backends.run import solve
from discreet.backends.solution import Status
from discreet.backends.tilt import aggregation
from discreet.backends.tilt.aggregation import Aggregated, solve_aggregated, spread
from discreet.backends.tilt.cells import SHELLS, shell_top
from discreet.backends.tilt.kernels import member, scan
from discreet.problems import Certificate, Problem, catalog, certify
from discreet.problems.blocks import ArrayBlocks
from discreet.problems.measures.law import LEAK_FREE
from discreet.problems.numerics.compiled import compiled_available

GAP = 1e-9
FRACTIONS = [0.0, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1.5]


@pytest.fixture(autouse=True)
def few_individuals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thresholds so low that problems of some hundred outcomes have to be aggregated."""
    monkeypatch.setattr(aggregation, "_LEAST_INDIVIDUALS", 30)
    monkeypatch.setattr(aggregation, "_INDIVIDUALS_PER_ENTRY", 3)


def judged(problem: Problem, found: Aggregated, size: int = 97) -> Certificate:
    dense = spread(ArrayBlocks(problem.p_xz, problem.loss, size), found, threads=1)
    return certify(problem, dense, found.tilt, found.multiplier).certificate


def assert_kept(certificate: Certificate) -> None:
    assert 0.0 <= certificate.lower <= certificate.upper
    if certificate.budget == 0.0:
        assert certificate.phi_residual <= 1e-13
    else:
        assert certificate.leakage <= certificate.budget


@settings(max_examples=50)
@given(
    st.sampled_from(["mixture", "dirichlet", "sparse"]),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(50, 2000),
    st.integers(0, 10**6),
    st.sampled_from(FRACTIONS),
    st.sampled_from([1, 2]),
)
def test_same_optimum_as_the_whole_problem(
    family: str, n: int, m: int, outcomes: int, seed: int, fraction: float, threads: int
) -> None:
    problem = random_problem(family, n, m, outcomes, seed, fraction)
    whole = solve(problem, "tilt", gap=GAP)
    found = solve_aggregated(in_blocks(problem), gap=0.3 * GAP, threads=threads)
    mine, theirs = judged(problem, found), whole.certificate
    assert theirs is not None
    assert_kept(mine)
    assert mine.relative_gap <= GAP
    assert max(mine.lower, theirs.lower) <= min(mine.upper, theirs.upper)
    # What the rounds say themselves is the judge's to within rounding.
    assert found.lower == pytest.approx(mine.lower, rel=1e-8)
    assert found.upper == pytest.approx(mine.upper, rel=1e-8)


@pytest.mark.parametrize("fraction", [0.0, 1e-3, 0.5])
def test_threads_chunks_and_kernels_change_nothing(fraction: float) -> None:
    problem = random_problem("mixture", 3, 3, 3000, 4, fraction)
    alone = solve_aggregated(in_blocks(problem), gap=0.3 * GAP, threads=1)
    threaded = solve_aggregated(in_blocks(problem), gap=0.3 * GAP, threads=2)
    np.testing.assert_array_equal(threaded.tilt, alone.tilt)
    np.testing.assert_array_equal(threaded.columns, alone.columns)
    assert (threaded.upper, threaded.lower, threaded.passes) == (alone.upper, alone.lower, alone.passes)
    coarse = solve_aggregated(in_blocks(problem, 3000), gap=0.3 * GAP, threads=1)
    assert judged(problem, coarse).relative_gap <= GAP
    assert coarse.upper == pytest.approx(alone.upper, rel=GAP)


@pytest.mark.skipif(not compiled_available(), reason="numba is not installed (extra fast)")
@pytest.mark.parametrize("fraction", [0.0, 1e-3, 0.5])
def test_compiled_and_numpy_reach_the_same(fraction: float) -> None:
    problem = random_problem("mixture", 3, 3, 3000, 4, fraction)
    found = [solve_aggregated(in_blocks(problem), gap=0.3 * GAP, threads=2, compiled=compiled) for compiled in (False, True)]
    one, other = (judged(problem, each) for each in found)
    assert max(one.relative_gap, other.relative_gap) <= GAP
    assert max(one.lower, other.lower) <= min(one.upper, other.upper)


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_adversarial_outcomes(name: str) -> None:
    free = Problem.from_joint(ADVERSARIAL[name], math.inf)
    for fraction in (0.0, 1e-9, 0.3, 0.9, 1.5, math.inf):
        problem = free.with_budget(math.inf if math.isinf(fraction) else fraction * free.bayes_leakage)
        found = solve_aggregated(in_blocks(problem, 50), gap=0.3 * GAP, threads=1)
        certificate = judged(problem, found, 50)
        assert_kept(certificate)
        assert certificate.relative_gap <= GAP or (name, fraction) in HARD, (fraction, certificate)
        whole = solve(problem, "tilt", gap=GAP).certificate
        assert whole is not None
        allowed = 10.0 * LEAK_FREE if fraction == 0.0 else 0.0  # "leak-free" may err so much less
        assert max(whole.lower, certificate.lower) <= min(whole.upper, certificate.upper) + allowed


def test_a_stubborn_problem_ends_with_all_of_it() -> None:
    problem = catalog.build("mixture", n=3, m=5, N=202, seed=377819, fraction=0.001)
    found = solve_aggregated(in_blocks(problem), gap=0.3 * GAP, threads=1)
    assert judged(problem, found).relative_gap <= GAP
    assert found.ended == "optimal"


def test_passes_are_counted() -> None:
    blocks, source = watched(random_problem("mixture", 3, 3, 3000, 1, 0.3))
    reports: list[tuple[str, float, float]] = []
    found = solve_aggregated(blocks, gap=GAP, threads=1, report=lambda *said: reports.append(said))
    assert found.passes == source.passes
    assert [said[0] for said in reports] == [f"round {k}" for k in range(1, len(reports) + 1)]
    lowers, uppers = [said[1] for said in reports], [said[2] for said in reports]
    assert lowers == sorted(lowers)
    assert uppers == sorted(uppers, reverse=True)
    assert (found.lower, found.upper) == (lowers[-1], uppers[-1])


@pytest.mark.parametrize("threads", [1, 2])
def test_interrupted_in_any_pass(threads: int) -> None:
    problem = random_problem("mixture", 3, 3, 3000, 1, 0.3)
    blocks, source = watched(problem)
    whole = solve_aggregated(blocks, gap=GAP, threads=threads)
    answered = 0
    for at in range(1, source.passes + 1):
        blocks, _ = watched(problem, interrupted=at)
        try:
            found = solve_aggregated(blocks, gap=GAP, threads=threads)
        except KeyboardInterrupt:
            assert answered == 0  # only before there is anything to return
            continue
        answered += 1
        assert found.ended == "interrupted"
        certificate = judged(problem, found)
        assert_kept(certificate)
        assert certificate.lower <= whole.upper
        assert certificate.upper >= whole.lower
    assert answered >= 2


def test_interrupted_while_reporting() -> None:
    problem = random_problem("mixture", 3, 3, 3000, 1, 0.3)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    found = solve_aggregated(in_blocks(problem), gap=GAP, threads=1, report=interrupt)
    assert found.ended == "interrupted"
    certificate = judged(problem, found)
    assert_kept(certificate)
    assert certificate.relative_gap < 0.1


def test_time_limit_ends_after_a_round() -> None:
    problem = random_problem("mixture", 3, 3, 3000, 1, 0.3)
    blocks, source = watched(problem, seconds=0.02)
    found = solve_aggregated(blocks, gap=GAP, threads=1, deadline=-math.inf)
    assert found.ended == "time limit"
    assert source.passes <= 6  # Bayes rule, sample, first duals, and those of one round
    assert_kept(judged(problem, found))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 2500))
def test_thresholds_list_about_as_many_as_wanted(seed: int, wanted: int) -> None:
    problem = random_problem("mixture", 2, 3, 2500, seed, 0.5)
    blocks = ArrayBlocks(problem.p_xz, problem.loss)
    tilt = 0.1 * np.random.default_rng(seed).normal(size=(3, 2))
    for threshold in (-1.0, 0.01, 1.0):
        found = scan(blocks, tilt, threshold, compiled=False)
        next_one = aggregation._threshold(found, wanted)
        if found.listed.size >= wanted:
            assert next_one <= max(threshold, 0.0)
            continue
        assert next_one >= threshold
        # The right shell is certain; within it margins are taken as uniform.
        everything = scan(blocks, tilt, -1.0, compiled=False)
        counts = np.bincount(everything.keys % SHELLS, weights=everything.counts, minlength=SHELLS)
        shell = int(np.searchsorted(np.cumsum(counts), wanted))
        bottom = shell_top(shell - 1) if shell else 0.0
        assert bottom <= next_one <= shell_top(shell)


def test_status_of_the_backend_follows_the_judge() -> None:
    problem = random_problem("mixture", 2, 2, 4000, 3, 0.4)
    solution = solve(problem, "tilt", gap=GAP, settings={"threads": 2})
    assert solution.status is Status.CERTIFIED
    assert solution.problem.N >= 16 * aggregation.individuals(2, 2)  # so it was aggregated
    limited = solve(problem, "tilt", gap=GAP, time_limit=1e-9)
    assert limited.status in (Status.CERTIFIED, Status.INACCURATE)
    assert limited.leakage <= problem.budget


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("fraction", [0.0, 0.3])
def test_spreading_a_vertex_is_looking_up_every_member(m: int, fraction: float) -> None:
    problem = random_problem("mixture", 2, m, 3000, 6, fraction)
    blocks = ArrayBlocks(problem.p_xz, problem.loss, 700)
    found = solve_aggregated(in_blocks(problem, 700), gap=0.3 * GAP, threads=1, vertex=True)
    looked_up = found.columns[:, member(blocks, found.source.tilt, found.source.found)]
    np.testing.assert_array_equal(spread(blocks, found, threads=2), looked_up)
