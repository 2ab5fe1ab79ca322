"""`discreet reproduce`: the paper's numerical section in one command."""

from __future__ import annotations

from typing import Annotated, TypeVar

import typer

from discreet.cli import screen
from discreet.cli.flags import Force, flag, option
from discreet.errors import FileError, InputError

_Number = TypeVar("_Number", int, float)


def reproduce(
    out: Annotated[str, option("DIR", "Where everything goes.")] = "discreet-paper",
    sensors: Annotated[int, option("M", "Every number of sensors from 1 to M.")] = 30,
    samples: Annotated[int, option("K", "Guesses simulated at 10 sensors.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    edges: Annotated[
        str,
        option("A,B,...", "Inner bin edges; the paper does not state its own."),
    ] = "0.2,0.5,0.8",
    curves: Annotated[
        str, option("M,M,...", "Whole curves for these numbers of sensors.")
    ] = "1,2,5,10,20",
    pdf: Annotated[
        bool, flag("Write each figure as PDF too; needs the extra pdf.", "--pdf")
    ] = False,
    force: Force = False,
) -> None:
    """Compute the paper's numerical section again: figures (SVG), numbers (CSV) and one HTML page.

    It shows how well X is inferred from the oblivious local estimates, the law of X given a
    perfectly private guess (simulated and exact), what perfect privacy costs and, beyond the paper,
    the whole privacy–utility curve. Replaces only files that it made itself. Exits with 1 unless
    every optimum is certified.

    Examples:

      discreet reproduce

      discreet reproduce --out paper --sensors 10 --samples 100000 --edges 0.3,0.5,0.7
    """
    from discreet.paper.drawings import FIGURES, tables
    from discreet.paper.section import NAMES, write_study
    from discreet.paper.study import Settings, run_study
    from discreet.reports.outputs import check_folder
    from discreet.showing.data import records_csv
    from discreet.showing.figures import pdf_writer

    settings = Settings(
        sensors=sensors,
        samples=samples,
        seed=seed,
        edges=_numbers(edges, float, "--edges", "numbers such as 0.2,0.5"),
        curve_sensors=_numbers(curves, int, "--curves", "whole numbers such as 1,5,10"),
    )
    names = list(NAMES)
    if pdf:
        pdf_writer()  # refuses before the work is done
        names += [f"{name}.pdf" for name in FIGURES]
    check_folder(out, names, overwrite=force)
    with screen.progress() as watch:
        study = run_study(settings, watch)
    try:
        written = write_study(study, out, pdf=pdf, overwrite=force)
    except FileError:
        for records in tables(study).values():  # a result that cannot be written is still shown
            print(records_csv(records))
        raise
    screen.say(f"wrote {written[0]} and {len(written) - 1} files next to it")
    if not study.certified:
        raise typer.Exit(1)


def _numbers(text: str, kind: type[_Number], flag: str, wanted: str) -> tuple[_Number, ...]:
    """Numbers separated by commas, at least one."""
    from discreet.reports.notation import split_list

    numbers = []
    for word in split_list(text) or [text]:
        try:
            numbers.append(kind(word))
        except ValueError:
            raise InputError(f"{flag} has {word!r}; give {wanted}") from None
    return tuple(numbers)
