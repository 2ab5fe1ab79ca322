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

from discreet.problems.blocks import BlockProblem
from discreet.problems.measures.information import OutputLaw
from discreet.problems.numerics.double_double import Array, Pair, dot_pair, exact_product, pair_sum, sum_pair
from discreet.problems.numerics.estimator_sums import Sums, labelled_pair
from discreet.problems.problem import Problem

__all__ = [
    "label_doubt",
    "lower_bound",
    "price",
    "proven",
    "repair_duals",
    "support_ceiling",
    "tilted_losses",
    "tilts_from_law",
]

_UNIT = 2.0**-53
_SMALLEST = 5e-324
_LARGEST_TILT = 1e200  # larger ones are cut: no bound worth having needs them, and sums stay finite
_SUM_ROUNDING = 2.0**-90  # of a sum formed in twice the working precision
_TOTAL_ROUNDING = 2.0**-49  # by how much, relative, Σ π of a problem may differ from one
_ALMOST_LINEAR = 0.02  # |t|/μ up to which e^{2|t|/μ} times a rounding error stays under 1.05 of one
_CURVATURE = np.array([1.0 / math.factorial(k) for k in range(2, 21)])  # of e^z − 1 − z; for |z| ≤ 1 the rest rounds away
_SMALLEST_LOG_RATIO = -40.0  # stands for log 0: e^-40 of a prior is no evidence
_FEW_LOSSES = 1 << 11  # up to which labels are looked up at once, not guess by guess
_BLOCK_OUTCOMES = 1 << 14  # whose temporaries stay in cache
_SEARCH_STEPS = 60
_SEARCH_TOLERANCE = 1e-12  # of the bound


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


def _in_blocks(p_xz: Array, loss: Array, losses: Array, tilt: Array) -> tuple[Pair, Pair, float]:
    """`_by_label` over all outcomes, blocks of them at a time."""
    if p_xz.shape[1] <= _BLOCK_OUTCOMES:
        return _by_label(p_xz, loss, losses, tilt)
    total: Pair = (np.zeros(()), np.zeros(()))
    joint: Pair = (np.zeros(tilt.shape), np.zeros(tilt.shape))
    doubt = 0.0
    for start in range(0, p_xz.shape[1], _BLOCK_OUTCOMES):
        block = slice(start, start + _BLOCK_OUTCOMES)
        here = _by_label(p_xz[:, block], loss[:, block], losses[:, block], tilt)
        total, joint, doubt = pair_sum(total, here[0]), pair_sum(joint, here[1]), doubt + here[2]
    return total, joint, doubt * (1.0 + 2.0**-30)  # the blocks' doubts were added up


def _by_certain_guess(problem: Problem, tilt: Array, losses: Array, sums: Sums) -> tuple[tuple[Pair, Pair, float], bool]:
    """The sums and the doubt under the certain guesses of an estimator, and whether one of these is not the best.

    The other outcomes have the label of their least computed tilted loss.
    """
    assert sums.split is not None
    rest = sums.split.rest
    total, joint = sum_pair(sums.certain_loss[0]), sums.certain_joint
    total = pair_sum(total, sum_pair(sums.certain_loss[1]))
    doubt = 0.0
    if rest.size:
        tied = _by_label(problem.p_xz[:, rest], problem.loss[:, rest], losses[:, rest], tilt)
        total, joint, doubt = pair_sum(total, tied[0]), pair_sum(joint, tied[1]), tied[2]
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


def _by_label(p_xz: Array, loss: Array, losses: Array, tilt: Array) -> tuple[Pair, Pair, float]:
    """Under the label of the least tilted loss: Σ_l L_i(l),l, the u_ij, and the doubt that another label is better."""
    if losses.size <= _FEW_LOSSES:
        labels, every = losses.argmin(axis=0), np.arange(losses.shape[1])
        chosen, rivals = losses[labels, every], losses.copy()
        rivals[labels, every] = math.inf
        doubt = label_doubt(p_xz, tilt, chosen, rivals.min(axis=0)) if tilt.any() else 0.0
        return sum_pair(loss[labels, every]), labelled_pair(labels, losses.shape[0], p_xz), doubt
    best, rivals = losses.min(axis=0), losses.copy()
    free = np.ones(best.size, dtype=bool)
    total: Pair = (np.zeros(()), np.zeros(()))
    joint = np.zeros(tilt.shape), np.zeros(tilt.shape)
    for i in range(losses.shape[0]):
        mine = free & (losses[i] == best)
        if not mine.any():
            continue
        free &= ~mine
        np.putmask(rivals[i], mine, math.inf)
        total = pair_sum(total, sum_pair(loss[i][mine]))
        joint[0][i], joint[1][i] = sum_pair(np.compress(mine, p_xz, axis=1))
    return total, joint, label_doubt(p_xz, tilt, best, rivals.min(axis=0)) if tilt.any() else 0.0


