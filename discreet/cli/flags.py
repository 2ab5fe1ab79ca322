"""The flags that commands share, with their help."""

from __future__ import annotations

import contextlib
import functools
import inspect
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.checks import brief

if TYPE_CHECKING:
    from discreet import problems


def _complete(names: Iterable[str], typed: str, before: str = "") -> list[str]:
    """Return the names that begin with what was typed, after what stands before it; shells complete
    names of files themselves.
    """
    return [f"{before}{name}" for name in dict.fromkeys(names) if name.startswith(typed)]


def problem_names(typed: str) -> list[str]:
    """Completions of catalog names."""
    from discreet.problems.catalog import entries

    return _complete((each.name for each in entries()), typed)


def backend_list(typed: str) -> list[str]:
    """Completions of names of backends with commas between them."""
    from discreet.backends.registry import backend_names

    before, comma, last = typed.rpartition(",")
    return _complete(backend_names(), last, before + comma)


def study_names(typed: str) -> list[str]:
    """Completions of studies of the package."""
    from discreet.reports.study.plan import SHIPPED

    return _complete(SHIPPED, typed)


def measure_names(typed: str) -> list[str]:
    """Completions of measures of leakage, by themselves or after COLUMN=."""
    from discreet.measures.registry import CONDITIONAL, MEASURES

    column, equals, name = typed.rpartition("=")
    return _complete((*MEASURES, *CONDITIONAL), name, column + equals)


def parameter_names(context: typer.Context, typed: str) -> list[str]:
    """Completions of parameters of the catalog problems on the line, as KEY=."""
    from discreet.problems.catalog import entries

    words = [word.partition(":")[0] for word in _words(context)]
    known = [entry for entry in entries() if entry.name in words]
    return _complete((f"{each.name}=" for entry in known for each in entry.parameters), typed)


def column_names(context: typer.Context, typed: str) -> list[str]:
    """Completions of columns of the tables on the line."""
    from discreet.errors import DiscreetError
    from discreet.files.tables import TableStream, is_table

    columns: list[str] = []
    for path in filter(is_table, _words(context)):
        with contextlib.suppress(DiscreetError):  # nothing to complete from
            columns += TableStream(path).header
    return _complete(columns, typed)


def _words(context: typer.Context) -> list[str]:
    """The texts among the arguments and options that were typed before; `args` has those that
    precede an option without a value.
    """
    given = [*context.params.values(), context.args]
    lists = [each if isinstance(each, list | tuple) else [each] for each in given]
    return [word for words in lists for word in words if isinstance(word, str)]


def option(
    metavar: str, help: str, *names: str, complete: Callable[..., list[str]] | None = None
) -> Any:
    """An option with a value; it is called like the parameter unless other names are given."""
    return typer.Option(*names, metavar=metavar, help=help, autocompletion=complete)


def number(metavar: str, help: str, *names: str) -> Any:
    """An option whose value is a number."""
    return typer.Option(*names, metavar=metavar, help=help, parser=_read_number)


def _read_number(text: Any) -> float:
    """The number that was typed, or the default."""
    try:
        return float(text)
    except ValueError:
        remedy = "give one"
        with contextlib.suppress(ValueError):
            remedy = f"write {float(text.removesuffix('%')) / 100.0:g}"
        raise typer.BadParameter(f"{brief(text)} is not a number; {remedy}") from None


def flag(help: str, name: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=help)


def argument(metavar: str, help: str, *, complete: Callable[..., list[str]] | None = None) -> Any:
    """An argument that is given by its place."""
    return typer.Argument(metavar=metavar, help=help, autocompletion=complete)


