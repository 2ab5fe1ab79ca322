"""Problems in blocks: one optimum by every path, rules that keep the budget, interrupts, time
limits, and bounded memory.
"""

import functools
import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from block_cases import ADVERSARIAL, HARD, in_blocks, random_problem, retain_few, watched
from gated import gated
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from discreet import BlockProblem, Problem, Status
from discreet.backends import run
from discreet.backends.solution import derive_status
from discreet.backends.tilt import rounds
from discreet.judge import certify
from discreet.numerics.compiled import compiled_available
from discreet.problems import block_problem, lattice_problem, weighted_mixture
from discreet.problems.catalog.paper import paper_edges
from discreet.problems.outcomes import Chunk
from discreet.problems.sensors import PAPER_EDGES, iid_sensors, linear_conditional, paper_p_xy
from discreet.reports.tables import solution_facts

GAP = 1e-9
FRACTIONS = [0.0, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1.5]


@pytest.fixture(autouse=True)
def few_retained(monkeypatch):
    """Problems of some hundred outcomes have to be aggregated."""
    retain_few(monkeypatch)
    monkeypatch.setattr(BlockProblem, "few", False)


def solve(problem, *, threads=0, **options):
    """Call `ds.solve` by tilt on a number of threads."""
    return run.solve(problem, "tilt", settings={"threads": threads} if threads else {}, **options)


def assert_overlap(one, other):
    """Both brackets may hold one optimum."""
    assert one.certificate.lower <= other.certificate.upper
    assert other.certificate.lower <= one.certificate.upper


def assert_true(problem, solution, gap=GAP):
    """The rule, made dense, is what the certificate says of it; it keeps the budget; the status is
    the certificate's.
    """
    certificate = solution.certificate
    assert 0.0 <= certificate.lower <= certificate.upper
    assert solution.status is derive_status(certificate, gap)
    dense = solution.rule.dense(solution.problem.blocks)
    law = problem.output_law(dense)
    if certificate.budget == 0.0:
        assert certificate.phi_residual <= 1e-13
        assert np.abs(law.excess).max() <= 2e-13
    else:
        assert certificate.leakage <= certificate.budget
        assert law.leakage() <= certificate.budget * (1.0 + 1e-9) + 1e-30
    assert problem.error_probability(dense) == pytest.approx(
        certificate.upper, rel=1e-11, abs=1e-300
    )
    assert_overlap(certify(problem, dense, solution.rule.tilt, solution.multiplier), solution)


@given(
    st.sampled_from(["mixture", "dirichlet", "sparse"]),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(50, 2000),
    seeds,
    st.sampled_from(FRACTIONS),
    st.sampled_from([1, 2]),
    st.sampled_from([61, 1000]),
)
def test_same_optimum_as_the_whole_problem(family, n, m, outcomes, seed, fraction, threads, size):
    problem = random_problem(family, n, m, outcomes, seed, fraction)
    streamed = solve(in_blocks(problem, size), gap=GAP, threads=threads)
    assert_true(problem, streamed)
    assert streamed.status is Status.CERTIFIED, streamed
    assert_overlap(streamed, solve(problem, gap=GAP))


@pytest.mark.parametrize("name", gated(ADVERSARIAL, 6))
def test_adversarial_outcomes(name):
    free = Problem.from_joint(ADVERSARIAL[name], math.inf)
    for fraction in (0.0, 1e-9, 0.3, 1.5, math.inf):
        problem = free.with_budget(
            math.inf if math.isinf(fraction) else fraction * free.bayes_leakage
        )
        streamed = solve(in_blocks(problem), gap=GAP, threads=1)
        assert_true(problem, streamed)
        assert streamed.status is Status.CERTIFIED or (name, fraction) in HARD, (fraction, streamed)
        whole = solve(problem, gap=GAP).certificate
        assert not whole.excludes(streamed.certificate)
        assert not streamed.certificate.excludes(whole)


