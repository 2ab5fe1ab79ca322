"""`discreet evaluate`: what guesses do to people, from a table of people who had no part in the making of the rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import screen
from discreet.cli.flags import Json, Measure

if TYPE_CHECKING:
    from discreet.people.evaluation import Evaluation

Table = Annotated[str, typer.Argument(metavar="PEOPLE.csv", help="CSV or Parquet, a line for each person.")]
Hide = Annotated[list[str], typer.Option(metavar="COLUMN", help="Sensitive column; may be repeated.")]
Truth = Annotated[str, typer.Option(metavar="COLUMN", help="Column of what was to be guessed.")]
Guesses = Annotated[str, typer.Option(metavar="COLUMN", help="Column of the guesses.")]
Budget = Annotated[float | None, typer.Option(metavar="NATS", help="Budget that has to hold for people.")]
Confidence = Annotated[float, typer.Option(metavar="P", help="Probability with which the limits hold.")]


def evaluate(
    table: Table,
    hide: Hide,
    truth: Truth,
    guesses: Guesses,
    leakage: Budget = None,
    measure: Measure = None,
    confidence: Confidence = 0.95,
    as_json: Json = False,
) -> None:
    """Say what guesses do to people: errors, leakage by every measure, odds and rates, with limits that are exact.

    The people must have had no part in the making of the rule. Exits with 1 if a budget is given and not shown to hold.

    Examples:

      discreet evaluate held-out.csv --hide sex --truth income --guesses guess

      discreet evaluate held-out.csv --hide sex --hide age --truth income --guesses guess --leakage 0.01
    """
    import numpy as np

    from discreet.people.evaluation import evaluate as evaluated
    from discreet.problems.files.tables import read_table
    from discreet.problems.measures.registry import measure_of

    chosen = measure_of(measure or "mutual-information")
    columns = read_table(table, [*hide, truth, guesses])
    sensitive: Any = columns[hide[0]] if len(hide) == 1 else np.column_stack([columns[name] for name in hide])
    found = evaluated(
        columns[guesses], None, columns[truth], sensitive_features=sensitive, measure=chosen, confidence=confidence
    )
    sentence, kept = found.statement(leakage), None if leakage is None else found.holds(leakage)
    record = {"statement": sentence, "budget": leakage, "holds": kept}
    screen.show(lambda: record | found.to_dict(), lambda tables: [*_tables(tables, table, found), sentence], as_json=as_json)
    if kept is False:
        raise typer.Exit(1)


def _tables(tables: Any, title: str, found: Evaluation) -> list[Any]:
    """Leakage by every measure, then the rates of each group."""
    limits = {"errors": found.error, **found.leakages, "change of odds": found.odds}
    numbers = ("estimate", "at least", "at most")

    def cells(each: Any) -> list[str]:
        return [f"{value:.4g}" for value in (each.estimate, each.low, each.high)]

    rates = [(str(group), str(guess), *cells(each)) for group, row in found.rates.items() for guess, each in row.items()]
    return [
        tables.listed(
            f"{title}: {found.people:,} people", ("", *numbers), ((n, *cells(e)) for n, e in limits.items()), right=numbers
        ),
        tables.listed("Rates", ("group", "guess", *numbers), rates, right=numbers),
    ]
