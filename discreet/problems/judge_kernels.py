"""The judge's pass over one chunk of outcomes, in NumPy and compiled by numba.

For every outcome l: the label i(l) that a rule gives it (the first least of L_il + Σ_j d_ij a_jl), and what that label is
worth under feasible duals t. Kept are sums in twice the working precision of what goes to each label, the doubt that this
label is the best one, and the wasted losses. The compiled version holds one accumulator per place in a strip of outcomes, so
that every loop runs over independent numbers and is vectorised without changing any result.

Tilted losses are formed in the order L_il + t_i1 a_1l + t_i2 a_2l + …, each operation rounded, in both versions and wherever
else a rule decides: so labels are the same everywhere.

Source: T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26 (2005).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.problems.accurate import Array, Pair, pair_sum, sum_pair
from discreet.problems.compiled import flat, jit, once
from discreet.problems.dual import label_doubt

__all__ = ["Tally", "compiled_kernel", "compiled_tally", "in_order_losses", "in_order_margins", "tally"]

_STRIP = 256


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over outcomes under the labels of a rule.

    joint     Σ_{l: i(l) = i} a_jl                                      pair [m, n]
    loss      Σ_l L_i(l),l                                              pair []
    errors    Σ_l L_il                                                  pair [m]
    doubt     how much less than by label the true Σ_l min_i can be, at most
    wasted    Σ_l r_i(l),l, r_il = tilted loss − least tilted loss
    worst     max_l r_il / w_l                                          [m]
    astray    max_l r_i(l),l / w_l
    smallest  least entry of p_xz and loss; NaN if one is not a number
    """

    joint: Pair
    loss: Pair
    errors: Pair
    doubt: float
    wasted: float
    worst: Array
    astray: float
    smallest: float

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(
            pair_sum(self.joint, other.joint),
            pair_sum(self.loss, other.loss),
            pair_sum(self.errors, other.errors),
            self.doubt + other.doubt,
            self.wasted + other.wasted,
            np.maximum(self.worst, other.worst),
            max(self.astray, other.astray),
            float(np.minimum(self.smallest, other.smallest)),
        )


def in_order_losses(p_xz: Array, loss: Array, tilt: Array) -> Array:
    """L_il + Σ_j t_ij a_jl [m, ·], added up from the left: the tilted losses by which rules decide."""
    tilted: Array = loss + tilt[:, :1] * p_xz[:1]
    for j in range(1, p_xz.shape[0]):
        tilted += tilt[:, j : j + 1] * p_xz[j]
    return tilted


