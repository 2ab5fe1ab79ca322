"""Rows of measurements: one measured attempt as a flat row, and reading such rows back. The study,
the report and the advice use them.

A *measurement* is one cell of a study: one instance, one backend with settings, one accuracy
profile and one repeat, run in its own process and judged. It holds everything that it depends on,
so that rows of different days, machines and versions can be kept in one table. Files hold one
column per field, named as below; mappings are JSON text, undefined numbers are empty.

Rows are read from `.csv` and `.csv.gz` files with the standard library only (the reference results
shipped with the package are such a file), or from the Parquet files of a study
(`discreet.reports.study`, extra `bench`).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from discreet.backends.solution import GAIN_TOLERANCE, PRIVACY_TOLERANCE, Status
from discreet.checks import brief, format_value
from discreet.errors import FileError
from discreet.judge.privacy import PRIVATE_LIMIT
from discreet.lazy import cached_property
from discreet.measures.mutual_information import MutualInformation
from discreet.measures.registry import measure_of
from discreet.problems.constraint import are_numbered
from discreet.problems.problem import Problem
from discreet.reports.outputs import replace_file
from discreet.showing.data import csv_text, plain, remove_guard
from discreet.storage.texts import read_text
from discreet.storage.writing import marked

_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)


SUBMITTED = "†"
"""The mark of programs whose times are as their authors state them."""

SHARED = "‡"
"""The mark of times that are not compared, since other work may have slowed the attempt."""


def format_label(name: str, values: Mapping[str, Any]) -> str:
    """Return name:key=value,key=value as typed on the command line; lists are written with
    commas.
    """
    words = [f"{key}={format_value(value)}" for key, value in values.items()]
    return f"{name}:{','.join(words)}" if words else name


@dataclass(frozen=True)
class Configuration:
    """A solver configuration: a backend with settings.

    profiles      names of the accuracy profiles of a study under which it runs; None means all
    environment   requirements of the environment in which it runs, separated by spaces; empty: the
                  Python that runs here
    """

    backend: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    profiles: tuple[str, ...] | None = None
    environment: str = ""

    @property
    def label(self) -> str:
        """Return the label as typed on the command line, such as conic, conic:solver=scs or
        conic@clarabel==0.9.0.
        """
        label = format_label(self.backend, self.settings)
        return f"{label}@{self.environment}" if self.environment else label

    def named_in(self, words: Sequence[str]) -> bool:
        """Return whether one of the words is this label, or the name of its backend, which selects
        all its settings.
        """
        return self.label in words or self.backend in words


@dataclass(frozen=True)
class Measurement:
    """One attempt and the judge's result. Undefined numbers are inf (−inf for `lower`), so that
    comparisons with them err on the safe side.

    study, cell              name of the study; key of the cell: a hash of everything that makes it
                             this cell
    problem                  what people type: paper-single:bins=64
    entry, family            catalog name and family ("file" for both, where the problem came from a
                             file)
    parameters               the entry's parameters, all of them, by name
    budget_word              how the budget was asked for: fraction=0.5, budget=0.01,
                             equivocation=0.3, perfect, or own (the problem's own: of the file, or
                             the default of the catalog entry)
    budget_nats              ε in nats, or the unit of `measure`, as all leakages; 0 is perfect
                             privacy, inf no constraint
    private_values, guesses, outcomes   n, m, N as posed
    bayes_error, bayes_leakage_nats, constant_error   landmarks of the problem
    problem_hash             hash of p_xz, loss and budget
    backend, settings        the backend and its settings; `label` is how people type both
    settings_hash            hash of the settings and of what the profile asked for
    profile, gap_target      accuracy profile and the relative certified gap it asks for
    repeat                   0, 1, … of the same cell otherwise
    status, message          what became of it, and why; `traceback` is the backend's where it
                             raised
    claimed                  the backend's own word; never scored
    upper, lower             the certified bracket of the least error probability, after repair
    relative_gap             (upper − lower) / upper, as that of `Certificate`
    own_error, own_leakage_nats, own_phi_residual     of the backend's own answer, before any repair
    iterations               as the backend counts them
    lower_seconds … certify_seconds   wall-clock seconds of the steps; certifying is the judge's
    peak_bytes               largest resident memory of the process; `solve_bytes` beyond what its
                             imports took
    time_limit_seconds, memory_limit_bytes   limits of the attempt
    threads                  threads allowed to BLAS, OpenMP and the backend
    versions                 of discreet, Python, the solver and every layer between
    machine                  processor, cores, memory_gib, system
    commit                   of discreet's checkout; empty outside one
    started                  UTC, ISO 8601, to the second

    Since the second version of the format, with defaults for older files:

    profile_settings         what the profile set in the backend besides the gap, by the names of
                             its settings
    samples                  seconds of every run of the cell in its process, the first (cold)
                             first. The *_seconds are those of the median of the other runs, or of
                             the first if it is the only one; the answer is the first's
    wall_seconds             of the whole cell: starting the process, importing, all runs, judging;
                             0 where nothing ran
    private_within           at budget 0, δ: the bracket is about the estimators private within it
                             (0: the exactly private ones); inf at other budgets, and in rows older
                             than this column
    distinct_outcomes        N after merging proportional outcomes and pruning those of no mass;
                             None if not counted
    contradictions           how many statements of a certified row `verify` contradicts; None where
                             it was not asked
    own_private_within       at budget 0, the δ of the backend's own answer (0: it is exactly
                             private); inf as above
    leakage_ceiling_nats     proven upper bound of what the estimator behind `upper` leaks; inf in
                             rows older than it
    measure                  of leakage, as it is typed: mutual-information in rows older than it
    secrets                  how many constraints; of several the leakages are the largest multiples
                             of a budget, which is 1
    submitted                digest of the file in which another program left the answer: `backend`
                             is its name then, and the times are as its author states them; empty
                             for attempts that were run here
    executor                 what ran it: local, one at a time; or loky, dask, submitit; empty where
                             that was not recorded
    host                     name of the machine that ran it; "host 1", … in what is published
    cells_at_once            how many cells of the study were under way, or handed in, at once while
                             it was, on all hosts
    load                     how many processes wanted to run on the host on average in the minute
                             before; inf: not known
    control_seconds          of the control before and after it (`study.control`); () where none ran
    environment              requirements of the environment in which it ran; empty: none of its own
    """

    study: str
    cell: str
    problem: str
    entry: str
    family: str
    parameters: Mapping[str, Any]
    budget_word: str
    budget_nats: float
    private_values: int
    guesses: int
    outcomes: int
    bayes_error: float
    bayes_leakage_nats: float
    constant_error: float
    problem_hash: str
    backend: str
    settings: Mapping[str, Any]
    settings_hash: str
    profile: str
    gap_target: float
    repeat: int
    status: Status
    message: str = ""
    traceback: str = ""
    claimed: str = ""
    upper: float = math.inf
    lower: float = -math.inf
    relative_gap: float = math.inf
    own_error: float = math.inf
    own_leakage_nats: float = math.inf
    own_phi_residual: float = math.inf
    iterations: int | None = None
    lower_seconds: float = 0.0
    solve_seconds: float = 0.0
    lift_seconds: float = 0.0
    certify_seconds: float = 0.0
    peak_bytes: int | None = None
    solve_bytes: int | None = None
    time_limit_seconds: float = math.inf
    memory_limit_bytes: int | None = None
    threads: int = 1
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    commit: str = ""
    started: str = ""
    profile_settings: Mapping[str, Any] = field(default_factory=dict)
    samples: tuple[float, ...] = ()
    wall_seconds: float = 0.0
    distinct_outcomes: int | None = None
    contradictions: int | None = None
    private_within: float = math.inf
    own_private_within: float = math.inf
    leakage_ceiling_nats: float = math.inf
    measure: str = MutualInformation.name
    secrets: int = 1
    submitted: str = ""
    executor: str = ""
    host: str = ""
    cells_at_once: int = 1
    load: float = math.inf
    control_seconds: tuple[float, ...] = ()
    environment: str = ""

    @cached_property
    def label(self) -> str:
        """Return the solver configuration as typed on the command line, such as conic or
        conic:solver=scs. A submitted one has a mark.
        """
        configuration = Configuration(
            self.backend, self.settings, environment=self.environment
        ).label
        return f"{configuration} {SUBMITTED}" if self.submitted else configuration

    @property
    def instance(self) -> str:
        """Return the problem and the budget, as typed."""
        return f"{self.problem} {self.budget_word}".rstrip()

    @property
    def limit(self) -> str:
        """Return the budget as it was asked for, and its measure unless that is mutual
        information.
        """
        return (
            self.budget_word
            if self.measure == MutualInformation.name
            else f"{self.budget_word} of {self.measure}"
        )

    @property
    def regime(self) -> str:
        """Return perfect, constrained or oblivious. Budget 0 is perfect privacy, except for the
        gain of an adversary.
        """
        if self.budget_nats == 0.0 and Stakes.of_row(self).separates:
            return "perfect"
        return "oblivious" if math.isinf(self.budget_nats) else "constrained"

    @property
    def certified(self) -> bool:
        """Return whether the judge certified the requested gap and the answer kept the budget."""
        return self.status is Status.CERTIFIED

    @property
    def answered(self) -> bool:
        """Return whether there is a certified bracket, regardless of its width."""
        return math.isfinite(self.upper)

    @property
    def seconds(self) -> float:
        """Return the backend's own time: lowering, solving and lifting, without the judge."""
        return self.lower_seconds + self.solve_seconds + self.lift_seconds

    @property
    def shared(self) -> bool:
        """Return whether the cell ran concurrently with others, or on a machine that may run other
        programs.
        """
        return self.executor not in ("", "local")

    @property
    def timings(self) -> tuple[float, ...]:
        """Return the seconds of the repeated runs in its process, or of the only run; zero and
        infinite times are left out.
        """
        return tuple(
            seconds for seconds in self.samples[1:] or (self.seconds,) if 0.0 < seconds < math.inf
        )

    @property
    def leakage_over_budget(self) -> float:
        """Return the leakage of the backend's own answer ÷ budget; 0 without a constraint.

        At budget 0 there is no such ratio. There it is the answer's δ ÷ the largest δ that counts
        as private, or ‖ΦP‖∞ ÷ 1e-13 in rows older than δ. For the gain of an adversary it is the
        leakage ÷ the tolerance of a gain.
        """
        if not self.answered:
            return math.inf
        if self.budget_nats > 0.0:
            return self.own_leakage_nats / self.budget_nats
        if self.regime != "perfect":
            return self.own_leakage_nats / GAIN_TOLERANCE
        known = math.isfinite(self.own_private_within)
        return self.own_private_within / PRIVATE_LIMIT if known else self.own_phi_residual / 1e-13

    @property
    def violated(self) -> bool:
        """Return whether the backend's own answer exceeded the privacy budget."""
        if self.budget_nats == 0.0:
            return self.status is Status.VIOLATED_PRIVACY
        return self.answered and self.leakage_over_budget > 1.0 + PRIVACY_TOLERANCE


