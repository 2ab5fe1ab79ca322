"""The judge's pass over one chunk of outcomes, compiled by numba: strip by strip, every loop over independent numbers.

A strip is copied to where its rows lie together. Its tilted losses under the rule, formed in the order by which all rules
decide, give every outcome its label. The rest is cheap for a strip whose outcomes are all *clear*; only other strips are
examined for doubt and waste. While one strip is worked on, later ones are asked for from memory, row by row, since a
processor drops such hints when they come all at once.

**Clear.** Let v_k be the computed tilted losses of an outcome of mass w under the rule's tilts d, i its label, s the least
of the other v_k, and F_k its exact tilted losses under the feasible duals t. With γ = (n + 2)u, B = max |d_ij| and τ the
smallest positive number, v_k is off by at most γ(|v_k| + 2 B w) + n τ. With Δ = max |t_ij − d_ij| therefore

    F_k − F_i ≥ (s − v_i)(1 − γ) − γ (2 |v_i| + 4 B w) − 2 Δ w − 2 n τ        for every k ≠ i,

as |v_k| ≤ |v_i| + (v_k − v_i). Where the computed s − v_i exceeds *twice* what is subtracted, with (n + 4)u for γ, which
also covers the rounding of w and of this very test, label i is the best guess under t: nothing is in doubt, nothing wasted.
An outcome of no mass has v_k = L_k exactly, under any tilt, and is clear.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet.problems.numerics.compiled import jit, once, prefetch
from discreet.problems.numerics.rounding import SMALLEST, UNIT
from discreet.problems.numerics.strip_sums import PLACES, STRIP, TILE, compiled_sums

__all__ = ["compiled_strips"]

_NEAR = 2.0**-32  # of the largest tilt: how far duals may be from the rule's tilts for any strip to go unexamined


_inlined = partial(jit, inline=True)


@once
def _losses() -> tuple[Any, Any, Any]:
    """Rows of a strip: fetched, weighed, tilted. Indices are unsigned: none can mean one counted from the end."""
    strip, index = STRIP, np.uint64

    @_inlined
    def fetch(values, start, data, at):  # type: ignore[no-untyped-def]
        """A row for the strip; how many entries are not ≥ 0."""
        found = 0
        for place in range(strip):
            k = index(place)
            value = values[index(start) + k]
            data[index(at) + k] = value
            found += 0 if value >= 0.0 else 1
        return found

    @_inlined
    def weigh(n, data, mass):  # type: ignore[no-untyped-def]
        """mass = Σ_j a_j."""
        for place in range(strip):
            k = index(place)
            mass[k] = data[k] + data[index(strip) + k]
        for j in range(2, n):
            for place in range(strip):
                k = index(place)
                mass[k] += data[index(j * strip) + k]

    @_inlined
    def tilted(n, m, data, tilt, value):  # type: ignore[no-untyped-def]
        """value[i] = (L_i + t_i1 a_1) + t_i2 a_2 + …, each operation rounded."""
        for i in range(m):
            loss, at, s, t = (n + i) * strip, i * strip, tilt[i * n], tilt[i * n + 1]
            for place in range(strip):
                k = index(place)
                value[index(at) + k] = (data[index(loss) + k] + s * data[k]) + t * data[index(strip) + k]
            for j in range(2, n):
                a, t = j * strip, tilt[i * n + j]
                for place in range(strip):
                    k = index(place)
                    value[index(at) + k] += t * data[index(a) + k]

    return fetch, weigh, tilted


@once
def _labels() -> tuple[Any, Any, Any]:
    """Which guess is best at the outcomes of a strip, for how many that is not clear, and how many have a label."""
    strip, index = STRIP, np.uint64

    @_inlined
    def decide(m, value, label, least, second):  # type: ignore[no-untyped-def]
        """The first least of the tilted losses, and the least of the others."""
        for place in range(strip):
            k = index(place)
            zero, one = value[k], value[index(strip) + k]
            label[k] = 1 if one < zero else 0
            least[k] = one if one < zero else zero
            second[k] = zero if one < zero else one
        for i in range(2, m):
            for place in range(strip):
                k = index(place)
                mine, best = value[index(i * strip) + k], least[k]
                other = best if mine < best else mine
                second[k] = other if other < second[k] else second[k]
                label[k] = i if mine < best else label[k]
                least[k] = mine if mine < best else best

    @_inlined
    def unclear(mass, least, second, per_mass, per_loss, tiny):  # type: ignore[no-untyped-def]
        found = 0
        for place in range(strip):
            k = index(place)
            limit = per_mass * mass[k] + (per_loss * abs(least[k]) + tiny)
            found += 0 if (second[k] - least[k] > limit) | (mass[k] == 0.0) else 1
        return found

    @_inlined
    def number_of(label, own):  # type: ignore[no-untyped-def]
        found = 0
        for place in range(strip):
            found += 1 if label[index(place)] == own else 0
        return found

    return decide, unclear, number_of


@once
def _doubts() -> tuple[Any, Any]:
    """What a guess would waste per unit of mass; doubt and waste of a strip that is not clear."""
    strip, places, rows, index, unit, tiny = STRIP, PLACES, STRIP // PLACES, np.uint64, UNIT, SMALLEST
    _, _, tilted = _losses()

    @_inlined
    def regret(m, value, least, mass, peaks):  # type: ignore[no-untyped-def]
        """peaks[i] ≥ (value[i] − least) / mass, a peak to each place; in mass its inverse is left, or 0."""
        for place in range(strip):
            k = index(place)
            mass[k] = 1.0 / mass[k] if mass[k] > 0.0 else 0.0
        for i in range(m):
            for place in range(places):
                k = index(place)
                highest = peaks[index(i * places) + k]
                for row in range(rows):
                    here = index(row * places) + k
                    share = (value[index(i * strip) + here] - least[here]) * mass[here]
                    highest = share if share > highest else highest
                peaks[index(i * places) + k] = highest

    @jit
    def examine(terms, n, m, data, tilt, label, mass, chosen, rival, size, value, found, peaks):  # type: ignore[no-untyped-def]
        """found = doubt, wasted, astray and least entry of every place; `label_doubt` says what an outcome's doubt is."""
        tilted(n, m, data, tilt, value)
        for place in range(strip):
            k = index(place)
            chosen[k], rival[k], size[k] = 0.0, np.inf, 0.0
        doubt, wasted, astray, smallest = found[0], found[1], found[2], found[3]
        for row in range(n + m):
            for place in range(strip):
                k = index(place)
                entry, so_far = data[index(row * strip) + k], smallest[k]
                smallest[k] = so_far if (entry >= so_far) | (so_far != so_far) else entry
        for j in range(n):
            largest = 0.0
            for i in range(m):
                largest = max(largest, abs(tilt[i * n + j]))
            for place in range(strip):
                k = index(place)
                size[k] += largest * data[index(j * strip) + k]
        for i in range(m):
            for place in range(strip):
                k = index(place)
                mine = value[index(i * strip) + k]
                chosen[k] = mine if label[k] == i else chosen[k]
                other = np.inf if label[k] == i else mine
                rival[k] = other if other < rival[k] else rival[k]
        further, nearer = 1.0 + (terms + 8) * unit, 1.0 - (terms + 8) * unit
        for place in range(strip):
            k = index(place)
            gap = chosen[k] - rival[k]
            inexact = 2.0 * (terms + 1) * unit * (size[k] + abs(chosen[k])) + 4 * terms * tiny
            inexact += gap * (further if gap > 0.0 else nearer)
            doubt[k] += inexact if inexact > 0.0 else 0.0
            wasted[k] += gap if gap > 0.0 else 0.0
            chosen[k] = rival[k] if gap > 0.0 else chosen[k]
            rival[k] = gap
        regret(m, value, chosen, mass, peaks)
        for place in range(strip):
            k = index(place)
            share = rival[k] * mass[k]
            astray[k] = share if share > astray[k] else astray[k]

    return regret, examine


