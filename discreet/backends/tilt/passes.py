"""One pass over the outcomes under a tilt, in NumPy and, where numba is installed, compiled (`strips`).

A pass finds for every outcome which guess is best, by how much (its margin), and the sum of the least tilted losses, which
is the dual bound. Outcomes with a margin up to a threshold are retained as they are; all others are summed into cells of
equal best guess, second best guess and shell, shells being eight to an octave of the margin, read off the bits of its
floating-point representation. Outcomes whose margin reaches a bound are screened: they share one cell for each best guess,
with that guess in the place of the second.

Both versions visit outcomes in the same chunks, keep one partial sum per chunk and add the partial sums in order, so results
do not depend on the number of threads. Labels, margins and lists are the same in both; the sums agree to rounding.

Source: discreet, docs/theory.md, section 18.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.tilt.point import Grouping
from discreet.backends.tilt.strips import BOTTOM, SHELLS, SHIFT, ChunkPass, Part, compiled_pass
from discreet.problems.blocks import Blocks, Chunk, in_order
from discreet.problems.numerics.compiled import compiled_available
from discreet.problems.numerics.double_double import Array

__all__ = [
    "Sample",
    "Scan",
    "classified",
    "least_two",
    "sample",
    "scan",
    "shell_top",
    "use_compiled",
    "wanted_margin",
]

_COMPILED_FROM = 1 << 14  # outcomes from which a compiled pass pays, once it is loaded
_LOADED_FROM = 2_000_000  # outcomes from which loading it, about a second, pays for one solve

_Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Scan:
    """What one pass found: a small problem of K retained outcomes and C cells.

    total      Σ_l min_i tilted loss
    threshold  the margin up to which outcomes are retained; less than was asked for if they would be too many
    screen     the margin from which on outcomes are screened
    retained   their indices, increasing                                                   [K]
    columns    (p_xz, loss) of the retained outcomes, then of the cells, empty ones left out   [n + m, K + C]
    keys       which cells these are: (best · m + second) · SHELLS + shell                 [C]
    counts     how many outcomes each cell holds                                           [C]
    m          guesses
    weights    of every chunk: mass and Σ min_i tilted loss of strips of consecutive outcomes  [2, G] each
    """

    total: float
    threshold: float
    screen: float
    retained: _Index
    columns: Array
    keys: _Index
    counts: _Index
    m: int
    weights: list[Array]

    @property
    def labels(self) -> _Index:
        """The best guess of every cell [C]."""
        return np.asarray(self.keys // (self.m * SHELLS))

    @property
    def pairs(self) -> _Index:
        """Best and second best guess of every cell, best · m + second; a screened cell has its best guess twice [C]."""
        return np.asarray(self.keys // SHELLS)

    @property
    def screened(self) -> NDArray[np.bool_]:
        """Which cells hold screened outcomes [C]."""
        return np.asarray((self.pairs // self.m == self.pairs % self.m) & (self.m > 1))


def scan(
    blocks: Blocks,
    tilt: Array,
    threshold: float,
    *,
    screen: float = math.inf,
    most: int | None = None,
    strip: int = 0,
    threads: int = 0,
    compiled: bool | None = None,
) -> Scan:
    """One pass under a *feasible* tilt [m, n]. Outcomes of no mass are passed over.

    screen: ≥ 0; outcomes of at least that margin, and beyond the threshold, are told apart by their best guess only, which
    makes visiting them cheap. most: how many may be retained; if they are more, those of the largest margins, and of margins
    equal to theirs, go to the cells. strip: of how many consecutive outcomes to give the weights (0: no weights).
    threads: 0 = all cores.
    """
    screen = max(screen, threshold)
    most = blocks.N if most is None else most
    gathered = _Gathered(blocks.n, blocks.m, tilt, threshold, screen, most)
    chunk_pass = _chunk_pass(blocks, compiled)

    def work(chunk: Chunk) -> tuple[Part, _Index, Array]:
        p_xz, loss = chunk.read()
        part = chunk_pass(p_xz, loss, tilt, threshold, screen, strip, most)
        kept = part.retained
        return part, kept + chunk.start, np.concatenate([p_xz[:, kept], loss[:, kept]])

    for found in in_order(blocks.chunks(), threads, work):
        gathered.add(*found)
    return gathered.scan()


def _chunk_pass(blocks: Blocks, compiled: bool | None) -> ChunkPass:
    if not use_compiled(blocks, compiled):
        return _numpy_pass
    return compiled_pass(blocks.n, blocks.m)


class _Gathered:
    """The parts of a pass put together; never more than twice `most` outcomes retained, and those of one chunk."""

    def __init__(self, n: int, m: int, tilt: Array, threshold: float, screen: float, most: int) -> None:
        self._n, self._m, self._tilt, self._screen = n, m, tilt, screen
        self._asked = self._threshold = threshold
        self._most = most
        self._cells, self._counts = np.zeros((m * m * SHELLS, n + m)), np.zeros(m * m * SHELLS, dtype=np.intp)
        self._totals: list[float] = []
        self._retained: list[_Index] = []
        self._columns: list[Array] = []
        self._weights: list[Array] = []

    def add(self, part: Part, retained: _Index, columns: Array) -> None:
        self._threshold = min(self._threshold, part.threshold)
        self._totals.append(part.total)
        self._weights.append(part.weights)
        self._cells[part.keys] += part.sums
        self._counts[part.keys] += part.counts
        self._retained.append(retained)
        self._columns.append(columns)
        if sum(part.size for part in self._retained[1:]) > 2 * self._most:  # not at every chunk
            self._thin()

    def scan(self) -> Scan:
        if sum(part.size for part in self._retained) > self._most or self._threshold < self._asked:
            self._thin()
        retained, columns = self._joined()
        keys = np.flatnonzero(self._counts)
        columns, counts = np.concatenate([columns, self._cells[keys].T], axis=1), self._counts[keys]
        return Scan(
            math.fsum(self._totals), self._threshold, self._screen, retained, columns, keys, counts, self._m, self._weights
        )

    def _joined(self) -> tuple[_Index, Array]:
        return np.concatenate(self._retained), np.concatenate(self._columns, axis=1)

    def _thin(self) -> None:
        """Lower the threshold below the margin of the first that is too many, and sum what is no longer retained."""
        retained, columns = self._joined()
        margin, key, _ = classified(columns[: self._n], columns[self._n :], self._tilt)
        excess = float(np.partition(margin, self._most)[self._most]) if retained.size > self._most else math.inf
        self._threshold = min(self._threshold, math.nextafter(excess, -math.inf))
        kept = margin <= self._threshold
        cells = Grouping.of(key[~kept])  # summed among themselves first, so that large cells do not drift
        self._cells[cells.keys] += cells.merge(columns[:, ~kept]).T
        self._counts[cells.keys] += cells.counts
        self._retained, self._columns = [retained[kept]], [columns[:, kept]]


def use_compiled(blocks: Blocks, wanted: bool | None) -> bool:
    """Compiled where asked for; otherwise where it pays: where numba has to be loaded first, from some million outcomes."""
    if wanted is not None:
        return wanted
    if blocks.N < _COMPILED_FROM or not compiled_available():
        return False
    if blocks.N >= _LOADED_FROM:
        return True
    return compiled_pass.ready(blocks.n, blocks.m)


# -- one chunk in NumPy --------------------------------------------------------------------------------------------------


def _numpy_pass(p_xz: Array, loss: Array, tilt: Array, threshold: float, screen: float, strip: int, most: int) -> Part:
    """The pass over one chunk in NumPy; it lowers the threshold where it would retain more than `most`."""
    margin, key, least = classified(p_xz, loss, tilt, screen)
    if np.count_nonzero(margin <= threshold) > most:
        threshold = min(threshold, math.nextafter(float(np.partition(margin, most)[most]), -math.inf))
    massless = np.isnan(margin)
    retained, rows = np.flatnonzero(margin <= threshold), np.concatenate([p_xz, loss])
    if retained.size or massless.any():
        summed = np.flatnonzero(margin > threshold)
        least, key, rows = np.where(massless, 0.0, least), key[summed], rows[:, summed]
    cells = Grouping.of(key)
    weights = np.zeros((2, 0))
    if strip:
        starts = np.arange(0, least.size, strip)
        weights = np.stack([np.add.reduceat(p_xz.sum(axis=0), starts), np.add.reduceat(least, starts)])
    return Part(float(least.sum()), threshold, retained, cells.keys, cells.merge(rows).T, cells.counts, weights)


def classified(p_xz: Array, loss: Array, tilt: Array, screen: float = math.inf) -> tuple[Array, _Index, Array]:
    """Margin (nan without mass, inf where screened), cell key and least tilted loss, rounded as in the compiled pass."""
    m = loss.shape[0]
    tilted = loss + tilt[:, :1] * p_xz[:1]
    mass = p_xz[0].copy()
    for j in range(1, p_xz.shape[0]):
        tilted += tilt[:, j : j + 1] * p_xz[j]
        mass += p_xz[j]
    best, least, second, runner = least_two(tilted)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # a loss may be any multiple of its outcome's mass
        lead = runner - least
        distant = (lead >= screen * mass) & (mass > 0.0) & (screen < math.inf)
        margin = np.where(distant, math.inf, np.where(mass > 0.0, lead / mass, math.nan))
    shell = np.clip((margin.view(np.int64) >> SHIFT) - BOTTOM, 0, SHELLS - 1)
    return margin, (best * m + np.where(distant, best, second)) * SHELLS + shell, least


def least_two(rows: Array) -> tuple[_Index, Array, _Index, Array]:
    """Place and value of the least and of the second least of every column [m, ·]; the first of equals. Overwrites rows."""
    if rows.shape[0] == 2:  # the usual case, several times as fast by comparison
        best = (rows[1] < rows[0]).astype(np.intp)
        return best, np.minimum(rows[0], rows[1]), 1 - best, np.maximum(rows[0], rows[1])
    places = np.arange(rows.shape[1])
    best = np.argmin(rows, axis=0)
    least = rows[best, places]
    rows[best, places] = math.inf
    second = np.argmin(rows, axis=0)
    return best, least, second, rows[second, places]


def shell_top(shell: int | _Index) -> Array:
    """The margins at which shells end; −1 gives where the first one begins."""
    bits = (np.minimum(shell, SHELLS - 1) + 1 + BOTTOM) << SHIFT
    return np.asarray(bits, dtype=np.int64).view(np.float64)


# -- margins to expect under another tilt --------------------------------------------------------------------------------


def wanted_margin(columns: Array, counts: Array, tilt: Array, wanted: float, reach: Array | float = 0.0) -> float:
    """A margin that about `wanted` outcomes do not exceed under a tilt.

    columns: (p_xz, loss) of outcomes or sums [n + m, K], each for `counts` outcomes [K], whose margins are taken to go up to
    `reach` beyond that of the sum.
    """
    n = tilt.shape[1]
    _, least, _, runner = least_two(columns[n:] + tilt @ columns[:n])
    margins = (runner - least) / columns[:n].sum(axis=0) + reach
    order = np.argsort(margins)
    reached = np.cumsum(counts[order])
    return float(margins[order[min(int(np.searchsorted(reached, wanted)), order.size - 1)]])


@dataclass(frozen=True, eq=False)
class Sample:
    """Outcomes drawn in proportion to a weight.

    columns  (p_xz, loss) of the distinct outcomes drawn, scaled so that their sums estimate the sums over all   [n + m, K]
    counts   by how much: the number of outcomes that each stands for                                             [K]
    """

    columns: Array
    counts: Array


def sample(blocks: Blocks, first: Scan, strip: int, count: int, *, threads: int = 0) -> Sample:
    """`count` systematic draws in proportion to mass and, in equal parts, to the Bayes rule's error: where decisions change.

    first: a pass under no tilt that weighed strips of so many outcomes. Only strips on which a draw falls are read again.
    """
    per_error = 1.0 / first.total if first.total > 0.0 else 0.0
    weights = [mass + per_error * least for mass, least in first.weights]
    ends = np.cumsum(np.concatenate([np.zeros(1), *weights]))
    step = float(ends[-1]) / count
    places = (np.arange(count) + 0.5) * step
    strips = np.minimum(np.searchsorted(ends, places, side="right") - 1, ends.size - 2)

    def chunks() -> Any:
        begin = 0
        for chunk, here in zip(blocks.chunks(), weights, strict=True):
            drawn = slice(*np.searchsorted(strips, (begin, begin + here.size)).tolist())
            if drawn.stop > drawn.start:
                yield chunk, strips[drawn] - begin, places[drawn] - ends[strips[drawn]]
            begin += here.size

    def work(drawn: tuple[Chunk, _Index, Array]) -> tuple[Array, Array]:
        chunk, strips, reach = drawn
        p_xz, loss = chunk.read()
        used, which = np.unique(strips, return_inverse=True)
        within = used[:, None] * strip + np.arange(strip)
        held = np.concatenate([p_xz, loss])[:, np.minimum(within, chunk.count - 1)]
        weight = held[: blocks.n].sum(axis=0) + per_error * held[blocks.n :].min(axis=0)
        weight[within >= chunk.count] = 0.0
        place = (np.cumsum(weight, axis=1)[which] <= reach[:, None]).sum(axis=1)
        index = which * strip + np.minimum(place, np.minimum(strip, chunk.count - used * strip)[which] - 1)
        index, times = np.unique(index, return_counts=True)
        columns, weight = held.reshape(held.shape[0], -1)[:, index], weight.ravel()[index]
        sound = weight > 0.0  # the last place of a strip may be one of no mass, where its weight was rounded up
        scale = times[sound] * step / weight[sound]
        return columns[:, sound] * scale, scale

    parts = list(in_order(chunks(), threads, work))
    return Sample(np.concatenate([part[0] for part in parts], axis=1), np.concatenate([part[1] for part in parts]))
