"""Time, certified gap and true leakage of every backend, as the number of outcomes grows.

Each suite is a grid backend × size. A backend that is absent here or does not serve an instance is skipped with its reason
(NotImplementedError in `setup`, asv's own way); one that stops without an answer is a failure. Accuracy is tracked as
ratios, because a raw relative gap of 1e-13 is all noise: 1 means that the target was met.

Only public names of discreet are used. Seconds are those of the backend's own three steps together with the judge's.
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import discreet as ds

TARGET_GAP = 1e-9
"""Relative certified gap that every backend is asked for."""

REACH = {"highs": 10_000, "pyomo": 10_000}
"""Where a backend ends within the time limit below only up to fewer outcomes than it accepts: the largest size tried."""

LIMIT_SECONDS = 60.0


class _Grid:
    """A grid backend × size over one family of problems."""

    param_names: ClassVar[list[str]] = ["backend", "size"]
    timeout = 2 * LIMIT_SECONDS
    number = 1
    repeat = (2, 10, 5.0)
    warmup_time = 0.0

    def problem(self, size: int) -> Any:
        """The instance of that size."""
        raise NotImplementedError

    def setup(self, backend: str, size: int) -> None:
        """Build the instance; skip what the backend cannot do here, with the reason."""
        self.instance = self.problem(size)
        refusal = _refusal(backend, self.instance)
        if refusal:
            print(f"skipped: {refusal}", file=sys.stderr)
            raise NotImplementedError(refusal)

    def solve(self, backend: str) -> Any:
        """Solve and judge; no answer is an error."""
        solution = ds.solve(self.instance, backend, gap=TARGET_GAP, time_limit=LIMIT_SECONDS)
        if solution.certificate is None:
            raise RuntimeError(f"{backend}: {solution.status.value}: {solution.message}")
        return solution

    def time_solve(self, backend: str, size: int) -> None:
        """Seconds to lower, solve, lift and judge."""
        self.solve(backend)

    def track_gap_over_target(self, backend: str, size: int) -> float:
        """Certified relative gap ÷ target, at least 1."""
        return max(1.0, float(self.solve(backend).relative_gap) / TARGET_GAP)

    def track_leakage_over_budget(self, backend: str, size: int) -> float:
        """What the backend's own answer leaks ÷ budget, at least 1; at budget 0, ‖Φ P‖∞ ÷ 1e-13."""
        judged = self.solve(backend).certificate
        own = judged.own_leakage / judged.budget if judged.budget > 0.0 else judged.own_phi_residual / 1e-13
        return max(1.0, float(own))

    track_gap_over_target.unit = "× target"  # type: ignore[attr-defined]
    track_leakage_over_budget.unit = "× budget"  # type: ignore[attr-defined]


def _refusal(backend: str, problem: Any) -> str:
    """Why the backend is not tried on this problem here; empty when it is."""
    found = ds.backends.availability(backend)
    if found.state != "available":
        return str(found.reason)
    able = ds.backends.capabilities()[backend]
    regime = ds.backends.Regime.of(problem)
    if regime not in able.regimes:
        return f"{backend} does not serve {regime.value}"
    reach = min(able.largest_outcomes, REACH.get(backend, sys.maxsize))
    return f"{backend} is not tried above {reach} outcomes" if reach < problem.N else ""


class SingleSensorBins(_Grid):
    """The paper's single sensor; half of the Bayes rule's leakage; size = bins."""

    params: ClassVar[list[list[Any]]] = [list(ds.backends.backend_names()), [4, 64, 1_000, 10_000, 100_000]]

    def problem(self, size: int) -> Any:
        """paper-single with that many bins."""
        return ds.problems.paper_single(bins=size, fraction=0.5)


class ManySensors(_Grid):
    """The paper's count vectors; half of the Bayes rule's leakage; size = sensors."""

    params: ClassVar[list[list[Any]]] = [list(ds.backends.backend_names()), [2, 5, 10, 15]]

    def problem(self, size: int) -> Any:
        """paper-multi with that many sensors."""
        return ds.problems.paper_multi(sensors=size, fraction=0.5)


class PerfectPrivacyBins(_Grid):
    """The paper's single sensor under perfect privacy; size = bins."""

    params: ClassVar[list[list[Any]]] = [list(ds.backends.backend_names()), [4, 64, 1_000, 10_000, 100_000]]

    def problem(self, size: int) -> Any:
        """paper-single with that many bins, budget 0."""
        return ds.problems.paper_single(bins=size, budget=0.0)