def in_order_margins(p_xz: Array, loss: Array, tilt: Array) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Best guess, second best and margin [·] of outcomes: by how much the second is worse, per unit of the outcome's mass.

    The margin is NaN for an outcome of no mass. Needs two guesses.
    """
    places = np.arange(p_xz.shape[1])
    losses = in_order_losses(p_xz, loss, tilt)
    best = np.argmin(losses, axis=0)
    least = losses[best, places]
    losses[best, places] = np.inf
    second = np.argmin(losses, axis=0)
    mass = p_xz.sum(axis=0)
    lead = losses[second, places] - least
    return best, second, np.divide(lead, mass, out=np.full_like(mass, np.nan), where=mass > 0.0)


def tally(p_xz: Array, loss: Array, decide: Array, tilt: Array) -> Tally:
    """The pass over outcomes [n, ·], [m, ·] for a rule with tilt `decide` [m, n] and feasible duals `tilt` [m, n]."""
    m, places = loss.shape[0], np.arange(loss.shape[1])
    label = np.argmin(in_order_losses(p_xz, loss, decide), axis=0)
    worth = in_order_losses(p_xz, loss, tilt)
    chosen, least, mass = worth[label, places], worth.min(axis=0), p_xz.sum(axis=0)
    waste = worth - least
    with np.errstate(over="ignore", invalid="ignore"):  # a loss may be any multiple of the mass of its outcome
        share = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0.0)
        worst = np.fmax.reduce(waste * share, axis=1, initial=0.0)
        astray = float(np.fmax.reduce((chosen - least) * share, initial=0.0))
    worth[label, places] = np.inf
    doubt = label_doubt(p_xz, tilt, chosen, worth.min(axis=0))
    sums = [sum_pair(np.compress(label == i, p_xz, axis=1)) for i in range(m)]
    joint = np.array([high for high, _ in sums]), np.array([low for _, low in sums])
    return Tally(
        joint,
        sum_pair(loss[label, places]),
        sum_pair(loss),
        doubt,
        float((chosen - least).sum()),
        worst,
        astray,
        float(np.minimum(p_xz.min(), loss.min())),
    )


def compiled_tally(p_xz: Array, loss: Array, decide: Array, tilt: Array) -> Tally:
    """`tally`, compiled."""
    m, n = tilt.shape
    joint, losses, figures, worst = np.zeros((m, n, 2)), np.zeros((m + 1, 2)), np.zeros(4), np.zeros(m)
    count, same = p_xz.shape[1], np.array_equal(decide, tilt)
    compiled_kernel()(count, *flat(p_xz), *flat(loss), decide, tilt, same, joint, losses, figures, worst)
    doubt, wasted, astray, smallest = figures.tolist()
    return Tally(
        (joint[..., 0].copy(), joint[..., 1].copy()),
        (np.array(losses[m, 0]), np.array(losses[m, 1])),
        (losses[:m, 0].copy(), losses[:m, 1].copy()),
        doubt * (1.0 + 2.0**-30) + 5e-324 * m * count,
        wasted,
        worst,
        astray,
        smallest,
    )


@once
def compiled_kernel() -> Callable[..., None]:
    """The compiled pass; its `ready` says whether it has been used in this process."""
    strip, unit, tiny = _STRIP, 2.0**-53, 5e-324

    @jit
    def tilted(p_xz, p_step, loss, l_step, tilt, start, size, worth):  # type: ignore[no-untyped-def]
        for i in range(tilt.shape[0]):
            row, first = loss[i * l_step + start : i * l_step + start + size], p_xz[start : start + size]
            mine, t = worth[i], tilt[i, 0]
            for k in range(size):
                mine[k] = row[k] + t * first[k]
            for j in range(1, tilt.shape[1]):
                a, t = p_xz[j * p_step + start : j * p_step + start + size], tilt[i, j]
                for k in range(size):
                    mine[k] += t * a[k]

    @jit
    def add(values, high, low, size):  # type: ignore[no-untyped-def]
        """high + low += values, place by place, without rounding that matters."""
        for k in range(size):
            total = high[k] + values[k]
            back = total - high[k]
            low[k] += (high[k] - (total - back)) + (values[k] - back)
            high[k] = total

    @jit
    def add_where(values, label, own, high, low, size):  # type: ignore[no-untyped-def]
        """The same for the places of one label."""
        for k in range(size):
            value = values[k] if label[k] == own else 0.0
            total = high[k] + value
            back = total - high[k]
            low[k] += (high[k] - (total - back)) + (value - back)
            high[k] = total

    @jit
    def gather(high, low, total):  # type: ignore[no-untyped-def]
        """total = the places of high + low together, as a pair."""
        for k in range(high.size):
            added = total[0] + high[k]
            back = added - total[0]
            total[1] += ((total[0] - (added - back)) + (high[k] - back)) + low[k]
            total[0] = added
        added = total[0] + total[1]
        total[1] = total[1] - (added - total[0])
        total[0] = added

    @jit
    def run(count, p_xz, p_step, loss, l_step, decide, tilt, same, joint_sum, loss_sums, figures, worst_of):  # type: ignore[no-untyped-def]
        m, n = tilt.shape
        largest = np.zeros(n)
        for i in range(m):
            for j in range(n):
                largest[j] = max(largest[j], abs(tilt[i, j]))
        worth = np.empty((m, strip))
        label = np.empty(strip, dtype=np.int64)
        least, chosen, rival = np.empty(strip), np.empty(strip), np.empty(strip)
        mass, size_of, mine, gap = np.empty(strip), np.empty(strip), np.empty(strip), np.empty(strip)
        further, nearer = 1.0 + (n + 8) * unit, 1.0 - (n + 8) * unit
        joint, joint_low, worst = np.zeros((m, n, strip)), np.zeros((m, n, strip)), np.zeros((m, strip))
        errors, errors_low = np.zeros((m, strip)), np.zeros((m, strip))
        high, low, doubt = np.zeros(strip), np.zeros(strip), np.zeros(strip)
        wasted, astray, smallest = np.zeros(strip), np.zeros(strip), np.full(strip, np.inf)
        for start in range(0, count, strip):
            size = min(strip, count - start)
            tilted(p_xz, p_step, loss, l_step, decide, start, size, worth)
            for k in range(size):
                least[k] = worth[0, k]
                label[k] = 0
            for i in range(1, m):
                value = worth[i]
                for k in range(size):
                    label[k] += i - label[k] if value[k] < least[k] else 0
                for k in range(size):
                    least[k] = value[k] if value[k] < least[k] else least[k]
            if not same:
                tilted(p_xz, p_step, loss, l_step, tilt, start, size, worth)
            for k in range(size):
                mass[k] = 0.0
                size_of[k] = 0.0
            for j in range(n):
                a, t = p_xz[j * p_step + start : j * p_step + start + size], largest[j]
                for k in range(size):
                    mass[k] += a[k]
                    size_of[k] += t * a[k]
                for k in range(size):
                    smallest[k] = smallest[k] if (a[k] >= smallest[k]) | (smallest[k] != smallest[k]) else a[k]
            for k in range(size):
                rival[k] = np.inf
                chosen[k] = 0.0
                mine[k] = 0.0
            for i in range(m):
                row, value = loss[i * l_step + start : i * l_step + start + size], worth[i]
                for k in range(size):
                    chosen[k] += value[k] if label[k] == i else 0.0
                for k in range(size):
                    mine[k] += row[k] if label[k] == i else 0.0
                for k in range(size):
                    other_value = np.inf if label[k] == i else value[k]
                    rival[k] = other_value if other_value < rival[k] else rival[k]
                add(row, errors[i], errors_low[i], size)
                for k in range(size):
                    smallest[k] = smallest[k] if (row[k] >= smallest[k]) | (smallest[k] != smallest[k]) else row[k]
            add(mine, high, low, size)
            for i in range(m):
                for j in range(n):
                    a = p_xz[j * p_step + start : j * p_step + start + size]
                    add_where(a, label, i, joint[i, j], joint_low[i, j], size)
            for k in range(size):
                gap[k] = chosen[k] - rival[k]
            for k in range(size):
                least[k] = rival[k] if rival[k] < chosen[k] else chosen[k]
            for k in range(size):
                size_of[k] = 4.0 * (n + 3) * unit * size_of[k] + (2.0 * (n + 3) * unit * abs(chosen[k]) + 4 * n * tiny)
            for k in range(size):
                value_of = size_of[k] + gap[k] * (further if gap[k] > 0.0 else nearer)
                doubt[k] += value_of if value_of > 0.0 else 0.0
            for k in range(size):
                mass[k] = 1.0 / mass[k] if mass[k] > 0.0 else 0.0
            if not same:  # else no label wastes anything
                for k in range(size):
                    wasted[k] += gap[k] if gap[k] > 0.0 else 0.0
                for k in range(size):
                    share = gap[k] * mass[k]
                    astray[k] = share if share > astray[k] else astray[k]
            for i in range(m):
                peak, value = worst[i], worth[i]
                for k in range(size):
                    share = (value[k] - least[k]) * mass[k]
                    peak[k] = share if share > peak[k] else peak[k]

        gather(high, low, loss_sums[m])
        for i in range(m):
            gather(errors[i], errors_low[i], loss_sums[i])
            worst_of[i] = worst[i].max()
            for j in range(n):
                gather(joint[i, j], joint_low[i, j], joint_sum[i, j])
        figures[0], figures[1], figures[2], figures[3] = doubt.sum(), wasted.sum(), astray.max(), smallest.min()
        for k in range(strip):
            if smallest[k] != smallest[k]:
                figures[3] = np.nan

    compiled: Callable[..., None] = run
    return compiled
