"""Problems and solutions as files.

A problem is an `.npz` with `joint` [n, m, N], or `p_xz` [n, N] and `loss` [m, N]; optionally `budget` (nats) and `name`.
A solution is an `.npz` with `estimator` [m, N], `tilt` [m, n], `multiplier` and `metadata` (JSON text).

Anything else is refused in one sentence that names the file and the member (`FileError`). Nothing is ever unpickled, and
writing is all or nothing (`archive`). Laws (tests/problems/test_files.py): what is saved is loaded bit for bit; changing any
bytes of a file gives a FileError or the same content.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from discreet.problems.blocks import BlockProblem
from discreet.problems.checks import check_columns, check_entries
from discreet.problems.constraint import LeakageBudget
from discreet.problems.errors import FileError, InputError
from discreet.problems.files.archive import DEFAULT_MAX_BYTES, Archive, read_archive, write_archive
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

_PathLike = str | os.PathLike[str]
_AnyModel = TypeVar("_AnyModel", Problem, BlockProblem)


# -- problems ----------------------------------------------------------------------------------------------------------


def load_problem(
    path: _PathLike,
    *,
    budget: float | None = None,
    equivocation: float | None = None,
    default_budget: float | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Problem:
    """Read a problem file. `budget` or `equivocation` (nats) replaces the file's budget, `default_budget` a missing one.

    max_bytes bounds the array data the file may declare. Raises FileError for anything wrong with the file, or if it has no
    budget and none is given; InputError if the budget given here is out of range.
    """
    where = os.fspath(path)
    stored = stored_model(where, max_bytes)
    arrays = model_arrays(where, stored)

    def build(name: str) -> Problem:
        if "joint" in arrays:
            return Problem.from_joint(arrays["joint"], math.inf, name=name)
        return Problem(arrays["p_xz"], arrays["loss"], math.inf, name=name)

    return under_budget(where, stored, build, budget, equivocation, default_budget)


def stored_model(where: str, max_bytes: int | None) -> Archive:
    """The content of a problem file; its arrays are mapped if max_bytes is None."""
    return read_archive(where, arrays=("joint", "p_xz", "loss", "budget"), texts=("name",), max_bytes=max_bytes)


def model_arrays(where: str, stored: Archive) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of the model in a problem file: `joint` alone, or `p_xz` and `loss`. Raises FileError for others."""
    arrays = {name: array for name, array in stored.arrays.items() if name != "budget"}
    if set(arrays) not in ({"joint"}, {"p_xz", "loss"}):
        held = ", ".join(sorted(arrays)) or "no model"
        raise FileError(f"{where} holds {held}; a problem needs joint [n, m, N], or both p_xz [n, N] and loss [m, N]")
    return arrays


def under_budget(
    where: str,
    stored: Archive,
    build: Callable[[str], _AnyModel],
    budget: float | LeakageBudget | None,
    equivocation: float | None,
    default_budget: float | None = None,
) -> _AnyModel:
    """The problem of a file, built by its name, under the budget or equivocation given, else the file's own or the default.

    It is built without a constraint first: errors then come from the file (FileError), while a bad budget may be the
    caller's.
    """
    own = _scalar(where, stored, "budget") if "budget" in stored.arrays else default_budget
    name = printable(where, stored.texts.get("name", ""))
    try:
        problem = build(name)
        if budget is None and equivocation is None and own is not None:
            return problem.with_budget(own)
    except InputError as error:
        raise FileError(f"{where}: {error}") from None
    if budget is None and equivocation is None:
        raise FileError(
            f"{where} holds no budget; pass budget= or equivocation= in nats "
            "(on the command line --leakage, --equivocation, --perfect or --fraction)"
        )
    return problem.with_budget(budget, equivocation=equivocation)


def save_problem(path: _PathLike, problem: Problem, *, overwrite: bool = False) -> None:
    """Write a problem (p_xz, loss, budget, name; no report of its samples), all or nothing. Raises FileError, InputError."""
    if not isinstance(problem, Problem):
        raise InputError(f"save_problem got a {type(problem).__name__} to write; give a path first and then a Problem")
    members = {"p_xz": problem.p_xz, "loss": problem.loss, "budget": np.float64(problem.budget)}
    if printable(os.fspath(path), problem.name):
        members["name"] = np.array(problem.name)
    write_archive(path, members, overwrite=overwrite)