def price(multiplier: float, budget: float) -> float:
    """μ ε, not rounded down."""
    if multiplier == 0.0 or budget == 0.0:
        return 0.0
    return multiplier * budget * (1.0 + _TOTAL_ROUNDING) + _SMALLEST


def proven(loss: Pair, joint: Pair, tilt: Array, cost: float, doubt: float, rounding: float = _SUM_ROUNDING) -> float:
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
    return float(total - 4.0 * _UNIT * (abs(total) + cost + doubt))


def _dot_parts(tilt: Array, mass: Pair) -> list[float]:
    """Numbers whose exact sum is Σ_j t_j·(high + low)_j, but for 2^-90 of Σ |t_j| mass_j."""
    high, error = exact_product(tilt, mass[0])
    return [*high.tolist(), *error.tolist(), *(tilt * mass[1]).tolist()]


def label_doubt(p_xz: Array, tilt: Array, chosen: Array, rival: Array) -> float:
    """How much the true Σ_l min_i can be under the sum with given labels, rounded upward.

    chosen, rival [·] are the computed tilted losses of the label and of the best other guess, p_xz [n, ·]. Added up in any
    order, a tilted loss v is off by at most γ (|v| + 2 Σ_j |t_ij| a_jl), γ = (n + 2)u.
    """
    n, gap = p_xz.shape[0], chosen - rival
    doubt: Array = np.abs(tilt).max(axis=0) @ p_xz
    doubt *= 4.0 * (n + 3) * _UNIT
    doubt += 2.0 * (n + 3) * _UNIT * np.abs(chosen) + 4 * n * _SMALLEST
    doubt += gap * np.where(gap > 0.0, 1.0 + (n + 8) * _UNIT, 1.0 - (n + 8) * _UNIT)
    lost = np.maximum(doubt, 0.0).sum()
    return float(lost * (1.0 + 2.0**-30) + _SMALLEST * tilt.shape[0] * chosen.size)


def repair_duals(problem: Problem | BlockProblem, tilt: Array, multiplier: float) -> tuple[Array, float] | None:
    """The nearest feasible duals by shifting rows: t_i ← t_i − h_i(t, μ). None if the numbers given are unusable."""
    if problem.constraint.oblivious:
        return np.zeros((problem.m, problem.n)), 0.0
    multiplier = math.inf if problem.constraint.perfect else float(multiplier)
    if not np.isfinite(tilt).all() or not multiplier >= 0.0:
        return None
    if math.isinf(multiplier) and not problem.constraint.perfect:
        return None
    possible = problem.p_x > 0
    tilt = np.clip(tilt, -_LARGEST_TILT, _LARGEST_TILT) * possible
    size = np.abs(tilt).max(axis=1)
    shift = support_ceiling(tilt[:, possible], problem.p_x[possible], multiplier)
    if size.max() <= _ALMOST_LINEAR * multiplier:  # the subtraction rounds entry by entry, and h is almost the mean
        size = 0.6 * (np.abs(tilt) @ problem.p_x)
    shift += 2.0 * _UNIT * (size + np.abs(shift)) + 8.0 * _SMALLEST  # rounding of the subtraction, and of subnormal numbers
    return (tilt - shift[:, None]) * possible, multiplier


def support_ceiling(tilt: Array, p_x: Array, multiplier: float) -> Array:
    """An upper bound of h_i(t, μ) [m] within a few rounding errors, for π_j > 0; at most max_j t_ij."""
    largest = tilt.max(axis=1)
    if multiplier == 0.0:
        return np.asarray(largest)
    mean = _mean_ceiling(tilt, p_x)
    if math.isinf(multiplier):
        return np.asarray(np.minimum(mean, largest))
    p_x = p_x / p_x.sum()
    unit = (2 * p_x.size + 16) * _UNIT  # of every sum below, relative to the sum of sizes
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scaled = tilt / multiplier
        value = np.fmin(_near(scaled, p_x, multiplier, unit), mean + multiplier * _curvature_ceiling(scaled, p_x))
        close = np.abs(scaled).max(axis=1) <= 1.0
        if not close.all():
            value = np.where(close, value, _far(tilt, p_x, multiplier, unit))
    return np.asarray(np.where(np.isfinite(value), np.minimum(value, largest), largest))


