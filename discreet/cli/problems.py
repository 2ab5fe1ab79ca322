"""`discreet problems`: what the catalog holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from discreet.checks import format_value
from discreet.cli import screen
from discreet.cli.flags import Json, Set, argument, problem_names
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.problems.catalog import Entry


def problems(
    name: Annotated[
        str | None,
        argument("[NAME]", "Show this one, with its parameters.", complete=problem_names),
    ] = None,
    parameters: Set = None,
    as_json: Json = False,
) -> None:
    """List the catalog of problems, or show one of them.

    Examples:

      discreet problems

      discreet problems paper-multi --set sensors=10
    """
    from discreet.problems.catalog import entries

    if name is not None:
        _show_one(name, parameters or [], as_json)
        return
    if parameters:
        raise InputError("--set needs the name of the problem whose parameters it sets; give NAME")
    known = entries()
    screen.show(
        lambda: [*map(_describe, known)],
        lambda tables: [tables.catalog_table(known)],
        as_json=as_json,
    )


def _show_one(spec: str, parameters: list[str], as_json: bool) -> None:
    from discreet.problems.catalog import entry
    from discreet.reports import notation
    from discreet.reports.measurements import landmarks
    from discreet.showing.data import plain

    shown = entry(spec.partition(":")[0])
    model = None
    trouble = ""
    with screen.waiting("building"):
        try:
            model = notation.problem(spec, notation.pairs(parameters, "--set"))
        except ImportError as error:  # its data needs an extra
            trouble = str(error)

    def record() -> dict[str, Any]:
        instance = model and {"name": model.name, **landmarks(model)}
        return _describe(shown) | {"instance": plain(instance), "trouble": trouble or None}

    screen.show(record, lambda tables: [tables.entry_facts(shown, model, trouble)], as_json=as_json)


def _describe(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "family": entry.family,
        "summary": entry.summary,
        "extra": entry.extra or None,
        "parameters": [
            {"name": p.name, "default": _plain(p.default), "meaning": p.meaning}
            for p in entry.parameters
        ],
    }


def _plain(value: Any) -> Any:

    return value if isinstance(value, bool | int | str | type(None)) else format_value(value)
