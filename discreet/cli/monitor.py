"""`discreet monitor`: watches the promise of a rule, from records of what it guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import screen
from discreet.cli.flags import Json, argument, column_names, number, option
from discreet.cli.people import check_column
from discreet.errors import InputError
from discreet.showing.values import Table

Folder = Annotated[str, argument("RULE", "A folder that discreet fit wrote.")]
Records = Annotated[str, argument("RECORDS.csv", "CSV or Parquet, a line for each guess.")]
Guesses = Annotated[str, option("COLUMN", "Column of the guesses.", complete=column_names)]
State = Annotated[str | None, option("FILE", "Goes on from it if it is there, and writes it.")]
Alpha = Annotated[float, number("P", "Probability of a false alarm at any time, at most.")]

_COLUMNS = {
    "measure": "measure",
    "about": "name",
    "promised": "budget",
    "records": "records",
    "at least": "low",
    "at most": "high",
    "alarm after": "alarm",
}


def monitor(
    rule: Folder,
    records: Records,
    state: State = None,
    guesses: Guesses = "guess",
    alpha: Alpha = 0.05,
    as_json: Json = False,
) -> None:
    """Raise an alarm once records of what a rule guessed show that it leaks more than it promised.

    The records have the sensitive columns that the rule hides, and what it guessed; under a measure
    for who knows the truth also the truth. Look as often as you like: the probability of a false
    alarm at any time is at most --alpha. The exit code is 1 if there is an alarm, now or before.
    Each record may be given once: with --state FILE records are added to those of before.

    Examples:

      discreet monitor rule monday.csv --state watch.json

      discreet monitor rule tuesday.parquet --state watch.json --guesses decision --json
    """
    from discreet.files.tables import TableStream
    from discreet.people.folder import DeployedRule
    from discreet.people.monitor import Monitor

    deployed = DeployedRule.load(rule)
    watch = Monitor(deployed, alpha=alpha)
    asked = deployed.about["asked"]
    if not asked.get("hide"):
        raise InputError(f"{rule} does not name its sensitive columns; give a rule that does")
    needed = [*asked["hide"], guesses]
    truth = None
    if any(each.measure.conditional for each in watch.watched):
        truth = asked["guess"][0]
        needed.append(truth)
    if state is not None and Path(state).exists():
        watch.resume(state)
    stream = TableStream(records, needed)
    for name in needed:
        check_column(records, stream.header, name)
    with screen.progress() as tell:
        done = 0
        for part in stream.parts():
            tell(done, stream.people, "counting")
            done += len(part[guesses])
            hidden = {name: part[name] for name in asked["hide"]}
            watch.update(hidden, part[guesses], None if truth is None else part[truth])
    if state is not None:
        watch.save(state)
    report = watch.report()
    lines = [each | each["leakage"] for each in report["promises"]]
    screen.show(
        lambda: report,
        lambda _: [Table.of(records, _COLUMNS, lines), report["statement"]],
        as_json=as_json,
    )
    if watch.alarm:
        raise typer.Exit(1)