@pytest.mark.parametrize("budget", [1e-30, 1e-44, 5e-324])
def test_budgets_below_rounding_are_never_exceeded(budget):
    for name in ("plain", "z independent of x", "margins at rounding level", "one guess"):
        problem = Problem.from_joint(ADVERSARIAL[name], budget)
        assert_true(problem, solve(in_blocks(problem, 50), gap=GAP, threads=1))


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("tail", [0.0, 1e-6, 1e-12])
def test_lattices_with_and_without_a_tail(tail, fraction):
    law = linear_conditional(0.4, 0.6, 1.0, PAPER_EDGES)
    p_xy = paper_p_xy()
    dense = Problem.from_joint(iid_sensors(law, p_xy, 20), math.inf)
    budget = fraction * dense.bayes_leakage
    streamed = solve(lattice_problem(law, p_xy, 20, budget, tail=tail), gap=1e-6)
    certificate = streamed.certificate
    assert certificate.leakage <= max(budget, 1e-25)
    assert streamed.status is derive_status(certificate, 1e-6)
    whole = solve(dense.with_budget(budget), gap=1e-9).certificate
    # The lattice's numbers are those of the table within 1e-12, and so are the optima.
    assert certificate.lower <= whole.upper * (1 + 1e-9)
    assert whole.lower <= certificate.upper * (1 + 1e-9)
    if tail <= 1e-12:
        assert streamed.status is Status.CERTIFIED, streamed


@pytest.mark.parametrize("outcomes", [100, 3000])
@pytest.mark.parametrize("backend", ["auto", "tilt", "blahut-arimoto"])
def test_progress_ends_with_the_certified_bracket(backend, outcomes):
    """Also where a problem in blocks is so small that no rounds are needed, and for backends
    without rounds.
    """
    problem = random_problem("mixture", 3, 3, outcomes, 1, 0.3)
    for each in (problem, in_blocks(problem))[: 1 + (backend != "blahut-arimoto")]:
        told = []
        solution = run.solve(
            each, backend, gap=1e-6, progress=lambda *now, told=told: told.append(now)
        )
        assert told[-1] == ("judged", solution.certificate.lower, solution.certificate.upper)


@pytest.mark.parametrize("threads", [1, 2])
def test_interrupted_in_any_pass(threads, monkeypatch):
    monkeypatch.setattr(rounds, "_DRAWN_FROM", 0)
    problem = random_problem("mixture", 2, 2, 1200, 3, 0.3)
    blocks, source = watched(problem)
    whole = solve(blocks, threads=threads)
    answered = 0
    for at in range(1, source.passes):  # the last one is the judge's
        blocks, _ = watched(problem, interrupted=at)
        try:
            solution = solve(blocks, threads=threads)
        except KeyboardInterrupt:
            assert answered == 0  # only before there is anything to return
            continue
        answered += 1
        assert solution.claimed == "interrupted"
        assert_true(problem, solution)
        assert_overlap(solution, whole)
    assert answered >= 2


def test_interrupted_while_reporting():
    problem = random_problem("mixture", 3, 3, 3000, 1, 0.3)
    reports = []

    def interrupt(*report):
        reports.append(report)
        if len(reports) == 1:
            raise KeyboardInterrupt

    solution = solve(in_blocks(problem), progress=interrupt)
    assert solution.claimed == "interrupted"
    assert_true(problem, solution)
    assert solution.relative_gap < 0.1


def test_few_outcomes_are_read_once_by_the_solver_and_once_by_the_judge(monkeypatch):
    monkeypatch.undo()  # the usual thresholds
    blocks, source = watched(random_problem("mixture", 3, 3, 300, 1, 0.3))
    solution = solve(blocks)
    assert solution.status is Status.CERTIFIED
    assert (solution.passes, source.passes) == (1, 2)


@pytest.mark.parametrize("fraction", [0.0, 0.3])
def test_what_a_limit_returns_keeps_the_budget_by_itself(fraction):
    """The backend's own answer, before the judge blends anything in: a matrix, and a rule."""
    problem = weighted_mixture(n=2, m=10, N=3000, fraction=fraction)
    stopped = (
        solve(in_blocks(problem), time_limit=1e-3),
        run.solve(problem, "tilt", max_iterations=3, time_limit=1e-3),
    )
    for solution in stopped:
        assert solution.status is Status.INACCURATE
        assert solution.certificate.blend == 0.0
        assert solution.certificate.own_leakage <= problem.budget or problem.constraint.perfect
        assert solution.certificate.own_private_within == 0.0 or not problem.constraint.perfect


