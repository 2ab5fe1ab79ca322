"""From a study to its cells: every problem is built once, and every cell gets a key.

The key is a hash of everything that the numbers depend on: the problem (p_xz, loss, budget),
backend and settings, gap and settings of the profile, limits, repeat, versions of Python and of
every library involved, the machine (processor, cores, system), and the reason where the cell is
skipped. So a changed solver version, machine or limit is another cell, measured anew beside the old
one. The machine is that on which the study is laid out, so that a cell has one key whatever runs
it. The name of the study, its other cells, their order, the executor and the commit are not part of
the key.
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

from discreet.backends.contract import Capabilities
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
    """A problem with its budget, and the words for both."""

    words: str
    entry: str
    family: str
    parameters: Mapping[str, Any]
    budget_word: str
    problem: Problem
    note: str = ""

    @property
    def slug(self) -> str:
        """Problem and budget as the name of a file, without its ending."""
        return re.sub(r"[^A-Za-z0-9.+-]+", "_", f"{self.words}_{self.budget_word}").strip("_")


@dataclass(frozen=True, eq=False)
class Cell:
    """One attempt to make. `skipped` is the reason why it does not run, or empty.

    Key and versions are those of the process that laid the cells out, wherever the cell runs: they
    travel with it.
    """

    instance: Instance
    configuration: Configuration
    profile: AccuracyProfile
    repeat: int
    limits: AttemptLimits
    skipped: str

    @property
    def extra(self) -> dict[str, Any]:
        """What the profile sets in this backend, unless the configuration's own settings do."""
        asked = self.profile.settings.get(self.configuration.backend, {})
        return {
            name: value for name, value in asked.items() if name not in self.configuration.settings
        }

    @property
    def settings(self) -> dict[str, Any]:
        """All settings that the backend gets."""
        return {**self.configuration.settings, **self.extra}

    @cached_property
    def versions(self) -> dict[str, str]:
        """Of Python and every library involved."""
        each = self.configuration
        return versions(each.backend, self.settings, each.environment)

    @property
    def settings_hash(self) -> str:
        """Hash of settings, gap and what the profile sets."""
        return _digest({"settings": self.settings, "gap": self.profile.gap})

    @cached_property
    def key(self) -> str:
        """See the module's docstring."""
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
        """The words for this cell, which `choose` searches."""
        found = self.instance
        return (
            f"{self.configuration.label} on {found.words} {found.budget_word}, {self.profile.name}"
        )


@dataclass(frozen=True, eq=False)
class Work:
    """All cells in the order of running, and sentences about problems that cannot be built here."""

    cells: tuple[Cell, ...]
    left_out: tuple[str, ...]


def _digest(value: Any) -> str:
    """16 hex digits of a plain value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def cells_of(study: Study) -> Work:
    """Build the problems and lay out the cells, in an order shuffled anew for every repeat, so that
    slow moments hit all.

    A backend has no cells for kinds of budget it does not serve, but rows that say which other
    measures it does not, and whether several constraints. Raises InputError for a value that a
    problem refuses and for two cells with the same key.
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
    """Every problem of a study once, in its order, and sentences about problems that cannot be
    built here.

    Raises InputError for a value that a problem refuses.
    """
    built, left_out = _build_all(study)
    return tuple({instance.slug: instance for _, instance in reversed(built)}.values())[
        ::-1
    ], tuple(left_out)


def choose(cells: Sequence[Cell], only: Sequence[str]) -> tuple[Cell, ...]:
    """The cells whose title holds every one of the words; InputError when none does."""
    found = tuple(cell for cell in cells if all(word in cell.title for word in only))
    if only and not found:
        example = f", such as {cells[0].title!r}" if cells else ""
        raise InputError(
            f"no cell has {' and '.join(map(repr, only))} in its title; use words of one{example}"
        )
    return found


def serves(
    configuration: Configuration, problem: Problem, able: Mapping[str, Capabilities]
) -> bool:
    """Whether the backend serves the kind of budget; one that does not load is asked, so that its
    row says why.
    """
    return configuration.backend not in able or able[configuration.backend].serves_budget(problem)


def _has_cells(
    configuration: Configuration, problem: Problem, able: Mapping[str, Capabilities]
) -> bool:
    """Whether it is asked, or a row says that it does not serve the measure."""
    return serves(configuration, problem, able) or not _is_usual(problem)


def _is_usual(problem: Problem) -> bool:
    """Whether there is one constraint, on mutual information."""
    return problem.measures == (MUTUAL_INFORMATION,)


def _skip_reason(
    study: Study,
    problem: Problem,
    each: Configuration,
    profile: AccuracyProfile,
    able: Mapping[str, Capabilities],
) -> str:
    """Why a cell does not run: what the backend says of itself, then what the study says; empty if
    it runs.
    """
    settings = {**profile.settings.get(each.backend, {}), **each.settings}
    own = able[each.backend].skipped(problem, settings) if each.backend in able else ""
    told = (reach.refusal(problem) for words, reach in study.reach if each.named_in(words))
    reason = own or next(filter(None, told), "")
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
    found = catalog.entry(name)
    defaults = {each.name: each.default for each in found.parameters}
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
                format_label(name, parameters), name, found.family, plain, word, problem, spec.note
            )