def group_by(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Group items by their keys; keys and items keep the order in which they come."""
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


@dataclass(frozen=True)
class Stakes:
    """The budget and the leakage of the Bayes rule, in the unit of the measure.

    With several constraints the unit is their budgets: the budget is 1, and the leakage of the
    Bayes rule is its largest multiple of a budget.
    """

    measure: str
    secrets: int
    budget: float
    bayes_leakage: float

    @property
    def separates(self) -> bool:
        """Return whether budget 0 is perfect privacy by every measure."""
        return all(measure_of(word).separates for word in self.measure.split(" and "))

    @classmethod
    def of_row(cls, row: Measurement) -> Stakes:
        """Return the budget and the Bayes leakage of a measured problem."""
        return cls(row.measure, row.secrets, row.budget_nats, row.bayes_leakage_nats)

    @classmethod
    def of(cls, problem: Problem) -> Stakes:
        """Return the budget and the Bayes leakage of a problem."""
        budgets = [term.budget.amount for term in problem.terms]
        leaked = problem.bayes_leakages.tolist()
        measure = " and ".join(dict.fromkeys(map(str, problem.measures)))
        if not are_numbered(budgets) or problem.perfect or problem.oblivious:
            return cls(measure, len(budgets), budgets[0], max(leaked))
        return cls(measure, len(budgets), 1.0, max(map(share, leaked, budgets)))


def share(leaked: float, budget: float) -> float:
    """Return leaked ÷ budget. It is 0 if nothing is leaked or there is no constraint, and inf if
    the budget is 0 and something is leaked.
    """
    if leaked == 0.0 or math.isinf(budget):
        return 0.0
    return leaked / budget if budget > 0.0 else math.inf


def landmarks(problem: Problem) -> dict[str, Any]:
    """Return the sizes, the budget and the landmarks of a problem by the names of records; leakages
    are in the units of `Stakes`.
    """
    stakes = Stakes.of(problem)
    return {
        "measure": stakes.measure,
        "secrets": stakes.secrets,
        "private_values": problem.n,
        "guesses": problem.m,
        "outcomes": problem.N,
        "budget_nats": stakes.budget,
        "entropy_x_nats": problem.entropy_x if stakes.secrets == 1 else math.nan,
        "bayes_error_probability": problem.bayes_error,
        "bayes_leakage_nats": stakes.bayes_leakage,
        "constant_error_probability": problem.constant_error,
    }


# -- records: what a file holds
# ------------------------------------------------------------------------------------------

KINDS = get_type_hints(Measurement)
"""Column -> the type of its values."""

_LARGEST_FILE = 1 << 27  # bytes, unpacked
COLUMNS = tuple(each.name for each in fields(Measurement))


def to_record(row: Measurement) -> dict[str, str | int | float | None]:
    """Return the row as plain values by column: mappings become JSON text, and values that are not
    finite become None.
    """
    values = ((name, getattr(row, name)) for name in COLUMNS)
    return {
        name: json.dumps(value, sort_keys=True, ensure_ascii=False)
        if isinstance(value, Mapping | tuple)
        else plain(value)
        for name, value in values
    }


def from_record(record: Mapping[str, Any], where: str) -> Measurement:
    """Return the row of a record, whose values may be text. `where` names the place for messages.

    Unknown columns are ignored, and columns with defaults may be missing. Raises FileError for a
    required column that is missing or a value of the wrong kind.
    """
    values: dict[str, Any] = {}
    for each in fields(Measurement):
        if each.name not in record and (each.default, each.default_factory) != (MISSING, MISSING):
            continue  # a file of before this column
        text = record.get(each.name)
        if text in (None, ""):
            undefined = {float: -math.inf if each.name == "lower" else math.inf, str: ""}
            if KINDS[each.name] in undefined:
                values[each.name] = undefined[KINDS[each.name]]
            continue
        try:
            values[each.name] = _READ[KINDS[each.name]](text)
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise FileError(
                f"{where}: column {each.name} holds {brief(text)}, which is not its kind of value"
            ) from None
    try:
        row = Measurement(**values)
    except TypeError:
        missing = next(name for name in COLUMNS if name not in values)
        raise FileError(
            f"{where}: column {missing} is missing; these are not results of discreet bench"
        ) from None
    if not all(
        0.0 <= each < math.inf for each in (row.seconds, *row.samples, *row.control_seconds)
    ):
        raise FileError(
            f"{where} has a time that is missing or below 0; these are not results of "
            "discreet bench"
        )
    return row


def _number(kind: type, least: float, text: Any) -> Any:
    value = kind(text)
    if not least <= value <= 1e100:
        raise ValueError(f"not from {least} to 1e100")
    return value


def _json(kind: type, text: Any) -> Any:
    value = json.loads(text)
    if not isinstance(value, kind):
        raise ValueError(f"not a {kind.__name__}")
    return value


_READ: dict[Any, Any] = {
    tuple[float, ...]: lambda text: tuple(float(number) for number in _json(list, text)),
    str: str,
    int: partial(_number, int, 0),
    int | None: partial(_number, int, 0),
    float: partial(_number, float, -1e100),
    Status: Status,
    Mapping[str, Any]: partial(_json, dict),
    Mapping[str, str]: partial(_json, dict),
}


IS_RESULTS = marked(",".join(COLUMNS[:5]))
"""Recognises a file of results."""


def write_csv(rows: Iterable[Measurement], path: Path) -> None:
    """Write rows to `.csv` or `.csv.gz`, all or nothing; equal rows give equal bytes. Raises
    FileError.
    """
    data = csv_text(COLUMNS, (to_record(row).values() for row in rows)).encode("utf-8")
    replace_file(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def read_csv(path: Path) -> list[Measurement]:
    """Return the rows of a `.csv` or `.csv.gz` file. Raises FileError, naming the line, if its
    content is not what `write_csv` writes.
    """
    text = read_text(path, _LARGEST_FILE)
    if not text:
        raise FileError(
            f"{path} is empty; give a file that discreet bench or discreet report wrote"
        )
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        cells = (
            {k: remove_guard(v) if isinstance(v, str) else v for k, v in record.items()}
            for record in reader
        )
        return [from_record(record, f"{path}, line {reader.line_num}") for record in cells]
    except csv.Error as error:
        raise FileError(
            f"{path}, line {reader.line_num} is not a line of results: {error}; remove it"
        ) from None


def reference_measurements(name: str = "measurements") -> list[Measurement]:
    """Return the results shipped with the package: those of the default study, or those of the
    study "measures", which may be empty.
    """
    path = Path(__file__).with_name("reference") / f"{name}.csv.gz"
    return read_csv(path) if name == "measurements" or path.exists() else []
