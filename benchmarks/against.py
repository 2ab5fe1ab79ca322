"""`tilt` of this tree against `tilt` of another, on the tasks of a study: the same arrays, solved
in turn.

    .venv/bin/python benchmarks/against.py OTHER_TREE [--study default] [--largest 300000] [--only
    TEXT]

OTHER_TREE is a checkout of another commit (`git worktree add ../before COMMIT`); it uses the
libraries of this environment. Each tree has a process, which is warm after a first solve. The time
of a task is the least processor time of many solves, since other work on the machine only adds to
it. The trees take turns. All is repeated with new processes, since one process may be slower by a
quarter than another that runs the same code. The gap is the 1e-9 of the profile "default".

Prints a row for each task with the ratio of times, this tree ÷ the other. Then it prints the
geometric mean of the ratios, the largest, how many are above 1.15, and the tasks that one of the
trees does not certify.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from discreet.problems import Problem

_GAP = 1e-9
_SLOWER = 1.15  # a row with a larger ratio counts as slower
_SECONDS = 0.05  # time for the solves of a task in one turn
_TURNS = 10  # short ones: slow moments of the machine come to both trees
_PAIRS = 3  # of processes

_WORKER = """
import json, pathlib, sys, time
import numpy as np
import discreet
assert pathlib.Path(discreet.__file__).parents[1] == pathlib.Path.cwd(), discreet.__file__
for line in sys.stdin:
    path, budget, repeats = json.loads(line)
    with np.load(path) as held:
        problem = discreet.Problem(held["p_xz"], held["loss"], budget)
    least = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        solved = discreet.solve(problem, backend="tilt", gap={gap}, settings={{"threads": 1}}, time_limit=60.0)
        least = min(least, time.process_time() - started)
    print(json.dumps([solved.status.value, solved.relative_gap, solved.iterations, least]), flush=True)
"""


class Tree:
    """A process that solves problems with the code of a tree."""

    def __init__(self, root: Path) -> None:
        self._root = root
        environment = dict(
            os.environ, PYTHONPATH=str(root), OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _WORKER.format(gap=_GAP)],
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # the process ends when its input does

    def solve(self, path: Path, budget: float, repeats: int) -> tuple[str, float, int, float]:
        """Status, relative gap, iterations, and the least processor time of `repeats` solves in
        seconds.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps([str(path), budget, repeats]), file=self._process.stdin, flush=True)
            status, gap, iterations, seconds = json.loads(self._process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise SystemExit(f"the process of {self._root} has failed") from None
        return status, gap, iterations or 0, seconds


def tasks(study: str, largest: int, only: str) -> Iterator[tuple[str, Problem]]:
    """The study's tasks for `tilt` at the profile "default" with a finite budget and N n m ≤
    largest.
    """
    # asv imports this file at commits without reports, too.
    from discreet.reports.study.cells import cells_of
    from discreet.reports.study.plan import read_study

    for cell in cells_of(read_study(study)).cells:
        problem = cell.instance.problem
        wanted = cell.configuration.label == "tilt" and cell.profile.name == "default"
        small = problem.N * problem.n * problem.m <= largest
        if wanted and small and problem.budget < np.inf and only in cell.title:
            yield f"{cell.instance.words} {cell.instance.budget_word}", problem


def compared(trees: tuple[Tree, Tree], path: Path, problem: Problem) -> list[tuple[Any, ...]]:
    """The best turn of each tree, this one first."""
    first = [tree.solve(path, problem.budget, 1) for tree in trees]
    repeats = max(1, min(6, int(_SECONDS / max(row[3] for row in first))))
    return better(
        first,
        *([tree.solve(path, problem.budget, repeats) for tree in trees] for _ in range(_TURNS)),
    )


def better(*turns: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """For each tree the turn with the least time."""
    return [min(rows, key=lambda row: row[3]) for rows in zip(*turns, strict=True)]


def main() -> None:
    """Print the comparison of both checkouts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path, help="a checkout of another commit")
    parser.add_argument("--study", default="default", help="a shipped study or a file")
    parser.add_argument(
        "--largest", type=int, default=300_000, help="leave out tasks with a larger N n m"
    )
    parser.add_argument("--only", default="", help="take tasks with this text in their titles")
    given = parser.parse_args()
    if not (given.other / "discreet").is_dir():
        parser.error(f"{given.other} is not a checkout of discreet")
    wanted = list(tasks(given.study, given.largest, given.only))
    if not wanted:
        parser.error(
            f"the study {given.study} has no task with N n m ≤ {given.largest} and "
            f"{given.only!r} in its title"
        )
    found: dict[str, list[tuple[Any, ...]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(_PAIRS):
            with (
                Tree(Path(__file__).resolve().parents[1]) as this,
                Tree(given.other.resolve()) as other,
            ):
                for number, (title, problem) in enumerate(wanted):
                    held = Path(folder) / f"{number}.npz"
                    np.savez(held, p_xz=problem.p_xz, loss=problem.loss)
                    rows = compared((this, other), held, problem)
                    found[title] = better(rows, *([found[title]] if title in found else []))
    report(found, wanted)


def report(found: dict[str, list[tuple[Any, ...]]], wanted: list[tuple[str, Problem]]) -> None:
    """Print a row for each task, and the summary."""
    ratios = []
    uncertified = []
    print(
        f"{'task':52} {'N n m':>8} {'iterations':>11} {'other ms':>9} {'this ms':>9} {'ratio':>6}"
    )
    for title, problem in wanted:
        this, other = found[title]
        ratios.append(this[3] / other[3])
        for who, row in (("this", this), ("the other", other)):
            if row[0] != "certified":
                uncertified.append(f"{title}: {row[0]} in {who} tree")
        size = problem.N * problem.n * problem.m
        counts = f"{other[2]} → {this[2]}"
        print(
            f"{title:52} {size:8} {counts:>11} {1e3 * other[3]:9.2f} {1e3 * this[3]:9.2f} "
            f"{ratios[-1]:6.2f}"
        )
    mean = float(np.exp(np.mean(np.log(ratios))))
    slower = sum(ratio > _SLOWER for ratio in ratios)
    print(
        f"\ngeometric mean {mean:.2f}, largest {max(ratios):.2f}, above {_SLOWER}: {slower} of "
        f"{len(ratios)}"
    )
    print("certified by both" if not uncertified else "\n".join(uncertified))


if __name__ == "__main__":
    main()
