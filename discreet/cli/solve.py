"""`discreet solve`: one problem, one backend, one certified answer."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import screen
from discreet.cli.flags import Backend, Force, Gap, Json, Problem, ProblemOptions, TimeLimit, option


def solve(
    problem: Problem,
    asked: ProblemOptions,
    backend: Backend = "auto",
    gap: Gap = 1e-9,
    time_limit: TimeLimit = None,
    option: Annotated[
        list[str] | None,
        option("KEY=VALUE", "Setting of the backend; may be repeated.", "--option"),
    ] = None,
    out: Annotated[str | None, option("FILE.npz", "Write the solution there.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Solve one problem in a process of its own and certify the answer.

    Without a budget a catalog problem or a table gets half of the Bayes rule's leakage, and a
    problem file keeps its own. Exits with 1 unless the answer is certified.

    Examples:

      discreet solve paper-single --set bins=64 --leakage 0.01

      discreet solve paper-multi:sensors=10 --fraction 0.5 --backend conic --option solver=clarabel

      discreet solve model.npz --perfect --backend highs --out answer.npz --json

      discreet solve paper-single --backend "conic@clarabel==0.9.0 cvxpy==1.5.4"

      discreet solve people.csv:hide=sex,guess=income,bins.age=6 --fraction 0.1 --out answer.npz
    """
    from discreet.backends.isolated import solve_isolated
    from discreet.backends.solution import Status
    from discreet.files.records import is_solution
    from discreet.reports import notation
    from discreet.storage.writing import check_output

    if out is not None:
        check_output(out, is_solution, inputs=notation.files([problem]), overwrite=force)
    with screen.waiting("solving"):
        model = asked.problem(problem)
        settings = notation.settings(notation.pairs(option or (), "--option"))
        name, _, environment = backend.partition("@")
        solution = solve_isolated(
            model,
            name,
            gap=gap,
            time_limit=time_limit,
            settings=settings,
            environment=environment,
        )
    try:
        if out is not None and solution.estimator is not None:
            solution.save(out, overwrite=force or None)
    finally:  # a result that cannot be written is still shown
        screen.show(
            solution.to_dict, lambda tables: [tables.solution_facts(solution)], as_json=as_json
        )
    if out is not None and not as_json:
        screen.say(
            f"wrote {out}"
            if solution.estimator is not None
            else f"{out} is not written: there is no answer"
        )
    if solution.status is not Status.CERTIFIED:
        raise typer.Exit(1)
