"""Answers of other programs to the problems of a study: read from files, judged, verified, and
written as rows next to the measured ones.

An answer is a file in a folder, called like the exported instance that it answers
(`Instance.slug`):

    NAME.txt   the variables of the exported program, in its order, separated by white space; and
               lines of comment, # seconds: 0.52 # claimed: optimal
    NAME.npz   the same as members `variables`, `seconds` and `claimed`; or instead of variables an
               `estimator`, perhaps with `tilt` and `multiplier`

Statements of a file about its own quality are ignored. The judge gets the duals of the file, if
there are any, and the duals of our own answer, because any duals prove a bound: a row states how
good the answer is, not what its author could prove. Times cannot be checked;
`Measurement.submitted` marks rows whose times were stated by their author.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from discreet.backends import isolated
from discreet.backends.attempts import Attempt
from discreet.backends.contract import Answer, Options
from discreet.backends.exchange.files import lift
from discreet.backends.registry import backend_names
from discreet.backends.run import conclude
from discreet.backends.solution import Solution, Status, Timings
from discreet.checks import brief, nearest, real_numbers
from discreet.errors import FileError, InputError
from discreet.problems.constraint import each_entry
from discreet.reports.measurements import Configuration, Measurement
from discreet.reports.outputs import Watch
from discreet.reports.study.cells import Cell, Instance, instances_of
from discreet.reports.study.plan import AccuracyProfile, Study
from discreet.reports.study.runner import row_of
from discreet.storage.archive import DEFAULT_MAX_BYTES, read_archive
from discreet.storage.texts import read_text

_ENDINGS = (".txt", ".npz")
_ARRAYS = ("variables", "estimator", "tilt", "multiplier", "seconds")
_TEXTS = ("claimed", "metadata", "exact_columns")
_SAID = re.compile(r"^#\s*(seconds|claimed)\s*:(.*)$", flags=re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Submission:
    """An answer to an instance: an estimator [m, N], duals if there are any, and what its author
    states about it.
    """

    instance: Instance
    path: Path
    answer: Answer
    seconds: float
    claimed: str

    @property
    def digest(self) -> str:
        """Return "sha256:" and the hash of the file."""
        with self.path.open("rb") as stream:
            return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def check_program(name: str) -> str:
    """Return the name of a program as a label. Raises InputError for the name of a backend and for
    a name that the notation of backends does not allow.
    """
    if not (0 < len(name) <= 60 and name.isprintable() and name == name.strip()) or set(name) & set(
        ",:=†|"
    ):
        raise InputError(
            f"{brief(name)} is not the name of a program; give up to 60 characters "
            "without commas, colons, = and †"
        )
    if name in backend_names():
        raise InputError(
            f"{name!r} is a backend of discreet; give the program another name, such "
            "as one with its version"
        )
    return name


def submissions(study: Study, folder: str | Path) -> tuple[Sequence[Submission], Sequence[str]]:
    """Return the answers in a folder, in the order of the study, and sentences about problems of
    the study without an answer.

    Raises FileError for a folder without answers, an answer to a problem that is not in the study,
    two answers to one problem, or an answer that cannot be used.
    """
    instances, sentences = instances_of(study)
    known = {instance.slug: instance for instance in instances}
    try:
        paths = sorted(path for path in Path(folder).iterdir() if path.suffix in _ENDINGS)
    except (OSError, ValueError) as error:
        raise FileError(
            f"{str(folder)!r} is not a folder of answers: "
            f"{getattr(error, 'strerror', None) or error}; give one"
        ) from None
    if not paths:
        raise FileError(
            f"{str(folder)!r} holds no answers; name them after the exported files, "
            "NAME.txt or NAME.npz"
        )
    path_of = dict[str, Path]()
    for path in paths:
        if path.stem not in known:
            raise FileError(
                f"{path} answers no problem of the study "
                f"{study.name!r}{nearest(path.stem, known)}; name it after the "
                "exported file"
            )
        if path.stem in path_of:
            raise FileError(
                f"{path_of[path.stem]} and {path.name} answer the same problem; keep one of them"
            )
        path_of[path.stem] = path
    missing = len(known) - len(path_of)
    more = [f"{missing} of {len(known)} problems of the study have no answer"] if missing else []
    return [_read(known[slug], path_of[slug]) for slug in known if slug in path_of], [
        *sentences,
        *more,
    ]


def _read(instance: Instance, path: Path) -> Submission:
    read = _read_numbers if path.suffix == ".npz" else _read_words
    try:
        answer, seconds, claimed = read(instance, path)
    except FileError:
        raise
    except InputError as error:
        raise FileError(f"{path}: {error}") from None
    if not 0.0 < seconds < math.inf:
        raise FileError(
            f"{path} does not say how long it took; state seconds above 0, in a text "
            "as a line # seconds: 0.52"
        )
    return Submission(instance, path, answer, seconds, claimed)


def _read_words(instance: Instance, path: Path) -> tuple[Answer, float, str]:
    text = read_text(path, 1 << 28)
    said = {name: value.strip() for name, value in _SAID.findall(text)}
    numbers = " ".join(line.partition("#")[0] for line in text.splitlines()).split()
    try:
        variables = np.array(numbers, dtype=np.float64)
        seconds = float(said.get("seconds", math.nan))
    except ValueError as error:
        raise FileError(
            f"{path} holds something that is not a number: {error}; give the variables alone"
        ) from None
    return Answer(lift(instance.problem, variables)), seconds, said.get("claimed", "")


def _read_numbers(instance: Instance, path: Path) -> tuple[Answer, float, str]:
    stored = read_archive(path, arrays=_ARRAYS, texts=_TEXTS, max_bytes=DEFAULT_MAX_BYTES)
    problem = instance.problem
    arrays = stored.arrays
    if ("variables" in arrays) == ("estimator" in arrays):
        raise FileError(
            f"{path} needs one of variables and estimator; give the variables of the "
            "program or an estimator"
        )
    if ("tilt" in arrays) != ("multiplier" in arrays):
        raise FileError(f"{path} has one of tilt and multiplier; give both or none")
    if "estimator" in arrays:
        estimator = real_numbers("estimator", arrays["estimator"], (problem.m, problem.N))
    else:
        estimator = lift(problem, arrays["variables"].ravel())
    tilt = None
    multipliers = None
    if "tilt" in arrays:
        tilt = real_numbers("tilt", arrays["tilt"], (problem.m, problem.n))
        multipliers = each_entry("multiplier", arrays["multiplier"], len(problem.terms))
    seconds = float(real_numbers("seconds", arrays.get("seconds", math.nan), ()))
    return Answer(estimator, tilt, multipliers), seconds, stored.texts.get("claimed", "")


def judge_submissions(
    study: Study,
    program: str,
    submitted: Sequence[Submission],
    keep: Callable[[Measurement], None],
    watch: Watch | None = None,
) -> list[Measurement]:
    """Judge answers and return their rows, one for each profile of the study; every row is passed
    to `keep` at once.
    """
    rows = list[Measurement]()
    for done, each in enumerate(submitted):
        if watch is not None:
            watch(done, len(submitted), each.instance.slug)
        best = isolated.solve_isolated(each.instance.problem, time_limit=study.limits.time_limit)
        for profile in study.profiles:
            rows.append(_row(study, program, each, profile, best))
            keep(rows[-1])
    return rows


def _row(
    study: Study, program: str, submission: Submission, profile: AccuracyProfile, best: Solution
) -> Measurement:
    cell = Cell(
        study.name, submission.instance, Configuration(program), profile, 0, study.limits, ""
    )
    solutions = list(_judge_submission(program, submission, profile, best))
    solution = min(
        solutions, key=lambda each: (each.status is not Status.CERTIFIED, each.relative_gap)
    )
    row = row_of(cell, _attempt(program, submission, submission.answer), solution)
    key = hashlib.sha256(
        "\n".join((submission.instance.problem.digest, program, repr(profile.gap))).encode()
    ).hexdigest()[:16]
    return replace(row, cell=key, submitted=submission.digest, machine={}, wall_seconds=0.0)


def _judge_submission(
    program: str, submission: Submission, profile: AccuracyProfile, best: Solution
) -> Iterable[Solution]:
    """Return the verdicts by the answer's own duals, or duals derived from it, and by the duals of
    our answer.
    """
    own = (submission.answer.tilt, submission.answer.multipliers)
    for tilt, multipliers in (own, (best.tilt, best.multipliers)):
        answer = Answer(submission.answer.estimator, tilt, multipliers)
        yield conclude(
            submission.instance.problem, _attempt(program, submission, answer), Options(profile.gap)
        )


def _attempt(program: str, submission: Submission, answer: Answer) -> Attempt:
    timings = Timings(solve_seconds=submission.seconds)
    return Attempt(program, answer, None, claimed=submission.claimed or None, timings=timings)
