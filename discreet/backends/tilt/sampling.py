"""A sample of the outcomes to start from: systematic draws, half by mass and half by the Bayes rule's error.

A pass has weighed groups of consecutive outcomes already, so the draws are evenly spaced in cumulative weight over all of
them, and only the groups on which one falls are read again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.tilt.kernels import Groups, use_compiled
from discreet.problems.blocks import Blocks, Chunk, in_order
from discreet.problems.numerics.compiled import flat, jit, once
from discreet.problems.numerics.double_double import Array

__all__ = ["Sample", "sample"]

_Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sample:
    """Outcomes drawn in proportion to a weight.

    columns  (p_xz, loss) of the distinct outcomes drawn, scaled so that their sums estimate the sums over all   [n + m, K]
    scale    by how much: the number of outcomes that each stands for                                             [K]
    """

    columns: Array
    scale: Array


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The draws that fall into one chunk: their groups, increasing, and how far into their group's weight they reach."""

    chunk: Chunk
    groups: _Index
    reach: Array


def sample(
    blocks: Blocks, groups: Groups, count: int, *, doubt: float, threads: int = 0, compiled: bool | None = None
) -> Sample:
    """`count` systematic draws in proportion to mass and, in equal parts, to the Bayes rule's error.

    groups: weighed under no tilt. doubt: the Bayes rule's error probability (0: all draws by mass).
    """
    per_error = 1.0 / doubt if doubt > 0.0 else 0.0
    weights = [mass + per_error * least for mass, least in groups.sums]
    ends = np.cumsum(np.concatenate([np.zeros(1), *weights]))
    step = float(ends[-1]) / count
    places = (np.arange(count) + 0.5) * step
    group = np.minimum(np.searchsorted(ends, places, side="right") - 1, ends.size - 2)
    pick = _compiled_pick() if use_compiled(blocks, compiled) else _pick

    def chunks() -> Any:
        first = 0
        for chunk, here in zip(blocks.chunks(), weights, strict=True):
            drawn = slice(*np.searchsorted(group, (first, first + here.size)).tolist())
            if drawn.stop > drawn.start:
                yield _Drawn(chunk, group[drawn] - first, places[drawn] - ends[group[drawn]])
            first += here.size

    def work(drawn: _Drawn) -> tuple[Array, Array]:
        p_xz, loss = drawn.chunk.read()
        index, times = np.unique(pick(p_xz, loss, per_error, groups.size, drawn.groups, drawn.reach), return_counts=True)
        mass, losses = p_xz[:, index], loss[:, index]
        weight = mass.sum(axis=0) + per_error * losses.min(axis=0)
        sound = weight > 0.0  # the last place of a group may be one of no mass, where its weight was rounded up
        scale = times[sound] * step / weight[sound]
        return np.concatenate([mass, losses])[:, sound] * scale, scale

    parts = list(in_order(chunks(), threads, work))
    return Sample(np.concatenate([part[0] for part in parts], axis=1), np.concatenate([part[1] for part in parts]))


def _pick(p_xz: Array, loss: Array, per_error: float, size: int, groups: _Index, reach: Array) -> _Index:
    """Where, within a chunk, the cumulative weight of a group first exceeds what a draw reaches."""
    count = p_xz.shape[1]
    used, which = np.unique(groups, return_inverse=True)
    places = np.minimum(used[:, None] * size + np.arange(size), count - 1)
    weight = p_xz[:, places].sum(axis=0) + per_error * loss[:, places].min(axis=0)
    beyond = used[:, None] * size + np.arange(size) >= count
    ends = np.cumsum(np.where(beyond, 0.0, weight), axis=1)
    found = np.empty(groups.size, dtype=np.intp)
    for row, (first, last) in enumerate(_runs(which)):
        found[first:last] = np.searchsorted(ends[row], reach[first:last], side="right")
    return np.asarray(np.minimum(groups * size + found, np.minimum((groups + 1) * size, count) - 1))


def _runs(sorted_places: _Index) -> list[tuple[int, int]]:
    """Where each of the places 0, 1, … begins and ends in a sorted list that holds them all."""
    ends = np.searchsorted(sorted_places, np.arange(int(sorted_places[-1]) + 1), side="right").tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))


@once
def _compiled_pick() -> Callable[[Array, Array, float, int, _Index, Array], _Index]:
    @jit
    def pick(count, n, m, p_xz, p_step, loss, l_step, per_error, size, groups, reach, found):  # type: ignore[no-untyped-def]
        for draw in range(groups.size):
            start = groups[draw] * size
            stop = min(start + size, count)
            sofar = 0.0
            place = start
            for l in range(start, stop):  # noqa: E741 (the symbol of the theory)
                mass = 0.0
                for j in range(n):
                    mass += p_xz[j * p_step + l]
                least = np.inf
                for i in range(m):
                    least = min(least, loss[i * l_step + l])
                sofar += mass + per_error * least
                place = l
                if sofar > reach[draw]:
                    break
            found[draw] = place

    def run(p_xz: Array, loss: Array, per_error: float, size: int, groups: _Index, reach: Array) -> _Index:
        found = np.empty(groups.size, dtype=np.intp)
        n, m, count = p_xz.shape[0], loss.shape[0], p_xz.shape[1]
        pick(count, n, m, *flat(p_xz), *flat(loss), per_error, size, groups, reach, found)
        return found

    return run
