"""Maximal leakage: the logarithm of the factor by which a guess helps to guess any function of X,
at most.

It is log Σ_i max_j u_ij/π_j. With g(u) = max_j u_j/π_j − s the budget reads Σ_i g(u_i) ≤ e^ε − 1.
V + 1 = {v : Σ_j π_j (v_j)₊ ≤ 1}, so the least κ is a water level: Σ_j π_j (t_j + μ − κ)₊ = μ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.measures.measure import Contrast, Measure, ends
from discreet.measures.region import Region
from discreet.measures.water import water_level
from discreet.numerics.double_double import Array


class LargestRatio(Measure):
    """G(x) = max_j x_j, against e^ε − 1."""

    growth = 1.0

    def excess_ceiling(self, x: Array, reach: Array, p_x: Array) -> Array:
        """max_j x_j, from the largest each entry may be."""
        return np.asarray(np.maximum(ends(x, reach, p_x)[1].max(axis=1), 0.0))

    def slope(self, x: Array, p_x: Array) -> Array:
        """e_j/π_j − 1 of the first j with the largest x_j."""
        return peak(x, p_x) - 1.0


@final
@dataclass(frozen=True)
class MaximalLeakage(LargestRatio):
    """log Σ_i max_j u_ij/π_j ≤ budget."""

    name = "maximal-leakage"
    citation = (
        "I. Issa, A. B. Wagner, S. Kamath, An Operational Approach to Information Leakage, "
        "IEEE TIT 66 (2020)"
    )
    contrast = Contrast.EACH

    def rates_ceiling(self, rates: Array, region: Region) -> Array:
        """The value itself less the mass under π⁺, as all masses add up to one."""
        return self.contributions(rates, region.top)

    def largest_level(self, region: Region) -> float:
        """Guesses that reveal X reach the alphabet less one."""
        return min(region.alphabet, float(region.high.max(axis=1).sum())) - 1.0

    def least_leakage(self, region: Region) -> float:
        """It depends on the rates alone."""
        return self.amount(self.tangents_level(region))

    def pieces(self, p_x: Array, level: float) -> tuple[Array, ...]:
        """u_j/π_j − s."""
        return (np.eye(p_x.size) / p_x - 1.0,)

    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """The water level."""
        return water_level(tilt, p_x, np.full(len(tilt), multiplier), np.ones_like(p_x))


def peak(x: Array, p_x: Array) -> Array:
    """e_j/π_j [m, n] of the first j with π_j > 0 and the largest x_j in every row."""
    best = np.where(p_x > 0.0, x, -np.inf).argmax(axis=1)
    return np.asarray(np.equal.outer(best, np.arange(p_x.size)) / p_x[best][:, None])
