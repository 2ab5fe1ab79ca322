"""Sibson's mutual information of order α > 1, between mutual information (α → 1) and maximal
leakage (α → ∞).

It is α/(α − 1) log Σ_i N(r_i) s_i with the norm N(r) = (Σ_j π_j r_j^α)^{1/α}. With g(u) = s (N(r) −
1) the budget reads Σ_i g(u_i) ≤ e^{ε(α−1)/α} − 1. As Σ_j π_j x_j = 0, N^α − 1 = Σ_j π_j ((1 +
x_j)^α − 1 − α x_j), a sum of terms ≥ 0.

V + 1 is the unit ball of the dual norm, Σ_j π_j (v_j)₊^β ≤ 1 with 1/α + 1/β = 1 (Hölder). In the
same form, κ is the least number with

    Σ_j π_j t_j − κ + (μ/β) Σ_j π_j ((1 + y_j)₊^β − 1 − β y_j) ≤ 0,   y_j = (t_j − κ)/μ,

whose left side decreases with κ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.checks import brief, freeze, real
from discreet.errors import InputError
from discreet.measures.measure import Cone, Measure, RatioTerms, ends, remainder, remainder_ceiling
from discreet.measures.region import Region
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import UNIT

# Largest power of a ratio to be summed directly; beyond it, logarithms are as accurate as the sum.
_LARGEST_POWER = 1e250


@final
@dataclass(frozen=True)
class Sibson(Measure):
    """The budget bounds Sibson's mutual information of order `alpha`, 1.01 ≤ alpha ≤ 100, by Σ_i
    g(u_i) ≤ e^{cε} − 1 with `growth` c = (α − 1)/α.
    """

    alpha: float

    name = "sibson"
    cone = Cone.POWER
    citation = (
        "R. Sibson, Information radius, Z. Wahrscheinlichkeitstheorie 14 (1969); S. Verdú, "
        "α-mutual information, ITA 2015"
    )

    def __post_init__(self) -> None:
        if not 1.01 <= real(self.alpha) <= 100.0:
            raise InputError(
                f"the order alpha of Sibson's information is {brief(self.alpha)}; give a number "
                "from 1.01 to 100"
            )
        freeze(self, growth=(self.alpha - 1.0) / self.alpha)

    def __str__(self) -> str:
        return f"sibson:alpha={float(self.alpha)!r}"

    @property
    def order(self) -> float:
        """Return the order α of the measure."""
        return self.alpha

    def rates_ceiling(self, rates: Array, region: Region) -> Array:
        """Return Π times the value under π⁺: the value is the minimum over references of a sum of
        terms ≥ 0 that are linear in π.
        """
        return region.total * self.contributions(rates, region.top)

    def largest_level(self, region: Region) -> float:
        """Return the level of maximal leakage, which is an upper bound."""
        return math.expm1(self.growth * math.log(region.alphabet))

    def ratio_terms(self, region: Region) -> RatioTerms:
        """Return ψ(x) = a (((1 + x)^α − 1)/α − x) for the largest share a, with its derivatives."""
        most = region.share_high
        order = self.alpha
        return RatioTerms(
            lambda x: most * remainder(x, order) / order,
            lambda x: most * ((1.0 + x) ** (order - 1.0) - 1.0),
            lambda x: most * (order - 1.0) * (1.0 + x) ** (order - 2.0),
        )

    def excess(self, x: Array, p_x: Array) -> Array:
        """Return N(1 + x) − 1."""
        known = ends(x, np.zeros_like(x), p_x)[1]
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return self._norm_minus_one(remainder(known, self.alpha), known, p_x)

    def excess_ceiling(self, x: Array, reach: Array, p_x: Array) -> Array:
        """Return an upper bound from the larger term of both ends of each entry.

        The relative error of log N is at most 10 units of 2⁻⁵³, so that of N is at most 10 units
        times log N.
        """
        low, high = ends(x, reach, p_x)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            terms = np.maximum(
                remainder_ceiling(low, self.alpha), remainder_ceiling(high, self.alpha)
            )
            return self._norm_minus_one(terms, high, p_x, 16.0 * UNIT)

    def _norm_minus_one(self, terms: Array, high: Array, p_x: Array, doubt: float = 0.0) -> Array:
        """Return N − 1. If powers of r overflow, N is computed from the upper ends by logarithms of
        its terms.

        The logarithm L of their sum then exceeds 575, so log π ≥ −745 and α log r ≤ L + 745 have
        errors of less than 40 units of 2⁻⁵³ of L; 64 units are added, since the error of N is that
        of L/α. doubt: relative error of log N in the other case.
        """
        above = terms @ p_x
        log = np.log1p(above)
        if (beyond := ~(above < _LARGEST_POWER)).any():
            power = np.logaddexp.reduce(np.log(p_x) + self.alpha * np.log1p(high[beyond]), axis=1)
            log[beyond] = power * (1.0 + 64.0 * UNIT)
        return np.asarray(np.expm1(log / self.alpha * (1.0 + doubt)))

    def slope(self, x: Array, p_x: Array) -> Array:
        """Return the subgradient (r_j/N)^{α−1} − 1."""
        log = np.log1p(np.maximum(x, -1.0 + UNIT)) - np.log1p(self.excess(x, p_x))[:, None]
        return np.asarray(np.where(x > -1.0, np.expm1((self.alpha - 1.0) * log), -1.0))

    def curvature(self, x: Array, p_x: Array) -> tuple[Array, Array]:
        """Return bend (α − 1)/N · π_j (r_j/N)^{α−2}, and pull with pull pull' = (α − 1)/N · π_j π_k
        (r_j r_k/N²)^{α−1}.
        """
        norm = 1.0 + self.excess(x, p_x)[:, None]
        ratio = np.maximum(1.0 + x, UNIT) / norm
        power = p_x * ratio ** (self.alpha - 1.0)
        return (self.alpha - 1.0) / norm * power / ratio, np.sqrt((self.alpha - 1.0) / norm) * power

    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """Solve for κ by Newton's method from the left on a convex function, then step to the right
        until the bound is proven.

        The start is a point where no single term exceeds 1, so that each step reduces the excess by
        a constant factor, for any order.
        """
        beta = self.alpha / (self.alpha - 1.0)
        mean = tilt @ p_x
        largest = tilt.max(axis=1)

        def left_side(kappa: Array) -> tuple[Array, Array, Array]:
            y = (tilt - kappa[:, None]) / multiplier
            above = multiplier / beta * (remainder_ceiling(np.maximum(y, -1.0), beta) @ p_x)
            # For y < −1 the remainder grows by β for each unit of −y.
            above += np.maximum(-1.0 - y, 0.0) @ p_x * multiplier
            fall = np.maximum(1.0 + y, 0.0) ** (beta - 1.0) @ p_x
            size = np.abs(tilt) @ p_x + np.abs(kappa) + above
            return mean - kappa + above, fall, size

        kappa = np.maximum(mean, (tilt - multiplier * np.expm1(-np.log(p_x) / beta)).max(axis=1))
        for _ in range(60):
            value, fall, size = left_side(kappa)
            step = np.where(value > 8.0 * UNIT * size, value / np.maximum(fall, UNIT), 0.0)
            if not step.any():
                break
            kappa = np.minimum(kappa + step, largest)
        allowance = (8.0 * p_x.size + 16.0 * beta + 64.0) * UNIT
        for spare in (0.5, 1.0, 32.0):
            value, fall, size = left_side(kappa)
            over = value + allowance * size
            kappa = np.where(
                over > 0.0,
                kappa + (over + spare * allowance * size) / np.maximum(fall, UNIT),
                kappa,
            )
        value, _, size = left_side(kappa)
        return np.where(value + allowance * size <= 0.0, kappa, largest), np.abs(kappa)
