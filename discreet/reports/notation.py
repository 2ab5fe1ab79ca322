"""How problems, budgets and backends are typed, on the command line and in study files.

    PROBLEM   name | file.npz | name:key=value,key=value
              paper-multi:sensors=10,measure=maximal-leakage
    TABLE     file.csv:key=value,... | file.parquet:... people.csv:hide=sex,guess=income,bins.age=6
    BACKEND   name | name:setting=value,...                     conic:solver=scs
              BACKEND@REQUIREMENTS runs in an environment       "conic@clarabel==0.9.0 numpy<2"
    BUDGET    fraction=0.5 | budget=0.01 | equivocation=0.3 | perfect | own in study files; the
              command line has flags

Between commas, a piece without "=" continues the value before it: paper-single:edges=0.2,0.5,0.8 is
one parameter. Errors raise InputError (FileError for files).
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any

from discreet.checks import brief, nearest
from discreet.errors import FileError, InputError
from discreet.files import tables
from discreet.files.records import load_problem
from discreet.measures.registry import measure_of
from discreet.problems.catalog import build, entries
from discreet.problems.catalog.registry import DEFAULT_FRACTION
from discreet.problems.catalog.registry import Budget as Budget
from discreet.problems.problem import Problem
from discreet.reports.measurements import Configuration
from discreet.storage.writing import shown_path


def read_budget(word: str) -> Budget:
    """Return the budget that a word of a study file specifies."""
    if word in ("own", "perfect"):
        return Budget(perfect=word == "perfect")
    kind, _, value = word.partition("=")
    names = {"fraction": "fraction", "budget": "leakage", "equivocation": "equivocation"}
    with contextlib.suppress(ValueError):
        if kind in names and float(value) >= 0.0:
            return Budget(**{names[kind]: float(value)})  # type: ignore[arg-type]
    raise InputError(
        f"{brief(word)} is not a budget; write fraction=0.5, budget=0.01, "
        "equivocation=0.3 (nats), perfect or own"
    )


def is_file(spec: str) -> bool:
    """Return whether a specification means a problem file, by its suffix or because it contains a
    folder.
    """
    return spec.endswith(".npz") or (("/" in spec or "\\" in spec) and not is_table(spec))


def is_table(spec: str) -> bool:
    """Return whether a specification means a table of people, with or without parameters."""
    return tables.is_table(spec) or tables.is_table(spec.partition(":")[0])


def files(specs: Iterable[str]) -> list[str]:
    """Return the files among the specifications, without the parameters of tables."""
    return [
        spec.partition(":")[0] if is_table(spec) else spec
        for spec in specs
        if is_file(spec) or is_table(spec)
    ]


def problem(
    spec: str,
    parameters: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
    measure: str | None = None,
    *,
    default_budget: float | None = None,
) -> Problem:
    """Build the problem of a specification, with its parameters overridden by `parameters`, under
    `budget` if one is given.

    `measure` is the measure of the budget; a catalog problem also accepts it as a parameter.
    Without a budget, a catalog problem has its default budget, a table half of the Bayes rule's
    leakage, and a file its own. Raises FileError if a file has no budget and no `default_budget`,
    in nats, is given.
    """
    chosen = budget or Budget()
    if is_file(spec):
        if parameters:
            raise InputError(
                f"{brief(spec)} is a file and has no parameters to set; leave them out"
            )
        unbound = math.inf if chosen.given else None
        given = (
            measure
            if chosen.given and measure is not None and measure_of(measure).conditional
            else None
        )
        return chosen.apply(
            load_problem(spec, budget=unbound, default_budget=default_budget, measure=given),
            measure,
        )
    if is_table(spec):
        return _of_table(spec, parameters or {}, chosen, measure)
    if spec not in {each.name for each in entries()} and os.path.exists(spec):
        kind = "a folder" if os.path.isdir(spec) else "neither a problem file nor a table"
        raise FileError(
            f"{shown_path(spec)} is {kind}; give a .npz file, a table as .csv, .csv.gz or "
            ".parquet, or a name of discreet problems"
        )
    name, inline = read(spec, "problem")
    values = {**inline, **(parameters or {}), **({} if measure is None else {"measure": measure})}
    reserved = sorted({"budget", "equivocation", "fraction", "name"} & set(values))
    if reserved:
        raise InputError(
            f"{reserved[0]} is not a parameter of a problem here; use --leakage, --equivocation, "
            "--perfect or --fraction"
        )
    return (
        chosen.apply(build(name, **values, budget=math.inf))
        if chosen.given
        else build(name, **values)
    )


_LISTS = ("hide", "use")
_WORDS = ("guess", "weights", "missing", "measure")
_NUMBERS: dict[str, Callable[[str], Any]] = {
    "bins": lambda text: None if text == "none" else int(text),
    "min_count": int,
    "seed": int,
    "smoothing": float,
}


def _of_table(
    spec: str, parameters: Mapping[str, Any], budget: Budget, measure: str | None
) -> Problem:
    """Build the problem of a table in a file. The parameters are the arguments of
    `Problem.from_frame`.

    Several columns are separated by commas; bins.COLUMN and edges.COLUMN apply to one column.
    """
    path, inline = read(spec, "table")
    given: dict[str, Any] = {}
    cuts: dict[str, list[float]] = {}
    counts: dict[str, int | None] = {}
    for key, text in {
        **inline,
        **({} if measure is None else {"measure": measure}),
        **parameters,
    }.items():
        what, _, column = key.partition(".")
        try:
            if key in _LISTS:
                given[key] = split_list(str(text))
            elif key in _WORDS:
                given[key] = str(text)
            elif key in _NUMBERS:
                given[key] = _NUMBERS[key](str(text))
            elif what == "bins" and column:
                counts[column] = _NUMBERS["bins"](str(text))
            elif what == "edges" and column:
                cuts[column] = [float(edge) for edge in split_list(str(text))]
            else:
                known = [*_LISTS, *_WORDS, *_NUMBERS, "bins.COLUMN", "edges.COLUMN"]
                raise InputError(
                    f"a table has no parameter {brief(key)}{nearest(key, known)}; it "
                    f"takes {', '.join(known)}"
                )
        except InputError:
            raise
        except ValueError:
            raise InputError(f"{key} of the table is {brief(text)}; give a number") from None
    lacking = [key for key in ("hide", "guess") if key not in given]
    if lacking:
        raise InputError(
            f"{brief(path)} is a table, and it is not stated what to {lacking[0]}; write "
            f"{path}:hide=COLUMN,guess=COLUMN, or "
            "give them with --set"
        )
    if counts:
        if "bins" in given:
            raise InputError("bins is given for all columns and for one; give bins.COLUMN for each")
        given["bins"] = counts
    table = tables.read_table(path)
    whole = Problem.from_frame(
        table, budget=math.inf, edges=cuts, name=PurePath(path).name, **given
    )
    return (budget if budget.given else Budget(fraction=DEFAULT_FRACTION)).apply(whole)


def configurations(text: str) -> list[Configuration]:
    """Parse backends with settings, and requirements of an environment after an @, separated by
    commas: tilt,conic:solver=scs@scs==3.2.0.
    """
    specs: list[str] = []
    for piece in split_list(text):
        equals = piece.find("=")
        colon = piece.find(":")
        before = specs[-1] if specs else ""
        bound = "@" in before and piece[0] in "<>=!~"  # of a requirement such as scs>=3.2,<3.3
        setting = ":" in before and "@" not in before and equals >= 0
        if bound or (setting and not 0 <= colon < equals):
            specs[-1] += f",{piece}"
        else:
            specs.append(piece)
    return [_configuration(spec) for spec in specs]


def _configuration(spec: str) -> Configuration:
    backend, _, requirements = spec.partition("@")
    name, inline = read(backend, "backend")
    return Configuration(name, settings(inline), environment=" ".join(requirements.split()))


def settings(words: Mapping[str, str]) -> dict[str, Any]:
    """Parse words as settings of a backend: integers, numbers, true, false and none are read as
    such.
    """
    return {key: _value(text) for key, text in words.items()}


def read(spec: str, what: str) -> tuple[str, dict[str, str]]:
    """Return the name and the values of name:key=value,key=value; `what` names its kind in
    messages.
    """
    name, _, inline = spec.partition(":")
    pieces: list[str] = []
    for piece in filter(None, inline.split(",")):
        if pieces and "=" not in piece:
            pieces[-1] += f",{piece}"
        else:
            pieces.append(piece)
    return name, pairs(pieces, f"{what} {brief(spec)}")


def pairs(words: Iterable[str], where: str) -> dict[str, str]:
    """Parse key=value words as a dictionary; a key given twice is an error."""
    parsed: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        key = key.strip()
        if not (key and equals):
            raise InputError(f"{where} has {brief(word)}; write key=value")
        if key in parsed:
            raise InputError(f"{where} gives {brief(key)} twice; give it once")
        parsed[key] = value.strip()
    return parsed


def split_list(text: str) -> list[str]:
    """Return the words separated by commas, without empty ones."""
    return [word.strip() for word in text.split(",") if word.strip()]


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
