"""`discreet audit`: what a given estimator leaks and what can be inferred from its guesses, as the judge finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from discreet.cli import screen
from discreet.cli.flags import Equivocation, Fraction, Gap, Json, Leakage, Perfect, Problem, Set, SolutionFile

if TYPE_CHECKING:
    from discreet.backends.solution import Status
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
    as_json: Json = False,
) -> None:
    """Judge an estimator from a file: does it keep the budget, how far is it from the best, what does its guess reveal?

    Nothing that the file says about itself is believed. Exits with 1 unless the estimator, as it stands, keeps the budget
    and is certified to the gap.

    Examples:

      discreet audit paper-single:bins=64 answer.npz --leakage 0.01

      discreet audit model.npz answer.npz --json
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
    status, certificate = judged.status, judged.certificate
    assert certificate is not None  # an estimator was given
    if as_json:
        screen.print_json(_record(status, certificate, found))
    else:
        from discreet.reports.tables import audit_table

        screen.output().print(audit_table(model.name or problem, status, certificate, found))
    if status is not Status.CERTIFIED:
        raise typer.Exit(1)


def _record(status: Status, certificate: Certificate, found: Inference) -> dict[str, Any]:
    from discreet.reports.outputs import plain

    record = {
        "status": status.value,
        "error_probability": certificate.own_error,
        "leakage_nats": certificate.own_leakage,
        "phi_residual": certificate.own_phi_residual,
        "private_within": certificate.own_private_within,
        "budget_nats": certificate.budget,
        "lower_bound": certificate.lower,
        "upper_bound": certificate.upper,
        "kkt": certificate.kkt.to_dict(),
        "inference": found.to_dict(),
    }
    return dict(plain(record))
