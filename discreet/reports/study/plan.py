"""Studies as data, and their TOML format: instances × configurations × accuracy profiles × repeats,
with limits.

docs/how-to/run-a-study.md documents every key. Files are read strictly: an unknown key, a wrong
type, or a name unknown or given twice is an error that names its place.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import math
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from discreet.backends.contract import Reach
from discreet.backends.registry import backend_names, load_backend
from discreet.checks import brief, nearest
from discreet.errors import Broken, FileError, InputError
from discreet.reports import notation
from discreet.reports.measurements import Configuration
from discreet.storage.texts import read_text

SHIPPED = ("default", "quick", "measures", "hard")
"""Names of the studies that come with the package."""

_LARGEST_FILE = 1 << 16  # bytes; tomllib takes a second or two for the worst of them


@dataclass(frozen=True)
class AttemptLimits:
    """Limits of every attempt: seconds of solving, memory beyond the imports (Linux only), and
    threads (None means all).
    """

    time_seconds: float = 10.0
    memory_gib: float = 4.0
    threads: int | None = 1

    @property
    def time_limit(self) -> float | None:
        """Return the time limit in seconds, or None without one."""
        return self.time_seconds if math.isfinite(self.time_seconds) else None

    @property
    def memory_bytes(self) -> int | None:
        """Return the memory limit in bytes, or None without one."""
        return None if math.isinf(self.memory_gib) else int(self.memory_gib * (1 << 30))


@dataclass(frozen=True)
class AccuracyProfile:
    """An accuracy profile: the relative certified gap asked for, and the settings that it makes in
    each backend.
    """

    name: str
    gap: float
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class InstanceSpec:
    """One entry of the problems in a study, which may stand for several instances.

    problem      catalog name or a `.npz` file; fixed parameters may follow as on the command line
    grid         dictionary from parameter name(s) to values; names joined by a comma take the same
                 value; lists multiply
    budgets      words: fraction=0.5, budget=0.01, equivocation=0.3, perfect, own
    backends     labels or names of the backends that run it (None means all)
    where        place in the study file, for messages
    note         why it is in the study, if the file says so
    """

    problem: str
    grid: Mapping[str, tuple[Any, ...]]
    budgets: tuple[str, ...]
    backends: tuple[str, ...] | None
    where: str
    note: str = ""


@dataclass(frozen=True)
class Study:
    """A study as read from its file: instances, configurations, accuracy profiles, repeats and
    limits.

    reach    problems that are not tried with some backends (labels, or names that stand for every
             setting)
    source   text of the study's file
    """

    name: str
    instances: tuple[InstanceSpec, ...]
    backends: tuple[Configuration, ...]
    profiles: tuple[AccuracyProfile, ...]
    reach: tuple[tuple[tuple[str, ...], Reach], ...]
    limits: AttemptLimits
    repeats: int
    seed: int
    source: str


def read_study(name: str) -> Study:
    """Return the study of a TOML file, or one of `SHIPPED` by name. Raises FileError for a file
    that cannot be read or is wrong.
    """
    if name in SHIPPED:
        text = (
            importlib.resources.files("discreet.reports")
            .joinpath("studies", f"{name}.toml")
            .read_text(encoding="utf-8")
        )
        return parse_study(text, f"{name}.toml")
    if not os.path.lexists(name):
        close = nearest(name, SHIPPED)
        raise FileError(
            f"there is no study {brief(name)}{close}; give a TOML file, or one of: "
            f"{', '.join(SHIPPED)}"
        )
    return parse_study(read_text(name, _LARGEST_FILE), Path(name).name)


def parse_study(text: str, where: str) -> Study:
    """Return the study of a text; `where` names its file in messages. Raises FileError."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also for an integer of 5,000 digits
        raise FileError(f"{where} is not TOML: {error}; correct that line") from None
    top = f"{where}: "
    _check(data, _STUDY, top)
    if not data["name"].strip():
        raise FileError(f"{top}name is empty; name the study")
    profiles = tuple(
        _profile(name, each, f"{top}profiles.{name}") for name, each in data["profiles"].items()
    )
    names = [profile.name for profile in profiles]
    if not names:
        raise FileError(f"{where} has no profiles; add [profiles.default] with gap = 1e-9")
    backends = tuple(
        configuration
        for each, place in _number_tables(data, "backends", top)
        for configuration in _configurations(each, names, place)
    )
    _refuse_twice([each.label for each in backends], f"{top}backends")
    labels = list(
        dict.fromkeys([*(each.label for each in backends), *(each.backend for each in backends)])
    )
    return Study(
        data["name"],
        tuple(
            _instance(each, labels, place) for each, place in _number_tables(data, "instances", top)
        ),
        backends,
        profiles,
        tuple(_reach(each, labels, place) for each, place in _number_tables(data, "reach", top)),
        AttemptLimits(**data.get("limits", {})),
        data.get("repeats", 1),
        data.get("seed", 0),
        text,
    )


