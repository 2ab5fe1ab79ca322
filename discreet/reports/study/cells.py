"""Layout of a study: every problem is built once, and every cell gets a key.

The key is a hash of everything that the numbers depend on: the problem (p_xz, loss, budget),
backend and settings, gap and settings of the profile, limits, repeat, versions of Python and of
every library involved, the machine (processor, cores, system), and the reason if the cell is
skipped. A changed solver version, machine or limit therefore gives another cell, which is measured
in addition to the old one. The machine is the one on which the study is laid out, so that a cell
has one key regardless of the executor. The key does not depend on the name of the study, its other
cells, their order, the executor or the commit.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import Any

from discreet.backends.contract import Capabilities, Options
from discreet.backends.registry import capabilities
from discreet.errors import Absent, InputError
from discreet.lazy import cached_property
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.problems import catalog
from discreet.problems.problem import Problem
from discreet.reports import notation
from discreet.reports.measurements import Configuration, format_label
from discreet.reports.study.machine import machine, versions
from discreet.reports.study.plan import AccuracyProfile, AttemptLimits, InstanceSpec, Study

_MOST_CELLS = 10_000  # ten times the default study; a plan of them takes 8 s to show


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem with its budget, and the texts that specify both."""

    words: str
    entry: str
    family: str
    parameters: Mapping[str, Any]
    budget_word: str
    problem: Problem
    note: str = ""

    @property
    def slug(self) -> str:
        """Return problem and budget as the name of a file, without its ending."""
        return re.sub(r"[^A-Za-z0-9.+-]+", "_", f"{self.words}_{self.budget_word}").strip("_")


@dataclass(frozen=True, eq=False)
class Cell:
    """One attempt to make for the study of that name. `skipped` is the reason why it does not run,
    or empty.

    Key and versions describe the process that laid out the cells. They are sent with the cell to
    the process that runs it.
    """

    study: str
    instance: Instance
    configuration: Configuration
    profile: AccuracyProfile
    repeat: int
    limits: AttemptLimits
    skipped: str

    @property
    def extra(self) -> dict[str, Any]:
        """Return what the profile sets in this backend, unless the configuration sets it itself."""
        asked = self.profile.settings.get(self.configuration.backend, {})
        return {
            name: value for name, value in asked.items() if name not in self.configuration.settings
        }

    @property
    def settings(self) -> dict[str, Any]:
        """Return all settings that the backend gets."""
        return {**self.configuration.settings, **self.extra}

    @property
    def options(self) -> Options:
        """Return the options of the attempt."""
        return Options(self.profile.gap, self.limits.time_limit, settings=self.settings)

    @cached_property
    def versions(self) -> dict[str, str]:
        """Return the versions of Python and of every library involved."""
        each = self.configuration
        return versions(each.backend, self.settings, each.environment)

    @property
    def settings_hash(self) -> str:
        """Return the hash of the settings, the gap and what the profile sets."""
        return _digest({"settings": self.settings, "gap": self.profile.gap})

    @cached_property
    def key(self) -> str:
        """Return the hash of everything that the numbers of this cell depend on."""
        here = machine()
        memory = self.limits.memory_gib
        environment = self.configuration.environment
        return _digest(
            {
                "problem": self.instance.problem.digest,
                "backend": self.configuration.backend,
                "own": dict(self.configuration.settings),
                "profile": self.extra,
                "gap": self.profile.gap,
                "repeat": self.repeat,
                "limits": [
                    self.limits.time_seconds,
                    None if math.isinf(memory) else memory,
                    self.limits.threads,
                ],
                "versions": self.versions,
                "machine": [here["processor"], here["cores"], here["system"]],
                "skipped": self.skipped,
                **({"environment": environment} if environment else {}),
            }
        )

    @property
    def title(self) -> str:
        """Return the text that names this cell, which `choose` searches."""
        instance = self.instance
        problem = f"{instance.words} {instance.budget_word}"
        return f"{self.configuration.label} on {problem}, {self.profile.name}"


@dataclass(frozen=True, eq=False)
class Work:
    """All cells in the order of running, and sentences about problems that cannot be built here."""

    cells: tuple[Cell, ...]
    left_out: tuple[str, ...]


