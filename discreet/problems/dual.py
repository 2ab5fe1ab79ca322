"""The lower side of a certificate: tilts made dual feasible, and the bound they prove.

For every μ ≥ 0 and every tilt t [m, n] with h_i(t, μ) = μ log Σ_j π_j e^{t_ij/μ} ≤ 0 (at budget 0: Σ_j π_j t_ij ≤ 0), no
feasible estimator has an error probability under

    Σ_l min_i ( L_il + Σ_j t_ij a_jl ) − μ ε.

Any t becomes feasible by t_i ← t_i − h_i. The bound returned is rounded *downward*: it subtracts a bound on everything
floating point can have added (`lower_bound`), so it holds for the stored numbers taken as exact.

Source: weak duality with the support function of leakage, docs/theory.md; rounding: N. J. Higham, *Accuracy and
Stability of Numerical Algorithms*, §3.1.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.problems.accurate import Array, sum_pair
from discreet.problems.information import OutputLaw
from discreet.problems.problem import Problem

__all__ = ["lower_bound", "repair_duals", "tilted_losses", "tilts_from_law"]

_UNIT = 2.0**-53
_FEASIBILITY_MARGIN = 16 * _UNIT  # of the largest tilt: covers the rounding of h
_SMALLEST_LOG_RATIO = -40.0  # stands for log 0: e^-40 of a prior is no evidence
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_SEARCH_STEPS = 48  # shrinks log μ by 1e-10


def tilted_losses(problem: Problem, tilt: Array) -> Array:
    """L_il + Σ_j t_ij a_jl [m, N]: what the optimal rule minimises over i."""
    return problem.loss + tilt @ problem.p_xz


def lower_bound(problem: Problem, tilt: Array, multiplier: float) -> float:
    """The bound proved by *feasible* duals, rounded downward.

    Each computed L_il + a_l·t_i is off by at most γ(|value| + 2 a_l·τ) with τ_j = max_i |t_ij|, γ ≈ (n + 2)·2^-53; the
    sum is exact to one rounding.
    """
    smallest = tilted_losses(problem, tilt).min(axis=0)
    total = float(sum_pair(smallest)[0])
    gamma = (problem.n + 3) * _UNIT
    allowance = gamma * (float(np.abs(smallest).sum()) + 2.0 * float(problem.p_x @ np.abs(tilt).max(axis=0)))
    price = 0.0 if multiplier == 0.0 or problem.budget == 0.0 else multiplier * problem.budget
    return total - price - allowance - 4.0 * _UNIT * (abs(total) + price)


def repair_duals(problem: Problem, tilt: Array, multiplier: float) -> tuple[Array, float] | None:
    """The nearest feasible duals by shifting rows: t_i ← t_i − h_i(t, μ). None if the numbers given are unusable."""
    multiplier = math.inf if problem.constraint.perfect else float(multiplier)
    if problem.constraint.oblivious:
        return np.zeros((problem.m, problem.n)), 0.0
    if not np.isfinite(tilt).all() or not multiplier >= 0.0:
        return None
    if math.isinf(multiplier) and not problem.constraint.perfect:
        return None
    possible = problem.p_x > 0
    tilt = np.where(possible, tilt, 0.0)
    excess = _support(tilt[:, possible], problem.p_x[possible], multiplier)
    margin = _FEASIBILITY_MARGIN * np.abs(tilt).max(axis=1)
    return np.where(possible, tilt - (excess + margin)[:, None], 0.0), multiplier


def _support(tilt: Array, p_x: Array, multiplier: float) -> Array:
    """h_i(t, μ) [m] for π_j > 0, in the form that does not cancel; at most max_j t_ij."""
    largest: Array = tilt.max(axis=1)
    if multiplier == 0.0:
        return largest
    if math.isinf(multiplier):
        mean: Array = (tilt * p_x).sum(axis=1) / p_x.sum()
        return mean
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scaled = tilt / multiplier
        near = np.log1p((p_x * np.expm1(scaled)).sum(axis=1))
        far = largest / multiplier + np.log((p_x * np.exp(scaled - scaled.max(axis=1, keepdims=True))).sum(axis=1))
        value = multiplier * np.where(np.abs(scaled).max(axis=1) <= 1.0, near, far)
    safe: Array = np.where(np.isfinite(value), np.minimum(value, largest), largest)
    return safe


def tilts_from_law(problem: Problem, law: OutputLaw) -> tuple[Array, float]:
    """Duals for an estimator that came without: t_ij = μ log r_ij, with the μ ≥ 0 that gives the best bound.

    The bound is concave in μ, and μ ≤ (best constant error − Bayes error)/ε; the search is by golden section in log μ.
    """
    if problem.constraint.perfect or problem.constraint.oblivious:
        return np.zeros((problem.m, problem.n)), 0.0
    with np.errstate(divide="ignore"):
        direction = np.log1p(np.maximum(law.ratio_minus_one(), -1.0))
    direction = np.maximum(direction, _SMALLEST_LOG_RATIO)
    direction[:, problem.p_x == 0] = 0.0
    slopes = direction @ problem.p_xz  # [m, N], once for all μ

    def bound(log_multiplier: float) -> float:
        mu = math.exp(log_multiplier)
        return float((problem.loss + mu * slopes).min(axis=0).sum()) - mu * problem.budget

    ceiling = max(problem.constant_error - problem.bayes_error, 1e-300) / problem.budget
    high = math.log(ceiling)
    best = _golden_section(bound, high - 25.0, high)
    return math.exp(best) * direction, math.exp(best)


def _golden_section(function, low: float, high: float) -> float:  # type: ignore[no-untyped-def]
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_SEARCH_STEPS):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
    return 0.5 * (low + high)
