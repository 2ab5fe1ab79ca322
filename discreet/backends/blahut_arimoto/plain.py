"""The plain iteration: Blahut–Arimoto sweeps, at a given multiplier or at a given leakage, and
their loop.

They apply to one constraint with a positive budget. By docs/theory.md, section 12, leakage is at
most S(P'), with equality at P' = P: with v_ij = log(p(x_j given ŷ_i)/π_j) within each group,

    I(P') ≤ S(P') = Σ_l w_l KL(P'_l ‖ P_l) + Σ_il w_l P'_il Σ_j p(x_j given z_l) v_ij.

- At a rate β = 1/μ, `EntropicStep.at` minimises ⟨L, P'⟩ + μ S(P'): P'_il ∝ P_il exp(−c_il/μ − Σ_j
  p(x_j given z_l) v_ij). Law: the Lagrangian ⟨L, P⟩ + μ I(P) never increases; its fixed points of
  full support are exactly the KKT points.
- `constrained_sweep` minimises ⟨L, P'⟩ over S(P') ≤ ε. The minimiser is the same formula at the μ
  for which S = ε, a scalar root. Law: every estimator satisfies the budget, and the error
  probability never increases.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.backends.blahut_arimoto.bracket import Bracket, Outcomes
from discreet.backends.contract import Duals
from discreet.backends.precision import Precision
from discreet.measures.mutual_information import phi_divergence
from discreet.numerics.double_double import Array


def plain_sweeps(outcomes: Outcomes, bracket: Bracket) -> str:
    """Run constrained Blahut–Arimoto sweeps from the uniform guess, under one positive finite
    budget, and return the reason for stopping.

    After many sweeps, the bracket is checked only every twentieth sweep.
    """
    log_estimator = uniform_start(outcomes)
    multiplier = float(outcomes.first_multipliers[outcomes.priced[0]])
    next_check = 1
    while not (verdict := bracket.verdict()):
        log_estimator, found = constrained_sweep(outcomes, log_estimator, multiplier)
        multiplier = found or multiplier
        bracket.passes += 1
        if bracket.passes >= next_check:
            bracket.offer(np.exp(log_estimator), _own_prices(outcomes, log_estimator, multiplier))
            next_check = bracket.passes + 1 + bracket.passes // 20
    if verdict != "optimal":  # the last sweeps may not have been checked
        bracket.offer(np.exp(log_estimator), _own_prices(outcomes, log_estimator, multiplier))
    return verdict


def uniform_start(outcomes: Outcomes) -> Array:
    """Return log P [m, N] of the uniform guess, which leaks nothing and excludes nothing."""
    return np.full(outcomes.cost.shape, -math.log(outcomes.cost.shape[0]))


def log_normalise(log_weights: Array) -> Array:
    """Return the log of the columns scaled to sum to one."""
    shifted = log_weights - log_weights.max(axis=0)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=0)))


def _log_ratios(outcomes: Outcomes, estimator: Array) -> Array:
    """Return v_ij = log(p(x_j given ŷ_i)/π_j) [m, n]; 0 for a guess that is never made; at least
    `Precision.log_zero`.
    """
    mass, deviation = outcomes.sums(estimator)
    base = mass[:, outcomes.group] * outcomes.prior
    made = base > 0.0
    ratio = np.divide(deviation, base, out=np.zeros_like(base), where=made)
    direct = np.divide(estimator @ outcomes.joint.T, base, out=np.ones_like(base), where=made)
    with np.errstate(divide="ignore"):
        logs = np.where(ratio > -0.5, np.log1p(np.maximum(ratio, -0.5)), np.log(direct))
    return np.maximum(logs, Precision.log_zero)


def _own_prices(outcomes: Outcomes, log_estimator: Array, multiplier: float) -> Duals:
    """Return the prices of a fixed point: t_ij = μ log(p(x_j given ŷ_i)/π_j)."""
    multipliers = np.zeros(outcomes.budget.size)
    multipliers[outcomes.priced] = multiplier
    return Duals(multiplier * _log_ratios(outcomes, np.exp(log_estimator)), multipliers)


def constrained_sweep(
    outcomes: Outcomes, log_estimator: Array, multiplier: float
) -> tuple[Array, float]:
    """Return log P' [m, N] of one sweep within the budget, and its multiplier; P must satisfy the
    budget.

    multiplier: an estimate of μ, such as the μ of the last sweep. The returned μ is 0 if the step
    reached a rule whose budget is not binding.
    """
    step = EntropicStep(outcomes, log_estimator)
    rate = step.largest_rate(float(outcomes.target[outcomes.priced[0]]), 1.0 / multiplier)
    return step.at(rate), 0.0 if rate * outcomes.spread >= Precision.longest else 1.0 / rate


class EntropicStep:
    """The family of sweeps from one estimator log P [m, N], parametrised by the rate β = 1/μ."""

    def __init__(self, outcomes: Outcomes, log_estimator: Array) -> None:
        self._outcomes = outcomes
        self._log_estimator = log_estimator
        self._estimator = np.exp(log_estimator)
        self._log_ratio = _log_ratios(outcomes, self._estimator)
        self._prior_part = outcomes.by_group(self._log_ratio * outcomes.prior)
        self._evidence = self._log_ratio @ outcomes.feature + self._prior_part @ outcomes.share

    def at(self, rate: float) -> Array:
        """Return log P' [m, N] of one sweep at a fixed multiplier μ = 1/rate."""
        return log_normalise(self._log_estimator + self._log_change(rate))

    def _log_change(self, rate: float) -> Array:
        """Return log(P'/P) [m, N] with normalised columns; its relative error is small even for
        small changes.
        """
        exponent = -rate * self._outcomes.cost - self._evidence
        shifted = self._log_estimator + exponent
        largest = shifted.max(axis=0)
        log_total = largest + np.log(np.exp(shifted - largest).sum(axis=0))
        small = np.abs(exponent).max(axis=0) < 0.5
        if small.any():
            log_total[small] = np.log1p(
                (self._estimator[:, small] * np.expm1(exponent[:, small])).sum(axis=0)
            )
        return np.asarray(exponent - log_total)

    def model(self, rate: float) -> tuple[float, float]:
        """Return S(P') and its derivative with respect to log β; every part is of second order and
        nothing cancels.
        """
        outcomes = self._outcomes
        change = self._log_change(rate)
        new = np.exp(self._log_estimator + change)
        mass, deviation = outcomes.sums(new)
        near = self._estimator * phi_divergence(np.expm1(np.clip(change, -0.5, 0.5)))
        distance = np.where(np.abs(change) < 0.5, near, new * change - new + self._estimator)
        evidence = (mass * self._prior_part).sum() + (self._log_ratio * deviation).sum()
        mean = (new * outcomes.cost).sum(axis=0)
        variance = float(((new * (outcomes.cost - mean) ** 2).sum(axis=0) * outcomes.mass).sum())
        value = float(distance.sum(axis=0) @ outcomes.mass + evidence)
        return value, rate * rate * variance

    def largest_rate(self, budget: float, guess: float) -> float:
        """Return the largest β with S ≤ budget, rounded to the safe side, by Newton in log β inside
        a bracket.
        """
        low = -math.inf
        high = math.log(Precision.longest / self._outcomes.spread)
        target = budget * (1.0 - 0.5 * Precision.searched)  # the middle of where the search may end
        at = min(math.log(guess), high)
        for _ in range(60):
            value, slope = self.model(math.exp(at))
            if value <= budget:
                low = at
                if budget - value <= Precision.searched * budget or low >= high:
                    break
            else:
                high = at
            at = _clip_to_bracket(
                at + (target - value) / slope if slope > 0.0 else math.inf, at, low, high
            )
        return math.exp(low) if low > -math.inf else math.exp(at)


def _clip_to_bracket(proposal: float, at: float, low: float, high: float) -> float:
    """Return the proposal, at most 2 away, if it lies inside the bracket; otherwise a step of 2 or
    the midpoint.
    """
    proposal = min(max(proposal, at - 2.0), at + 2.0)
    if low < proposal < high:
        return proposal
    if low == -math.inf:
        return high - 2.0
    middle = 0.5 * (low + high)
    return middle if low < middle < high else high