# -- solutions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StoredSolution:
    """The content of a solution file: data, not a proof; judge it with `certify(problem, estimator, tilt, multiplier)`.

    estimator    P_il [m, N], column-stochastic
    tilt         t_ij [m, n]; the rule off ties is argmin_i L_il + Σ_j t_ij a_jl
    multiplier   μ ≥ 0, error probability per nat; inf at perfect privacy
    metadata     the record of the solution (`Solution.to_dict()`)
    """

    estimator: Array
    tilt: Array
    multiplier: float
    metadata: Mapping[str, Any]


def load_solution(path: _PathLike, *, max_bytes: int = DEFAULT_MAX_BYTES) -> StoredSolution:
    """Read a solution file. Raises FileError for anything wrong with it."""
    where = os.fspath(path)
    stored = read_archive(path, arrays=("estimator", "tilt", "multiplier"), texts=("metadata",), max_bytes=max_bytes)
    missing = {"estimator", "tilt", "multiplier", "metadata"} - {*stored.arrays, *stored.texts}
    if missing:
        raise FileError(f"{where} has no {sorted(missing)[0]}; a solution holds estimator, tilt, multiplier and metadata")
    multiplier = _scalar(where, stored, "multiplier")
    estimator, tilt = stored.arrays["estimator"], stored.arrays["tilt"]
    _check_solution(where, estimator, tilt, multiplier)
    for array in (estimator, tilt):
        array.setflags(write=False)
    return StoredSolution(estimator, tilt, multiplier, _metadata(where, stored.texts["metadata"]))


def save_solution(
    path: _PathLike,
    estimator: Array,
    tilt: Array,
    multiplier: float,
    metadata: Mapping[str, Any],
    *,
    overwrite: bool = True,
) -> None:
    """Write a solution, all or nothing: estimator [m, N], tilt [m, n], multiplier ≥ 0 (inf allowed), JSON-able metadata.

    Raises FileError if the arrays are not those of a solution, the metadata cannot be written as JSON (NaN and inf cannot)
    or the file cannot be written.
    """
    where = os.fspath(path)
    estimator, tilt = np.asarray(estimator, dtype=np.float64), np.asarray(tilt, dtype=np.float64)
    _check_solution(where, estimator, tilt, float(multiplier))
    try:
        text = json.dumps(dict(metadata), allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise FileError(f"{where}: the metadata cannot be written as JSON ({error}); give plain finite values") from None
    members = {"estimator": estimator, "tilt": tilt, "multiplier": np.float64(multiplier), "metadata": np.array(text)}
    write_archive(path, members, overwrite=overwrite)


def _check_solution(where: str, estimator: Array, tilt: Array, multiplier: float) -> None:
    if estimator.ndim != 2 or tilt.ndim != 2 or 0 in estimator.shape + tilt.shape or len(estimator) != len(tilt):
        raise FileError(
            f"{where}: estimator has shape {list(estimator.shape)} and tilt {list(tilt.shape)}; "
            "give [m, N] and [m, n] with the same m"
        )
    try:
        check_entries(estimator, "estimator")
        check_columns(estimator, "estimator")
        check_entries(tilt, "tilt", signed=True)
    except InputError as error:
        raise FileError(f"{where}: {error}") from None
    if not multiplier >= 0.0:
        raise FileError(f"{where}: multiplier is {multiplier}; give a number ≥ 0 (inf at perfect privacy)")


def _metadata(where: str, text: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        found = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{where}: metadata is not JSON ({error}); write it with save_solution") from None
    if not isinstance(found, dict):
        raise FileError(f"{where}: metadata is a JSON {type(found).__name__}, not an object; write it with save_solution")
    return found


# -- small members -----------------------------------------------------------------------------------------------------


def _scalar(where: str, stored: Archive, name: str) -> float:
    array = stored.arrays[name]
    if array.size != 1:
        raise FileError(f"{where}: {name} has shape {list(array.shape)}; give a single number")
    return float(array.reshape(()))


def printable(where: str, name: str) -> str:
    """The name unchanged; FileError for control characters, as names are shown on terminals, or over 1,000 characters."""
    if not name.isprintable() or len(name) > 1000:
        raise FileError(f"{where}: the name has unprintable characters or more than 1000; give a short plain name")
    return name
