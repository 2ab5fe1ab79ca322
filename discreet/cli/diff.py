"""`discreet diff`: what changed between two studies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import screen
from discreet.cli.flags import Json, argument, option
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.reports.measurements import Measurement


def diff(
    before: Annotated[
        str,
        argument("BEFORE", "A folder of discreet bench, or a .parquet, .csv or .csv.gz file."),
    ],
    after: Annotated[str, argument("AFTER", "The results of the later run, in the same form.")],
    format: Annotated[
        str, option("NAME", "markdown, or bmf: AFTER in Bencher's metric format.")
    ] = "markdown",
    as_json: Json = False,
) -> None:
    """Say what became better, worse or wrong from one study to another, beyond the noise.

    The page is Markdown, for a comment on a pull request. Trials are paired by task and backend. A
    time counts where the control says that the machine was as fast both times; two runs of the same
    code show no change. Exits with 1 if anything became wrong or worse.

    Examples:

      discreet diff main.csv.gz branch > comment.md

      discreet diff main branch --json

      discreet diff main branch --format bmf > metrics.json
    """
    from discreet.reports import difference
    from discreet.reports.statistics.changes import changes_between
    from discreet.showing.data import plain
    from discreet.showing.markdown import markdown

    if format not in ("markdown", "bmf"):
        raise InputError(f"--format is {format!r}; give markdown or bmf")
    with screen.waiting("reading the results"):
        new = _rows(after)
        changes = changes_between(_rows(before), new)
    if format == "bmf":
        screen.print_json(plain(difference.bencher_metrics(new)))
    elif as_json:
        screen.print_json(plain(difference.record(changes)))
    else:
        typer.echo(markdown([difference.page(changes)]))
    if changes.of("wrong") or changes.of("worse"):
        raise typer.Exit(1)


def _rows(results: str) -> list[Measurement]:
    from discreet.reports.study.store import read_results

    rows = read_results([results])
    if not rows:
        raise InputError(
            f"{results!r} holds no finished attempts; run discreet bench on the study first"
        )
    return rows
