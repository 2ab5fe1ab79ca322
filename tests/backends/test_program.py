"""The vertex under linear measures: optimal to rounding from any tilt, within the budget before any
repair.
"""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from random_laws import random_joint
from solving import assert_certified, at_share, certificate_of, under
from strategies import seeds

import discreet as ds
from discreet.backends.precision import Precision
from discreet.backends.tilt import program
from discreet.backends.tilt.crossover import crossover
from discreet.backends.tilt.program import is_linear, solve_by_sifting
from discreet.measures import GLeakage
from discreet.measures.registry import LINEAR

GAIN = [
    [1.0, 0.0, 0.3, 0.2, 0.1],
    [0.2, 1.0, 0.0, 0.9, 0.4],
    [0.5, 0.5, 0.5, 0.1, 0.0],
    [0.0, 0.1, 2.0, 0.3, 1.0],
]
FRACTIONS = [1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9]


def random_problem(name, n, m, outcomes, seed, fraction):
    """At a share of what the Bayes rule leaks, or of 2 where that has no bound."""
    text = str(GLeakage(np.array(GAIN)[:, :n])) if name == "g-leakage" else name
    joint = random_joint(seed, n, m, outcomes, spread=0.5)
    return under(joint, text, fraction, 2.0)


def mixture(name, share, **sizes):
    """Many outcomes, at such a share."""
    return at_share(ds.problems.mixture(budget=math.inf, measure=name, **sizes), share, 2.0)


def judged(problem, point):
    assert point.columns.min() >= 0.0
    certificate = certificate_of(problem, point)
    assert certificate.blend == 0.0
    assert certificate.own_leakage_ceiling <= problem.budget
    return certificate


def crossed(problem, tilt, columns=None):
    return crossover(problem, tilt, np.ones(1), Precision.of(problem, 1e-12), columns)


@given(
    st.sampled_from(sorted(LINEAR)),
    st.integers(2, 5),
    st.integers(2, 5),
    st.integers(20, 300),
    seeds,
    st.sampled_from(FRACTIONS),
)
def test_from_no_tilt_and_from_a_near_one_to_the_optimum(name, n, m, outcomes, seed, fraction):
    problem = random_problem(name, n, m, outcomes, seed, fraction)
    found = crossed(problem, np.zeros((m, n)))
    assume(problem.budget > 0.0)
    assert judged(problem, found).relative_gap <= 1e-12
    tilt = found.tilt * (1.0 + 1e-6 * np.random.default_rng(seed).normal(size=found.tilt.shape))
    columns = 0.999 * found.columns + 0.001 / m
    for again in (crossed(problem, tilt), crossed(problem, tilt, columns)):
        certificate = judged(problem, again)
        assert certificate.relative_gap <= 1e-12
        assert certificate.upper == pytest.approx(
            problem.error_probability(found.columns), rel=1e-12
        )


@pytest.mark.parametrize("name", ["min-entropy-leakage", "g-leakage"])
def test_budget_0_of_an_adversary_s_gain(name):
    problem = random_problem(name, 3, 3, 60, 3, 0.0)
    assert not problem.constraint.perfect
    assert judged(problem, crossed(problem, np.zeros((3, 3)))).relative_gap <= 1e-12


def test_a_gap_that_rounding_does_not_allow_gives_none():
    problem = random_problem("maximal-leakage", 3, 3, 60, 4, 0.1)
    tilt = np.zeros((3, 3))
    precision = Precision.of(problem, 1e-12)
    assert crossover(problem, tilt, np.ones(1), precision, gap=1e-12) is not None
    assert crossover(problem, tilt, np.ones(1), precision, gap=-1e-12) is None


def test_perfect_privacy_alone_and_smooth_measures_are_no_linear_programs():
    problem = random_problem("maximal-leakage", 3, 3, 20, 0, 0.1)
    assert is_linear(problem)
    assert not is_linear(problem.with_budget(0.0))
    assert not is_linear(problem.with_budget(0.1, measure="chi-square"))


@pytest.mark.parametrize("values", [2, 3])
def test_the_rounds_of_a_linear_measure_take_no_iteration_of_the_interior_point(values):
    problem = mixture("total-variation", 0.4, n=values, m=values, N=40_000)
    assert assert_certified(problem, "tilt", gap=1e-12).iterations == 0


@pytest.fixture
def programs(monkeypatch):
    """How many outcomes each program has that is solved."""
    sizes = []
    plain = program._refine_program

    def counted(program, times):
        sizes.append(program.shares)
        return plain(program, times)

    monkeypatch.setattr(program, "_refine_program", counted)
    return sizes


