"""`discreet export`: a problem, or every problem of a study, as files that other solvers read."""

from __future__ import annotations

from typing import Annotated

from discreet.cli import screen
from discreet.cli.flags import Force, Json, ProblemOptions, argument, flag, option, problem_names
from discreet.errors import InputError


def export(
    problem: Annotated[
        str,
        argument(
            "PROBLEM", "A problem as for solve; with --study a study.", complete=problem_names
        ),
    ],
    asked: ProblemOptions,
    out: Annotated[str, option("FILE", "Where the file goes; with --study the folder.")],
    format: Annotated[
        str | None,
        option(
            "NAME", "cbf, mps or clarabel-json.  [default: by the ending of FILE; of a study all]"
        ),
    ] = None,
    study: Annotated[
        bool,
        flag("PROBLEM names a study: hard, default, or a TOML file.", "--study"),
    ] = False,
    certify: Annotated[
        bool,
        flag(
            "Solve first, and state the certified bracket of the optimum in the file.", "--certify"
        ),
    ] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a problem as a conic or linear program, in a file that other solvers read.

    CBF and Clarabel's JSON hold every problem, MPS linear programs: budget 0, or a linear measure
    of leakage. A comment in the file says what the objective means and which variables are the
    estimator. Numbers are written to the last digit.

    Examples:

      discreet export paper-single:bins=64 --leakage 0.01 --out sensor.cbf

      discreet export paper-multi:sensors=20 --perfect --format mps --out sensors.mps --certify

      discreet export hard --study --out instances
    """
    if study:
        _export_study(problem, asked, out, format, certify, force, as_json)
        return
    from discreet.backends.exchange.files import export as write
    from discreet.backends.exchange.files import format_named
    from discreet.backends.isolated import solve_isolated
    from discreet.reports import notation
    from discreet.storage.writing import check_output

    name = format_named(format, out)
    check_output(out, lambda path: True, inputs=notation.files([problem]))
    with screen.waiting("exporting"):
        model = asked.problem(problem)
        certificate = solve_isolated(model).certificate if certify else None
        write(model, out, name, certificate=certificate, overwrite=force)
    record = {
        "file": out,
        "format": name,
        "problem": model.digest,
        "lower_bound": certificate and certificate.lower,
        "upper_bound": certificate and certificate.upper,
    }
    if as_json:
        screen.print_json(record)
    else:
        screen.say(f"wrote {out}: problem {model.digest} in the format {name}")


def _export_study(
    study: str,
    asked: ProblemOptions,
    out: str,
    format_: str | None,
    certify: bool,
    force: bool,
    as_json: bool,
) -> None:
    from discreet.reports.study.exported import TABLE, export_study
    from discreet.reports.study.plan import read_study

    if asked != ProblemOptions():
        raise InputError(
            "a study states its own budgets and parameters; leave out the flags of a problem"
        )
    with screen.progress() as watch:
        files, left_out = export_study(
            read_study(study), out, format_, certify=certify, overwrite=force, watch=watch
        )
    for sentence in left_out:
        screen.say(sentence)
    if as_json:
        screen.print_json([file.record() for file in files])
    else:
        screen.say(f"wrote {len(files)} files to {out}; {TABLE} lists them")
