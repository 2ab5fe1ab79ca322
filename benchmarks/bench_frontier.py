"""What the whole privacy–utility curve costs with every backend, and how narrow its certified bracket gets.

A curve is many solves, so its limits in `reach.toml` are its own. The steps are not timed apart: points of one model share
work, and that sharing is what is measured.
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import discreet as ds

from . import grid, reach

WIDTH = 0.01
"""Share of the curve's height that its bracket may be wide."""

MOST_POINTS = 40


class Frontier:
    """The paper's single sensor; the curve from perfect privacy to the Bayes rule."""

    params: ClassVar[list[list[Any]]] = [grid.BACKENDS, [4, 64, 1_000, 10_000]]
    param_names: ClassVar[list[str]] = ["backend", "bins"]
    timeout = 4 * grid.LIMIT_SECONDS
    number = 1
    repeat = (2, 5, 5.0)
    warmup_time = 0.0

    def setup(self, backend: str, bins: int) -> None:
        """Build the model; skip a backend that does not serve every budget of the curve."""
        grid.skip_if(reach.absence(backend))
        self.instance = ds.problems.paper_single(bins=bins, fraction=0.5)
        for budget in (self.instance.budget, 0.0):
            grid.skip_if(reach.refusal("frontier", backend, ds.problems.paper_single(bins=bins, budget=budget)))
            grid.warm_up(backend, budget)

    def curve(self, backend: str) -> Any:
        """The curve; a point without an answer is a failure."""
        found = ds.frontier(
            self.instance,
            backend=backend,
            width=WIDTH,
            points=MOST_POINTS,
            gap=grid.TARGET_GAP,
            time_limit=grid.LIMIT_SECONDS,
        )
        broken = [row for row in found.rows if row.status in (ds.Status.FAILED, ds.Status.TIMED_OUT)]
        if broken:
            print(f"{len(broken)} of {len(found.rows)} points have no answer", file=sys.stderr)
            raise RuntimeError(f"{backend}: {broken[0].status.value} at budget {broken[0].budget_nats:g} nats")
        return found

    def time_curve(self, backend: str, bins: int) -> None:
        """Seconds until the bracket is narrow enough, or there are 40 points."""
        self.curve(backend)

    def track_width_over_target(self, backend: str, bins: int) -> float:
        """Widest place of the bracket ÷ what was asked, at least 1."""
        return max(1.0, float(self.curve(backend).width) / WIDTH)

    def track_points(self, backend: str, bins: int) -> int:
        """Budgets solved."""
        return len(self.curve(backend).rows)

    track_width_over_target.unit = "× target"  # type: ignore[attr-defined]
    track_points.unit = "points"  # type: ignore[attr-defined]
