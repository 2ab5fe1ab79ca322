"""Measure problems in Dask, and write `reports/many-machines.md`: the same solve on arrays here and
on two worker processes.

    python benchmarks/many_machines.py [--outcomes 200000000] [--parts 1,2,4,8] [--out
    reports/many-machines]

The paper's single sensor with N bins, ε = 0.01, is made twice: in arrays of this process, and by a
function of the first and the last bin on the workers of a `LocalCluster` of two processes with a
thread each. Solves alternate. The answers must agree bit for bit.

Wall times of a machine that others use mean little, so processor seconds are shown next to them: all
of them, and those on the *critical path*, which are those of this process (solver, client and
scheduler) and of the busier worker.

**The model.** A solve has as many passes as it takes on arrays, and one by the judge. A pass of P
parts of N outcomes on W workers, of one thread each, takes

    l + P h + ⌈P / W⌉ (w + c N / P)      seconds

with c the time of one outcome on one thread, from the solve with one part; and l and h, what this
process does for a pass and for a part, and w, what a worker does for a part besides the work, from
passes that do nothing on 1 … 64 parts. Each part brings back the sums of a pass; of more than 16
parts, 16 neighbours are joined on a worker first. The model's times for 1, 2, 4 and 8 parts are
compared with the measured critical path, and drawn for 10 … 1,000 workers.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    sys.path.insert(1, str(Path(__file__).resolve().parents[1]))  # a checkout without installation

import numpy as np

import discreet as ds
from discreet.problems.sensors import PAPER_SIGMA, paper_p_xy

if TYPE_CHECKING:
    from discreet.showing.figures import Figure
    from discreet.showing.values import Part, Section

_EMPTY_PARTS = (1, 4, 16, 64)
_EMPTY = 10  # passes
_WORKERS = (10, 30, 100, 300, 1000)
_LARGE = (10**10, 10**11, 10**12)
_AT_ONCE = 1 << 20


# -- the problem
# --------------------------------------------------------------------------------------------------


def sensor(start: int, stop: int, outcomes: int) -> tuple[Any, Any]:
    """p_xz [2, ·] and loss [2, ·] of bins start … stop − 1 of −∞, linspace(−0.5, 1.5, N − 1), ∞.

    Bin masses are density × width with the second-order term, relative error under 1e-12 for such
    narrow bins.
    """
    p_xz = np.empty((2, stop - start))
    loss = np.empty((2, stop - start))
    for first in range(start, stop, _AT_ONCE):
        last = min(first + _AT_ONCE, stop)
        joint = paper_p_xy()[:, :, None] * _masses(first, last, outcomes)
        p_xz[:, first - start : last - start] = joint.sum(axis=1)
        # 0/1 loss of two guesses: the other's mass
        loss[:, first - start : last - start] = joint.sum(axis=0)[::-1]
    return p_xz, loss


def _masses(start: int, stop: int, outcomes: int) -> Any:
    width = 2.0 / (outcomes - 2)
    centres = -0.5 + width * (np.arange(start, stop) - 0.5)
    means = 0.4 * np.arange(2)[:, None, None] + 0.6 * np.arange(2)[None, :, None]
    x = (centres - means) / PAPER_SIGMA
    h = width / PAPER_SIGMA
    masses = (
        np.exp(-0.5 * x**2) * (h / math.sqrt(2.0 * math.pi)) * (1.0 + (x**2 - 1.0) * (h**2 / 24.0))
    )
    for place, edge, side in ((0, -0.5, 1.0), (outcomes - 1, 1.5, -1.0)):
        if start <= place < stop:
            outer = side * (edge - means[:, :, 0]) / (PAPER_SIGMA * math.sqrt(2.0))
            masses[:, :, place - start] = 0.5 * np.vectorize(math.erfc)(-outer)
    return masses


def in_arrays(outcomes: int) -> ds.problems.BlockProblem:
    """The problem in arrays of this process."""
    return ds.problems.block_problem(ds.problems.ArrayBlocks(*sensor(0, outcomes, outcomes)), 0.01)


def in_dask(outcomes: int, parts: int) -> ds.problems.BlockProblem:
    """Return the problem on the workers, in the given number of parts."""
    from dask.delayed import delayed

    cuts = [round(outcomes * k / parts) for k in range(parts + 1)]
    blocks = [delayed(sensor, pure=False)(lo, hi, outcomes) for lo, hi in pairwise(cuts)]
    return ds.problems.from_dask(blocks, budget=0.01)


# -- measuring
# --------------------------------------------------------------------------------------------------


class Timed:
    """Blocks elsewhere that note what every pass takes of this process."""

    def __init__(self, blocks: Any) -> None:
        self.blocks = blocks
        self.n = blocks.n
        self.m = blocks.m
        self.N = blocks.N
        self.spent: list[float] = []

    def chunks(self) -> Iterator[Any]:
        """Return the chunks of the blocks."""
        return self.blocks.chunks()  # type: ignore[no-any-return]

    def fold(self, work: Any, merge: Any, given: Mapping[int, Any] | None) -> Any:
        """Run a pass as the blocks do, and time it."""
        started = time.process_time()
        found = self.blocks.fold(work, merge, given)
        self.spent.append(time.process_time() - started)
        return found


@dataclass
class Run:
    """Solves of one problem: wall seconds, processor seconds of this process and of each worker,
    bytes sent in each pass.
    """

    outcomes: int
    parts: int = 0
    walls: list[float] = field(default_factory=list)
    spent: list[tuple[float, ...]] = field(default_factory=list)
    outside: list[float] = field(default_factory=list)
    passes: int = 0
    sent: float = 0.0
    answer: tuple[str, ...] = ()
    gap: float = 0.0

    @property
    def wall(self) -> float:
        """Return the median wall time."""
        return statistics.median(self.walls)

    @property
    def processor(self) -> float:
        """The median of all processes together."""
        return statistics.median(map(sum, self.spent))

    @property
    def busier(self) -> float:
        """The median of the busier worker."""
        return statistics.median(max(workers) for _, *workers in self.spent)

    @property
    def critical(self) -> float:
        """The median of this process and the busier worker."""
        return statistics.median(own + max(workers, default=0.0) for own, *workers in self.spent)


def _nothing(chunk: Any) -> int:
    return 0


def answer_of(solution: ds.Solution) -> tuple[str, ...]:
    """Every number of a rule and its bracket, to the last bit."""
    rule = solution.rule
    found = solution.certificate
    numbers = [*rule.tilt.ravel(), *rule.columns.ravel(), found.lower, found.upper, found.leakage]
    return (*(float(number).hex() for number in numbers), *map(str, rule.ties.tolist()))


class Cluster:
    """Two processes with a thread each."""

    def __init__(self) -> None:
        from dask import config
        from distributed import Client, LocalCluster

        # Dask's own setting has workers give memory back at every step, and take it again
        for name in ("TRIM", "MMAP"):
            config.set({f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": 1 << 28})
        self._cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=0,
            silence_logs=50,
        )
        self.client = Client(self._cluster)

    def close(self) -> None:
        """End the processes of the cluster."""
        self.client.close()
        self._cluster.close()

    def processor(self) -> tuple[float, ...]:
        """Processor seconds of this process and of each worker so far."""
        return (
            time.process_time(),
            *(seconds for _, seconds in sorted(self.client.run(time.process_time).items())),
        )

    def sent(self) -> int:
        """Bytes that workers have sent so far."""
        return int(
            sum(
                self.client.run(
                    lambda dask_worker: dask_worker.transfer_outgoing_bytes_total
                ).values()
            )
        )


def own_processor() -> tuple[float, ...]:
    """Processor seconds of this process so far."""
    return (time.process_time(),)


def solve(
    problem: ds.problems.BlockProblem, run: Run, processor: Callable[[], tuple[float, ...]]
) -> None:
    """One solve, added to the run."""
    began = processor()
    started = time.perf_counter()
    solution = ds.solve(problem, "tilt")
    run.walls.append(time.perf_counter() - started)
    run.spent.append(
        tuple(after - before for after, before in zip(processor(), began, strict=True))
    )
    run.passes = solution.passes + 1
    run.answer = answer_of(solution)
    run.gap = solution.certificate.relative_gap


def measured(
    cluster: Cluster,
    local: ds.problems.BlockProblem | None,
    outcomes: int,
    parts: int,
    repeats: int,
) -> Any:
    """Runs of the problem in Dask and, alternating, in arrays, if given."""
    problem = in_dask(outcomes, parts)
    timed = Timed(problem.blocks)
    problem = replace(problem, blocks=timed)
    here = Run(outcomes)
    there = Run(outcomes, parts)
    solve(problem, Run(outcomes), cluster.processor)  # loads kernels
    if local is not None:
        solve(local, Run(outcomes), own_processor)
    before = cluster.sent()
    timed.spent = []
    for _ in range(repeats):
        if local is not None:
            solve(local, here, own_processor)
        already = sum(timed.spent)
        solve(problem, there, cluster.processor)
        there.outside.append(there.spent[-1][0] - (sum(timed.spent) - already))
    there.sent = (cluster.sent() - before) / len(timed.spent)
    return there, here


@dataclass(frozen=True)
class Empty:
    """A pass that does nothing: its least wall seconds; processor seconds of this process, and of
    all workers together.
    """

    wall: float
    own: float
    workers: float


def empty_passes(cluster: Cluster) -> dict[int, Empty]:
    """By the number of parts."""
    found = {}
    for parts in _EMPTY_PARTS:
        blocks: Any = _cut(in_dask(parts << 16, parts).blocks, parts)
        blocks.fold(_nothing, sum, None)
        before = cluster.processor()
        spent = []
        for _ in range(_EMPTY):
            started = time.perf_counter()
            blocks.fold(_nothing, sum, None)
            spent.append(time.perf_counter() - started)
        own, *workers = (
            (now - then) / _EMPTY for now, then in zip(cluster.processor(), before, strict=True)
        )
        found[parts] = Empty(min(spent), own, sum(workers))
    return found


def _cut(blocks: Any, parts: int) -> Any:
    """Return the same blocks with one chunk in each part: `from_dask` would put such small ones
    together.
    """
    from dask import persist
    from dask.delayed import delayed

    starts = tuple(blocks.size * k for k in range(parts))
    owner = [max(k for k, first in enumerate(blocks.starts) if first <= start) for start in starts]
    pieces = [
        delayed(_one, pure=False)(blocks.parts[k], start)
        for k, start in zip(owner, starts, strict=True)
    ]
    return replace(blocks, starts=starts, parts=persist(*pieces, optimize_graph=False))


def _one(part: Any, start: int) -> Any:
    at = start - part.start
    p_xz = np.concatenate([pair[0] for pair in part.pairs], axis=1)[:, at : at + part.size]
    loss = np.concatenate([pair[1] for pair in part.pairs], axis=1)[:, at : at + part.size]
    return type(part)(start, part.size, ((p_xz, loss),))


# -- the model
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """Seconds of a pass: latency + parts · each + ⌈parts / workers⌉ (task + outcome · outcomes /
    parts).
    """

    latency: float
    each: float
    task: float
    outcome: float

    @classmethod
    def of(cls, empty: Mapping[int, Empty], single: Run) -> Model:
        """Fitted to passes that do nothing, and to the solve with one part."""
        parts = np.array(list(empty), dtype=float)
        each, latency = np.polyfit(parts, [found.own for found in empty.values()], 1).tolist()
        task = float(np.polyfit(parts, [found.workers for found in empty.values()], 1)[0])
        return cls(
            max(latency, 0.0), each, task, (single.busier / single.passes - task) / single.outcomes
        )

    def seconds(self, outcomes: float, parts: int, workers: int) -> float:
        """Return the modelled seconds of one pass."""
        return (
            self.overhead(parts, workers)
            + math.ceil(parts / workers) * self.outcome * outcomes / parts
        )

    def overhead(self, parts: int, workers: int) -> float:
        """Return the modelled seconds of one pass that are not work on outcomes."""
        return self.latency + parts * self.each + math.ceil(parts / workers) * self.task


# -- the page
# --------------------------------------------------------------------------------------------------


def _superscript(number: int) -> str:
    """The exponent of a power of ten, raised."""
    return str(round(math.log10(number))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def figure(model: Model, passes: int) -> Figure:
    """Seconds of a solve against the number of workers."""
    from discreet.showing.figures import Figure, Series

    lines = []
    for tone, outcomes in enumerate(_LARGE):
        seconds = tuple(passes * model.seconds(outcomes, workers, workers) for workers in _WORKERS)
        label = f"10{_superscript(outcomes)} outcomes"
        lines.append(Series(label, tuple(map(float, _WORKERS)), seconds, kind="both", tone=tone))
    return Figure(
        "model",
        "A solve on many machines, by the model",
        f"{passes} passes; one thread and one part for each worker",
        "workers",
        "seconds",
        tuple(lines),
        "Seconds of a solve against the number of workers, for three numbers of outcomes, on "
        "logarithmic axes.",
        log_x=True,
        log_y=True,
    )


def page(
    local: Run, runs: Sequence[Run], sizes: Sequence[Run], empty: Mapping[int, Empty], model: Model
) -> Section:
    """Return the sections of the report."""
    from discreet.reports.wording import limitations_section
    from discreet.showing.values import Section, Table

    names = ("discreet", "dask", "distributed", "numpy", "numba")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    load = os.getloadavg()[0]
    same = all(run.answer == local.answer for run in runs)
    walls = min(run.wall / local.wall for run in runs)
    processors = min(run.processor / local.processor for run in runs)
    text = f"""Measured on {time.strftime("%Y-%m-%d", time.gmtime())} by `python benchmarks/many_machines.py`:
{os.cpu_count()} cores, load {load:.0f}; Python {sys.version.split()[0]}, {versions}.
Two worker processes with a thread each on this machine; the paper's single sensor, ε = 0.01. Medians of solves
with the judge's pass; arrays and Dask in turn, {len(runs[0].walls)} of each number of parts. *Critical path*:
processor seconds of this process and of the busier worker, which the model below is about."""
    heads = (
        "outcomes",
        "where",
        "parts",
        "seconds",
        "÷ arrays",
        "processor",
        "÷ arrays",
        "critical path",
        "model",
        "path ÷ model",
    )
    arrays = (
        "arrays, two threads",
        "–",
        f"{local.wall:.3g}",
        "1",
        f"{local.processor:.3g}",
        "1",
        "–",
        "–",
        "–",
    )
    lines = [(f"{local.outcomes:,}", *arrays)]
    for run in runs:
        told = run.passes * model.seconds(run.outcomes, run.parts, 2) + statistics.median(
            run.outside
        )
        lines.append(
            (
                f"{run.outcomes:,}",
                "Dask, two processes",
                f"{run.parts}",
                f"{run.wall:.3g}",
                f"{run.wall / local.wall:.2f}",
                f"{run.processor:.3g}",
                f"{run.processor / local.processor:.2f}",
                f"{run.critical:.3g}",
                f"{told:.3g}",
                f"{run.critical / told:.2f}",
            )
        )
    found = f"""At best {walls:.2f} × the wall time of arrays, and {processors:.2f} × their processor time (must: at
most 1.5).
{local.passes} passes each, certified gap {local.gap:.1e}. All answers {"are" if same else "are NOT"} equal,
bit for bit: tilts, columns of ties, and both ends of the bracket."""
    idle = [
        (f"{parts}", f"{1e3 * each.wall:.2f}", f"{1e3 * each.own:.2f}", f"{1e3 * each.workers:.2f}")
        for parts, each in empty.items()
    ]
    sent = [(f"{run.outcomes:,}", f"{run.parts}", f"{run.sent:,.0f}") for run in sizes]
    return Section(
        "Many machines",
        [
            text,
            Table("", heads, lines),
            found,
            Section(
                "Bytes",
                [
                    "A mean over passes. The first one also brings the weights of strips, of "
                    "which there are at most 2¹⁷: "
                    "some 2 MB.",
                    Table("", ("outcomes", "parts", "bytes that workers sent, a pass"), sent),
                ],
            ),
            Section(
                "A pass that does nothing",
                [
                    Table(
                        "",
                        (
                            "parts",
                            "least milliseconds",
                            "processor: this process",
                            "processor: both workers",
                        ),
                        idle,
                    )
                ],
            ),
            Section("The model", _modelled(local, runs, model)),
            limitations_section(_LIMITATIONS),
        ],
    )


def _modelled(local: Run, runs: Sequence[Run], model: Model) -> list[Part]:
    """The model in a sentence, its table, and its figure."""
    from discreet.showing.values import Table

    text = f"""A pass of P parts of N outcomes on W workers takes {
        1e3 * model.latency:.2g} ms + P · {1e3 * model.each:.2g} ms +
