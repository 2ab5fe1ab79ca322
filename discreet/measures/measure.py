"""The interface of a measure of leakage: a convex function of each guess, which is zero if the
guess reveals nothing about X.

With u_j = Pr(X = x_j, guess), s = Σ_j u_j and x_j = u_j/(π_j s) − 1, which is p(x_j given the
guess)/π_j − 1, a guess adds

    g(u) = s · G(x),   G ≥ 0 convex with G(0) = 0

to the leakage. So g is convex and positively homogeneous: merging two guesses never increases the
leakage. `law` computes x without cancellation, hence every measure is a function of x. A budget
bounds the leakage by B = `level`:

    Scope.TOTAL      Σ_i g(u_i) ≤ B
    Scope.SHARE      g(u_i) ≤ B for each guess
    Scope.POSTERIOR  G(x_i) ≤ B for each guess

g is the support function g(u) = max_{v in V} v·u of a set V that contains 0 and, with each vector,
all smaller ones. A tilt t_i satisfies t_i·u ≤ μ g(u) for all u ≥ 0 exactly if it lies in μ V.
`Measure.support` returns the least shift κ that moves t_i − κ·1 into μ V. Under Scope.POSTERIOR the
union of all μ V replaces μ V, and a tilt needs no multiplier. Under Scope.SHARE each guess has its
own multiplier μ_i, the least that its tilt permits (`Measure.price`).

Source: docs/decisions/0006-measures.md; docs/theory.md, section 22.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.measures.region import OUTWARD, Region
from discreet.numerics.double_double import Array, difference_below
from discreet.numerics.rounding import SMALLEST, UNIT


class Scope(Enum):
    """The quantity that a budget bounds; each value is its description in messages."""

    TOTAL = "the sum over all guesses"
    SHARE = "each guess, by its probability"
    POSTERIOR = "each guess, however rare"


class Contrast(Enum):
    """The rates that determine a measure which is a maximum over single guesses."""

    DIFFERENCE = "the difference of the rates of a guess in two groups"
    PAIR = "the rates of a guess in two groups"
    OTHERS = "the rates of a guess in a group and in all others"
    EACH = "the rate of each guess in some group"


class Cone(Enum):
    """The cone that expresses the epigraph g(u) ≤ h of a smooth measure, with s = Σ_j u_j and w = π
    s; each value is the formula of g(u).
    """

    ENTROPY = "Σ_j u_j log(u_j/w_j)"
    QUADRATIC = "Σ_j (u_j − w_j)²/w_j"
    POWER = "(Σ_j π_j^{1 − α} u_j^α)^{1/α} − s"


@dataclass(frozen=True)
class RatioTerms:
    """Convex functions ψ_j ≥ 0 with ψ_j(0) = 0 and g(u_i) ≤ q_i Σ_j ψ_j(W_ij/q_i − 1) for every
    mixture q_i of the rates of a guess.

    value   ψ_j  of x [..., n]
    slope   ψ_j' of x [..., n]
    bend    ψ_j'' of x [..., n]
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    bend: Callable[[Array], Array]


