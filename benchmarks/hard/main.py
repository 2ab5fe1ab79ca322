"""The command line; one process for every file and solver, limited in processor time; and the
judging of what they find.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hard.solvers import SOLVERS

import discreet as ds
from discreet.reports.study.cells import Instance, instances_of
from discreet.reports.study.exported import InstanceFile, export_study
from discreet.reports.study.plan import read_study

__all__ = ["WITHIN", "Row", "judged", "main", "units"]

_SCRIPT = Path(__file__).resolve().parents[1] / "hard_instances.py"
_MEMORY = 6 << 30  # bytes of a process
WITHIN = 1e-6
"""An answer is right if its objective and its error probability are within this share of the
optimum, and it leaks at most this share more than its budget; at budget 0 no guess may change a
probability of a private value by a larger share of it."""


@dataclass(frozen=True)
class Row:
    """The result of one solver on one instance. Missing numbers are null.

    status     its own word, or "time limit", "killed", "crashed"; claims: whether the word means an
               optimum
    seconds    of the processor, with reading the file
    objective  as an error probability; error: error probability of the lifted estimator; excess: leakage ÷
               budget − 1, at budget 0 by what share a guess may change the probability of a private
               value; right: see WITHIN
    """

    name: str
    solver: str
    status: str
    claims: bool
    seconds: float
    objective: float | None = None
    error: float | None = None
    excess: float | None = None
    right: bool = False


def main(arguments: Sequence[str] | None = None) -> int:
    """Export, solve what is missing, and write the report; 0."""
    parser = argparse.ArgumentParser(
        description="Run current solvers on the hard instances, and record which they solve."
    )
    parser.add_argument(
        "--files", required=True, help="folder of the exported files and of the results so far"
    )
    parser.add_argument(
        "--out", default="reports/instances", help="path of the report without its ending"
    )
    parser.add_argument("--seconds", type=int, default=30, help="processor time for each")
    parser.add_argument("--only", default="", help="only instances whose name has this text")
    parser.add_argument(
        "--solvers", default=",".join(SOLVERS), help="only these, separated by commas"
    )
    parser.add_argument(
        "--child", nargs=3, metavar=("SOLVER", "FILE", "ANSWER"), help=argparse.SUPPRESS
    )
    asked = parser.parse_args(arguments)
    if asked.child:
        return _child(*asked.child)
    folder = Path(asked.files)
    files, _ = export_study(read_study("hard"), folder, overwrite=False)
    instances, _ = instances_of(read_study("hard"))
    ordered = sorted(instances, key=lambda each: each.problem.N * each.problem.m * each.problem.n)
    for solver in asked.solvers.split(","):
        for instance in (each for each in ordered if asked.only in each.slug):
            _row(instance, solver, files, folder, asked.seconds)
    from hard.report import write

    write(
        Path(asked.out),
        files,
        [_known(path) for path in sorted((folder / "results").glob("*.json"))],
        asked.seconds,
    )
    return 0


def _known(path: Path) -> Row:
    return Row(**json.loads(path.read_text(encoding="utf-8")))


def _row(
    instance: Instance, solver: str, files: Sequence[InstanceFile], folder: Path, seconds: int
) -> None:
    """The row of an instance and a solver that reads one of its files, kept on disk."""
    ending = SOLVERS[solver].ending
    path = next(
        (
            file.path
            for file in files
            if file.instance.slug == instance.slug and file.path.suffix == ending
        ),
        None,
    )
    kept = folder / "results" / f"{instance.slug}--{solver.replace(' ', '-')}.json"
    if path is None or kept.exists():
        return
    if any(f":{word}" in line for word in SOLVERS[solver].lacks for line in _head(path)):
        return
    row = _solved(instance, solver, path, folder, seconds)
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(asdict(row), indent=1) + "\n", encoding="utf-8")
    print(
        f"{row.name:60} {solver:14} {row.status:24} {row.seconds:6.1f} s  "
        f"{'right' if row.right else 'wrong'}",
        flush=True,
    )


def _head(path: Path) -> list[str]:
    """The lines before the entries, which name the cones."""
    with path.open(encoding="ascii") as stream:
        return [line for line, _ in zip(stream, range(2000), strict=False)]


def _solved(instance: Instance, solver: str, path: Path, folder: Path, seconds: int) -> Row:
    answer = folder / "answer.npz"
    answer.unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [
        sys.executable,
        str(_SCRIPT),
        "--files",
        str(folder),
        "--child",
        solver,
        str(path),
        str(answer),
    ]

    def limited() -> None:
        # a signal at the first, the end at the second
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))

    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limited)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    if done.returncode != 0 or not answer.exists():
        ends = {-signal.SIGXCPU: "time limit", -signal.SIGKILL: "killed"}
        return Row(
            instance.slug, solver, ends.get(done.returncode, "crashed"), False, round(spent, 2)
        )
    said = json.loads(done.stdout.splitlines()[-1])
    row = Row(instance.slug, solver, said["status"], said["claims"], round(spent, 2))
    with np.load(answer) as stored:
        variables = stored["variables"]
    if said["objective"] is None or not np.isfinite(variables).all():
        return row
    return judged(
        row, instance.problem, float(said["objective"]), variables, SOLVERS[solver].ending == ".mps"
    )


def judged(row: Row, problem: ds.Problem, objective: float, variables: Any, linear: bool) -> Row:
    """The row with what the judge finds, compared with the certified bracket of the best own
    answer.
    """
    offset, unit = units(problem, linear)
    best = ds.solve(problem).certificate
    found = ds.certify(problem, ds.lift(problem, variables)).certificate
    assert best is not None
    assert found is not None
    claimed = offset + unit * objective
    excess = found.own_private_within if problem.perfect else found.own_leakage_ratio - 1.0
    near = all(
        best.lower * (1.0 - WITHIN) <= each <= best.upper * (1.0 + WITHIN)
        for each in (claimed, found.own_error)
    )
    values = {"objective": claimed, "error": found.own_error, "excess": excess}
    plain = {name: value if math.isfinite(value) else None for name, value in values.items()}
    return Row(**{**asdict(row), **plain, "right": bool(near and excess <= WITHIN)})


def units(problem: ds.Problem, linear: bool) -> tuple[float, float]:
    """The error probability at objective 0 and that of a unit, as the comment of the file states
    them.
    """
    from discreet.backends.exchange.files import export_lines

    said = next(
        line
        for line in export_lines(problem, "mps" if linear else "cbf")
        if "error probability =" in line
    )
    words = said.split()
    return float(words[-5]), float(words[-3])


def _child(solver: str, path: str, answer: str) -> int:
    found = SOLVERS[solver].solve(Path(path))
    np.savez(answer, variables=np.zeros(0) if found.variables is None else found.variables)
    objective = (
        None
        if found.objective is None or not math.isfinite(found.objective)
        else float(found.objective)
    )
    print(json.dumps({"status": found.status, "claims": found.claims, "objective": objective}))
    return 0
