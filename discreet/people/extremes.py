"""The least and the largest leakage of all laws of (X, Ŷ) in a region, by every measure of
`discreet.measures`.

For fixed shares π a measure is Σ_i g(u_i), u_ij = π_j W_ij, with g convex, or the largest value of
one guess. Upward three bounds are taken, each valid for every π of the region:

- corners: let b(W_i) ≥ g(u_i) for all these π, b convex. Whatever the numbers λ_j, as the rates of
  a group add up to one, Σ_i b(W_i) ≤ Σ_j λ_j + Σ_i max over the corners of the box of (b(W_i) −
  λ·W_i). A linear program proposes the λ. A measure of single guesses has the largest corner of any
  guess. Where the ratio of odds is limited, small boxes cover the region, and the sum over guesses,
  which is convex, is largest at a corner of one of them.
- cells: g is at most a sum of convex functions f_ij of single rates, those about a fixed law of Ŷ.
  With θ ≥ 0 for the ball, Σ f_ij(W_ij) ≤ θ r + Σ_ij max over the interval of (f_ij(w) − θ N_j (Ŵ_ij
  log(Ŵ_ij/w) + w − Ŵ_ij)).
- rates: what a guess adds to one of the other measures is the largest of functions that grow or
  fall with each rate. Such a function is largest where each rate is at one end of its interval, so
  n corners do in the place of 2ⁿ. Total variation is also at most √(I/2) (Pinsker). KL(posterior ‖
  π) is at most the log of the lift, and whatever the number c, with s = π·W_i, s KL(posterior ‖ π)
  ≤ Σ_j π_j (W_ij log(W_ij/c) − W_ij + c), as the two differ by s log(s/c) − s + c ≥ 0.
- what no law exceeds.

Downward g lies above its tangents, whose least value over box and simplex is found by filling up
the cheapest rates. Where the ratio of odds is limited, processing the guess makes it the least
informative corner of a small box.

Shares: with Π = Σ_j high_j, π⁺ = high/Π and s⁺ = π⁺·W_i, every π of the region has π ≤ Π π⁺ and, as
the entries of π − π⁺ add up to 0, |π·W_i − s⁺| ≤ e = Σ_j h_j |W_ij − s⁺|, h_j the largest |π_j −
π⁺_j|. Mutual information and Sibson's are least sums of nonnegative terms that are linear in π, so
they grow by the factor Π at most.

Information given another variable is a sum over its values, each with the shares of its groups
among all people.

Source: docs/theory.md, section 23.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.measures.chi_square import ChiSquare
from discreet.measures.each_guess import (
    LocalDifferentialPrivacy,
    MaxLift,
    ParityDifference,
    PointwiseInformation,
)
from discreet.measures.g_leakage import BestAction, GLeakage, MinEntropyLeakage
from discreet.measures.maximal_leakage import MaximalLeakage
from discreet.measures.measure import Measure, Scope
from discreet.measures.mutual_information import MUTUAL_INFORMATION, MutualInformation
from discreet.measures.sibson import Sibson
from discreet.measures.total_variation import TotalVariation
from discreet.numerics.double_double import Array
from discreet.people.region import Region
from discreet.problems.roots import bisected

MOST_GROUPS = 14
"""So many groups have 2^14 corners; with more the bound by corners is left out."""

_FEW_ROWS = 4096  # of the linear program for λ; with more, λ = 0
# Of an interval of rates: the limit of an independent guess is 1 % larger than with infinitely many
_PIECES = 256
_CENTRES = 33  # numbers c that are tried
_OUTWARD = 1e-9  # relative: far above what rounding changes, far below what a person changes
# The same of terms that cancel, which are powers or logarithms of ratios of rates.
_ROUNDING = 1e-13


def leakage_of(measure: Measure, rates: Array, shares: Array, given: int = 1) -> float:
    """The leakage of the law with rates W [m, n · given] and shares π, the groups of each given
    value one after another.
    """
    if measure.conditional:
        n = shares.size // given
        parts = [
            slice(k * n, (k + 1) * n) for k in range(given) if shares[k * n : (k + 1) * n].any()
        ]
        masses = [float(shares[own].sum()) for own in parts]
        return sum(
            mass * leakage_of(MUTUAL_INFORMATION, rates[:, own], shares[own] / mass)
            for own, mass in zip(parts, masses, strict=True)
        )
    seen = shares > 0
    measure = measure.on(np.flatnonzero(seen), seen.size)
    rates = rates[:, seen]
    shares = shares[seen]
    values = _values(measure, rates, shares)
    return measure.amount(float(values.sum() if measure.scope is Scope.TOTAL else values.max()))


def limits_of(measure: Measure, region: Region) -> tuple[float, float]:
    """The least and the largest leakage in the region; the true law is among those, with its
    confidence.

    The region of a conditional measure has the groups of each given value, one value after another.
    """
    highest = highest_of(measure, region)
    if min(len(region.rates), region.people.size // region.given) == 1:
        return 0.0, 0.0
    inner = MUTUAL_INFORMATION if measure.conditional else measure
    return float(sum(_lowest(inner, part) for part in _parts(region))), highest


def highest_of(measure: Measure, region: Region) -> float:
    """The largest leakage alone, of all laws whose odds ratios lie between 1 and one that the
    region allows.
    """
    m = len(region.rates)
    n = region.people.size // region.given
    measure.on(np.arange(n), n)
    if m == 1 or n == 1:
        return 0.0
    if measure.conditional:
        measure = MUTUAL_INFORMATION
    elif region.given > 1:
        raise InputError(
            f"{measure} is not about a given variable; ask for conditional-mutual-information"
        )
    level = sum(_highest(measure, part, _Shares.of(part)) for part in _parts(region))
    if isinstance(measure, _BY_CELLS):
        level = min(level, _highest_by_cells(measure, region))
    return measure.amount(level * (1.0 + _OUTWARD))


def _parts(region: Region) -> list[Region]:
    return [region.part(value) for value in range(region.given)]


def _values(measure: Measure, rates: Array, shares: Array) -> Array:
    """What each row of rates [k, n] contributes: g, or G for a measure of each posterior."""
    mass = rates @ shares
    x = np.divide(rates, mass[:, None], out=np.ones_like(rates), where=mass[:, None] > 0) - 1.0
    with np.errstate(over="ignore"):
        value = measure.excess(x, shares)
    return np.asarray(
        value if measure.scope is Scope.POSTERIOR else mass * np.where(mass > 0, value, 0.0)
    )


# -- upward
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shares:
    """What the shares of the groups may be: low ≤ π ≤ high [n]; Π, π⁺ and h of the text above."""

    low: Array
    high: Array
    total: float
    top: Array
    half: Array

    @classmethod
    def of(cls, region: Region) -> _Shares:
        low = region.share_low
        high = region.share_high
        total = float(high.sum())
        return cls(
            low, high, total, high / total, np.maximum(high / total - low, high - high / total)
        )


def _highest(measure: Measure, region: Region, shares: _Shares) -> float:
    """An upper bound of what the measure compares with its level."""
    m, n = region.rates.shape
    # A value of the given variable has only its own share of the people.
    known = measure.largest_level(min(m, n), float(shares.low.min())) * min(1.0, shares.total)
    level = min(known, _highest_by_rates(measure, region, shares))
    if n <= MOST_GROUPS and not isinstance(measure, _BY_RATES):
        level = min(level, _highest_by_corners(measure, region, shares))
    return level if region.odds is None else min(level, _highest_by_odds(measure, region, shares))


def _along_odds(region: Region, odds: Array) -> tuple[Array, Array, Array, Array]:
    """Boxes that cover the rates (w, v) of the first guess in two groups: least and largest w,
    least and largest v [k].

    The interval of w is cut into pieces. With the ratio r of the odds of w and v it is v = w/(w +
    (1 − w) r), which rises with w and falls with r.
    """
    w = np.linspace(region.low[0, 0], region.high[0, 0], _PIECES + 1)
    (least, most) = odds
    (lowest, highest) = (region.low[0, 1], region.high[0, 1])
    with np.errstate(over="ignore"):
        low = (
            w[:-1] / (w[:-1] + (1.0 - w[:-1]) * np.exp(most))
            if most < np.inf
            else np.zeros(_PIECES)
        )
        high = (
            w[1:] / (w[1:] + (1.0 - w[1:]) * np.exp(least)) if least > -np.inf else np.ones(_PIECES)
        )
    low = np.maximum(low, lowest)
    high = np.minimum(high, highest)
    met = low <= high
    return w[:-1][met], w[1:][met], low[met], high[met]


def _highest_by_odds(measure: Measure, region: Region, shares: _Shares) -> float:
    assert region.odds is not None
    between = np.array([min(region.odds[0, 0], 0.0), max(region.odds[0, 1], 0.0)])
    w_low, w_high, v_low, v_high = _along_odds(region, between)
    if not w_low.size:
        return math.inf  # odds and box have no law in common, which the other bounds may answer
    # [4, 2, k]
    corners = np.array([np.stack(pair) for pair in product((w_low, w_high), (v_low, v_high))])
    first = corners.transpose(0, 2, 1).reshape(-1, 2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = [_bound(measure, rates, shares, region) for rates in (first, 1.0 - first)]
    return float(
        np.max(values[0] + values[1] if measure.scope is Scope.TOTAL else np.maximum(*values))
    )


def _highest_by_corners(measure: Measure, region: Region, shares: _Shares) -> float:
    corners = [
        np.array(list(product(*zip(low, high, strict=True))))
        for low, high in zip(region.low, region.high, strict=True)
    ]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = [_bound(measure, rates, shares, region) for rates in corners]
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


def _bound(measure: Measure, rates: Array, shares: _Shares, region: Region) -> Array:
    """b(W_i) [k] at rates [k, n] of one guess: convex or, for single guesses, quasi-convex; no less
    than g for any π.
    """
    # Functions of the rates alone.
    if isinstance(measure, MaximalLeakage | ParityDifference | LocalDifferentialPrivacy):
        return _values(measure, rates, shares.top)
    if isinstance(measure, MutualInformation | Sibson):
        return shares.total * _values(measure, rates, shares.top)
    if isinstance(measure, MinEntropyLeakage):
        likeliest = int(region.shares.argmax())
        # Of π_j to the largest share, at most.
        ratio = np.minimum(shares.high / shares.low[likeliest], 1.0)
        ratio[likeliest] = 1.0
        return np.asarray((rates * ratio).max(axis=1) - rates[:, likeliest])
    if isinstance(measure, GLeakage):
        return np.asarray(np.maximum(rates @ _worth(measure, region, shares).T, 0.0).max(axis=1))
    mass = (rates @ shares.top)[:, None]
    apart = np.abs(rates - mass)
    if isinstance(measure, TotalVariation):
        return np.asarray(0.5 * apart @ (shares.high + shares.total * shares.half))
    least = mass[:, 0] - apart @ shares.half  # of π·W_i
    if isinstance(measure, ChiSquare):
        value = apart * apart @ shares.high / least
    elif isinstance(measure, MaxLift):
        value = rates.max(axis=1) / least - 1.0
    elif isinstance(measure, PointwiseInformation):
        value = shares.total * mass[:, 0] * _values(measure, rates, shares.top) / least
    else:
        raise InputError(f"limits of {measure} are not known; use one of discreet.measures")
    return np.where(mass[:, 0] == 0.0, 0.0, np.where(least > 0.0, value, np.inf))


def _highest_by_rates(measure: Measure, region: Region, shares: _Shares) -> float:
    """The bound by rates: what the measure is compared with its level at the ends of each rate's
    interval.
    """
    low = region.low
    high = region.high
    if isinstance(measure, _BY_CELLS):
        return math.inf
    if isinstance(measure, MaximalLeakage):  # Σ_i max_j W_ij − 1
        return float(high.max(axis=1).sum()) - 1.0
    if isinstance(measure, MinEntropyLeakage):  # the same of W_ij π_j/max π
        likeliest = int(region.shares.argmax())
        with np.errstate(divide="ignore"):
            ratio = np.minimum(shares.high / shares.low[likeliest], 1.0)
        return float((ratio * high).max(axis=1).sum()) - 1.0
    if isinstance(measure, GLeakage):
        worth = _worth(measure, region, shares)[:, None, :]
        return float(
            np.maximum(np.maximum(worth * low, worth * high).sum(axis=2).max(axis=0), 0.0).sum()
        )
    # Of each guess what is above its mass, as much as is below.
    if isinstance(measure, TotalVariation):
        least = _least_means(low, shares)[:, None]
        most = -_least_means(-high, shares)[:, None]
        above, below = (
            -_least_means(-np.maximum(each, 0.0), shares) for each in (high - least, most - low)
        )
        return min(
            float(np.minimum(above, below).sum()),
            math.sqrt(0.5 * highest_of(MUTUAL_INFORMATION, region)),
        )
    if not isinstance(measure, (*_BY_RATES, PointwiseInformation)):
        return math.inf
    return max(_of_guess(measure, *rates, shares, region) for rates in zip(low, high, strict=True))


def _of_guess(measure: Measure, low: Array, high: Array, shares: _Shares, region: Region) -> float:
    """The same for one guess [n] and a measure of single guesses; corners have one rate at its
    largest, the others not.
    """
    from scipy.special import kl_div

    corners = low + np.diag(high - low)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if isinstance(measure, ParityDifference | LocalDifferentialPrivacy):
            return float(_bound(measure, corners, shares, region).max())
        lift = float(
            np.nan_to_num(high / _least_means(corners, shares), nan=1.0, posinf=math.inf).max()
        )
        if isinstance(measure, MaxLift):
            return lift - 1.0
        least = float(_least_means(low, shares))
        most = -float(_least_means(-high, shares))
        if least == 0.0:
            return math.log(lift)
        c = np.linspace(least, most, _CENTRES)[:, None]
        about = -_least_means(-np.maximum(kl_div(low, c), kl_div(high, c)), shares)
    return min(math.log(lift), float(about.min()) / least)


def _least_means(values: Array, shares: _Shares) -> Array:
    """The least Σ_j π_j v_j [...] of values [..., n] for what the shares may be: the smallest are
    weighed most.
    """
    order = np.argsort(values, axis=-1, kind="stable")
    least = shares.low[order]
    room = (shares.high - shares.low)[order]
    left = 1.0 - shares.low.sum() - (np.cumsum(room, axis=-1) - room)
    return np.asarray(
        (np.take_along_axis(values, order, axis=-1) * (least + np.clip(left, 0.0, room))).sum(
            axis=-1
        )
    )


def _worth(measure: GLeakage, region: Region, shares: _Shares) -> Array:
    """What each action gains by a rate beyond the best action without a guess, relative to that, at
    most [actions, n].
    """
    gain = np.array(measure.gain)
    best = int((gain @ region.shares).argmax())
    more = gain - gain[best]
    return np.asarray(np.maximum(more * shares.low, more * shares.high) / (gain[best] @ shares.low))


_BY_RATES = (ParityDifference, LocalDifferentialPrivacy, MaxLift)  # for which nothing is lost
_BY_CELLS = (MutualInformation, Sibson, ChiSquare)


def _highest_by_cells(measure: Measure, region: Region) -> float:
    """The bound by cells, for the θ that makes it least; about a law of Ŷ for each given value."""
    from scipy.optimize import minimize_scalar

    if math.isinf(region.radius):
        return math.inf
    m = len(region.rates)
    parts = _parts(region)
    n = region.people.size // region.given
    # Positive: any law will do.
    laws = [(each.rates @ each.people + 0.5) / (each.people.sum() + 0.5 * m) for each in parts]
    cell, slope, turn = _cell_functions(measure, np.repeat(np.array(laws).T, n, axis=1), region)

    def bound(exponent: float) -> float:
        weight = math.exp(exponent) * region.people
        pull = weight * region.rates

        def rising(w: Array) -> NDArray[np.bool_]:
            return np.asarray(slope(w) + pull / w > weight)

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            top = np.maximum(np.minimum(turn(pull), region.high), region.low)
            inner = bisected(rising, region.low, top)[0]
            best = np.maximum(
                *(cell(w) - _distance(region.rates, w, weight) for w in (inner, region.high))
            )
        value = float(math.exp(exponent) * region.radius + best.sum())
        return math.inf if math.isnan(value) else value

    with np.errstate(divide="ignore", invalid="ignore"):
        alone = float(np.maximum(cell(region.low), cell(region.high)).sum())  # θ = 0
    centre = -math.log(region.people.sum())
    found = minimize_scalar(
        bound, bounds=(centre - 6.0, centre + 12.0), method="bounded", options={"xatol": 1e-2}
    )
    return float(found.fun) if math.isnan(alone) else min(alone, float(found.fun))


def _distance(rates: Array, w: Array, weight: Array) -> Array:
    """θ N_j (Ŵ log(Ŵ/w) + w − Ŵ)."""
    from scipy.special import kl_div

    return np.asarray(np.where(weight > 0.0, weight * kl_div(rates, w), 0.0))


_Function = Callable[[Array], Array]


def _cell_functions(
    measure: Measure, law: Array, region: Region
) -> tuple[_Function, _Function, _Function]:
    """f, f' and, for a pull c, the w at which f'(w) + c/w is least; law q [m, n], largest shares a.

    Mutual information: a (w log(w/q) − w + q). Sibson: a ((w^α q^{1−α} − q)/α − w + q). Chi-square:
    a (w − q)²/s, where s is the least mass of the guess.
    """
    from scipy.special import kl_div

    most = region.share_high
    if isinstance(measure, Sibson):
        order = measure.alpha
        return (
            lambda w: most * (((w / law) ** order - 1.0) * law / order - w + law),
            lambda w: most * ((w / law) ** (order - 1.0) - 1.0),
            lambda c: (c / most * law ** (order - 1.0) / (order - 1.0)) ** (1.0 / order),
        )
    if isinstance(measure, ChiSquare):
        mass = (region.low @ region.share_low)[:, None]
        return (
            lambda w: most * (w - law) ** 2 / mass,
            lambda w: 2.0 * most * (w - law) / mass,
            lambda c: np.sqrt(0.5 * c * mass / most),
        )
    return lambda w: most * kl_div(w, law), lambda w: most * np.log(w / law), lambda c: c / most


# -- downward
# --------------------------------------------------------------------------------------------------


def _lowest(measure: Measure, region: Region) -> float:
    """A lower bound of the leakage. What has none of its own is bounded by one that it is never
    below.
    """
    low = region.low
    high = region.high
    apart = float((low.max(axis=1) - high.min(axis=1)).max())
    if region.odds is not None:
        apart = max(apart, float(np.ptp(_least_apart(region), axis=1).min()))
    if isinstance(measure, ParityDifference):
        return max(apart, 0.0)
    if isinstance(measure, LocalDifferentialPrivacy):
        ratio = float((low.max(axis=1) / np.maximum(high.min(axis=1), 1e-300)).max())
        if region.odds is not None:
            first = _least_apart(region)
            both = np.stack([first, 1.0 - first])
            ratio = max(
                ratio,
                float((both.max(axis=2) / np.maximum(both.min(axis=2), 1e-300)).max(axis=0).min()),
            )
        return math.log(max(ratio, 1.0)) * (1.0 - _OUTWARD)
    if isinstance(measure, MutualInformation | Sibson | MaximalLeakage):
        return measure.amount(_above_tangents(measure, region))
    if isinstance(measure, BestAction):
        gain = measure.gains(len(region.shares))
        action = ((region.rates * region.shares) @ gain.T).argmax(axis=1)
        reached = max(float((gain[action] * low * region.share_low).sum()), 1e-300)
        return max(0.0, math.log(reached / float((gain @ region.share_high).max())))
    # Sibson's of order 2 is log Σ_ij π_j W_ij²/q_i for the q that makes it least
    if isinstance(measure, ChiSquare):
        return math.expm1(Sibson(2.0).amount(_above_tangents(Sibson(2.0), region)))
    # a guess's deviations above its mean, and the others deviate as much together
    if isinstance(measure, TotalVariation):
        spread = (
            2.0 * max(apart, 0.0) * float(np.prod(region.share_low))
            if len(region.shares) == 2
            else 0.0
        )
        return max(spread, max(_variation(low[i], high[i], region) for i in range(len(low))))
    information = _above_tangents(MUTUAL_INFORMATION, region)
    mass = np.minimum(high @ region.share_high, 1.0)
    lift = float(np.log(np.maximum((low.max(axis=1) / mass).max(), 1.0)))
    return max(information, lift) if isinstance(measure, MaxLift) else information


def _least_apart(region: Region) -> Array:
    """Rates (w, v) of the first guess [k, 2] of which one can be made from any law of the region by
    processing the guess.

    What is processed leaks no more: of a box the corner that is least apart, or any equal rates if
    w and v may be equal.
    """
    assert region.odds is not None
    w_low, w_high, v_low, v_high = _along_odds(region, region.odds[0])
    rates = np.where(
        w_high < v_low, [w_high, v_low], np.where(v_high < w_low, [w_low, v_high], 0.5)
    )
    return np.asarray(rates.T) if rates.size else np.array([[0.5, 0.5]])


def _variation(low: Array, high: Array, region: Region) -> float:
    """The most of 2 π_j (W_j − π·W) over the groups, at least."""
    gap = np.subtract.outer(low, high)
    np.fill_diagonal(gap, 0.0)
    above = np.minimum(gap * region.share_low, gap * region.share_high).sum(axis=1)
    return float((2.0 * region.share_low * above).max())


def _above_tangents(measure: Measure, region: Region) -> float:
    """The largest lower bound from tangents at laws on the way from the table to independence."""
    total = 1.0 if isinstance(measure, MaximalLeakage) else float(region.share_low.sum())
    shares = (
        region.share_low / region.share_low.sum() if region.share_low.sum() > 0.0 else region.shares
    )
    possible = shares > 0.0
    if not possible.any():
        return 0.0
    shares = shares[possible]
    low = region.low[:, possible]
    high = region.high[:, possible]
    rates = region.rates[:, possible]
    best = 0.0
    if region.odds is not None and possible.all():
        first = _least_apart(region)
        # Equal rates leak nothing, and rounding would make a little of it.
        if (first[:, 0] != first[:, 1]).all():
            with np.errstate(divide="ignore", invalid="ignore"):
                best = float(
                    (_values(measure, first, shares) + _values(measure, 1.0 - first, shares)).min()
                )
    flat = (rates @ shares)[:, None]
    for part in np.linspace(0.0, 1.0, 25)[:-1]:
        at = (1.0 - part) * rates + part * flat
        mass = (at @ shares)[:, None]
        x = np.divide(at, mass, out=np.ones_like(at), where=mass > 0.0) - 1.0
        best = max(best, _least_linear(measure.slope(x, shares) * shares, low, high))
    return total * best * (1.0 - _OUTWARD)


def _least_linear(price: Array, low: Array, high: Array) -> float:
    """The least Σ price_ij W_ij over low ≤ W ≤ high with columns that add up to one, less what
    rounding may add to it.

    The cheapest rates are filled up.
    """
    order = np.argsort(price, axis=0, kind="stable")
    price, least, room = (
        np.take_along_axis(each, order, axis=0) for each in (price, low, high - low)
    )
    left = 1.0 - low.sum(axis=0) - (np.cumsum(room, axis=0) - room)
    parts = price * (least + np.minimum(np.maximum(left, 0.0), room))
    return float(parts.sum() - _ROUNDING * (1.0 + np.abs(parts).sum()))
