"""`discreet advise`: which backend to use in production, from measurements on similar problems."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import screen
from discreet.cli.flags import (
    Among,
    Gap,
    Json,
    Problem,
    ProblemOptions,
    flag,
    number,
    option,
)


def advise(
    problem: Problem,
    asked: ProblemOptions,
    gap: Gap = 1e-9,
    seconds: Annotated[
        float | None,
        number("S", "Seconds that one solve may take; a note warns if it may take longer."),
    ] = None,
    results: Annotated[
        list[str] | None,
        option(
            "PATH", "Results measured here: a folder of discreet bench, or a file; may be repeated."
        ),
    ] = None,
    peers: Annotated[
        bool,
        flag("Also consider peers: backends that exist only for comparison.", "--peers"),
    ] = False,
    among: Among = None,
    as_json: Json = False,
) -> None:
    """Which backend to use for a problem, how long it will take, and the measurements behind the
    advice. Nothing is solved.

    It uses the results shipped with discreet and needs no network; results of discreet bench on
    this machine improve it. Exits with 1 if no backend is safe according to the measurements.

    Examples:

      discreet advise paper-multi:sensors=20 --fraction 0.1

      discreet advise model.npz --perfect --gap 1e-6 --seconds 0.5 --json

      discreet advise model.npz --results studies/mine

      discreet advise model.npz --among conic,highs
    """
    from discreet.reports import notation
    from discreet.reports.advice.choose import advise as ask

    allowed = None if among is None else [each.label for each in notation.configurations(among)]
    with screen.waiting("reading the measurements"):
        advice = ask(
            asked.problem(problem), gap, seconds, results=results or (), peers=peers, among=allowed
        )
    screen.show(advice.to_dict, lambda tables: tables.advice_tables(advice), as_json=as_json)
    if not advice.safe:
        raise typer.Exit(1)
