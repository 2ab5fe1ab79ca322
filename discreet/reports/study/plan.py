"""What a study is, as data: instances × configurations × accuracy profiles × repeats, limits; and its TOML.

docs/how-to/run-a-study.md shows every key. Files are read strictly: an unknown key, a wrong type, or a name unknown or given
twice is an error that names its place.
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
from discreet.problems.checks import brief, nearest
from discreet.problems.errors import Broken, FileError, InputError
from discreet.problems.files.texts import read_text
from discreet.reports import notation
from discreet.reports.measurements import Configuration

SHIPPED = ("default", "quick", "measures", "hard")
"""Names of the studies that come with the package."""

_LARGEST_FILE = 1 << 16  # bytes; tomllib takes a second or two for the worst of them


@dataclass(frozen=True)
class Limits:
    """Limits of every attempt: seconds of solving, memory beyond the imports (Linux only), threads (None: all)."""

    time_seconds: float = 10.0
    memory_gib: float = 4.0
    threads: int | None = 1

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit in bytes, None without one."""
        return None if math.isinf(self.memory_gib) else int(self.memory_gib * (1 << 30))


@dataclass(frozen=True)
class Profile:
    """An accuracy profile: the relative certified gap asked for, and what it sets in a backend, by backend."""

    name: str
    gap: float
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class InstanceSpec:
    """One line of problems.

    problem      catalog name or a `.npz` file; fixed parameters may follow as on the command line
    grid         parameter name(s) -> values; names joined by a comma take the same value; lists multiply
    budgets      words: fraction=0.5, budget=0.01, equivocation=0.3, perfect, own
    backends     labels or names of those that run it (None: all)
    where        place in the study file, for messages
    note         why it is in the study, if that is said
    """

    problem: str
    grid: Mapping[str, tuple[Any, ...]]
    budgets: tuple[str, ...]
    backends: tuple[str, ...] | None
    where: str
    note: str = ""


@dataclass(frozen=True)
class Study:
    """A whole study.

    reach    what it does not try with these backends (labels, or names that mean every setting); `source`: its file's text
    """

    name: str
    instances: tuple[InstanceSpec, ...]
    backends: tuple[Configuration, ...]
    profiles: tuple[Profile, ...]
    reach: tuple[tuple[tuple[str, ...], Reach], ...]
    limits: Limits
    repeats: int
    seed: int
    source: str


def read_study(name: str) -> Study:
    """The study of a TOML file, or one of `SHIPPED` by name; FileError for what cannot be read or is wrong."""
    if name in SHIPPED:
        text = importlib.resources.files("discreet.reports").joinpath("studies", f"{name}.toml").read_text(encoding="utf-8")
        return parse_study(text, f"{name}.toml")
    if not os.path.lexists(name):
        close = nearest(name, SHIPPED)
        raise FileError(f"there is no study {brief(name)}{close}; give a TOML file, or one of: {', '.join(SHIPPED)}")
    return parse_study(read_text(name, _LARGEST_FILE), Path(name).name)