def _digest(value: Any) -> str:
    """Return the first 16 hexadecimal digits of the hash of a plain value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def cells_of(study: Study) -> Work:
    """Build the problems and lay out the cells, shuffled anew for every repeat, so that slow
    periods of the machine affect all configurations.

    A backend has no cells for kinds of budget that it does not serve. Other measures, and several
    constraints, do get a row, which says that the backend does not serve them. Raises InputError
    for a value that a problem refuses and for two cells with the same key.
    """
    problems = sum(
        len(spec.budgets) * math.prod(map(len, spec.grid.values())) for spec in study.instances
    )
    count = study.repeats * len(study.backends) * len(study.profiles) * problems
    if count > _MOST_CELLS:
        raise InputError(
            f"the study {study.name!r} may have {count:,} cells and the limit is "
            f"{_MOST_CELLS:,}; split it"
        )
    built, left_out = _build_all(study)
    able = capabilities()
    cells = []
    for repeat in range(study.repeats):
        batch = [
            Cell(
                study.name,
                instance,
                each,
                profile,
                repeat,
                study.limits,
                _skip_reason(study, instance.problem, each, profile, able),
            )
            for spec, instance in built
            for each in study.backends
            if (spec.backends is None or each.named_in(spec.backends))
            and _has_cells(each, instance.problem, able)
            for profile in study.profiles
            if each.profiles is None or profile.name in each.profiles
        ]
        random.Random(f"{study.seed}/{repeat}").shuffle(batch)
        cells += batch
    _refuse_same(cells)
    return Work(tuple(cells), tuple(left_out))


def instances_of(study: Study) -> tuple[tuple[Instance, ...], tuple[str, ...]]:
    """Return every problem of a study once, in its order, and sentences about problems that cannot
    be built here.

    Raises InputError for a value that a problem refuses.
    """
    built, left_out = _build_all(study)
    return tuple({instance.slug: instance for _, instance in reversed(built)}.values())[
        ::-1
    ], tuple(left_out)


def choose(cells: Sequence[Cell], only: Sequence[str]) -> tuple[Cell, ...]:
    """Return the cells whose title contains all of the words; raise InputError if there are
    none.
    """
    chosen = tuple(cell for cell in cells if all(word in cell.title for word in only))
    if only and not chosen:
        example = f", such as {cells[0].title!r}" if cells else ""
        raise InputError(
            f"no cell has {' and '.join(map(repr, only))} in its title; use words of one{example}"
        )
    return chosen


def serves(
    configuration: Configuration, problem: Problem, able: Mapping[str, Capabilities]
) -> bool:
    """Return whether the backend serves the kind of budget. A backend that does not load counts as
    serving it, so that a row reports the failure.
    """
    return configuration.backend not in able or able[configuration.backend].serves_budget(problem)


def _has_cells(
    configuration: Configuration, problem: Problem, able: Mapping[str, Capabilities]
) -> bool:
    """Return whether the study has cells of this configuration and problem: the backend serves the
    budget, or a row states that it does not serve the measure, or several constraints.
    """
    usual = problem.measures == (MUTUAL_INFORMATION,)
    return not usual or serves(configuration, problem, able)


def _skip_reason(
    study: Study,
    problem: Problem,
    each: Configuration,
    profile: AccuracyProfile,
    able: Mapping[str, Capabilities],
) -> str:
    """Return why a cell does not run, by the backend's capabilities, then by the study; the text is
    empty if it runs.
    """
    settings = {**profile.settings.get(each.backend, {}), **each.settings}
    own = able[each.backend].skipped(problem, settings) if each.backend in able else ""
    refusals = (reach.refusal(problem) for words, reach in study.reach if each.named_in(words))
    reason = own or next(filter(None, refusals), "")
    return reason and f"{each.label} {reason}"


def _refuse_same(cells: Sequence[Cell]) -> None:
    seen: dict[str, Cell] = {}
    for cell in cells:
        other = seen.setdefault(cell.key, cell)
        if other is not cell:
            raise InputError(
                f"the study has the same cell twice, {other.title!r} and "
                f"{cell.title!r}; remove one of them"
            )


def _build_all(study: Study) -> tuple[list[tuple[InstanceSpec, Instance]], list[str]]:
    built: list[tuple[InstanceSpec, Instance]] = []
    left_out: list[str] = []
    for spec in study.instances:
        try:
            built += [(spec, instance) for instance in _build(spec)]
        except Absent as error:
            left_out.append(f"{spec.problem} is left out: {error}")
        except InputError as error:
            raise type(error)(f"{spec.where}: {error}") from None
    return built, left_out


def _build(spec: InstanceSpec) -> Iterator[Instance]:
    if notation.is_file(spec.problem) or notation.is_table(spec.problem):
        for word in spec.budgets:
            problem = notation.problem(
                spec.problem, spec.grid, notation.read_budget(word), default_budget=math.inf
            )
            yield Instance(
                PureWindowsPath(spec.problem).name, "file", "file", {}, word, problem, spec.note
            )
        return
    name, fixed = notation.read(spec.problem, "problem")
    registered = catalog.entry(name)
    defaults = {each.name: each.default for each in registered.parameters}
    for values in itertools.product(*spec.grid.values()):
        varied = {
            part.strip(): value
            for key, value in zip(spec.grid, values, strict=True)
            for part in key.split(",")
        }
        parameters = {**fixed, **varied}
        plain = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in (defaults | parameters).items()
        }
        for word in spec.budgets:
            problem = notation.problem(name, parameters, notation.read_budget(word))
            yield Instance(
                format_label(name, parameters),
                name,
                registered.family,
                plain,
                word,
                problem,
                spec.note,
            )
