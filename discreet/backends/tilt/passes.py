"""One pass over all outcomes under a tilt, chunk by chunk, on several threads.

A pass finds for every outcome which guess is best, by how much (its margin), and the sum of the least tilted losses, which
is the dual bound. Outcomes with a margin up to a threshold are retained as they are; all others are summed into `cells`.
Chunks are the same with and without numba, each has a partial sum, and these are added in order, so results do not depend on
the number of threads.

Source: discreet, docs/theory.md, section 18.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.tilt.cells import SHELLS, Scan, compiled_pass, numpy_pass
from discreet.problems.blocks import Blocks, Chunk, in_order
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.label_strips import compiled_pays
from discreet.problems.numerics.tilted_losses import least_two

_Index = NDArray[np.intp]


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
    most = blocks.N if most is None else most
    chunk_pass = compiled_pass if (compiled_pays(blocks.N) if compiled is None else compiled) else numpy_pass
    gathered = _Gathered(tilt, threshold, max(screen, threshold), most)

    def work(chunk: Chunk) -> Scan:
        found = chunk_pass(*chunk.read(), tilt, threshold, max(screen, threshold), strip, most)
        return replace(found, retained=found.retained + chunk.start)

    for found in in_order(blocks.chunks(), threads, work):
        gathered.add(found)
    return gathered.scan()


class _Gathered:
    """The parts of a pass put together; never more than twice `most` outcomes retained, and those of one chunk."""

    def __init__(self, tilt: Array, threshold: float, screen: float, most: int) -> None:
        m, n = tilt.shape
        self._tilt, self._screen, self._most = tilt, screen, most
        self._asked = self._threshold = threshold
        self._cells, self._counts = np.zeros((m * m * SHELLS, n + m)), np.zeros(m * m * SHELLS, dtype=np.intp)
        self._totals: list[float] = []
        self._weights: list[Array] = []
        self._retained: list[_Index] = []
        self._columns: list[Array] = []

    def add(self, part: Scan) -> None:
        self._totals.append(part.total)
        self._weights += part.weights
        self._take(part)
        if sum(part.size for part in self._retained[1:]) > 2 * self._most:  # not at every chunk
            self._thin()

    def scan(self) -> Scan:
        if sum(part.size for part in self._retained) > self._most or self._threshold < self._asked:
            self._thin()
        retained, columns = self._joined()
        keys = np.flatnonzero(self._counts)
        columns = np.concatenate([columns, self._cells[keys].T], axis=1)
        found = self._tilt, math.fsum(self._totals), self._threshold, self._screen
        return Scan(*found, retained, columns, keys, self._counts[keys], self._weights)

    def _take(self, part: Scan) -> None:
        self._threshold = min(self._threshold, part.threshold)
        count = part.retained.size
        self._cells[part.keys] += part.columns[:, count:].T
        self._counts[part.keys] += part.counts
        self._retained.append(part.retained)
        self._columns.append(part.columns[:, :count])

    def _joined(self) -> tuple[_Index, Array]:
        return np.concatenate(self._retained), np.concatenate(self._columns, axis=1)

    def _thin(self) -> None:
        """Another pass over what is retained: it lowers the threshold, and sums what is no longer retained in cells."""
        retained, columns = self._joined()
        n = self._tilt.shape[1]
        part = numpy_pass(columns[:n], columns[n:], self._tilt, self._threshold, math.inf, 0, self._most)
        self._retained, self._columns = [], []
        self._take(replace(part, retained=retained[part.retained]))


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


def sample(blocks: Blocks, first: Scan, strip: int, count: int, *, threads: int = 0) -> tuple[Array, Array]:
    """`count` systematic draws in proportion to mass and, in equal parts, to the Bayes rule's error: where decisions change.

    Returns (p_xz, loss) of the distinct outcomes drawn, scaled so that their sums estimate the sums over all [n + m, K], and
    the scales: how many outcomes each stands for [K]. first: a pass under no tilt that weighed strips of so many outcomes.
    Only strips on which a draw falls are read again.
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
        there = np.minimum(within, chunk.count - 1)
        held = np.stack([row[there] for row in (*p_xz, *loss)])
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
    return np.concatenate([part[0] for part in parts], axis=1), np.concatenate([part[1] for part in parts])