def parse_study(text: str, where: str) -> Study:
    """The study of a text; `where` names its file in messages. Raises FileError."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also for an integer of 5,000 digits
        raise FileError(f"{where} is not TOML: {error}; correct that line") from None
    table = _Table(data, where)
    table.check(_STUDY, "name", "profiles", "backends", "instances")
    if not data["name"].strip():
        raise table.error("name", " is empty; name the study")
    profiles = _profiles(table.inner("profiles"))
    backends = tuple(_configuration(each, [profile.name for profile in profiles]) for each in table.each("backends"))
    table.refuse_twice("backends", [each.label for each in backends])
    labels = list(dict.fromkeys([*(each.label for each in backends), *(each.backend for each in backends)]))
    instances = tuple(_instance(each, labels) for each in table.each("instances"))
    reach = tuple(_reach(each, labels) for each in table.each("reach"))
    limits = table.inner("limits")
    limits.check({"time_seconds": _AMOUNT, "memory_gib": _AMOUNT, "threads": _COUNT})
    amounts = {name: float(value) for name, value in limits.data.items() if name != "threads"}
    threads = limits.data.get("threads", Limits.threads)
    repeats, seed = data.get("repeats", 1), data.get("seed", 0)
    return Study(data["name"], instances, backends, profiles, reach, Limits(**amounts, threads=threads), repeats, seed, text)


def _profiles(table: _Table) -> tuple[Profile, ...]:
    table.check(dict.fromkeys(table.data, _TABLE))
    found = []
    for name in table.data:
        inner = table.inner(name)
        inner.check({"gap": _NUMBER, "settings": _TABLE}, "gap")
        if not inner.data["gap"] < 1.0:
            raise inner.wrong("gap", "a relative gap between 0 and 1, such as 1e-9")
        settings = inner.inner("settings")
        settings.check(dict.fromkeys(settings.data, _TABLE))
        by_backend = {backend: _settings(settings.inner(backend), backend) for backend in settings.data}
        found.append(Profile(name, float(inner.data["gap"]), by_backend))
    if not found:
        raise FileError(f"{table.where} has no profiles; add [profiles.default] with gap = 1e-9")
    return tuple(found)


def _settings(table: _Table, backend: str) -> dict[str, Any]:
    """Everything in the table, as settings of a backend."""
    table.known(backend, backend_names(), "backend")
    for name, value in table.data.items():
        if not _is_value(value):
            raise table.wrong(name, "a text, a number, a truth value, or a list of these")
        with contextlib.suppress(Broken):  # the cells will say so
            table.known(name, load_backend(backend).capabilities.settings, f"setting of {backend}", name)
    return dict(table.data)


def _configuration(table: _Table, profiles: Sequence[str]) -> Configuration:
    table.check({"name": _TEXT, "settings": _TABLE, "profiles": _WORDS}, "name")
    backend = table.data["name"]
    table.known(backend, backend_names(), "backend", "name")
    return Configuration(backend, _settings(table.inner("settings"), backend), table.words("profiles", profiles, "profile"))


def _instance(table: _Table, labels: Sequence[str]) -> InstanceSpec:
    kinds = {"problem": _TEXT, "parameters": _TABLE, "budgets": _WORDS, "backends": _WORDS, "note": _TEXT}
    table.check(kinds, "problem", "budgets")
    parameters, budgets = table.inner("parameters"), table.data["budgets"]
    for word in budgets:
        try:
            notation.read_budget(word)
        except InputError as error:
            raise table.error("budgets", f": {error}") from None
    table.refuse_twice("budgets", budgets)
    grid = {key: _values(parameters, key) for key in parameters.data}
    chosen = table.words("backends", labels, "backend of this study")
    where, note = f"{table.where}: {table.path}", table.data.get("note", "")
    return InstanceSpec(table.data["problem"], grid, tuple(budgets), chosen, where, note)


def _values(table: _Table, key: str) -> tuple[Any, ...]:
    """The values of a parameter: one, a list, or {from, to, points}, whole numbers on a log grid."""
    value = table.data[key]
    if isinstance(value, dict):
        return _log_grid(table, key)
    found = value if isinstance(value, list) else [value]
    if not found or not _is_value(found):
        raise table.wrong(key, "a value, a list of values, or { from = 4, to = 1000, points = 7 }")
    return tuple(tuple(each) if isinstance(each, list) else each for each in found)


def _log_grid(table: _Table, key: str) -> tuple[int, ...]:
    inner, most = table.inner(key), 1000
    inner.check({"from": _COUNT, "to": _COUNT, "points": _COUNT}, "from", "to", "points")
    first, last, points = inner.data["from"], inner.data["to"], inner.data["points"]
    if last <= first or not 2 <= points <= most:
        raise table.error(
            key, f" goes from {first} to {last} in {points} points; let it grow, in at least 2 and at most {most} points"
        )
    return tuple(dict.fromkeys(round(first * (last / first) ** (k / (points - 1))) for k in range(points)))


def _reach(table: _Table, labels: Sequence[str]) -> tuple[tuple[str, ...], Reach]:
    sizes = {"outcomes_above": _NUMBER, "unknowns_above": _NUMBER}
    table.check({"backends": _WORDS, "reason": _TEXT, **sizes}, "backends", "reason")
    backends = table.words("backends", labels, "backend of this study") or ()
    return backends, Reach(table.data["reason"], *(table.data.get(name, math.inf) for name in sizes))


# -- kinds of values, and places -----------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """What a key may hold: the test of a value, and the words that ask for one; {} is the full name of the key."""

    fits: Callable[[Any], bool]
    wanted: str


def _is_value(value: Any) -> bool:
    """Whether it is a text, a number or a truth value, or lists of these: no table and no date."""
    return all(map(_is_value, value)) if isinstance(value, list) else isinstance(value, str | int | float)


def _is_list_of(kind: type, value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, kind) for each in value)


_TEXT = _Kind(lambda value: isinstance(value, str), 'text in quotes, such as "name"')
_NUMBER = _Kind(lambda value: type(value) in (int, float) and value > 0.0, "a number above 0")
_WHOLE = _Kind(lambda value: type(value) is int and 0 <= value < 2**63, "a whole number from 0 to 2^63")
_COUNT = _Kind(lambda value: _WHOLE.fits(value) and 1 <= value <= 10**9, "a whole number from 1 to 1,000,000,000")
_AMOUNT = _Kind(lambda value: _NUMBER.fits(value) and not 1e9 < value < math.inf, "a number above 0, at most 1e9, or inf")
_WORDS = _Kind(lambda value: _is_list_of(str, value), 'a list of words, such as ["one", "two"]')
_TABLE = _Kind(lambda value: isinstance(value, dict), "a table, [{}]")
_TABLES = _Kind(lambda value: _is_list_of(dict, value), "tables, [[{}]]")
_STUDY = {
    "name": _TEXT, "repeats": _COUNT, "seed": _WHOLE, "limits": _TABLE, "profiles": _TABLE, "backends": _TABLES,
    "instances": _TABLES, "reach": _TABLES,
}  # fmt: skip


@dataclass(frozen=True)
class _Table:
    """A TOML table and its place, for messages."""

    data: dict[str, Any]
    where: str
    path: str = ""

    def at(self, key: str) -> str:
        """The full name of a key."""
        name = key if len(key) <= 80 else f"{key[:79]}…"
        return f"{self.path}.{name}" if self.path and name else self.path or name

    def inner(self, key: str) -> _Table:
        """The table under a key; empty where it is not given."""
        return _Table(self.data.get(key, {}), self.where, self.at(key))

    def each(self, key: str) -> list[_Table]:
        """The tables under a key, numbered from 1 in messages."""
        return [_Table(each, self.where, f"{self.at(key)}[{k}]") for k, each in enumerate(self.data.get(key, ()), start=1)]

    def check(self, kinds: Mapping[str, _Kind], *needed: str) -> None:
        """Raise FileError for a key that is not known, a needed one that is missing, or a value of another kind."""
        for key, kind in kinds.items():
            wanted = kind.wanted.replace("{}", self.at(key))
            if key in self.data and not kind.fits(self.data[key]):
                raise self.wrong(key, wanted)
            if key in needed and key not in self.data:
                raise self.error(key, f" is missing; give {wanted}")
        for key in self.data:
            self.known(key, kinds, "key of a study", key)

    def words(self, key: str, known: Iterable[str], what: str) -> tuple[str, ...] | None:
        """The words of a list, which have to be known; None where it is not given."""
        for word in self.data.get(key, ()):
            self.known(word, known, what, key)
        return tuple(self.data[key]) if key in self.data else None

    def known(self, word: str, known: Iterable[str], what: str, key: str = "") -> None:
        """Raise FileError, with the nearest word, for one that is not known."""
        words = sorted(known)
        if word not in words:
            hint = f"{nearest(word, words)}; there are: {', '.join(words) or 'none'}"
            raise self.error(key, f": {brief(word)} is no {what}{hint}")

    def refuse_twice(self, key: str, words: Sequence[str]) -> None:
        """Raise FileError for a word that is given twice."""
        twice = next((word for word in words if words.count(word) > 1), None)
        if twice is not None:
            raise self.error(key, f" has {brief(twice)} twice; give it once")

    def wrong(self, key: str, wanted: str) -> FileError:
        """What to raise for a value of the wrong kind."""
        return self.error(key, f" is {brief(self.data[key])}; give {wanted}")

    def error(self, key: str, words: str) -> FileError:
        """What to raise about a key; the words follow its name."""
        return FileError(f"{self.where}: {self.at(key)}{words}")
