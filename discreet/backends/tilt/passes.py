"""One pass over all outcomes under a tilt, chunk by chunk, on several threads.

A pass finds for every outcome which guess is best, by how much (its margin), and the sum of the
least tilted losses, which is the dual bound. Outcomes with a margin up to a threshold are retained
as they are; all others are summed into `cells`. Chunks are the same with and without numba, and
what is found of them is put together in the fixed order of `folds`. So results do not depend on the
number of threads or machines.

Source: discreet, docs/theory.md, section 18.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from discreet.backends.tilt.cells import SCREENED, Scan, compiled_pass, numpy_pass
from discreet.backends.tilt.point import Grouping
from discreet.numerics.double_double import Array
from discreet.numerics.label_strips import compiled_pays
from discreet.numerics.tilted_losses import least_two
from discreet.problems.folds import fold
from discreet.problems.outcomes import Blocks, Chunk


def scan(
    blocks: Blocks,
    tilt: Array,
    threshold: float,
    *,
    screen: float = math.inf,
    most: int | None = None,
    strip: int = 0,
    draws: bool = False,
    threads: int = 0,
    compiled: bool | None = None,
) -> Scan:
    """One pass under a *feasible* tilt [m, n]. Outcomes of no mass are passed over.

    screen: ≥ 0; outcomes of at least that margin, and beyond the threshold, are told apart by their
    best guess only, which makes visiting them cheap. most: how many may be retained; if they are
    more, those of the largest margins, and of margins equal to theirs, go to the cells. strip: of
    how many consecutive outcomes to give the weights (0: no weights). draws: whether outcomes are
    drawn, under a finite threshold. threads: 0 = all cores.
    """
    most = blocks.N if most is None else most
    screen = max(screen, threshold)
    chunk_pass = (
        compiled_pass if (compiled_pays(blocks.N) if compiled is None else compiled) else numpy_pass
    )

    work = partial(_visited, chunk_pass, tilt, threshold, screen, strip, most, draws)
    found: Scan = fold(
        blocks, work, partial(_together, asked=threshold, most=most), threads=threads
    )
    return found


def _visited(
    chunk_pass: Callable[..., Scan],
    tilt: Array,
    threshold: float,
    screen: float,
    strip: int,
    most: int,
    draws: bool,
    chunk: Chunk,
) -> Scan:
    """The pass over one chunk."""
    found = chunk_pass(
        *chunk.read(), tilt, threshold, screen, strip, most, chunk.start if draws else None
    )
    weights = {chunk.start + start: rows for start, rows in found.weights.items()}
    return replace(found, retained=found.retained + chunk.start, weights=weights)


def _together(parts: list[Scan], asked: float, most: int) -> Scan:
    """Scans of consecutive chunks as one, with one threshold, under which at most `most` outcomes
    are retained.
    """
    tilt = parts[0].tilt
    screen = parts[0].screen
    threshold = min(part.threshold for part in parts)
    retained = np.concatenate([part.retained for part in parts])
    counts = [part.retained.size for part in parts]
    columns = np.concatenate(
        [part.columns[:, :count] for part, count in zip(parts, counts, strict=True)], axis=1
    )
    cells = [
        (part.keys, part.counts, part.columns[:, count:])
        for part, count in zip(parts, counts, strict=True)
    ]
    # Another pass over what is retained lowers the threshold.
    if retained.size > most or threshold < asked:
        n = tilt.shape[1]
        thinned = numpy_pass(columns[:n], columns[n:], tilt, threshold, math.inf, 0, most)
        threshold = thinned.threshold
        retained = retained[thinned.retained]
        columns, sums = np.split(thinned.columns, [retained.size], axis=1)
        cells.append((thinned.keys, thinned.counts, sums))
    drawn = np.concatenate([part.drawn for part in parts], axis=1)
    if threshold < asked:
        drawn = drawn[:, (drawn[-1] <= threshold) & (drawn[-2] <= SCREENED * threshold)]
    keys, held, rows = (np.concatenate(each, axis=-1) for each in zip(*cells, strict=True))
    groups = Grouping.of(keys)
    columns = np.concatenate([columns, groups.merge(rows)], axis=1)
    held = groups.merge(held[None])[0].astype(np.intp)
    total = math.fsum(part.total for part in parts)
    weights = dict(chain.from_iterable(part.weights.items() for part in parts))
    return Scan(
        tilt, total, threshold, screen, retained, columns, groups.keys, held, weights, drawn
    )


# -- margins to expect under another tilt
# --------------------------------------------------------------------------------


def wanted_margin(
    columns: Array, counts: Array, tilt: Array, wanted: float, reach: Array | float = 0.0
) -> float:
    """A margin that about `wanted` outcomes do not exceed under a tilt.

    columns: (p_xz, loss) of outcomes or sums [n + m, K], each for `counts` outcomes [K], whose
    margins are taken to go up to `reach` beyond that of the sum.
    """
    n = tilt.shape[1]
    _, least, _, runner = least_two(columns[n:] + tilt @ columns[:n])
    margins = (runner - least) / columns[:n].sum(axis=0) + reach
    order = np.argsort(margins)
    reached = np.cumsum(counts[order])
    return float(margins[order[min(int(np.searchsorted(reached, wanted)), order.size - 1)]])
