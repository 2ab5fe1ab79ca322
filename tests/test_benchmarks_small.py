"""Side-by-side timings that belong in every run of the tests: ratios within one run, never absolute times.

The contestants take turns, so that a slow moment of the machine meets all of them, and the fastest of the rounds counts.
`tilt` takes two turns a round: the ratio of one to the other is the noise of this run, and no claim smaller than it is made.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import discreet as ds

pytest.importorskip("pytest_benchmark", reason="the extra `bench` is not installed")

ROUNDS = 7


class Race:
    """Contestants that take turns; `best` is the fastest turn of each, in seconds."""

    def __init__(self, **contestants: Callable[[], Any]) -> None:
        self.contestants = contestants
        self.best = dict.fromkeys(contestants, float("inf"))

    def round(self) -> None:
        """One turn each."""
        for name, contestant in self.contestants.items():
            started = time.perf_counter()
            contestant()
            self.best[name] = min(self.best[name], time.perf_counter() - started)


def run(race: Race, benchmark: Any) -> None:
    """One round to warm up, then ROUNDS that count, also where pytest-benchmark is disabled and runs a single one."""
    race.round()
    race.best = dict.fromkeys(race.contestants, float("inf"))
    benchmark.pedantic(race.round, rounds=ROUNDS, iterations=1)
    for _ in range(ROUNDS - 1 if benchmark.disabled else 0):
        race.round()
    benchmark.extra_info.update({f"{name}_seconds": seconds for name, seconds in race.best.items()})


def noise(race: Race) -> float:
    """How far two runs of the same thing are apart in this run, as a ratio ≥ 1."""
    first, second = race.best["tilt"], race.best["again"]
    return max(first, second) / min(first, second)


def solver(problem: ds.Problem, backend: str) -> Callable[[], ds.Solution]:
    """A turn: solve and judge; an answer is required, whatever it is worth."""

    def turn() -> ds.Solution:
        solution = ds.solve(problem, backend)
        assert solution.certificate is not None, solution.message
        return solution

    return turn


@pytest.mark.parametrize("bins", [64, 1_000])
def test_tilt_is_faster_than_the_cone_program_and_certified(bins: int, benchmark: Any) -> None:
    problem = ds.problems.paper_single(bins=bins, budget=0.01)
    pytest.importorskip("cvxpy", reason="conic is absent: the extra `conic` is not installed")
    tilt = solver(problem, "tilt")
    race = Race(tilt=tilt, conic=solver(problem, "conic"), again=tilt)
    run(race, benchmark)
    assert tilt().status is ds.Status.CERTIFIED
    assert race.best["conic"] > noise(race) * max(race.best["tilt"], race.best["again"])


def test_tilt_grows_about_linearly_with_the_outcomes(benchmark: Any) -> None:
    """Eight times the outcomes cost at most sixteen times the time (iterations vary a little)."""
    small, large = (solver(ds.problems.paper_single(bins=bins, budget=0.01), "tilt") for bins in (1_000, 8_000))
    race = Race(tilt=small, large=large, again=small)
    run(race, benchmark)
    assert race.best["large"] < 16.0 * noise(race) * race.best["tilt"]


def test_judging_costs_less_than_solving(benchmark: Any) -> None:
    problem = ds.problems.paper_single(bins=1_000, budget=0.01)
    answer = ds.solve(problem, "tilt")
    estimator = answer.estimator
    assert estimator is not None
    tilt = solver(problem, "tilt")
    race = Race(
        tilt=tilt,
        judge=lambda: ds.certify(problem, estimator, answer.tilt, answer.multiplier),
        again=tilt,
    )
    run(race, benchmark)
    assert race.best["judge"] * noise(race) < race.best["tilt"]


def test_tilt_is_faster_than_sequential_quadratic_programming(benchmark: Any) -> None:
    problem = ds.problems.paper_single(bins=40, budget=0.01)
    tilt = solver(problem, "tilt")
    race = Race(tilt=tilt, slsqp=solver(problem, "slsqp"), again=tilt)
    run(race, benchmark)
    assert race.best["slsqp"] > noise(race) * max(race.best["tilt"], race.best["again"])


def test_tilt_keeps_up_with_the_simplex_method_at_perfect_privacy(benchmark: Any) -> None:
    """The linear program has one optimum: the brackets of both must meet, and neither is ten times as slow."""
    problem = ds.problems.paper_single(bins=1_000, budget=0.0)
    tilt, highs = solver(problem, "tilt"), solver(problem, "highs")
    race = Race(tilt=tilt, highs=highs, again=tilt)
    run(race, benchmark)
    one, other = tilt().certificate, highs().certificate
    assert one is not None
    assert other is not None
    assert max(one.lower, other.lower) <= min(one.upper, other.upper) + 1e-12
    assert race.best["tilt"] < 10.0 * noise(race) * race.best["highs"]


def test_tilt_is_faster_than_the_dual_iteration(benchmark: Any) -> None:
    problem = ds.problems.paper_single(bins=1_000, budget=0.01)
    tilt = solver(problem, "tilt")
    race = Race(tilt=tilt, dual=solver(problem, "blahut-arimoto"), again=tilt)
    run(race, benchmark)
    assert race.best["dual"] > noise(race) * max(race.best["tilt"], race.best["again"])


def test_streaming_costs_no_more_than_the_matrix(benchmark: Any) -> None:
    """In blocks there is no dense answer to build: at most half as much again as `solve` takes in memory."""
    problem = ds.problems.paper_single(bins=100_000, budget=0.01)
    blocks = ds.BlockProblem.of(problem)
    in_memory = solver(problem, "tilt")
    race = Race(tilt=in_memory, blocks=lambda: ds.solve_blocks(blocks), again=in_memory)
    run(race, benchmark)
    assert race.best["blocks"] < 1.5 * noise(race) * race.best["tilt"]


def test_a_curve_costs_less_than_its_points_alone(benchmark: Any) -> None:
    problem = ds.problems.paper_single(bins=1_000, budget=0.01)
    budgets = [point.budget_nats for point in ds.frontier(problem, points=12).rows]
    alone = [solver(problem.with_budget(budget), "tilt") for budget in budgets]

    def curve() -> None:
        ds.frontier(problem, points=12)

    def fresh() -> None:
        for turn in alone:
            turn()

    race = Race(tilt=curve, fresh=fresh, again=curve)
    run(race, benchmark)
    assert race.best["fresh"] > noise(race) * max(race.best["tilt"], race.best["again"])
