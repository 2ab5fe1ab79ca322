"""The base of every suite over backends: prepare an instance or skip it, and measure one thing.

A suite states sizes, and the instance of a size (`problem`). What is measured is in classes,
because asv prepares all benchmarks of a class in the same way, and preparation is not timed:

    Steps      time_solve_cpu: only the solver, on a problem lowered afresh for every sample, in
               seconds of the processor
    Answers    track_gap_over_target, track_leakage_over_budget: of one answer, which the first of
               the two computes and keeps in a folder that asv provides
    Lowering   time_lower: reducing and lowering
    Judging    time_certify: the judge, which does the same for every backend, on an answer of tilt
    Memory     peakmem_ready, peakmem_solve: of the whole process, before and after lowering and
               solving

A backend that is absent, does not serve the instance or is beyond its reach is skipped with the
reason, by a NotImplementedError in `setup` as asv requires. A backend that stops without an answer
is a failure. Accuracy is tracked as a ratio to the target, at least 1, because a raw relative gap
of 1e-13 is noise: 1 means that the target was met.

The classes here are abstract, so asv lists them in the suites only. Only public names of discreet
are used.
"""

from __future__ import annotations

import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import discreet as ds

from . import reach

TARGET_GAP = 1e-9
"""Relative certified gap that every backend is asked for."""

LIMIT_SECONDS = 30.0
"""Time limit of one solve; a backend that needs longer has failed."""

PHI_TOLERANCE = 1e-13
"""The ‖Φ P‖∞ that counts as zero at budget 0."""

BACKENDS = reach.backends()
"""Every backend for arrays, of the project and of other packages."""

CONSTRAINED = reach.backends(*reach.LINEAR)
"""The backends that serve positive budgets of mutual information."""

for _name in BACKENDS:
    # asv's server loads every library once, and every measuring process is its copy: 0.2 s a value
    # instead of 1.
    reach.absence(_name)


class Grid(ABC):
    """A grid of backends and sizes over one family of problems."""

    params: ClassVar[list[list[Any]]]
    param_names: ClassVar[list[str]]
    # Raised when what is measured changes: asv takes results of another version for another
    # benchmark's.
    version = "1"
    timeout = 4 * LIMIT_SECONDS
    number = 1
    repeat = (2, 10, 5.0)
    warmup_time = 0.0

    @abstractmethod
    def problem(self, size: Any) -> Any:
        """The instance of that size."""

    def prepare(self, backend: str, size: Any) -> None:
        """Build the instance; skip it if the backend cannot solve it."""
        self.instance = self.problem(size)
        skip_if(reach.absence(backend) or reach.refusal(backend, self.instance))
        self.options = ds.Options(gap=TARGET_GAP, time_limit=LIMIT_SECONDS)
        self.solver = ds.backends.load_backend(backend)

    def lower(self) -> Any:
        """Reduce and lower, as `discreet.solve` does."""
        return self.solver.lower(ds.problems.reduce(self.instance).problem, self.options)


class Steps(Grid):
    """Processor seconds of solving."""

    def setup(self, backend: str, size: Any) -> None:
        """Lower, so that solving starts from a lowered problem that is not yet solved."""
        self.prepare(backend, size)
        several = len(getattr(self.instance, "terms", ())) > 1
        warm_up(backend, 0.01 if several else self.instance.budget)
        self.lowered = self.lower()

    def time_solve_cpu(self, backend: str, size: Any) -> None:
        """Processor seconds of all threads, which other work on the machine hardly changes; no
        answer within the limit is a failure.
        """
        self.solver.solve(self.lowered, self.options)

    time_solve_cpu.timer = time.process_time  # type: ignore[attr-defined]


class Lowering(Grid):
    """Seconds of lowering."""

    def setup(self, backend: str, size: Any) -> None:
        """Lower once before the sample is taken."""
        self.prepare(backend, size)
        self.lower()

    def time_lower(self, backend: str, size: Any) -> None:
        """Seconds to reduce and lower."""
        self.lower()


class Answers(Grid):
    """Gap and leakage of an answer."""

    def setup_cache(self) -> str:
        """The folder that asv provides for all classes that inherit this."""
        return str(Path.cwd())

    def setup(self, folder: str, backend: str, size: Any) -> None:
        """Solve, unless the other of the two benchmarks has done so."""
        self.prepare(backend, size)
        kept = Path(folder, f"{type(self).__name__}-{backend}-{size}.json")
        self.answer = computed_once(kept, lambda: _accuracy(backend, self.instance))

    def track_gap_over_target(self, folder: str, backend: str, size: Any) -> float:
        """Certified relative gap ÷ target, at least 1."""
        return max(1.0, self.answer["gap_over_target"])

    def track_leakage_over_budget(self, folder: str, backend: str, size: Any) -> float:
        """Leakage of the backend's own answer before any repair ÷ budget, at least 1; at budget 0,
        ‖Φ P‖∞ ÷ 1e-13.
        """
        return max(1.0, self.answer["leakage_over_budget"])

    track_gap_over_target.unit = "× target"  # type: ignore[attr-defined]
    track_leakage_over_budget.unit = "× budget"  # type: ignore[attr-defined]


class Judging(Grid):
    """Seconds of the judge."""

    def setup(self, backend: str, size: Any) -> None:
        """Solve the instance once. Its answer is judged."""
        self.prepare(backend, size)
        self.solution = ds.solve(self.instance, backend, gap=TARGET_GAP)

    def time_certify(self, backend: str, size: Any) -> None:
        """Seconds to certify the estimator and duals of an answer."""
        found = self.solution
        ds.certify(self.instance, found.estimator, found.tilt, found.multipliers)


class Memory(Grid):
    """Largest resident memory of the whole process; solving takes the difference of the two
    numbers.
    """

    def setup(self, backend: str, size: Any) -> None:
        """Prepare the instance without solving it."""
        self.prepare(backend, size)

    def peakmem_ready(self, backend: str, size: Any) -> None:
        """The reference: interpreter, libraries and the instance, before anything is lowered."""

    def peakmem_solve(self, backend: str, size: Any) -> None:
        """Lower the instance and solve it."""
        self.solver.solve(self.lower(), self.options)


# -- shared by every suite
# -----------------------------------------------------------------------------------------------


def _accuracy(backend: str, instance: Any) -> dict[str, Any]:
    """Gap and leakage of the backend's answer as ratios; RuntimeError if there is none."""
    solution = ds.solve(instance, backend, gap=TARGET_GAP, time_limit=LIMIT_SECONDS)
    judged = solution.certificate
    if judged is None:
        raise RuntimeError(f"{backend}: {solution.status.value}: {solution.message}")
    shares = [term.own_leakage / term.budget for term in judged.terms if term.budget > 0.0]
    return {
        "gap_over_target": solution.relative_gap / TARGET_GAP,
        "leakage_over_budget": max(shares, default=judged.own_phi_residual / PHI_TOLERANCE),
    }


def computed_once(kept: Path, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The numbers in the file `kept`, computed and stored there the first time. A RuntimeError is
    stored too, and raised each time.
    """
    if not kept.exists():
        try:
            found = compute()
        except RuntimeError as error:
            found = {"failure": str(error)}
        kept.write_text(json.dumps(found), encoding="utf-8")
    stored: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    if "failure" in stored:
        raise RuntimeError(stored["failure"])
    return stored


def warm_up(backend: str, budget: float) -> None:
    """Solve the smallest instance of that kind once in this process: libraries load many modules
    only then.
    """
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
