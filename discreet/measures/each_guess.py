"""Measures of the worst single guess, however rare it is, instead of a sum over guesses.

- `max-lift`: p(x_j given the guess) ≤ e^ε π_j for all j.
- `local-differential-privacy`: p(guess given x_j) ≤ e^ε p(guess given x_k) for all j and k.
- `pointwise-information`: KL(posterior ‖ π) ≤ ε.
- `parity-difference`: p(guess given x_j) − p(guess given x_k) ≤ δ for all j and k (approximate
  demographic parity).

The first three require that the posterior q lies in a convex set around π. A tilt is feasible if
t·q ≤ 0 on that set, so κ(t) = max t·q, and no multiplier is needed. The last has g(u) = max_j
u_j/π_j − min_j u_j/π_j with V = {v : Σ π_j (v_j)₊ ≤ 1, Σ π_j v_j ≤ 0}: a tilt of mean 0 has the
multiplier Σ_j π_j (t_j)₊.

Over intervals of rates and shares, KL(posterior ‖ π) is at most the log of the lift. Moreover, with
s = π·W_i and for every number c > 0, s KL(posterior ‖ π) ≤ Σ_j π_j (W_ij log(W_ij/c) − W_ij + c),
because the two sides differ by s log(s/c) − s + c ≥ 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.measures.maximal_leakage import LargestRatio, peak
from discreet.measures.measure import Contrast, Measure, Scope, ends, largest_candidate, sum_error
from discreet.measures.mutual_information import (
    MUTUAL_INFORMATION,
    Divergence,
    beyond_linear,
    phi_divergence,
)
from discreet.measures.mutual_information import support_ceiling as log_mean_ceiling
from discreet.measures.region import OUTWARD, Region
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import SMALLEST, UNIT

_CENTRES = 33  # number of trial values of c
_STEPS = 33  # number of trial ratios of rates
_FARTHEST = 600.0  # largest trial exponent; its exponential is a double


@final
@dataclass(frozen=True)
class MaxLift(LargestRatio):
    """The budget bounds the largest lift, max_ij log(p(x_j given ŷ_i)/π_j)."""

    name = "max-lift"
    citation = (
        "S. Saeidian, G. Cervia, T. J. Oechtering, M. Skoglund, Pointwise Maximal Leakage, "
        "IEEE TIT 69 (2023)"
    )
    scope = Scope.POSTERIOR
    contrast = Contrast.OTHERS

    def rates_ceiling(self, rates: Array, region: Region) -> Array:
        """Return upper bounds of max_j W_j/s − 1."""
        return np.maximum(region.over_mass(rates.max(axis=1), rates) - 1.0, 0.0)

    def least_leakage(self, region: Region) -> float:
        """Return the larger of two lower bounds: mutual information, and the log of the largest
        rate over the mass.
        """
        mass = np.minimum(region.high @ region.share_high, 1.0)
        lift = float((region.low.max(axis=1) / mass).max())
        return max(MUTUAL_INFORMATION.least_leakage(region), math.log(max(lift, 1.0)))

    def pieces(self, p_x: Array, level: float) -> tuple[Array, ...]:
        """Return the rows of u_j/π_j − (1 + B) s."""
        return (np.eye(p_x.size) / p_x - (1.0 + level),)

    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """Return max {t·q : q ≤ (1 + B) π} = Σ π t + min_λ Σ π ((λ − t)₊ + B (t − λ)₊); the best λ
        is one of the t_j.
        """
        apart = tilt[:, :, None] - tilt[:, None, :]  # [m, j, λ]
        beyond = (
            np.einsum("ijk,j->ik", np.maximum(-apart, 0.0) + level * np.maximum(apart, 0.0), p_x)
        ).min(axis=1)
        return tilt @ p_x + beyond, np.abs(tilt) @ p_x + beyond


@final
@dataclass(frozen=True)
class LocalDifferentialPrivacy(Measure):
    """The budget bounds the log of the ratio of two rates, max_ijk log(p(ŷ_i given x_j)/p(ŷ_i given
    x_k)).
    """

    name = "local-differential-privacy"
    citation = (
        "J. C. Duchi, M. I. Jordan, M. J. Wainwright, Local Privacy and Statistical "
        "Minimax Rates, FOCS 2013"
    )
    scope = Scope.POSTERIOR
    contrast = Contrast.PAIR

    growth = 1.0

    def rates_ceiling(self, rates: Array, region: Region) -> Array:
        """Return the value itself, which depends on the rates only."""
        return self.contributions(rates, region.top)

    def least_leakage(self, region: Region) -> float:
        """Return the log of a lower bound of the ratio of two rates."""
        in_box = _ratio(region.low, region.high)
        guess = in_box.argmax()
        ratio = max(float(in_box[guess]), 1.0)
        most = min(float(_ratio(region.rates, region.rates)[guess]), 1e3 * ratio)
        steps = np.geomspace(ratio, most, _STEPS)
        ratio = max([ratio, *(each for each in steps if region.least_contrast(guess, each) > 0.0)])
        if region.odds is not None:
            first = region.least_apart()
            ratio = max(
                ratio, np.maximum(_ratio(first, first), _ratio(1.0 - first, 1.0 - first)).min()
            )
        return math.log(max(float(ratio), 1.0)) * (1.0 - OUTWARD)

    def excess_ceiling(self, x: Array, reach: Array, p_x: Array) -> Array:
        """Return max r / min r − 1, from the ends of the largest and the least entry; inf if a
        guess excludes a private value.

        It is quasi-convex: not convex, but its level sets are convex.
        """
        low, high = ends(x, reach, p_x)
        largest = np.maximum(high.max(axis=1), 0.0)
        smallest = np.minimum(low.min(axis=1), 0.0)
        some = smallest > -1.0 + 4.0 * UNIT  # otherwise no digit of r is known
        return np.asarray(
            np.divide(largest - smallest, 1.0 + smallest, out=np.full(len(x), np.inf), where=some)
        )

    def slope(self, x: Array, p_x: Array) -> Array:
        """Return e_j/π_j − (r_j/r_k) e_k/π_k for the largest r_j and the least r_k. Its product
        with u is 0, and it is ≤ 0 with any guess whose ratio is smaller.
        """
        ratio = 1.0 + np.minimum(self.excess(x, p_x), 1.0 / UNIT)
        return peak(x, p_x) - ratio[:, None] * peak(-x, p_x)

    def pieces(self, p_x: Array, level: float) -> tuple[Array, ...]:
        """Return the rows of u_j/π_j − (1 + B) u_k/π_k for all j ≠ k."""
        each = np.eye(p_x.size) / p_x
        rows = each[:, None, :] - (1.0 + level) * each[None, :, :]
        return (rows[~np.eye(p_x.size, dtype=np.bool_)],)

    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """Return max of (Σ π t + B Σ_S π t) / (1 + B π(S)) over the sets S of the largest t_j."""
        if np.isinf(level):
            return tilt.max(axis=1), np.zeros(len(tilt))
        order = np.argsort(-tilt, axis=1, kind="stable")
        whole = 1.0 + level * np.cumsum(p_x[order], axis=1)

        def mean_over_sets(values: Array) -> Array:
            inside = np.cumsum(np.take_along_axis(values * p_x, order, axis=1), axis=1)
            return np.asarray(((values @ p_x)[:, None] + level * inside) / whole)

        return largest_candidate(
            mean_over_sets(tilt), mean_over_sets(np.abs(tilt)), sum_error(p_x.size)
        )


def _ratio(low: Array, high: Array) -> Array:
    """Return a lower bound of the largest ratio of two rates of the same guess [k], for intervals
    [k, n] of the rates.
    """
    return np.asarray(low.max(axis=1) / np.maximum(high.min(axis=1), 1e-300))


@final
@dataclass(frozen=True)
class PointwiseInformation(Divergence):
    """The budget bounds the divergence of the worst guess, max_i KL(p(x given ŷ_i) ‖ p(x))."""

    name = "pointwise-information"
    citation = (
        "M. R. DeWeese, M. Meister, How to measure the information gained from one symbol, "
        "Network 10 (1999)"
    )
    scope = Scope.POSTERIOR

    def rates_ceiling(self, rates: Array, region: Region) -> Array:
        """Return Π s KL(posterior ‖ π) under π⁺, divided by the least mass."""
        mass = rates @ region.top
        value = mass * self.contributions(rates, region.top)
        return region.over_mass(region.total * value, rates)

    def largest_level(self, region: Region) -> float:
        """Return the largest bound over guesses: the smaller of the log of the lift and the minimum
        over c of the inequality in the file head.
        """
        from scipy.special import kl_div

        lift = MaxLift().rates_ceiling(region.single_ends(), region).reshape(len(region.low), -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            smallest_mean = region.least_mean(region.low)
            c = np.linspace(smallest_mean, region.largest_mean(region.high), _CENTRES)[:, :, None]
            about = np.maximum(kl_div(region.low, c), kl_div(region.high, c))
            each = region.largest_mean(about).min(axis=0) / smallest_mean
        return float(
            np.minimum(
                np.log1p(lift.max(axis=1)), np.where(smallest_mean > 0.0, each, np.inf)
            ).max()
        )

    def least_leakage(self, region: Region) -> float:
        """Return the lower bound of mutual information, which is a mean over guesses of this
        measure.
        """
        return MUTUAL_INFORMATION.least_leakage(region)

    def slope(self, x: Array, p_x: Array) -> Array:
        """Return log r − KL, whose product with u is 0."""
        return super().slope(x, p_x) - self.excess(x, p_x)[:, None]

    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """Return max {t·q : KL(q ‖ π) ≤ B} = min_ν ν log Σ π e^{t/ν} + ν B; every ν gives an upper
        bound.
        """
        value = tilt.max(axis=1)
        size = np.abs(tilt).max(axis=1)
        for i in np.flatnonzero(value > _FARTHEST * SMALLEST):
            row = tilt[i : i + 1]
            high = 700.0
            low = float(np.log(value[i] / size[i] / _FARTHEST))
            for _ in range(60):  # KL of π e^{t/ν} decreases as ν grows
                middle = 0.5 * (low + high)
                exponents = row[0] / (size[i] * np.exp(middle))
                low, high = (
                    (middle, high) if _tilted_divergence(exponents, p_x) > level else (low, middle)
                )
            nu = float(size[i] * np.exp(high))
            value[i] = min(
                value[i], float(log_mean_ceiling(row, p_x, nu)[0]) + nu * level * (1.0 + 2.0 * UNIT)
            )
        return value, np.abs(value)


def _tilted_divergence(exponents: Array, p_x: Array) -> float:
    """Return KL(q ‖ π) for q ∝ π e^p and exponents p ≤ `_FARTHEST` of mean 0, as a sum of terms ≥
    0.
    """
    growth = np.array([beyond_linear(each) for each in exponents.tolist()]) @ p_x + exponents @ p_x
    return float(phi_divergence(np.expm1(exponents - np.log1p(growth))) @ p_x)


@dataclass(frozen=True)
class ParityDifference(Measure):
    """The budget bounds the difference of two rates, max_ijk |p(ŷ_i given x_j) − p(ŷ_i given
    x_k)|.
    """

    name = "parity-difference"
    unit = ""
    citation = "A. Agarwal et al., A Reductions Approach to Fair Classification, ICML 2018"
    scope = Scope.SHARE
    contrast = Contrast.DIFFERENCE

    def rates_ceiling(self, rates: Array, region: Region) -> Array:
        """Return the value itself, which depends on the rates only."""
        return self.contributions(rates, region.top)

    def least_leakage(self, region: Region) -> float:
        """Return a lower bound of the largest difference of two rates of one guess."""
        return region.apart

    def excess_ceiling(self, x: Array, reach: Array, p_x: Array) -> Array:
        """Return max_j x_j − min_j x_j, from the ends of the largest and the least entry."""
        low, high = ends(x, reach, p_x)
        return np.asarray(np.maximum(high.max(axis=1), 0.0) - np.minimum(low.min(axis=1), 0.0))

    def slope(self, x: Array, p_x: Array) -> Array:
        """Return e_j/π_j − e_k/π_k for the largest and the least entry."""
        return peak(x, p_x) - peak(-x, p_x)

    def pieces(self, p_x: Array, level: float) -> tuple[Array, ...]:
        """Return the rows of u_j/π_j − s, and the rows of s − u_k/π_k."""
        rows = np.eye(p_x.size) / p_x - 1.0
        return rows, -rows

    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """Return the mean Σ_j π_j t_j."""
        return tilt @ p_x, np.abs(tilt) @ p_x

    def price(self, tilt: Array, p_x: Array, multiplier: float) -> float:
        """Return Σ_ij π_j (t_ij)₊, rounded upward."""
        positive = np.maximum(tilt, 0.0)
        underflow = 4.0 * SMALLEST * int(np.count_nonzero(positive))
        return (
            float((positive @ p_x).sum() / p_x.sum()) * (1.0 + (4.0 * tilt.size + 16.0) * UNIT)
            + underflow
        )
