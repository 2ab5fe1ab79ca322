"""The command line: which batches there are, the processes that do them, and the scratch folder
they are written to.

`tilt` gets all kinds of problem but `small` and `chains`; `sequence-form` gets `chains`; every other
backend gets `small`, `measures`, `secrets`, `gains` and `catalog`, and less time for each. Ten
thousand problems of the other kinds would take the slowest backends hours. `--each` asks for so
many problems of each kind instead.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from campaigns.batches import Asked, Batch, Row, done
from campaigns.instances import KINDS
from campaigns.report import Run, write

from discreet.backends.contract import Kind, Policy
from discreet.backends.registry import availability, capabilities, load_backend, own_backends
from discreet.cli.screen import progress
from discreet.reports.outputs import replace_file

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[2]
_TURN = 0.5  # seconds between two looks at the clock
_STOPPED = 5.0  # seconds between two looks that only a stopped process lets pass
_SIZE = 500
_SIZES = {"weighted": 50, "large": 50}  # problems of a batch, which is lost if it is broken off
_TILT = {
    "edge": 0.36,
    "underflow": 0.1,
    "given": 0.1,
    "measures": 0.1,
    "secrets": 0.02,
    "gains": 0.02,
    "rare": 0.01,
    "rare-secrets": 0.007,
    "rare-blocks": 0.003,
    "sparse": 0.08,
    "dirichlet": 0.1,
    "catalog": 0.08,
    "blocks": 0.038,
    "weighted": 0.001,
    "large": 0.001,
}
_OVER_TIME = {"chains": 0.2}
_OTHERS = {"small": 0.5, "measures": 0.15, "secrets": 0.1, "gains": 0.05, "catalog": 0.2}


def main(arguments: Sequence[str] | None = None) -> int:
    """Do the batches that are missing, and write the report; 1 if a certificate is false."""
    asked = _parser().parse_args(arguments)
    os.environ.update(
        dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    )
    names, absent = _backends(asked.backends)
    plan = [batch for name in names for batch in _planned(name, asked)]
    if not plan:
        print(
            "nothing is asked for; choose backends that are installed, and kinds among",
            *KINDS,
            file=sys.stderr,
        )
        return 2
    limits = {
        name: asked.time_limit if name == "tilt" else asked.others_time_limit for name in names
    }
    settings = {name: Asked(asked.seed, time_limit=limit) for name, limit in limits.items()}
    codes = {name: _code(name) for name in names}
    scratch = Path(asked.scratch)
    paths = {
        batch: scratch
        / f"{batch.backend}-{codes[batch.backend]}"
        / f"{batch.name}-{settings[batch.backend].name}.json"
        for batch in plan
    }
    if not asked.report:
        _work(_in_turn(plan), settings, paths, asked.jobs, asked.minutes)
    found = [(batch, *_stored(paths[batch])) for batch in plan if paths[batch].exists()]
    rows = [row for _, _, batch_rows in found for row in batch_rows]
    seconds = {
        name: sum(spent for batch, spent, _ in found if batch.backend == name) for name in names
    }
    write(Path(asked.out), rows, Run(settings, codes, seconds, len(plan) - len(found), absent))
    false = sum(bool(row.false) for row in rows)
    print(
        f"{len(rows):,} problems solved, {sum(row.checked for row in rows):,} certificates "
        f"checked, {false} false"
    )
    return 1 if false else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Look for a false certificate.")
    parser.add_argument("--tilt", type=int, default=100_000, metavar="K", help="problems for tilt")
    parser.add_argument(
        "--others", type=int, default=10_000, metavar="K", help="problems for every other backend"
    )
    parser.add_argument(
        "--each", type=int, default=0, metavar="K", help="problems of each kind instead of shares"
    )
    parser.add_argument("--backends", type=_listed, help="only these, separated by commas")
    parser.add_argument(
        "--kinds", type=_listed, default=list(KINDS), help="only these, separated by commas"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--time-limit", type=float, default=5.0, metavar="S", help="seconds for an attempt of tilt"
    )
    parser.add_argument(
        "--others-time-limit", type=float, default=0.25, metavar="S", help="of every other backend"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="begin no batch after this time"
    )
    scratch = Path(tempfile.gettempdir()) / "discreet-campaign"
    parser.add_argument(
        "--scratch", default=str(scratch), metavar="FOLDER", help="where rows are kept between runs"
    )
    parser.add_argument(
        "--out", default=str(_ROOT / "reports" / "campaign"), help="the report, without its ending"
    )
    parser.add_argument(
        "--report", action="store_true", help="only write the report of what there is"
    )
    return parser


def _listed(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _backends(chosen: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """The backends for arrays and for steps that can run here, and those that cannot; a policy is
    no method.
    """
    able = [
        name
        for name, each in capabilities().items()
        if name in own_backends() and each.kinds & {Kind.ARRAYS, Kind.STEPS}
    ]
    able = [
        name
        for name in able
        if (not chosen or name in chosen) and not isinstance(load_backend(name), Policy)
    ]
    here = [name for name in able if availability(name).state == "available"]
    return here, [name for name in able if name not in here]


_ROOMS = ("problems", "judge", "measures", "numerics", "files", "storage")
"""Rooms of the package on which every row depends."""


def _code(name: str) -> str:
    """A number that changes with the backend, and with what draws, judges and checks: rows of two
    codes never mix.

    A backend is the files of its folder. Files directly in `backends` belong to every backend.
    """
    package = _ROOT / "discreet"
    benchmarks = _ROOT / "benchmarks"
    folder = _ROOT.joinpath(*own_backends()[name].partition(":")[0].split(".")[:-1])
    files = {
        *(path for room in _ROOMS for path in package.glob(f"{room}/**/*.py")),
        *package.glob("*.py"),
        *package.glob("backends/*.py"),
        *folder.glob("*.py"),
    }
    files |= set(package.glob("verification/*.py"))
    files |= {
        package / each for each in ("reports/second_opinion.py", "reports/crosscheck/instances.py")
    }
    drawn = ("instances.py", "gains.py", "rare.py", "underflow.py", "batches.py")
    files |= {
        benchmarks / "random_problems.py",
        benchmarks / "guesses_over_time.py",
        *(benchmarks / "campaigns" / each for each in drawn),
    }
    found = hashlib.sha256()
    for path in sorted(files):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def _planned(name: str, asked: argparse.Namespace) -> Iterator[Batch]:
    """The batches of a backend, by kind in proportion to its share, or a given number of each kind."""
    problems = asked.tilt if name == "tilt" else asked.others
    kinds = {"tilt": _TILT, "sequence-form": _OVER_TIME}.get(name, _OTHERS)
    for kind, share in kinds.items():
        size = _SIZES.get(kind, _SIZE)
        count = asked.each or round(share * problems)
        count *= kind in asked.kinds
        for first in range(0, count, size):
            yield Batch(name, kind, first, min(size, count - first))


def _in_turn(plan: Sequence[Batch]) -> list[Batch]:
    """So that what is done when time is over is spread over backends and kinds: by the share of its
    kind done before it.
    """
    last = {(batch.backend, batch.kind): batch.first + batch.count for batch in plan}
    return sorted(plan, key=lambda batch: batch.first / last[batch.backend, batch.kind])


def _work(
    plan: Sequence[Batch],
    settings: Mapping[str, Asked],
    paths: Mapping[Batch, Path],
    jobs: int,
    minutes: float,
) -> None:
    """Do what is missing, until all is done, the minutes are over, or somebody stops it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    ends = time.monotonic() + 60.0 * minutes
    todo = [batch for batch in plan if not paths[batch].exists()]
    context = get_context("spawn")
    with (
        progress() as tell,
        ProcessPoolExecutor(
            jobs, context, partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
        ) as pool,
    ):
        running: dict[Future[tuple[float, list[Row]]], Batch] = {}
        looked = time.monotonic()
        while todo or running:
            try:
                while todo and len(running) < jobs and time.monotonic() < ends:
                    batch = todo.pop(0)
                    running[pool.submit(_timed, batch, settings[batch.backend])] = batch
                if not running:
                    break
                finished, _ = wait(running, timeout=_TURN, return_when=FIRST_COMPLETED)
                now = time.monotonic()
                if now - looked > _STOPPED:
                    todo = [*running.values(), *todo]
                    running = {}
                looked = now
                for future in finished:
                    if future in running:
                        _store(paths[running.pop(future)], *future.result())
                tell(
                    len(plan) - len(todo) - len(running),
                    len(plan),
                    " ".join(each.name for each in running.values()),
                )
            except KeyboardInterrupt:
                print(f"stopping after {len(running)} batches that have begun", file=sys.stderr)
                todo = []
                ends = 0.0


def _timed(batch: Batch, settings: Asked) -> tuple[float, list[Row]]:
    started = time.monotonic()
    rows = done(batch, settings)
    return time.monotonic() - started, rows


def _store(path: Path, seconds: float, rows: Sequence[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, json.dumps({"seconds": seconds, "rows": [asdict(row) for row in rows]}))


def _stored(path: Path) -> tuple[float, list[Row]]:
    found = json.loads(path.read_text(encoding="utf-8"))
    return found["seconds"], [Row(**row) for row in found["rows"]]