def _number_tables(data: Mapping[str, Any], key: str, top: str) -> list[tuple[dict[str, Any], str]]:
    """Return the tables under a key, each with its place."""
    return [(each, f"{top}{key}[{k}]") for k, each in enumerate(data.get(key, ()), start=1)]


def _profile(name: str, table: Mapping[str, Any], place: str) -> AccuracyProfile:
    settings = table.get("settings", {})
    for backend, values in settings.items():
        _refuse_settings(
            values, backend, f"{place}.settings.{backend}", f"{place}.settings.{backend}"
        )
    return AccuracyProfile(name, float(table["gap"]), settings)


def _refuse_settings(settings: Mapping[str, Any], backend: str, place: str, named: str) -> None:
    """Raise FileError for an unknown backend or setting; `named` is the place where the backend is
    named.
    """
    _check_known([backend], backend_names(), "backend", named)
    with contextlib.suppress(Broken):  # the cells will say so
        _check_known(
            settings, load_backend(backend).capabilities.settings, f"setting of {backend}", place
        )


def _configurations(
    table: Mapping[str, Any], profiles: Sequence[str], place: str
) -> list[Configuration]:
    """One configuration for each environment; without any, the one that runs here."""
    settings = table.get("settings", {})
    _refuse_settings(settings, table["name"], f"{place}.settings", f"{place}.name")
    chosen = _words(table, "profiles", profiles, "profile", place)
    return [
        Configuration(table["name"], settings, chosen, " ".join(words.split()))
        for words in table.get("environments", [""])
    ]


def _instance(table: Mapping[str, Any], labels: Sequence[str], place: str) -> InstanceSpec:
    budgets = tuple(table["budgets"])
    for word in budgets:
        try:
            notation.read_budget(word)
        except InputError as error:
            raise FileError(f"{place}.budgets: {error}") from None
    _refuse_twice(budgets, f"{place}.budgets")
    grid = {
        key: _values(each, f"{place}.parameters.{key}")
        for key, each in table.get("parameters", {}).items()
    }
    chosen = _words(table, "backends", labels, "backend of this study", place)
    return InstanceSpec(table["problem"], grid, budgets, chosen, place, table.get("note", ""))


def _values(value: Any, place: str) -> tuple[Any, ...]:
    """Return the values of a parameter, which is given as one value, a list, or {from, to,
    points}.
    """
    match value:
        case list():
            return tuple(tuple(each) if type(each) is list else each for each in value)
        case dict():
            return _whole_numbers(value, place)
        case _:
            return (value,)


def _whole_numbers(value: dict[str, Any], place: str) -> tuple[int, ...]:
    """Return distinct whole numbers at equal distances on a logarithmic axis."""
    _check(value, {"from!": _COUNT, "to!": _COUNT, "points!": _COUNT}, place)
    first = value["from"]
    last = value["to"]
    points = value["points"]
    if last <= first or not 2 <= points <= _MOST_POINTS:
        raise FileError(
            f"{place} goes from {first} to {last} in {points} points; let it grow, in at least 2 "
            f"and at most {_MOST_POINTS}"
        )
    return tuple(
        dict.fromkeys(round(first * (last / first) ** (k / (points - 1))) for k in range(points))
    )


def _reach(
    table: Mapping[str, Any], labels: Sequence[str], place: str
) -> tuple[tuple[str, ...], Reach]:
    sizes = (table.get(name, math.inf) for name in ("outcomes_above", "unknowns_above"))
    return _words(table, "backends", labels, "backend of this study", place) or (), Reach(
        table["reason"], *sizes
    )


def _words(
    table: Mapping[str, Any], key: str, known: Iterable[str], what: str, place: str
) -> tuple[str, ...] | None:
    """Return the words of a list, which have to be known; None if the list is not given."""
    _check_known(table.get(key, ()), known, what, f"{place}.{key}")
    return tuple(table[key]) if key in table else None


def _check_known(words: Iterable[str], known: Iterable[str], what: str, place: str) -> None:
    """Raise FileError for an unknown word and suggest the nearest known one."""
    known = sorted(known)
    for word in words:
        if word not in known:
            hint = f"{nearest(word, known)}; there are: {', '.join(known) or 'none'}"
            raise FileError(f"{place}: {brief(word)} is no {what}{hint}")


