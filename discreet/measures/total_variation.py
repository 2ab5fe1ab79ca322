"""Total variation: the mean change of beliefs about X, Σ_i ½ Σ_j |u_ij − π_j s_i|.

V = {v : v_j ≤ σ_j − Σ_k π_k σ_k for some |σ_j| ≤ ½}, and the least κ is Σ_j π_j max(t_j, max_k t_k
− μ). To see this, take φ(r) = ½|r − 1|: κ is the minimum over λ ≥ max t − μ/2 of λ + Σ π max(t − λ,
−μ/2), which does not decrease with λ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.measures.measure import Measure, ends
from discreet.measures.region import Region
from discreet.numerics.double_double import Array


@final
@dataclass(frozen=True)
class TotalVariation(Measure):
    """The budget bounds total variation, ½ Σ_ij |u_ij − π_j s_i|."""

    name = "total-variation"
    unit = ""
    citation = (
        "B. Rassouli, D. Gündüz, Optimal Utility-Privacy Trade-off with Total Variation "
        "Distance, IEEE TIFS 15 (2020)"
    )

    def rates_ceiling(self, rates: Array, region: Region) -> Array:
        """Return an upper bound of ½ Σ_j π_j (|W_j − s⁺| + |s − s⁺|)."""
        mass = rates @ region.top
        apart = np.abs(rates - mass[:, None])
        shift = np.maximum(region.largest_mean(rates) - mass, mass - region.least_mean(rates))
        return np.asarray(0.5 * (apart @ region.share_high + region.total * shift))

    def largest_level(self, region: Region) -> float:
        """Return an upper bound ≤ 1. For each guess, the mass above the mean equals the mass below
        it, so the smaller bound of the two counts.
        """
        smallest = region.least_mean(region.low)[:, None]
        largest = region.largest_mean(region.high)[:, None]
        above = region.largest_mean(np.maximum(region.high - smallest, 0.0))
        below = region.largest_mean(np.maximum(largest - region.low, 0.0))
        return min(1.0, float(np.minimum(above, below).sum()))

    def level_from_information(self, information: Callable[[], float]) -> float:
        """Return the bound of Pinsker's inequality."""
        return math.sqrt(0.5 * information())

    def least_leakage(self, region: Region) -> float:
        """Return a lower bound from the deviations of one guess above its mean; the other guesses
        deviate by the same total.
        """
        spread = 0.0
        if len(region.shares) == 2:
            spread = 2.0 * region.apart * float(np.prod(region.share_low))
        gap = region.low[:, :, None] - region.high[:, None, :]
        gap *= 1.0 - np.eye(len(region.shares))
        above = np.minimum(gap * region.share_low, gap * region.share_high).sum(axis=2)
        return max(spread, float((2.0 * region.share_low * above).max()))

    def excess_ceiling(self, x: Array, reach: Array, p_x: Array) -> Array:
        """Return ½ Σ_j π_j |x_j| as the larger of Σ π_j (x_j)₊ and Σ π_j (−x_j)₊ over all values
        except the likeliest.

        The mean of x is 0, so the likeliest value only raises the smaller of the two sums to the
        larger; its rounding does not matter.
        """
        low, high = ends(x, reach, p_x)
        others = np.where(np.arange(p_x.size) == p_x.argmax(), 0.0, p_x)
        return np.asarray(
            np.maximum(np.maximum(high, 0.0) @ others, np.maximum(-low, 0.0) @ others)
        )

    def slope(self, x: Array, p_x: Array) -> Array:
        """Return σ_j − Σ π σ with σ = ½ sign x."""
        sign = 0.5 * np.sign(x)
        return np.asarray(sign - (sign @ p_x)[:, None])

    def pieces(self, p_x: Array, level: float) -> tuple[Array, ...]:
        """Return, for each value, the rows of ± ½ (u_j − π_j s). 1 − π_j is computed as the sum of
        the other π_k, so that nothing cancels.
        """
        others = 1.0 - np.eye(p_x.size)
        rows = 0.5 * (np.diag(others @ p_x) - others * p_x[:, None])
        return tuple(np.stack([row, -row]) for row in rows)

    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """Return Σ_j π_j max(t_j, max t − μ)."""
        raised = np.maximum(tilt, tilt.max(axis=1)[:, None] - multiplier)
        return raised @ p_x, np.abs(raised) @ p_x
