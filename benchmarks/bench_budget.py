"""How every backend depends on the budget, from perfect privacy and 1e-10 nats to more than the
Bayes rule leaks.
"""

from __future__ import annotations

from typing import Any, ClassVar

import discreet as ds

from . import grid, reach

SLACK = 1.0
"""A budget in nats that does not bind: the Bayes rule leaks far less (0.0124 nats)."""


class _Budget(grid.Grid):
    """The paper's single sensor with 64 bins."""

    params: ClassVar[list[list[Any]]] = [
        reach.backends("qif"),
        [0.0, 1e-10, 1e-6, 1e-2, SLACK],
    ]
    param_names: ClassVar[list[str]] = ["backend", "budget"]

    def problem(self, size: float) -> Any:
        """paper-single with that budget in nats."""
        return ds.problems.paper_single(bins=64, budget=size)


class BudgetSteps(_Budget, grid.Steps):
    """Seconds of lowering and solving."""


class BudgetAnswers(_Budget, grid.Answers):
    """Gap, leakage, and seconds of certifying."""
