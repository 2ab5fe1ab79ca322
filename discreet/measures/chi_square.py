"""Chi-square information: the mean squared relative change of beliefs about X, Σ_i s_i Σ_j π_j
(r_ij − 1)².

It bounds mutual information: I ≤ log(1 + χ²).

v lies in V if h(v) ≤ 0, where h(v) = min_λ λ + Σ_j π_j φ*(v_j − λ) and φ*(y) = max_{r ≥ 0} r y − (r
− 1)², which is y + y²/4 for y ≥ −2 and −1 otherwise. h(v − κ) = h(v) − κ. Since φ*(y) − y ≥ 0,
nothing cancels in Σ_j π_j v_j + Σ_j π_j (φ*(y_j) − y_j). Every λ proves an upper bound of h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.measures.measure import Cone, Measure, RatioTerms, ends
from discreet.measures.region import Region
from discreet.measures.sibson import Sibson
from discreet.measures.water import water_level
from discreet.numerics.double_double import Array


@final
@dataclass(frozen=True)
class ChiSquare(Measure):
    """The budget bounds chi-square information, Σ_i s_i Σ_j π_j (r_ij − 1)²."""

    name = "chi-square"
    unit = ""
    citation = (
        "H. Wang et al., Privacy with Estimation Guarantees, IEEE Transactions on "
        "Information Theory 65 (2019)"
    )
    cone = Cone.QUADRATIC

    def rates_ceiling(self, rates: Array, region: Region) -> Array:
        """Return an upper bound of Σ_j π_j (W_j − s)²/s. The squares are smallest at the mean s, so
        s⁺ may replace s in them.
        """
        apart = rates - (rates @ region.top)[:, None]
        return region.over_mass(apart * apart @ region.share_high, rates)

    def largest_level(self, region: Region) -> float:
        """Return the alphabet minus one: the mean of 1/π_j − 1, which guesses that reveal X
        reach.
        """
        return region.alphabet - 1.0

    def ratio_terms(self, region: Region) -> RatioTerms | None:
        """Return ψ(x) = a x²/c for the largest share a, with its derivatives, where c is the least
        ratio of a share to its weight: the mass of a guess is at least c times its mixture.
        """
        if not region.share_low.all():
            return None
        most = region.share_high / float((region.share_low / region.weights).min())
        return RatioTerms(
            lambda x: most * x * x, lambda x: 2.0 * most * x, lambda x: 2.0 * most + 0.0 * x
        )

    def least_leakage(self, region: Region) -> float:
        """Return a lower bound from Sibson's information of order 2, which is the minimum over q of
        log Σ_ij π_j W_ij²/q_i: 1 + χ² is at least the square of one plus its level.
        """
        level = float(region.share_low.sum()) * Sibson(2.0).tangents_level(region)
        return level * (2.0 + level)

    def excess_ceiling(self, x: Array, reach: Array, p_x: Array) -> Array:
        """Return Σ_j π_j x_j², with each entry at the end that is farther from 0."""
        low, high = ends(x, reach, p_x)
        return np.asarray(np.maximum(low * low, high * high) @ p_x)

    def slope(self, x: Array, p_x: Array) -> Array:
        """Return 2 x_j − Σ π x²."""
        return np.asarray(2.0 * x - self.excess(x, p_x)[:, None])

    def curvature(self, x: Array, p_x: Array) -> tuple[Array, Array]:
        """Return bend 2 π_j, and pull 0."""
        return np.broadcast_to(2.0 * p_x, x.shape), np.zeros(x.shape)

    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """Return μ h(t/μ), at the λ for which Σ π φ*' = 1."""
        top, _ = water_level(tilt + 2.0 * multiplier, p_x, np.full(len(tilt), 2.0 * multiplier))
        y = tilt - top[:, None]
        beyond = np.where(y >= -2.0 * multiplier, y * y / (4.0 * multiplier), -multiplier - y) @ p_x
        return tilt @ p_x + beyond, np.abs(tilt) @ p_x + beyond
