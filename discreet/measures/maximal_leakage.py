"""Maximal leakage: the logarithm of the largest factor by which a guess helps to guess any function
of X.

It is log Σ_i max_j u_ij/π_j. With g(u) = max_j u_j/π_j − s the budget reads Σ_i g(u_i) ≤ e^ε − 1. V
+ 1 = {v : Σ_j π_j (v_j)₊ ≤ 1}, so the least κ is a water level: Σ_j π_j (t_j + μ − κ)₊ = μ.
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
    """Measures with G(x) = max_j x_j and B = e^ε − 1."""

    growth = 1.0

    def excess_ceiling(self, x: Array, reach: Array, p_x: Array) -> Array:
        """Return max_j x_j, with each entry at its upper end."""
        return np.asarray(np.maximum(ends(x, reach, p_x)[1].max(axis=1), 0.0))

    def slope(self, x: Array, p_x: Array) -> Array:
        """Return e_j/π_j − 1 for the first j with the largest x_j."""
        return peak(x, p_x) - 1.0


@final
@dataclass(frozen=True)
class MaximalLeakage(LargestRatio):
    """The budget bounds maximal leakage, log Σ_i max_j u_ij/π_j."""

    name = "maximal-leakage"
    citation = (
        "I. Issa, A. B. Wagner, S. Kamath, An Operational Approach to Information Leakage, "
        "IEEE TIT 66 (2020)"
    )
    contrast = Contrast.EACH

    def rates_ceiling(self, rates: Array, region: Region) -> Array:
        """Return the largest rate minus the mass under π⁺; the masses sum to one over the
        guesses.
        """
        return self.contributions(rates, region.top)

    def largest_level(self, region: Region) -> float:
        """Return the alphabet minus one, which guesses that reveal X reach, or the sum of the
        largest rates minus one, if that is smaller.
        """
        return min(region.alphabet, float(region.high.max(axis=1).sum())) - 1.0

    def least_leakage(self, region: Region) -> float:
        """Return a lower bound from tangents; the value depends on the rates only."""
        return self.amount(self.tangents_level(region))

    def pieces(self, p_x: Array, level: float) -> tuple[Array, ...]:
        """Return the rows of u_j/π_j − s."""
        return (np.eye(p_x.size) / p_x - 1.0,)

    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """Return the water level in closed form."""
        return water_level(tilt, p_x, np.full(len(tilt), multiplier), np.ones_like(p_x))


def peak(x: Array, p_x: Array) -> Array:
    """Return e_j/π_j [m, n] for the first j with π_j > 0 and the largest x_j in each row."""
    best = np.where(p_x > 0.0, x, -np.inf).argmax(axis=1)
    return np.asarray(np.equal.outer(best, np.arange(p_x.size)) / p_x[best][:, None])
