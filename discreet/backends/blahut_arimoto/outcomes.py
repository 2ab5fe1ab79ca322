"""The arrays both iterations work on, and the two sides of their stopping rule.

Everything is per unit of outcome mass: conditional losses c_il = L_il / w_l and features f_l = a_l / w_l − π, so that an
outcome of mass 1e-30 is as well scaled as any other. The output law of an estimator is s_i = Σ_l w_l P_il and
dev_i = Σ_l w_l f_l P_il; every log ratio is log1p(dev / (π s)), so nothing cancels when the guess reveals almost nothing.

The stopping rule is a certified gap. Lower side: h_i(t, μ) − π·t_i = μ log Σ_j π_j exp((t_ij − π·t_i)/μ) ≥ 0 is what a tilt
costs, and Σ_l w_l min_i (c_il + f_l·t_i − cost_i) − μ ε holds for every t and μ > 0. Upper side: the estimator itself, or
its blend with a leak-free one when it leaks more than ε. The judge recomputes both in its own way.

Source: weak duality, docs/theory.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.problems.measures.law import LEAK_FREE
from discreet.problems.measures.mutual_information import phi_divergence
from discreet.problems.numerics.double_double import Array, dd_add, dd_multiply, dd_sum
from discreet.problems.problem import Problem

__all__ = ["GuessLaw", "Outcomes", "TiltedLaw"]

_SERIES_BELOW = 0.1  # |x| under which exp(x) − 1 − x is summed as a series
_SERIES_TERMS = 14  # 0.1^14 · 2/16! is far under a rounding error of x²/2
_FAR = 1.0  # |x| from which log Σ π exp(x) is taken by its largest term
_LEAST_LOG_RATIO = -700.0  # stands for log 0 and keeps exp() above underflow
_BISECTIONS = 60
_MARGIN = 1e-13  # relative, of the budget, by which every leakage aimed at stays inside
_ENTRY_ROUNDING = 2e-15  # of log ratios of size √(2ε), whose square is the leakage


@dataclass(frozen=True)
class GuessLaw:
    """The joint law of (X, Ŷ) under an estimator; linear in the estimator.

    mass         s_i = Pr(Ŷ = y_i)                                  [m]
    deviation    dev_ij = Pr(X = x_j, Ŷ = y_i) − π_j s_i            [m, n]
    prior        π_j                                                [n]
    """

    mass: Array
    deviation: Array
    prior: Array

    def excess(self) -> Array:
        """r_ij − 1 [m, n], with r_ij = p(x_j given ŷ_i)/π_j; 0 for a guess that is never made."""
        base = self.mass[:, None] * self.prior
        ratio = np.divide(self.deviation, base, out=np.zeros_like(base), where=base > 0.0)
        return np.clip(ratio, -1.0, None)

    def leakage(self) -> float:
        """I(X; Ŷ) in nats."""
        return float(self.mass @ (phi_divergence(self.excess()) @ self.prior))

    def blend(self, other: GuessLaw, share: float) -> GuessLaw:
        """The law of (1 − share)·this + share·other."""
        mass = (1.0 - share) * self.mass + share * other.mass
        return GuessLaw(mass, (1.0 - share) * self.deviation + share * other.deviation, self.prior)


@dataclass(frozen=True)
class TiltedLaw:
    """What a tilt [m, n] at a multiplier μ stands for: the posteriors q_i with log(q_ij/π_j) = (t_ij − h_i)/μ.

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
    feature   f_jl = a_jl / w_l − π_j                               [n, N], columns sum to 0, mass-weighted rows too
    joint     a_jl                                                  [n, N]
    mass      w_l                                                   [N]
    prior     π_j                                                   [n]
    budget    ε in nats
    target    the leakage aimed at: ε less what rounding an estimator's entries can add, so that the answer need not be
              blended afterwards, which costs far more when the error probability is small
    """

    cost: Array
    feature: Array
    joint: Array
    mass: Array
    prior: Array
    budget: float
    target: float

    @classmethod
    def of(cls, problem: Problem) -> Outcomes:
        """The arrays of a problem; the features come from double-length differences and are exact to rounding."""
        joint = problem.p_xz
        mass, prior = dd_sum(joint.T), dd_sum(joint)
        expected = dd_multiply((prior[0][:, None], prior[1][:, None]), (mass[0][None, :], mass[1][None, :]))
        total = dd_sum(prior[0])
        scaled = dd_multiply((joint, np.zeros_like(joint)), (total[0] * np.ones(1), total[1] + prior[1].sum(keepdims=True)))
        high, low = dd_add(scaled, (-expected[0], -expected[1]))
        feature = (high + low) / mass[0]
        return cls(problem.loss / mass[0], feature, joint, mass[0], prior[0], problem.budget, _target(problem.budget))

    @property
    def perfect(self) -> bool:
        """Budget 0: the tilts are free and cost nothing but their own prior mean."""
        return self.budget == 0.0

    @property
    def spread(self) -> float:
        """Mean difference between the worst and the best guess: the unit of costs."""
        return float(self.mass @ (self.cost.max(axis=0) - self.cost.min(axis=0)))

    def constant(self) -> Array:
        """The best constant guess [m, N], which leaks nothing."""
        estimator = np.zeros(self.cost.shape)
        estimator[int(np.argmin(self.cost @ self.mass))] = 1.0
        return estimator

    # -- the law of an estimator -----------------------------------------------------------------------------------

    def law(self, estimator: Array) -> GuessLaw:
        """The joint law of (X, Ŷ) under an estimator [m, N], in working precision."""
        weighted = estimator * self.mass
        return GuessLaw(weighted.sum(axis=1), weighted @ self.feature.T, self.prior)

    def log_ratios(self, estimator: Array) -> Array:
        """v_ij = log(p(x_j given ŷ_i)/π_j) [m, n]; 0 for a guess that is never made, −700 for log 0."""
        law = self.law(estimator)
        ratio = law.excess()
        base = law.mass[:, None] * self.prior
        direct = np.divide(estimator @ self.joint.T, base, out=np.ones_like(base), where=base > 0.0)
        with np.errstate(divide="ignore"):
            logs = np.where(ratio > -0.5, np.log1p(np.maximum(ratio, -0.5)), np.log(direct))
        return np.maximum(logs, _LEAST_LOG_RATIO)

    def error(self, estimator: Array) -> float:
        """⟨L, P⟩."""
        return float((self.cost * estimator * self.mass).sum())

    # -- the two sides of the bracket ------------------------------------------------------------------------------

    def tilted_law(self, tilt: Array, multiplier: float) -> TiltedLaw:
        """What the tilt stands for. At budget 0 (μ = inf) every posterior is the prior and the tilt costs nothing."""
        zero = np.zeros_like(tilt)
        if self.perfect:
            return TiltedLaw(zero, zero, zero[:, 0], zero[:, 0])
        x = (tilt - (tilt @ self.prior)[:, None]) / multiplier
        log_mean = _log_mean_exp(x, self.prior)
        log_ratio = x - log_mean[:, None]
        ratio = np.expm1(log_ratio)
        return TiltedLaw(log_ratio, self.prior * ratio, phi_divergence(ratio) @ self.prior, multiplier * log_mean)

    def tilted_costs(self, tilt: Array, law: TiltedLaw) -> Array:
        """c_il + f_l·t_i − cost_i [m, N]: what the optimal rule minimises over i."""
        return self.cost + tilt @ self.feature - law.cost[:, None]

    def lower(self, tilt: Array, multiplier: float) -> float:
        """The error probability that no feasible estimator beats, proved by any tilt [m, n] and μ > 0."""
        smallest = self.tilted_costs(tilt, self.tilted_law(tilt, multiplier)).min(axis=0)
        price = 0.0 if self.perfect else multiplier * self.budget
        return float(self.mass @ smallest) - price

    def upper(self, estimator: Array, leak_free: Array) -> tuple[float, Array]:
        """Error probability of the estimator, blended with a leak-free one if it leaks too much, and the blend.

        At budget 0 an estimator that leaks has error probability inf.
        """
        law = self.law(estimator)
        if self.perfect:
            private = float(np.abs(law.deviation / self.prior).max()) <= LEAK_FREE
            return self.error(estimator) if private else math.inf, estimator
        blended = self.keep_budget(estimator, law, leak_free)
        return self.error(blended), blended

    def keep_budget(self, estimator: Array, law: GuessLaw, leak_free: Array) -> Array:
        """The estimator, blended with a leak-free one as far as its law leaks more than ε > 0."""
        if law.leakage() <= self.budget:
            return estimator
        share = self._share(law, self.law(leak_free))
        return np.asarray((1.0 - share) * estimator + share * leak_free)

    def feasible_duals(self, tilt: Array, multiplier: float) -> tuple[Array, float]:
        """The same duals with every h_i(t, μ) = 0; at budget 0 with Σ_j π_j t_ij = 0."""
        if multiplier == 0.0:
            return tilt, multiplier
        if self.perfect:
            return tilt - (tilt @ self.prior)[:, None], multiplier
        return multiplier * self.tilted_law(tilt, multiplier).log_ratio, multiplier

    def _share(self, law: GuessLaw, leak_free: GuessLaw) -> float:
        """Least share, from the safe side, of a leak-free estimator that brings the leakage down to the target."""
        low, high = 0.0, 1.0
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            if law.blend(leak_free, middle).leakage() <= self.target:
                high = middle
            else:
                low = middle
        return high


def _target(budget: float) -> float:
    if budget == 0.0 or math.isinf(budget):
        return budget
    return budget * (1.0 - min(0.5, _MARGIN + _ENTRY_ROUNDING / math.sqrt(2.0 * budget)))


def _log_mean_exp(x: Array, prior: Array) -> Array:
    """log Σ_j π_j exp(x_ij) for rows with Σ_j π_j x_ij = 0: second order in x, and accurate as such."""
    largest = x.max(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.log1p(_exp_minus_line(x) @ prior)
        far = largest + np.log(np.exp(x - largest[:, None]) @ prior)
    return np.where(np.abs(x).max(axis=1) <= _FAR, near, far)


def _exp_minus_line(x: Array) -> Array:
    """exp(x) − 1 − x, to full relative accuracy also near 0."""
    series = np.zeros_like(x)
    for k in range(_SERIES_TERMS, 1, -1):
        series = (1.0 + x * series) / k
    return np.where(np.abs(x) < _SERIES_BELOW, x * x * series, np.expm1(x) - x)
