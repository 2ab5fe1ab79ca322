"""From a point that is nearly optimal to the vertex next to it: deterministic off the ties, conditions met to rounding.

Source: discreet, docs/theory.md (at most (m − 1) n ties; finishing by ties).
"""

from __future__ import annotations

import numpy as np

from discreet.backends.precision import Precision
from discreet.backends.tilt.finish import finish, relative_width
from discreet.backends.tilt.pivots import Pivots
from discreet.backends.tilt.point import Point
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["crossover"]


def crossover(
    problem: Problem, tilt: Array, multiplier: float, precision: Precision, columns: Array | None = None
) -> tuple[Point, float] | None:
    """The vertex next to duals that are nearly known, and the relative width that it proves, up to rounding.

    tilt [m, n], multiplier: μ (inf at budget 0). columns: an interior estimator [m, N], where one is known: it tells which
    outcomes hesitate. None if no consistent vertex is found within a bounded number of pivots. Outcomes and private values
    need positive probability; the budget must be 0 or positive, finite and binding.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is nearly known may be far off
        if columns is not None:
            found = finish(problem, columns, tilt, multiplier)
        else:
            found = Pivots(problem, tilt).run(multiplier, 12)
        if found is None:
            return None
        return Point(found.estimator(problem.m), found.tilt, found.multiplier), relative_width(problem, found)
