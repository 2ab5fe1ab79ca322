"""The control: a small solve that is always the same, timed before and after every cell on the
machine that runs the cell.

Other work on the machine slows down both the cell and the control. The control therefore shows
whether the time of a cell is comparable with times measured elsewhere: `reports.statistics.trials`
compares it with the control of cells that were not shared. Times are not divided by the control,
since solvers slow down by different factors. This is the design of a reference measured before and
after.
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
    """Return the median seconds of the solve in this process, without imports and first runs."""
    problem = _warm_problem()
    return statistics.median(_seconds(problem) for _ in range(_RUNS))


@cache
def _warm_problem() -> Problem:
    problem = paper_single(bins=64, budget=0.01)
    _seconds(problem)
    return problem


def _seconds(problem: Problem) -> float:
    return attempt(problem, "tilt", Options(1e-9)).timings.backend_seconds
