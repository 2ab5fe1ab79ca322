"""How words on the command line become problems, budgets, backends and settings.

    PROBLEM   name | file.npz | name:key=value,key=value       paper-multi:sensors=10,bins=4
    BACKEND   name | name:setting=value,...                     conic:solver=scs

Between commas, a piece without "=" continues the value before it: paper-single:edges=.2,.5,.8 is one parameter.
Everything wrong raises InputError (FileError for files).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.problems.errors import InputError

if TYPE_CHECKING:
    from discreet.problems.problem import Problem
    from discreet.reports.measurements import Configuration

__all__ = [
    "BudgetWords",
    "configurations",
    "is_file",
    "numbers",
    "pairs",
    "problem",
    "settings",
    "split_list",
    "whole_numbers",
]

_SUFFIX = ".npz"
_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True)
class BudgetWords:
    """The four ways to give a budget, at most one of them (`problems.catalog.registry.choose_budget` says so)."""

    leakage: float | None = None
    equivocation: float | None = None
    perfect: bool = False
    fraction: float | None = None

    @property
    def given(self) -> bool:
        """Whether any is."""
        return self.perfect or any(value is not None for value in (self.leakage, self.equivocation, self.fraction))

    def apply(self, model: Problem) -> Problem:
        """The same model under this budget."""
        from discreet.problems.catalog.registry import choose_budget

        return choose_budget(
            model,
            leakage=self.leakage,
            equivocation=self.equivocation,
            perfect=self.perfect,
            fraction=self.fraction,
        )


def is_file(spec: str) -> bool:
    """Whether a problem is meant as a file: by its suffix or because it has a folder in it."""
    return spec.endswith(_SUFFIX) or os.sep in spec or "/" in spec


def problem(
    spec: str, extra: Iterable[str] = (), budget: BudgetWords | None = None, *, default_budget: float | None = None
) -> Problem:
    """The problem of a specification and further key=value words, under a budget if one is given.

    Otherwise a catalog problem has its default budget and a file its own (FileError if it has none and no `default_budget`,
    in nats, stands for it).
    """
    budget = budget or BudgetWords()
    model = _read(spec, extra, budget, default_budget) if is_file(spec) else _build(spec, extra)
    return budget.apply(model)


def _read(spec: str, extra: Iterable[str], budget: BudgetWords, default_budget: float | None) -> Problem:
    if tuple(extra):
        raise InputError(f"--set changes a catalog problem's parameters and {spec!r} is a file; leave --set out")
    from discreet.problems.files.records import load_problem

    return load_problem(spec, budget=math.inf if budget.given else None, default_budget=default_budget)


def _build(spec: str, extra: Iterable[str]) -> Problem:
    from discreet.problems.catalog import build

    name, _, inline = spec.partition(":")
    parameters: dict[str, Any] = {**pairs(_pieces(inline), f"problem {spec!r}"), **pairs(extra, "--set")}
    reserved = sorted({"budget", "equivocation", "fraction", "name"} & set(parameters))
    if reserved:
        raise InputError(
            f"{reserved[0]} is not a parameter of a problem here; use --leakage, --equivocation, --perfect or --fraction"
        )
    return build(name, **parameters)


def settings(words: Iterable[str], where: str = "--option") -> dict[str, Any]:
    """key=value words as settings of a backend: integers, numbers, true, false and none are read as such."""
    return {key: _value(text) for key, text in pairs(words, where).items()}


def configurations(text: str) -> list[Configuration]:
    """Backends with settings, separated by commas: tilt,conic:solver=scs."""
    from discreet.reports.measurements import Configuration

    specs: list[str] = []
    for piece in split_list(text):
        equals, colon = piece.find("="), piece.find(":")
        if specs and ":" in specs[-1] and equals >= 0 and not 0 <= colon < equals:
            specs[-1] += f",{piece}"
        else:
            specs.append(piece)
    found = [spec.partition(":") for spec in specs]
    return [Configuration(name, settings(_pieces(inline), f"backend {name}")) for name, _, inline in found]


def pairs(words: Iterable[str], where: str) -> dict[str, str]:
    """key=value words as a dictionary; a key given twice is an error."""
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        key = key.strip()
        if not (key and equals):
            raise InputError(f"{where} has {word!r}; write key=value")
        if key in found:
            raise InputError(f"{where} gives {key!r} twice; give it once")
        found[key] = value.strip()
    return found


def split_list(text: str) -> list[str]:
    """Words separated by commas, without empty ones."""
    return [word.strip() for word in text.split(",") if word.strip()]


def numbers(text: str, flag: str) -> list[float]:
    """Numbers separated by commas, at least one."""
    return [_number(word, float, flag, "numbers such as 0.2,0.5") for word in split_list(text) or [text]]


def whole_numbers(text: str, flag: str) -> list[int]:
    """Integers separated by commas, at least one."""
    return [_number(word, int, flag, "whole numbers such as 1,5,10") for word in split_list(text) or [text]]


def _number(word: str, kind: type[_Number], flag: str, wanted: str) -> _Number:
    try:
        return kind(word)
    except ValueError:
        raise InputError(f"{flag} has {word!r}; give {wanted}") from None


def _pieces(inline: str) -> Sequence[str]:
    found: list[str] = []
    for piece in filter(None, inline.split(",")):
        if found and "=" not in piece:
            found[-1] += f",{piece}"
        else:
            found.append(piece)
    return found


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
