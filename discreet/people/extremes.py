"""The least and the largest leakage of all laws of (X, Ŷ) in a region, by every measure of
`discreet.measures`.

For fixed shares π a measure is Σ_i g(u_i), u_ij = π_j W_ij, with g convex, or the largest value of
one guess. Upward the least of these bounds is taken, each valid for every π of the region:

- corners: let b(W_i) ≥ g(u_i) for all these π, b convex (`Measure.rates_ceiling`). Whatever the
  numbers λ_j, as the rates of a group add up to one, Σ_i b(W_i) ≤ Σ_j λ_j + Σ_i max over the
  corners of the box of (b(W_i) − λ·W_i). A linear program proposes the λ. A measure of single
  guesses has the largest corner of any guess. Where the ratio of odds is limited, small boxes cover
  the region, and the sum over guesses, which is convex, is largest at a corner of one of them.
- ratios: g is at most q Σ_j ψ_j(w_j/q − 1) with convex ψ_j, where q is a mixture of the rates w of
  a guess (`Measure.ratio_terms`). A multiplier of what evidence allows makes the bound a sum over
  guesses of functions of q and of the ratios w_j/q, which are linear in q.
- what the measure itself knows: from each interval, so that any number of groups will do
  (`Measure.largest_level`), or from mutual information (`Measure.level_from_information`).

Downward each measure has its own bound (`Measure.least_leakage`). Information given another
variable is a sum over its values, each with the shares of its groups among all people; the
difference of equalized odds is the largest difference of parity given one of them.

Source: docs/theory.md, section 23.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from discreet.errors import InputError
from discreet.measures.measure import Measure, RatioTerms, Scope
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.measures.region import OUTWARD, Region
from discreet.numerics.double_double import Array
from discreet.problems.roots import bisect

MOST_GROUPS = 14
"""So many groups have 2^14 corners; with more the bound by corners is left out."""

_INTERVALS = 40  # of the mixture of a guess's rates
_LEAST_RATIO = -1.0 + 2.0**-53  # of w/q − 1
_FEW_ROWS = 4096  # of the linear program for λ; with more, λ = 0


def leakage_of(measure: Measure, rates: Array, shares: Array, given: int = 1) -> float:
    """The leakage of the law with rates W [m, n · given] and shares π, the groups of each given
    value one after another.
    """
    levels = [0.0]
    for own in np.split(np.arange(shares.size), given):
        seen = own[shares[own] > 0]
        if not seen.size:
            continue
        part = measure.on(seen - own[0], own.size)
        mass = float(shares[seen].sum()) if measure.conditional else 1.0
        values = part.contributions(rates[:, seen], shares[seen] / mass)
        single = part.scope is not Scope.TOTAL
        levels.append(float(values.max()) if single else mass * float(values.sum()))
    return measure.amount(_join_given(measure, levels))


def _join_given(measure: Measure, levels: list[float]) -> float:
    """What the levels about all given values come to: a measure of single guesses is the largest of
    them.
    """
    return sum(levels) if measure.scope is Scope.TOTAL else max(levels)


def limits_of(measure: Measure, region: Region) -> tuple[float, float]:
    """The least and the largest leakage in the region; the true law is among those, with its
    confidence.

    The region of a conditional measure has the groups of each given value, one value after another.
    """
    highest = highest_of(measure, region)
    if not highest:
        return 0.0, 0.0
    return lowest_of(measure, region), highest


def lowest_of(measure: Measure, region: Region) -> float:
    """Return only the least leakage over the region."""
    return _join_given(measure, [float(measure.least_leakage(part)) for part in region.parts])


def highest_of(measure: Measure, region: Region) -> float:
    """Return only the largest leakage, of all laws whose odds ratios lie between 1 and one that the
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
        _join_given(measure, [_highest(measure, part) for part in region.parts]),
        _highest_by_ratios(measure, region),
        measure.level_from_information(lambda: highest_of(MUTUAL_INFORMATION, region)),
    )
    return measure.amount(level * (1.0 + OUTWARD))


def _highest(measure: Measure, region: Region) -> float:
    """An upper bound of what the measure compares with its level."""
    bound = math.inf
    if region.odds is not None:
        bound = _highest_by_odds(measure, region)
    if math.isinf(bound) and region.people.size <= MOST_GROUPS:  # never below that by odds
        bound = _highest_by_corners(measure, region)
    return min(bound, measure.largest_level(region))


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
    multipliers = _propose_multipliers(corners, values)
    worst = [
        (value - rates @ multipliers).max() for rates, value in zip(corners, values, strict=True)
    ]
    plain = float(sum(value.max() for value in values))
    return min(plain, float(multipliers.sum() + sum(worst)))


def _propose_multipliers(corners: list[Array], values: list[Array]) -> Array:
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
    solution = run(
        np.ones(n + m),
        np.vstack(rows),
        -np.concatenate(values) / unit,
        bounds=[(None, None)] * (n + m),
    ).x
    return np.zeros(n) if solution is None else np.asarray(unit * solution[:n])


