"""Rows of a curve, the only ones with a time."""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import numpy as np
from ablations.pieces import instance, replaced

import discreet as ds
from discreet.backends import equations
from discreet.backends.precision import Precision
from discreet.backends.tilt import crossover as crossing
from discreet.backends.tilt import vertex
from discreet.backends.tilt.backend import Tilt
from discreet.problems import Problem

__all__ = ["curve_rows"]


def curve_rows(turns: int = 30) -> None:
    """Print what a point of a curve costs without what is special about one share, and about many
    answers to one problem.
    """

    def by_values(matrix: Any, right: Any) -> Any:
        return np.linalg.lstsq(matrix, right, rcond=Precision.rank)[0]

    def as_any(matrix: Any, borders: Any, right: Any, last: Any) -> Any:
        nothing = np.zeros((last.size, last.size))
        whole = np.block([[matrix, borders.T], [borders, nothing]])
        return equations.solve_equilibrated(whole, np.concatenate([right, last]))

    vectors = [(vertex, "least_norm", by_values), (equations, "least_norm", by_values)]
    pieces: dict[str, list[tuple[Any, str, Any]]] = {
        "as it is": [],
        "vectors by singular values": vectors,
        "and one share as any number of them": [*vectors, (vertex, "solve_bordered", as_any)],
        "every point from nothing": [(Tilt, "continue_from", lambda *_: None)],
        "rows are split for every answer": [(Problem, "rows", None)],
        "a ratio test that looks at all at first": [
            (crossing, "math", SimpleNamespace(**{**vars(math), "isqrt": lambda _: 1}))
        ],
    }
    problem = instance("paper-single:bins=10000").with_budget(0.01)
    least = dict.fromkeys(pieces, math.inf)
    for _ in range(turns):  # in turn, as a machine has faster and slower minutes
        for name, changes in pieces.items():
            with ExitStack() as stack:
                for change in changes:
                    stack.enter_context(replaced(*change))
                started = time.process_time()
                ds.frontier(problem, points=50)
                least[name] = min(least[name], time.process_time() - started)
    print(f"\n{'a curve of 50 points, N = 10,000':44} {'ms a point':>10}")
    for name, seconds in least.items():
        print(f"{name:44} {seconds * 20:10.3f}", flush=True)