@pytest.mark.parametrize("far", [False, True])
def test_a_tilt_that_is_too_far_is_replaced_by_that_of_few_outcomes(far, programs):
    """As in the last rounds of very many: outcomes near a decision one by one, all others in a few
    sums, which few keep.
    """
    whole = ds.problems.mixture(N=400_000, budget=math.inf, measure="parity-difference")
    gap = np.abs(whole.loss[0] - whole.loss[1]) / whole.p_z
    near = gap <= np.partition(gap, 8_000)[8_000]
    label = whole.loss.argmin(axis=0)
    rows = np.concatenate([whole.p_xz, whole.loss])
    sums = np.stack([rows[:, ~near & (label == guess)].sum(axis=1) for guess in (0, 1)], axis=1)
    rows = np.concatenate([rows[:, near], sums], axis=1)
    free = ds.Problem.of_rows(rows[:2], rows[2:], whole.terms)
    problem = free.with_budget(0.99 * free.bayes_leakage)
    precision = Precision.of(problem, 1e-9)
    found = solve_by_sifting(problem, np.zeros((2, 2)), precision, gap=precision.bracket, far=far)
    assert judged(problem, found[0]).relative_gap <= 1e-9
    assert max(programs) < problem.N // 2


# Programs of a few outcomes and of all; each once more, with sums, where it has no solution.
SMALL = [(name, {"n": 3, "m": 3, "N": 1_000}, 2, 4) for name in sorted(LINEAR - {"g-leakage"})]
# Up to four of a sample, one next to its tilt, one of the round, two each for two rules.
IN_ROUNDS = [
    (name, {"n": 4, "m": 4, "N": 60_000}, 20, 10)
    for name in ("maximal-leakage", "min-entropy-leakage")
]


@pytest.mark.parametrize("name, sizes, usual, most", [*SMALL, *IN_ROUNDS])
def test_a_time_limit_ends_after_the_program_at_hand(name, sizes, usual, most, programs):
    """The answer keeps the budget by itself, and the bracket holds the optimum."""
    problem = mixture(name, 0.3, **sizes)
    best = ds.solve(problem, "tilt", gap=1e-12).certificate
    assert best.relative_gap <= 1e-12
    assert len(programs) > usual
    programs.clear()
    stopped = ds.solve(problem, "tilt", gap=1e-12, time_limit=1e-9)
    assert stopped.claimed == "time limit"
    assert len(programs) <= most
    found = stopped.certificate
    assert found.blend == 0.0
    assert found.own_leakage_ceiling <= problem.budget
    assert found.lower <= best.upper
    assert best.lower <= found.upper
    assert found.relative_gap <= 0.5


def test_a_program_without_a_solution_ends_by_a_bound(monkeypatch):
    """One program of this problem has none. HiGHS takes seconds for each step that shows it no
    other way, and gives up.
    """
    plain = program._solution
    without = []

    def watched(solver):
        found = plain(solver)
        if found is None:
            without.append(solver.getModelStatus().name)
            assert without[-1] in ("kInfeasible", "kObjectiveBound")
        return found

    monkeypatch.setattr(program, "_solution", watched)
    assert_certified(mixture("parity-difference", 0.3, n=4, m=4, N=60_000), "tilt", gap=1e-12)
    assert "kObjectiveBound" in without


def test_a_program_that_cycles_is_given_up(monkeypatch, load):
    """HiGHS takes 140,000 pivots and more of the residuals of one program of this problem, which
    has 346 rows and columns; the interior point solves it.
    """
    plain = program._solution
    pivots = []

    def watched(solver):
        found = plain(solver)
        size = solver.getNumRow() + solver.getNumCol()
        pivots.append(solver.getInfo().simplex_iteration_count / size)
        return found

    monkeypatch.setattr(program, "_solution", watched)
    assert_certified(load("campaigns.instances").drawn("secrets", 1, 2177)[1], "tilt")
    assert max(pivots) <= 2.0 * program._PIVOTS


def test_a_program_that_is_too_large_is_not_written():
    problem = random_problem("total-variation", 2, 60, 400, 0, 0.1)
    assert crossed(problem, np.zeros((60, 2))) is None


@pytest.mark.parametrize("name", ["total-variation", "parity-difference"])
def test_many_values_and_guesses_but_few_outcomes_need_no_interior_point(name):
    """Its systems have thousands of unknowns, and the program only few more columns than rows."""
    problem = random_problem(name, 20, 20, 60, 0, 0.3)
    solution = ds.solve(problem, "tilt")
    assert solution.iterations == 0
    assert solution.relative_gap <= 1e-12
