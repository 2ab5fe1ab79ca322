"""`discreet audit`: what a given estimator leaks and what can be inferred from its guesses, as the
judge finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import screen
from discreet.cli.flags import Gap, Json, Problem, ProblemOptions, SolutionFile, flag

if TYPE_CHECKING:
    from discreet.backends.solution import Solution
    from discreet.problems.adversary.inference import Inference


def audit(
    problem: Problem,
    solution: SolutionFile,
    asked: ProblemOptions,
    gap: Gap = 1e-9,
    budget_only: Annotated[
        bool,
        flag("Exit with 0 if the budget is proven kept, however wide the gap.", "--budget-only"),
    ] = False,
    as_json: Json = False,
) -> None:
    """Judge an estimator from a file: does it keep the budget, how far is it from the best, what
    does its guess reveal?

    Nothing that the file says about itself is believed. Exits with 1 unless the estimator, as it
    stands, is proven to keep the budget and to lie within the gap of the best; with --budget-only,
    unless it is proven to keep the budget.

    Examples:

      discreet audit paper-single:bins=64 answer.npz --leakage 0.01

      discreet audit model.npz answer.npz --budget-only --json
    """
    from discreet.backends.run import audit as audited
    from discreet.backends.solution import Status
    from discreet.files.records import load_solution
    from discreet.numerics.estimators import normalise
    from discreet.problems.adversary.inference import inference

    with screen.waiting("judging"):
        model = asked.problem(problem)
        stored = load_solution(solution)
        judged = audited(model, stored.estimator, stored.tilt, stored.multipliers, gap=gap)
        inferred = None
        if len(model.groups) == 1:
            inferred = inference(model, normalise(stored.matrix(model)))
    certificate = judged.certificate
    assert certificate is not None  # an estimator was given
    name = model.name or problem
    screen.show(
        lambda: _record(judged, inferred),
        lambda tables: tables.audit_tables(name, judged, inferred),
        as_json=as_json,
    )
    if not (certificate.own_budget_kept if budget_only else judged.status is Status.CERTIFIED):
        raise typer.Exit(1)


def _record(judged: Solution, inferred: Inference | None) -> dict[str, Any]:
    """Numbers of the estimator given, the bracket of the best error probability, and the repair if
    there had to be one.
    """
    from discreet.showing.data import plain

    record = judged.to_dict()
    unit = judged.problem.terms[0].measure.suffix
    kept = record["own_budget_kept"]
    numbers = [f"leakage{unit}", f"leakage_ceiling{unit}", "phi_residual", "private_within"]
    # Several constraints have records of their own.
    numbers = [name for name in numbers if name in record]
    return {
        **{
            name: record[name]
            for name in ("status", "message", f"budget{unit}", "measure", "constraints")
            if name in record
        },
        "budget_kept": kept,
        "error_probability": record["error_probability" if kept else "own_error_probability"],
        **{name: record[f"own_{name}"] for name in numbers},
        **{name: record[name] for name in ("lower_bound", "upper_bound")},
        "leaks": record.get("own_leaks"),
        "odds": record.get("own_odds"),
        "kkt": record["kkt"] if kept else None,
        "repair": None
        if kept
        else {name: record[name] for name in ("error_probability", *numbers, "blend", "kkt")},
        "inference": inferred and plain(inferred.to_dict()),
    }
