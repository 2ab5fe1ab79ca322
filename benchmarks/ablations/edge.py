"""Rows at the edge of double precision: problems whose masses differ by any power of ten."""

from __future__ import annotations

from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import numpy as np
from ablations.pieces import replaced
from random_problems import edge_problem

import discreet as ds
from discreet.backends.tilt import interior_point, rounds, vertex
from discreet.backends.tilt.newton import Newton
from discreet.backends.tilt.vertex import Vertex
from discreet.problems import Problem

__all__ = ["edge_rows"]

_HARD = (607, 1035, 1779, 1989, 2080, 2310, 3004, 3276, 9788, 10839, 12652, 30162, 31162)  # of some 40,000 seeds


def edge_row(name: str, problems: list[Problem]) -> None:
    """Print one ablation."""
    found = [ds.solve(problem, "tilt", gap=1e-9) for problem in problems]
    gaps = np.array([solution.relative_gap for solution in found])
    iterations = sum(solution.iterations or 0 for solution in found)
    print(f"{name:48} {(gaps <= 1e-9).sum():9} {(gaps <= 1e-6).sum():9} {iterations:10}", flush=True)


def edge_rows(count: int = 500) -> None:
    """Print what each piece brings to problems with very rare outcomes, guesses and private values, drawn and hard ones."""
    problems = [edge_problem(seed) for seed in (*range(count), *_HARD)]
    numpy = SimpleNamespace(**{**vars(np), "flatnonzero": lambda _: np.zeros(0, dtype=np.intp)})
    direction = Newton.direction
    pieces: dict[str, list[tuple[Any, str, Any]]] = {
        "as it is": [],
        "very rare private values are not merged": [
            (rounds, "merge_rare_values", lambda problem, _: (problem, np.arange(problem.n)))
        ],
        "rounding leaves the losses of ties unequal": [(Vertex, "_equal", lambda _, tilt, joint: tilt)],
        "effects of ties are not scaled": [(vertex, "sizes", lambda effect: np.ones(len(effect)))],
        "shares move, and never their logarithms": [(vertex, "np", numpy)],
        "a step may lower the multiplier to nothing": [(interior_point, "_CHEAPER", 1.0)],
        "what is left behind may change any guess's mass": [
            (interior_point, "_costs", lambda model, at, law, room: model.mass / room)
        ],
        "no second-order correction": [(Newton, "direction", lambda newton, target, *_: direction(newton, target))],
    }
    print(f"\n{f'{len(problems)} problems with masses of any size':48} {'gap ≤ 1e-9':>9} {'≤ 1e-6':>8} {'iterations':>10}")
    for name, changes in pieces.items():
        with ExitStack() as stack:
            for change in changes:
                stack.enter_context(replaced(*change))
            edge_row(name, problems)
