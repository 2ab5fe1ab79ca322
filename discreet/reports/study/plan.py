"""What a study is, as data: instances × configurations × accuracy profiles × repeats, limits; and its TOML.

Files are read strictly: an unknown key, a wrong type, a name twice or unknown is one sentence with its place.

name = "bins"                      # of the study; results of another are not mixed in
repeats = 2                        # default 1
seed = 0                           # of the order of the cells

[limits]                           # of every attempt
time_seconds = 10
memory_gib = 4
threads = 1

[profiles.default]                 # accuracy profiles: the gap asked for, and settings by backend
gap = 1e-9
[profiles.default.settings.conic]
tolerance = 1e-10

[[backends]]
name = "conic"
settings = { solver = "scs" }
profiles = ["default"]             # default: all

[[instances]]
problem = "paper-single"           # as on the command line: name, name:key=value, file.npz
budgets = ["fraction=0.5", "perfect"]
backends = ["conic"]               # default: all
[instances.parameters]
bins = { from = 4, to = 1000, points = 7 }   # whole numbers on a log grid; or a value, or a list of values

[[reach]]
backends = ["slsqp"]
outcomes_above = 256
reason = "a dense method: a minute at N = 256"
"""

from __future__ import annotations

import contextlib
import difflib
import importlib.resources
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.backends.registry import backend_names, load_backend
from discreet.problems.catalog import entries
from discreet.problems.errors import Broken, FileError, InputError
from discreet.problems.problem import Problem
from discreet.reports import notation
from discreet.reports.measurements import Configuration

__all__ = ["SHIPPED", "InstanceSpec", "Limits", "Profile", "Reach", "Study", "parse_study", "read_study"]

SHIPPED = ("default", "quick")
"""Names of the studies that come with the package."""


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
    """

    problem: str
    grid: Mapping[str, tuple[Any, ...]]
    budgets: tuple[str, ...]
    backends: tuple[str, ...] | None
    where: str


@dataclass(frozen=True)
class Reach:
    """A limit as data: beyond it a cell is a row of status unsupported with this reason, and nothing runs.

    backends         labels or names (a name means every setting of it)
    outcomes_above   N above which it is out of reach; `unknowns_above` the same for m N
    """

    backends: tuple[str, ...]
    reason: str
    outcomes_above: float = math.inf
    unknowns_above: float = math.inf

    def excludes(self, problem: Problem) -> bool:
        """Whether the problem is out of reach; every one is where no size is given."""
        sizes = self.outcomes_above, self.unknowns_above
        return sizes == (math.inf, math.inf) or problem.N > sizes[0] or problem.N * problem.m > sizes[1]


@dataclass(frozen=True)
class Study:
    """A whole study; `source` is the text of its file, kept with its results."""

    name: str
    instances: tuple[InstanceSpec, ...]
    backends: tuple[Configuration, ...]
    profiles: tuple[Profile, ...]
    reach: tuple[Reach, ...]
    limits: Limits
    repeats: int
    seed: int
    source: str


# -- reading a study -----------------------------------------------------------------------------------------------------


def read_study(name: str) -> Study:
    """The study of a TOML file, or one of `SHIPPED` by name; FileError for what cannot be read or is wrong."""
    if name in SHIPPED:
        text = importlib.resources.files("discreet.reports").joinpath("studies", f"{name}.toml").read_text(encoding="utf-8")
        return parse_study(text, f"{name}.toml")
    path = Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileError(
            f"there is no study {name!r}{_near(name, SHIPPED)}; give a TOML file, or one of: {', '.join(SHIPPED)}"
        ) from None
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise FileError(f"the study {name!r} cannot be read: {error}; give a TOML file") from None
    return parse_study(text, path.name)


def parse_study(text: str, where: str) -> Study:
    """The study of a text; `where` names its file in messages. Raises FileError."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{where} is not TOML: {error}; mend that line") from None
    table = _Table(data, where, "")
    name = table.text("name")
    if not name.strip():
        raise FileError(f"{where}: name is empty; name the study")
    profiles = _profiles(table.table("profiles"))
    known = [profile.name for profile in profiles]
    backends = tuple(_configuration(each, known) for each in table.tables("backends"))
    table.refuse_twice("backends", [each.label for each in backends])
    labels = list(dict.fromkeys([*(each.label for each in backends), *(each.backend for each in backends)]))
    instances = tuple(_instance(each, labels) for each in table.tables("instances"))
    reach = tuple(_reach(each, labels) for each in table.tables("reach", empty=True))
    limits = _limits(table.table("limits", empty=True))
    repeats, seed = table.whole("repeats", 1, least=1), table.whole("seed", 0, least=0)
    table.finish()
    return Study(name, instances, backends, profiles, reach, limits, repeats, seed, text)


