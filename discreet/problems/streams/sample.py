"""A systematic sample of outcomes in blocks, which reads most of them only once.

A pass over the blocks has summed the weights of strips of consecutive outcomes. Draws are evenly
spaced in cumulative weight; the weights of the strips determine which strips contain draws, and
only those are read again.

Source: W. G. Madow, "On the theory of systematic sampling, II", Annals of Mathematical Statistics
20 (1949).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.double_double import Array
from discreet.numerics.label_strips import STRIP
from discreet.problems.folds import fold
from discreet.problems.outcomes import Blocks, Chunk

_Index = NDArray[np.intp]


def strip_for(outcomes: int) -> int:
    """Return a number of consecutive outcomes per strip such that at most about 10⁵ weights are
    kept for any N.
    """
    return STRIP * (1 << max(0, math.ceil(math.log2(max(1.0, outcomes / (STRIP << 17))))))


def sample(
    blocks: Blocks, weighed: Mapping[int, Array], strip: int, count: int, *, threads: int = 0
) -> tuple[Array, Array]:
    """Draw `count` outcomes systematically with weights that are proportional, in equal parts, to
    mass and to the error of the Bayes rule, which is large where decisions change.

    weighed: for each chunk, by its first outcome and in order, the masses and the least losses of
    its strips of `strip` outcomes [2, G]. threads: 0 = all cores. Returns (p_xz, loss) of the
    distinct outcomes drawn, scaled so that their sums estimate the sums over all outcomes [n + m,
    K], and the scales: the number of outcomes that each represents [K].
    """
    error = math.fsum(float(least.sum()) for _, least in weighed.values())
    per_error = 1.0 / error if error > 0.0 else 0.0
    weights = [mass + per_error * least for mass, least in weighed.values()]
    ends = np.cumsum(np.concatenate([np.zeros(1), *weights]))
    step = float(ends[-1]) / count
    places = (np.arange(count) + 0.5) * step
    strips = np.minimum(np.searchsorted(ends, places, side="right") - 1, ends.size - 2)
    drawn = dict[int, tuple[_Index, Array]]()
    begin = 0
    for start, here in zip(weighed, weights, strict=True):
        chosen = slice(*np.searchsorted(strips, (begin, begin + here.size)).tolist())
        if chosen.stop > chosen.start:
            drawn[start] = strips[chosen] - begin, places[chosen] - ends[strips[chosen]]
        begin += here.size
    return fold(
        blocks, partial(_draw, strip, step, per_error), _join_samples, threads=threads, given=drawn
    )


def _join_samples(parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    return np.concatenate([part[0] for part in parts], axis=1), np.concatenate(
        [part[1] for part in parts]
    )


def _draw(
    strip: int, step: float, per_error: float, chunk: Chunk, drawn: tuple[_Index, Array]
) -> tuple[Array, Array]:
    """Return the outcomes of a chunk at draws given by their strips and cumulative weights within
    them; and their scales.
    """
    (strips, reach) = drawn
    (p_xz, loss) = chunk.read()
    used, which = np.unique(strips, return_inverse=True)
    within = used[:, None] * strip + np.arange(strip)
    there = np.minimum(within, chunk.count - 1)
    held = np.stack([row[there] for row in (*p_xz, *loss)])
    weight = held[: len(p_xz)].sum(axis=0) + per_error * held[len(p_xz) :].min(axis=0)
    weight[within >= chunk.count] = 0.0
    place = (np.cumsum(weight, axis=1)[which] <= reach[:, None]).sum(axis=1)
    index = which * strip + np.minimum(
        place, np.minimum(strip, chunk.count - used * strip)[which] - 1
    )
    index, times = np.unique(index, return_counts=True)
    columns = held.reshape(held.shape[0], -1)[:, index]
    weight = weight.ravel()[index]
    # The last place of a strip may have mass 0, if the weight of the strip was rounded up.
    sound = weight > 0.0
    scale = times[sound] * step / weight[sound]
    return columns[:, sound] * scale, scale
