"""Cells: outcomes of equal best guess, second best guess and shell of margin, in NumPy and compiled
by numba.

Shells are two to an octave of the margin, read off the bits of its floating-point representation.
Margins below the first shell are ties as far as a tilt can tell: at the optimum a whole part of the
outcomes may tie, each to be treated in its own way, so ties are told apart by their mean private
value instead. Outcomes whose margin reaches a bound are *screened*: they share one cell for each
best guess, with that guess in the place of the second. Outcomes with a margin up to a threshold are
retained, in no cell. Labels, margins and lists are the same in both versions; the sums agree to
rounding.

A pass may also *draw* outcomes up to a margin, those beyond the threshold in inverse proportion to
their margins. Draws are a low-discrepancy sequence of the outcomes' indices, so they are as random
as the order of the outcomes allows, and the same whatever the chunks.

Source: discreet, docs/theory.md, section 18.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.compiled import flat, jit, once
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import one_hot
from discreet.numerics.label_strips import strip_sums
from discreet.numerics.tilted_losses import first_least, in_order_losses, least_two

_SHELL_BITS = 1
TIES = 32
"""Shells of ties, by Σ_j (j − 1)/(n − 1) p(x_j given z)."""
SHELLS = TIES + (44 << _SHELL_BITS)
"""Shells of a pair of guesses: those of ties, then of margins from 2⁻⁴² to 4; what is larger shares
the last one.
"""
# The leading bits of the margin at which the first shell begins.
_BOTTOM = (1023 - 42) << _SHELL_BITS
_SHIFT = 52 - _SHELL_BITS  # by how much to shift the bits of a margin for its leading bits
_AT_ONCE = 1 << 13  # outcomes that NumPy works on: 64 KiB a row
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
SCREENED = 64.0
"""Times the threshold: the margin from which on outcomes may be screened and are not drawn."""

_Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Scan:
    """What a pass under a tilt found, in one chunk or in all: a small problem of K retained
    outcomes and C cells.

    tilt       of the pass                                                                 [m, n]
    total      Σ_l min_i tilted loss
    threshold  the margin up to which outcomes are retained; less than was asked for if they would
               be too many
    screen     the margin from which on outcomes are screened
    retained   their indices, increasing                                                   [K]
    columns    (p_xz, loss) of the retained outcomes, then of the cells, empty ones left out [n + m,
               K + C]
    keys       which cells these are: (best · m + second) · SHELLS + shell, increasing     [C]
    counts     how many outcomes each cell holds                                           [C]
    weights    by the first outcome of every chunk, if asked for: mass and Σ min_i tilted loss of
               strips of consecutive outcomes [2, G] each
    drawn      (p_xz, loss, margin, margin × a number in [0, 1)), the last within the threshold [n +
               m + 2, D]
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
        """The best guesses of outcomes (p_xz, loss) [n + m, K] under the tilt."""
        n = self.tilt.shape[1]
        return first_least(in_order_losses(columns[:n], columns[n:], self.tilt))

    @property
    def ties(self) -> int:
        """How many outcomes tie, those retained left out."""
        return int(self.counts[self.keys % SHELLS < TIES].sum())

    @property
    def screened(self) -> NDArray[np.bool_]:
        """Which cells hold screened outcomes: they have their best guess twice [C]."""
        best, second = np.divmod(self.keys // SHELLS, len(self.tilt))
        return np.asarray((best == second) & (len(self.tilt) > 1))


def shell_top(shell: int | _Index) -> Array:
    """The margins at which shells end; those of ties end where the first of the others begins."""
    bits = (np.clip(shell, TIES - 1, SHELLS - 1) + (_BOTTOM - TIES + 1)) << _SHIFT
    return np.asarray(bits, dtype=np.int64).view(np.float64)


def classified(
    p_xz: Array, loss: Array, tilt: Array, screen: float = math.inf
) -> tuple[Array, _Index, Array]:
    """Margin (nan without mass, inf where screened), cell key and least tilted loss of outcomes [n,
    ·], [m, ·].
    """
    count = p_xz.shape[1]
    margin = np.empty(count)
    key = np.empty(count, dtype=np.intp)
    least = np.empty(count)
    for start in range(0, count, _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        margin[part], key[part], least[part] = _classified(
            p_xz[:, part], loss[:, part], tilt, screen
        )
    return margin, key, least


def _classified(
    p_xz: Array, loss: Array, tilt: Array, screen: float
) -> tuple[Array, _Index, Array]:
    """The same of so few outcomes that what is made on the way stays in cache."""
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
    """The shells of outcomes that tie, of positive mass."""
    found = np.zeros_like(mass)
    steps = float(max(1, len(p_xz) - 1))
    for j in range(1, len(p_xz)):  # in order, as compiled
        found += j / steps * p_xz[j]
    return np.minimum(found / mass * TIES, TIES - 1).astype(np.intp)


def numpy_pass(
    p_xz: Array,
    loss: Array,
    tilt: Array,
    threshold: float,
    screen: float,
    group: int,
    most: int,
    first: int | None = None,
) -> Scan:
    """The pass over one chunk in NumPy; it lowers the threshold where it would retain more than
    `most`.

    first: index of the chunk's first outcome, if outcomes are to be drawn.
    """
    if screen == 0.0:
        return _screened_pass(p_xz, loss, tilt, threshold, group)
    margin, key, least = classified(p_xz, loss, tilt, screen)
    drawn = _drawn(p_xz, loss, margin, np.arange(margin.size), first, threshold)
    retained = np.flatnonzero(margin <= threshold)
    massless = np.isnan(margin)
    if retained.size > most:
        lowest = np.partition(margin[retained], most)[most]
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
    weights = {}
    sums = [np.bincount(key, weights=row, minlength=rest + 1)[keys] for row in (*p_xz, *loss)]
    if group:
        weights[0] = _weights(p_xz.sum(axis=0), least, group)
    columns = np.concatenate([columns, sums], axis=1)
    return Scan(
        tilt,
        float(least.sum()),
        threshold,
        screen,
        retained,
        columns,
        keys,
        counts[keys],
        weights,
        drawn,
    )


def _screened_pass(p_xz: Array, loss: Array, tilt: Array, threshold: float, group: int) -> Scan:
    """The same where whatever has mass is screened: the cells are those of the labels, and no
    margin matters.
    """
    losses = in_order_losses(p_xz, loss, tilt)
    mass = p_xz.sum(axis=0)
    labels = one_hot(first_least(losses), len(loss))
    least = losses.min(axis=0)
    if not mass.all():
        labels[:, mass == 0.0] = 0.0
        least[mass == 0.0] = 0.0
    counts = labels.sum(axis=1).astype(np.intp)
    used = np.flatnonzero(counts)
    none = np.zeros(0, dtype=np.intp)
    columns = np.concatenate([np.einsum("jl,il->ji", rows, labels) for rows in (p_xz, loss)])[
        :, used
    ]
    keys = used * ((len(loss) + 1) * SHELLS) + SHELLS - 1
    weights = {0: _weights(mass, least, group)} if group else {}
    drawn = np.zeros((len(columns) + 2, 0))
    return Scan(
        tilt, float(least.sum()), threshold, 0.0, none, columns, keys, counts[used], weights, drawn
    )


def _weights(mass: Array, least: Array, group: int) -> Array:
    """Sums over so many consecutive outcomes [2, G]."""
    starts = np.arange(0, least.size, group)
    return np.stack([np.add.reduceat(mass, starts), np.add.reduceat(least, starts)])


def _drawn(
    p_xz: Array, loss: Array, margin: Array, places: _Index, first: int | None, threshold: float
) -> Array:
    """Of the outcomes at these places, of these margins, those that are drawn; none without a first
    one.
    """
    found = [np.zeros(0, dtype=np.intp)]
    reached = [np.zeros(0)]
    for start in range(0, margin.size if first is not None else 0, _AT_ONCE):
        near = start + np.flatnonzero(margin[start : start + _AT_ONCE] <= SCREENED * threshold)
        reach = margin[near] * np.modf((places[near] + ((first or 0) + 1.0)) * _GOLDEN)[0]
        chosen = np.flatnonzero(reach <= threshold)
        found.append(near[chosen])
        reached.append(reach[chosen])
    drawn = np.concatenate(found)
    there = places[drawn]
    return np.concatenate(
        [
            p_xz.take(there, axis=1),
            loss.take(there, axis=1),
            [margin[drawn], np.concatenate(reached)],
        ]
    )


def compiled_pass(
    p_xz: Array,
    loss: Array,
    tilt: Array,
    threshold: float,
    screen: float,
    group: int,
    most: int,
    first: int | None = None,
) -> Scan:
    """The same, compiled, but that it keeps the threshold: screened outcomes are summed in strips,
    others one by one.
    """
    m, n = tilt.shape
    strips = strip_sums(p_xz, loss, tilt, screen, group=group)
    cells = np.zeros((m * m * SHELLS, n + m))
    counts = np.zeros(m * m * SHELLS, dtype=np.int64)
    screened = np.arange(m) * (m + 1) * SHELLS + SHELLS - 1  # the cell of each label
    cells[screened] = strips.sums[0]
    counts[screened] = strips.counts
    total = float(np.trace(cells[screened, n:]) + (tilt * cells[screened, :n]).sum())
    near = np.empty(strips.unclear.size, dtype=np.intp)
    rows = (*flat(p_xz), *flat(loss))
    in_order = np.array(tilt, order="C")  # another order would be compiled apart
    margins = np.full(strips.unclear.size, math.inf)
    rest, found = _visit(n, m)(
        strips.unclear, *rows, in_order, threshold, near, cells, counts, margins
    )
    drawn = _drawn(p_xz, loss, margins, strips.unclear, first, threshold)
    keys = np.flatnonzero(counts)
    retained = near[:found]
    columns = np.concatenate(
        [np.concatenate([p_xz[:, retained], loss[:, retained]]), cells[keys].T], axis=1
    )
    weights = {0: strips.weights} if group else {}
    return Scan(
        tilt, total + rest, threshold, screen, retained, columns, keys, counts[keys], weights, drawn
    )


@once
def _visit(n: int, m: int) -> Any:
    """Compiled, with loops of constant length: outcomes are retained or added to cells. Returns Σ
    min_i and how many are.
    """
    shells = SHELLS
    ties = TIES
    bottom = _BOTTOM - TIES
    shift = _SHIFT
    index = np.uint64
    steps = float(max(1, n - 1))

    def run(places, p_xz, p_step, loss, l_step, tilt, threshold, near, cells, counts, margins):  # type: ignore[no-untyped-def]
        total = 0.0
        found = 0
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
                near[found] = place
                found += 1
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
        return total, found

    return jit(run)