def _near(word: str, known: Iterable[str]) -> str:
    """A hint at the nearest known word, empty where there is none."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _limits(table: _Table) -> Limits:
    time_seconds = table.number("time_seconds", Limits.time_seconds)
    memory = table.number("memory_gib", math.inf if table.has("memory_gib") else Limits.memory_gib)
    threads = table.whole("threads", 1, least=1)
    table.finish()
    return Limits(time_seconds, memory, threads)


def _profiles(table: _Table) -> tuple[Profile, ...]:
    found = []
    for name in table.data:
        inner = table.table(name)
        gap = inner.number("gap", None)
        if not gap < 1.0:
            raise inner.wrong("gap", "a relative gap between 0 and 1, such as 1e-9")
        settings = inner.table("settings", empty=True)
        by_backend = {backend: _settings(settings.table(backend), backend) for backend in settings.data}
        inner.finish()
        found.append(Profile(name, gap, by_backend))
    if not found:
        raise FileError(f"{table.where} has no profiles; add [profiles.default] with gap = 1e-9")
    return tuple(found)


def _settings(table: _Table, backend: str) -> dict[str, Any]:
    """Everything in the table, as settings of a backend."""
    table.known(backend, backend_names(), "backend")
    for name in table.data:
        if table.has(name) and isinstance(table.data[name], dict):
            raise table.wrong(name, "a value")
        with contextlib.suppress(Broken):  # the cells will say so
            table.known(name, load_backend(backend).capabilities.settings, f"setting of {backend}", name)
    return dict(table.data)


def _configuration(table: _Table, profiles: Sequence[str]) -> Configuration:
    backend = table.text("name")
    table.known(backend, backend_names(), "backend", "name")
    settings = _settings(table.table("settings", empty=True), backend)
    chosen = table.words("profiles", profiles, "profile") if table.has("profiles") else None
    table.finish()
    return Configuration(backend, settings, chosen)


def _instance(table: _Table, labels: Sequence[str]) -> InstanceSpec:
    problem = table.text("problem")
    name = problem.partition(":")[0]
    parameters = table.table("parameters", empty=True)
    catalog = {each.name: each for each in entries()}
    if notation.is_file(problem):
        if parameters.data:
            raise FileError(f"{table.where}: {parameters.path}: {problem!r} is a file and has no parameters; leave them out")
    else:
        table.known(name, catalog, "problem of the catalog", "problem")
    grid = {}
    for key in parameters.data:
        for part in key.split(","):
            own = [each.name for each in catalog[name].parameters]
            parameters.known(part.strip(), own, f"parameter of {name}", key)
        grid[key] = parameters.values(key)
    budgets = table.words("budgets")
    for word in budgets:
        try:
            notation.Budget.read(word)
        except InputError as error:
            raise FileError(f"{table.where}: {table.at('budgets')}: {error}") from None
    table.refuse_twice("budgets", budgets)
    chosen = table.words("backends", labels, "backend of this study") if table.has("backends") else None
    table.finish()
    return InstanceSpec(problem, grid, budgets, chosen, f"{table.where}: {table.path}")


def _reach(table: _Table, labels: Sequence[str]) -> Reach:
    backends = table.words("backends", labels, "backend of this study")
    reason = table.text("reason")
    outcomes, unknowns = table.number("outcomes_above", math.inf), table.number("unknowns_above", math.inf)
    table.finish()
    return Reach(backends, reason, outcomes, unknowns)


class _Table:
    """A TOML table that knows its place; what `finish` finds unread is an unknown key."""

    def __init__(self, data: dict[str, Any], where: str, path: str) -> None:
        self.where = where
        self.path = path
        self.data = data
        self._asked: set[str] = set()

    def at(self, key: str) -> str:
        """The full name of a key."""
        return f"{self.path}.{key}" if self.path and key else self.path or key

    def has(self, key: str) -> bool:
        """Whether the key is given."""
        self._asked.add(key)
        return key in self.data

    def finish(self) -> None:
        """Raise FileError for a key that is not known."""
        for key in self.data:
            self.known(key, self._asked, "key of a study", key)

    def known(self, word: str, known: Iterable[str], what: str, key: str = "") -> None:
        """Raise FileError, with the nearest word, for one that is not known."""
        words = sorted(known)
        if word not in words:
            said = f"{word!r} is no {what}{_near(word, words)}; there are: {', '.join(words) or 'none'}"
            raise FileError(f"{self.where}: {self.at(key)}: {said}")

    def refuse_twice(self, key: str, words: Sequence[str]) -> None:
        """Raise FileError for a word that is given twice."""
        twice = next((word for word in words if words.count(word) > 1), None)
        if twice is not None:
            raise FileError(f"{self.where}: {self.at(key)} has {twice!r} twice; give it once")

    def wrong(self, key: str, wanted: str) -> FileError:
        """What to raise for a value that is not what is wanted."""
        return FileError(f"{self.where}: {self.at(key)} is {self.data[key]!r}; give {wanted}")

    def text(self, key: str, default: str | None = None) -> str:
        """A string."""
        return str(self._take(key, default, lambda value: isinstance(value, str), 'text in quotes, such as "name"'))

    def number(self, key: str, default: float | None) -> float:
        """A number above 0."""
        return float(self._take(key, default, lambda value: _is_number(value) and value > 0.0, "a number above 0"))

    def whole(self, key: str, default: int, *, least: int) -> int:
        """A whole number of at least `least`."""
        wanted = f"a whole number of at least {least}"
        return int(self._take(key, default, lambda v: _is_number(v) and isinstance(v, int) and v >= least, wanted))

    def words(self, key: str, known: Iterable[str] | None = None, what: str = "") -> tuple[str, ...]:
        """A list of strings, at least one, which are known."""

        def fits(value: Any) -> bool:
            return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)

        found = tuple(self._take(key, None, fits, 'a list of words, such as ["one", "two"]'))
        for word in found if known is not None else ():
            self.known(word, known or (), what, key)
        return found

    def table(self, key: str, *, empty: bool = False) -> _Table:
        """A table; `empty`: may be left out."""
        value = self._take(key, {} if empty else None, lambda value: isinstance(value, dict), f"a table, [{self.at(key)}]")
        return _Table(value, self.where, self.at(key))

    def tables(self, key: str, *, empty: bool = False) -> list[_Table]:
        """A list of tables, at least one unless it may be `empty`, numbered from 1 in messages."""

        def fits(value: Any) -> bool:
            return isinstance(value, list) and (bool(value) or empty) and all(isinstance(each, dict) for each in value)

        value = self._take(key, [] if empty else None, fits, f"tables, [[{self.at(key)}]]")
        return [_Table(each, self.where, f"{self.at(key)}[{k}]") for k, each in enumerate(value, start=1)]

    def values(self, key: str) -> tuple[Any, ...]:
        """The values of a parameter: one, a list, or {from, to, points}, whole numbers on a log grid."""
        self._asked.add(key)
        value = self.data[key]
        if isinstance(value, dict):
            return self._log_grid(key)
        found = value if isinstance(value, list) else [value]
        if not found or any(isinstance(each, dict) for each in found):
            raise self.wrong(key, "a value, a list of values, or { from = 4, to = 1000, points = 7 }")
        return tuple(tuple(each) if isinstance(each, list) else each for each in found)

    def _log_grid(self, key: str) -> tuple[int, ...]:
        inner, most = self.table(key), 1000
        first, last = inner.whole("from", 0, least=1), inner.whole("to", 0, least=1)
        points = inner.whole("points", 0, least=2)
        inner.finish()
        if last <= first or points > most:
            raise FileError(
                f"{self.where}: {self.at(key)} goes from {first} to {last} in {points} points; "
                f"let it grow, in at most {most} points"
            )
        return tuple(dict.fromkeys(round(first * (last / first) ** (k / (points - 1))) for k in range(points)))

    def _take(self, key: str, default: Any, fits: Callable[[Any], bool], wanted: str) -> Any:
        self._asked.add(key)
        if key not in self.data:
            if default is None:
                raise FileError(f"{self.where}: {self.at(key)} is missing; give {wanted}")
            return default
        if not fits(self.data[key]):
            raise self.wrong(key, wanted)
        return self.data[key]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
