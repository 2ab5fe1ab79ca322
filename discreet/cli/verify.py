"""`discreet verify`: the second opinion on a solution file, by rational numbers and ball arithmetic
alone.
"""

from __future__ import annotations

import os
import zipfile
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli import screen
from discreet.cli.flags import Json, Problem, ProblemOptions, SolutionFile
from discreet.errors import FileError, InputError, how_to_install

if TYPE_CHECKING:
    from discreet.verification import Verification


def verify(
    problem: Problem, solution: SolutionFile, asked: ProblemOptions, as_json: Json = False
) -> None:
    """Prove what a solution file is worth, without the solvers and the judge: rational numbers and
    ball arithmetic only.

    Error probability and leakage come as intervals, and a lower bound from the file's duals. Any
    program may have made the file; an estimator is enough. Budget 0 is strict. Exits with 0 if the
    budget is proven kept, else with 1.

    Examples:

      discreet verify paper-single:bins=64 answer.npz --leakage 0.01

      discreet verify model.npz answer.npz --json
    """
    from discreet import verification
    from discreet.reports import notation

    with screen.waiting("verifying"):
        for path in notation.files([problem, solution]):
            if os.path.isfile(path) and path.endswith(".npz") and not zipfile.is_zipfile(path):
                raise FileError(f"{path} is not an .npz file; give one that numpy.savez wrote")
        model, limit = _model(problem, asked)
        try:
            verified = verification.verify(model, solution, budget=limit, measure=asked.measure)
        except ImportError:
            raise InputError(
                f"verify needs python-flint, which is not installed; {how_to_install('verify')}"
            ) from None
        except ValueError as error:
            raise InputError(f"{problem} with {solution}: {error}") from None
    screen.show(
        lambda: _record(verified),
        lambda tables: [tables.verification_facts(problem, verified)],
        as_json=as_json,
    )
    _name_other_budget(solution, verified)
    if not verified.budget_kept:
        raise typer.Exit(1)


def _name_other_budget(solution: str, verified: Verification) -> None:
    """Say which budget was checked if the solution states another one."""
    from discreet.files.records import stated_budgets
    from discreet.reports import wording

    stated = list(map(wording.budget, stated_budgets(solution)))
    checked = [wording.verified_budget(term) for term in verified.terms]
    if stated and stated != checked:
        screen.say(
            f"the answer was checked against {', '.join(checked)}, but {solution} states that it "
            f"was made for {', '.join(stated)}"
        )


def _model(problem: str, asked: ProblemOptions) -> tuple[Any, Any]:
    """The problem, for a file its path, and the budgets if they are not the file's own."""
    from discreet.reports import notation

    if notation.is_file(problem):  # read by the checker itself, however large
        if asked == ProblemOptions(perfect=True, measure=asked.measure):
            return problem, 0.0
        if asked == ProblemOptions(leakage=asked.leakage, measure=asked.measure) and (
            asked.leakage is not None or not asked.measure
        ):
            return problem, asked.leakage
    model = asked.problem(problem)
    budgets = [term.budget.amount for term in model.terms]
    return (problem if notation.is_file(problem) else model), budgets


def _record(verified: Verification) -> dict[str, Any]:
    """Return what is proven, as plain values; for a single constraint under its own names."""
    from discreet.problems.constraint import are_numbered
    from discreet.showing.data import plain

    record: dict[str, Any] = plain(verified) | {"deviation": list(verified.deviation)}
    if not are_numbered(verified.terms):
        record |= record["terms"][0] | {"terms": []}
    return record
