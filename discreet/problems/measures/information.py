"""Entropy, leakage and what they bound, accurate relative to themselves however small they are.

The leakage of an estimator P is I(X; Ŷ) = Σ_i s_i Σ_j π_j φ(r_ij) with u_i = A P_i, s_i = Σ_j u_ij, r_ij = u_ij / (π_j s_i)
and φ(r) = r log r − r + 1. Every term is non-negative, so nothing cancels once r − 1 is known; and r − 1 is formed here
from double-length sums (`accurate`), so that a leakage of 1e-14 nats still has ten digits. Nats throughout, unless a
name says bits.

Source: docs/theory.md, sections 3 and 10; T. M. Cover, J. A. Thomas, *Elements of Information Theory*, §2.10 (Fano).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array, Pair, pair_product, pair_sum, sum_pair
from discreet.problems.numerics.estimator_sums import expected_pair, labelled_pair

__all__ = [
    "OutputLaw",
    "entropy",
    "faint_lift",
    "fano_bound",
    "labelled_law",
    "law_of",
    "output_law",
    "phi_divergence",
]

_SERIES_BELOW = 0.1  # |r − 1| under which φ is summed as a series
_SERIES = [(1.0 if k % 2 == 0 else -1.0) / (k * (k - 1)) for k in range(17, 1, -1)]  # the next term rounds away
_RISING = np.array(_SERIES[::-1])
_FEW_RATIOS = 32  # up to which all powers at once cost less than the thirty array operations of Horner's scheme
_ALMOST_NEVER = -1.0 + 2.0**-53  # stands for −1 in a logarithm that is multiplied by 0
_LARGEST_RATIO = 1e300  # of r, which is at most 1/s_i: only labels rarer than any number of normal size exceed it
_FAINT = 1e-200  # private values below this are scaled before products are formed
_LAW_ROUNDING = 2.0**-95  # relative uncertainty of r_ij as computed from pairs
_LEAKAGE_ROUNDING = 2.0**-45  # relative rounding of a leakage computed from r_ij


def entropy(p: Array) -> float:
    """Shannon entropy of a probability vector p [k], in nats; 0 log 0 = 0."""
    positive = p[p > 0]
    return max(0.0, float(-(positive * np.log(positive)).sum()))


def phi_divergence(x: Array) -> Array:
    """φ(1 + x) = (1 + x) log(1 + x) − x for x ≥ −1, to full relative accuracy also near x = 0."""
    x = np.maximum(x, -1.0)
    near = np.maximum(np.minimum(x, _SERIES_BELOW), -_SERIES_BELOW)
    log = np.log1p(np.maximum(x, _ALMOST_NEVER))  # 0 log 0 = 0
    return np.where(near == x, near * near * _series(near), (1.0 + x) * log - x)


def _series(x: Array) -> Array:
    """φ(1 + x) / x² for small x."""
    if x.size <= _FEW_RATIOS:
        powers = np.empty((*x.shape, _RISING.size))
        powers[..., 0], powers[..., 1:] = 1.0, x[..., None]
        return np.asarray(np.multiply.accumulate(powers, axis=-1, out=powers) @ _RISING)
    series = np.full_like(x, _SERIES[0])
    for coefficient in _SERIES[1:]:
        series *= x
        series += coefficient
    return series


@dataclass(frozen=True)
class OutputLaw:
    """The joint law of (X, Ŷ) under an estimator, kept in the form in which leakage does not cancel.

    mass        s_i = Pr(Ŷ = y_i)                              [m]
    deviation   Pr(X = x_j, Ŷ = y_i) − π_j s_i                  [m, n], accurate relative to itself
    p_x         π_j                                            [n]

    It is linear in the estimator, so `blend` gives the law of a mixture of two estimators without touching the outcomes.
    """

    mass: Array
    deviation: Array
    p_x: Array

    @property
    def excess(self) -> Array:
        """(Φ P_i)_j = Pr(Ŷ = y_i given X = x_j) − Pr(Ŷ = y_i) [m, n]; 0 where π_j = 0."""
        return np.divide(self.deviation, self.p_x, out=np.zeros_like(self.deviation), where=self.p_x > 0)

    def ratio_minus_one(self) -> Array:
        """r_ij − 1 [m, n], with r_ij = p(x_j given ŷ_i) / p(x_j); 0 where Ŷ = y_i never happens or π_j = 0. Read it only."""
        return self._ratio

    @cached_property
    def _ratio(self) -> Array:
        mass = self.mass[:, None]
        with np.errstate(over="ignore"):
            ratio = np.divide(self.excess, mass, out=np.zeros_like(self.deviation), where=mass > 0)
        return np.minimum(np.maximum(ratio, -1.0), _LARGEST_RATIO)

    def leakage(self) -> float:
        """I(X; Ŷ) in nats, ≥ 0."""
        return self._leakage

    @cached_property
    def _leakage(self) -> float:
        return float(self.mass @ (phi_divergence(self.ratio_minus_one()) @ self.p_x))

    def leakage_ceiling(self, perturbation: float = 0.0) -> float:
        """A number that the exact leakage does not exceed, nats; 0 where X has one value only.

        perturbation: covers also every law whose entries Pr(X = x_j, Ŷ = y_i) differ from these by that relative amount.
        With η the relative uncertainty of r, leakage grows by at most 2 η Σ u |log r| + 2 η² to the orders that matter.
        """
        if np.count_nonzero(self.p_x) <= 1:
            return 0.0
        x = self.ratio_minus_one()
        log = np.log1p(np.maximum(x, _ALMOST_NEVER))
        slope = float(self.mass @ (((1.0 + x) * np.abs(log)) @ self.p_x))
        uncertainty = perturbation + _LAW_ROUNDING
        return (self._leakage + uncertainty * (2.01 * slope + 2.1 * uncertainty)) * (1.0 + _LEAKAGE_ROUNDING)

    def blend(self, other: OutputLaw, share: float) -> OutputLaw:
        """The law of (1 − share)·this + share·other."""
        return OutputLaw(
            (1.0 - share) * self.mass + share * other.mass,
            (1.0 - share) * self.deviation + share * other.deviation,
            self.p_x,
        )


def output_law(p_xz: Array, estimator: Array, marginal: Pair | None = None) -> OutputLaw:
    """The law of (X, Ŷ) for a private joint p_xz [n, N] and an estimator [m, N].

    marginal: `sum_pair(p_xz)`, where it is at hand. A total of p_xz other than one is divided out.
    """
    p_x = sum_pair(p_xz) if marginal is None else marginal
    lift = faint_lift(p_x[0])
    lifted = np.ldexp(p_xz, lift[:, None]) if lift.any() else p_xz
    return law_of(expected_pair(estimator, lifted), p_x, lift)


def labelled_law(p_xz: Array, labels: NDArray[np.intp], count: int, marginal: Pair) -> OutputLaw:
    """The law of (X, label) for outcomes [N] that each have one of `count` labels; marginal as in `output_law`."""
    lift = faint_lift(marginal[0])
    lifted = np.ldexp(p_xz, lift[:, None]) if lift.any() else p_xz
    return law_of(labelled_pair(labels, count, lifted), marginal, lift)


def faint_lift(p_x: Array) -> NDArray[np.int32]:
    """Exponents e [n] that make p_x · 2^e of ordinary size; not 0 for private values so rare that products underflow."""
    faint = (p_x > 0.0) & (p_x < _FAINT)
    if not faint.any():
        return np.zeros(p_x.shape, dtype=np.int32)
    return np.where(faint, -np.frexp(p_x)[1], 0).astype(np.int32)


def law_of(joint: Pair, marginal: Pair, lift: NDArray[np.int32]) -> OutputLaw:
    """The law of (X, Ŷ) from u_ij = Pr(X = x_j, Ŷ = y_i), given times 2^lift_j [m, n], and the π_j (not lifted) [n]."""
    if not lift.any():
        mass = _row_sums(joint)
        return OutputLaw(mass[0], _deviation(joint, mass, marginal, _row_sums(marginal)), marginal[0])
    mass = _row_sums((np.ldexp(joint[0], -lift), np.ldexp(joint[1], -lift)))
    lifted = np.ldexp(marginal[0], lift), np.ldexp(marginal[1], lift)
    deviation = _scaled_outward(_deviation(joint, mass, lifted, _row_sums(marginal)), -lift)
    return OutputLaw(mass[0], deviation, marginal[0])


def _scaled_outward(values: Array, exponent: NDArray[np.signedinteger]) -> Array:
    """values · 2^exponent; where that is subnormal, rounded away from zero, so that nothing that leaks becomes nothing."""
    scaled = np.ldexp(values, exponent)
    short = np.abs(np.ldexp(scaled, -exponent)) < np.abs(values)
    return np.asarray(np.where(short, np.nextafter(scaled, np.copysign(np.inf, values)), scaled))


def _deviation(joint: Pair, mass: Pair, p_x: Pair, total: Pair) -> Array:
    """u_ij Σ π − s_i π_j [m, n], formed in twice the working precision."""
    expected = pair_product((mass[0][:, None], mass[1][:, None]), (-p_x[0], -p_x[1]))
    difference = pair_sum(pair_product(joint, total), expected)
    return difference[0] + difference[1]


def _row_sums(pairs: Pair) -> Pair:
    high = sum_pair(pairs[0])
    return high[0], high[1] + pairs[1].sum(axis=-1)


def fano_bound(equivocation_nats: float, n: int, *, sharp: bool = False) -> float:
    """Least error probability with which anybody can infer X (n values) from Ŷ, given H(X given Ŷ) in nats.

    The plain form is the paper's: (H − 1) / log2 n with H in *bits*, since the 1 in it is one bit; it is empty for n = 2.
    `sharp=True` solves h(e) + e·log(n − 1) = H for e, which is what the plain form weakens. Returns a probability ≥ 0.
    """
    if n <= 1:
        return 0.0
    bits = equivocation_nats / math.log(2.0)
    plain = max(0.0, (bits - 1.0) / math.log2(n))
    if not sharp:
        return plain
    return max(plain, _invert_fano(equivocation_nats, n))


def _invert_fano(equivocation_nats: float, n: int) -> float:
    def gap(e: float) -> float:
        binary = -sum(q * math.log(q) for q in (e, 1.0 - e) if q > 0)
        return binary + e * math.log(n - 1) - equivocation_nats

    low, high = 0.0, 1.0 - 1.0 / n  # the left side increases on this interval
    if gap(high) <= 0:
        return high
    for _ in range(200):
        middle = 0.5 * (low + high)
        if gap(middle) < 0:
            low = middle
        else:
            high = middle
    return low
