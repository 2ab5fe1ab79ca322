"""How every backend depends on a positive budget, from 1e-10 nats to more than the Bayes rule
leaks.
"""

from __future__ import annotations

from typing import Any, ClassVar

import discreet as ds

from . import grid

SLACK = 1.0
"""A budget in nats that does not bind: the Bayes rule leaks far less (0.0124 nats)."""


class _Budget(grid.Grid):
    """The paper's single sensor with 64 bins."""

    params: ClassVar[list[list[Any]]] = [grid.CONSTRAINED, [1e-10, 1e-6, 1e-2, SLACK]]
    param_names: ClassVar[list[str]] = ["backend", "budget"]

    def problem(self, size: float) -> Any:
        """paper-single with that budget in nats."""
        return ds.problems.paper_single(bins=64, budget=size)


class BudgetSteps(_Budget, grid.Steps):
    """Processor seconds of solving."""


class BudgetAnswers(_Budget, grid.Answers):
    """Gap and leakage."""