⌈P / W⌉ ({1e3 * model.task:.2g} ms + (N / P) · {1e9 * model.outcome:.3g} ns).
With one part for each worker, a solve of the same number of passes:"""
    heads = (
        "outcomes",
        "workers",
        "memory a worker",
        "seconds",
        "of which Dask",
        "bytes that workers send, a pass",
    )
    most = max(run.sent / run.parts for run in runs)
    lines = []
    for outcomes in _LARGE:
        for workers in _WORKERS:
            seconds = model.seconds(outcomes, workers, workers)
            share = model.overhead(workers, workers) / seconds
            memory = f"{32e-9 * outcomes / workers:,.3g} GB"
            sent = f"≤ {workers * most / 1e6:.2g} MB"
            size = f"10{_superscript(outcomes)}"
            lines.append(
                (
                    size,
                    f"{workers:,}",
                    memory,
                    f"{local.passes * seconds:,.3g}",
                    f"{share:.0%}",
                    sent,
                )
            )
    return [text, Table("", heads, lines), figure(model, local.passes)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--outcomes", type=int, default=200_000_000)
    parser.add_argument("--parts", default="1,2,4,8")
    parser.add_argument("--repeats", type=int, default=3)
    from discreet.reports.outputs import write_pages

    parser.add_argument("--out", type=Path, default=Path("reports/many-machines"))
    asked = parser.parse_args(arguments)
    cluster = Cluster()
    try:
        empty = empty_passes(cluster)
        print(
            "passes that do nothing:",
            {parts: f"{1e3 * found.wall:.2f} ms" for parts, found in empty.items()},
            flush=True,
        )
        sizes = [measured(cluster, None, asked.outcomes // by, 2, 1)[0] for by in (100, 10)]
        local = in_arrays(asked.outcomes)
        runs = []
        here = Run(asked.outcomes)
        for parts in map(int, asked.parts.split(",")):
            there, alternating = measured(cluster, local, asked.outcomes, parts, asked.repeats)
            runs.append(there)
            here.walls += alternating.walls
            here.spent += alternating.spent
            here.passes = alternating.passes
            here.answer = alternating.answer
            here.gap = alternating.gap
            print(f"{parts} parts: {there.wall:.3g} s, arrays {alternating.wall:.3g} s", flush=True)
    finally:
        cluster.close()
    model = Model.of(empty, runs[0])
    write_pages(asked.out, page(here, runs, [*sizes, *runs], empty, model))
    return 0 if all(run.answer == here.answer for run in runs) else 1


if __name__ == "__main__":
    raise SystemExit(main())


_LIMITATIONS = (
    "Two worker processes of one machine were measured; every larger number of workers is an estimate of the model.",
)
