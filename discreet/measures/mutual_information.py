"""Mutual information: its convex function φ, the support function of its level sets, and its
feasible duals.

Leakage is I(X; Ŷ) = Σ_i s_i Σ_j π_j φ(r_ij) with r_ij = p(x_j given ŷ_i)/π_j and φ(r) = r log r − r
+ 1; all terms are ≥ 0 (`law` computes the sums). It is Σ_i g(u_i) with g convex and positively
homogeneous, so it has a dual: a tilt t [m, n] with a multiplier μ ≥ 0 is *feasible* if

    h_i(t, μ) = μ log Σ_j π_j e^{t_ij/μ} ≤ 0  for every i
    (at budget 0, where μ = ∞: Σ_j π_j t_ij ≤ 0).

Then t_i·u ≤ μ g(u) for every u ≥ 0. Since h_i(t − c, μ) = h_i(t, μ) − c, any tilt becomes feasible
if each row is reduced by an upper bound of its h_i. The bounds treat the stored numbers as exact.
All information is in nats.

Source: docs/theory.md, sections 3, 6 and 10; rounding: N. J. Higham, *Accuracy and Stability of
Numerical Algorithms*, §3.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import final

import numpy as np

from discreet.measures.measure import Cone, Measure, RatioTerms
from discreet.measures.region import Region
from discreet.numerics.double_double import Array, exact_product
from discreet.numerics.rounding import SMALLEST, TOTAL_ROUNDING, UNIT


def _written_out(coefficients: list[float]) -> Callable[[float], float]:
    """Return x ↦ Σ_k c_k x^k as unrolled Horner's rule, which is twice as fast as a loop."""
    text = repr(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        text = f"({text}) * x + {coefficient!r}"
    return eval(f"lambda x: {text}")  # type: ignore[no-any-return]


_EXPECTED = 5.0  # expected people in a cell above which the χ² approximation is accurate enough
_SERIES_BELOW = 0.1  # φ is summed as a series if |r − 1| is at most this
# Later terms are below rounding.
_SERIES = [(1.0 if k % 2 == 0 else -1.0) / (k * (k - 1)) for k in range(2, 18)]
# e^z − 1 − z; for |z| ≤ 1 later terms are below rounding
_CURVATURE = [1.0 / math.factorial(k) for k in range(2, 21)]
_series = _written_out(_SERIES)
_curvature = _written_out(_CURVATURE)


def phi_divergence(x: Array) -> Array:
    """Return φ(1 + x) = (1 + x) log(1 + x) − x for x ≥ −1, with full relative accuracy even near x
    = 0.
    """
    if x.size <= 64:  # for few entries, scalar code is faster than NumPy
        return np.array([_phi(each) for each in x.ravel().tolist()]).reshape(x.shape)
    x = np.maximum(x, -1.0)
    far = (1.0 + x) * np.log1p(np.maximum(x, -1.0 + UNIT)) - x  # 0 log 0 = 0
    clipped = np.minimum(np.maximum(x, -_SERIES_BELOW), _SERIES_BELOW)
    return np.where(
        clipped == x, clipped * clipped * np.polynomial.polynomial.polyval(clipped, _SERIES), far
    )


def _phi(x: float) -> float:
    if abs(x) <= _SERIES_BELOW:
        return x * x * _series(x)
    return (1.0 + x) * math.log1p(x) - x if x > -1.0 else 1.0  # 0 log 0 = 0


class Divergence(Measure):
    """The divergence of a posterior from the prior, G(x) = Σ_j π_j φ(1 + x_j)."""

    cone = Cone.ENTROPY

    def excess(self, x: Array, p_x: Array) -> Array:
        """Return Σ_j π_j φ(1 + x_j) [m]."""
        return np.asarray(phi_divergence(x) @ p_x)

    def excess_ceiling(self, x: Array, reach: Array, p_x: Array) -> Array:
        """Return the sum over entries of the larger φ of both interval ends; φ is convex, so its
        maximum is at an end.
        """
        ends = np.array([x + reach, np.maximum(x - reach, -1.0)])
        return np.asarray(np.maximum.reduce(phi_divergence(ends)) @ p_x)

    def slope(self, x: Array, p_x: Array) -> Array:
        """Return log r, truncated at r = 2⁻⁵³."""
        return np.log1p(np.maximum(x, -1.0 + UNIT))

    def curvature(self, x: Array, p_x: Array) -> tuple[Array, Array]:
        """Return bend π_j / r_j, and pull 0."""
        return p_x / np.maximum(1.0 + x, UNIT), np.zeros(x.shape)


class MeanDivergence(Divergence):
    """The mean divergence over guesses, weighted by their probabilities."""

    steepness = 2048.0  # larger than the logarithm of any ratio of doubles

    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """Return h_i(t, μ) and zero sizes."""
        value = support_ceiling(tilt, p_x, multiplier)
        return value, np.zeros_like(value)

    def ceiling(self, tilt: Array, p_x: Array, multiplier: float, level: float) -> Array:
        """Return an upper bound of h_i(t, μ), which is the mean if μ = ∞."""
        value = support_ceiling(tilt, p_x, multiplier)
        return np.asarray(value + 2.0 * UNIT * np.abs(value) + 8.0 * SMALLEST)

    def rates_ceiling(self, rates: Array, region: Region) -> Array:
        """Return Π times the divergence under π⁺: the divergence is the minimum over references of
        a sum of terms ≥ 0 that are linear in π.
        """
        return region.total * self.contributions(rates, region.top)

    def largest_level(self, region: Region) -> float:
        """Return the log of the alphabet, an upper bound of the entropy in nats, times the share of
        all people in the region.
        """
        return math.log(region.alphabet) * min(1.0, region.total)

    def asymptotic_level(self, tables: Array, level: float) -> float:
        """Return an upper limit by the likelihood ratio: twice the mutual information of a table
        times its number of people follows approximately a non-central χ² law, whose non-centrality
        is the same function of the true law.

        The ratio is raised to at least its median under independence. Return inf if,
        under independence, fewer than `_EXPECTED` people are expected in any cell of guess and
        group. Source: docs/theory.md, section 23.
        """
        from scipy.optimize import brentq
        from scipy.special import chdtri, chndtr, rel_entr

        seen = [table[:, table.any(axis=0)] for table in tables if table.any()]
        people = np.array([table.sum() for table in seen])
        apart = [
            np.outer(table.sum(axis=1), table.sum(axis=0)) / count
            for table, count in zip(seen, people, strict=True)
        ]
        if min(float(each.min()) for each in apart) < _EXPECTED:
            return math.inf
        freedom = sum((len(each) - 1) * (each.shape[1] - 1) for each in seen)
        ratio = 2.0 * sum(
            float(rel_entr(table, each).sum()) for table, each in zip(seen, apart, strict=True)
        )
        if not freedom:
            return 0.0
        ratio = max(ratio, float(chdtri(freedom, 0.5)))
        most = 4.0 * (ratio + freedom) + 100.0
        centrality = brentq(lambda each: chndtr(ratio, freedom, each) - level, 0.0, most)
        return float(centrality / (2.0 * people.sum()))

    def ratio_terms(self, region: Region) -> RatioTerms:
        """Return ψ(x) = a ((1 + x) log(1 + x) − x) for the largest share a, with its
        derivatives.
        """
        from scipy.special import kl_div

        most = region.share_high
        return RatioTerms(
            lambda x: most * kl_div(1.0 + x, 1.0),
            lambda x: most * np.log1p(x),
            lambda x: most / (1.0 + x),
        )


@final
@dataclass(frozen=True)
class MutualInformation(MeanDivergence):
    """The budget bounds mutual information, I(X; Ŷ) = Σ_ij u_ij log(u_ij/(π_j s_i))."""

    name = "mutual-information"
    citation = (
        "C. E. Shannon, A Mathematical Theory of Communication, Bell System Technical "
        "Journal 27 (1948)"
    )


MUTUAL_INFORMATION = MutualInformation()


def support_ceiling(tilt: Array, p_x: Array, multiplier: float) -> Array:
    """Return an upper bound of h_i(t, μ) [m], except for the rounding of its last sum, for π_j > 0;
    it is at most max_j t_ij.
    """
    largest = tilt.max(axis=1)
    if multiplier == 0.0:
        return np.asarray(largest)
    mean = _mean_ceiling(tilt, p_x)
    if math.isinf(multiplier):
        return np.asarray(np.minimum(mean, largest))
    p_x = p_x / p_x.sum()
    # Rounding error of each sum below, relative to the sum of the sizes of its terms.
    unit = (2 * p_x.size + 16) * UNIT
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scaled = tilt / multiplier
        value = _shift_of_small_tilts(scaled, mean, p_x, multiplier, unit)
        if np.abs(scaled).max() > 1.0:
            value = np.fmin(value, _scaled_support(tilt, p_x, multiplier, unit))
    return np.asarray(np.where(np.isfinite(value), np.minimum(value, largest), largest))


def _mean_ceiling(tilt: Array, p_x: Array) -> Array:
    """Return an upper bound of Σ_j π_j t_ij / Σ_j π_j [m], from exact products, for π_j known up to
    rounding.
    """
    mean = np.array(
        [math.fsum(chain(*map(exact_product, row, p_x.tolist()))) for row in tilt.tolist()]
    )
    doubt = 1.5 * UNIT * (np.abs(tilt) @ p_x)
    return np.asarray(
        mean + doubt + 1.125 * TOTAL_ROUNDING * np.abs(mean) + 8.0 * SMALLEST * p_x.size
    )


def _shift_of_small_tilts(
    scaled: Array, mean: Array, p_x: Array, multiplier: float, unit: float
) -> Array:
    """Return h_i as μ log(1 + Σ_j π_j z + Σ_j π_j (e^z − 1 − z)) with z = t/μ; all terms of the
    second sum are ≥ 0.
    """
    curved = np.array([beyond_linear(each) for each in scaled.ravel().tolist()]).reshape(
        scaled.shape
    )
    curve = (curved @ p_x) * (1.0 + unit + 128.0 * UNIT)
    slope = mean / multiplier
    growth = slope + curve + 4.0 * UNIT * (np.abs(slope) + curve) + 4 * p_x.size * SMALLEST
    log = np.log1p(growth)
    return np.asarray(multiplier * (log + 4.0 * UNIT * np.abs(log)))


def beyond_linear(z: float) -> float:
    """Return e^z − 1 − z. For |z| > 1 the result is increased by the effect of rounding z, a
    relative 4 |z| 2⁻⁵³.
    """
    if abs(z) <= 1.0:
        return z * z * _curvature(z)
    return (math.expm1(z) - z) * (1.0 + 4.0 * UNIT * abs(z)) if z < 700.0 else math.inf


def _scaled_support(tilt: Array, p_x: Array, multiplier: float, unit: float) -> Array:
    """Return h_i from the differences to the largest tilt of a row, whose exponentials cannot
    overflow.
    """
    largest = tilt.max(axis=1)
    below = (tilt - largest[:, None]) / multiplier
    power = np.exp(below)
    total = power @ p_x
    # The exponential magnifies the rounding error of `below`.
    drift = np.where(power > 0.0, power * -below, 0.0) @ p_x / total
    error = unit * (1.0 + drift) + 4 * p_x.size * SMALLEST / total
    log = np.log(total)
    return np.asarray(largest + multiplier * (log + error + 4.0 * UNIT * np.abs(log)))