Problem = Annotated[
    str,
    argument(
        "PROBLEM",
        "A catalog name, name:key=value,..., a .npz file, or a table, "
        "people.csv:hide=...,guess=....",
        complete=problem_names,
    ),
]
SolutionFile = Annotated[
    str, argument("SOLUTION.npz", "A solution file; only its arrays are read.")
]
Backend = Annotated[
    str,
    option("NAME", "Which backend; see discreet doctor.", complete=backend_list),
]
Among = Annotated[
    str | None,
    option(
        "A,B,...",
        "Only these; conic:solver=scs gives a setting. Default: all.",
        complete=backend_list,
    ),
]
Set = Annotated[
    list[str] | None,
    option(
        "KEY=VALUE",
        "Parameter of a catalog problem or a table; may be repeated.",
        "--set",
        complete=parameter_names,
    ),
]
Leakage = Annotated[float | None, number("NATS", "Leakage budget I(X;Ŷ) ≤ NATS.")]
Equivocation = Annotated[float | None, number("NATS", "The paper's H0: keep H(X given Ŷ) ≥ NATS.")]
Perfect = Annotated[bool, flag("Perfect privacy: leakage 0.", "--perfect")]
Fraction = Annotated[
    float | None,
    number("F", "Budget as a fraction of what the Bayes rule leaks."),
]
Measure = Annotated[
    str | None,
    option("NAME", "Measure of leakage; mutual information by default.", complete=measure_names),
]
Gap = Annotated[float, number("GAP", "Relative certified gap aimed at.")]
TimeLimit = Annotated[
    float | None,
    number("S", "Seconds per attempt; then its process is killed."),
]
Results = Annotated[
    str | None,
    option("DIR", "Where the results go.  [default: discreet-bench]"),
]
Force = Annotated[
    bool,
    flag("Replace files that are in the way, also ones not made by discreet.", "--force"),
]
Json = Annotated[bool, flag("JSON, and nothing else, on standard output.", "--json")]


@dataclass(frozen=True)
class ProblemOptions:
    """How problems are specified in addition to their names; every field is an option."""

    set_: Set = None
    leakage: Leakage = None
    equivocation: Equivocation = None
    perfect: Perfect = False
    fraction: Fraction = None
    measure: Measure = None

    @property
    def has_budget(self) -> bool:
        """True if a budget was given; it replaces the budget of the problem."""
        return self != ProblemOptions(self.set_)

    def problem(self, spec: str, default_budget: float | None = None) -> problems.Problem:
        """The problem of that specification; see `notation.problem`."""
        from discreet.reports import notation

        budget = notation.Budget(self.leakage, self.equivocation, self.perfect, self.fraction)
        parameters = notation.pairs(self.set_ or (), "--set")
        return notation.problem(
            spec, parameters, budget, self.measure, default_budget=default_budget
        )

    @property
    def typed(self) -> str:
        """The options as they are typed again; empty without any."""
        words = [f"--set {shlex.quote(each)}" for each in self.set_ or ()]
        words += ["--perfect"] if self.perfect else []
        for name in ("leakage", "equivocation", "fraction", "measure"):
            value = getattr(self, name)
            words += [] if value is None else [f"--{name} {shlex.quote(str(value))}"]
        return " ".join(words)


@dataclass(frozen=True)
class AskedProblem:
    """A problem under one budget.

    spec      as typed: a catalog name with parameters, a file or a table
    fraction  of the Bayes rule's leakage, if no budget was given; None: the budget is the given
              one, or the file's
    """

    spec: str
    problem: problems.Problem
    fraction: float | None


def asked_problems(specs: Sequence[str], asked: ProblemOptions) -> Iterator[AskedProblem]:
    """Every problem under the given budget, a file otherwise under its own, and anything else at
    half of the Bayes rule's leakage and at perfect privacy.
    """
    from discreet.problems.catalog.registry import Budget
    from discreet.reports import notation

    for spec in specs:
        model = asked.problem(spec)
        if asked.has_budget or notation.is_file(spec):
            yield AskedProblem(spec, model, None)
            continue
        for fraction in (0.5, 0.0) if any(model.bayes_leakages) else (0.0,):
            yield AskedProblem(spec, Budget(fraction=fraction).apply(model), fraction)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of `ProblemOptions` as options, in place of its argument
    `asked`.
    """
    fields = inspect.signature(ProblemOptions, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True).parameters.values()
    if not any(each.name == "asked" for each in own):
        return command

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(asked=ProblemOptions(**{name: given.pop(name) for name in fields}), **given)

    flat = [each for one in own for each in (fields.values() if one.name == "asked" else [one])]
    run.__signature__ = inspect.Signature([each.replace(kind=each.KEYWORD_ONLY) for each in flat])  # type: ignore[attr-defined]
    return run
