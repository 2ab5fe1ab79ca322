"""How every backend scales with the bins of a single sensor: 64 to 100,000 outcomes."""

from __future__ import annotations

from typing import Any, ClassVar

import discreet as ds

from . import grid


class _Bins(grid.Grid):
    """The paper's single sensor; half of the Bayes rule's leakage."""

    params: ClassVar[list[list[Any]]] = [grid.CONSTRAINED, [64, 1_000, 10_000, 100_000]]
    param_names: ClassVar[list[str]] = ["backend", "bins"]

    def problem(self, size: int) -> Any:
        """paper-single with that many bins."""
        return ds.problems.paper_single(bins=size, fraction=0.5)


class BinsSteps(_Bins, grid.Steps):
    """Processor seconds of solving."""


class BinsAnswers(_Bins, grid.Answers):
    """Gap and leakage."""


class BinsLowering(_Bins, grid.Lowering):
    """Seconds of lowering."""


class BinsJudging(_Bins, grid.Judging):
    """Seconds of certifying."""

    params: ClassVar[list[list[Any]]] = [["tilt"], [1_000, 10_000, 100_000]]


class BinsMemory(_Bins, grid.Memory):
    """Peak memory, where the interpreter is not most of it."""

    params: ClassVar[list[list[Any]]] = [
        ["blahut-arimoto", "conic", "tilt", "clarabel"],
        [100_000],
    ]
