"""What a measure of leakage is: for each guess a convex function of what it says about X, zero
where it says nothing.

With u_j = Pr(X = x_j, guess), s = Σ_j u_j and x_j = u_j/(π_j s) − 1, which is p(x_j given the
guess)/π_j − 1, a guess adds

    g(u) = s · G(x),   G ≥ 0 convex with G(0) = 0

so that g is convex and positively homogeneous: merging two guesses never adds to it. x is what
`law` computes without cancellation, hence every measure is a function of x. The constraint of a
budget is about B = `level`:

    Scope.TOTAL  Σ_i g(u_i) ≤ B Scope.SHARE g(u_i) ≤ B for each guess Scope.POSTERIOR G(x_i) ≤ B for
                 each guess

As a support function g(u) = max_{v in V} v·u, where V holds 0 and with a vector all smaller ones. A
tilt t_i with t_i·u ≤ μ g(u) for all u ≥ 0 is in μ V; any tilt is repaired by the least shift κ with
t_i − κ·1 in μ V (`Measure.support`). Under Scope.POSTERIOR the union of all μ V takes its place,
and a tilt says all; under Scope.SHARE each guess has its own μ_i, the least that its tilt allows
(`Measure.price`).

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
    """What a budget bounds; the value is the word for it in messages."""

    TOTAL = "the sum over all guesses"
    SHARE = "each guess, by its probability"
    POSTERIOR = "each guess, however rare"


class Contrast(Enum):
    """What decides a measure that is the largest over places of a table."""

    PAIR = "the rates of a guess in two groups"
    OTHERS = "the rates of a guess in a group and in all others"
    EACH = "the rate of each guess in some group"


class Cone(Enum):
    """The cones whose epigraph g(u) ≤ h of a smooth measure is made of, with s = Σ_j u_j and w = π
    s; the value is g(u).
    """

    ENTROPY = "Σ_j u_j log(u_j/w_j)"
    QUADRATIC = "Σ_j (u_j − w_j)²/w_j"
    POWER = "(Σ_j π_j^{1 − α} u_j^α)^{1/α} − s"


@dataclass(frozen=True)
class RatioTerms:
    """Convex functions ψ_j ≥ 0 with ψ_j(0) = 0 and g(u_i) ≤ q_i Σ_j ψ_j(W_ij/q_i − 1), whatever the
    mixture q_i of the rates of a guess is.

    value, slope, bend   ψ_j, ψ_j' and ψ_j'' of x [..., n]
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    bend: Callable[[Array], Array]


