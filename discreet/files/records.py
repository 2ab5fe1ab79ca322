"""Problems and solutions as files.

A problem is an `.npz` file with `joint` [n, m, N], or `p_xz` [n, N] and `loss` [m, N]; optionally
`budget` (nats of mutual information), or `constraint`, and `name`. `constraint` is JSON: measure
and budget; or, for several constraints or a conditional measure, a list of these, each with
`groups`, the numbers of rows of `p_xz` that share a prior. A solution is an `.npz` file with
`estimator` [m, N] or the members of a rule, `tilt` [m, n], `multiplier` and `metadata` (JSON). Both
contain a `version`, and the report of the table that the problem came from, if there is one
(`counted`).

Any other content is refused in one sentence that names the file and the member (`FileError`).
Nothing is ever unpickled, and writing is all or nothing (`archive`). Laws
(tests/problems/test_files.py): saving and loading preserves every bit; changing any bytes of a file
gives a FileError or the same content.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import as_numbers, check_entries, freeze, whole
from discreet.errors import FileError, InputError
from discreet.files import counted
from discreet.measures.measure import Measure
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.registry import measure_of
from discreet.numerics.double_double import Array
from discreet.problems.blocks import BlockProblem
from discreet.problems.constraint import LeakageBudget, Term, arrays_of, measure_asked, only_of
from discreet.problems.outcome_rules import RULE_FIELDS, OutcomeRule, as_rule
from discreet.problems.problem import Problem
from discreet.problems.samples import SampleReport
from discreet.storage.archive import (
    DEFAULT_MAX_BYTES,
    Archive,
    member_names,
    read_archive,
    write_archive,
)
from discreet.storage.writing import check_output, path_text

VERSION = 1
"""Of the files of problems and solutions; those without the member `version` have this one too."""

_PathLike = str | os.PathLike[str]
_RULE = ("rule_tilt", *RULE_FIELDS)
_SOLUTION = {"tilt", "multiplier", "metadata"}  # in addition to an estimator or a rule
_AnyModel = TypeVar("_AnyModel", Problem, BlockProblem)


# -- problems
# --------------------------------------------------------------------------------------------------


def load_problem(
    path: _PathLike,
    *,
    budget: float | None = None,
    equivocation: float | None = None,
    default_budget: float | None = None,
    measure: str | Measure | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Problem:
    """Read a problem file. `budget` or `equivocation` (nats) replaces the budget of the file,
    `default_budget` a missing one.

    measure: of the given budget; a conditional measure is about X given Y, which needs a joint in
    the file. max_bytes bounds the array data the file may declare. Raises FileError for anything
    wrong with the file, or if it has no budget and none is given; InputError if the given budget is
    out of range.
    """
    where = path_text(path)
    stored = stored_model(where, max_bytes)
    arrays = model_arrays(where, stored)

    def build(name: str, terms: tuple[Term, ...] | None) -> Problem:
        if terms is not None:
            return Problem.of_rows(arrays.get("p_xz"), arrays.get("loss"), terms, name=name)
        if "joint" in arrays:
            return Problem.from_joint(arrays["joint"], math.inf, measure=asked, name=name)
        return Problem(arrays["p_xz"], arrays["loss"], math.inf, name=name)

    asked = None if measure is None else measure_of(measure)
    wanted = budget if budget is None or asked is None else LeakageBudget(budget, asked)
    problem = under_budget(where, stored, build, wanted, equivocation, default_budget)
    if (report := counted.report_of(where, stored)) is not None:
        values = [{len(labels)} for labels in report.private_labels.values()]
        sizes = (len(report.guesses), len(report.counts))
        if values != [{*term.sizes} for term in problem.terms] or sizes != (problem.m, problem.N):
            raise FileError(
                f"{where}: samples are about other guesses, secrets or outcomes; "
                "write it with save_problem"
            )
        freeze(problem, samples=report)
    return problem


def stored_model(where: str, max_bytes: int | None) -> Archive:
    """Return the content of a problem file; its arrays are mapped if max_bytes is None."""
    arrays = ("joint", "p_xz", "loss", "budget", "version", *counted.ARRAYS)
    stored = read_archive(
        where, arrays=arrays, texts=("name", "constraint", counted.TEXT), max_bytes=max_bytes
    )
    _check_version(where, stored)
    return stored


def model_arrays(where: str, stored: Archive) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of the model in a problem file: either `joint`, or `p_xz` and `loss`.
    Raises FileError for other arrays.
    """
    arrays = {
        name: array
        for name, array in stored.arrays.items()
        if name not in ("budget", "version", *counted.ARRAYS)
    }
    if set(arrays) not in ({"joint"}, {"p_xz", "loss"}):
        held = ", ".join(sorted(arrays)) or "no model"
        raise FileError(
            f"{where} holds {held}; a problem needs joint [n, m, N], or both p_xz [n, "
            "N] and loss [m, N]"
        )
    return arrays