@once
def compiled_strips() -> Callable[..., None]:
    """The compiled pass over whole strips; its `ready` says whether it has been used in this process.

    It takes the number of strips, n, m, the rows of p_xz and loss as `flat` gives them, and the rule's tilts and the
    feasible duals, flat and with n ≥ 2. It adds to sums [m·n + m + 1, 2] what goes to each label, what each guess would lose
    and what the labels lose, in double-double, and raises figures (doubt, wasted, astray, smallest) and worst [m].
    """
    strip, places, tile, near, unit, tiny = STRIP, PLACES, TILE, _NEAR, UNIT, SMALLEST
    line, ahead, index = 8, 2 * STRIP, np.uint64  # memory delivers eight numbers together; asked for two strips in advance
    (fetch, weigh, tilted), (decide, unclear, number_of) = _losses(), _labels()
    (add, add_where, gather), (regret, examine), ask = compiled_sums(), _doubts(), prefetch()

    @_inlined
    def ask_for(part, n, m, p_xz, p_step, loss, l_step, start):  # type: ignore[no-untyped-def]
        """Every fourth row of a later strip, beginning with row `part`."""
        for row in range(part, n + m, 4):
            for k in range(0, strip, line):
                if row < n:
                    ask(p_xz, index(row * p_step + start + ahead + k))
                else:
                    ask(loss, index((row - n) * l_step + start + ahead + k))

    @jit
    def run(strips, n, m, p_xz, p_step, loss, l_step, rule, tilt, sums, figures, worst):  # type: ignore[no-untyped-def]
        wide = max(n, 2)  # a private value and a guess that nothing speaks for, where there is only one
        size = apart = 0.0
        for k in range(m * wide):
            size, apart = max(size, abs(rule[k])), max(apart, abs(tilt[k] - rule[k]))
        shift = 2.0 * apart * (1.0 + 8.0 * unit)
        per_loss, per_mass = 4.0 * (n + 4) * unit, 8.0 * (n + 4) * unit * size + 2.0 * shift
        data, value = np.zeros((wide + m) * strip), np.full(max(m, 2) * strip, np.inf)
        label, mass = np.empty(strip, dtype=np.int64), np.empty(strip)
        least, second, spare = np.empty(strip), np.empty(strip), np.empty(strip)
        high, low = np.zeros(sums.shape[0] * places), np.zeros(sums.shape[0] * places)
        found, peaks, examined = np.zeros((4, strip)), np.zeros(m * places), np.zeros(m * places)
        for turn in range(strips):
            start = turn * strip
            doubtful = 0
            for j in range(n):
                doubtful += fetch(p_xz, j * p_step + start, data, j * strip)
            for i in range(m):
                doubtful += fetch(loss, i * l_step + start, data, (wide + i) * strip)
            ask_for(0, n, m, p_xz, p_step, loss, l_step, start)
            tilted(wide, m, data, rule, value)
            ask_for(1, n, m, p_xz, p_step, loss, l_step, start)
            decide(max(m, 2), value, label, least, second)
            weigh(wide, data, mass)
            doubtful += unclear(mass, least, second, per_mass, per_loss, 8 * n * tiny)
            ask_for(2, n, m, p_xz, p_step, loss, l_step, start)
            if doubtful == 0 and apart <= near * size:
                regret(m, value, least, mass, peaks)
            else:
                examine(n, wide, m, data, tilt, label, mass, least, second, spare, value, found, examined)
            ask_for(3, n, m, p_xz, p_step, loss, l_step, start)
            for i in range(m):
                add(data, (wide + i) * strip, high, low, m * n + i)
                here = number_of(label, i)
                if here == strip:
                    for row in range(n + 1):
                        at, s = (row, i * n + row) if row < n else (wide + i, m * n + m)
                        add(data, at * strip, high, low, s)
                elif here > 0:
                    for row in range(n + 1):
                        at, s = (row, i * n + row) if row < n else (wide + i, m * n + m)
                        add_where(data, at * strip, label, i, high, low, s)
            if turn % tile == tile - 1 or turn == strips - 1:
                gather(high, low, sums)
        figures[0] += found[0].sum()
        figures[1] += found[1].sum()
        figures[2] = max(figures[2], found[2].max())
        for k in range(strip):
            if found[3, k] < figures[3] or found[3, k] != found[3, k]:
                figures[3] = found[3, k]
        for i in range(m):
            highest = peaks[i * places : (i + 1) * places].max()
            if highest > 0.0:  # it was found under the rule's tilts; under the duals it may be larger by the shift
                highest += shift
            worst[i] = max(worst[i], highest, examined[i * places : (i + 1) * places].max())

    compiled: Callable[..., None] = run
    return compiled
