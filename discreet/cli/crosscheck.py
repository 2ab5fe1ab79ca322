"""`discreet crosscheck`: the gate for continuous integration."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import screen
from discreet.cli.flags import (
    Force,
    Gap,
    Json,
    ProblemOptions,
    TimeLimit,
    argument,
    asked_problems,
    backend_list,
    flag,
    number,
    option,
    problem_names,
)
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.reports.crosscheck.gate import Crosscheck
    from discreet.reports.crosscheck.instances import Selection


def crosscheck(
    asked: ProblemOptions,
    problems: Annotated[
        list[str] | None,
        argument(
            "[PROBLEM]...",
            "Files or catalog names, as for compare. Default: a seeded set of instances.",
            complete=problem_names,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the set of instances.")] = 0,
    size: Annotated[
        int | None,
        typer.Option(
            help="Number of instances. Default: every family in every regime of the budget, once."
        ),
    ] = None,
    backends: Annotated[
        str | None,
        option("A,B,...", "Only these. Default: all but peers.", complete=backend_list),
    ] = None,
    require: Annotated[
        str | None,
        option(
            "A,B,...",
            "Fail if one of these is skipped. Default for the seeded set: "
            "DISCREET_REQUIRED_BACKENDS.",
        ),
    ] = None,
    gap: Gap = 1e-9,
    time_limit: TimeLimit = 5.0,
    within: Annotated[
        float, number("S", "Seconds for all attempts, shared by the backends.")
    ] = 80.0,
    jobs: Annotated[int, typer.Option(help="Backends that run at the same time.")] = 2,
    junit: Annotated[str | None, option("FILE", "Write JUnit XML there.")] = None,
    github: Annotated[
        bool, flag("Annotations for GitHub, also outside its runners.", "--github")
    ] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Solve problems with every backend and check every certificate a second time, by
    `discreet verify`.

    Exits with 1 if two certified brackets do not overlap, a certificate does not hold, or a
    required backend gives no answer; for a PROBLEM also if no backend is certified on it; for the
    seeded set also if a backend of the project fails, runs out of time or is less accurate than its
    class of methods. Needs python-flint (the extra verify).

    Examples:

      discreet crosscheck

      discreet crosscheck model.npz paper-multi:sensors=10 --time-limit 60 --within 600

      discreet crosscheck --seed 7 --size 84 --require tilt,conic --junit crosscheck.xml
    """
    from pathlib import Path

    from discreet.reports.crosscheck import gate
    from discreet.reports.notation import files, split_list
    from discreet.storage.writing import check_output, marked

    if junit is not None:
        made = marked('<testsuite name="discreet crosscheck"')
        check_output(junit, made, inputs=files(problems or ()), overwrite=force)
    if require is None and not problems:  # the variable is about the seeded set
        require = os.environ.get(gate.REQUIRED_VARIABLE)
    required = split_list(require or "")
    chosen = None if backends is None else split_list(backends)
    with screen.waiting("crosschecking"):
        result = gate.run_crosscheck(
            _selection(problems or [], asked, seed, size),
            chosen,
            required,
            gap=gap,
            time_limit=time_limit,
            within=within,
            jobs=jobs,
        )
    try:
        if junit is not None:
            gate.write_junit(result, Path(junit))
    finally:  # a result that cannot be written is still shown
        screen.show(result.to_dict, partial(_output, result), as_json=as_json)
    if github or os.environ.get("GITHUB_ACTIONS") == "true":
        for line in gate.github_annotations(result):
            screen.say(line)
    for finding in result.findings:
        screen.say(gate.explanation(finding))
    if result.findings:
        raise typer.Exit(1)


def _selection(specs: list[str], asked: ProblemOptions, seed: int, size: int | None) -> Selection:
    from discreet.reports.crosscheck.instances import (
        DEFAULT_SIZE,
        CheckedInstance,
        Selection,
        select,
    )

    if not specs:
        if asked != ProblemOptions():
            raise InputError("the seeded set has budgets of its own; name a problem to set them")
        return select(seed, DEFAULT_SIZE if size is None else size)
    if size is not None:
        raise InputError("--size is of the seeded set; leave it out, or name no problem")
    return Selection(
        tuple(
            CheckedInstance(
                each.spec,
                asked.typed
                if each.fraction is None
                else f"{asked.typed} --fraction {each.fraction:g}".lstrip(),
                each.problem,
            )
            for each in asked_problems(specs, asked)
        )
    )


def _output(result: Crosscheck, tables: Any) -> list[Any]:
    statuses = tables.status_table(
        "", ((name, solution.status) for (_, name), solution in result.solutions.items())
    )
    counted = (
        f"{len(result.selection.instances)} instances, {len(result.solutions)} attempts, "
        f"{len(result.verified)} verified"
    )
    summary = f"{counted}, {len(result.findings)} findings, {result.seconds:.0f} s"
    return [statuses, *(f"left out: {sentence}" for sentence in result.selection.left_out), summary]