def _refuse_twice(words: Sequence[str], place: str) -> None:
    """Raise FileError for a word that is given twice."""
    twice = next((word for word in words if words.count(word) > 1), None)
    if twice is not None:
        raise FileError(f"{place} has {brief(twice)} twice; give it once")


# -- what a study file may hold --------------------------------------------------------------------

_MOST_POINTS = 1000


class _Kind(NamedTuple):
    """The kind of value that a key may hold: a test of the value, and the words that ask for it."""

    fits: Callable[[Any], bool]
    wanted: str


def _is_value(value: Any) -> bool:
    """Return whether the value is a text, a number or a truth value, or lists of these; tables and
    dates are not values.
    """
    if type(value) is list:
        return all(map(_is_value, value))
    return type(value) in (str, int, float, bool)


_TEXT = _Kind(lambda value: type(value) is str, 'text in quotes, such as "name"')
_NUMBER = _Kind(lambda value: type(value) in (int, float) and value > 0.0, "a number above 0")
_GAP = _Kind(
    lambda value: _NUMBER.fits(value) and value < 1.0,
    "a relative gap between 0 and 1, such as 1e-9",
)
_WHOLE = _Kind(
    lambda value: type(value) is int and 0 <= value < 2**63, "a whole number from 0 to 2^63"
)
_COUNT = _Kind(
    lambda value: _WHOLE.fits(value) and 1 <= value <= 10**9,
    "a whole number from 1 to 1,000,000,000",
)
_AMOUNT = _Kind(
    lambda value: _NUMBER.fits(value) and not 1e9 < value < math.inf,
    "a number above 0, at most 1e9, or inf",
)
_WORDS = _Kind(
    lambda value: type(value) is list and {*map(type, value)} == {str},
    'a list of words, such as ["one", "two"]',
)
_VALUE = _Kind(_is_value, "a text, a number, a truth value, or a list of these")
_GRID = _Kind(
    lambda value: type(value) is dict or (value != [] and _is_value(value)),
    "a value, a list of values, or { from = 4, to = 1000, points = 7 }",
)
_STUDY = {
    "name!": _TEXT,
    "repeats": _COUNT,
    "seed": _WHOLE,
    "limits": {"time_seconds": _AMOUNT, "memory_gib": _AMOUNT, "threads": _COUNT},
    "profiles!": {"*": {"gap!": _GAP, "settings": {"*": {"*": _VALUE}}}},
    "backends!": [
        {
            "name!": _TEXT,
            "settings": {"*": _VALUE},
            "profiles": _WORDS,
            "environments": _WORDS,
        }
    ],
    "instances!": [
        {
            "problem!": _TEXT,
            "budgets!": _WORDS,
            "parameters": {"*": _GRID},
            "backends": _WORDS,
            "note": _TEXT,
        }
    ],
    "reach": [
        {
            "backends!": _WORDS,
            "reason!": _TEXT,
            "outcomes_above": _NUMBER,
            "unknowns_above": _NUMBER,
        }
    ],
}
"""The keys of each table: ! marks those that are needed, * stands for any; a list holds tables of
one kind.
"""


def _check(value: Any, schema: Any, place: str) -> None:
    """Raise FileError for an unknown key, a required key that is missing, or a value of the wrong
    kind.
    """
    match schema:
        case _Kind(fits, wanted):
            if not fits(value):
                raise FileError(f"{place} is {brief(value)}; give {wanted}")
        case [inner]:
            if type(value) is not list or not value:
                raise FileError(f"{place} is {brief(value)}; give tables, [[ ]]")
            for k, each in enumerate(value, start=1):
                _check(each, inner, f"{place}[{k}]")
        case _:
            if type(value) is not dict:
                raise FileError(f"{place} is {brief(value)}; give a table")
            _check_table(value, schema, place if place.endswith(" ") else f"{place}.")


def _check_table(table: dict[str, Any], schema: dict[str, Any], place: str) -> None:
    kinds = {key.rstrip("!"): each for key, each in schema.items()}
    for key in schema:
        if key.endswith("!") and key[:-1] not in table:
            raise FileError(f"{place}{key[:-1]} is missing; give it")
    for key, each in table.items():
        inner = f"{place}{key[:80]}"
        if "*" not in kinds:
            _check_known([key], kinds, "key of a study", inner)
        _check(each, kinds.get(key, kinds.get("*")), inner)
