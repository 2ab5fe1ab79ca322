"""Finite-sample confidence limits for a labelling of draws: means of posteriors, and the leakage
that they allow.

Every quantity is the mean of W(z) = Σ_jk C[label(z), j, k] p(x_j, y_k given z), whose range is
known whatever the law of Z. Since the mean of p(x_j, y_k given Z) is p(x_j, y_k), any Σ_jk β_jk
(p(x_j, y_k given z) − p(x_j, y_k)) with β fixed before the test draws may be subtracted. Least
squares on independent draws finds a β that removes most of the variance.

Source: A. Maurer, M. Pontil, "Empirical Bernstein bounds and sample variance penalization", COLT
2009, theorem 4; control variates: P. Glasserman, *Monte Carlo Methods in Financial Engineering*
(2004), §4.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.backends.precision import Precision
from discreet.measures.mutual_information import phi_divergence
from discreet.numerics.double_double import Array


@dataclass(frozen=True, eq=False)
class Draws:
    """Posteriors p(x_j, y_k given z) [n, m, N] of draws of Z, and a rule's labels [N]: `others`
    with probability `share`.
    """

    posterior: Array
    labels: NDArray[np.intp]
    others: NDArray[np.intp]
    share: float

    def values(self, coefficients: Array) -> Array:
        """Σ_jk C[label, j, k] p(x_j, y_k given z) [N] for C [guesses, n, m]."""
        table = coefficients.reshape(coefficients.shape[0], -1)
        chosen = (1.0 - self.share) * table[self.labels] + self.share * table[self.others]
        return np.asarray((chosen * self.posterior.reshape(table.shape[1], -1).T).sum(axis=1))


def bernstein_radius(values: Array, width: float, log_risk: float) -> float:
    """One-sided empirical Bernstein radius of the mean of values [N] that lie in an interval of the
    given width.

    log_risk = log(2/δ): with probability at most δ, the true mean lies further than the radius from
    the mean of the values, on one given side.
    """
    count = values.size
    return math.sqrt(
        2.0 * float(values.var(ddof=1)) * log_risk / count
    ) + 7.0 * width * log_risk / (3.0 * (count - 1))


def controlled_mean(
    coefficients: Array, prior: Array, learnt: Draws, tested: Draws, log_risk: float
) -> tuple[float, float]:
    """Mean of Σ C[label] p(x, y given Z) [guesses, n, m] and its one-sided radius; β is fitted to
    the draws `learnt`.
    """
    fitted = slice(50_000)  # as many draws are enough for the coefficients
    controls = learnt.posterior.reshape(prior.size, -1)[:, fitted].T
    beta = np.linalg.lstsq(controls, learnt.values(coefficients)[fitted], rcond=Precision.rank)[
        0
    ].reshape(prior.shape)
    rest = coefficients - beta  # the fit needs no constant: posteriors sum to one
    values = tested.values(rest)
    width = float(rest.max() - rest.min())
    return float(values.mean()) + float((beta * prior).sum()), bernstein_radius(
        values, width, log_risk
    )


@dataclass(frozen=True, eq=False)
class LeakageBox:
    """Estimates of s_i = Pr(Ŷ = i) [m] and Pr(x_j, Ŷ = i) − π_j s_i [m, n], their radii, and the
    prior π [n].
    """

    mass: Array
    deviation: Array
    mass_radius: Array
    deviation_radius: Array
    p_x: Array

    @classmethod
    def of(
        cls, prior: Array, guesses: int, learnt: Draws, tested: Draws, log_risk: float
    ) -> LeakageBox:
        """The box of a rule on the tested draws."""
        p_x = prior.sum(axis=1)
        n = p_x.size
        mass = np.zeros((2, guesses))
        deviation = np.zeros((2, guesses, n))
        for i in range(guesses):
            coefficients = np.zeros((guesses, *prior.shape))
            coefficients[i] = 1.0
            mass[:, i] = controlled_mean(coefficients, prior, learnt, tested, log_risk)
            for j in range(n):
                coefficients[i] = ((np.arange(n) == j) - p_x[j])[:, None]
                deviation[:, i, j] = controlled_mean(coefficients, prior, learnt, tested, log_risk)
        return cls(mass[0], deviation[0], mass[1], deviation[1], p_x)

    def leakage(self) -> float:
        """I(X; Ŷ) at the centre of the box, nats."""
        possible = self.p_x > 0
        mass = np.maximum(self.mass, Precision.nonzero)[:, None]
        p_x = self.p_x[possible]
        ratio = self.deviation[:, possible] / (mass * p_x)
        return float((mass * p_x * phi_divergence(np.clip(ratio, -1.0, 1.0 / p_x - 1.0))).sum())

    def ceiling(self) -> float:
        """The largest leakage of any law in the box, or more.

        Each term s π φ(d/(s π)) is convex in (s, d), so it is largest at a corner of the box, or
        where an edge of it meets the limits −π s ≤ d ≤ (1 − π) s that every law obeys.
        """
        return sum(
            self._largest_term(i, j)
            for i, j in np.ndindex(self.deviation.shape)
            if self.p_x[j] > 0.0
        )

    def _largest_term(self, i: int, j: int) -> float:
        pi = float(self.p_x[j])
        low = max(0.0, self.mass[i] - self.mass_radius[i])
        high = min(1.0, self.mass[i] + self.mass_radius[i])
        largest = 0.0
        for side in (-1.0, 1.0):
            d = float(self.deviation[i, j] + side * self.deviation_radius[i, j])
            limit = -d / pi if d < 0.0 else (d / (1.0 - pi) if pi < 1.0 else math.inf)
            for s in {
                max(low, Precision.nonzero),
                high,
                min(max(limit, low, Precision.nonzero), high),
            }:
                ratio = np.clip(np.array([d / (s * pi)]), -1.0, 1.0 / pi - 1.0)
                largest = max(largest, s * pi * float(phi_divergence(ratio)[0]))
        return largest