class Measure(ABC):
    """A measure of leakage; `str` returns its name and parameters, which `registry.measure_of`
    reads.

    name         name of the family
    unit         unit of the leakage and of budgets
    citation     the publication that defines it
    scope        what a budget bounds
    growth       c: B = e^{cε} − 1 for a budget of ε; 0: B = ε
    contrast     the rates that determine it, if it is a maximum over the places of a table
    cone         cone of a smooth measure; None if the measure has `pieces`
    steepness    upper bound of |slope| and of G for every π, if there is one and the scope is TOTAL
    separates    True if only guesses that are independent of X leak nothing, so that budget 0 means
                 perfect privacy
    conditional  True if the leakage is about X given another variable: it is summed over groups of
                 rows, each with its own prior; a measure of single guesses takes the largest
    """

    name: ClassVar[str]
    unit: ClassVar[str] = "nats"
    citation: ClassVar[str]
    growth: float = 0.0
    scope: ClassVar[Scope] = Scope.TOTAL
    separates: ClassVar[bool] = True
    conditional: ClassVar[bool] = False
    steepness: ClassVar[float] = math.inf
    cone: ClassVar[Cone | None] = None
    contrast: ClassVar[Contrast | None] = None

    @property
    def order(self) -> float:
        """Return the exponent α of Cone.POWER."""
        raise NotImplementedError(f"{self.name} has no order")

    @property
    def suffix(self) -> str:
        """Return the suffix of the names of numbers in the unit of this measure."""
        return f"_{self.unit}" if self.unit else ""

    @property
    def given_one(self) -> Measure:
        """The measure about those with one given value; itself if it is not conditional."""
        return self

    @property
    def design(self) -> Measure:
        """By which rules are designed that are to leak little by this one."""
        return self

    def design_budget(self, amount: float) -> float:
        """About the budget by `design` of a rule that leaks this amount."""
        return amount

    def amount_of_design(self, budget: float) -> float:
        """The inverse of `design_budget`."""
        return budget

    def __str__(self) -> str:
        return self.name

    def on(self, values: NDArray[np.intp], n: int) -> Measure:
        """Return this measure for the kept private values [k] of n; raise InputError if its
        parameters are for another number of values than n.
        """
        return self

    def excess(self, x: Array, p_x: Array) -> Array:
        """Return G(x_i) [m] for x [m, n] and π [n], with a small relative error."""
        return self.excess_ceiling(x, np.zeros_like(x), p_x)

    @abstractmethod
    def excess_ceiling(self, x: Array, reach: Array, p_x: Array) -> Array:
        """Return an upper bound [m] of G at every x' of mean 0 with |x' − x| ≤ reach [m, n], up to
        a relative rounding error of (n + 300) 2⁻⁵³.
        """

    @abstractmethod
    def slope(self, x: Array, p_x: Array) -> Array:
        """Return a subgradient v [m, n] of g at u = s π (1 + x): v lies in V and v·u = g(u).
        Entries may be truncated.
        """

    @abstractmethod
    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """Return the least κ_i with t_i − κ_i in μ V [m], and sizes [m]; the error of κ_i is at
        most `sum_error(n)` times its size.

        tilt [m, n], π [n] > 0 up to rounding, 0 < μ < ∞ (ignored unless the scope is TOTAL), level
        B. An estimate above κ_i is allowed.
        """

    def pieces(self, p_x: Array, level: float) -> tuple[Array, ...] | None:
        """Return matrices R [k, n] with g(u) = Σ_R max_k (R u)_k, or with the constraints R u ≤ 0
        under Scope.POSTERIOR; None for smooth measures.
        """
        return None

    def curvature(self, x: Array, p_x: Array) -> tuple[Array, Array]:
        """Return the second derivative of a smooth G in x as (bend, pull), both [m, n]: it is
        diag(bend) − pull pull'.
        """
        raise NotImplementedError(f"{self.name} is not smooth")

    def ceiling(self, tilt: Array, p_x: Array, multiplier: float, level: float) -> Array:
        """Return an upper bound of the least κ_i with t_i − κ_i in μ V [m]; κ_i ≤ max_j t_ij, since
        V contains all v ≤ 0.

        κ(t) = c + κ(t − c) for every number c. The mean is subtracted first, so that rounding is
        relative to differences. κ does not decrease as an entry grows, so the differences are
        rounded upward. For every c > 0, κ of c t and c μ is c κ. Scaling by a power of two brings
        the tilts to size 1, so that no square of a tilt underflows.
        """
        total = p_x.sum()
        largest = tilt.max(axis=1)
        if multiplier == 0.0 and self.scope is Scope.TOTAL:
            return np.asarray(largest)
        centre = (tilt @ p_x) / total
        exponent = int(np.frexp(np.abs(tilt).max())[1])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            apart = np.ldexp(-difference_below(centre[:, None], tilt), -exponent)
            price = float(np.ldexp(multiplier, -exponent))
            value, size = self.support(apart, p_x / total, price, level)
            value = np.ldexp(
                value + sum_error(p_x.size) * size + 8.0 * SMALLEST * p_x.size, exponent
            )
            value = (
                centre + value + 2.0 * UNIT * (np.abs(centre) + np.abs(value)) + SMALLEST * p_x.size
            )
        return np.asarray(np.where(np.isfinite(value), np.minimum(value, largest), largest))

    def price(self, tilt: Array, p_x: Array, multiplier: float) -> float:
        """Return the sum of the multipliers of feasible tilts, rounded upward: the coefficient of B
        in the dual bound.
        """
        return multiplier if self.scope is Scope.TOTAL else 0.0

    def dilution(self, leakage: float, budget: float) -> float:
        """Return the least share κ of guesses drawn independently of the person with which a rule
        of at most this leakage satisfies a budget.

        g is convex and homogeneous, and 0 if the guess is independent of X, so dilution multiplies
        the level by 1 − κ. Measures of each posterior satisfy this only if the independent guesses
        have the same law as the guesses of the rule; `people.places` bounds them.
        """
        if leakage <= budget:
            return 0.0
        if self.scope is Scope.POSTERIOR or math.isinf(leakage):
            return 1.0
        return 1.0 - self.level(budget) / self.level(leakage) * (1.0 - OUTWARD)

    def diluted(self, leakage: float, share: float) -> float:
        """Return an upper bound of the leakage of a rule with at most this leakage once a share of
        its guesses is drawn independently of the person.
        """
        if self.scope is Scope.POSTERIOR or math.isinf(leakage):
            return leakage
        return self.amount((1.0 - share) * self.level(leakage))

    def contributions(self, rates: Array, shares: Array) -> Array:
        """Return g [k] of guesses with these rates [k, n] in groups with these shares [n], or G [k]
        for a measure of each posterior.
        """
        mass = rates @ shares
        x = np.divide(rates, mass[:, None], out=np.ones_like(rates), where=mass[:, None] > 0) - 1.0
        with np.errstate(over="ignore"):
            value = self.excess(x, shares)
        if self.scope is not Scope.POSTERIOR:
            value = mass * np.where(mass > 0, value, 0.0)
        return np.asarray(value)

    def rates_ceiling(self, rates: Array, region: Region) -> Array:
        """Return b(W_i) [k] for rates [k, n] of single guesses: an upper bound of what each guess
        adds, for every π of the region.

        It is convex or, for measures of single guesses, quasi-convex.
        """
        raise InputError(f"limits of {self} are not known; use one of discreet.measures")

    def largest_level(self, region: Region) -> float:
        """Return an upper bound of the level over the intervals of a region; inf if none is known.

        A measure of single guesses is a maximum of functions that are monotone in each rate.
        """
        if self.scope is Scope.TOTAL:
            return math.inf
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return float(self.rates_ceiling(region.single_ends(), region).max())

    def level_from_information(self, information: Callable[[], float]) -> float:
        """Return an upper bound of the level, computed from mutual information; inf if none is
        known.
        """
        return math.inf

    def asymptotic_level(self, tables: Array, level: float) -> float:
        """Return an upper limit of the level that fails with a probability which tends to `level`
        as the number of people grows; inf if there are too few people. Raise InputError if no such
        limit is known.

        tables: number of people by given value, guess and group [given, m, n]
        """
        raise InputError(f"no asymptotic limit of {self} is known; ask for the exact promise")

    def ratio_terms(self, region: Region) -> RatioTerms | None:
        """Return functions of rates over their mixture whose sum bounds g from above; None if none
        are known.
        """
        return None

    def least_leakage(self, region: Region) -> float:
        """Return a lower bound of the leakage over a region. This default is for sums of terms ≥ 0
        that are linear in π.
        """
        return self.amount(float(region.share_low.sum()) * self.tangents_level(region))

    def tangents_level(self, region: Region) -> float:
        """Return the largest lower bound found for Σ_i g(u_i), with the least shares scaled to a
        sum of one.

        The bounds come from tangents at laws on the segment from the table to independence and, if
        the odds ratio is bounded, from rates that processing of the guess can produce.
        """
        if not region.share_low.any():
            return 0.0
        shares = region.share_low / region.share_low.sum()
        best = 0.0
        if region.odds is not None:
            first = region.least_apart()
            # Equal rates leak nothing; rounding would give a small positive value.
            if (first[:, 0] != first[:, 1]).all():
                with np.errstate(divide="ignore", invalid="ignore"):
                    both = [self.contributions(rates, shares) for rates in (first, 1.0 - first)]
                best = float((both[0] + both[1]).min())
        flat = (region.rates @ shares)[:, None]
        for part in np.linspace(0.0, 1.0, 25)[:-1]:
            at = (1.0 - part) * region.rates + part * flat
            mass = (at @ shares)[:, None]
            x = np.divide(at, mass, out=np.ones_like(at), where=mass > 0.0) - 1.0
            best = max(best, region.least_sum(self.slope(x, shares) * shares))
        return best * (1.0 - OUTWARD)

    def level(self, budget: float) -> float:
        """Return B for a budget, rounded upward."""
        if self.growth == 0.0:
            return budget
        exponent = self.growth * budget
        return (
            math.expm1(exponent) * (1.0 + (8.0 + 2.0 * exponent) * UNIT) + SMALLEST
            if exponent < 700.0
            else math.inf
        )

    def amount(self, level: float) -> float:
        """Return the budget whose B is the level, with an error of a few units in the last
        place.
        """
        return level if self.growth == 0.0 else math.log1p(level) / self.growth

    def best_actions(self, p_x: Array) -> NDArray[np.intp]:
        """Return the actions of an adversary that are optimal without a guess; an empty array
        unless leakage is the gain of an adversary.
        """
        return np.zeros(0, dtype=np.intp)


