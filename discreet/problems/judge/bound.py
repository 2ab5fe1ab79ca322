"""The lower side of a certificate: tilts made dual feasible, and the bound they prove.

For every μ ≥ 0 and every tilt t [m, n] with h_i(t, μ) = μ log Σ_j π_j e^{t_ij/μ} ≤ 0 (at budget 0: Σ_j π_j t_ij ≤ 0), no
feasible estimator has an error probability under

    Σ_l min_i ( L_il + Σ_j t_ij a_jl ) − μ ε.

Any t becomes feasible by t_i ← t_i − h_i. Everything here holds for the stored numbers taken as exact: the shift is by an
upper bound of h_i, and the bound returned is rounded *downward*. Once every outcome has its label, the sum is one of stored
numbers, formed in twice the working precision; only outcomes whose label is in doubt lose anything, and by no more than
the doubt.

Source: weak duality with the support function of leakage, docs/theory.md; rounding: N. J. Higham, *Accuracy and
Stability of Numerical Algorithms*, §3.1.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.problems.numerics.double_double import Array, DoubleDouble, dd_add, dd_sum, exact_product
from discreet.problems.numerics.estimators import Sums, labelled_sums
from discreet.problems.numerics.rounding import SMALLEST, TOTAL_ROUNDING, UNIT
from discreet.problems.numerics.tilted_losses import label_doubt
from discreet.problems.problem import Problem

__all__ = ["lower_bound", "price", "proven", "tilted_losses"]

_LARGEST_TILT = 1e200  # larger ones are cut: no bound worth having needs them, and sums stay finite
_SUM_ROUNDING = 2.0**-90  # of a sum formed in twice the working precision
_FEW_LOSSES = 1 << 11  # up to which labels are looked up at once, not guess by guess
_BLOCK_OUTCOMES = 1 << 14  # whose temporaries stay in cache


def tilted_losses(problem: Problem, tilt: Array) -> Array:
    """L_il + Σ_j t_ij a_jl [m, N]: what the optimal rule minimises over i."""
    losses: Array = tilt @ problem.p_xz
    losses += problem.loss
    return losses


def lower_bound(
    problem: Problem, tilt: Array, multiplier: float, losses: Array | None = None, sums: Sums | None = None
) -> float:
    """The bound proved by *feasible* duals, rounded downward; `losses`, if at hand, are their `tilted_losses`.

    Give each outcome a label i(l), that of its least computed tilted loss. Then the sum of the true minima is
    Σ_l L_i(l),l + Σ_ij t_ij u_ij with u_i = Σ_{l: i(l) = i} a_l, less what wrong labels gain: nothing where the runner-up
    is further away than rounding can bridge, and at most that rounding elsewhere.

    Any labels will do, wrong ones cost what they gain: with the `sums` of an estimator its certain guesses are taken, and
    what they add up to is known. The better bound is returned where an outcome has a better guess than that.
    """
    if not np.abs(tilt).max() <= 4.0 * _LARGEST_TILT:
        return -math.inf
    losses = tilted_losses(problem, tilt) if losses is None else losses
    cost = price(multiplier, problem.budget)
    if sums is not None and sums.split is not None:
        (loss, joint, doubt), wrong = _by_certain_guess(problem, tilt, losses, sums)
        if not wrong:
            return proven(loss, joint, tilt, cost, doubt)
    loss, joint, doubt = _in_blocks(problem.p_xz, problem.loss, losses, tilt)
    return proven(loss, joint, tilt, cost, doubt)


def _in_blocks(p_xz: Array, loss: Array, losses: Array, tilt: Array) -> tuple[DoubleDouble, DoubleDouble, float]:
    """`_by_label` over all outcomes, blocks of them at a time."""
    if p_xz.shape[1] <= _BLOCK_OUTCOMES:
        return _by_label(p_xz, loss, losses, tilt)
    total: DoubleDouble = (np.zeros(()), np.zeros(()))
    joint: DoubleDouble = (np.zeros(tilt.shape), np.zeros(tilt.shape))
    doubt = 0.0
    for start in range(0, p_xz.shape[1], _BLOCK_OUTCOMES):
        block = slice(start, start + _BLOCK_OUTCOMES)
        here = _by_label(p_xz[:, block], loss[:, block], losses[:, block], tilt)
        total, joint, doubt = dd_add(total, here[0]), dd_add(joint, here[1]), doubt + here[2]
    return total, joint, doubt * (1.0 + 2.0**-30)  # the blocks' doubts were added up


def _by_certain_guess(
    problem: Problem, tilt: Array, losses: Array, sums: Sums
) -> tuple[tuple[DoubleDouble, DoubleDouble, float], bool]:
    """The sums and the doubt under the certain guesses of an estimator, and whether one of these is not the best.

    The other outcomes have the label of their least computed tilted loss.
    """
    assert sums.split is not None
    rest = sums.split.rest
    total, joint = dd_sum(sums.certain_loss[0]), sums.certain_joint
    total = dd_add(total, dd_sum(sums.certain_loss[1]))
    doubt = 0.0
    if rest.size:
        tied = _by_label(problem.p_xz[:, rest], problem.loss[:, rest], losses[:, rest], tilt)
        total, joint, doubt = dd_add(total, tied[0]), dd_add(joint, tied[1]), tied[2]
    for start in range(0, problem.N, _BLOCK_OUTCOMES):
        block = slice(start, start + _BLOCK_OUTCOMES)
        sure, here = sums.split.sure[:, block], losses[:, block]
        chosen, rival = np.where(sure, here, math.inf).min(axis=0), np.where(sure, math.inf, here).min(axis=0)
        certain = chosen < math.inf
        if bool((certain & (rival < chosen)).any()):
            return (total, joint, math.inf), True
        if tilt.any():
            doubt += label_doubt(
                problem.p_xz[:, block], tilt, np.where(certain, chosen, 0.0), np.where(certain, rival, math.inf)
            )
    return (total, joint, doubt * (1.0 + 2.0**-30)), False


def _by_label(p_xz: Array, loss: Array, losses: Array, tilt: Array) -> tuple[DoubleDouble, DoubleDouble, float]:
    """Under the label of the least tilted loss: Σ_l L_i(l),l, the u_ij, and the doubt that another label is better."""
    if losses.size <= _FEW_LOSSES:
        labels, every = losses.argmin(axis=0), np.arange(losses.shape[1])
        chosen, rivals = losses[labels, every], losses.copy()
        rivals[labels, every] = math.inf
        doubt = label_doubt(p_xz, tilt, chosen, rivals.min(axis=0)) if tilt.any() else 0.0
        return dd_sum(loss[labels, every]), labelled_sums(labels, losses.shape[0], p_xz), doubt
    best, rivals = losses.min(axis=0), losses.copy()
    free = np.ones(best.size, dtype=bool)
    total: DoubleDouble = (np.zeros(()), np.zeros(()))
    joint = np.zeros(tilt.shape), np.zeros(tilt.shape)
    for i in range(losses.shape[0]):
        mine = free & (losses[i] == best)
        if not mine.any():
            continue
        free &= ~mine
        np.putmask(rivals[i], mine, math.inf)
        total = dd_add(total, dd_sum(loss[i][mine]))
        joint[0][i], joint[1][i] = dd_sum(np.compress(mine, p_xz, axis=1))
    return total, joint, label_doubt(p_xz, tilt, best, rivals.min(axis=0)) if tilt.any() else 0.0


def price(multiplier: float, budget: float) -> float:
    """μ ε, not rounded down."""
    if multiplier == 0.0 or budget == 0.0:
        return 0.0
    return multiplier * budget * (1.0 + TOTAL_ROUNDING) + SMALLEST


def proven(
    loss: DoubleDouble, joint: DoubleDouble, tilt: Array, cost: float, doubt: float, rounding: float = _SUM_ROUNDING
) -> float:
    """Σ_l L_i(l),l + Σ_ij t_ij u_ij − cost − doubt, rounded downward; −inf where that is no number.

    loss pair [], joint = u pair [m, n], summed with a relative error of at most `rounding`.
    """
    if not math.isfinite(cost):
        return -math.inf
    parts = [float(loss[0]), float(loss[1])]
    for row, high, low in zip(tilt, *joint, strict=True):
        parts += _dot_parts(row, (high, low))
    doubt += rounding * float((np.abs(tilt) * joint[0]).sum())
    total = math.fsum([*parts, -cost, -doubt])
    return float(total - 4.0 * UNIT * (abs(total) + cost + doubt))


def _dot_parts(tilt: Array, mass: DoubleDouble) -> list[float]:
    """Numbers whose exact sum is Σ_j t_j·(high + low)_j, but for 2^-90 of Σ |t_j| mass_j."""
    high, error = exact_product(tilt, mass[0])
    return [*high.tolist(), *error.tolist(), *(tilt * mass[1]).tolist()]
