"""The flags that commands share, with their help."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from discreet import problems


def problem_names(typed: str) -> list[str]:
    """Catalog names that begin like this, for the completion of shells, which complete names of
    files themselves.
    """
    from discreet.problems.catalog import entries

    return [each.name for each in entries() if each.name.startswith(typed)]


def backend_list(typed: str) -> list[str]:
    """Completions of names of backends with commas between them."""
    from discreet.backends.registry import backend_names

    before, comma, last = typed.rpartition(",")
    return [f"{before}{comma}{name}" for name in backend_names() if name.startswith(last)]


Problem = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="A catalog name, name:key=value,..., a .npz file, or a table, "
        "people.csv:hide=...,guess=....",
        autocompletion=problem_names,
    ),
]
SolutionFile = Annotated[
    str, typer.Argument(metavar="SOLUTION.npz", help="A solution file; only its arrays are read.")
]
Backend = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Which backend; see discreet doctor.", autocompletion=backend_list
    ),
]
Among = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="Only these; conic:solver=scs gives a setting. Default: all.",
        autocompletion=backend_list,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Parameter of a catalog problem or a table; may be repeated.",
    ),
]
Leakage = Annotated[
    float | None, typer.Option(metavar="NATS", help="Leakage budget I(X;Ŷ) ≤ NATS.")
]
Equivocation = Annotated[
    float | None, typer.Option(metavar="NATS", help="The paper's H0: keep H(X given Ŷ) ≥ NATS.")
]
Perfect = Annotated[bool, typer.Option("--perfect", help="Perfect privacy: leakage 0.")]
Fraction = Annotated[
    float | None,
    typer.Option(metavar="F", help="Budget as a fraction of what the Bayes rule leaks."),
]
Measure = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="What the budget bounds; mutual information by default."),
]
Gap = Annotated[float, typer.Option(help="Relative certified gap aimed at.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(metavar="S", help="Seconds per attempt; then its process is killed."),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Replace files that are in the way, also ones not made by discreet."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="JSON, and nothing else, on standard output.")]


@dataclass(frozen=True)
class Asked:
    """How problems are asked for, beside their names; every field is an option."""

    set_: Set = None
    leakage: Leakage = None
    equivocation: Equivocation = None
    perfect: Perfect = False
    fraction: Fraction = None
    measure: Measure = None

    @property
    def has_budget(self) -> bool:
        """Whether a budget was given, which replaces that of a problem."""
        return self != Asked(self.set_)

    def problem(self, spec: str, default_budget: float | None = None) -> problems.Problem:
        """The problem of that specification; see `notation.problem`."""
        from discreet.reports import notation

        budget = notation.Budget(self.leakage, self.equivocation, self.perfect, self.fraction)
        parameters = notation.pairs(self.set_ or (), "--set")
        return notation.problem(
            spec, parameters, budget, self.measure, default_budget=default_budget
        )


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of `Asked` as options, in place of its argument `asked`."""
    fields = inspect.signature(Asked, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True).parameters.values()
    if not any(each.name == "asked" for each in own):
        return command

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(asked=Asked(**{name: given.pop(name) for name in fields}), **given)

    flat = [each for one in own for each in (fields.values() if one.name == "asked" else [one])]
    run.__signature__ = inspect.Signature([each.replace(kind=each.KEYWORD_ONLY) for each in flat])  # type: ignore[attr-defined]
    return run
