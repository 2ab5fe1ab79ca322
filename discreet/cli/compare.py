"""`discreet compare`: every backend on the same problems, claim against truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath, PureWindowsPath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import screen
from discreet.cli.flags import (
    Among,
    AskedProblem,
    Force,
    Gap,
    Json,
    ProblemOptions,
    TimeLimit,
    argument,
    asked_problems,
    option,
    problem_names,
)
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.reports.compare import Case, Comparison

_MOST_SHOWN = 20  # attempts that a screen can show
# The bare comparison. Twenty sensors at half of the Bayes rule's leakage is where claims and truth
# part most visibly.
DEFAULT_CASES = (
    ("paper-single:bins=64", 0.5),
    ("paper-single:bins=64", 0.0),
    ("paper-multi:sensors=10", 0.5),
    ("paper-multi:sensors=10", 0.0),
    ("paper-multi:sensors=20", 0.5),
    ("anes96", 0.5),
    ("anes96", 0.0),
)


def compare(
    asked: ProblemOptions,
    problems: Annotated[
        list[str] | None,
        argument(
            "[PROBLEM]...",
            "Catalog names, name:key=value,..., or .npz files.",
            complete=problem_names,
        ),
    ] = None,
    backends: Among = None,
    gap: Gap = 1e-9,
    time_limit: TimeLimit = 10.0,
    out: Annotated[str, option("DIR", "Where the page and the pictures go.")] = "discreet-compare",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Run every backend on the same problems and compare what they claim with what is true.

    Without PROBLEM: the paper's single- and multi-sensor set-ups and the survey anes96, at half of
    the Bayes rule's leakage and at perfect privacy. A problem given without a budget runs at the
    same two budgets, a file at its own. Exits with 1 if some problem has no certified answer, or if
    two certified brackets exclude each other. In CI, `discreet crosscheck` also checks every
    certificate a second time.

    Examples:

      discreet compare

      discreet compare paper-multi:sensors=20 --fraction 0.1 --backends tilt,conic,conic:solver=scs

      discreet compare model.npz --time-limit 60 --out report --json
    """
    from discreet.reports import notation
    from discreet.reports.compare import NAMES, run_comparison, write_comparison
    from discreet.reports.outputs import check_folder

    check_folder(out, NAMES, inputs=notation.files(problems or ()), overwrite=force)
    chosen = None if backends is None else notation.configurations(backends)
    cases = _cases(problems or [], asked)
    with screen.progress() as watch:
        comparison = run_comparison(cases, chosen, gap=gap, time_limit=time_limit, watch=watch)
    try:
        written = write_comparison(comparison, out, overwrite=force)
    finally:  # a result that cannot be written is still shown
        screen.show(comparison.to_dict, partial(_output, comparison), as_json=as_json)
    screen.say(f"wrote {written[0]} and {len(written) - 1} files next to it")
    if comparison.uncertified_cases or comparison.disagreements:
        raise typer.Exit(1)


def _cases(specs: Sequence[str], asked: ProblemOptions) -> list[Case]:
    from discreet.problems.catalog.registry import Budget
    from discreet.reports import notation

    if asked.set_ and not specs:
        raise InputError("--set needs a problem whose parameters it sets; name one")
    if specs or asked.has_budget:
        chosen = specs or list(dict.fromkeys(spec for spec, _ in DEFAULT_CASES))
        return [_case(each) for each in asked_problems(chosen, asked)]
    return [
        _case(AskedProblem(spec, Budget(fraction=fraction).apply(notation.problem(spec)), fraction))
        for spec, fraction in DEFAULT_CASES
    ]


def _case(asked: AskedProblem) -> Case:
    from discreet.measures.mutual_information import MutualInformation
    from discreet.reports.compare import Case
    from discreet.reports.measurements import Stakes

    spec = asked.spec
    if PurePath(spec).is_absolute() or PureWindowsPath(spec).is_absolute():
        spec = PureWindowsPath(spec).name  # folders of this machine stay out of pages
    if asked.fraction is None:
        limits = (
            replace(term.budget, amount=float(f"{term.budget.amount:.4g}"))
            for term in asked.problem.terms
        )
        return Case(f"{spec}, ε = {' and '.join(map(str, limits))}", asked.problem)
    words = (
        "perfect privacy" if asked.fraction == 0.0 else f"{asked.fraction:g} of the Bayes leakage"
    )
    measure = Stakes.of(asked.problem).measure
    by = "" if measure == MutualInformation.name else f" by {measure}"
    return Case(f"{spec}, {words}{by}", asked.problem)


def _output(comparison: Comparison, tables: Any) -> list[Any]:
    """The verdict, and every attempt; of many attempts a summary and those not certified, since the
    page has all.
    """
    from discreet.reports.statistics.agreement import summarise

    if len(comparison.rows) <= _MOST_SHOWN:
        pairs = summarise(comparison.agreements)
        blocks = [
            *tables.case_tables(comparison),
            tables.agreement_table(comparison.labels, pairs),
        ]
    else:
        blocks = [tables.ranking_table(comparison), tables.uncertified_table(comparison)]
    return [*comparison.verdict(), "", *filter(None, blocks)]
