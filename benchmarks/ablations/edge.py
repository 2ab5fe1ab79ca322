"""Rows at the edge of double precision: problems whose masses differ by any power of ten."""

from __future__ import annotations

from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import numpy as np
from ablations.pieces import replaced
from random_problems import edge_problem
from scipy.linalg import null_space

import discreet as ds
from discreet.backends.precision import Precision
from discreet.backends.tilt import crossover as crossing
from discreet.backends.tilt import interior_point, model, newton, relation, vertex
from discreet.backends.tilt.newton import Newton, System
from discreet.backends.tilt.vertex import Vertex
from discreet.problems import Problem

__all__ = ["edge_rows"]

_HARD = (
    *(
        607,
        1035,
        1111,
        1779,
        1796,
        1989,
        2080,
        2310,
        2353,
        2691,
        3004,
        3276,
        4353,
        4700,
        4871,
        6773,
        7216,
        9118,
        9553,
    ),
    *(
        9788,
        10446,
        10839,
        12652,
        30162,
        31162,
        237883494,
        495913099,
        813838036,
        836572761,
        957355579,
        1366132332,
    ),
    *(
        1447019021,
        1588507201,
        1648441034,
        1670718745,
        1820368493,
        1828579971,
        2007112152,
        2244059145,
        2390590655,
    ),
    *(2553051812, 3108013222, 3211931499, 3604288272, 4007220137, 4105377909),
)  # of some 100,000 seeds


class Incomparable(float):
    """A number that is never below another one, so that no caller sees it fall."""

    def __lt__(self, _: object) -> bool:
        return False


class FirstOfArrays:
    """`np.minimum`, but of two arrays the first."""

    reduce = np.minimum.reduce

    def __call__(self, one: Any, other: Any) -> Any:
        return one if np.ndim(one) else np.minimum(one, other)


def unscaled(system: System, matrix: Any, *_: Any, factorise: Any = System._factorise) -> None:
    """The linear system in the units that it is stated in."""
    factorise(system, matrix, np.ones(1), np.ones(1))


def edge_row(name: str, problems: list[Problem]) -> None:
    """Print the table of this ablation."""
    found = [ds.solve(problem, "tilt", gap=1e-9) for problem in problems]
    gaps = np.array([solution.relative_gap for solution in found])
    iterations = sum(solution.iterations or 0 for solution in found)
    print(
        f"{name:48} {(gaps <= 1e-9).sum():9} {(gaps <= 1e-6).sum():9} {iterations:10}", flush=True
    )


def complementarity(problem: Problem, at: Any, precision: Precision) -> float:
    """The width of a vertex but for what its tilts lack of being feasible, and its leakage of the
    budget.
    """
    losses = problem.loss + at.tilt @ problem.p_xz
    lost = float((at.columns * problem.loss).sum())
    return float((at.columns * (losses - losses.min(axis=0))).sum()) / max(lost, precision.nonzero)


def edge_rows(count: int = 500) -> None:
    """Print what each piece brings to problems with very rare outcomes, guesses and private values,
    drawn and hard ones.
    """
    problems = [edge_problem(seed) for seed in (*range(count), *_HARD)]
    direction = Newton.direction
    products = interior_point._outcome_products
    costs = interior_point._costs

    def of_all(lowered: Any, at: Any, law: Any, _: float) -> Any:
        return costs(lowered, at, law, interior_point._ALLOWED * products(lowered, at))

    undrawn = SimpleNamespace(**{**vars(np), "minimum": FirstOfArrays()})
    pieces: dict[str, list[tuple[Any, str, Any]]] = {
        "as it is": [],
        "coordinates of private values are mixed": [
            (model, "_basis", lambda p_x: null_space(np.sqrt(p_x)[None]) / np.sqrt(p_x)[:, None])
        ],
        "at budget 0 coordinates as at others": [
            (model, "_independent", lambda p_x, *_: 2 * (model._basis(p_x),))
        ],
        "rounding leaves the losses of ties unequal": [
            (Vertex, "_equal", lambda _, tilt, joint: tilt)
        ],
        "effects of ties are not scaled": [(vertex, "sizes", lambda effect: np.ones(len(effect)))],
        "a vertex counts by complementarity only": [(crossing, "proven_width", complementarity)],
        "coordinates are always about the prior": [(relation, "_FAR", -1e300)],
        "the reference is the guess of the largest mass": [
            (newton, "_reference", lambda _, law: int(law.mass.argmax()))
        ],
        "the linear system is not scaled": [(System, "_factorise", unscaled)],
        "the start draws guesses at any price": [(interior_point, "np", undrawn)],
        "a step may leak any amount": [(interior_point, "_LEAKS", 1e300)],
        "a step may leak five times the budget": [(interior_point, "_LEAKS", 5.0)],
        "what is left behind may change any guess's mass": [
            (interior_point, "_costs", lambda model, at, law, room: model.mass / room)
        ],
        "what is left behind may err as all products do": [(interior_point, "_costs", of_all)],
        "going on only while the bracket narrows": [
            (interior_point, "_outcome_products", lambda *at: Incomparable(products(*at)))
        ],
        "no second-order correction": [
            (Newton, "direction", lambda newton, target, *_: direction(newton, target))
        ],
    }
    print(
        f"\n{f'{len(problems)} problems with masses of any size':48} {'gap ≤ 1e-9':>9} "
        f"{'≤ 1e-6':>8} {'iterations':>10}"
    )
    for name, changes in pieces.items():
        with ExitStack() as stack:
            for change in changes:
                stack.enter_context(replaced(*change))
            edge_row(name, problems)
