"""Cells: what outcomes that are summed have in common, and how outcomes are told apart under a tilt.

A cell is (best guess, second best, shell), shells being a fixed number per octave of the margin, read off the bits of its
floating-point representation. Outcomes whose margin exceeds a bound, the *far* ones, share one cell for each best guess,
with that guess in the place of the second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array

__all__ = ["BOTTOM", "SHELLS", "SHIFT", "Part", "classified", "far_key", "is_far", "shell_top", "two_least"]

_PER_OCTAVE_BITS = 3  # 8 shells per octave
_OCTAVES = 44  # margins from 2^-42 to 4; what is smaller or larger shares the last shell on its side
SHELLS = _OCTAVES << _PER_OCTAVE_BITS
"""Shells of a pair of guesses."""
BOTTOM = (1023 - 42) << _PER_OCTAVE_BITS
"""The leading bits of the margin at which the first shell begins."""
SHIFT = 52 - _PER_OCTAVE_BITS
"""By how much to shift the bits of a margin for its leading bits."""


@dataclass(frozen=True, eq=False)
class Part:
    """What a pass found in one chunk.

    total    Σ_l min_i tilted loss
    near     places of the outcomes with a margin ≤ threshold, increasing                        [K]
    keys     cells that hold outcomes, increasing                                                [C]
    sums     of (p_xz, loss) in these cells                                                      [C, n + m]
    counts   of outcomes in these cells                                                          [C]
    groups   mass and Σ min_i tilted loss of every so many consecutive outcomes                  [2, G]
    """

    total: float
    near: NDArray[np.intp]
    keys: NDArray[np.intp]
    sums: Array
    counts: NDArray[np.int64]
    groups: Array


def far_key(label: int, m: int) -> int:
    """The cell of the far outcomes with this best guess."""
    return (label * m + label) * SHELLS + SHELLS - 1


def is_far(keys: NDArray[np.int64], m: int) -> NDArray[np.bool_]:
    """Which cells hold far outcomes."""
    pair = keys // SHELLS
    return np.asarray((pair // m == pair % m) & (m > 1))


def shell_top(shell: int) -> float:
    """The margin at which a shell ends; −1 gives where the first one begins."""
    bits = np.array([(min(shell, SHELLS - 1) + 1 + BOTTOM) << SHIFT], dtype=np.int64)
    return float(bits.view(np.float64)[0])


def classified(a: Array, losses: Array, tilt: Array, far: float = np.inf) -> tuple[Array, NDArray[np.int64], Array]:
    """Margin (nan without mass, inf where far), cell key and least tilted loss, each summed as the compiled kernel does."""
    m = losses.shape[0]
    tilted = losses + tilt[:, :1] * a[:1]
    mass = a[0].copy()
    for j in range(1, a.shape[0]):
        tilted += tilt[:, j : j + 1] * a[j]
        mass += a[j]
    best, least, second, runner = two_least(tilted)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # a loss may be any multiple of its outcome's mass
        lead = runner - least
        distant = (lead >= far * mass) & (mass > 0.0) & (far < np.inf)
        margin = np.where(distant, np.inf, np.where(mass > 0.0, lead / mass, np.nan))
    shell = np.clip((margin.view(np.int64) >> SHIFT) - BOTTOM, 0, SHELLS - 1)
    return margin, (best * m + np.where(distant, best, second)) * SHELLS + shell, least


def two_least(rows: Array) -> tuple[NDArray[np.intp], Array, NDArray[np.intp], Array]:
    """Place and value of the least, and of the second least, of every column [m, ·]; the first of equals. Rows are lost."""
    if rows.shape[0] == 2:  # the usual case, several times as fast by comparison
        best = (rows[1] < rows[0]).astype(np.intp)
        return best, np.minimum(rows[0], rows[1]), 1 - best, np.maximum(rows[0], rows[1])
    places = np.arange(rows.shape[1])
    best = np.argmin(rows, axis=0)
    least = rows[best, places]
    rows[best, places] = np.inf
    second = np.argmin(rows, axis=0)
    return best, least, second, rows[second, places]
