"""Conditional mutual information: what the guess reveals about X to who knows another variable W already.

    I(X; Ŷ given W) = Σ_w Σ_i g(u_i^w),   u_ij^w = Pr(W = w, X = x_j, Ŷ = y_i),

with g of mutual information and the prior of each group w. Given Y, a budget of 0 is equalized odds (Ŷ independent of X
given Y). Rows of every given value are a group, and the functions below are about one group: g is a sum over groups, so a
tilt is in μ V if its part of every group is in μ times the V of that group. Source: docs/theory.md, section 22.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from discreet.problems.measures.measure import Measure
from discreet.problems.measures.mutual_information import MUTUAL_INFORMATION
from discreet.problems.numerics.double_double import Array


@final
@dataclass(frozen=True)
class ConditionalMutualInformation(Measure):
    """I(X; Ŷ given W) ≤ budget; rows p(w, x_j, z_l) come in groups, one for each given value w."""

    name = "conditional-mutual-information"
    citation = "A. D. Wyner, A Definition of Conditional Mutual Information, Information and Control 38 (1978)"
    steepness = MUTUAL_INFORMATION.steepness
    conditional = True

    def excess(self, x: Array, p_x: Array) -> Array:
        """Σ_j π_j φ(1 + x_j)."""
        return MUTUAL_INFORMATION.excess(x, p_x)

    def excess_ceiling(self, x: Array, reach: Array, p_x: Array) -> Array:
        """From the larger term of both ends of each entry."""
        return MUTUAL_INFORMATION.excess_ceiling(x, reach, p_x)

    def slope(self, x: Array, p_x: Array) -> Array:
        """log r, cut at r = 2⁻⁵³."""
        return MUTUAL_INFORMATION.slope(x, p_x)

    def curvature(self, x: Array, p_x: Array) -> tuple[Array, Array]:
        """π_j / r_j."""
        return MUTUAL_INFORMATION.curvature(x, p_x)

    def support(self, tilt: Array, p_x: Array, multiplier: float, level: float) -> tuple[Array, Array]:
        """h_i(t, μ)."""
        return MUTUAL_INFORMATION.support(tilt, p_x, multiplier, level)

    def ceiling(self, tilt: Array, p_x: Array, multiplier: float, level: float) -> Array:
        """Of h_i(t, μ), also at μ = ∞, where it is the mean."""
        return MUTUAL_INFORMATION.ceiling(tilt, p_x, multiplier, level)

    def lowering(self, tilt: Array, p_x: Array, multiplier: float, level: float) -> Array:
        """h_i(t, μ) with its rounding."""
        return MUTUAL_INFORMATION.lowering(tilt, p_x, multiplier, level)
