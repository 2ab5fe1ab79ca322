"""Feasible duals: rows of tilts are lowered until they prove a lower bound of the error
probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.measures.measure import Measure, Scope, sum_error
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.numerics.double_double import Array, difference_below
from discreet.numerics.rounding import LARGEST_TILT, UNIT
from discreet.problems.constraint import Term


def no_multipliers(terms: Sequence[Term]) -> Array:
    """Return the multipliers [C] of t = 0: inf for perfect privacy, 0 for every other
    constraint.
    """
    return np.array([math.inf if term.budget.perfect else 0.0 for term in terms])


def feasible_for(
    tilt: Array, multipliers: Array, p_x: Array, terms: Sequence[Term]
) -> tuple[Array, Array]:
    """Apply `feasible_duals` to the rows of each constraint: tilt [m, n], multipliers [C], π [n].

    If the duals of a constraint cannot be made feasible, they become 0, which is feasible.
    """
    lowered = np.zeros(tilt.shape)
    prices = no_multipliers(terms)
    for number, (term, price) in enumerate(zip(terms, multipliers.tolist(), strict=True)):
        groups = [group for group in term.groups if p_x[group].any()]
        each = [_feasible_group(tilt[:, group], price, p_x[group], term) for group in groups]
        if all(one is not None for one in each):
            for group, one in zip(groups, each, strict=True):
                assert one is not None
                lowered[:, group], prices[number] = one
    return lowered, prices


def _feasible_group(
    tilt: Array, multiplier: float, p_x: Array, term: Term
) -> tuple[Array, float] | None:
    """Return feasible duals for one group of rows with the prior π/Σπ, whose entries are rounded
    twice more, each by at most u.
    """
    prior = p_x / p_x.sum() if term.measure.conditional else p_x
    feasible = feasible_duals(tilt, multiplier, prior, term.budget.amount, term.measure)
    if feasible is None or not term.measure.conditional:
        return feasible
    infeasible = 4.0 * UNIT * change_with_prior(*feasible, prior)
    return difference_below(feasible[0], infeasible[:, None]) * (p_x > 0.0), feasible[1]


def feasible_duals(
    tilt: Array, multiplier: float, p_x: Array, budget: float, measure: Measure = MUTUAL_INFORMATION
) -> tuple[Array, float] | None:
    """Return duals made feasible by shifting rows, t_i ← t_i − κ_i; None if a number is not finite
    or μ < 0.

    tilt [m, n], multiplier μ ≥ 0 (ignored for perfect privacy, where it is ∞, and for measures
    without a multiplier), π [n], budget ε in the unit of the measure. The returned multiplier is
    the coefficient of the measure's B. Without a constraint (ε = ∞), the only useful duals are t =
    0 with μ = 0, and these are returned.
    """
    if math.isinf(budget):
        return np.zeros(tilt.shape), 0.0
    perfect = budget == 0.0 and measure.separates
    total = measure.scope is Scope.TOTAL
    multiplier = math.inf if perfect else float(multiplier) if total else 0.0
    if not np.isfinite(tilt).all() or not multiplier >= 0.0:
        return None
    if math.isinf(multiplier) and not perfect:
        return None
    possible = p_x > 0
    most = LARGEST_TILT / 4.0  # a row is lowered by at most its largest entry
    tilt = np.minimum(np.maximum(tilt, -most), most) * possible
    own = tilt[:, possible]
    prior = p_x[possible]
    # Under perfect privacy, tilts only need a mean of at most 0.
    fitting = MUTUAL_INFORMATION if perfect else measure.on(np.flatnonzero(possible), possible.size)
    level = measure.level(budget)
    shift = fitting.ceiling(own, prior, multiplier, level)
    spare = 4.0 * sum_error(prior.size) * np.abs(own)
    if (shift > spare @ prior).any():  # entries of rare values may be too large due to rounding
        other = fitting.ceiling(own - spare, prior, multiplier, level)
        better = other + spare @ prior < shift
        own = np.where(better[:, None], own - spare, own)
        shift = np.where(better, other, shift)
    tilt[:, possible] = difference_below(own, shift[:, None])
    return tilt, multiplier if perfect else fitting.price(tilt[:, possible], prior, multiplier)


def change_with_prior(tilt: Array, multiplier: float, p_x: Array) -> Array:
    """Return the rates [m] at which rows of feasible tilts [m, n] for mutual information become
    infeasible as each π_j changes.

    If every π_j grows by at most the share δ, rows lowered by δ times the numbers returned are
    feasible: with s = t_i/μ and Σ_j π_j e^{s_j} ≤ 1, μ log Σ_j π'_j e^{s_j} ≤ μ δ Σ_j π_j |e^{s_j}
    − 1| for π' of the same total as π. Under perfect privacy (μ = ∞) the rate is the mean of
    |t_ij|.
    """
    if math.isinf(multiplier):
        return np.asarray(np.abs(tilt) @ p_x)
    if multiplier == 0.0:
        return np.zeros(len(tilt))
    with np.errstate(over="ignore"):
        changes = np.abs(np.expm1(tilt / multiplier)) * p_x
    # Since Σ_j π_j e^{s_j} ≤ 1, each term is at most 1 where an exponential overflows.
    return np.asarray(multiplier * np.minimum(changes, 1.0).sum(axis=1))
