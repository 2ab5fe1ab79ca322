"""What the ablations share: problems, and how a piece of the solver is taken away."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import discreet as ds
from discreet.backends.tilt import crossover as crossing
from discreet.problems import BlockProblem, Problem, catalog, lattice_problem
from discreet.problems.catalog.paper import paper_edges
from discreet.problems.sensors import linear_conditional, paper_p_xy

__all__ = ["INSTANCES", "Ablated", "instance", "lattice", "replaced"]

INSTANCES = [
    *(
        f"paper-single:bins={bins},{budget}"
        for bins in (37, 1100)
        for budget in ("fraction=0.5", "budget=0")
    ),
    *(
        f"paper-single:bins=256,{budget}"
        for budget in ("budget=1e-10", "budget=1e-6", "budget=1e-3", "fraction=0.9")
    ),
    *(f"paper-multi:sensors={sensors},fraction=0.5" for sensors in (1, 2, 4, 7, 12, 20)),
    *(f"paper-multi:sensors={sensors},budget=0" for sensors in (2, 7, 20)),
    *(
        f"dirichlet:n={k},m={k},{budget}"
        for k in (2, 3, 4, 6)
        for budget in ("fraction=0.5", "fraction=0.1", "budget=0")
    ),
    *(f"mixture:n={k},m={k},{budget}" for k in (2, 4) for budget in ("fraction=0.5", "budget=0")),
    *(
        f"dirichlet:n={n},m={m},N=300,fraction=0.5,seed={seed}"
        for n, m in ((2, 5), (5, 2), (3, 4))
        for seed in (1, 2, 3)
    ),
    *(
        f"{name}:fraction=0.5"
        for name in ("multi-mixed", "smart-meter", "anes96", "building", "road", "fair")
    ),
    *(
        f"{name}:fraction=0.5"
        for name in ("zero-mass", "near-deterministic", "duplicated", "x-equals-y")
    ),
]


def instance(text: str) -> Problem:
    """The catalog's problem of a text "name:parameter=value,…"."""
    name, _, rest = text.partition(":")
    given = (part.split("=") for part in rest.split(","))
    return catalog.build(
        name,
        **{key: float(value) if set(value) & set(".e") else int(value) for key, value in given},
    )


def lattice(sensors: int, bins: int, sigma: float) -> BlockProblem:
    """The count lattice of the paper's sensors at half of the Bayes rule's leakage."""
    conditional = linear_conditional(0.4, 0.6, sigma, paper_edges(bins))
    free = lattice_problem(conditional, paper_p_xy(), sensors, budget=math.inf, tail=0.0)
    return free.with_budget(0.5 * ds.solve(free, "tilt").leakage)


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace an attribute within the context."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


class Ablated(crossing._ActiveSet):
    """Active sets of which one piece is taken."""

    without = ""

    def cut(self, tilt: Any, multiplier: float) -> Any:
        directed = 1 if self.without == "a direction for each further tie" else crossing._PIVOTS
        with replaced(crossing, "_PIVOTS", directed):
            announced = super().cut(tilt, multiplier)
        if self.without == "a law that the tilt implies":
            return np.zeros_like(announced)
        if self.without == "more than one tie from a tilt":
            self.ties = dict(list(self.ties.items())[:1])
        return announced

    def hesitate(self, columns: Any) -> Any:
        return None if self.without == "ties of the interior point" else super().hesitate(columns)

    def relabel(self, *given: Any) -> bool:
        if self.without == "ties of what changes twice":
            self._changed[:] = False
        return super().relabel(*given)

    def leave(self, vertex: Any, columns: Any) -> None:
        super().leave(vertex, columns)
        if self.without == "going on where nothing is solved" and columns.min() >= 0.0:
            self.ties.clear()

    def _enter(self, direction: Any, missing: float) -> None:
        if self.without != "entering of other ties":
            super()._enter(direction, missing)