class Measure(ABC):
    """A measure of leakage; `str` gives the text that names it with its parameters
    (`registry.measure_of`).

    name       of the family; unit: of budgets; citation: where it is defined
    scope      what a budget bounds
    growth     c: B = e^{cε} − 1 for a budget of ε; 0: B = ε
    contrast   what decides it, if it is the largest over the places of a table
    cone       of a smooth measure; None if it has `pieces`
    steepness  upper bound of |slope| and of G whatever π is, if there is one and the scope is TOTAL
    separates  whether only guesses that say nothing about X leak nothing, so that budget 0 is
               perfect privacy
    conditional  whether it is about X given another variable: summed over groups of rows, each with
                 its own prior; of each single guess the largest of these
    """

    name: ClassVar[str]
    unit: ClassVar[str] = "nats"
    citation: ClassVar[str]
    scope: ClassVar[Scope] = Scope.TOTAL
    separates: ClassVar[bool] = True
    conditional: ClassVar[bool] = False
    steepness: ClassVar[float] = math.inf
    cone: ClassVar[Cone | None] = None
    contrast: ClassVar[Contrast | None] = None

    @property
    def growth(self) -> float:
        """c in B = e^{cε} − 1; 0 for B = ε."""
        return 0.0

    @property
    def order(self) -> float:
        """α of Cone.POWER."""
        raise NotImplementedError(f"{self.name} has no order")

    @property
    def suffix(self) -> str:
        """What names of numbers in its unit end with."""
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
        """The same measure of fewer private values, out of n; InputError if it is not about n
        values.
        """
        return self

    def excess(self, x: Array, p_x: Array) -> Array:
        """G(x_i) [m] of x [m, n] and π [n], accurate relative to itself."""
        return self.excess_ceiling(x, np.zeros_like(x), p_x)

    @abstractmethod
    def excess_ceiling(self, x: Array, reach: Array, p_x: Array) -> Array:
        """Upper bound [m] of G at every x' of mean 0 with |x' − x| ≤ reach [m, n], up to (n + 300)
        2⁻⁵³ of itself.
        """

    @abstractmethod
    def slope(self, x: Array, p_x: Array) -> Array:
        """A subgradient v [m, n] of g at u = s π (1 + x): v in V with v·u = g(u). Entries may be
        cut.
        """

    @abstractmethod
    def support(
        self, tilt: Array, p_x: Array, multiplier: float, level: float
    ) -> tuple[Array, Array]:
        """The least κ_i with t_i − κ_i in μ V [m], and sizes [m] of which its error is at most
        `sum_error(n)`.

        tilt [m, n], π [n] > 0 up to rounding, 0 < μ < ∞ (not read unless the scope is TOTAL), level
        B. An estimate that lies above κ_i is no error.
        """

    def pieces(self, p_x: Array, level: float) -> tuple[Array, ...] | None:
        """Matrices R [k, n] with g(u) = Σ_R max_k (R u)_k, under Scope.POSTERIOR with R u ≤ 0; None
        for smooth measures.
        """
        return None

    def curvature(self, x: Array, p_x: Array) -> tuple[Array, Array]:
        """The second derivative of a smooth G in x, diag(bend) − pull pull', as (bend, pull), both
        [m, n].
        """
        raise NotImplementedError(f"{self.name} is not smooth")

    def ceiling(self, tilt: Array, p_x: Array, multiplier: float, level: float) -> Array:
        """Upper bound of the least κ_i with t_i − κ_i in μ V [m]; κ_i ≤ max_j t_ij as V holds no
        less than all v ≤ 0.

        κ(t) = c + κ(t − c) for every number c. The mean is subtracted first, so that rounding is
        relative to differences; κ does not fall as an entry grows, so the differences are rounded
        upward. κ of c t and c μ is c κ for every c > 0. A power of two brings tilts to size 1, and
        no square of one underflows.
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
        """The sum of the multipliers of feasible tilts: what a unit of B costs in the dual bound,
        rounded upward.
        """
        return multiplier if self.scope is Scope.TOTAL else 0.0

    def dilution(self, leakage: float, budget: float) -> float:
        """The least share κ of guesses that ignore the person with which a rule of at most this
        leakage keeps a budget.

        g is convex and homogeneous, and 0 where the guess ignores X, so what is compared with B
        falls by the factor 1 − κ. Of measures of each posterior that is known only where the
        guesses have the law of the rule's own; `people.places` bounds them.
        """
        if leakage <= budget:
            return 0.0
        if self.scope is Scope.POSTERIOR or math.isinf(leakage):
            return 1.0
        return 1.0 - self.level(budget) / self.level(leakage) * (1.0 - OUTWARD)

    def diluted(self, leakage: float, share: float) -> float:
        """What a rule of at most this leakage leaks at most with that share of guesses that ignore
        the person.
        """
        if self.scope is Scope.POSTERIOR or math.isinf(leakage):
            return leakage
        return self.amount((1.0 - share) * self.level(leakage))

    def contributions(self, rates: Array, shares: Array) -> Array:
        """What guesses with these rates [k, n] add in groups with these shares [n]: g or, of each
        posterior, G.
        """
        mass = rates @ shares
        x = np.divide(rates, mass[:, None], out=np.ones_like(rates), where=mass[:, None] > 0) - 1.0
        with np.errstate(over="ignore"):
            value = self.excess(x, shares)
        if self.scope is not Scope.POSTERIOR:
            value = mass * np.where(mass > 0, value, 0.0)
        return np.asarray(value)

    def rates_ceiling(self, rates: Array, region: Region) -> Array:
        """b(W_i) [k] at rates [k, n] of one guess: what the guess adds is at most that for all π of
        the region.

        It is convex or, for measures of single guesses, quasi-convex.
        """
        raise InputError(f"limits of {self} are not known; use one of discreet.measures")

    def largest_level(self, region: Region) -> float:
        """Upper bound over the intervals of a region of what is compared with B; inf if none is
        known.

        A measure of single guesses is the largest of functions that grow or fall with each rate.
        """
        if self.scope is Scope.TOTAL:
            return math.inf
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return float(self.rates_ceiling(region.single_ends(), region).max())

    def level_from_information(self, information: Callable[[], float]) -> float:
        """Upper bound of what is compared with B from mutual information; inf if none is known."""
        return math.inf

    def asymptotic_level(self, tables: Array, level: float) -> float:
        """What is compared with B for many people, but with a probability that tends to `level`;
        inf where people are too few to say so. Raises InputError where it is not known.

        tables: how many people of each given value got each guess in each group [given, m, n]
        """
        raise InputError(f"no asymptotic limit of {self} is known; ask for the exact promise")

    def ratio_terms(self, region: Region) -> RatioTerms | None:
        """Functions of rates over their mixture of which g is at most the sum; None if none are
        known.
        """
        return None

    def least_leakage(self, region: Region) -> float:
        """Lower bound of the leakage over a region: here for sums of terms ≥ 0 that are linear in
        π.
        """
        return self.amount(float(region.share_low.sum()) * self.tangents_level(region))

    def tangents_level(self, region: Region) -> float:
        """The largest lower bound of Σ_i g(u_i) with the least shares, brought to a sum of one.

        From tangents at laws on the way from the table to independence; where the ratio of odds is
        limited, also from what is made by processing the guess.
        """
        if not region.share_low.any():
            return 0.0
        shares = region.share_low / region.share_low.sum()
        best = 0.0
        if region.odds is not None:
            first = region.least_apart()
            # Equal rates leak nothing, and rounding would make a little of it.
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
        """B, rounded upward."""
        if self.growth == 0.0:
            return budget
        exponent = self.growth * budget
        return (
            math.expm1(exponent) * (1.0 + (8.0 + 2.0 * exponent) * UNIT) + SMALLEST
            if exponent < 700.0
            else math.inf
        )

    def amount(self, level: float) -> float:
        """The budget whose B is the level, rounded to some units in the last place."""
        return level if self.growth == 0.0 else math.log1p(level) / self.growth

    def best_actions(self, p_x: Array) -> NDArray[np.intp]:
        """The actions of an adversary that are the best without a guess; none unless leakage is
        what an adversary gains.
        """
        return np.zeros(0, dtype=np.intp)


def sum_error(n: int) -> float:
    """Relative error of a support function that is a sum over n private values, at most."""
    return (n + 40) * UNIT


def largest_candidate(values: Array, sizes: Array, error: float) -> tuple[Array, Array]:
    """The candidate [m] with the largest upper bound of those [m, k] that err by `error` times
    their sizes; and its size.
    """
    index = (values + error * sizes).argmax(axis=1)[:, None]
    value = np.take_along_axis(values, index, axis=1)[:, 0]
    return value, np.take_along_axis(sizes, index, axis=1)[:, 0]


def ends(x: Array, reach: Array, p_x: Array) -> tuple[Array, Array]:
    """The least and the largest x' that may be meant: within reach, and of a probability; 0 where
    π_j = 0.
    """
    possible = p_x > 0.0
    most = np.divide(1.0 + 4.0 * UNIT, p_x, out=np.zeros_like(p_x), where=p_x > 2.0**-1020)
    most = np.where(possible & (most == 0.0), 2.0**1020, most)
    return np.maximum(x - reach, -1.0) * possible, np.minimum(x + reach, most) * possible


@np.errstate(over="ignore")
def remainder(x: Array, power: float) -> Array:
    """(1 + x)₊^power − 1 − power·x ≥ 0 for power > 1, accurate relative to itself; inf where that
    is too large.
    """
    near = np.abs(x) * (power + 1.0) < 0.1
    small = np.where(near, x, 0.0)
    term = np.ones_like(x)
    series = np.zeros_like(x)
    for k in range(1, 14):
        term = term * small * ((power - k + 1.0) / k)
        if k > 1:
            series = series + term
    kept = np.where(near, 0.0, x)
    log = np.log1p(np.maximum(kept, -1.0 + UNIT))
    far = np.where(
        kept > -1.0,
        (1.0 + kept) * np.expm1((power - 1.0) * log) - (power - 1.0) * kept,
        -1.0 - power * kept,
    )
    return np.where(near, series, far)


@np.errstate(over="ignore", invalid="ignore")
def remainder_ceiling(x: Array, power: float) -> Array:
    """Upper bound of `remainder` at x, but for 64 units of 2⁻⁵³ of itself; inf or not a number
    where that is too large.

    Outside its series `remainder` is (1 + x) (e^E − 1) − (power − 1) x with E = (power − 1) log(1 +
    x). The logarithm errs by 4 last places and the product by half of one. This changes E by 9
    units of |E|, and e^E by as many units of itself. The exponential and single roundings cost 11
    units of the first term and 2 of the second. The factors below are at least 1.5 times as large,
    which covers products of roundings.
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
