"""Runs the missing cells of a study one after another, each in its own process."""

from __future__ import annotations

import math
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from discreet.backends.attempts import Attempt
from discreet.backends.contract import Options
from discreet.backends.isolated import attempt_isolated
from discreet.backends.run import conclude
from discreet.backends.solution import Solution, Status
from discreet.problems.certificate import Certificate
from discreet.problems.errors import FileError, InputError
from discreet.problems.reduction import reduce
from discreet.reports.measurements import Measurement, Stakes, grouped, share
from discreet.reports.second_opinion import second_opinion
from discreet.reports.study.cells import Cell
from discreet.reports.study.machine import commit, machine, scrubbed
from discreet.reports.study.store import Store

Watch = Callable[[int, int, str, float], None]
"""Called with (cells done, cells in all, what runs now, estimated seconds left)."""


@dataclass(frozen=True)
class Summary:
    """What a run did. `rows` are those of all chosen cells, measured now or before."""

    rows: tuple[Measurement, ...]
    measured: int
    seconds: float

    @property
    def statuses(self) -> dict[str, int]:
        """How many rows of each status."""
        return dict(sorted(Counter(row.status.value for row in self.rows).items()))


def estimated_seconds(cells: Iterable[Cell], rows: Iterable[Measurement]) -> float:
    """How long these cells will take together: each as long as the mean of its configuration's rows, or of all."""
    timed = grouped((row for row in rows if row.wall_seconds > 0.0), lambda row: row.label)
    means = {label: statistics.fmean(row.wall_seconds for row in own) for label, own in timed.items()}
    otherwise = statistics.fmean(means.values()) if means else 2.0  # a process, its imports, short attempts
    return sum(0.0 if cell.skipped else means.get(cell.configuration.label, otherwise) for cell in cells)


def run_cells(
    name: str, cells: Sequence[Cell], store: Store, known: dict[str, Measurement], watch: Watch | None = None
) -> Summary:
    """Measure what is not in `known` (finished cells by key), writing each row before the next cell starts.

    Raises FileError when a row cannot be written; KeyboardInterrupt passes. Either way finished cells are kept.
    """
    started = time.perf_counter()
    missing = [cell for cell in cells if cell.key not in known]
    rows = {cell.key: known[cell.key] for cell in cells if cell.key in known}
    for k, cell in enumerate(missing):
        if watch is not None:
            watch(len(rows), len(cells), cell.title, estimated_seconds(missing[k:], (known | rows).values()))
        row = measure(name, cell)
        store.add(row)
        rows[cell.key] = row
    if watch is not None:
        watch(len(cells), len(cells), "done", 0.0)
    return Summary(tuple(rows.values()), len(missing), time.perf_counter() - started)


def measure(study: str, cell: Cell, *, repeat_seconds: float = 0.6) -> Measurement:
    """The row of one cell; a short attempt is run again within `repeat_seconds`, for its timings.

    Raises InputError for a setting of bad value, FileError when temporary files cannot be made.
    """
    begun = time.perf_counter()
    started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    row = row_of(study, cell, *_attempt(cell, repeat_seconds))
    return replace(row, started=started, wall_seconds=0.0 if cell.skipped else time.perf_counter() - begun)


def _attempt(cell: Cell, repeat_seconds: float) -> tuple[Attempt, Solution]:
    limits, problem = cell.limits, cell.instance.problem
    limit = limits.time_seconds if math.isfinite(limits.time_seconds) else None
    options = Options(cell.profile.gap, limit, None, cell.settings)
    memory = limits.memory_bytes if sys.platform == "linux" else None
    if cell.skipped:
        tried = Attempt(cell.configuration.backend, None, Status.UNSUPPORTED, cell.skipped)
        return tried, conclude(problem, tried, options)
    try:
        tried = attempt_isolated(
            problem, cell.configuration.backend, options, memory, limits.threads, repeat_seconds=repeat_seconds
        )
    except FileError as error:
        raise FileError(f"{cell.title}: {error}; every cell finished before is kept") from None
    except InputError as error:
        raise InputError(f"{cell.title}: {error}") from None
    return tried, conclude(problem, tried, options)


def _leakages(judged: Certificate | None) -> dict[str, Any]:
    """What the own answer leaks and what the repaired one leaks at most, as `Stakes` counts it; inf without an answer."""
    if judged is None:
        return {}
    if not judged.terms:
        return {"own_leakage_nats": judged.own_leakage, "leakage_ceiling_nats": judged.leakage_ceiling}
    ceilings = [share(term.leakage_ceiling, term.budget) for term in judged.terms if not term.perfect]
    return {"own_leakage_nats": judged.own_leakage_ratio, "leakage_ceiling_nats": max(ceilings, default=0.0)}


def row_of(study: str, cell: Cell, tried: Attempt, solution: Solution) -> Measurement:
    """The row of an attempt and its verdict; what is certified is verified too."""
    problem, instance, judged, times = cell.instance.problem, cell.instance, solution.certificate, solution.timings
    certified, stakes = solution.status is Status.CERTIFIED, Stakes.of(problem)
    verified, faults = second_opinion(solution, cell.profile.gap) if certified else (None, [])
    return Measurement(
        study=study,
        cell=cell.key,
        problem=instance.words,
        **{name: getattr(instance, name) for name in ("entry", "family", "parameters", "budget_word")},
        budget_nats=stakes.budget,
        bayes_leakage_nats=stakes.bayes_leakage,
        measure=stakes.measure,
        secrets=stakes.secrets,
        private_values=problem.n,
        guesses=problem.m,
        outcomes=problem.N,
        distinct_outcomes=reduce(problem).problem.N,
        bayes_error=problem.bayes_error,
        constant_error=problem.constant_error,
        problem_hash=problem.digest,
        backend=cell.configuration.backend,
        settings=dict(cell.configuration.settings),
        settings_hash=cell.settings_hash,
        profile=cell.profile.name,
        gap_target=cell.profile.gap,
        repeat=cell.repeat,
        status=solution.status,
        message=scrubbed(solution.message),
        traceback=scrubbed(tried.traceback),
        claimed=scrubbed(solution.claimed or ""),
        **{
            name: getattr(judged, name)
            for name in ("upper", "lower", "private_within", "own_error", "own_phi_residual", "own_private_within")
            if judged
        },
        relative_gap=solution.relative_gap,
        **_leakages(judged),
        iterations=solution.iterations,
        **{name: getattr(times, name) for name in ("lower_seconds", "solve_seconds", "lift_seconds", "certify_seconds")},
        **{name: getattr(tried, name) for name in ("peak_bytes", "solve_bytes", "samples")},
        time_limit_seconds=cell.limits.time_seconds,
        memory_limit_bytes=cell.limits.memory_bytes,
        threads=cell.limits.threads or os.cpu_count() or 1,
        versions={**cell.versions, **solution.versions},
        machine=machine(),
        commit=commit(),
        profile_settings=cell.extra,
        contradictions=None if verified is None else len(faults),
    )
