"""The Conic Benchmark Format, version 3: linear, second-order, exponential and power cones.

Rows are A x + b in a cone, so A is the negative of `ConeProgram.matrix`. The order of members is
that of CBF: its exponential cone is {(x, y, z): x ≥ y e^{z/y}, y > 0}, which reverses the order of
`ConeProgram`. Power cones are numbered in the section POWCONES, each with two exponents. Numbers
are the shortest texts that read back as the same doubles.

Source: H. A. Friberg, "CBLIB 2014: a benchmark library for conic mixed-integer and continuous
optimization", Math. Prog. Comp. 8 (2016); MOSEK ApS, *The CBF format*, for the nonsymmetric cones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.cones import ConeProgram
from discreet.backends.exchange.preamble import Preamble
from discreet.measures.measure import Cone
from discreet.numerics.double_double import Array

VERSION = 3
"""The first version with power cones; readers of version 4 accept it too."""


def lines(form: ConeProgram, preamble: Preamble) -> Iterator[str]:
    """Yield the lines of the file."""
    yield from (f"# {line}" for line in preamble.lines())
    yield from ("VER", str(VERSION), "", "OBJSENSE", "MIN", "")
    powers = list(dict.fromkeys(block.power for block in form.blocks if block.cone is Cone.POWER))
    if powers:
        yield from ("POWCONES", f"{len(powers)} {2 * len(powers)}")
        for power in powers:
            yield from ("2", repr(power), repr(1.0 - power))
        yield ""
    free = form.cost.size - form.signed
    yield from _section("VAR", [("L+", form.signed), ("F", free)])
    names = {
        (block.cone, block.power): f"@{powers.index(block.power)}:POW"
        if block.cone is Cone.POWER
        else {Cone.ENTROPY: "EXP", Cone.QUADRATIC: "Q"}[block.cone]
        for block in form.blocks
    }
    rows = [("L=", form.equations), ("L+", form.inequalities)]
    yield from _section(
        "CON", rows + [(names[block.cone, block.power], block.size) for block in form.blocks]
    )
    chosen = np.flatnonzero(form.cost)
    yield from _entries("OBJACOORD", (chosen,), form.cost[chosen])
    order = _order(form)
    entries = form.matrix[order].tocoo()
    kept = entries.data != 0.0
    yield from _entries("ACOORD", (entries.row[kept], entries.col[kept]), -entries.data[kept])
    right = form.right[order]
    chosen = np.flatnonzero(right)
    yield from _entries("BCOORD", (chosen,), right[chosen])


def _section(name: str, cones: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Yield a section of cones and their sizes, without empty cones."""
    present = [(cone, size) for cone, size in cones if size]
    yield from (name, f"{sum(size for _, size in present)} {len(present)}")
    yield from (f"{cone} {size}" for cone, size in present)
    yield ""


def _order(form: ConeProgram) -> NDArray[np.intp]:
    """Return the rows of the program in the order of CBF, which reverses those of exponential
    cones.
    """
    order = [np.arange(form.linear)]
    for block, rows in form.members():
        order.append(rows[::-1] if block.cone is Cone.ENTROPY else rows)
    return np.concatenate(order)


def _entries(name: str, places: tuple[NDArray[Any], ...], values: Array) -> Iterator[str]:
    if not values.size:
        return
    yield from (name, str(values.size))
    for line in zip(*(each.tolist() for each in places), map(repr, values.tolist()), strict=True):
        yield " ".join(map(str, line))
    yield ""
