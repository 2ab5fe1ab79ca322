"""The arrays on which both iterations work, and the bracket that is their stopping rule.

Everything is per unit of outcome mass: conditional losses c_il = L_il / w_l and features f_l = a_l
/ w_l − π, so that an outcome of mass 1e-30 is as well scaled as any other. The output law of an
estimator is s_i = Σ_l w_l P_il and dev_i = Σ_l w_l f_l P_il; every log ratio is log1p(dev / (π s)),
so nothing cancels when the guess reveals almost nothing.

The stopping rule is a bracket of the optimum (`Bracket`). Lower side: a tilt costs cost_i = h_i(t,
μ) − π·t_i = μ log Σ_j π_j exp((t_ij − π·t_i)/μ) ≥ 0, and Σ_l w_l min_i (c_il + f_l·t_i − cost_i) −
μ ε is a bound for every t and μ > 0. Upper side: the estimator itself, or its blend with a
leak-free one when it leaks more than ε. The judge recomputes both in its own way.

Source: weak duality, docs/theory.md.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from discreet.backends.contract import Duals
from discreet.backends.precision import Precision
from discreet.backends.repairs import blended
from discreet.problems.measures.law import OutputLaw, distance_from_private, law_of
from discreet.problems.measures.laws import Law
from discreet.problems.measures.mutual_information import phi_divergence
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem


@dataclass(frozen=True)
class TiltedLaw:
    """What a tilt [m, n] at a multiplier μ stands for: the posteriors q_i with log(q_ij/π_j) =
    (t_ij − h_i)/μ.

    log_ratio    log(q_ij/π_j)                                      [m, n]
    excess       q_ij − π_j, accurate relative to itself             [m, n]
    divergence   KL(q_i ‖ π) in nats                                [m]
    cost         h_i(t, μ) − π·t_i ≥ 0, what the tilt costs         [m]
    """

    log_ratio: Array
    excess: Array
    divergence: Array
    cost: Array


@dataclass(frozen=True)
class Outcomes:
    """A problem without zero-mass outcomes or private values, per unit of mass.

    cost      c_il = L_il / w_l                                     [m, N]
    feature   f_jl = a_jl / w_l − π_j [n, N], columns sum to 0, mass-weighted rows too
    joint     a_jl                                                  [n, N]
    mass      w_l                                                   [N]
    prior     π_j                                                   [n]
    budget    ε in nats
    target    the leakage aimed at: ε less what rounding an estimator's entries can add. So the
              answer need not be blended afterwards, which costs far more when the error probability
              is small
    """

    cost: Array
    feature: Array
    joint: Array
    mass: Array
    prior: Array
    budget: float
    target: float

    @classmethod
    def of(cls, problem: Problem, precision: Precision) -> Outcomes:
        """The arrays of a problem; the features come from double-double differences and are exact
        to rounding.
        """
        joint = problem.p_xz
        # Of (X, Z)
        law = law_of(
            (joint.T, np.zeros_like(joint.T)), problem.marginal, np.zeros(problem.n, dtype=np.int32)
        )
        feature = np.ascontiguousarray(law.deviation.T / law.mass)
        target = problem.budget * (1.0 - precision.undercut)
        return cls(
            problem.loss / law.mass, feature, joint, law.mass, problem.p_x, problem.budget, target
        )

    @property
    def perfect(self) -> bool:
        """Budget 0: the tilts are unconstrained and cost only their own prior mean."""
        return self.budget == 0.0

    @property
    def size(self) -> int:
        """How many private values there are."""
        return self.prior.size

    @property
    def spread(self) -> float:
        """Mean difference between the worst and the best guess: the unit of costs."""
        return float(self.mass @ (self.cost.max(axis=0) - self.cost.min(axis=0)))

    def constant(self) -> Array:
        """The best constant guess [m, N], which leaks nothing."""
        estimator = np.zeros(self.cost.shape)
        estimator[int(np.argmin(self.cost @ self.mass))] = 1.0
        return estimator

    def law(self, estimator: Array) -> OutputLaw:
        """The joint law of (X, Ŷ) under an estimator [m, N], in working precision."""
        weighted = estimator * self.mass
        return OutputLaw(weighted.sum(axis=1), weighted @ self.feature.T, self.prior)

    def log_ratios(self, estimator: Array) -> Array:
        """v_ij = log(p(x_j given ŷ_i)/π_j) [m, n]; 0 for a guess that is never made; at least
        `Precision.log_zero`.
        """
        law = self.law(estimator)
        ratio = law.ratio_minus_one()
        base = law.mass[:, None] * self.prior
        direct = np.divide(estimator @ self.joint.T, base, out=np.ones_like(base), where=base > 0.0)
        with np.errstate(divide="ignore"):
            logs = np.where(ratio > -0.5, np.log1p(np.maximum(ratio, -0.5)), np.log(direct))
        return np.maximum(logs, Precision.log_zero)

    def error(self, estimator: Array) -> float:
        """⟨L, P⟩."""
        return float((self.cost * estimator * self.mass).sum())

    def tilted_law(self, tilt: Array, multiplier: float) -> TiltedLaw:
        """What the tilt stands for. At budget 0 (μ = inf) every posterior is the prior and the tilt
        costs nothing.
        """
        zero = np.zeros_like(tilt)
        if self.perfect:
            return TiltedLaw(zero, zero, zero[:, 0], zero[:, 0])
        return tilted_law(tilt, multiplier, self.prior)

    def tilted_costs(self, tilt: Array, law: TiltedLaw) -> Array:
        """c_il + f_l·t_i − cost_i [m, N]: what the optimal rule minimises over i."""
        return self.cost + tilt @ self.feature - law.cost[:, None]

    def lower(self, tilt: Array, multiplier: float) -> float:
        """The error probability that no feasible estimator beats, proved by any tilt [m, n] and μ >
        0.
        """
        smallest = self.tilted_costs(tilt, self.tilted_law(tilt, multiplier)).min(axis=0)
        price = 0.0 if self.perfect else multiplier * self.budget
        return float(self.mass @ smallest) - price

    def upper(self, estimator: Array, leak_free: Array) -> tuple[float, Array]:
        """Error probability of the estimator, blended with a leak-free one if it leaks too much,
        and the blend.

        At budget 0 an estimator that leaks has error probability inf.
        """
        law = self.law(estimator)
        if self.perfect:
            private = distance_from_private(law) <= Precision.private
            return self.error(estimator) if private else math.inf, estimator
        if law.leakage() > self.budget:
            estimator = blended(
                estimator, Law(((law,),)), leak_free, Law(((self.law(leak_free),),)), self.target
            )
        return self.error(estimator), estimator


def tilted_law(tilt: Array, multiplier: float, prior: Array) -> TiltedLaw:
    """What a tilt [m, n] stands for, of a prior [n], at 0 < μ < ∞."""
    x = (tilt - (tilt @ prior)[:, None]) / multiplier
    log_mean = _log_mean_exp(x, prior)
    log_ratio = x - log_mean[:, None]
    ratio = np.expm1(log_ratio)
    return TiltedLaw(log_ratio, prior * ratio, phi_divergence(ratio) @ prior, multiplier * log_mean)


def _log_mean_exp(x: Array, prior: Array) -> Array:
    """log Σ_j π_j exp(x_ij) for rows with Σ_j π_j x_ij = 0: second order in x, and accurate as
    such.
    """
    largest = x.max(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        # exp(x) − 1 − x, to full relative accuracy
        near = np.log1p((np.exp(x) * phi_divergence(np.expm1(-x))) @ prior)
        far = largest + np.log(np.exp(x - largest[:, None]) @ prior)
    return np.where(np.abs(x).max(axis=1) <= 1.0, near, far)


class Bracketed(Protocol):
    """Outcomes of one secret or of several: what a bracket asks of them. Of several there is a
    multiplier for each.
    """

    @property
    def cost(self) -> Array: ...
    @property
    def mass(self) -> Array: ...
    @property
    def size(self) -> int: ...
    @property
    def perfect(self) -> bool: ...
    def constant(self) -> Array: ...
    def error(self, estimator: Array) -> float: ...
    def lower(self, tilt: Array, multiplier: Any) -> float: ...
    def upper(self, estimator: Array, leak_free: Array) -> tuple[float, Array]: ...


class Bracket:
    """The best feasible estimator [m, N] and the best duals seen so far. It starts from a constant
    guess and no tilt.

    `gap`, relative, `most_passes` and `deadline`, on the clock of time.perf_counter, say when to
    stop. `passes` counts sweeps over the outcomes; `stalled` counts consecutive offers that hardly
    narrowed the bracket.
    """

    def __init__(self, outcomes: Bracketed, gap: float, most_passes: int, deadline: float) -> None:
        self._outcomes = outcomes
        self.gap = gap
        self.most_passes = most_passes
        self.deadline = deadline
        self.estimator = self.leak_free = outcomes.constant()
        no_tilt = np.zeros((len(outcomes.cost), outcomes.size))
        self.duals = Duals(no_tilt, math.inf if outcomes.perfect else 0.0)
        self.upper = outcomes.error(self.estimator)
        self.lower = float(outcomes.mass @ outcomes.cost.min(axis=0))
        self.stalled = 0
        self.passes = 0

    def offer(self, estimator: Array, duals: Duals | None) -> None:
        """Keep what improves either side."""
        before = self.upper - self.lower
        upper, feasible = self._outcomes.upper(estimator, self.leak_free)
        if upper < self.upper:
            self.upper = upper
            self.estimator = feasible
        if duals is not None and np.max(duals.multiplier) > 0.0:
            lower = self._outcomes.lower(duals.tilt, duals.multiplier)
            if lower > self.lower:
                self.lower = lower
                self.duals = duals
        self.stalled = (
            0 if self.upper - self.lower < Precision.stalled * before else self.stalled + 1
        )

    def verdict(self) -> str:
        """Why to stop, in words; empty to go on."""
        if self.upper - self.lower <= self.gap * abs(self.upper):
            return "optimal"
        if self.passes >= self.most_passes:
            return "iteration limit"
        return "time limit" if time.perf_counter() >= self.deadline else ""
