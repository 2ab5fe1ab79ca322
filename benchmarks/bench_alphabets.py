"""How every backend scales with the alphabets of the private variable and the guess: n = m = 2, 4
and 8.
"""

from __future__ import annotations

from typing import Any, ClassVar

import discreet as ds

from . import grid, reach


class _Alphabets(grid.Grid):
    """A random joint with zeros, 200 outcomes, seed 0; half of the Bayes rule's leakage."""

    params: ClassVar[list[list[Any]]] = [
        reach.backends(*reach.LINEAR, "slsqp"),
        [2, 4, 8],
    ]
    param_names: ClassVar[list[str]] = ["backend", "values"]

    def problem(self, size: int) -> Any:
        """dirichlet with n = m = size."""
        return ds.problems.dirichlet(n=size, m=size, N=200, seed=0, fraction=0.5)


class AlphabetsSteps(_Alphabets, grid.Steps):
    """Processor seconds of solving."""


class AlphabetsAnswers(_Alphabets, grid.Answers):
    """Gap and leakage."""
