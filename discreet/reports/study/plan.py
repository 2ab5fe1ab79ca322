"""What a study is, as data: instances × backends × accuracy profiles × repeats, with limits and reach.

These are plain values; `study_file` reads them from TOML, `cells` turns them into work.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Contender", "InstanceSpec", "Limits", "Profile", "Reach", "Study"]


@dataclass(frozen=True)
class Limits:
    """Limits of every attempt: wall-clock seconds of solving, bytes beyond the imports (Linux only), threads."""

    time_seconds: float = 10.0
    memory_gib: float | None = 4.0
    threads: int = 1

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit in bytes, None without one."""
        return None if self.memory_gib is None else int(self.memory_gib * (1 << 30))


@dataclass(frozen=True)
class Profile:
    """An accuracy profile: the relative certified gap asked for, and what it sets in a backend, by backend."""

    name: str
    gap: float
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Contender:
    """A backend with settings; `profiles` names those it runs under (None: all)."""

    backend: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    profiles: tuple[str, ...] | None = None

    @property
    def label(self) -> str:
        """As typed on the command line: conic, or conic:solver=scs."""
        pairs = ",".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.backend}:{pairs}" if pairs else self.backend


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
    regime           perfect, constrained or oblivious; "" for all
    profiles         names of accuracy profiles; empty for all
    """

    backends: tuple[str, ...]
    reason: str
    outcomes_above: float = math.inf
    unknowns_above: float = math.inf
    regime: str = ""
    profiles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Study:
    """A whole study; `source` is the text of its file, kept with its results."""

    name: str
    instances: tuple[InstanceSpec, ...]
    backends: tuple[Contender, ...]
    profiles: tuple[Profile, ...]
    reach: tuple[Reach, ...]
    limits: Limits
    repeats: int
    seed: int
    source: str
