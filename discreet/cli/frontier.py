"""`discreet frontier`: the privacy–utility curve of one problem, bracketed at every budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import screen
from discreet.cli.flags import (
    Backend,
    Force,
    Gap,
    Json,
    Problem,
    ProblemOptions,
    number,
    option,
)

if TYPE_CHECKING:
    from discreet.reports.curve import Frontier


def frontier(
    problem: Problem,
    asked: ProblemOptions,
    points: Annotated[
        int | None,
        option("K", "Largest number of budgets to solve, at least 2."),
    ] = None,
    width: Annotated[
        float | None,
        number("W", "Stop once the bracket is within W of the curve's height.  [default: 0.01]"),
    ] = None,
    backend: Backend = "tilt",
    gap: Gap = 1e-9,
    time_limit: Annotated[
        float | None,
        number("S", "Seconds per point, if the backend can keep to it."),
    ] = None,
    csv: Annotated[str | None, option("FILE", "Write the points there.", "--csv")] = None,
    svg: Annotated[
        str | None,
        option("FILE", "Draw the curve there, as PDF if the name ends in .pdf.", "--svg"),
    ] = None,
    out: Annotated[str | None, option("DIR", "Write frontier.svg, .csv and .json there.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """The best error probability at every leakage budget, from perfect privacy to where more budget
    buys nothing.

    The curve is convex: chords between solved points bound it from above, tangents from below, at
    every budget. Points go where the bracket is widest, until --width or --points is reached. A
    budget given, or the problem's own, is one of the points. Exits with 1 unless every point is
    certified and the width is reached.

    Examples:

      discreet frontier paper-single --set bins=64

      discreet frontier paper-multi:sensors=10 --width 0.001 --out curve

      discreet frontier model.npz --points 20 --csv curve.csv --svg curve.svg

      discreet frontier paper-single --measure maximal-leakage
    """
    from discreet.reports import notation
    from discreet.reports.curve import IS_CURVE
    from discreet.reports.curve import frontier as trace
    from discreet.reports.outputs import check_folder
    from discreet.showing.figures import pdf_writer
    from discreet.showing.svg import IS_FIGURE
    from discreet.storage.writing import check_output

    inputs = notation.files([problem])
    for file, made in ((csv, IS_CURVE), (svg, IS_FIGURE)):
        if file is not None:
            check_output(file, made, inputs=inputs, overwrite=force)
    if svg is not None and svg.endswith(".pdf"):
        pdf_writer()  # refuses before the work is done
    if out is not None:
        check_folder(
            out,
            [f"frontier.{each}" for each in ("svg", "csv", "json")],
            inputs=inputs,
            overwrite=force,
        )
    with screen.progress() as watch:
        model = asked.problem(problem, default_budget=math.inf)  # the curve has every budget
        curve = trace(
            model,
            points=points,
            width=width,
            backend=backend,
            gap=gap,
            time_limit=time_limit,
            watch=watch,
        )
    try:
        _write(curve, csv, svg, out, force)
    finally:  # a result that cannot be written is still shown
        screen.show(curve.to_dict, lambda tables: [tables.curve_table(curve)], as_json=as_json)
        if not as_json:
            screen.say(_verdict(curve))
    if not (curve.certified and curve.reached):
        raise typer.Exit(1)


def _write(curve: Frontier, csv: str | None, svg: str | None, out: str | None, force: bool) -> None:
    import json

    from discreet.reports.outputs import replace_file, write_folder
    from discreet.showing.figures import svg_files

    if csv is not None:
        screen.say(f"wrote {replace_file(csv, curve.to_csv())}")
    if svg is not None:
        curve.plot().save(svg)
        screen.say(f"wrote {svg}")
    if out is not None:
        contents = svg_files([curve.plot()])
        contents["frontier.csv"] = curve.to_csv()
        contents["frontier.json"] = json.dumps(curve.to_dict(), indent=1, allow_nan=False) + "\n"
        written = write_folder(out, contents, {"command": "discreet frontier"}, overwrite=force)
        screen.say(f"wrote {written[0]} and {len(written) - 1} files next to it")


def _verdict(curve: Frontier) -> str:
    from discreet.showing import numerals

    width = (
        f"the bracket is nowhere wider than {numerals.number(100 * curve.width, 2)} % of the "
        "curve's height"
    )
    asked = (
        ""
        if curve.reached
        else f", where {numerals.number(100 * (curve.asked_width or 0.0), 2)} % was asked for"
    )
    return f"{len(curve.rows)} points in {numerals.seconds(curve.seconds)} s; {width}{asked}"
