"""One pass over all outcomes under a tilt, chunk by chunk and on several threads, in NumPy or
compiled by numba.

A pass finds for every outcome the best guess, its lead over the second best (the margin), and the
sum of the least tilted losses, which is the dual bound. Outcomes with a margin up to a threshold
are retained as they are; all others are summed into *cells* with the same best guess, second best
guess and shell of margins. Chunks do not depend on numba, and their results are combined in the
fixed order of `folds`. So results do not depend on the number of threads or machines.

There are two shells per octave of the margin, read from the bits of its floating-point
representation. Margins below the first shell are ties as far as a tilt can resolve. At the optimum
a positive fraction of the outcomes may tie and need different columns, so ties are distinguished by
their mean private value instead. Outcomes whose margin reaches a bound are *screened*: they share
one cell for each best guess, which is stored as the second best guess as well. Labels, margins and
lists agree exactly between both versions, and sums agree to rounding.

A pass may also *draw* outcomes up to a margin: beyond the threshold, in inverse proportion to their
margins. Draws follow a low-discrepancy sequence of the outcomes' indices, so they are as random as
the order of the outcomes allows, and independent of the chunks.

Source: discreet, docs/theory.md, section 18.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.compiled import flat, jit, once
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import one_hot
from discreet.numerics.label_strips import compiled_pays, strip_sums
from discreet.numerics.tilted_losses import first_least, in_order_losses, least_two
from discreet.problems.folds import fold
from discreet.problems.outcomes import Blocks, Chunk

_SHELL_BITS = 1
TIES = 32
"""Number of shells of ties, by Σ_j (j − 1)/(n − 1) p(x_j given z)."""
SHELLS = TIES + (44 << _SHELL_BITS)
"""Number of shells of a pair of guesses: those of ties, then margins from 2⁻⁴² to 4; larger margins
share the last shell.
"""
# leading bits of the margin at which the first shell begins
_BOTTOM = (1023 - 42) << _SHELL_BITS
_SHIFT = 52 - _SHELL_BITS  # right shift that leaves the leading bits of a margin
_AT_ONCE = 1 << 13  # outcomes per step in NumPy: 64 KiB a row
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
SCREENED = 64.0
"""Multiple of the threshold from which on outcomes may be screened and are not drawn."""

_Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Pass:
    """What a pass does with outcomes, according to their margins under a *feasible* tilt [m, n].

    retain  the margin up to which outcomes are retained; −inf: none
    most    largest number to retain; if there are more, those with the largest margins, including
            equal ones, go to the cells
    screen  the margin from which on outcomes that are not retained are distinguished by their best
            guess only, which is fast; 0: all outcomes
    strip   number of consecutive outcomes for each weight; 0: no weights
    draws   whether to draw outcomes; needs a finite margin to retain
    """

    tilt: Array
    retain: float = -math.inf
    most: int = 0
    screen: float = math.inf
    strip: int = 0
    draws: bool = False


@dataclass(frozen=True, eq=False)
class Scan:
    """The result of a pass in one chunk or in all: a small problem of K retained outcomes and C
    cells.

    tilt       of the pass                                                                 [m, n]
    total      Σ_l min_i tilted loss
    threshold  the margin up to which outcomes are retained; lower than requested if there would be
               too many
    screen     the margin from which on outcomes are screened
    retained   their indices, increasing                                                   [K]
    columns    (p_xz, loss) of the retained outcomes, then of the non-empty cells          [n + m, K
               + C]
    keys       of these cells: (best · m + second) · SHELLS + shell, increasing            [C]
    counts     number of outcomes in each cell                                             [C]
    weights    mass and Σ min_i tilted loss of strips of consecutive outcomes [2, G], keyed by the
               first outcome of each chunk; empty unless requested
    drawn      (p_xz, loss, margin, margin × a number in [0, 1)), the last within the threshold  [n
               + m + 2, D]
    """

    tilt: Array
    total: float
    threshold: float
    screen: float
    retained: _Index
    columns: Array
    keys: _Index
    counts: _Index
    weights: dict[int, Array]
    drawn: Array

    def labels_of(self, columns: Array) -> _Index:
        """Return the best guesses of outcomes (p_xz, loss) [n + m, K] under the tilt."""
        n = self.tilt.shape[1]
        return first_least(in_order_losses(columns[:n], columns[n:], self.tilt))

    @property
    def ties(self) -> int:
        """The number of ties that are not retained."""
        return int(self.counts[self.keys % SHELLS < TIES].sum())

    @property
    def screened(self) -> NDArray[np.bool_]:
        """True for cells of screened outcomes, which store their best guess twice [C]."""
        best, second = np.divmod(self.keys // SHELLS, len(self.tilt))
        return np.asarray((best == second) & (len(self.tilt) > 1))


@dataclass(frozen=True, eq=False)
class Grouping:
    """Outcomes grouped by key; groups are in the order of their keys.

    One column for all members of a group restricts the estimator. So whatever is feasible for the
    groups is feasible for all outcomes, with the same law and error probability (docs/theory.md,
    aggregation is a restriction).

    index   the group of every outcome         [N]
    keys    of the groups, increasing          [K]
    counts  number of outcomes in each group   [K]
    """

    index: NDArray[np.intp]
    keys: NDArray[np.intp]
    counts: NDArray[np.intp]

    @classmethod
    def of(cls, keys: NDArray[np.intp]) -> Grouping:
        """Group by keys ≥ 0 [N]."""
        sizes = np.bincount(keys)  # several times faster than sorting
        used = np.flatnonzero(sizes)
        return cls((np.cumsum(sizes > 0) - 1)[keys], used, sizes[used])

    def merge(self, rows: Array) -> Array:
        """Return the sums over each group: [r, N] → [r, K]."""
        return np.stack(
            [np.bincount(self.index, weights=row, minlength=self.keys.size) for row in rows]
        )


def shell_top(shell: int | _Index) -> Array:
    """Return the margins at which shells end. The shells of ties end where the first of the others
    begins.
    """
    bits = (np.clip(shell, TIES - 1, SHELLS - 1) + (_BOTTOM - TIES + 1)) << _SHIFT
    return np.asarray(bits, dtype=np.int64).view(np.float64)


def classify(
    p_xz: Array, loss: Array, tilt: Array, screen: float = math.inf
) -> tuple[Array, _Index, Array]:
    """Return the margin (nan without mass, inf if screened), cell key and least tilted loss of
    outcomes [n, ·], [m, ·].
    """
    count = p_xz.shape[1]
    margin = np.empty(count)
    key = np.empty(count, dtype=np.intp)
    lowest = np.empty(count)
    for start in range(0, count, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        margin[part], key[part], lowest[part] = _classify_few(
            p_xz[:, part], loss[:, part], tilt, screen
        )
    return margin, key, lowest


def _classify_few(
    p_xz: Array, loss: Array, tilt: Array, screen: float
) -> tuple[Array, _Index, Array]:
    """Classify a number of outcomes small enough for the intermediate results to stay in cache."""
    best, least, second, runner = least_two(in_order_losses(p_xz, loss, tilt))
    mass = p_xz.sum(axis=0)
    lead = np.subtract(runner, least, out=runner)
    # a loss may be any multiple of its outcome's mass
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        margin = lead / mass
        if screen < math.inf and (distant := (lead >= screen * mass) & (mass > 0.0)).any():
            margin[distant] = math.inf
            second = np.where(distant, best, second)
    if not mass.all():
        margin[mass == 0.0] = math.nan
    leading = margin.view(np.int64) >> _SHIFT
    shell = np.clip(leading, _BOTTOM - 1, _BOTTOM - TIES + SHELLS - 1)
    shell -= _BOTTOM - TIES
    ties = np.flatnonzero(leading < _BOTTOM)
    if ties.size:
        shell[ties] = _tie_shells(p_xz.take(ties, axis=1), mass[ties])
    key = best * loss.shape[0]
    key += second
    key *= SHELLS
    key += shell
    return margin, key, least


def _tie_shells(p_xz: Array, mass: Array) -> _Index:
    """Return the shells of ties of positive mass."""
    mean = np.zeros_like(mass)
    steps = float(max(1, len(p_xz) - 1))
    for j in range(1, len(p_xz)):  # in the order of the compiled version
        mean += j / steps * p_xz[j]
    return np.minimum(mean / mass * TIES, TIES - 1).astype(np.intp)


def numpy_pass(chunk: Chunk, wanted: Pass) -> Scan:
    """Pass over one chunk in NumPy, with a lower threshold if too many outcomes would be
    retained.
    """
    p_xz, loss = chunk.read()
    if wanted.screen == 0.0:
        return _label_pass(p_xz, loss, wanted)
    margin, key, least = classify(p_xz, loss, wanted.tilt, wanted.screen)
    drawn = _draw_outcomes(chunk, wanted, p_xz, loss, margin, np.arange(margin.size))
    threshold = wanted.retain
    retained = np.flatnonzero(margin <= threshold)
    massless = np.isnan(margin)
    if retained.size > wanted.most:
        lowest = np.partition(margin[retained], wanted.most)[wanted.most]
        threshold = min(threshold, math.nextafter(float(lowest), -math.inf))
        retained = retained[margin[retained] <= threshold]
    columns = np.concatenate([p_xz.take(retained, axis=1), loss.take(retained, axis=1)])
    rest = len(loss) ** 2 * SHELLS
    if massless.any():
        key[massless] = rest
        least[massless] = 0.0
    key[retained] = rest
    counts = np.bincount(key, minlength=rest + 1)[:rest]
    keys = np.flatnonzero(counts)
    sums = [np.bincount(key, weights=row, minlength=rest + 1)[keys] for row in (*p_xz, *loss)]
    return Scan(
        tilt=wanted.tilt,
        total=float(least.sum()),
        threshold=threshold,
        screen=wanted.screen,
        retained=retained,
        columns=np.concatenate([columns, sums], axis=1),
        keys=keys,
        counts=counts[keys],
        weights=_weights(p_xz.sum(axis=0), least, wanted.strip),
        drawn=drawn,
    )


def _label_pass(p_xz: Array, loss: Array, wanted: Pass) -> Scan:
    """Pass over one chunk when all outcomes with mass are screened: the cells are those of the
    labels, and margins are not needed.
    """
    losses = in_order_losses(p_xz, loss, wanted.tilt)
    mass = p_xz.sum(axis=0)
    labels = one_hot(first_least(losses), len(loss))
    least = losses.min(axis=0)
    if not mass.all():
        labels[:, mass == 0.0] = 0.0
        least[mass == 0.0] = 0.0
    counts = labels.sum(axis=1).astype(np.intp)
    used = np.flatnonzero(counts)
    columns = np.concatenate([np.einsum("jl,il->ji", rows, labels) for rows in (p_xz, loss)])
    return Scan(
        tilt=wanted.tilt,
        total=float(least.sum()),
        threshold=wanted.retain,
        screen=0.0,
        retained=np.zeros(0, dtype=np.intp),
        columns=columns[:, used],
        keys=_label_keys(len(loss))[used],
        counts=counts[used],
        weights=_weights(mass, least, wanted.strip),
        drawn=np.zeros((len(columns) + 2, 0)),
    )


def _label_keys(m: int) -> _Index:
    """Return the keys of the cells of screened outcomes, by label [m]."""
    return np.arange(m) * ((m + 1) * SHELLS) + SHELLS - 1


def _weights(mass: Array, least: Array, strip: int) -> dict[int, Array]:
    """Return sums over strips of consecutive outcomes [2, G], keyed by the first of the chunk;
    empty for strips of 0.
    """
    if not strip:
        return {}
    starts = np.arange(0, least.size, strip)
    return {0: np.stack([np.add.reduceat(mass, starts), np.add.reduceat(least, starts)])}


def _draw_outcomes(
    chunk: Chunk, wanted: Pass, p_xz: Array, loss: Array, margin: Array, places: _Index
) -> Array:
    """Return the drawn outcomes among those of a chunk at these places, with these margins."""
    chosen_places = [np.zeros(0, dtype=np.intp)]
    reaches = [np.zeros(0)]
    for start in range(0, margin.size if wanted.draws else 0, _AT_ONCE):
        few = margin[start : start + _AT_ONCE]
        places_nearby = start + np.flatnonzero(few <= SCREENED * wanted.retain)
        reach = (
            margin[places_nearby]
            * np.modf((places[places_nearby] + (chunk.start + 1.0)) * _GOLDEN)[0]
        )
        chosen = np.flatnonzero(reach <= wanted.retain)
        chosen_places.append(places_nearby[chosen])
        reaches.append(reach[chosen])
    drawn = np.concatenate(chosen_places)
    there = places[drawn]
    rows = [margin[drawn], np.concatenate(reaches)]
    return np.concatenate([p_xz.take(there, axis=1), loss.take(there, axis=1), rows])


def compiled_pass(chunk: Chunk, wanted: Pass) -> Scan:
    """Pass over one chunk, compiled, with an unchanged threshold. Screened outcomes are summed in
    strips, others one by one.
    """
    p_xz, loss = chunk.read()
    m, n = wanted.tilt.shape
    strips = strip_sums(p_xz, loss, wanted.tilt, wanted.screen, group=wanted.strip)
    cells = np.zeros((m * m * SHELLS, n + m))
    counts = np.zeros(m * m * SHELLS, dtype=np.int64)
    screened = _label_keys(m)
    cells[screened] = strips.sums[0]
    counts[screened] = strips.counts
    total = float(np.trace(cells[screened, n:]) + (wanted.tilt * cells[screened, :n]).sum())
    places_nearby = np.empty(strips.unclear.size, dtype=np.intp)
    rows = (*flat(p_xz), *flat(loss))
    in_order = np.array(wanted.tilt, order="C")  # another memory order would be compiled separately
    margins = np.full(strips.unclear.size, math.inf)
    rest, count = _visit(n, m)(
        strips.unclear, *rows, in_order, wanted.retain, places_nearby, cells, counts, margins
    )
    keys = np.flatnonzero(counts)
    retained = places_nearby[:count]
    columns = np.concatenate([p_xz[:, retained], loss[:, retained]])
    return Scan(
        tilt=wanted.tilt,
        total=total + rest,
        threshold=wanted.retain,
        screen=wanted.screen,
        retained=retained,
        columns=np.concatenate([columns, cells[keys].T], axis=1),
        keys=keys,
        counts=counts[keys],
        weights={0: strips.weights} if wanted.strip else {},
        drawn=_draw_outcomes(chunk, wanted, p_xz, loss, margins, strips.unclear),
    )


@once
def _visit(n: int, m: int) -> Any:
    """Return a compiled function with loops of constant length that retains outcomes or adds them
    to cells. It returns Σ min_i and the number retained.
    """
    shells = SHELLS
    ties = TIES
    bottom = _BOTTOM - TIES
    shift = _SHIFT
    index = np.uint64
    steps = float(max(1, n - 1))

    def run(places, p_xz, p_step, loss, l_step, tilt, threshold, nearest, cells, counts, margins):  # type: ignore[no-untyped-def]
        total = 0.0
        count = 0
        for number in range(places.size):
            place = places[number]
            at = index(place)
            mass = 0.0
            for j in range(n):
                mass += p_xz[index(j * p_step) + at]
            if mass == 0.0:
                continue
            best = second = 0
            least = runner_up = np.inf
            for i in range(m):
                value = loss[index(i * l_step) + at]
                for j in range(n):
                    value += tilt[i, j] * p_xz[index(j * p_step) + at]
                if value < least:
                    best, second, least, runner_up = i, best, value, least
                elif value < runner_up:
                    second = i
                    runner_up = value
            total += least
            margin = margins[number] = (runner_up - least) / mass
            if margin <= threshold:
                nearest[count] = place
                count += 1
                continue
            shell = int(np.float64(margin).view(np.int64) >> shift) - bottom
            if shell < ties:
                mean = 0.0
                for j in range(1, n):
                    mean += j / steps * p_xz[index(j * p_step) + at]
                shell = min(int(mean / mass * ties), ties - 1)
            key = index((best * m + second) * shells + min(shell, shells - 1))
            counts[key] += 1
            for j in range(n):
                cells[key, index(j)] += p_xz[index(j * p_step) + at]
            for i in range(m):
                cells[key, index(n + i)] += loss[index(i * l_step) + at]
        return total, count

    return jit(run)


# -- all chunks
# ----------------------------------------------------------------------------------------------


def scan(blocks: Blocks, wanted: Pass, *, threads: int = 0, compiled: bool | None = None) -> Scan:
    """Pass over all outcomes, ignoring those without mass. threads: 0 = all cores."""
    wanted = replace(wanted, screen=max(wanted.screen, wanted.retain))
    pays = compiled_pays(blocks.N) if compiled is None else compiled
    work = partial(_visit_chunk, compiled_pass if pays else numpy_pass, wanted)
    result: Scan = fold(blocks, work, partial(_join_scans, wanted=wanted), threads=threads)
    return result


def _visit_chunk(chunk_pass: Callable[[Chunk, Pass], Scan], wanted: Pass, chunk: Chunk) -> Scan:
    """Pass over one chunk, with indices into all outcomes."""
    part = chunk_pass(chunk, wanted)
    weights = {chunk.start + start: rows for start, rows in part.weights.items()}
    return replace(part, retained=part.retained + chunk.start, weights=weights)


def _join_scans(parts: list[Scan], wanted: Pass) -> Scan:
    """Combine scans of consecutive chunks under one threshold that does not retain too many
    outcomes.
    """
    threshold = min(part.threshold for part in parts)
    retained = np.concatenate([part.retained for part in parts])
    columns = np.concatenate([part.columns[:, : part.retained.size] for part in parts], axis=1)
    cells = [(part.keys, part.counts, part.columns[:, part.retained.size :]) for part in parts]
    # Another pass over the retained outcomes lowers the threshold.
    if retained.size > wanted.most or threshold < wanted.retain:
        n = wanted.tilt.shape[1]
        held = Chunk(0, retained.size, lambda: (columns[:n], columns[n:]))
        again = Pass(wanted.tilt, threshold, wanted.most)
        thinned = numpy_pass(held, again)
        threshold = thinned.threshold
        retained = retained[thinned.retained]
        columns, sums = np.split(thinned.columns, [retained.size], axis=1)
        cells.append((thinned.keys, thinned.counts, sums))
    drawn = np.concatenate([part.drawn for part in parts], axis=1)
    if threshold < wanted.retain:
        drawn = drawn[:, (drawn[-1] <= threshold) & (drawn[-2] <= SCREENED * threshold)]
    keys, counts, rows = (np.concatenate(each, axis=-1) for each in zip(*cells, strict=True))
    groups = Grouping.of(keys)
    return Scan(
        tilt=wanted.tilt,
        total=math.fsum(part.total for part in parts),
        threshold=threshold,
        screen=wanted.screen,
        retained=retained,
        columns=np.concatenate([columns, groups.merge(rows)], axis=1),
        keys=groups.keys,
        counts=groups.merge(counts[None])[0].astype(np.intp),
        weights=dict(chain.from_iterable(part.weights.items() for part in parts)),
        drawn=drawn,
    )


# -- margins to expect under another tilt
# --------------------------------------------------------------------------------


def wanted_margin(
    columns: Array, counts: Array, tilt: Array, wanted: float, reach: Array | float = 0.0
) -> float:
    """Return a margin that about `wanted` outcomes do not exceed under a tilt.

    columns: (p_xz, loss) of outcomes or sums [n + m, K], each of `counts` outcomes [K] with margins
    up to `reach` beyond that of the sum.
    """
    n = tilt.shape[1]
    _, least, _, runner = least_two(columns[n:] + tilt @ columns[:n])
    margins = (runner - least) / columns[:n].sum(axis=0) + reach
    order = np.argsort(margins)
    reached = np.cumsum(counts[order])
    return float(margins[order[min(int(np.searchsorted(reached, wanted)), order.size - 1)]])
