"""Run the missing cells of a study, each in its own process, where an executor places them.

A worker may be lost (killed, out of memory, its job ended) because of another cell on the same
machine. The cell is therefore run once more, with no other cell at the same time. If its worker is
lost again, the row reports it. No other cell is affected.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from discreet.backends.attempts import Attempt
from discreet.backends.isolated import attempt_isolated
from discreet.backends.process import belonging_to
from discreet.backends.run import conclude
from discreet.backends.solution import Solution, Status
from discreet.errors import DiscreetError, FileError, InputError
from discreet.problems.certificate import Certificate
from discreet.problems.constraint import are_numbered
from discreet.problems.reduction import reduce
from discreet.reports.measurements import Measurement, Stakes, group_by, share
from discreet.reports.second_opinion import second_opinion
from discreet.reports.study.cells import Cell
from discreet.reports.study.control import control_seconds
from discreet.reports.study.executors import Executor
from discreet.reports.study.machine import commit, load, machine, scrub_paths, versions
from discreet.reports.study.store import Store

Watch = Callable[[int, int, str, float], None]
"""Called with (cells done, cells in all, what runs now, estimated seconds left)."""


@dataclass(frozen=True)
class Summary:
    """The outcome of a run. `rows` are the rows of all chosen cells, measured now or before."""

    rows: tuple[Measurement, ...]
    measured: int
    seconds: float

    @property
    def statuses(self) -> dict[str, int]:
        """Return the number of rows of each status."""
        return dict(sorted(Counter(row.status.value for row in self.rows).items()))


def estimated_seconds(cells: Iterable[Cell], rows: Iterable[Measurement]) -> float:
    """Estimate the total seconds of these cells: each takes the mean of its configuration's rows,
    or of all rows if there are none.
    """
    timed = group_by((row for row in rows if row.wall_seconds > 0.0), lambda row: row.label)
    means = {
        label: statistics.fmean(row.wall_seconds for row in own) for label, own in timed.items()
    }
    # a process, its imports, short attempts
    otherwise = statistics.fmean(means.values()) if means else 2.0
    return sum(
        0.0 if cell.skipped else means.get(cell.configuration.label, otherwise) for cell in cells
    )


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    known: Mapping[str, Measurement],
    watch: Watch | None = None,
    executor: Executor | None = None,
) -> Summary:
    """Measure the cells that are not in `known` (finished cells by key), in this process unless
    there is an executor. Every row is written at once.

    Raises FileError if a row or a temporary file cannot be written, InputError for workers that
    cannot run cells. KeyboardInterrupt is passed on. In each case all running calls are ended, and
    finished cells are kept.
    """
    started = time.perf_counter()
    work = _Work(cells, store, known, watch, executor or Executor())
    missing = len(work.waiting)
    try:
        while work.left:
            work.start()
            work.finish()
    except BaseException:
        work.executor.stop(work.running)
        raise
    work.tell("done")
    return Summary(tuple(work.rows.values()), missing, time.perf_counter() - started)


@dataclass
class _Work:
    """The cells that are waiting, running and finished.

    again    cells whose worker was lost; each is run again with no other cell at the same time
    lost     keys of all cells whose worker was lost once
    running  dictionary from a future to its cell
    beside   dictionary from a future to the largest number of cells that ran at the same time
    """

    cells: Sequence[Cell]
    store: Store
    known: Mapping[str, Measurement]
    watch: Watch | None
    executor: Executor

    def __post_init__(self) -> None:
        self.rows = {
            cell.key: self.known[cell.key] for cell in self.cells if cell.key in self.known
        }
        self.waiting = deque(cell for cell in self.cells if cell.key not in self.known)
        self.again = deque[Cell]()
        self.lost = set[str]()
        self.running = dict[Any, Cell]()
        self.beside = Counter[Any]()

    @property
    def left(self) -> bool:
        """Return whether any cell is not finished."""
        return bool(self.waiting or self.again or self.running)

    def start(self) -> None:
        """Submit cells until the executor has no more room."""
        try:
            room = self.executor.room() if self.waiting else 1
        except Exception as error:
            raise self._fault(error) from None
        while (cell := self._next(room)) is not None:
            self.tell(cell.title, cell)
            try:
                future = self.executor.submit(run_cell, self.executor.run, cell)
            except DiscreetError:
                raise
            except Exception as error:
                self._lost(cell, error)
                break
            self.running[future] = cell
            for each in self.running:
                self.beside[each] = max(self.beside[each], len(self.running))

    def _next(self, room: int) -> Cell | None:
        if self.again:
            return None if self.running else self.again.popleft()
        alone = any(cell.key in self.lost for cell in self.running.values())
        return (
            None
            if alone or len(self.running) >= room or not self.waiting
            else self.waiting.popleft()
        )

    def finish(self) -> None:
        """Wait until a cell has finished or its worker was lost, and handle every such cell."""
        while self.running and not (done := [future for future in self.running if future.done()]):
            time.sleep(self.executor.pause)
        for future in done if self.running else ():
            cell = self.running.pop(future)
            others = self.beside.pop(future)
            try:
                outcome = future.result()
            except Exception as error:
                self._lost(cell, error)
            else:
                self._keep(cell, outcome, others)

    def _keep(self, cell: Cell, outcome: Measurement | DiscreetError, others: int) -> None:
        if isinstance(outcome, DiscreetError):
            raise outcome
        row = replace(outcome, executor=self.executor.name, cells_at_once=others)
        self.store.add(row)
        self.rows[cell.key] = row
        if self.running:
            self.tell(next(iter(self.running.values())).title)

    def _lost(self, cell: Cell, error: Exception) -> None:
        """Handle a cell whose worker was lost. Raise InputError if the error does not mean that."""
        reason = self.executor.lost(error)
        if not reason:
            raise self._fault(error) from None
        if cell.key in self.lost:
            row = _failed_row(cell, f"{reason}, and again when the cell ran alone")
            self._keep(cell, replace(row, machine={}, commit=""), 1)
        else:
            self.lost.add(cell.key)
            self.again.append(cell)

    def _fault(self, error: Exception) -> InputError:
        said = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        return InputError(
            f"the executor {self.executor.name} cannot run a cell ({said}); see that its workers "
            "run, with the same "
            "versions of discreet and its libraries, and run the same command again: every "
            "finished cell is kept"
        )

    def tell(self, what: str, *starting: Cell) -> None:
        """Report to the watcher which cells are running."""
        if self.watch is None:
            return
        under_way = [*starting, *self.running.values()]
        measured = {**self.known, **self.rows}.values()
        left = estimated_seconds([*under_way, *self.waiting, *self.again], measured) / max(
            1, len(under_way)
        )
        several = f"{len(under_way)} at once: " if len(under_way) > 1 else ""
        self.watch(len(self.rows), len(self.cells), f"{several}{what}", left)


def run_cell(run: str, cell: Cell) -> Measurement | DiscreetError:
    """Return the row of a cell, with the host, its load and the control. This is called where the
    cell runs.

    An error that would affect every cell here is returned, so that the study stops: InputError if
    the installed versions are not those in the cell's key, FileError if there is no room for
    temporary files. Any other failure becomes a row.
    """
    if others := _other_versions(cell):
        return InputError(others)
    try:
        busy = load()
        control = list[float]()
        with belonging_to(run):
            control += [] if cell.skipped else [control_seconds()]
            row = measure(cell)
            control += [] if cell.skipped else [control_seconds()]
        return replace(row, host=platform.node(), load=busy, control_seconds=tuple(control))
    except FileError as error:
        return error
    except InputError as error:  # a setting of bad value
        row = _failed_row(cell, str(error))
    except Exception as error:
        row = _failed_row(cell, f"{type(error).__name__}: {error}", traceback.format_exc())
    return replace(row, host=platform.node())


def _other_versions(cell: Cell) -> str:
    """Return a sentence on the first library whose version differs from the one in the cell's key;
    the text is empty if there is none.
    """
    here = versions(cell.configuration.backend, cell.settings, cell.configuration.environment)
    sentences = (
        f"{platform.node()} has {name} {here.get(name)}, and the study was laid out with {asked}; "
        "install the same there, "
        "since a cell is known by its versions"
        for name, asked in cell.versions.items()
        if here.get(name) != asked
    )
    return next(sentences, "")


def _failed_row(cell: Cell, message: str, trace: str = "") -> Measurement:
    """Return the row of a cell that has no answer for a reason other than its backend."""
    tried = Attempt(cell.configuration.backend, None, Status.FAILED, message, traceback=trace)
    return replace(_judge_cell(cell, tried), started=_time_stamp())


def measure(cell: Cell, *, repeat_seconds: float = 0.6) -> Measurement:
    """Return the row of one cell. A short attempt is repeated within `repeat_seconds` for its
    timings.

    Raises InputError for a setting with a bad value, FileError if temporary files cannot be made.
    """
    begun = time.perf_counter()
    started = _time_stamp()
    row = _judge_cell(cell, _attempt(cell, repeat_seconds))
    return replace(
        row, started=started, wall_seconds=0.0 if cell.skipped else time.perf_counter() - begun
    )


def _time_stamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _attempt(cell: Cell, repeat_seconds: float) -> Attempt:
    backend = cell.configuration.backend
    options = cell.options
    if cell.skipped:
        return Attempt(backend, None, Status.UNSUPPORTED, cell.skipped)
    try:
        return attempt_isolated(
            cell.instance.problem,
            backend,
            options,
            cell.limits.memory_bytes if sys.platform == "linux" else None,
            cell.limits.threads,
            repeat_seconds=repeat_seconds,
            environment=cell.configuration.environment,
        )
    except FileError as error:
        raise FileError(f"{cell.title}: {error}; every cell finished before is kept") from None
    except InputError as error:
        raise InputError(f"{cell.title}: {error}") from None


def _judge_cell(cell: Cell, tried: Attempt) -> Measurement:
    return row_of(cell, tried, conclude(cell.instance.problem, tried, cell.options))


def _leakages(judged: Certificate | None) -> dict[str, Any]:
    """Return the leakage of the backend's own answer and the proven upper bound of that of the
    repaired one, in the units of `Stakes`; inf without an answer.
    """
    if judged is None:
        return {}
    if are_numbered(judged.terms):
        shares = [
            share(term.leakage_ceiling, term.budget) for term in judged.terms if not term.perfect
        ]
        return {
            "own_leakage_nats": judged.own_leakage_ratio,
            "leakage_ceiling_nats": max(shares, default=0.0),
        }
    return {
        "own_leakage_nats": judged.own_leakage,
        "leakage_ceiling_nats": judged.leakage_ceiling,
    }


def row_of(cell: Cell, tried: Attempt, solution: Solution) -> Measurement:
    """Return the row of an attempt and its verdict. A certified answer is also verified."""
    problem = cell.instance.problem
    instance = cell.instance
    judged = solution.certificate
    times = solution.timings
    certified = solution.status is Status.CERTIFIED
    stakes = Stakes.of(problem)
    verified, faults = second_opinion(solution, cell.profile.gap) if certified else (None, [])
    return Measurement(
        study=cell.study,
        cell=cell.key,
        problem=instance.words,
        **{
            name: getattr(instance, name)
            for name in ("entry", "family", "parameters", "budget_word")
        },
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
        message=scrub_paths(solution.message),
        traceback=scrub_paths(tried.traceback),
        claimed=scrub_paths(solution.claimed or ""),
        **{
            name: getattr(judged, name)
            for name in (
                "upper",
                "lower",
                "private_within",
                "own_error",
                "own_phi_residual",
                "own_private_within",
            )
            if judged
        },
        relative_gap=solution.relative_gap,
        **_leakages(judged),
        iterations=solution.iterations,
        **{
            name: getattr(times, name)
            for name in ("lower_seconds", "solve_seconds", "lift_seconds", "certify_seconds")
        },
        **{name: getattr(tried, name) for name in ("peak_bytes", "solve_bytes", "samples")},
        time_limit_seconds=cell.limits.time_seconds,
        memory_limit_bytes=cell.limits.memory_bytes,
        threads=cell.limits.threads or os.cpu_count() or 1,
        versions={**cell.versions, **solution.versions},
        machine=machine(),
        commit=commit(),
        profile_settings=cell.extra,
        environment=cell.configuration.environment,
        contradictions=None if verified is None else len(faults),
    )