def under_budget(
    where: str,
    stored: Archive,
    build: Callable[[str, tuple[Term, ...] | None], _AnyModel],
    budget: float | LeakageBudget | None,
    equivocation: float | None,
    default_budget: float | None = None,
) -> _AnyModel:
    """Return the problem of a file, built by `build`, under the given budget or equivocation,
    otherwise under the budget of the file or the default.

    A problem of one secret is first built without a constraint: errors of this step are errors of
    the file (FileError), while a wrong budget may come from the caller.
    """
    terms, own = _own_constraint(where, stored)
    if terms is None and own is None and default_budget is not None:
        own = LeakageBudget(default_budget)
    name = printable(where, stored.texts.get("name", ""))
    given = budget is not None or equivocation is not None
    try:
        problem = build(name, terms)
        if own is not None and not given:
            problem = problem.with_budget(own)
    except InputError as error:
        raise FileError(f"{where}: {error}") from None
    if not given and terms is None and own is None:
        raise FileError(
            f"{where} holds no budget; pass budget= or equivocation= in nats "
            "(on the command line --leakage, --equivocation, --perfect or --fraction)"
        )
    if not given:
        return problem
    if terms is not None and math.inf == budget and equivocation is None:
        return problem.with_budget([math.inf] * len(terms))
    own_measure = None
    if own is not None and measure_asked(budget, None) is None:
        own_measure = own.measure
    return problem.with_budget(budget, equivocation=equivocation, measure=own_measure)


def _own_constraint(
    where: str, stored: Archive
) -> tuple[tuple[Term, ...] | None, LeakageBudget | None]:
    """Return the terms of `constraint`, if the file has several, and the budget of the only
    constraint in the form of `budget` or of older files.
    """
    if "constraint" not in stored.texts:
        if "budget" not in stored.arrays:
            return None, None
        return None, _budget_of(where, _scalar(where, stored, "budget"), MUTUAL_INFORMATION)
    if "budget" in stored.arrays:
        raise FileError(f"{where} has both budget and constraint; keep one")
    try:
        document = json.loads(stored.texts["constraint"])
        if isinstance(document, list):
            return _terms_of(where, document, stored.arrays), None
        return None, _budget_of(where, document["budget"], measure_of(document["measure"]))
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise FileError(
            f"{where}: constraint cannot be read ({error}); write it with save_problem"
        ) from None


def _terms_of(where: str, records: Sequence[Any], arrays: Mapping[str, Any]) -> tuple[Term, ...]:
    terms = list[Term]()
    for each in records:
        budget = _budget_of(where, each["budget"], measure_of(each["measure"]))
        sizes = [whole(size, f"{where}: a size of groups", 1) for size in each["groups"]]
        terms.append(Term.of(budget, sizes, terms[-1].rows.stop if terms else 0))
        if not sizes or (len(sizes) > 1 and not budget.measure.conditional):
            raise FileError(
                f"{where}: a constraint has the groups {sizes}; only a conditional "
                "measure has several"
            )
    if not terms or "joint" in arrays:
        raise FileError(
            f"{where}: several constraints need p_xz and loss; write them with save_problem"
        )
    return tuple(terms)


def _budget_of(where: str, amount: Any, measure: Measure) -> LeakageBudget:
    try:
        return LeakageBudget(amount, measure)
    except InputError as error:
        raise FileError(f"{where}: {error}") from None


def save_problem(
    path: _PathLike, problem: Problem | BlockProblem, *, overwrite: bool = False
) -> None:
    """Write a problem (p_xz, loss, budget, name, report of its samples), all or nothing. Raises
    FileError, InputError.
    """
    problem = arrays_of("save_problem", problem)
    where = path_text(path)
    members: dict[str, Any] = {"version": VERSION, "p_xz": problem.p_xz, "loss": problem.loss}
    if problem.measures == (MUTUAL_INFORMATION,):
        members["budget"] = np.float64(problem.budget)
    else:  # under another name, so that no reader mistakes it for nats of mutual information
        constraints = [
            {"groups": each.sizes, "measure": str(each.measure), "budget": each.budget.amount}
            for each in problem.terms
        ]
        members["constraint"] = np.array(json.dumps(constraints))
    if printable(where, problem.name):
        members["name"] = np.array(problem.name)
    write_archive(where, members | counted.report_members(problem.samples), overwrite=overwrite)