def sum_error(n: int) -> float:
    """Return an upper bound of the relative error of a support function that is a sum over n
    private values.
    """
    return (n + 40) * UNIT


def largest_candidate(values: Array, sizes: Array, error: float) -> tuple[Array, Array]:
    """Return, for each row of candidates [m, k] whose errors are at most `error` times their sizes,
    the candidate with the largest upper bound, and its size [m].
    """
    index = (values + error * sizes).argmax(axis=1)[:, None]
    value = np.take_along_axis(values, index, axis=1)[:, 0]
    return value, np.take_along_axis(sizes, index, axis=1)[:, 0]


def ends(x: Array, reach: Array, p_x: Array) -> tuple[Array, Array]:
    """Return the least and the largest x' [m, n] within `reach` of x that belong to a probability;
    0 where π_j = 0.
    """
    possible = p_x > 0.0
    most = np.divide(1.0 + 4.0 * UNIT, p_x, out=np.zeros_like(p_x), where=p_x > 2.0**-1020)
    most = np.where(possible & (most == 0.0), 2.0**1020, most)
    return np.maximum(x - reach, -1.0) * possible, np.minimum(x + reach, most) * possible


@np.errstate(over="ignore")
def remainder(x: Array, power: float) -> Array:
    """Return (1 + x)₊^power − 1 − power·x ≥ 0 for power > 1, with a small relative error; inf on
    overflow.
    """
    is_small = np.abs(x) * (power + 1.0) < 0.1
    small = np.where(is_small, x, 0.0)
    term = np.ones_like(x)
    series = np.zeros_like(x)
    for k in range(1, 14):
        term = term * small * ((power - k + 1.0) / k)
        if k > 1:
            series = series + term
    kept = np.where(is_small, 0.0, x)
    log = np.log1p(np.maximum(kept, -1.0 + UNIT))
    far = np.where(
        kept > -1.0,
        (1.0 + kept) * np.expm1((power - 1.0) * log) - (power - 1.0) * kept,
        -1.0 - power * kept,
    )
    return np.where(is_small, series, far)


@np.errstate(over="ignore", invalid="ignore")
def remainder_ceiling(x: Array, power: float) -> Array:
    """Return an upper bound of `remainder` at x, up to a relative error of 64 units of 2⁻⁵³; inf or
    NaN on overflow.

    Outside its series, `remainder` is (1 + x) (e^E − 1) − (power − 1) x with E = (power − 1) log(1
    + x). The logarithm has an error of 4 units in the last place, and the product of half a unit.
    This changes E by 9 units of |E|, and e^E by the same relative amount. The exponential and
    single roundings cost 11 units of the first term and 2 of the second. The factors below are at
    least 1.5 times as large, which covers products of roundings.
    """
    base = 1.0 + np.maximum(x, -1.0)
    exponent = (power - 1.0) * np.log1p(np.maximum(x, -1.0 + UNIT))
    growth = np.expm1(exponent)
    doubt = base * (14.0 * (1.0 + growth) * np.abs(exponent) + 18.0 * np.abs(growth)) + 3.0 * (
        power - 1.0
    ) * np.abs(x)
    return np.asarray(
        remainder(x, power) + UNIT * np.where(np.abs(x) * (power + 1.0) < 0.1, 0.0, doubt)
    )
