"""`discreet verify`: the second opinion on a solution file, by rational numbers and ball arithmetic alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from discreet.cli import screen
from discreet.cli.flags import Equivocation, Fraction, Json, Leakage, Perfect, Problem, Set, SolutionFile

if TYPE_CHECKING:
    from discreet.reports.notation import Budget


def verify(
    problem: Problem,
    solution: SolutionFile,
    parameters: Set = None,
    leakage: Leakage = None,
    equivocation: Equivocation = None,
    perfect: Perfect = False,
    fraction: Fraction = None,
    as_json: Json = False,
) -> None:
    """Prove what a solution file is worth, without the solvers and the judge: rational numbers and ball arithmetic only.

    Error probability and leakage come as intervals, and a lower bound from the file's duals. Any program may have made the
    file; an estimator is enough. Budget 0 is strict. Exits with 0 if the budget is proven kept, else with 1.

    Examples:

      discreet verify paper-single:bins=64 answer.npz --leakage 0.01

      discreet verify model.npz answer.npz --json
    """
    from discreet import verification
    from discreet.problems.errors import InputError
    from discreet.reports import notation

    with screen.waiting("verifying"):
        budget = notation.Budget(leakage, equivocation, perfect, fraction)
        model, nats = _asked(problem, notation.pairs(parameters or (), "--set"), budget)
        try:
            found = verification.verify(model, solution, budget=nats)
        except (ValueError, ImportError) as error:
            raise InputError(str(error)) from None
    if as_json:
        from discreet.reports.outputs import plain

        screen.print_json(plain(found))
    else:
        from discreet.reports.tables import verification_table

        screen.output().print(verification_table(problem, found))
    if not found.budget_kept:
        raise typer.Exit(1)


def _asked(problem: str, parameters: dict[str, str], budget: Budget) -> tuple[Any, float | None]:
    """The problem, for a file its path, and the budget in nats if it is not the file's own."""
    from discreet.reports import notation

    if notation.is_file(problem) and not parameters:  # read by the checker itself, however large
        if budget == notation.Budget(perfect=True):
            return problem, 0.0
        if budget == notation.Budget(leakage=budget.leakage):
            return problem, budget.leakage
    model = notation.problem(problem, parameters, budget)
    return (problem if notation.is_file(problem) else model), model.budget