# -- solutions
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StoredSolution:
    """The content of a solution file: data, not a proof; judge it with `certify(problem, estimator,
    tilt, multipliers)`.

    estimator    P_il [m, N], column-stochastic; or a rule
    tilt         t_ij [m, n] of the dual bound; except at ties, the guess is argmin_i L_il + Σ_j
                 t_ij a_jl
    multipliers  μ ≥ 0 [C], error probability per nat; inf for perfect privacy
    metadata     the record of the solution (`Solution.to_dict()`), and the date of writing
    samples      how the table became the problem, if the problem came from a table
    """

    estimator: Array | OutcomeRule
    tilt: Array
    multipliers: Array
    metadata: Mapping[str, Any]
    samples: SampleReport | None = None

    @property
    def multiplier(self) -> float:
        """The multiplier μ of the only constraint; InputError if there are several."""
        return float(only_of(self.multipliers, ".multipliers"))

    def matrix(self, problem: Problem) -> Array:
        """Return the estimator as a matrix [m, N], computed from the rule if necessary."""
        return as_rule(self.estimator).matrix(problem)


def load_solution(path: _PathLike, *, max_bytes: int = DEFAULT_MAX_BYTES) -> StoredSolution:
    """Read a solution file. Raises FileError for anything wrong with it."""
    where = path_text(path)
    known = ("estimator", "tilt", "multiplier", "version", *_RULE, *counted.ARRAYS)
    stored = read_archive(
        where, arrays=known, texts=("metadata", "exact_columns", counted.TEXT), max_bytes=max_bytes
    )
    _check_version(where, stored)
    form = set(_RULE) if "rule_tilt" in stored.arrays else {"estimator"}
    missing = {*form, *_SOLUTION} - {*stored.arrays, *stored.texts}
    if missing:
        raise FileError(
            f"{where} has no {sorted(missing)[0]}; a solution holds estimator, tilt, "
            "multiplier and metadata"
        )
    multipliers = _multipliers(where, stored)
    tilt = stored.arrays["tilt"]
    estimator = _rule(where, stored) if "rule_tilt" in form else stored.arrays["estimator"]
    estimator = _check_answer(where, estimator, tilt, multipliers)
    report = counted.report_of(where, stored)
    if report is not None and as_rule(estimator).shape != (
        len(report.guesses),
        len(report.counts),
    ):
        raise FileError(
            f"{where}: samples are about other guesses or outcomes than estimator; "
            "write it with save_solution"
        )
    for array in stored.arrays.values():
        array.setflags(write=False)
    return StoredSolution(
        estimator, tilt, multipliers, _metadata(where, stored.texts["metadata"]), report
    )


def _rule(where: str, stored: Archive) -> OutcomeRule:
    """Return the rule of a solution file."""
    tilt, ties, columns, _, towards, _, classes = (stored.arrays[name] for name in _RULE)
    try:
        share = _scalar(where, stored, "share")
        band = _scalar(where, stored, "band")
        return OutcomeRule(tilt, ties.astype(np.int64), columns, share, towards, band, classes)
    except InputError as error:
        raise FileError(f"{where}: {error}") from None


def solution_members(
    estimator: Array | OutcomeRule,
    tilt: Array,
    multipliers: Array,
    exact: Mapping[int, Sequence[int]] | None = None,
) -> dict[str, Any]:
    """Return the members of a solution file except its record, by name: an estimator [m, N] or a
    rule, the duals, and exact columns.

    exact: outcome → integers proportional to its column, which replaces the column of the
    estimator.
    """
    members = as_rule(estimator).members() | {"tilt": tilt, "multiplier": multipliers}
    if exact:
        text = json.dumps(
            {str(outcome): [hex(weight) for weight in column] for outcome, column in exact.items()}
        )
        members["exact_columns"] = np.array(text)
    return members


