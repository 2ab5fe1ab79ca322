"""The plain iteration: one Blahut–Arimoto sweep, at a given multiplier or at a given leakage.

Leakage is 1-smooth relative to the mass-weighted entropy: with v_ij = log(p(x_j given ŷ_i)/π_j) under the present P,

    I(P') ≤ S(P') = Σ_l w_l KL(P'_l ‖ P_l) + Σ_il w_l P'_il Σ_j p(x_j given z_l) v_ij,     equal at P' = P,

so both steps below minimise an upper model that touches the truth at P:

* `sweep` minimises ⟨L, P'⟩ + μ S(P'): P'_il ∝ P_il exp(−c_il/μ − Σ_j p(x_j given z_l) v_ij). Law: the Lagrangian
  ⟨L, P⟩ + μ I(P) never increases; its fixed points of full support are exactly the KKT points.
* `constrained_sweep` minimises ⟨L, P'⟩ over S(P') ≤ ε. The minimiser is the same formula at the μ where S = ε, a scalar
  root. Law: every estimator keeps the budget, and the error probability never increases.

Source: S. Arimoto, IEEE Trans. Inf. Theory 18 (1972), R. E. Blahut, ibid.; the multiplier by a root in each sweep after
L. Chen et al., "A constrained BA algorithm for rate-distortion and distortion-rate functions", arXiv 2305.02650; relative
smoothness: H. Lu, R. M. Freund, Y. Nesterov, SIAM J. Optim. 28 (2018). Sublinear, O(1/k): slow near the vertices.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.backends.blahut_arimoto.outcomes import Outcomes
from discreet.problems.measures.mutual_information import phi_divergence
from discreet.problems.numerics.double_double import Array

__all__ = ["constrained_sweep", "log_normalise", "sweep", "uniform_start"]

_ROOT_TOLERANCE = 1e-11  # relative, of the budget, left unused
_ROOT_STEPS = 60
_SMALL = 0.5  # |log ratio| under which it is kept accurate relative to itself
_LARGEST_RATE = 1e18  # 1/μ from which the budget counts as slack


def uniform_start(outcomes: Outcomes) -> Array:
    """log P [m, N] of the guess drawn uniformly, which leaks nothing and rules nothing out."""
    return np.full(outcomes.cost.shape, -math.log(outcomes.cost.shape[0]))


def log_normalise(log_weights: Array) -> Array:
    """log of the columns scaled to sum to one."""
    shifted = log_weights - log_weights.max(axis=0)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=0)))


def sweep(outcomes: Outcomes, log_estimator: Array, multiplier: float) -> Array:
    """log P' of one sweep at a fixed multiplier μ > 0; log P and log P' are [m, N]."""
    return log_normalise(log_estimator + _Step(outcomes, log_estimator).log_change(1.0 / multiplier))


def constrained_sweep(outcomes: Outcomes, log_estimator: Array, multiplier: float) -> tuple[Array, float]:
    """log P' [m, N] of one sweep within the budget, and its multiplier; P must keep the budget.

    multiplier: a guess of μ, such as the last sweep's. The μ returned is 0 when the step reached a rule that keeps the
    budget at no price.
    """
    step = _Step(outcomes, log_estimator)
    rate = step.largest_rate(outcomes.target, 1.0 / multiplier)
    log_new = log_normalise(log_estimator + step.log_change(rate))
    return log_new, 0.0 if rate >= _LARGEST_RATE else 1.0 / rate


class _Step:
    """The family of steps from one estimator, by the rate β = 1/μ."""

    def __init__(self, outcomes: Outcomes, log_estimator: Array) -> None:
        self._outcomes = outcomes
        self._log_estimator = log_estimator
        self._estimator = np.exp(log_estimator)
        self._log_ratio = outcomes.log_ratios(self._estimator)
        self._prior_part = self._log_ratio @ outcomes.prior
        self._evidence = self._log_ratio @ outcomes.feature + self._prior_part[:, None]

    def log_change(self, rate: float) -> Array:
        """log(P'/P) [m, N], every column normalised; accurate relative to itself when small."""
        exponent = -rate * self._outcomes.cost - self._evidence
        shifted = self._log_estimator + exponent
        largest = shifted.max(axis=0)
        log_total = largest + np.log(np.exp(shifted - largest).sum(axis=0))
        small = np.abs(exponent).max(axis=0) < _SMALL
        if small.any():
            log_total[small] = np.log1p((self._estimator[:, small] * np.expm1(exponent[:, small])).sum(axis=0))
        return np.asarray(exponent - log_total)

    def model(self, rate: float) -> tuple[float, float]:
        """S(P') and its derivative by log β; every part is second order and nothing cancels."""
        outcomes = self._outcomes
        change = self.log_change(rate)
        new = np.exp(self._log_estimator + change)
        law = outcomes.law(new)
        near = self._estimator * phi_divergence(np.expm1(np.clip(change, -_SMALL, _SMALL)))
        distance = np.where(np.abs(change) < _SMALL, near, new * change - new + self._estimator)
        evidence = float(law.mass @ self._prior_part + (self._log_ratio * law.deviation).sum())
        mean = (new * outcomes.cost).sum(axis=0)
        variance = float(((new * (outcomes.cost - mean) ** 2).sum(axis=0) * outcomes.mass).sum())
        return float(distance.sum(axis=0) @ outcomes.mass) + evidence, rate * rate * variance

    def largest_rate(self, budget: float, guess: float) -> float:
        """The largest β with S ≤ budget, from the safe side: Newton in log β inside a bracket."""
        low, high = -math.inf, math.log(_LARGEST_RATE)
        target = budget * (1.0 - 0.5 * _ROOT_TOLERANCE)
        at = min(math.log(guess), high)
        for _ in range(_ROOT_STEPS):
            value, slope = self.model(math.exp(at))
            if value <= budget:
                low = at
                if budget - value <= _ROOT_TOLERANCE * budget or low >= high:
                    break
            else:
                high = at
            at = _inside(at + (target - value) / slope if slope > 0.0 else math.inf, at, low, high)
        return math.exp(low) if low > -math.inf else math.exp(at)


def _inside(proposal: float, at: float, low: float, high: float) -> float:
    """The proposal when it lies well inside the bracket and is not too far; else a step of 2 or the middle."""
    proposal = min(max(proposal, at - 2.0), at + 2.0)
    if low < proposal < high:
        return proposal
    if low == -math.inf:
        return high - 2.0
    return high if high - low < 1e-15 * abs(high) else 0.5 * (low + high)
