"""Cost and accuracy of the whole privacy–utility curve with every backend.

A curve takes many solves, so a backend states a separate reach for curves. Points of one model
share work, and the benchmark includes that sharing. So the steps are not timed separately. All
`track_` benchmarks read their numbers from one curve.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, ClassVar

import discreet as ds

from . import grid, reach

WIDTH = 0.01
"""Width of the bracket to reach, as a share of the curve's height."""

MOST_POINTS = 40


class _Curves:
    """The paper's single sensor; the curve from perfect privacy to the Bayes rule."""

    params: ClassVar[list[list[Any]]] = [grid.CONSTRAINED, [64, 1_000]]
    param_names: ClassVar[list[str]] = ["backend", "bins"]
    version = "1"
    timeout = 4 * grid.LIMIT_SECONDS
    number = 1
    repeat = (2, 5, 5.0)
    warmup_time = 0.0

    def prepare(self, backend: str, bins: int) -> None:
        """Build the model; skip a backend that does not serve every budget of the curve."""
        grid.skip_if(reach.unknown(backend))
        self.instance = ds.problems.paper_single(bins=bins, fraction=0.5)
        for problem in (self.instance, ds.problems.paper_single(bins=bins, budget=0.0)):
            grid.skip_if(reach.refusal(backend, problem, curve=True) or reach.absence(backend))
            grid.warm_up(backend, problem.budget)

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
        broken = [
            row for row in found.rows if row.status in (ds.Status.FAILED, ds.Status.TIMED_OUT)
        ]
        if broken:
            print(f"{len(broken)} of {len(found.rows)} points have no answer", file=sys.stderr)
            raise RuntimeError(
                f"{backend}: {broken[0].status.value} at budget {broken[0].budget:g} nats"
            )
        return found


class Frontier(_Curves):
    """Seconds and memory."""

    def setup(self, backend: str, bins: int) -> None:
        """Build the model, or skip."""
        self.prepare(backend, bins)

    def time_curve(self, backend: str, bins: int) -> None:
        """Seconds until the bracket is narrow enough, or there are 40 points."""
        self.curve(backend)

    def peakmem_curve(self, backend: str, bins: int) -> None:
        """Largest resident memory of the whole process."""
        self.curve(backend)


class FrontierAnswers(_Curves):
    """Width, gaps, leakage and number of points of the curve."""

    def setup_cache(self) -> str:
        """A folder that asv provides, through which the benchmarks of this class
        share one curve.
        """
        return str(Path.cwd())

    def setup(self, folder: str, backend: str, bins: int) -> None:
        """Build the model, or skip; compute the curve, unless that is done."""
        self.prepare(backend, bins)
        known = Path(folder) / f"{backend}-{bins}.json"
        if not known.exists():
            known.write_text(json.dumps(_summary(self.curve(backend))), encoding="utf-8")
        self.summary: dict[str, float] = json.loads(known.read_text(encoding="utf-8"))

    def track_width_over_target(self, folder: str, backend: str, bins: int) -> float:
        """Largest width of the bracket ÷ target, at least 1."""
        return self.summary["width_over_target"]

    def track_gap_over_target(self, folder: str, backend: str, bins: int) -> float:
        """Largest certified relative gap of a point ÷ target, at least 1."""
        return self.summary["gap_over_target"]

    def track_points_over_budget(self, folder: str, backend: str, bins: int) -> float:
        """Points at which the backend's own answer leaks more than its budget."""
        return self.summary["points_over_budget"]

    def track_points(self, folder: str, backend: str, bins: int) -> float:
        """Budgets solved."""
        return self.summary["points"]

    track_width_over_target.unit = "× target"  # type: ignore[attr-defined]
    track_gap_over_target.unit = "× target"  # type: ignore[attr-defined]
    track_points_over_budget.unit = "points"  # type: ignore[attr-defined]
    track_points.unit = "points"  # type: ignore[attr-defined]


def _summary(found: Any) -> dict[str, float]:
    gaps = [(row.upper - row.lower) / row.upper for row in found.rows if row.upper > 0.0]
    return {
        "width_over_target": max(1.0, float(found.width) / WIDTH),
        "gap_over_target": max(1.0, *(float(gap) / grid.TARGET_GAP for gap in gaps)),
        "points_over_budget": sum(row.status is ds.Status.VIOLATED_PRIVACY for row in found.rows),
        "points": len(found.rows),
    }