class Generated:
    """Outcomes of two private values and two guesses, made on the fly from a seed;
    nothing is kept.
    """

    n = m = 2

    def __init__(self, outcomes, size=1 << 16):
        self.N = outcomes
        self._size = size

    def chunks(self):
        for start in range(0, self.N, self._size):
            count = min(self._size, self.N - start)
            yield Chunk(start, count, functools.partial(self._make, start, count))

    def _make(self, start, count):
        z = np.random.default_rng([7, start]).random(count)
        x = 0.3 + 0.5 * z**2
        return np.stack([x, 1.0 - x]) / self.N, np.stack([1.0 - z, z]) / self.N


def test_memory_holds_no_more_than_chunks_and_retained_outcomes(monkeypatch):
    monkeypatch.undo()  # the usual thresholds
    if compiled_available():
        import numba  # noqa: F401 (once it is loaded, 300,000 outcomes are enough for compiled kernels)
    # The time of compiling is not measured.
    solve(block_problem(Generated(300_000), 0.01), gap=GAP, threads=1)
    problem = block_problem(Generated(600_000), 0.01)
    tracemalloc.start()
    solution = solve(problem, gap=GAP, threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert solution.status is Status.CERTIFIED, solution
    assert solution.passes > 1
    assert solution.rule.ties.size <= 4
    # The outcomes themselves would take 19.2 MB, and twice as much while they are worked on.
    assert peak <= 13.5e6


def test_compiling_is_timed_apart_from_solving():
    problem = Problem.from_joint(ADVERSARIAL["plain"], 0.01)
    # Too small for kernels.
    assert solve(in_blocks(problem, 50), gap=GAP).to_dict()["compile_seconds"] == 0.0
    solution = solve(problem)
    assert solution.timings.compile_seconds == 0.0
    shown = replace(solution, timings=replace(solution.timings, compile_seconds=5.25))
    assert "compiling for the first time 5.25" in dict(solution_facts(shown).lines)["seconds"]
    assert "compiling" not in dict(solution_facts(solution).lines)["seconds"]


@pytest.mark.parametrize(
    "sensors, bins, gap, passes",
    gated(
        [
            (30, 4, 1e-9, 10),
            (24, 6, 1e-9, 10),
            (35, 4, 1e-9, math.inf),
            (40, 4, 1e-8, math.inf),
            (50, 4, 1e-6, math.inf),
        ]
    ),
)
def test_a_tie_class_of_much_mass_keeps_the_budget_by_itself(sensors, bins, gap, passes):
    """Precise sensors tell X and Y apart so well that most outcomes agree in margin to thirteen
    digits; with 30 or 24 of them the tie class holds a seventh of all mass.

    The share of the tie class decides how much leaks; aimed at the budget itself it would leak a
    rounding error more, and to mend that by blending with a constant guess would cost a hundred
    thousand times as much as it gains. From 35 sensors on, budgets are 1e-13 … 1e-17 nats, and one
    rounding error in a tie's column would leak a visible share of the budget.
    """
    law = linear_conditional(0.4, 0.6, 0.1, paper_edges(bins))
    free = lattice_problem(law, paper_p_xy(), sensors, budget=math.inf, tail=0.0)
    budget = 0.5 * solve(free).leakage
    found = solve(free.with_budget(budget), gap=GAP)
    assert found.relative_gap <= gap
    assert found.status is Status.CERTIFIED or gap > GAP
    assert found.leakage <= budget
    assert found.certificate.own_leakage <= budget
    assert found.certificate.blend == 0.0
    assert found.passes <= passes


def test_a_tilt_that_outcomes_in_cells_may_contradict_is_no_vertex(monkeypatch):
    """More outcomes share the tie's margin than are retained: that the sums of their cells follow
    the tilt is not enough.
    """
    monkeypatch.setattr(rounds, "first_retained", lambda n, m: 500)
    monkeypatch.setattr(BlockProblem, "few", False)
    conditional = linear_conditional(0.4, 0.6, 0.1, paper_edges(8))
    solution = solve(lattice_problem(conditional, paper_p_xy(), 10, budget=9.82550774099471e-06))
    assert solution.status is Status.CERTIFIED
