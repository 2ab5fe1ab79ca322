"""`discreet problems`: what the catalog holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import screen
from discreet.cli.flags import Json, Set

if TYPE_CHECKING:
    from discreet.problems.catalog import Entry
    from discreet.problems.problem import Problem

__all__ = ["problems"]


def problems(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show this one, with its parameters.")] = None,
    parameters: Set = None,
    as_json: Json = False,
) -> None:
    """List the catalog of problems, or show one of them.

    Examples:

      discreet problems

      discreet problems paper-multi --set sensors=10
    """
    from discreet.problems.catalog import entries
    from discreet.problems.errors import InputError

    if name is not None:
        _show_one(name, parameters or [], as_json)
        return
    if parameters:
        raise InputError("--set needs the name of the problem whose parameters it sets; give NAME")
    if as_json:
        screen.print_json([_described(entry) for entry in entries()])
        return
    from discreet.reports.tables import catalog_table

    screen.output().print(catalog_table(entries()))


def _show_one(spec: str, parameters: list[str], as_json: bool) -> None:
    from discreet.problems.catalog import entry
    from discreet.reports import notation

    found = entry(spec.partition(":")[0])
    model, trouble = None, ""
    with screen.waiting("building"):
        try:
            model = notation.problem(spec, notation.pairs(parameters, "--set"))
        except ImportError as error:  # its data needs an extra
            trouble = str(error)
    if as_json:
        screen.print_json(_described(found) | {"instance": _instance(model), "trouble": trouble or None})
        return
    from discreet.reports.tables import entry_table

    screen.output().print(entry_table(found, model, trouble))


def _described(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "family": entry.family,
        "summary": entry.summary,
        "extra": entry.extra or None,
        "parameters": [{"name": p.name, "default": _plain(p.default), "meaning": p.meaning} for p in entry.parameters],
    }


def _instance(model: Problem | None) -> dict[str, Any] | None:
    if model is None:
        return None
    return {
        "name": model.name,
        "private_values": model.n,
        "guesses": model.m,
        "outcomes": model.N,
        "entropy_x_nats": model.entropy_x,
        "bayes_error_probability": model.bayes_error,
        "bayes_leakage_nats": model.bayes_leakage,
        "constant_error_probability": model.constant_error,
        "budget_nats": None if model.constraint.oblivious else model.budget,
    }


def _plain(value: Any) -> Any:
    from discreet.reports.measurements import shown

    return value if isinstance(value, bool | int | str | type(None)) else shown(value)
