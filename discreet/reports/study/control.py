"""The control: a small solve that is always the same, timed before and after every cell, where the
cell runs.

What slows a cell down on a machine that others use slows the control down too. So it says whether
the time of a cell may be set beside times from elsewhere: `reports.statistics.trials` compares
it with the control of cells that ran alone. Nothing is divided by it, since solvers slow down
differently. The design is that of measuring a reference before and after.
"""

from __future__ import annotations

import statistics
from functools import cache

from discreet.backends.contract import Options
from discreet.backends.run import attempt
from discreet.problems.catalog.paper import paper_single
from discreet.problems.problem import Problem

_RUNS = 21
"""Their median, like that of a cell, leaves out single interruptions; together they take some 20
ms.
"""


def control_seconds() -> float:
    """The median seconds of the solve in this process; imports and first runs do not count."""
    problem = _warm_problem()
    return statistics.median(_seconds(problem) for _ in range(_RUNS))


@cache
def _warm_problem() -> Problem:
    problem = paper_single(bins=64, budget=0.01)
    _seconds(problem)
    return problem


def _seconds(problem: Problem) -> float:
    times = attempt(problem, "tilt", Options(1e-9)).timings
    return times.lower_seconds + times.solve_seconds + times.lift_seconds
