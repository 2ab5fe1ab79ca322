"""Rows of small problems: the interior point, the crossover, and when the iteration asks for a
vertex.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from ablations.pieces import INSTANCES, Ablated, instance, replaced

import discreet as ds
from discreet.backends.precision import Precision
from discreet.backends.tilt import crossover as crossing
from discreet.backends.tilt import interior_point, newton, program, rounds, vertex
from discreet.backends.tilt.interior_point import solve_interior
from discreet.backends.tilt.model import Model, Point, model_of
from discreet.backends.tilt.newton import Newton, System
from discreet.backends.tilt.vertex import Vertex
from discreet.measures.registry import LINEAR
from discreet.problems import Problem, reduce

__all__ = ["crossover_rows", "interior_rows", "linear_rows", "tries_rows"]

_GAP = 2e-10  # a vertex of this relative width ends the iteration


def iterates(problem: Problem) -> list[Point]:
    """Every iterate of the interior point, if it never gets a vertex, and the best again."""
    seen: list[Point] = []

    def noted(model: Model, here: Any, *rest: Any, advance: Any = interior_point._advance) -> Any:
        seen.append(interior_point._point(model, here.at))
        return advance(model, here, *rest)

    with replaced(interior_point, "_advance", noted):
        best, _ = solve_interior(
            model_of(problem, Precision.of(problem, 1e-9)), gap=1e-10, max_iterations=100
        )
    return [*seen, best]


def near_tilts(problem: Problem) -> Iterator[tuple[Problem, Any, float]]:
    """The optimal duals with relative errors between 1e-6 and 0.5."""
    best = ds.solve(problem, "tilt")
    rng = np.random.default_rng(4)
    assert best.tilt is not None
    multiplier = math.inf if best.multiplier is None else best.multiplier
    for size in np.geomspace(1e-6, 0.5, 30):
        yield (
            problem,
            best.tilt * (1.0 + size * rng.normal(size=best.tilt.shape)),
            np.array([(1.0 + size) * multiplier]),
        )


def crossover_row(
    name: str, paths: list[tuple[Problem, list[Point]]], tilts: list[tuple[Problem, Any, float]]
) -> None:
    """Print the results of the crossover from all iterates and tilts."""
    ended = first = never = 0
    for problem, path in paths:
        precision = Precision.of(problem, 1e-9)
        found = (
            crossing.crossover(problem, at.tilt, at.multipliers, precision, at.columns, _GAP)
            for at in path
        )
        good = [place for place, vertex in enumerate(found) if vertex is not None]
        ended = ended + len(good)
        first = first + (good[0] if good else len(path))
        never = never + (not good)
    alone = (
        crossing.crossover(each[0], *each[1:], Precision.of(each[0], 1e-9), gap=_GAP)
        for each in tilts
    )
    count = sum(vertex is not None for vertex in alone)
    print(f"{name:34s} {ended:5d} {first:5d} {never:5d} {count:5d} of {len(tilts)}", flush=True)


def clipped_start(vertex: Vertex, deviation: Any, near: Any = Vertex.columns_near) -> Any:
    """Shares outside [0, 1] at the start are moved inside, so no tie is dropped before the system
    is solved.
    """
    found = near(vertex, deviation)
    return (
        None if found is None else np.clip(found, 0.0, None) / np.clip(found, 0.0, None).sum(axis=0)
    )


def multiplied(factor: float, start: Any = interior_point._start) -> Any:
    """The start of the interior point with its multiplier and tilt times a factor."""

    def other(model: Model) -> Any:
        at, law = start(model)
        tilt = factor * at.tilt
        unit = min(1.0, model.constant_error)
        inner = replace(at.inner, unknowns=factor * at.inner.unknowns)
        slack = interior_point._slack(model, tilt, unit)
        return replace(at, tilt=tilt, inner=inner, slack=slack), law

    return other


def alike(model: Model, start: Any = interior_point._start) -> Any:
    """The start of the interior point with one column for all outcomes, which leaks nothing."""
    at, _ = start(model)
    same = np.full_like(at.estimator, 1.0 / at.estimator.shape[1])
    inner = replace(at.inner, slack=model.chart.shared_levels)
    return replace(at, estimator=same, inner=inner), model.law_of(same)


def unrefined(
    system: System, right: Any, times: int = 1, refined: Any = System._solve_refined
) -> Any:
    """The solution of the linear system as its factors give it."""
    return refined(system, right, 0)


def interior_row(name: str, models: list[Model]) -> None:
    """Print the table of this ablation."""
    endings = [solve_interior(model, gap=1e-9, max_iterations=100)[1] for model in models]
    iterations = sum(ending.iterations for ending in endings)
    missed = sum(not ending.optimal for ending in endings)
    print(f"{name:40} {iterations:10} {missed:10} of {len(endings)}", flush=True)


def interior_rows() -> None:
    """Print the ablations of the interior point: small problems, tiny budgets, many guesses with
    masses over ten decades.
    """
    shapes = ("n=2,m=10", "n=2,m=30", "n=5,m=5", "n=10,m=10")
    tiny = [
        f"{name}:fraction={share}"
        for name in ("x-equals-y", "road", "zero-mass")
        for share in (1e-3, 1e-6, 1e-9)
    ]
    tiny += [f"dirichlet:n=2,m=2,N=45,seed={seed},fraction=0.001" for seed in range(20)]
    tiny += [
        f"dirichlet:n={k},m={k},N={k},seed={seed},fraction=1e-6"
        for k in (3, 5, 6)
        for seed in range(10)
    ]
    texts = (
        INSTANCES
        + tiny
        + [
            f"weighted-mixture:{shape},N=3000,{budget}"
            for shape in shapes
            for budget in ("fraction=0.3", "budget=0")
        ]
    )
    texts += [
        f"weighted-mixture:n=2,m=50,N=20000,{budget}" for budget in ("fraction=0.3", "budget=0")
    ]
    problems = [reduce(instance(text)).problem for text in texts]
    models = [model_of(problem, Precision.of(problem, 1e-9)) for problem in problems]
    advance = interior_point._advance

    def as_one(model: Model, here: Any, path: newton.Targets, *others: Any) -> Any:
        budgets = np.minimum(1.0, 1e300 * path.inner)
        return advance(model, here, replace(path, inner=budgets), *others)

    print(f"{'the interior point':40} {'iterations':>10} {'not ended':>10}")
    interior_row("as it is", models)
    for name, owner, attribute, value in (
        ("no outcome may be left behind", interior_point, "_ALLOWED", 1e-200),
        (
            "masses of guesses are not anticipated",
            Newton,
            "anticipate",
            lambda newton, step, length: None,
        ),
        ("steps of nine tenths to the end", interior_point, "_TO_BOUNDARY", (0.9, 0.9)),
        ("no floor of the products", Precision, "own_gap", 0.0),
        ("a first slack of a hundredth", interior_point, "_FIRST_SLACK", (0.01, 0.01)),
        ("a hundredth of the error is allowed", interior_point, "_ALLOWED", 0.01),
        ("ten times the error is allowed", interior_point, "_ALLOWED", 1.0),
        ("masses are anticipated to a tenth only", newton, "_SMALLEST_GROWTH", 0.1),
        ("a first multiplier three times as large", interior_point, "_start", multiplied(3.0)),
        ("a first multiplier a third as large", interior_point, "_start", multiplied(1.0 / 3.0)),
        ("the same column for all at the start", interior_point, "_start", alike),
        ("the budget's product is as one outcome's", interior_point, "_advance", as_one),
        ("no refinement of the linear system", System, "_solve_refined", unrefined),
        ("half the patience", interior_point, "_PATIENCE", 7),
    ):
        with replaced(owner, attribute, value):
            interior_row(name, models)
    interior_row(
        "the same barrier for rare outcomes",
        [replace(each, barrier=np.ones_like(each.barrier)) for each in models],
    )


def crossover_rows() -> None:
    """Print the ablations of the crossover."""
    problems = [reduce(instance(text)).problem for text in INSTANCES]
    paths = [(problem, iterates(problem)) for problem in problems]
    single = ds.problems.paper_single(bins=300)
    tilts = [
        case
        for share in (1e-3, 0.05, 0.4, 0.8)
        for case in near_tilts(single.with_budget(share * single.bayes_leakage))
    ]
    for text in ("n=3,m=3", "n=4,m=4", "n=2,m=5,N=300", "n=5,m=2,N=300"):
        for budget in ("fraction=0.1", "budget=0"):
            tilts += near_tilts(instance(f"dirichlet:{text},{budget}"))
    print(f"\n{'the crossover without':34s} ended first never from only a tilt")
    crossover_row("(nothing)", paths, tilts)
    for piece in (
        "a law that the tilt implies",
        "more than one tie from a tilt",
        "a direction for each further tie",
        "ties of the interior point",
        "ties of what changes twice",
        "going on where nothing is solved",
        "entering of other ties",
    ):
        with replaced(Ablated, "without", piece), replaced(crossing, "_ActiveSet", Ablated):
            crossover_row(piece, paths, tilts)
    unscaled_law = SimpleNamespace(**{**vars(math), "sqrt": lambda share: float(share > 0.0)})
    with replaced(crossing, "math", unscaled_law):
        crossover_row("a law that leaks the budget", paths, tilts)
    with replaced(Vertex, "columns_near", clipped_start):
        crossover_row("leaving before a system is solved", paths, tilts)
    for pivots in (2, 4, 16):
        with replaced(crossing, "_PIVOTS", pivots):
            crossover_row(f"({pivots} pivots instead of 8)", paths, tilts)
    for steps in (6, 24):
        with replaced(vertex, "_STEPS", steps):
            crossover_row(f"({steps} steps for a vertex, not 14)", paths, tilts)


def always(*_: Any) -> bool:
    """Ask for a vertex whatever the iterate."""
    return True


def never(*_: Any) -> bool:
    """Return False: no vertex is requested."""
    return False


def tries_row(name: str, problems: list[Problem]) -> None:
    """Print one ablation: crossovers called and iterations until all problems are solved."""
    called = 0
    plain = rounds.crossover

    def counted(*given: Any) -> Any:
        nonlocal called
        called += 1
        return plain(*given)

    with replaced(rounds, "crossover", counted):
        iterations = sum(
            ds.solve(problem, "tilt", gap=1e-9).iterations or 0 for problem in problems
        )
    print(f"{name:40} {called:10} {iterations:10}", flush=True)


def tries_rows() -> None:
    """Print the ablations of the moments at which the iteration asks for a vertex."""
    problems = [instance(text) for text in INSTANCES]
    print(f"\n{'crossovers on the way':40} {'called':>10} {'iterations':>10}")
    tries_row("as it is", problems)
    asked: tuple[tuple[str, dict[str, Callable[..., bool]]], ...] = (
        ("at the start and the first iterate", {"_few_ties": always, "_worth_a_try": always}),
        ("only at the end", {"_few_ties": never, "_worth_a_try": never}),
        ("not from the start", {"_few_ties": never}),
        ("from the start of all", {"_few_ties": always}),
    )
    for name, changes in asked:
        with ExitStack() as stack:
            for attribute, when in changes.items():
                stack.enter_context(replaced(interior_point, attribute, when))
            tries_row(name, problems)
    for factor in (0.01, 0.1, 10.0, math.inf):
        with replaced(interior_point, "_NARROW", factor * interior_point._NARROW):
            tries_row(f"in a bracket of {factor:g} times the width", problems)


def linear_rows() -> None:
    """Print from where the small linear programs of linear measures start, how many it takes, and
    how long.
    """
    print(f"\n{'linear measures':60} {'programs':>10} {'ms':>8} {'vertices':>10}")
    measures = sorted(LINEAR - {"g-leakage"})
    for values, outcomes in ((2, 100), (3, 300), (5, 300), (3, 2_000), (5, 2_000), (4, 20_000)):
        size: dict[str, Any] = {"n": values, "m": values, "N": outcomes}
        problems = [
            reduce(ds.problems.dirichlet(**size, fraction=share, measure=measure)).problem
            for measure in measures
            for share in (0.5, 0.05)
            # Of which the Bayes rule may leak without bound.
            if measure != "local-differential-privacy"
        ]
        size_of = f"n = m = {values}, N = {outcomes:,}"
        with replaced(rounds, "is_linear", lambda problem: False):
            linear_row(f"from the interior point, {size_of}", problems, None)
        with replaced(program, "_SHARED", 0):
            linear_row(f"from no tilt, without shares, {size_of}", problems, False)
        with replaced(program, "_THINNED", math.inf):
            linear_row(f"from no tilt, all at once, {size_of}", problems, True)
        with replaced(program, "_NEARBY", 1):
            linear_row(f"from no tilt, all next to that of few, {size_of}", problems, True)
        linear_row(f"from no tilt, {size_of}", problems, True)


def linear_row(name: str, problems: list[Problem], far: bool | None) -> None:
    """Print how many programs are solved, the processor time of a problem, and how many vertices
    are found.

    far: of `sifted`; None for the interior point with its crossover.
    """
    solved = 0
    found = 0
    plain = program._refine_program

    def counted(*program: Any) -> Any:
        nonlocal solved
        solved += 1
        return plain(*program)

    started = time.process_time()
    with replaced(program, "_refine_program", counted):
        for problem in problems:
            precision = Precision.of(problem, 1e-9)
            start = np.zeros((problem.m, problem.n))
            if far is None:
                found += rounds.solve_whole(problem, precision, _GAP, rounds.WorkLimits())[
                    1
                ].optimal
            else:
                found += (
                    program.solve_by_sifting(problem, start, precision, gap=_GAP, far=far)
                    is not None
                )
    taken = 1e3 * (time.process_time() - started) / len(problems)
    print(f"{name:60} {solved:10} {taken:8.1f} {found:10} of {len(problems)}", flush=True)
