"""`discreet audit`: what a given estimator leaks and what can be inferred from its guesses, as the judge finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import screen
from discreet.cli.flags import Equivocation, Fraction, Gap, Json, Leakage, Perfect, Problem, Set, SolutionFile

if TYPE_CHECKING:
    from discreet.backends.solution import Solution
    from discreet.problems.certificate import Certificate
    from discreet.problems.inference.adversary import Inference


def audit(
    problem: Problem,
    solution: SolutionFile,
    parameters: Set = None,
    leakage: Leakage = None,
    equivocation: Equivocation = None,
    perfect: Perfect = False,
    fraction: Fraction = None,
    gap: Gap = 1e-9,
    budget_only: Annotated[
        bool, typer.Option("--budget-only", help="Exit with 0 if the budget is proven kept, however wide the gap.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Judge an estimator from a file: does it keep the budget, how far is it from the best, what does its guess reveal?

    Nothing that the file says about itself is believed. Exits with 1 unless the estimator, as it stands, is proven to keep
    the budget and to lie within the gap of the best; with --budget-only, unless it is proven to keep the budget.

    Examples:

      discreet audit paper-single:bins=64 answer.npz --leakage 0.01

      discreet audit model.npz answer.npz --budget-only --json
    """
    from discreet.backends.run import audit as audited
    from discreet.backends.solution import Status
    from discreet.problems.files.records import load_solution
    from discreet.problems.inference.adversary import inference
    from discreet.problems.numerics.estimators import normalise
    from discreet.reports import notation

    with screen.waiting("judging"):
        budget = notation.Budget(leakage, equivocation, perfect, fraction)
        model = notation.problem(problem, notation.pairs(parameters or (), "--set"), budget)
        stored = load_solution(solution)
        judged = audited(model, stored.estimator, stored.tilt, stored.multiplier, gap=gap)
        found = inference(model, normalise(stored.matrix(model)))
    certificate = judged.certificate
    assert certificate is not None  # an estimator was given
    if as_json:
        screen.print_json(_record(judged, certificate, found))
    else:
        from discreet.reports.tables import audit_table

        screen.output().print(audit_table(model.name or problem, judged, found))
    if not (certificate.own_budget_kept if budget_only else judged.status is Status.CERTIFIED):
        raise typer.Exit(1)


def _record(judged: Solution, certificate: Certificate, found: Inference) -> dict[str, Any]:
    """Numbers of the estimator given, the bracket of the best error probability, and the repair if there had to be one."""
    from discreet.reports.outputs import plain

    kept, kkt = certificate.own_budget_kept, certificate.kkt.to_dict()
    record = {
        "status": judged.status.value,
        "message": judged.message,
        "budget_nats": certificate.budget,
        "budget_kept": kept,
        "error_probability": certificate.upper if kept else certificate.own_error,
        "leakage_nats": certificate.own_leakage,
        "leakage_ceiling_nats": certificate.own_leakage_ceiling,
        "phi_residual": certificate.own_phi_residual,
        "private_within": certificate.own_private_within,
        "lower_bound": certificate.lower,
        "upper_bound": certificate.upper,
        "kkt": kkt if kept else None,
        "repair": None if kept else _repair(certificate) | {"kkt": kkt},
        "inference": found.to_dict(),
    }
    return dict(plain(record))


def _repair(certificate: Certificate) -> dict[str, Any]:
    """The numbers of the estimator that the judge made of the one given, so that it keeps the budget."""
    return {
        "error_probability": certificate.upper,
        "leakage_nats": certificate.leakage,
        "leakage_ceiling_nats": certificate.leakage_ceiling,
        "phi_residual": certificate.phi_residual,
        "private_within": certificate.private_within,
        "blend": certificate.blend,
    }
