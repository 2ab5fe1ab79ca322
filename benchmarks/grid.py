"""What every suite over backends does: prepare an instance, skip what is out of reach, time the steps, weigh the answer.

A suite states one question: sizes, and the instance of a size (`problem`). Its benchmarks come in three classes, because
asv prepares a whole class alike and what is prepared is not timed:

    Steps     time_lower, time_solve, time_solve_cpu: reducing and lowering; the solver alone, on a problem lowered afresh
              for every sample, in seconds of the clock and of the processor
    Answers   time_certify, track_gap_over_target, track_leakage_over_budget: of an answer found during preparation
    Memory    peakmem_ready, peakmem_solve: of the whole process, before and after lowering and solving

A backend that is absent, does not serve the instance or is beyond its reach (`reach.toml`) is skipped with the reason:
NotImplementedError in `setup`, asv's own way. A backend that stops without an answer is a failure. Accuracy is tracked as
ratios, because a raw relative gap of 1e-13 is all noise: 1 means that the target was met.

The classes here are abstract, so asv lists them in the suites only. Public names of discreet only.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import discreet as ds

from . import reach

TARGET_GAP = 1e-9
"""Relative certified gap that every backend is asked for."""

LIMIT_SECONDS = 30.0
"""Time limit of one solve; a backend that needs longer has failed."""

PHI_TOLERANCE = 1e-13
"""What counts as zero in ‖ΦP‖∞ at budget 0."""

BACKENDS = reach.contestants()
"""Every backend of the project, and those that other packages register."""


class Grid(ABC):
    """A grid backend × size over one family of problems; `reach` names it in reach.toml."""

    params: ClassVar[list[list[Any]]]
    param_names: ClassVar[list[str]]
    reach: ClassVar[str]
    timeout = 4 * LIMIT_SECONDS
    number = 1
    repeat = (2, 10, 5.0)
    warmup_time = 0.0

    @abstractmethod
    def problem(self, size: Any) -> Any:
        """The instance of that size."""

    def setup(self, backend: str, size: Any) -> None:
        """Build the instance; skip what the backend cannot do here; load the backend's libraries."""
        skip_if(reach.absence(backend))
        self.instance = self.problem(size)
        skip_if(reach.refusal(self.reach, backend, self.instance))
        self.options = ds.Options(gap=TARGET_GAP, time_limit=LIMIT_SECONDS)
        self.solver = ds.backends.load_backend(backend)
        warm_up(backend, self.instance.budget)

    def lower(self) -> Any:
        """Reduce and lower, as `discreet.solve` does; what the backend refuses only now is a skip."""
        try:
            return self.solver.lower(ds.problems.reduce(self.instance).problem, self.options)
        except ds.problems.errors.Unsupported as refusal:
            raise skipped(str(refusal)) from refusal


class Steps(Grid):
    """Seconds of lowering and of solving, each alone."""

    def setup(self, backend: str, size: Any) -> None:
        """Lower too, so that `time_solve` starts from a lowered problem nobody has solved yet."""
        super().setup(backend, size)
        self.lowered = self.lower()

    def time_lower(self, backend: str, size: Any) -> None:
        """Seconds to reduce and lower; the backend has lowered this instance once before."""
        self.lower()

    def time_solve(self, backend: str, size: Any) -> None:
        """Seconds of the solver; no answer within the limit is a failure."""
        self.solver.solve(self.lowered, self.options)

    def time_solve_cpu(self, backend: str, size: Any) -> None:
        """Seconds of the processor, all threads together: other work on the machine hardly moves them."""
        self.solver.solve(self.lowered, self.options)

    time_solve_cpu.timer = time.process_time  # type: ignore[attr-defined]


class Answers(Grid):
    """What an answer is worth, and the seconds it takes to prove it."""

    def setup(self, backend: str, size: Any) -> None:
        """Solve, unless this process has done so already."""
        super().setup(backend, size)
        self.solution = solved(self.reach, backend, size, self.instance)

    def time_certify(self, backend: str, size: Any) -> None:
        """Seconds of the judge, on the estimator and duals of the answer."""
        ds.certify(self.instance, self.solution.estimator, self.solution.tilt, self.solution.multiplier)

    def track_gap_over_target(self, backend: str, size: Any) -> float:
        """Certified relative gap ÷ target, at least 1."""
        return max(1.0, float(self.solution.relative_gap) / TARGET_GAP)

    def track_leakage_over_budget(self, backend: str, size: Any) -> float:
        """What the backend's own answer leaks ÷ budget, at least 1; at budget 0, ‖Φ P‖∞ ÷ 1e-13."""
        judged = self.solution.certificate
        own = judged.own_leakage / judged.budget if judged.budget > 0.0 else judged.own_phi_residual / PHI_TOLERANCE
        return max(1.0, float(own))

    track_gap_over_target.unit = "× target"  # type: ignore[attr-defined]
    track_leakage_over_budget.unit = "× budget"  # type: ignore[attr-defined]


class Memory(Grid):
    """Largest resident memory of the whole process; what solving takes is the difference of the two."""

    def peakmem_ready(self, backend: str, size: Any) -> None:
        """The yardstick: interpreter, libraries and the instance, before anything is lowered."""

    def peakmem_solve(self, backend: str, size: Any) -> None:
        """The same, and lowering and solving."""
        self.solver.solve(self.lower(), self.options)


# -- shared by every suite -----------------------------------------------------------------------------------------------

_SOLVED: dict[tuple[str, str, Any], Any] = {}
_WARM: set[tuple[str, bool]] = set()


def solved(suite: str, backend: str, size: Any, instance: Any) -> Any:
    """The solution, found once in this process; no answer is an error, a late refusal a skip."""
    key = (suite, backend, size)
    if key not in _SOLVED:
        solution = ds.solve(instance, backend, gap=TARGET_GAP, time_limit=LIMIT_SECONDS)
        if solution.status in (ds.Status.UNSUPPORTED, ds.Status.ABSENT):
            raise skipped(solution.message)
        if solution.certificate is None:
            raise RuntimeError(f"{backend}: {solution.status.value}: {solution.message}")
        _SOLVED[key] = solution
    return _SOLVED[key]


def warm_up(backend: str, budget: float) -> None:
    """Solve the smallest instance of that kind once in this process: libraries load half of themselves only then."""
    kind = (backend, budget == 0.0)
    if kind not in _WARM:
        _WARM.add(kind)
        tiny = ds.problems.paper_single(bins=4, budget=0.0 if budget == 0.0 else 0.01)
        ds.solve(tiny, backend, gap=TARGET_GAP, time_limit=LIMIT_SECONDS)


def skip_if(reason: str) -> None:
    """Skip this benchmark, unless the reason is empty."""
    if reason:
        raise skipped(reason)


def skipped(reason: str) -> NotImplementedError:
    """The exception with which asv skips; the reason is printed too, because asv keeps none."""
    print(f"skipped: {reason}", file=sys.stderr)
    return NotImplementedError(reason)
