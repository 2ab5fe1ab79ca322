"""The arrays on which the iteration works, and the bracket that is its stopping rule.

Every constraint has groups of rows of p_xz with a prior of their own: all rows of a secret, or the
rows of one given value. With the share ω^g_l of the mass of outcome l that belongs to group g (1
for a secret), everything is stated per unit of outcome mass: losses c_il = L_il / w_l and features
f^g_l = a^g_l / w_l − ω^g_l π^g, so that an outcome of mass 1e-30 is as well scaled as any other.
The law of the guess in a group is s_i^g = Σ_l w_l ω^g_l P_il and dev_i^g = Σ_l w_l f^g_l P_il.
Every log ratio is log1p(dev / (π s)), so nothing cancels if the guess reveals almost nothing.

The stopping rule is the bracket that the best answers so far prove (`Incumbent`). Lower side: a
tilt costs cost_i^g = h_i(t^g, μ_c) − π^g·t_i^g = μ_c log Σ_j π_j exp((t_ij − π·t_i)/μ_c) ≥ 0, and

    Σ_l w_l min_i (c_il + Σ_g (f^g_l·t_i^g − ω^g_l cost_i^g)) − Σ_c μ_c ε_c

is a bound for every t and μ > 0. Upper side: the estimator itself or, if it leaks more than a
budget, its blend with a constant guess. The judge computes both again by its own method.

Source: weak duality, docs/theory.md.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.backends.contract import Duals
from discreet.backends.precision import Precision
from discreet.lazy import cached_property
from discreet.measures.law import OutputLaw, distance_from_private
from discreet.measures.mutual_information import phi_divergence
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import UNIT
from discreet.problems.blend import least_share
from discreet.problems.laws import Law, laws_of
from discreet.problems.problem import Problem


@dataclass(frozen=True)
class TiltedLaw:
    """The posteriors q_i that a tilt represents: log(q_ij/π_j) = (t_ij − h_i)/μ in each group.

    log_ratio    log(q_ij/π_j)                                      [m, n]
    excess       q_ij − π_j, with a small relative error            [m, n]
    divergence   KL(q_i^g ‖ π^g) in nats                            [m, G]
    cost         h_i(t^g, μ) − π^g·t_i^g ≥ 0, the cost of the tilt  [m, G]
    """

    log_ratio: Array
    excess: Array
    divergence: Array
    cost: Array


@dataclass(frozen=True)
class Outcomes:
    """A problem without zero-mass outcomes or private values, per unit of mass.

    cost        c_il [m, N]
    mass        w_l [N]
    joint       a_jl [n, N], the stacked rows of all groups
    feature     f_jl [n, N]; 0 in the rows of a constraint with an infinite budget
    share       ω^g_l [G, N]
    prior       π_j within the group [n]
    first_row, group      the first row of each group [G], and the group of each row [n]
    first_group, term     the first group of each constraint [C], and the constraint of each group
                          [G]
    budget      ε of each constraint in nats [C]
    target      the target leakage [C]: ε minus an allowance for rounding the entries of an
                estimator. So the answer need not be blended afterwards, which costs far more if the
                error probability is small
    """

    cost: Array
    mass: Array
    joint: Array
    feature: Array
    share: Array
    prior: Array
    first_row: NDArray[np.intp]
    group: NDArray[np.intp]
    first_group: NDArray[np.intp]
    term: NDArray[np.intp]
    budget: Array
    target: Array

    @classmethod
    def of(cls, problem: Problem, gap: float) -> Outcomes:
        """Return the arrays of a problem; the features are computed from double-double differences
        and are exact up to rounding.
        """
        joint = problem.p_xz
        terms = problem.terms
        lift = np.zeros(problem.n, dtype=np.int32)
        law = laws_of((joint.T, np.zeros_like(joint.T)), problem.marginal, lift, terms)
        feature = np.concatenate([group.deviation for group in law.groups], axis=1).T
        mass = problem.p_z
        sizes = np.array([group.stop - group.start for group in problem.groups])
        counts = np.array([len(term.groups) for term in terms])
        group = np.repeat(np.arange(sizes.size), sizes)
        term = np.repeat(np.arange(len(terms)), counts)
        budget = np.array([each.budget.amount for each in terms])
        undercut = np.array(Precision.of(problem, gap).undercuts)
        return cls(
            cost=problem.loss / mass,
            mass=mass,
            joint=joint,
            feature=np.where(np.isfinite(budget)[term[group], None], feature / mass, 0.0),
            share=np.array([group.mass for group in law.groups]) / mass,
            prior=np.concatenate([group.p_x for group in law.groups]),
            first_row=np.cumsum(sizes) - sizes,
            group=group,
            first_group=np.cumsum(counts) - counts,
            term=term,
            budget=budget,
            target=budget * (1.0 - undercut),
        )

    @cached_property
    def priced(self) -> NDArray[np.intp]:
        """The constraints with a positive finite budget, which have a multiplier."""
        return np.flatnonzero((self.budget > 0.0) & np.isfinite(self.budget))

    @cached_property
    def seen(self) -> Array:
        """The projector [n, n] onto the tilts that the features of private rows can distinguish.

        At budget 0 a tilt matters only through the features. With fewer outcomes than private
        values some directions have no effect, and a Newton step would contain only rounding errors
        in them.
        """
        projector = np.eye(self.prior.size)
        private = np.flatnonzero(self.budget[self.row_term] == 0.0)
        if private.size:
            left, values, _ = np.linalg.svd(self.feature[private], full_matrices=False)
            basis = left[:, values > private.size * UNIT * values[0]]
            projector[np.ix_(private, private)] = basis @ basis.T
        return projector

    @property
    def row_term(self) -> NDArray[np.intp]:
        """The constraint of each row [n]."""
        return self.term[self.group]

    @property
    def spread(self) -> float:
        """The mean difference between the worst and the best guess: the unit of costs."""
        return float(self.mass @ (self.cost.max(axis=0) - self.cost.min(axis=0)))

    @property
    def first_multipliers(self) -> Array:
        """The order of magnitude of μ [C]: near independence leakage is half a squared length, so μ
        decreases like 1/√(2ε).
        """
        with np.errstate(divide="ignore"):
            return np.asarray(0.3 * self.spread / np.sqrt(2.0 * self.budget))

    def by_group(self, values: Array) -> Array:
        """Return sums [m, G, …] over the rows of each group of values [m, n, …]."""
        return np.add.reduceat(values, self.first_row, axis=1)

    def by_term(self, values: Array) -> Array:
        """Return sums [C] over the groups of each constraint of values [G]."""
        return np.add.reduceat(values, self.first_group)

    def centre(self, tilt: Array) -> Array:
        """Return the tilt minus its prior mean in each group [m, n]."""
        return np.asarray(tilt - self.by_group(tilt * self.prior)[:, self.group])

    def constant(self) -> Array:
        """Return the best constant guess [m, N], which leaks nothing."""
        estimator = np.zeros(self.cost.shape)
        estimator[int(np.argmin(self.cost @ self.mass))] = 1.0
        return estimator

    def sums(self, estimator: Array) -> tuple[Array, Array]:
        """Return s_i^g [m, G] and dev_ij [m, n] under an estimator [m, N], in working precision."""
        weighted = estimator * self.mass
        return weighted @ self.share.T, weighted @ self.feature.T

    def law(self, estimator: Array) -> Law:
        """Return the joint laws of each secret and the guess under an estimator [m, N]."""
        mass, deviation = self.sums(estimator)
        rows = np.split(np.arange(self.prior.size), self.first_row[1:])
        groups = [
            OutputLaw(mass[:, number], deviation[:, own], self.prior[own])
            for number, own in enumerate(rows)
        ]
        ends = [*self.first_group[1:], len(groups)]
        spans = zip(self.first_group, ends, strict=True)
        return Law(tuple([tuple(groups[start:end]) for start, end in spans]))

    def error(self, estimator: Array) -> float:
        """Return the expected loss ⟨L, P⟩."""
        return float((self.cost * estimator * self.mass).sum())

    def tilted_law(self, prices: Duals) -> TiltedLaw:
        """Return the posteriors that the tilt represents.

        Under perfect privacy (μ = inf) every posterior is the prior and the tilt costs nothing.
        """
        multipliers = prices.multipliers[self.term]
        counts = (multipliers > 0.0) & np.isfinite(multipliers)
        x = self.centre(prices.tilt) / np.where(counts, multipliers, np.inf)[self.group]
        log_mean = self._log_mean_exp(x)
        log_ratio = x - log_mean[:, self.group]
        ratio = np.expm1(log_ratio)
        return TiltedLaw(
            log_ratio,
            self.prior * ratio,
            self.by_group(phi_divergence(ratio) * self.prior),
            np.where(counts, multipliers, 0.0) * log_mean,
        )

    def _log_mean_exp(self, x: Array) -> Array:
        """Return log Σ_j π_j exp(x_ij) in each group [m, G], for rows with Σ_j π_j x_ij = 0; it is
        of second order in x, with a small relative error.
        """
        largest = np.maximum.reduceat(x, self.first_row, axis=1)
        small = np.maximum.reduceat(np.abs(x), self.first_row, axis=1) <= 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            # exp(x) − 1 − x with full relative accuracy.
            remainder = np.exp(x) * phi_divergence(np.expm1(-x))
            log_mean = np.log1p(self.by_group(remainder * self.prior))
            shifted = np.exp(x - largest[:, self.group])
            far = largest + np.log(self.by_group(shifted * self.prior))
        return np.where(small, log_mean, far)

    def tilted_costs(self, tilt: Array, law: TiltedLaw) -> Array:
        """Return c_il + Σ_g (f^g_l·t_i^g − ω^g_l cost_i^g) [m, N], which the optimal rule minimises
        over i.
        """
        return self.cost + tilt @ self.feature - law.cost @ self.share

    def lower(self, prices: Duals) -> float:
        """Return a lower bound of the error probability of every feasible estimator, proved by any
        tilt and μ > 0.
        """
        smallest = self.tilted_costs(prices.tilt, self.tilted_law(prices)).min(axis=0)
        paid = prices.multipliers[self.priced] @ self.budget[self.priced]
        return float(self.mass @ smallest - paid)

    def upper(self, estimator: Array) -> tuple[float, Array]:
        """Return the error probability of the estimator, blended with the best constant guess if it
        leaks too much, and the blend.

        An estimator that leaks although perfect privacy is required has error probability inf.
        """
        law = self.law(estimator)
        for budget, groups in zip(self.budget, law.constraints, strict=True):
            if budget == 0.0 and max(map(distance_from_private, groups)) > Precision.private:
                return math.inf, estimator
        over = (law.leakages > self.budget) & (self.budget > 0.0)
        if over.any():
            targets = np.where(over, self.target, math.inf)
            constant = self.constant()
            share = least_share(law, self.law(constant), targets, 0.0)
            share = 1.0 if share is None else share
            estimator = (1.0 - share) * estimator + share * constant
        return self.error(estimator), estimator


class Incumbent:
    """The best feasible estimator [m, N] and the best prices so far. It starts from a constant
    guess and no tilt.

    `gap`, relative, `most_passes` and `deadline`, on the clock of time.perf_counter, determine when
    to stop. `passes` counts sweeps over the outcomes; `stalled` counts consecutive offers that
    hardly narrowed the bracket.
    """

    def __init__(self, outcomes: Outcomes, gap: float, most_passes: int, deadline: float) -> None:
        self._outcomes = outcomes
        self.gap = gap
        self.most_passes = most_passes
        self.deadline = deadline
        self.estimator = outcomes.constant()
        no_tilt = np.zeros((len(outcomes.cost), outcomes.prior.size))
        self.prices = Duals(no_tilt, np.where(outcomes.budget == 0.0, math.inf, 0.0))
        self.upper = outcomes.error(self.estimator)
        self.lower = float(outcomes.mass @ outcomes.cost.min(axis=0))
        self.stalled = 0
        self.passes = 0

    def offer(self, estimator: Array, prices: Duals) -> None:
        """Keep an estimator or prices that improve either side."""
        before = self.upper - self.lower
        upper, feasible = self._outcomes.upper(estimator)
        if upper < self.upper:
            self.upper = upper
            self.estimator = feasible
        lower = self._outcomes.lower(prices)
        if lower > self.lower:
            self.lower = lower
            self.prices = prices
        self.stalled = (
            0 if self.upper - self.lower < Precision.stalled * before else self.stalled + 1
        )

    def verdict(self) -> str:
        """Return the reason to stop, in words; empty to continue."""
        if self.upper - self.lower <= self.gap * abs(self.upper):
            return "optimal"
        if self.passes >= self.most_passes:
            return "iteration limit"
        return "time limit" if time.perf_counter() >= self.deadline else ""
