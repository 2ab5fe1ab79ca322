"""How every backend scales at perfect privacy, a linear program, with bins and sensors."""

from __future__ import annotations

from typing import Any, ClassVar

import discreet as ds

from . import grid, reach


def _instance(word: str) -> Any:
    """The problem of "bins=64" or "sensors=5"."""
    what, _, count = word.partition("=")
    if what == "bins":
        return ds.problems.paper_single(bins=int(count), budget=0.0)
    return ds.problems.paper_multi(sensors=int(count), budget=0.0)


class _Perfect(grid.Grid):
    """The paper's models at budget 0; an instance is named by the quantity that grows
    and its size.
    """

    params: ClassVar[list[list[Any]]] = [
        reach.backends("qif", "slsqp"),
        ["bins=1000", "bins=10000", "sensors=20"],
    ]
    param_names: ClassVar[list[str]] = ["backend", "instance"]

    def problem(self, size: str) -> Any:
        """paper-single or paper-multi at budget 0."""
        return _instance(size)


class PerfectSteps(_Perfect, grid.Steps):
    """Processor seconds of solving."""


class PerfectAnswers(_Perfect, grid.Answers):
    """Gap and leakage."""


class PerfectLowering(_Perfect, grid.Lowering):
    """Seconds of lowering."""
