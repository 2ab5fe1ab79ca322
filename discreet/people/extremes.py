"""The least and the largest leakage of all laws of (X, Ŷ) in a region, by every measure of
`discreet.measures`.

For fixed shares π a measure is Σ_i g(u_i), u_ij = π_j W_ij, with g convex, or the largest value of
one guess. Upward the least of these bounds is taken, each valid for every π of the region:

- corners: let b(W_i) ≥ g(u_i) for all these π, b convex (`Measure.rates_ceiling`). Whatever the
  numbers λ_j, as the rates of a group add up to one, Σ_i b(W_i) ≤ Σ_j λ_j + Σ_i max over the
  corners of the box of (b(W_i) − λ·W_i). A linear program proposes the λ. A measure of single
  guesses has the largest corner of any guess. Where the ratio of odds is limited, small boxes cover
  the region, and the sum over guesses, which is convex, is largest at a corner of one of them.
- cells: g is at most a sum of convex functions f_ij of single rates, those about a fixed law of Ŷ
  (`Measure.cells`). With θ ≥ 0 for the ball, Σ f_ij(W_ij) ≤ θ r + Σ_ij max over the interval of
  (f_ij(w) − θ N_j (Ŵ_ij log(Ŵ_ij/w) + w − Ŵ_ij)).
- what the measure itself knows: from each interval, so that any number of groups will do
  (`Measure.largest_level`), or from mutual information (`Measure.level_from_information`).

Downward each measure has its own bound (`Measure.least_leakage`). Information given another
variable is a sum over its values, each with the shares of its groups among all people.

Source: docs/theory.md, section 23.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.measures.measure import Measure, Scope
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.region import OUTWARD, Region
from discreet.numerics.double_double import Array
from discreet.problems.roots import bisected

MOST_GROUPS = 14
"""So many groups have 2^14 corners; with more the bound by corners is left out."""

_FEW_ROWS = 4096  # of the linear program for λ; with more, λ = 0


def leakage_of(measure: Measure, rates: Array, shares: Array, given: int = 1) -> float:
    """The leakage of the law with rates W [m, n · given] and shares π, the groups of each given
    value one after another.
    """
    level = 0.0
    for own in np.split(np.arange(shares.size), given):
        seen = own[shares[own] > 0]
        if not seen.size:
            continue
        part = measure.on(seen - own[0], own.size)
        mass = float(shares[seen].sum()) if measure.conditional else 1.0
        values = part.contributions(rates[:, seen], shares[seen] / mass)
        level += mass * float(values.sum() if part.scope is Scope.TOTAL else values.max())
    return measure.amount(level)


def limits_of(measure: Measure, region: Region) -> tuple[float, float]:
    """The least and the largest leakage in the region; the true law is among those, with its
    confidence.

    The region of a conditional measure has the groups of each given value, one value after another.
    """
    highest = highest_of(measure, region)
    if not highest:
        return 0.0, 0.0
    return float(sum(measure.least_leakage(part) for part in region.parts)), highest


def highest_of(measure: Measure, region: Region) -> float:
    """The largest leakage alone, of all laws whose odds ratios lie between 1 and one that the
    region allows.
    """
    n = region.people.size // region.given
    measure.on(np.arange(n), n)
    if min(len(region.rates), n) == 1:
        return 0.0
    if region.given > 1 and not measure.conditional:
        raise InputError(
            f"{measure} is not about a given variable; ask for conditional-mutual-information"
        )
    level = min(
        sum(_highest(measure, part) for part in region.parts),
        _highest_by_cells(measure, region),
        measure.level_from_information(lambda: highest_of(MUTUAL_INFORMATION, region)),
    )
    return measure.amount(level * (1.0 + OUTWARD))


def _highest(measure: Measure, region: Region) -> float:
    """An upper bound of what the measure compares with its level."""
    level = measure.largest_level(region)
    if region.people.size <= MOST_GROUPS:
        level = min(level, _highest_by_corners(measure, region))
    return level if region.odds is None else min(level, _highest_by_odds(measure, region))


def _highest_by_odds(measure: Measure, region: Region) -> float:
    assert region.odds is not None
    between = np.array([min(region.odds[0, 0], 0.0), max(region.odds[0, 1], 0.0)])
    w_low, w_high, v_low, v_high = region.along_odds(between)
    if not w_low.size:
        return math.inf  # odds and box have no law in common, which the other bounds may answer
    # [4, 2, k]
    corners = np.array([np.stack(pair) for pair in product((w_low, w_high), (v_low, v_high))])
    first = corners.transpose(0, 2, 1).reshape(-1, 2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = [measure.rates_ceiling(rates, region) for rates in (first, 1.0 - first)]
    return float(
        np.max(values[0] + values[1] if measure.scope is Scope.TOTAL else np.maximum(*values))
    )


def _highest_by_corners(measure: Measure, region: Region) -> float:
    corners = [
        np.array(list(product(*zip(low, high, strict=True))))
        for low, high in zip(region.low, region.high, strict=True)
    ]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = [measure.rates_ceiling(rates, region) for rates in corners]
    if measure.scope is not Scope.TOTAL:
        return float(max(value.max() for value in values))
    if not all(np.isfinite(value).all() for value in values):
        return math.inf
    multipliers = _proposed(corners, values)
    worst = [
        (value - rates @ multipliers).max() for rates, value in zip(corners, values, strict=True)
    ]
    plain = float(sum(value.max() for value in values))
    return min(plain, float(multipliers.sum() + sum(worst)))


def _proposed(corners: list[Array], values: list[Array]) -> Array:
    """Multipliers λ [n] that make the bound least, up to the tolerance of a linear program."""
    n = corners[0].shape[1]
    m = len(corners)
    unit = max(float(value.max()) for value in values)
    if unit <= 0.0 or sum(map(len, corners)) > _FEW_ROWS:
        return np.zeros(n)
    from scipy.optimize import linprog

    rows = [
        np.hstack([-rates, -np.tile(np.eye(m)[i], (len(rates), 1))])
        for i, rates in enumerate(corners)
    ]
    run: Any = linprog
    found = run(
        np.ones(n + m),
        np.vstack(rows),
        -np.concatenate(values) / unit,
        bounds=[(None, None)] * (n + m),
    ).x
    return np.zeros(n) if found is None else np.asarray(unit * found[:n])


def _highest_by_cells(measure: Measure, region: Region) -> float:
    """The bound by cells, for the θ that makes it least; about a law of Ŷ for each given value."""
    from scipy.optimize import minimize_scalar
    from scipy.special import kl_div

    m = len(region.rates)
    # Positive: any law will do.
    laws = [
        (each.rates @ each.people + 0.5) / (each.people.sum() + 0.5 * m) for each in region.parts
    ]
    law = np.repeat(np.array(laws).T, region.people.size // region.given, axis=1)
    cells = measure.cells(law, region)
    if cells is None or math.isinf(region.radius):
        return math.inf

    def bound(exponent: float) -> float:
        weight = math.exp(exponent) * region.people
        pull = weight * region.rates

        def rising(w: Array) -> NDArray[np.bool_]:
            return np.asarray(cells.slope(w) + pull / w > weight)

        def gain(w: Array) -> Array:
            far = np.where(weight > 0.0, weight * kl_div(region.rates, w), 0.0)
            return np.asarray(cells.value(w) - far)

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            top = np.maximum(np.minimum(cells.turn(pull), region.high), region.low)
            inner = bisected(rising, region.low, top)[0]
            best = np.maximum(gain(inner), gain(region.high))
        value = float(math.exp(exponent) * region.radius + best.sum())
        return math.inf if math.isnan(value) else value

    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.maximum(cells.value(region.low), cells.value(region.high)).sum()  # θ = 0
    centre = -math.log(region.people.sum())
    found = minimize_scalar(
        bound, bounds=(centre - 6.0, centre + 12.0), method="bounded", options={"xatol": 1e-2}
    )
    return float(np.fmin(alone, found.fun))
