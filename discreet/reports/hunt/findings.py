"""The files of a hunt: its state, and for the simplest find the instance, the exact bracket, a
script and a draft of a report.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.backends.exchange.files import FORMATS, export_lines, formats_of
from discreet.backends.isolated import attempt_isolated
from discreet.backends.run import conclude
from discreet.errors import FileError
from discreet.measures.registry import measure_of
from discreet.problems.provenance import version_of
from discreet.reports.hunt.candidates import Candidate
from discreet.reports.hunt.scripts import library_of, reproduced, script
from discreet.reports.hunt.search import COUNTS, MARGIN, Find, Progress, Quarry, find_in
from discreet.reports.outputs import write_folder
from discreet.showing.data import plain
from discreet.showing.markdown import markdown
from discreet.showing.values import Facts, Section
from discreet.storage.texts import read_text
from discreet.verification import verify

_STATE = "hunt.json"
_INSTANCES = tuple(f"instance{each.ending}" for each in FORMATS.values())
NAMES = (_STATE, "report.md", "reproduce.py", *_INSTANCES)
"""Every file that a hunt may write, in addition to the manifest."""

_LARGEST = 1 << 20  # largest state, in bytes
_LIMIT = 60.0  # seconds for examining a find, and for a script


def save(folder: Path, quarry: Quarry, known: Progress, *, overwrite: bool = False) -> None:
    """Write the state of a hunt, so that it can continue; raises FileError."""
    text = json.dumps(_record(quarry, known), indent=1) + "\n"
    write_folder(folder, {_STATE: text}, {"command": "discreet hunt"}, overwrite=overwrite)


def _record(
    quarry: Quarry, known: Progress, find: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    best = known.best
    return {
        "made_by": "discreet hunt",
        "version": version_of("discreet"),
        **_request(quarry),
        **known.counts,
        "candidate": best
        and {
            "weights": best.weights.tolist(),
            "losses": best.losses.tolist(),
            "budget": best.amount,
            "measure": str(best.measure),
        },
        "find": find,
    }


def _request(quarry: Quarry) -> dict[str, Any]:
    return {
        "backend": quarry.configuration.label,
        "gap": quarry.options.gap,
        "seed": quarry.seed,
    }


def resume(folder: Path, quarry: Quarry) -> Progress:
    """Return where the hunt of a folder stopped; an empty progress without a state. Raises
    FileError for a hunt with other options, and for a file that is not a state.
    """
    path = folder / _STATE
    if not path.exists():
        return Progress()
    try:
        state = json.loads(read_text(path, _LARGEST))
        asked = {name: state[name] for name in _request(quarry)}
        record = state["candidate"]
        known = Progress(
            **{name: state[name] for name in COUNTS}, best=record and _candidate(record)
        )
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(
            f"{path} is not the state of a hunt ({error}); choose another --out"
        ) from None
    if asked != _request(quarry):
        words = ", ".join(f"{name} {value}" for name, value in asked.items())
        raise FileError(f"{folder} holds a hunt with {words}; choose another --out")
    return known


def _candidate(record: Mapping[str, Any]) -> Candidate:
    return Candidate(
        np.array(record["weights"], dtype=float),
        np.array(record["losses"], dtype=float),
        float(record["budget"]),
        measure_of(record["measure"]),
    )


def examine(quarry: Quarry, candidate: Candidate) -> Find | None:
    """Examine a candidate in a process of its own and return its find; None if the claim is right
    this time.
    """
    problem = candidate.problem()
    assert problem is not None  # it was found on one
    options = replace(quarry.options, time_limit=_LIMIT)
    tried = attempt_isolated(problem, quarry.configuration.backend, options, threads=1)
    return find_in(candidate, conclude(problem, tried, options), quarry)


def write(
    folder: Path, quarry: Quarry, known: Progress, find: Find, *, overwrite: bool = False
) -> tuple[Path, ...]:
    """Write a find next to the state, and run its script; raises FileError."""
    title = _title(quarry, find)
    text = script(find, quarry.configuration, quarry.options, title)
    output = "" if text is None else _run(text)
    shown = find.record | {"reproduced": None if text is None else plain(reproduced(output))}
    contents = {
        _STATE: json.dumps(_record(quarry, known, shown), indent=1) + "\n",
        "report.md": markdown([_report(quarry, known, find, title, output)]) + "\n",
        **({} if text is None else {"reproduce.py": text}),
        **{
            f"instance{FORMATS[name].ending}": "\n".join(
                [*export_lines(find.problem, name, find.reference.certificate), ""]
            )
            for name in formats_of(find.problem)
        },
    }
    return write_folder(folder, contents, {"command": "discreet hunt"}, overwrite=overwrite)


def _title(quarry: Quarry, find: Find) -> str:
    return (
        f"{quarry.configuration.label} claims {find.solution.claimed!r} and is wrong by "
        f"{find.wrong_by:.2g}"
    )


def _run(text: str) -> str:
    """Return the output of a script, run in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "reproduce.py")
        path.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run(
                [sys.executable, "-P", str(path)],
                capture_output=True,
                text=True,
                timeout=_LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ""
    return done.stdout


def _report(quarry: Quarry, known: Progress, find: Find, title: str, output: str) -> Section:
    """Return a draft of the report to the authors of the solver."""
    problem = find.problem
    judged = find.solution.certificate
    assert judged is not None  # the claim is wrong about at least one of them
    exact = verify(problem, find.reference)
    term = problem.terms[0]
    facts = Facts(
        "What is true of the answer",
        [
            ("claimed", str(find.solution.claimed)),
            ("asked for", f"a relative gap of {quarry.options.gap:g}"),
            ("least error probability", f"in [{exact.bracket[0]!r}, {exact.bracket[1]!r}]"),
            ("error probability of the answer", repr(judged.own_error)),
            (f"budget of {term.measure}", repr(term.budget.amount)),
            ("leakage of the answer", repr(judged.only.own_leakage)),
            ("versions", _versions(quarry, find)),
        ],
    )
    return Section(
        title,
        [
            f"The problem has {problem.n} private values, {problem.m} guesses and {problem.N} "
            "outcomes. The bracket of the least error probability was proven by exact arithmetic. "
            f"The files `instance.*` hold the program; their comments say what it means.",
            facts,
            _reproduction(quarry, output),
            Section("The problem", [_as_code(find.candidate)]),
            Section(
                "The hunt",
                [
                    f"In {known.seconds:.0f} s discreet tried {known.tried} problems. "
                    f"The solver claimed success on {known.claims} of them and was wrong on "
                    f"{known.wrong}, by more than {MARGIN:g} times the gap that was asked "
                    "for. This is the simplest problem that shrinking led to."
                ],
            ),
        ],
    )


def _versions(quarry: Quarry, find: Find) -> str:
    library = library_of(quarry.configuration)
    others = {} if library is None else {library: version_of(library)}
    versions = {**find.solution.versions, **others}
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _reproduction(quarry: Quarry, output: str) -> str:
    wrong = reproduced(output)
    if wrong > MARGIN * quarry.options.gap:
        return (
            "`reproduce.py` shows the same by the solver's own interface:\n\n"
            f"```text\n{output.strip()}\n```"
        )
    again = f"`discreet hunt {quarry.configuration.label}` on the folder examines it again."
    if output:
        return (
            f"By the solver's own interface, `reproduce.py` is wrong by {wrong:.2g} only. {again}"
        )
    return f"There is no script by the solver's own interface. {again}"


def _as_code(candidate: Candidate) -> str:
    """Return the numbers of a candidate as Python code."""
    return (
        "```text\n"
        f"weights = {candidate.weights.tolist()}  # p(x, z) times their sum\n"
        f"losses = {candidate.losses.tolist()}  # of each guess and outcome, times the same sum\n"
        f"budget = {candidate.amount!r}  # of {candidate.measure}\n"
        "```"
    )
