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

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.compiled import flat
from discreet.problems.numerics.double_double import Array, DoubleDouble, dd_add, dd_sum
from discreet.problems.numerics.estimators import labelled_sums
from discreet.problems.numerics.label_strips import compiled_strips
from discreet.problems.numerics.strip_sums import STRIP
from discreet.problems.numerics.tilted_losses import in_order_losses, label_doubt

__all__ = ["Tally", "TallyOf", "compiled_tally", "tally", "under_labels"]

TallyOf = Callable[[Array, Array, Array, Array], "Tally"]


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over outcomes under the labels of a rule; dd stands for double-double.

    joint     Σ_{l: i(l) = i} a_jl                                      dd [m, n]
    loss      Σ_l L_i(l),l                                              dd []
    errors    Σ_l L_il                                                  dd [m]
    doubt     how much less than by label the true Σ_l min_i can be, at most
    wasted    Σ_l r_i(l),l, r_il = tilted loss − least tilted loss
    worst     max_l r_il / w_l                                          [m]
    astray    max_l r_i(l),l / w_l
    smallest  least entry of p_xz and loss if that is negative, else 0; NaN if one is not a number
    """

    joint: DoubleDouble
    loss: DoubleDouble
    errors: DoubleDouble
    doubt: float
    wasted: float
    worst: Array
    astray: float
    smallest: float

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(
            dd_add(self.joint, other.joint),
            dd_add(self.loss, other.loss),
            dd_add(self.errors, other.errors),
            self.doubt + other.doubt,
            self.wasted + other.wasted,
            np.maximum(self.worst, other.worst),
            max(self.astray, other.astray),
            float(np.minimum(self.smallest, other.smallest)),
        )


def tally(p_xz: Array, loss: Array, decide: Array, tilt: Array) -> Tally:
    """The pass over outcomes [n, ·], [m, ·] for a rule with tilt `decide` [m, n] and feasible duals `tilt` [m, n]."""
    label = np.argmin(in_order_losses(p_xz, loss, decide), axis=0)
    worth = in_order_losses(p_xz, loss, tilt)
    total, joint, doubt = under_labels(p_xz, loss, tilt, label, worth)
    chosen, least, mass = worth[label, np.arange(label.size)], worth.min(axis=0), p_xz.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # a loss may be any multiple of the mass of its outcome
        share = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0.0)
        worst = np.fmax.reduce((worth - least) * share, axis=1, initial=0.0)
        astray = float(np.fmax.reduce((chosen - least) * share, initial=0.0))
    smallest = float(np.minimum(0.0, np.minimum(p_xz.min(), loss.min())))
    return Tally(joint, total, dd_sum(loss), doubt, float((chosen - least).sum()), worst, astray, smallest)


def under_labels(
    p_xz: Array, loss: Array, tilt: Array, label: NDArray[np.intp], losses: Array
) -> tuple[DoubleDouble, DoubleDouble, float]:
    """Σ_l L_i(l),l, Σ_{l: i(l) = i} a_jl [m, n], and the doubt that another label is better.

    label [·] of outcomes [n, ·], [m, ·] whose tilted losses, as `in_order_losses` computes them, are `losses` [m, ·].
    """
    places = np.arange(label.size)
    rivals = losses.copy()
    rivals[label, places] = math.inf
    doubt = label_doubt(p_xz, tilt, losses[label, places], rivals.min(axis=0))
    return dd_sum(loss[label, places]), labelled_sums(label, loss.shape[0], p_xz), doubt


def compiled_tally(p_xz: Array, loss: Array, decide: Array, tilt: Array) -> Tally:
    """`tally`, compiled."""
    whole = p_xz.shape[1] // STRIP * STRIP
    if whole == p_xz.shape[1]:
        return _compiled(p_xz, loss, decide, tilt)
    rest = _compiled(_padded(p_xz[:, whole:]), _padded(loss[:, whole:]), decide, tilt)
    return _compiled(p_xz[:, :whole], loss[:, :whole], decide, tilt).plus(rest) if whole else rest


def _padded(values: Array) -> Array:
    """The outcomes of less than a strip with as many of no mass as fill it."""
    filled = np.zeros((values.shape[0], STRIP))
    filled[:, : values.shape[1]] = values
    return filled


def _compiled(p_xz: Array, loss: Array, decide: Array, tilt: Array) -> Tally:
    """`tally` of whole strips."""
    (m, n), count = tilt.shape, p_xz.shape[1]
    sums, figures, worst = np.zeros((m * n + m + 1, 2)), np.zeros(4), np.zeros(m)
    tilts = (np.concatenate([values, np.zeros((m, max(0, 2 - n)))], axis=1).ravel() for values in (decide, tilt))
    compiled_strips()(count // STRIP, n, m, *flat(p_xz), *flat(loss), *tilts, sums, figures, worst)
    doubt, wasted, astray, smallest = figures.tolist()
    joint, errors, total = sums[: m * n].reshape(m, n, 2), sums[m * n : m * n + m], sums[m * n + m]
    return Tally(
        (joint[..., 0].copy(), joint[..., 1].copy()),
        (np.array(total[0]), np.array(total[1])),
        (errors[:, 0].copy(), errors[:, 1].copy()),
        doubt * (1.0 + 2.0**-30) + 5e-324 * m * count,
        wasted,
        worst,
        astray,
        smallest,
    )
