"""A reader of the Conic Benchmark Format for continuous scalar variables, written from the format's
reference.

It shares nothing with the writer in `discreet`, so that what it reads says something about what was
written. Cones are stated as in the file: members of an exponential cone are (x, y, z) with x ≥ y
e^{z/y}.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Cone", "Read", "modelled", "read"]


@dataclass(frozen=True)
class Cone:
    """A cone of consecutive variables or rows: its word (F, L=, L+, L-, Q, EXP or POW), size, and
    exponent for POW.
    """

    word: str
    size: int
    power: float = 0.0


@dataclass(frozen=True)
class Read:
    """min cost·x with x in the cones of the variables and matrix x + right in the cones of the rows."""

    cost: NDArray[np.float64]
    matrix: sparse.csr_array
    right: NDArray[np.float64]
    variables: tuple[Cone, ...]
    rows: tuple[Cone, ...]


def read(path: Path) -> Read:
    """The program of a file; ValueError for anything that it does not understand."""
    stated = dict(_blocks(path))
    if stated.pop("VER") not in (["1"], ["2"], ["3"], ["4"]) or stated.pop("OBJSENSE") != ["MIN"]:
        raise ValueError("an unknown version, or no minimisation")
    powers = _powers(stated.pop("POWCONES", ["0 0"]))
    variables, rows = (_cones(stated.pop(name), powers) for name in ("VAR", "CON"))
    count = sum(each.size for each in variables)
    height = sum(each.size for each in rows)
    cost = np.zeros(count)
    right = np.zeros(height)
    (columns,), values = _entries(stated.pop("OBJACOORD", ["0"]), 1)
    cost[columns] = values
    places, values = _entries(stated.pop("ACOORD"), 2)
    matrix = sparse.csr_array((values, (places[0], places[1])), shape=(height, count))
    (chosen,), values = _entries(stated.pop("BCOORD"), 1)
    right[chosen] = values
    if stated:
        raise ValueError(f"unknown sections {list(stated)}")
    return Read(cost, matrix, right, variables, rows)


def modelled(found: Read) -> tuple[Any, Any]:
    """The variables and the problem in cvxpy; exponential cones are passed together."""
    import cvxpy as cp

    x = cp.Variable(found.cost.size)
    affine = found.matrix @ x + found.right
    constraints = [
        each for cone, part in _parts(x, found.variables) for each in _within(cone, part)
    ]
    triples = [first for first, cone in _starts(found.rows) if cone.word == "EXP"]
    if triples:
        first, second, third = (affine[np.array(triples) + k] for k in range(3))
        # cvxpy's is (x, y, z) with y e^{x/y} ≤ z.
        constraints.append(cp.ExpCone(third, second, first))
    constraints += [
        each
        for cone, part in _parts(affine, found.rows)
        if cone.word != "EXP"
        for each in _within(cone, part)
    ]
    return x, cp.Problem(cp.Minimize(found.cost @ x), constraints)


def _blocks(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The keywords of a file with the lines up to the next empty one."""
    own: list[str] = []
    with path.open(encoding="ascii") as stream:
        for line in (each.strip() for each in stream):
            if line.startswith("#"):
                continue
            if line:
                own.append(line)
            elif own:
                yield own[0], own[1:]
                own = []
    if own:
        yield own[0], own[1:]


def _powers(lines: list[str]) -> list[float]:
    """The share of the first exponent of every power cone of three members."""
    count, total = map(int, lines[0].split())
    words = [float(word) for line in lines[1:] for word in line.split()]
    found = list[float]()
    while words:
        size = int(words.pop(0))
        own = [words.pop(0) for _ in range(size)]
        if size != 2:
            raise ValueError("only power cones of three members are known")
        found.append(own[0] / sum(own))
    if (len(found), 2 * len(found)) != (count, total):
        raise ValueError("POWCONES does not hold what it announces")
    return found


def _cones(lines: list[str], powers: list[float]) -> tuple[Cone, ...]:
    size, count = map(int, lines[0].split())
    found = []
    for line in lines[1:]:
        word, width = line.split()
        number, _, name = word.removeprefix("@").partition(":")
        found.append(
            Cone(name, int(width), powers[int(number)]) if name else Cone(word, int(width))
        )
    if (sum(each.size for each in found), len(found)) != (size, count):
        raise ValueError("the sizes of cones do not add up")
    return tuple(found)


def _entries(lines: list[str], count: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Places [count, entries] and values."""
    if len(lines) != 1 + int(lines[0]):
        raise ValueError("a section does not hold what it announces")
    table = [line.split() for line in lines[1:]]
    places = np.array(
        [[int(word) for word in line[:count]] for line in table], dtype=np.intp
    ).reshape(-1, count)
    return places.T, np.array([float(line[count]) for line in table])


def _starts(cones: tuple[Cone, ...]) -> Iterator[tuple[int, Cone]]:
    first = 0
    for cone in cones:
        yield first, cone
        first += cone.size


def _parts(whole: Any, cones: tuple[Cone, ...]) -> Iterator[tuple[Cone, Any]]:
    return (
        (cone, whole[first : first + cone.size])
        for first, cone in _starts(cones)
        if cone.word != "F"
    )


def _within(cone: Cone, part: Any) -> list[Any]:
    import cvxpy as cp

    if cone.word == "Q":
        return [cp.SOC(part[0], part[1:])]
    if cone.word == "EXP":
        return [cp.ExpCone(part[2], part[1], part[0])]
    if cone.word == "POW":
        return [cp.PowCone3D(part[0], part[1], part[2], cone.power)]
    return {"L=": lambda: [part == 0], "L+": lambda: [part >= 0], "L-": lambda: [part <= 0]}[
        cone.word
    ]()
