"""How every backend scales with the number of sensors, with which error probability and budget
shrink towards 0.

Outcomes are count vectors. At 100 sensors there are 176,851 of them, and the budget is about 6e-32
nats.
"""

from __future__ import annotations

from typing import Any, ClassVar

import discreet as ds

from . import grid


class _Sensors(grid.Grid):
    """The paper's count vectors; half of the Bayes rule's leakage."""

    params: ClassVar[list[list[Any]]] = [grid.CONSTRAINED, [5, 20, 100]]
    param_names: ClassVar[list[str]] = ["backend", "sensors"]

    def problem(self, size: int) -> Any:
        """paper-multi with that many sensors."""
        return ds.problems.paper_multi(sensors=size, fraction=0.5)


class SensorsSteps(_Sensors, grid.Steps):
    """Processor seconds of solving."""


class SensorsAnswers(_Sensors, grid.Answers):
    """Gap and leakage."""