def save_solution(
    path: _PathLike,
    estimator: Array | OutcomeRule,
    tilt: Array,
    multipliers: ArrayLike,
    metadata: Mapping[str, Any],
    *,
    exact: Mapping[int, Sequence[int]] | None = None,
    samples: SampleReport | None = None,
    overwrite: bool | None = None,
) -> None:
    """Write a solution, all or nothing.

    estimator    [m, N] or a rule
    tilt         [m, n]
    multipliers  ≥ 0 or inf [C]
    metadata     for JSON
    exact        outcome → integers proportional to its column, for `verify` (perfect privacy)
    samples      the report of the table that the problem came from
    overwrite    True replaces any file, False none, and None only a solution

    Raises FileError if the arrays are not those of a solution, the metadata cannot be written as
    JSON (NaN and inf cannot) or the file cannot be written.
    """
    where = path_text(path)
    try:
        tilt = as_numbers(tilt, "tilt", "[m, n]")
        prices = np.atleast_1d(as_numbers(multipliers, "multiplier", "[C] or one number"))
    except (InputError, TypeError) as error:
        raise FileError(f"{where}: {error}") from None
    estimator = _check_answer(where, estimator, tilt, prices)
    try:
        text = json.dumps(dict(metadata), allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise FileError(
            f"{where}: the metadata cannot be written as JSON ({error}); give plain finite values"
        ) from None
    if overwrite is None:
        check_output(path, is_solution)
    members = solution_members(estimator, tilt, prices, exact)
    members |= {"version": VERSION, "metadata": np.array(text)}
    write_archive(path, members | counted.report_members(samples), overwrite=overwrite is not False)


def is_solution(path: Path) -> bool:
    """Return True if a file has the members of a solution."""
    return member_names(path) >= _SOLUTION


def _check_answer(where: str, estimator: Any, tilt: Array, multipliers: Array) -> Any:
    """Return the estimator of a solution, an array or a rule, after checking its parts."""
    if tilt.ndim != 2 or not tilt.size:
        raise FileError(f"{where}: tilt has shape {list(tilt.shape)}; give [m, n]")
    try:
        rule = as_rule(estimator).checked(len(tilt))
        check_entries(tilt, "tilt", signed=True)
    except InputError as error:
        raise FileError(f"{where}: {error}") from None
    if not (multipliers >= 0.0).all():
        raise FileError(
            f"{where}: multiplier is {multipliers}; give numbers ≥ 0 (inf at perfect privacy)"
        )
    return rule.answer


def _metadata(where: str, text: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        document = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise FileError(
            f"{where}: metadata is not JSON ({error}); write it with save_solution"
        ) from None
    if not isinstance(document, dict):
        raise FileError(
            f"{where}: metadata is a JSON {type(document).__name__}, not an object; "
            "write it with save_solution"
        )
    return document


def stated_budgets(path: _PathLike) -> list[LeakageBudget]:
    """Return the budgets for which a solution was made, one for each constraint, as its metadata
    state them; none if they do not.
    """
    try:
        with np.load(path) as members:
            record = json.loads(str(members["metadata"]))
        return [_stated_budget(each) for each in record.get("constraints", [record])]
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError):
        return []


def _stated_budget(record: Mapping[str, Any]) -> LeakageBudget:
    measure = measure_of(record.get("measure", MUTUAL_INFORMATION))
    name = "budget" if "unit" in record else f"budget{measure.suffix}"
    amount = record[name]
    return LeakageBudget(math.inf if amount is None else amount, measure)


# -- small members
# --------------------------------------------------------------------------------------------------


def _check_version(where: str, stored: Archive) -> None:
    """Raises FileError for a file of another version."""
    if "version" in stored.arrays:
        version = _scalar(where, stored, "version")
        if version != VERSION:
            raise FileError(
                f"{where} has version {version:g}, and this release reads version {VERSION}; "
                "read it with a newer discreet"
            )


def _scalar(where: str, stored: Archive, name: str) -> float:
    array = stored.arrays[name]
    if array.size != 1:
        raise FileError(f"{where}: {name} has shape {list(array.shape)}; give a single number")
    return float(array.reshape(()))


def _multipliers(where: str, stored: Archive) -> Array:
    array = stored.arrays["multiplier"]
    if array.ndim > 1 or array.size == 0:
        raise FileError(
            f"{where}: multiplier has shape {list(array.shape)}; give a number, or "
            "one for each constraint"
        )
    return np.atleast_1d(array)


def printable(where: str, name: str) -> str:
    """Return the name unchanged; FileError for control characters, since names are shown on
    terminals, or over 1,000 characters.
    """
    if not name.isprintable() or len(name) > 1000:
        raise FileError(
            f"{where}: the name has unprintable characters or more than 1000; give a "
            "short plain name"
        )
    return name