def _mean_ceiling(tilt: Array, p_x: Array) -> Array:
    """Σ_j π_j t_ij / Σ_j π_j [m] from above: summed in twice the working precision, with π_j known to rounding."""
    high, low = dot_pair(tilt, p_x)
    doubt = 1.5 * _UNIT * (np.abs(tilt) @ p_x)
    return np.asarray(high + np.maximum(low, 0.0) + doubt + _TOTAL_ROUNDING * np.abs(high) + 8.0 * _SMALLEST * p_x.size)


def _curvature_ceiling(scaled: Array, p_x: Array) -> Array:
    """Σ_j π_j (e^z − 1 − z) [m] from above, for |z| ≤ 1; with the mean it bounds h, as log(1 + s) ≤ s."""
    powers = np.empty((*scaled.shape, _CURVATURE.size))
    powers[..., 0], powers[..., 1:] = 1.0, scaled[..., None]
    series = np.multiply.accumulate(powers, axis=-1, out=powers) @ _CURVATURE
    curve = scaled * scaled * series
    return np.asarray((curve @ p_x) * (1.0 + 2.0**-40) + 4.0 * _SMALLEST)


def _near(scaled: Array, p_x: Array, multiplier: float, unit: float) -> Array:
    """h_i for |t| ≤ μ, where log1p and expm1 keep every digit."""
    growth = np.expm1(scaled)
    total = growth @ p_x
    error = unit * (np.abs(growth) @ p_x) / (1.0 + total)
    log = np.log1p(total)
    return np.asarray(multiplier * (log + error + 4.0 * _UNIT * np.abs(log) + 4 * p_x.size * _SMALLEST))


def _far(tilt: Array, p_x: Array, multiplier: float, unit: float) -> Array:
    """h_i from the differences to the largest tilt, whose exponentials cannot overflow."""
    largest = tilt.max(axis=1)
    below = (tilt - largest[:, None]) / multiplier
    power = np.exp(below)
    total = power @ p_x
    drift = np.where(power > 0.0, power * -below, 0.0) @ p_x / total  # exp magnifies the rounding of `below`
    error = unit * (1.0 + drift) + 4 * p_x.size * _SMALLEST / total
    log = np.log(total)
    return np.asarray(largest + multiplier * (log + error + 4.0 * _UNIT * np.abs(log)))


def tilts_from_law(problem: Problem, law: OutputLaw) -> tuple[Array, float]:
    """Duals for an estimator that came without: t_ij = μ log r_ij, with the μ ≥ 0 that gives the best bound."""
    if problem.constraint.perfect or problem.constraint.oblivious:
        return np.zeros((problem.m, problem.n)), 0.0
    ratio = law.ratio_minus_one()
    log = np.log1p(ratio, out=np.full_like(ratio, _SMALLEST_LOG_RATIO), where=ratio > -1.0)
    direction = np.maximum(log, _SMALLEST_LOG_RATIO)
    direction[:, problem.p_x == 0] = 0.0
    multiplier = _best_multiplier(problem, direction)
    return multiplier * direction, multiplier


def _best_multiplier(problem: Problem, direction: Array) -> float:
    """The μ ≥ 0 with the greatest bound for t = μ·direction.

    The bound is concave and piecewise linear in μ, and μ ≤ (best constant error − Bayes error)/ε. Where the tangents at
    both ends of the bracket cross is the next point; every third time it is the geometric middle, since the optimum may
    lie many powers of ten under the ceiling.
    """
    slopes = direction @ problem.p_xz  # [m, N], once for all μ

    def bound(multiplier: float) -> tuple[float, float]:
        losses = problem.loss + multiplier * slopes
        best = losses.min(axis=0)
        slope = np.where(losses == best, slopes, math.inf).min(axis=0)
        return float(best.sum()) - multiplier * problem.budget, float(slope.sum()) - problem.budget

    low, high = 0.0, min(_LARGEST_TILT, max(0.0, problem.constant_error - problem.bayes_error) / problem.budget)
    at_low, at_high = bound(low), bound(high)
    if at_low[1] <= 0.0 or at_high[1] >= 0.0:
        return low if at_low[0] >= at_high[0] else high
    for step in range(_SEARCH_STEPS):
        crossing = (at_high[0] - at_low[0] + at_low[1] * low - at_high[1] * high) / (at_low[1] - at_high[1])
        ceiling = at_low[0] + at_low[1] * (crossing - low)
        if ceiling - max(at_low[0], at_high[0]) <= _SEARCH_TOLERANCE * abs(ceiling):
            break
        point = crossing if step % 3 else math.sqrt(max(low, 1e-10 * high) * high)
        if not low < point < high:
            break
        here = bound(point)
        if here[1] > 0.0:
            low, at_low = point, here
        else:
            high, at_high = point, here
    return low if at_low[0] >= at_high[0] else high
