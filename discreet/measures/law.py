"""The joint law of (X, Ŷ) under an estimator, and its leakage with a small relative error, however
small the leakage is.

With u_i = A P_i, s_i = Σ_j u_ij and r_ij = u_ij / (π_j s_i), mutual information is Σ_i s_i Σ_j π_j
φ(r_ij). All terms are ≥ 0, so nothing cancels once r − 1 is known. The same holds for every other
measure. Here r − 1 is formed from double-double sums, so a leakage of 1e-14 nats still has ten
correct digits.

Source: docs/theory.md, sections 3 and 10.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.lazy import cached_property
from discreet.measures.measure import Measure, Scope
from discreet.measures.mutual_information import MUTUAL_INFORMATION
from discreet.numerics.double_double import (
    Array,
    DoubleDouble,
    dd_add,
    dd_multiply,
    dd_sum,
)
from discreet.numerics.estimators import Decisions
from discreet.numerics.rounding import (
    LEAST_EXACT,
    SMALLEST,
    UNIT,
)
from discreet.numerics.sums import lifted_rows

# Upper bound of the loss from forming, dividing and blending a u_ij with subnormal results.
_SUBNORMAL = 16.0 * SMALLEST
_FEW = 12  # up to this many entries, scalar arithmetic costs less than seventy array operations
_LARGEST_RATIO = 1e300  # only guesses of subnormal mass exceed it


@dataclass(frozen=True)
class OutputLaw:
    """The joint law of (X, Ŷ) under an estimator, stored so that leakage is computed without
    cancellation.

    mass        s_i = Pr(Ŷ = y_i)                              [m]
    deviation   Pr(X = x_j, Ŷ = y_i) − π_j s_i                  [m, n], with a small relative error
    p_x         π_j                                            [n]
    doubt       upper bound of the relative error of r_ij that comes from computing u_ij − π_j s_i
    off         upper bound of any further error of u_ij, if products underflowed or the masses of
                outcomes are inexact: [m, n], or 0. Each guess that is made has a positive mass or a
                positive entry here
    measure     the measure of leakage

    The law is linear in the estimator, so `blend` returns the law of a mixture of two estimators
    without a pass over the outcomes.
    """

    mass: Array
    deviation: Array
    p_x: Array
    doubt: float = 0.0
    off: Array | float = 0.0
    measure: Measure = MUTUAL_INFORMATION

    @cached_property
    def excess(self) -> Array:
        """Return (Φ P_i)_j = Pr(Ŷ = y_i given X = x_j) − Pr(Ŷ = y_i) [m, n]; 0 where π_j = 0."""
        return self.deviation / np.where(self.p_x > 0, self.p_x, np.inf)

    def ratio_minus_one(self) -> Array:
        """Return r_ij − 1 [m, n] with r_ij = p(x_j given ŷ_i) / p(x_j); 0 where Pr(Ŷ = y_i) = 0 or
        π_j = 0. The array is cached: do not modify it.
        """
        return self._ratio

    @cached_property
    def _ratio(self) -> Array:
        mass = self.mass[:, None]
        with np.errstate(over="ignore"):
            ratio = self.excess / np.where(mass > 0, mass, np.inf)
        return np.minimum(np.maximum(ratio, -1.0), _LARGEST_RATIO)

    @cached_property
    def is_constant(self) -> bool:
        """Return True if only one guess is ever made, so that the leakage is 0, provided that
        `doubt` is finite.
        """
        alone = np.count_nonzero(self.mass) == 1 and not np.any(self.off)
        return self.mass.size == 1 or alone

    def leakage(self) -> float:
        """Return an estimate of the leakage, ≥ 0. It loses digits if I(X; Ŷ) is below 1e-44 nats
        (docs/theory.md, section 10).
        """
        return self.measure.amount(self.level)

    @cached_property
    def level(self) -> float:
        """Return the level that the measure compares with its B: Σ_i s_i G(x_i), or a maximum over
        guesses; 0 if there is only one guess.
        """
        return (
            0.0 if self.is_constant else self._gather(self.mass, self.measure.excess, self._ratio)
        )

    def _gather(self, mass: Array, value: Callable[..., Array], *of: Array) -> float:
        """Combine a value of each guess by the scope of the measure. The value of a measure that is
        not Lipschitz may overflow.
        """
        if self.measure.steepness < np.inf:
            return float(mass @ value(*of, self.p_x))
        with np.errstate(over="ignore", invalid="ignore"):
            each = np.where(mass > 0.0, value(*of, self.p_x), 0.0)
            if self.measure.scope is Scope.POSTERIOR:
                return float(each.max())
            lost = SMALLEST * int(np.count_nonzero(each))  # upper bound if products underflow
            return (
                float(mass @ each if self.measure.scope is Scope.TOTAL else (mass * each).max())
                + lost
            )

    @cached_property
    def wrong(self) -> Array | float:
        """Return an upper bound of the further error of u_ij: `off`, plus the loss from arithmetic
        with subnormal numbers.
        """
        expected = self.mass[:, None] * self.p_x
        faint = (expected < LEAST_EXACT) & (self.mass > 0.0)[:, None] & (self.p_x > 0.0)
        return np.asarray(self.off + _SUBNORMAL * faint) if faint.any() else self.off

    def reach(self, perturbation: float) -> Array:
        """Return an upper bound of the distance of r_ij from 1 + `ratio_minus_one` [m, n].

        perturbation: relative change of all u_ij, below 1/3. Since s_i and π_j are sums of the
        u_ij, they change too (docs/theory.md, section 22, ceilings).
        """
        share = self.doubt + 4.0 * perturbation * (1.0 + 4.0 * perturbation)
        bounds = self._known_within(share)
        if isinstance(self.wrong, np.ndarray):
            ratio = 1.0 + self._ratio
            off = self._relative(self.wrong, self.mass)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                rows = self.wrong.sum(axis=1) / np.where(self.mass > 0.0, self.mass, SMALLEST)
                totals = rows[:, None] + self.wrong.sum(axis=0) / np.where(
                    self.p_x > 0.0, self.p_x, np.inf
                )
                more = (1.0 + share) * (off + 2.0 * totals * (ratio + off)) * (1.0 + 2.0**-40)
            bounds = bounds + np.where(totals <= 0.125, more, np.inf)
        return bounds

    def _known_within(self, share: float) -> Array:
        """Return an upper bound of |r_ij − (1 + x_ij)| for a relative error of r_ij. The error of
        |x| is at most 5 of the 8 units, and sums of both add one.
        """
        return (1.0 + self._ratio) * share + 8.0 * UNIT * np.abs(self._ratio)

    def _relative(self, wrong: Array, mass: Array) -> Array:
        """Return upper bounds of the errors of u_ij divided by s_i π_j; inf where that product
        underflows, 0 where π_j = 0.
        """
        expected = mass[:, None] * self.p_x - SMALLEST  # error of a subnormal product: half of it
        unknown = np.where((wrong > 0.0) & (self.p_x > 0.0), np.inf, 0.0)
        with np.errstate(over="ignore"):
            return np.divide(wrong, expected, out=unknown, where=expected > 0.0) * (
                1.0 + 8.0 * UNIT
            )

    def leakage_ceiling(self, perturbation: float = 0.0) -> float:
        """Return an upper bound of the exact leakage; 0 if X has only one value or there is only
        one guess.

        perturbation: the bound also holds for every law whose entries Pr(X = x_j, Ŷ = y_i) differ
        by at most this relative amount. Each entry of x then lies in an interval (docs/theory.md,
        section 10).
        """
        if (self.is_constant and perturbation < np.inf) or np.count_nonzero(self.p_x) <= 1:
            return 0.0
        measure = self.measure
        wrong = self.wrong
        doubt = self.doubt + perturbation
        if not doubt < 0.5:
            return np.inf
        x = self._ratio
        mass = self.mass
        if measure.steepness == np.inf:
            reach = self.reach(perturbation)
            doubt = doubt + 4.0 * perturbation * (1.0 + 4.0 * perturbation)
            mass = mass + np.sum(wrong, axis=-1)
        else:  # mutual information is smallest for the s_i and π_j of the law itself
            reach = self._known_within(doubt)
            if isinstance(wrong, np.ndarray):
                never = (mass == 0.0) & wrong.any(axis=1)
                mass = np.where(never, wrong.sum(axis=1), mass)
                x = np.where(never[:, None], -1.0, x)
                reach = reach + np.minimum(self._relative(wrong, mass), _LARGEST_RATIO)
        doubt += float(np.sum(wrong))
        if not reach.any():
            return 0.0
        worst = self._gather(mass, measure.excess_ceiling, x, reach)
        if measure.steepness < np.inf and (largest := x + reach).max() >= _LARGEST_RATIO:
            unknown = largest.max(axis=1) >= _LARGEST_RATIO
            worst += measure.steepness * float((mass + np.sum(wrong, axis=-1))[unknown].sum())
        worst = (
            worst * (1.0 + leakage_doubt(*x.shape[::-1])) / (1.0 - doubt) if doubt < 0.5 else np.inf
        )
        if not worst < np.inf:  # also if it is NaN
            return np.inf
        return worst if measure.growth == 0.0 else measure.amount(worst) * (1.0 + 8.0 * UNIT)

    def odds_ratios(self, perturbation: float | None = None) -> Array:
        """Return the factor by which guess i changes the odds of x_j against all other values [m,
        n]; 1 if a guess is never made.

        perturbation: None for an estimate; otherwise the result bounds the factors of every law
        whose entries differ by at most this relative amount.
        """
        possible = self.p_x > 0.0
        made = self.mass > 0.0
        high = low = 1.0 + self._ratio
        if perturbation is not None:
            if not perturbation < 1.0 / 3.0:
                return np.full(high.shape, np.inf)
            reach = self.reach(perturbation)
            high = high + reach
            low = np.maximum(low - reach, 0.0)
            made = made | np.any(self.wrong, axis=-1)
        # [n, n]: for each value, the probabilities of the other values
        weights = self.p_x * ~np.eye(self.p_x.size, dtype=np.bool_)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            ratios = high * weights.sum(axis=1) / (low @ weights.T)
        if perturbation is not None:
            ratios = np.where(
                np.isnan(ratios), np.inf, ratios * (1.0 + (4.0 * self.p_x.size + 32.0) * UNIT)
            )
        return np.where(made[:, None] & possible & (weights.sum(axis=1) > 0.0), ratios, 1.0)

    def blend(self, other: OutputLaw, share: float) -> OutputLaw:
        """Return the law of (1 − share)·self + share·other."""
        mass = (1.0 - share) * self.mass + share * other.mass
        off = (1.0 - share) * self.off + share * other.off
        if mass.min() < LEAST_EXACT:  # the mass of a guess may underflow here
            made = (
                (self.mass > 0.0)
                | (other.mass > 0.0)
                | np.any(self.off, axis=-1)
                | np.any(other.off, axis=-1)
            )
            vanished = made & (mass < LEAST_EXACT)
            off = off + _SUBNORMAL * vanished[:, None] if vanished.any() else off
        return OutputLaw(
            mass,
            (1.0 - share) * self.deviation + share * other.deviation,
            self.p_x,
            max(self.doubt, other.doubt),
            off,
            self.measure,
        )


def output_law(
    p_xz: Array,
    estimator: Array,
    marginal: DoubleDouble | None = None,
    measure: Measure = MUTUAL_INFORMATION,
) -> OutputLaw:
    """Return the law of (X, Ŷ) for a private joint p_xz [n, N] and an estimator [m, N].

    marginal: `dd_sum(p_xz)`, if it is already known. If p_xz does not sum to one, it is normalised.
    """
    p_x = dd_sum(p_xz) if marginal is None else marginal
    lift = faint_lift(p_x[0])
    return law_of(Decisions.of(estimator).sums(lifted_rows(p_xz, lift)), p_x, lift, measure)


def faint_lift(p_x: Array) -> NDArray[np.int32]:
    """Return exponents e [n] such that p_x · 2^e is of ordinary size, for private values so rare
    that products underflow; 0 for other values.
    """
    faint = (p_x > 0.0) & (p_x < 1e-200)
    return np.asarray(-np.frexp(p_x)[1] * faint, dtype=np.int32)


def law_of(
    joint: DoubleDouble,
    marginal: DoubleDouble,
    lift: NDArray[np.int32],
    measure: Measure = MUTUAL_INFORMATION,
    lost: Array | float = 0.0,
) -> OutputLaw:
    """Return the law of (X, Ŷ) for given u_ij = Pr(X = x_j, Ŷ = y_i).

    joint      u_ij · 2^lift_j [m, n], double-double
    marginal   π_j, not lifted [n], double-double
    lift       exponents [n]
    lost       upper bound of the error of u_ij · 2^lift_j from underflow [m, n], or 0
    """
    faint = lift.any()
    mass = row_sums(_scale(joint, -lift) if faint else joint)
    prior = _scale(marginal, lift) if faint else marginal
    formula = _one_by_one if joint[0].size <= _FEW else _deviation
    lifted = np.asarray(
        formula(*joint, *row_sums(marginal), mass[0][:, None], mass[1][:, None], *prior),
        dtype=np.float64,
    )
    deviation = _scale_outward(lifted, -lift) if faint else lifted
    off = lost
    if faint:  # without the lift, the mass of a guess may underflow to 0
        vanished = (mass[0] == 0.0) & joint[0].any(axis=1)
        off = (
            _scale_outward(lost + np.zeros(deviation.shape), -lift) + _SUBNORMAL * vanished[:, None]
        )
        off = off if off.any() else 0.0
    return OutputLaw(mass[0], deviation, marginal[0], ratio_doubt(deviation.shape[1]), off, measure)


def ratio_doubt(n: int) -> float:
    """Return an upper bound of the relative error of r_ij = u_ij Σπ / (s_i π_j), computed in
    double-double from given u and π.

    The two products have relative errors of 8u², their difference adds 3u² of both, and s_i and Σπ,
    whose low parts are plain sums of n terms, add n u². The total is (2n + 19) u² (r + 1), where 1
    ≤ 2r; smaller r may be less accurate, since r − 1 itself is rounded.
    """
    return (n + 32) * 2.0**-104


def leakage_doubt(n: int, m: int) -> float:
    """Return an upper bound of the relative rounding error of Σ_i s_i Σ_j π_j φ(r_ij) as computed
    from given r.

    The relative error of φ is at most 256u: where it is computed as r log r − (r − 1), the two
    terms are at most 22 φ in size and a logarithm has an error of 4 units in the last place. The
    sums add (n + m)u, the squared total probability adds 2 `TOTAL_ROUNDING` = 32u, and single
    roundings add 32u.
    """
    return (n + m + 320) * UNIT


def _deviation(*numbers: Array) -> Array:
    """Return u_ij Σ π − s_i π_j for double-double numbers u, Σ π, s and π."""
    joint, total, mass, (high, low) = zip(numbers[::2], numbers[1::2], strict=True)
    high, low = dd_add(dd_multiply(joint, total), dd_multiply(mass, (-high, -low)))
    return high + low


_one_by_one = np.frompyfunc(_deviation, 8, 1)


def _scale(numbers: DoubleDouble, exponent: NDArray[np.signedinteger]) -> DoubleDouble:
    return np.ldexp(numbers[0], exponent), np.ldexp(numbers[1], exponent)


def _scale_outward(values: Array, exponent: NDArray[np.signedinteger]) -> Array:
    """Return values · 2^exponent, with subnormal results rounded away from zero, so that no leakage
    is rounded to 0.
    """
    scaled = np.ldexp(values, exponent)
    short = np.abs(np.ldexp(scaled, -exponent)) < np.abs(values)
    return np.asarray(np.where(short, np.nextafter(scaled, np.copysign(np.inf, values)), scaled))


def total_of(marginal: DoubleDouble) -> float:
    """Return Σ_j π_j, rounded once, for double-double π_j [n]."""
    high, low = row_sums(marginal)
    return float(high + low)


def row_sums(numbers: DoubleDouble) -> DoubleDouble:
    """Return the sums of double-double numbers over the last axis, rounded to double-double."""
    high = dd_sum(numbers[0])
    return high[0], high[1] + numbers[1].sum(axis=-1)


def distance_from_private(law: OutputLaw) -> float:
    """Return max_ij |p(x_j given ŷ_i) / p(x_j) − 1| over the guesses that are made: how far one
    guess moves a belief about X. If products underflow, the result is an upper bound.
    """
    distance = np.abs(law.ratio_minus_one())
    if np.any(law.wrong) and not law.is_constant:
        distance = distance + law.reach(0.0)
    return float(distance.max())


def phi_residual(law: OutputLaw) -> float:
    """Return ‖Φ P‖∞ = max_ij |p(ŷ_i given x_j) − p(ŷ_i)|."""
    return float(np.abs(law.excess).max())
