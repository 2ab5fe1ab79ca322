"""How long every backend takes under each measure of leakage on one random joint, and with several
secrets on a census.
"""

from __future__ import annotations

from typing import Any, ClassVar

import discreet as ds

from . import grid, reach

MEASURES = (
    "chi-square",
    "sibson:alpha=2",
    "total-variation",
    "maximal-leakage",
    "local-differential-privacy",
    "pointwise-information",
    "conditional-mutual-information",
)
"""One for each other cone and each quantity that a budget bounds; the other suites have mutual
information, and `by_measure.py` has all measures.
"""


class _Measures(grid.Grid):
    """A random joint without zeros, 200 outcomes, or a census; half of what the Bayes rule leaks by
    the measure.
    """

    params: ClassVar[list[list[Any]]] = [
        reach.backends("slsqp", "trust-constr"),
        [*MEASURES, "secrets=2"],
    ]
    param_names: ClassVar[list[str]] = ["backend", "constraint"]

    def problem(self, size: str) -> Any:
        """dirichlet with n = m = 3, or census; skipped by versions of discreet that know mutual
        information only.
        """
        try:
            if size == "secrets=2":
                return ds.problems.census(secrets=2, fraction=0.5)
            return ds.problems.dirichlet(n=3, m=3, N=200, sparsity=0.0, fraction=0.5, measure=size)
        except (TypeError, AttributeError):
            raise grid.skipped(
                "this version of discreet knows mutual information of one secret only"
            ) from None


class MeasuresSteps(_Measures, grid.Steps):
    """Processor seconds of solving."""


class MeasuresAnswers(_Measures, grid.Answers):
    """Gap and leakage."""


class MeasuresJudging(_Measures, grid.Judging):
    """Seconds of certifying."""

    params: ClassVar[list[list[Any]]] = [["tilt"], [*MEASURES, "secrets=2"]]
