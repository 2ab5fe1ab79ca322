"""What the labels of a rule add up to, and what they are worth under feasible duals; in NumPy and compiled by numba.

For every outcome l: the label i(l) that a rule gives it (the first least of L_il + Σ_j d_ij a_jl), and what that label is
worth under feasible duals t. Kept are sums in twice the working precision of what goes to each label, the doubt that this
label is the best one, and the wasted losses. The compiled version examines only outcomes that are not clear.

**Clear.** Let v_k be the computed tilted losses of an outcome of mass w under the rule's tilts d, i its label, s the least
of the other v_k, and F_k its exact tilted losses under the feasible duals t. With γ = (n + 2)u, B = max |d_ij| and τ the
smallest positive number, v_k is off by at most γ(|v_k| + 2 B w) + n τ. With Δ = max |t_ij − d_ij| therefore

    F_k − F_i ≥ (s − v_i)(1 − γ) − γ (2 |v_i| + 4 B w) − 2 Δ w − 2 n τ        for every k ≠ i,

as |v_k| ≤ |v_i| + (v_k − v_i). Where the computed s − v_i is at least *twice* what is subtracted, with (n + 4)u for γ, which
also covers the rounding of w and of this very test, label i is the best guess under t: nothing is in doubt, nothing wasted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array, DoubleDouble, dd_add, dd_sum, exact_product
from discreet.problems.numerics.estimators import labelled_sums
from discreet.problems.numerics.label_strips import compiled_pays, strip_sums
from discreet.problems.numerics.rounding import SMALLEST, SUM_ROUNDING, UNIT
from discreet.problems.numerics.tilted_losses import in_order_losses, label_doubt

__all__ = ["Tally", "compiled_tally", "tally", "tally_for"]

_BLOCK_OUTCOMES = 1 << 14  # whose temporaries stay in cache


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over outcomes under the labels of a rule; dd stands for double-double.

    joint     u_i = Σ_{l: i(l) = i} a_l                                 dd [m, n]
    loss      Σ_l L_i(l),l                                              dd []
    errors    Σ_l L_il                                                  dd [m]
    doubt     how much less than by label the true Σ_l min_i can be, at most
    wasted    Σ_l r_i(l),l, r_il = tilted loss − least tilted loss
    astray    max_l r_i(l),l / w_l
    smallest  least entry of p_xz and loss if that is negative, else 0; NaN if one is no number up to 1e150. Unless it is 0
              the sums mean nothing
    near      of one chunk: places of all outcomes with a margin within the band, among others; None: any may have one
    """

    joint: DoubleDouble
    loss: DoubleDouble
    errors: DoubleDouble
    doubt: float
    wasted: float
    astray: float
    smallest: float
    near: NDArray[np.intp] | None = None

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(
            dd_add(self.joint, other.joint),
            dd_add(self.loss, other.loss),
            dd_add(self.errors, other.errors),
            self.doubt + other.doubt,
            self.wasted + other.wasted,
            max(self.astray, other.astray),
            float(np.minimum(self.smallest, other.smallest)),
        )

    def least(self, tilt: Array, doubt: float) -> tuple[float, ...]:
        """Numbers whose exact sum is at most Σ_l min_i of the tilted losses, from the sums under any labels.

        With the labels fixed it is Σ_l L_i(l),l + Σ_ij t_ij u_ij; wrong labels make this too large by at most the doubt.
        tilt [m, n] of entries under 1e201 in size.
        """
        parts = [float(self.loss[0]), float(self.loss[1])]
        for row, high, low in zip(tilt, *self.joint, strict=True):  # but for 2^-90 of Σ |t| u, exact
            product, error = exact_product(row, high)
            parts += [*product.tolist(), *error.tolist(), *(row * low).tolist()]
        size = float((np.abs(tilt) * self.joint[0]).sum()) + parts[0]
        return (*parts, -doubt * (1.0 + 2.0**-30), -2.0 * SUM_ROUNDING * size)


def tally(p_xz: Array, loss: Array, decide: Array, tilt: Array, band: float = 0.0) -> Tally:
    """The pass over outcomes [n, ·], [m, ·] for a rule with tilt `decide` [m, n] and feasible duals `tilt` [m, n].

    band: of the rule's tie classes, whose outcomes are not counted as clear.
    """
    found = _tally(p_xz[:, :_BLOCK_OUTCOMES], loss[:, :_BLOCK_OUTCOMES], decide, tilt)
    for start in range(_BLOCK_OUTCOMES, p_xz.shape[1], _BLOCK_OUTCOMES):
        block = slice(start, start + _BLOCK_OUTCOMES)
        found = found.plus(_tally(p_xz[:, block], loss[:, block], decide, tilt))
    return found


def _tally(p_xz: Array, loss: Array, decide: Array, tilt: Array) -> Tally:
    smallest = float(np.minimum(0.0, np.minimum(p_xz.min(), loss.min())))
    if not max(p_xz.max(), loss.max()) <= 1e150:
        smallest = math.nan
    if not smallest >= 0.0:
        p_xz, loss = np.zeros_like(p_xz), np.zeros_like(loss)
    losses = in_order_losses(p_xz, loss, decide)
    label, places = np.argmin(losses, axis=0), np.arange(p_xz.shape[1])
    if decide is not tilt:
        losses = in_order_losses(p_xz, loss, tilt)
    chosen = losses[label, places]
    losses[label, places] = math.inf
    rival = losses.min(axis=0)
    wasted = np.maximum(chosen - rival, 0.0)
    mass = p_xz.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a loss may be any multiple of its outcome's mass
        astray = np.where(mass > 0.0, wasted / mass, 0.0)
    return Tally(
        labelled_sums(label, loss.shape[0], p_xz),
        dd_sum(loss[label, places]),
        dd_sum(loss),
        label_doubt(p_xz, tilt, chosen, rival),
        float(wasted.sum()),
        float(np.fmax.reduce(astray, initial=0.0)),
        smallest,
    )


def compiled_tally(p_xz: Array, loss: Array, decide: Array, tilt: Array, band: float = 0.0) -> Tally:
    """`tally`, compiled."""
    n, apart = p_xz.shape[0], float(np.abs(tilt - decide).max())
    gamma = (n + 4) * UNIT
    per_mass = 8.0 * gamma * float(np.abs(decide).max()) + 4.0 * apart * (1.0 + 8.0 * UNIT)
    per_mass += 2.0 * band  # twice covers the rounding of margins
    found = strip_sums(p_xz, loss, decide, per_mass, 4.0 * gamma, 8.0 * n * SMALLEST)
    high, low = found.sums
    of_labels = dd_add(dd_sum(np.diagonal(high[:, n:])), dd_sum(np.diagonal(low[:, n:])))
    of_guesses = dd_add(dd_sum(high[:, n:].T), dd_sum(low[:, n:].T))
    clear = Tally((high[:, :n], low[:, :n]), of_labels, of_guesses, 0.0, 0.0, 0.0, 0.0)
    rest = found.unclear
    both = clear.plus(tally(p_xz[:, rest], loss[:, rest], decide, tilt)) if rest.size else clear
    return replace(both, near=rest)


def tally_for(outcomes: int, compiled: bool | None = None) -> Callable[..., Tally]:
    """The pass over a chunk of a problem of so many outcomes: compiled, by default where that pays."""
    return compiled_tally if (compiled_pays(outcomes) if compiled is None else compiled) else tally
