"""The registry of catalog entries: what exists, what it can be told, and how it is built from words.

An entry is a builder: a pure function of its parameters (a random one takes a seed) that returns a `Problem`. Its
parameters are read from its signature, so that Python, the command line and `discreet problems` cannot disagree.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from discreet.problems.catalog.budgets import choose_budget
from discreet.problems.errors import InputError
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = [
    "BUDGET_WORDS",
    "DEFAULT_FRACTION",
    "FAMILIES",
    "Builder",
    "Entry",
    "Parameter",
    "budgeted",
    "build",
    "entries",
    "entry",
    "finished",
    "register",
    "title",
]

DEFAULT_FRACTION = 0.5
"""Budget of a catalog problem when none is asked for: this share of what the Bayes rule leaks."""

BUDGET_WORDS = ("budget", "equivocation", "fraction")
"""Keywords of every builder besides its own parameters."""

FAMILIES = ("paper", "sensors", "random", "application", "survey", "adversarial")
"""The kinds of entries, in the order in which they are listed."""

Builder = TypeVar("Builder", bound=Callable[..., Problem])


@dataclass(frozen=True)
class Parameter:
    """One parameter of an entry: its name, its default (whose type is its type) and what it means."""

    name: str
    default: Any
    meaning: str


@dataclass(frozen=True)
class Entry:
    """One named family of problems.

    name         what people type
    family       one of `FAMILIES`
    summary      one line
    parameters   in the order of the builder's signature
    extra        the extra of discreet that its data needs ("" = base install)
    build        the builder: its parameters by keyword, and budget, equivocation (nats) or fraction, at most one of these
    """

    name: str
    family: str
    summary: str
    parameters: tuple[Parameter, ...]
    extra: str
    build: Callable[..., Problem]

    def title(self, **values: Any) -> str:
        """The name, with those parameters that differ from their defaults: paper-single(bins=64)."""
        changed = [f"{p.name}={values[p.name]}" for p in self.parameters if p.name in values and values[p.name] != p.default]
        return f"{self.name}({', '.join(changed)})" if changed else self.name


_ENTRIES: dict[str, Entry] = {}


def register(
    name: str, *, family: str, summary: str, meanings: Mapping[str, str], extra: str = ""
) -> Callable[[Builder], Builder]:
    """Decorator that enters a builder under a name. `meanings` explains every parameter of its signature but the budget's.

    Raises ValueError for a name that is taken, an unknown family, or a parameter without a default or an explanation:
    mistakes of whoever writes the entry, found at import.
    """

    def enter(builder: Builder) -> Builder:
        if name in _ENTRIES:
            raise ValueError(f"the catalog already has an entry named {name!r}; choose another name")
        if family not in FAMILIES:
            raise ValueError(f"the entry {name!r} has the family {family!r}; use one of: {', '.join(FAMILIES)}")
        signature = inspect.signature(builder).parameters
        own = [p for p in signature.values() if p.name not in BUDGET_WORDS]
        if {p.name for p in own} != set(meanings) or any(p.default is inspect.Parameter.empty for p in own):
            raise ValueError(f"every parameter of the entry {name!r} needs a default and one line in meanings")
        if not set(BUDGET_WORDS) <= set(signature):
            raise ValueError(f"the builder of {name!r} must take {', '.join(BUDGET_WORDS)}")
        parameters = tuple(Parameter(p.name, p.default, meanings[p.name]) for p in own)
        _ENTRIES[name] = Entry(name, family, summary, parameters, extra, builder)
        return builder

    return enter


def entries() -> tuple[Entry, ...]:
    """All entries, family by family."""
    return tuple(sorted(_ENTRIES.values(), key=lambda found: FAMILIES.index(found.family)))


def entry(name: str) -> Entry:
    """The entry of that name; InputError, listing the names, if there is none."""
    found = _ENTRIES.get(name)
    if found is None:
        raise InputError(
            f"the catalog has no problem {name!r}{_hint(name, _ENTRIES)}; it has: {', '.join(e.name for e in entries())}"
        )
    return found


def build(
    name: str,
    *,
    budget: float | None = None,
    equivocation: float | None = None,
    fraction: float | None = None,
    **parameters: Any,
) -> Problem:
    """Build a catalog problem. Parameters given as strings are read as the type of their default.

    budget, equivocation (nats) and fraction (of the Bayes rule's leakage) exclude one another; without any the entry's own
    default holds, half of the Bayes rule's leakage unless its summary says otherwise. Raises InputError.
    """
    found = entry(name)
    known = {p.name: p for p in found.parameters}
    values = {}
    for key, value in parameters.items():
        if key not in known:
            listed = ", ".join(f"{p.name} (default {_shown(p.default)})" for p in found.parameters) or "none"
            raise InputError(f"{name} has no parameter {key!r}{_hint(key, known)}; its parameters are: {listed}")
        values[key] = _parse(name, known[key], value) if isinstance(value, str) else value
    return found.build(**values, budget=budget, equivocation=equivocation, fraction=fraction)


def budgeted(problem: Problem, budget: float | None, equivocation: float | None, fraction: float | None) -> Problem:
    """The last step of a builder: the budget asked for, or `DEFAULT_FRACTION` of the Bayes rule's leakage."""
    if budget is None and equivocation is None and fraction is None:
        fraction = DEFAULT_FRACTION
    return choose_budget(problem, leakage=budget, equivocation=equivocation, fraction=fraction)


def finished(joint: Array, name: str, budget: float | None, equivocation: float | None, fraction: float | None) -> Problem:
    """`budgeted` for a joint tensor [n, m, N], whose sum may be off one by rounding."""
    return budgeted(Problem.from_joint(joint / joint.sum(), math.inf, name=name), budget, equivocation, fraction)


def title(name: str, **values: Any) -> str:
    """`Entry.title` by name, for builders."""
    return entry(name).title(**values)


def _hint(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


# -- words to values ---------------------------------------------------------------------------------------------------

_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def _parse(owner: str, parameter: Parameter, text: str) -> Any:
    kind = type(parameter.default)
    try:
        return _read_row(text, parameter.default) if kind is tuple else _READERS[kind](text.strip())
    except ValueError:
        raise InputError(
            f"{parameter.name} of {owner} is {text!r}; give {_KINDS[kind]}, such as its default {_shown(parameter.default)}"
        ) from None


def _read_truth(text: str) -> bool:
    if text.lower() not in _TRUTH:
        raise ValueError(text)
    return _TRUTH[text.lower()]


def _read_number(text: str) -> float:
    value = float(text)
    if math.isnan(value):
        raise ValueError(text)
    return value


def _read_row(text: str, default: tuple[Any, ...]) -> tuple[Any, ...]:
    reader = _READERS[type(default[0])] if default else _read_number
    return tuple(reader(part.strip()) for part in text.strip("()[] ").split(",") if part.strip())


def _read_optional(text: str) -> int | float | None:
    if text.lower() == "none":
        return None
    try:
        return int(text)
    except ValueError:
        return _read_number(text)


_READERS: dict[type, Callable[[str], Any]] = {
    bool: _read_truth,
    int: int,
    float: _read_number,
    str: str,
    type(None): _read_optional,
}

_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a word",
    tuple: "values separated by commas",
    type(None): "a number or none",
}
