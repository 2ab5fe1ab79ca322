"""How long every backend takes under each measure of leakage on one random joint, and with several
secrets on a census.
"""

from __future__ import annotations

from typing import Any, ClassVar

import discreet as ds

from . import grid

MEASURES = (
    "mutual-information",
    "chi-square",
    "sibson:alpha=2",
    "total-variation",
    "maximal-leakage",
    "local-differential-privacy",
    "pointwise-information",
    "conditional-mutual-information",
)
"""One for each cone and each quantity that a budget bounds; `by_measure.py` has all measures."""

SECRETS = (2,)


class _Measures(grid.Grid):
    """A random joint without zeros, 200 outcomes, or a census; half of what the Bayes rule leaks by
    the measure.
    """

    params: ClassVar[list[list[Any]]] = [
        grid.BACKENDS,
        [*MEASURES, *(f"secrets={count}" for count in SECRETS)],
    ]
    param_names: ClassVar[list[str]] = ["backend", "constraint"]

    def problem(self, size: str) -> Any:
        """dirichlet with n = m = 3, or census; skipped by versions of discreet that know mutual
        information only.
        """
        word, _, count = size.partition("=")
        given = {} if size == "mutual-information" else {"measure": size}
        try:
            if word == "secrets":
                return ds.problems.census(secrets=int(count), fraction=0.5)
            return ds.problems.dirichlet(n=3, m=3, N=200, sparsity=0.0, fraction=0.5, **given)
        except (TypeError, AttributeError):
            raise grid.skipped(
                "this version of discreet knows mutual information of one secret only"
            ) from None


class MeasuresSteps(_Measures, grid.Steps):
    """Seconds of lowering and solving."""


class MeasuresAnswers(_Measures, grid.Answers):
    """Gap, leakage, and seconds of certifying."""
