"""A systematic sample of outcomes in blocks, without a second reading of most of them.

A pass over the blocks has weighed strips of consecutive outcomes. Draws are evenly spaced in cumulative weight; the strips'
weights tell on which strips they fall, and only those are read again.

Source: W. G. Madow, "On the theory of systematic sampling, II", Annals of Mathematical Statistics 20 (1949).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.problems.blocks import Blocks, Chunk, in_order, threads_for
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.label_strips import STRIP

_Index = NDArray[np.intp]


def strip_for(outcomes: int) -> int:
    """So many consecutive outcomes to weigh together that no more than some 10⁵ weights are kept, whatever N is."""
    return STRIP * (1 << max(0, math.ceil(math.log2(max(1.0, outcomes / (STRIP << 17))))))


def sample(blocks: Blocks, weighed: Sequence[Array], strip: int, count: int, *, threads: int = 0) -> tuple[Array, Array]:
    """`count` systematic draws in proportion to mass and, in equal parts, to the Bayes rule's error: where decisions change.

    weighed: of each chunk the masses and the least losses of its strips of so many outcomes [2, G]. threads: 0 = all cores.
    Returns (p_xz, loss) of the distinct outcomes drawn, scaled so that their sums estimate the sums over all [n + m, K], and
    the scales: how many outcomes each stands for [K].
    """
    error = math.fsum(float(least.sum()) for _, least in weighed)
    per_error = 1.0 / error if error > 0.0 else 0.0
    weights = [mass + per_error * least for mass, least in weighed]
    ends = np.cumsum(np.concatenate([np.zeros(1), *weights]))
    step = float(ends[-1]) / count
    places = (np.arange(count) + 0.5) * step
    strips = np.minimum(np.searchsorted(ends, places, side="right") - 1, ends.size - 2)

    def chunks() -> Iterator[tuple[Chunk, _Index, Array]]:
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

    parts = list(in_order(chunks(), threads_for(blocks, threads), work))
    return np.concatenate([part[0] for part in parts], axis=1), np.concatenate([part[1] for part in parts])
