"""Timed ratios, as a record: how many times as fast one way is as another, in one run on one
machine.

    python -m pytest benchmarks/ratios

Nothing here passes or fails by a clock: the tests assert only that everything ran and was
certified. The ways that are compared take turns, so that a slow moment of the machine meets all of
them, and the fastest turn of each counts. The first way takes two turns a round; the ratio of those
two is the noise of the run, and no smaller ratio means anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import discreet as ds

ROUNDS = 7


def compare(benchmark: Any, **ways: Callable[[], Any]) -> None:
    """Let the ways take turns, and leave their fastest turns, the noise and the ratios to the first
    in the record.
    """
    first = next(iter(ways))
    turns = {**ways, "again": ways[first]}
    fastest = dict.fromkeys(turns, float("inf"))

    def one_round() -> None:
        for name, way in turns.items():
            started = time.perf_counter()
            way()
            fastest[name] = min(fastest[name], time.perf_counter() - started)

    benchmark.pedantic(one_round, rounds=ROUNDS, iterations=1, warmup_rounds=1)
    again = fastest.pop("again")
    benchmark.extra_info["seconds"] = fastest
    benchmark.extra_info["noise"] = max(again, fastest[first]) / min(again, fastest[first])
    benchmark.extra_info["ratios"] = {
        name: seconds / fastest[first] for name, seconds in fastest.items() if name != first
    }


def solver(problem: ds.Problem, backend: str) -> Callable[[], ds.Solution]:
    """A turn: solve and judge."""

    def turn() -> ds.Solution:
        solution = ds.solve(problem, backend)
        assert solution.certificate is not None, solution.message
        return solution

    return turn


@pytest.mark.parametrize("bins", [64, 1_000, 10_000])
def test_tilt_and_the_cone_program(bins: int, benchmark: Any) -> None:
    problem = ds.problems.paper_single(bins=bins, budget=0.01)
    pytest.importorskip("cvxpy", reason="conic is absent: the extra `conic` is not installed")
    compare(benchmark, tilt=solver(problem, "tilt"), conic=solver(problem, "conic"))


def test_tilt_and_sequential_quadratic_programming(benchmark: Any) -> None:
    problem = ds.problems.paper_single(bins=40, budget=0.01)
    compare(benchmark, tilt=solver(problem, "tilt"), slsqp=solver(problem, "slsqp"))


def test_tilt_and_the_simplex_method_at_perfect_privacy(benchmark: Any) -> None:
    problem = ds.problems.paper_single(bins=1_000, budget=0.0)
    compare(benchmark, tilt=solver(problem, "tilt"), highs=solver(problem, "highs"))


def test_tilt_and_the_dual_iteration(benchmark: Any) -> None:
    problem = ds.problems.paper_single(bins=1_000, budget=0.01)
    compare(
        benchmark, tilt=solver(problem, "tilt"), blahut_arimoto=solver(problem, "blahut-arimoto")
    )


def test_eight_times_the_outcomes(benchmark: Any) -> None:
    small, large = (
        solver(ds.problems.paper_single(bins=bins, budget=0.01), "tilt") for bins in (1_000, 8_000)
    )
    compare(benchmark, small=small, large=large)


def test_solving_and_judging(benchmark: Any) -> None:
    problem = ds.problems.paper_single(bins=1_000, budget=0.01)
    answer = ds.solve(problem, "tilt")
    assert answer.estimator is not None
    estimator = answer.estimator
    compare(
        benchmark,
        solve=solver(problem, "tilt"),
        judge=lambda: ds.certify(problem, estimator, answer.tilt, answer.multiplier),
    )


def test_a_curve_and_its_points_alone(benchmark: Any) -> None:
    problem = ds.problems.paper_single(bins=1_000, budget=0.01)
    budgets = [point.budget for point in ds.frontier(problem, points=12).rows]
    alone = [solver(problem.with_budget(budget), "tilt") for budget in budgets]
    compare(
        benchmark,
        curve=lambda: ds.frontier(problem, points=12),
        points=lambda: [turn() for turn in alone],
    )