def _highest_by_ratios(measure: Measure, region: Region) -> float:
    """The lesser of the bounds by ball and by evidence, each for the multiplier θ that makes it
    least.
    """
    parts = [(measure.ratio_terms(part), part) for part in region.parts]

    def least(limit: float, largest_sum: Callable[[RatioTerms, Region, float], float]) -> float:
        from scipy.optimize import minimize_scalar

        def bound(exponent: float) -> float:
            multiplier = math.exp(exponent)
            level = multiplier * limit
            for terms, part in parts:
                if terms is not None:
                    level += largest_sum(terms, part, multiplier)
            return math.inf if math.isnan(level) else level

        if math.isinf(limit) or any(terms is None for terms, _ in parts):
            return math.inf
        centre = -math.log(max(region.people.sum(), 1.0))
        optimum = minimize_scalar(
            bound, bounds=(centre - 2.0, centre + 12.0), method="bounded", options={"xatol": 5e-2}
        )
        return float(optimum.fun)

    return min(least(region.radius, _largest_in_ball), least(region.evidence, _largest_by_evidence))


def _largest_in_ball(terms: RatioTerms, region: Region, multiplier: float) -> float:
    """The largest Σ_ij f_ij(W_ij) over the box, less what the ball has of the table, about a fixed
    mixture of positive rates.
    """
    scale = multiplier * region.people
    mixture = (region.rates @ region.people + 0.5) / (region.people.sum() + 0.5 * len(region.low))
    tilt = np.zeros_like(region.low)
    ratios = [each / mixture[:, None] - 1.0 for each in (region.low, region.high)]
    sums = _largest_terms(terms, region.rates, 1.0, scale, tilt, mixture, *ratios)
    return float(sums.sum() - scale @ rel_entr(region.rates, mixture[:, None]).sum(axis=0))


def _largest_by_evidence(terms: RatioTerms, region: Region, multiplier: float) -> float:
    """The largest Σ_ij f_ij(W_ij) over box and simplex, about the mixture q of the rates.

    The mixtures q_i are in intervals, and f is linear in q where x = w/q − 1 is fixed. So its
    largest value over x is convex in q, and largest at an end. Σ_j ρ_j x_j = 0, so any multiple of
    it may be added.
    """
    scale = multiplier * region.people
    weights = region.weights
    mean = region.rates @ weights
    spread = np.linspace(-1.0, 1.0, _INTERVALS + 1)[:, None]
    spread = spread * np.abs(spread)  # The largest value is near the mean: short intervals there.
    reach = np.where(spread < 0.0, mean - region.low @ weights, region.high @ weights - mean)
    edges = np.maximum(mean + spread * reach, 0.0)
    first, last = edges[:-1], edges[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = region.power * scale.sum() * (1.0 - 2.0 * mean / (first + last))
        tilt = np.where(last > 0.0, slope, 0.0)[..., None] * weights
        least = np.where(region.low > 0.0, region.low / last[..., None], 0.0) - 1.0
        most = np.fmin(region.high / first[..., None], 1.0 / weights) - 1.0
    sums = [
        _largest_terms(terms, region.rates, region.power, scale, tilt, mixture, least, most)
        for mixture in (first, last)
    ]
    return float(np.maximum(*sums).max(axis=0).sum())


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _largest_terms(
    terms: RatioTerms,
    rates: Array,
    power: float,
    scale: Array,
    tilt: Array,
    mixture: Array,
    least: Array,
    most: Array,
) -> Array:
    """The largest Σ_j f_ij(x_j) [..., m] of x between least and most [..., m, n], where

    f_ij(x) = q_i (ψ_j(x) + B_j ((1 + x)^{1 − a} − (1 + x)) + tilt_ij x) + a B_j Ŵ_ij log(1 + x).

    It is concave up to some x, and convex beyond. B is the scale [n], a the power, q the mixture
    [..., m].
    """
    q = mixture[..., None]
    pull = power * scale * rates
    least = np.maximum(least, _LEAST_RATIO)

    def bends_down(x: Array) -> NDArray[np.bool_]:
        drawn = scale * power * (1.0 - power) * (1.0 + x) ** (1.0 - power)
        return np.asarray(q * (terms.bend(x) * (1.0 + x) ** 2 - drawn) < pull)

    def rises(x: Array) -> NDArray[np.bool_]:
        drawn = scale * ((1.0 - power) * (1.0 + x) ** -power - 1.0)
        return np.asarray(q * (terms.slope(x) + drawn + tilt) + pull / (1.0 + x) > 0.0)

    def value(x: Array) -> Array:
        drawn = scale * (1.0 + x) * np.expm1(-power * np.log1p(x))
        return np.asarray(q * (terms.value(x) + drawn + tilt * x) + pull * np.log1p(x))

    turn = bisect(bends_down, least, most)[1]
    top = bisect(rises, least, turn)[0]
    return np.asarray(np.maximum(value(top), value(most)).sum(axis=-1))
