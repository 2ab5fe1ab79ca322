"""The command line, and one process for every timed case."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from large.child import case_rows, leave
from large.table import Row
from leakages.cases import CASES, TARGETS
from leakages.report import Found, write
from leakages.study import measured

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[2]
_BENCHMARKS = _ROOT / "benchmarks"
_LIMIT_SECONDS = 600.0
_PARTS = ("study", *CASES, "against")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the page; 1 when a target is missed, 0 otherwise."""
    asked = _parser().parse_args(arguments)
    if asked.child:
        leave(CASES[asked.child](asked.quick), asked.result)
        return 0
    chosen = [part for part in _PARTS if not asked.only or part in asked.only]
    started = time.time()
    attempts = measured(asked.reference, asked.quick, _tell) if "study" in chosen else []
    more = ["--quick"] * asked.quick
    rows = [
        row
        for name in CASES
        if name in chosen
        for row in case_rows("by_measure.py", name, more, _LIMIT_SECONDS)
    ]
    for row in rows:
        _judge(row, quick=asked.quick)
        _tell(
            f"{row.case}: {row.work}: {'–' if row.seconds is None else f'{row.seconds:.3g} s'} "
            f"{row.status} {row.verdict}"
        )
    against = _against(asked.against) if asked.against and "against" in chosen else None
    write(asked.out, Found(tuple(attempts), tuple(rows), against, started, asked.quick))
    return 1 if any(row.missed for row in rows) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Who solves which measure of leakage, to what gap and how fast."
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes, half a minute: to see that everything runs",
    )
    parser.add_argument("--only", action="append", choices=_PARTS, help="one part; repeatable")
    parser.add_argument(
        "--against",
        type=Path,
        metavar="TREE",
        help="another checkout, only for mutual information",
    )
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="FILE",
        help="where the rows of the study go, for advice",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=_ROOT / "reports" / "by-measure",
        help="the page, without its ending",
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--result", help=argparse.SUPPRESS)
    return parser


def _tell(words: str) -> None:
    print(words, flush=True)


def _judge(row: Row, *, quick: bool) -> None:
    """Targets are about `tilt`, in full size."""
    target = TARGETS.get(row.case.partition("-")[0])
    if (
        target is None
        or "tilt" not in row.work
        or (target.multiple is not None and not row.reference)
    ):
        return
    row.target = target.words
    row.judged = not quick
    row.missed = target.missed(row) if row.judged else []


def _against(other: Path) -> tuple[float, float, int, str]:
    """(geometric mean, largest, number) of the ratios of times, this tree ÷ the other, on the study
    `quick`; its commit.
    """
    command = [sys.executable, str(_BENCHMARKS / "against.py"), str(other), "--study", "quick"]
    said = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
    )
    found = re.search(
        r"geometric mean ([\d.]+), largest ([\d.]+), above [\d.]+: \d+ of "
        r"(\d+)",
        said.stdout,
    )
    if found is None:
        raise SystemExit(f"against.py has said something else: {said.stdout[-300:]}")
    _tell(said.stdout)
    commit = subprocess.run(
        ["git", "-C", str(other), "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    )
    return float(found[1]), float(found[2]), int(found[3]), commit.stdout.strip() or "unknown"
