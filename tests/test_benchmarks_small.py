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
    tilt = solver(problem, "tilt")
    race = Race(
        tilt=tilt,
        judge=lambda: ds.certify(problem, answer.estimator, answer.tilt, answer.multiplier),
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
