"""The base of every suite over backends: prepare an instance or skip it, time the steps, measure
the answer.

A suite states sizes, and the instance of a size (`problem`). Its benchmarks are in three classes,
because asv prepares all benchmarks of a class in the same way, and preparation is not timed:

    Steps     time_lower, time_solve_cpu: reducing and lowering; the solver alone, on a problem
              lowered afresh for every sample, in seconds of the processor
    Answers   time_certify, track_gap_over_target, track_leakage_over_budget: of one answer, which
              the first of the three computes during preparation and keeps in a folder that asv
              provides for the class
    Memory    peakmem_ready, peakmem_solve: of the whole process, before and after lowering and
              solving

A backend that is absent, does not serve the instance or is beyond its reach is skipped with the
reason, by a NotImplementedError in `setup` as asv requires. A backend that stops without an answer
is a failure. Accuracy is tracked as a ratio to the target, at least 1, because a raw relative gap
of 1e-13 is noise: 1 means that the target was met.

The classes here are abstract, so asv lists them in the suites only. Only public names of discreet
are used.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.optimize
import scipy.sparse.linalg
import scipy.stats  # noqa: F401  asv's server loads SciPy once, and every measuring process is its copy: 0.2 s a cell, not 0.6 s

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
"""Those that serve positive budgets of mutual information."""


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
        """Build the instance; skip it if the backend cannot solve it; load the
        backend's libraries.
        """
        skip_if(reach.unknown(backend))
        self.instance = self.problem(size)
        skip_if(reach.refusal(backend, self.instance) or reach.absence(backend))
        self.options = ds.Options(gap=TARGET_GAP, time_limit=LIMIT_SECONDS)
        self.solver = ds.backends.load_backend(backend)
        skip_if(
            ""
            if hasattr(self.solver, "lower")
            else f"{backend} asks others, which are measured themselves"
        )
        several = len(getattr(self.instance, "terms", ())) > 1
        warm_up(backend, 0.01 if several else self.instance.budget)

    def lower(self) -> Any:
        """Reduce and lower, as `discreet.solve` does; a refusal at this point is a skip too."""
        try:
            return self.solver.lower(ds.problems.reduce(self.instance).problem, self.options)
        except ds.errors.Unsupported as refusal:
            # While asv measures, only this one is a skip.
            from asv_runner.benchmarks.mark import SkipNotImplemented

            raise SkipNotImplemented(skipped(str(refusal))) from refusal


class Steps(Grid):
    """Seconds of lowering and of solving, timed separately."""

    def setup(self, backend: str, size: Any) -> None:
        """Lower as well, so that solving starts from a lowered problem that is not yet solved."""
        self.prepare(backend, size)
        self.lowered = self.lower()

    def time_lower(self, backend: str, size: Any) -> None:
        """Seconds to reduce and lower; the backend has lowered this instance once before."""
        self.lower()

    def time_solve_cpu(self, backend: str, size: Any) -> None:
        """Processor seconds of all threads, which other work on the machine hardly changes; no
        answer within the limit is a failure.
        """
        self.solver.solve(self.lowered, self.options)

    time_solve_cpu.timer = time.process_time  # type: ignore[attr-defined]


class Answers(Grid):
    """Gap and leakage of an answer, and the seconds of certifying it."""

    def setup_cache(self) -> str:
        """The folder that asv provides for this class while it is measured."""
        return str(Path.cwd())

    def setup(self, folder: str, backend: str, size: Any) -> None:
        """Solve, unless another of the three benchmarks has done so."""
        self.prepare(backend, size)
        self.answer = answered(Path(folder) / f"{backend}-{size}.npz", backend, self.instance)

    def time_certify(self, folder: str, backend: str, size: Any) -> None:
        """Seconds of the judge, on the estimator and duals of the answer."""
        ds.certify(self.instance, self.answer.estimator, self.answer.tilt, self.answer.multiplier)

    def track_gap_over_target(self, folder: str, backend: str, size: Any) -> float:
        """Certified relative gap ÷ target, at least 1."""
        return max(1.0, self.answer.relative_gap / TARGET_GAP)

    def track_leakage_over_budget(self, folder: str, backend: str, size: Any) -> float:
        """Leakage of the backend's own answer ÷ budget, at least 1; at budget 0, ‖Φ P‖∞ ÷ 1e-13."""
        return max(1.0, self.answer.leakage_over_budget)

    track_gap_over_target.unit = "× target"  # type: ignore[attr-defined]
    track_leakage_over_budget.unit = "× budget"  # type: ignore[attr-defined]


class Memory(Grid):
    """Largest resident memory of the whole process; solving takes the difference of the two
    numbers.
    """

    def setup(self, backend: str, size: Any) -> None:
        """Prepare the instance and load the libraries only."""
        self.prepare(backend, size)

    def peakmem_ready(self, backend: str, size: Any) -> None:
        """The reference: interpreter, libraries and the instance, before anything is lowered."""

    def peakmem_solve(self, backend: str, size: Any) -> None:
        """The same after lowering and solving."""
        self.solver.solve(self.lower(), self.options)


# -- shared by every suite
# -----------------------------------------------------------------------------------------------

_WARM: set[tuple[str, bool]] = set()


@dataclass(frozen=True)
class Answer:
    """A judged answer. `leakage_over_budget` is that of the backend's own answer, before any
    repair.
    """

    estimator: Any
    tilt: Any
    multiplier: Any
    relative_gap: float
    leakage_over_budget: float


def answered(kept: Path, backend: str, instance: Any) -> Answer:
    """The answer in the file `kept`, computed and stored there the first time; without an answer an
    error, or a skip.
    """
    if not kept.exists():
        found = _found(backend, instance)
        with tempfile.NamedTemporaryFile(dir=kept.parent, suffix=".part", delete=False) as part:
            np.savez(part, **found)
        os.replace(part.name, kept)
    with np.load(kept) as found:
        if "failure" in found:
            raise RuntimeError(str(found["failure"]))
        if "refusal" in found:
            raise skipped(str(found["refusal"]))
        price, *numbers = (
            found[name] for name in ("multiplier", "relative_gap", "leakage_over_budget")
        )
        return Answer(
            found["estimator"],
            found["tilt"],
            price if price.ndim else float(price),
            *map(float, numbers),
        )


def _found(backend: str, instance: Any) -> dict[str, Any]:
    solution = ds.solve(instance, backend, gap=TARGET_GAP, time_limit=LIMIT_SECONDS)
    judged = solution.certificate
    if solution.status in (ds.Status.UNSUPPORTED, ds.Status.ABSENT):
        return {"refusal": solution.message}
    if judged is None:
        return {"failure": f"{backend}: {solution.status.value}: {solution.message}"}
    shares = [term.own_leakage / term.budget for term in judged.terms if term.budget > 0.0]
    own = max(shares, default=judged.own_phi_residual / PHI_TOLERANCE)
    numbers = {
        "multiplier": solution.multipliers,
        "relative_gap": solution.relative_gap,
        "leakage_over_budget": own,
    }
    return {"estimator": solution.estimator, "tilt": solution.tilt, **numbers}


def warm_up(backend: str, budget: float) -> None:
    """Solve the smallest instance of that kind once in this process: libraries load many modules
    only then.
    """
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
