"""Duals made feasible: tilts are lowered row by row until they prove a lower bound of the error probability."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.problems.measures.measure import Measure, Scope
from discreet.problems.measures.mutual_information import MUTUAL_INFORMATION
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.rounding import LARGEST_TILT


def feasible_duals(
    tilt: Array, multiplier: float, p_x: Array, budget: float, measure: Measure = MUTUAL_INFORMATION
) -> tuple[Array, float] | None:
    """Duals made feasible by shifting rows, t_i ← t_i − κ_i; None for numbers that are not finite or μ < 0.

    tilt [m, n], multiplier μ ≥ 0 (not read at perfect privacy, where it is ∞, nor where the measure needs none), π [n],
    budget ε in the measure's unit. The multiplier returned is the price of the measure's B. Without a constraint (ε = ∞)
    the only useful duals are t = 0 with μ = 0, and these are returned.
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
    tilt = np.minimum(np.maximum(tilt, -LARGEST_TILT), LARGEST_TILT) * possible
    own, prior = tilt[:, possible], p_x[possible]
    fitting = measure_of_tilts(measure, budget, possible)
    tilt = (tilt - fitting.lowering(own, prior, multiplier, measure.level(budget))[:, None]) * possible
    return tilt, multiplier if perfect else fitting.price(tilt[:, possible], prior, multiplier)


def measure_of_tilts(measure: Measure, budget: float, possible: NDArray[np.bool_]) -> Measure:
    """The measure whose set V tilts of the possible values must be in; at perfect privacy all need a mean of 0 at most."""
    if budget == 0.0 and measure.separates:
        return MUTUAL_INFORMATION
    return measure.on(np.flatnonzero(possible), possible.size)
