"""Measurements in several dimensions, through samples: a confidence interval in place of a certificate.

The dual bound E[min_i (E[loss_i given Z] + Σ_j t_ij p(x_j given Z))] − με holds for every law of Z, and where densities can
be evaluated its integrand is a known bounded function of Z. So:

1. Half of the draws teach: they are the outcomes of a discrete problem, solved by `tilt`. Nothing is proven with them.
2. The other half, independent of the first, tests the fixed tilt and the fixed rule argmin_i of the integrand. Means of
   bounded functions get one-sided empirical Bernstein bounds, valid for any number of draws (no normal approximation),
   together at the stated confidence by a union bound. Control variates with known means (posteriors of (X, Y), whose means
   are p_xy) reduce the variance; their coefficients come from the first half.
3. Leakage is at most the largest leakage over the box in which guess masses and deviations lie with that confidence; the
   rule is blended with a constant until this keeps the budget, and the price is charged to the upper bound.

The result is a statement about draws: with probability ≥ confidence (over the draws) the interval holds the optimum and the
rule keeps the budget. It proves nothing about one run. At budget 0 no number of draws shows that a rule leaks nothing.

Source: A. Maurer, M. Pontil, "Empirical Bernstein bounds and sample variance penalization", COLT 2009, theorem 4; weak
duality of docs/theory.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.continuous.confidence import LeakageBox, controlled_mean
from discreet.backends.continuous.sampled_model import SampledModel, SampledRule, calibrated, sampled_model
from discreet.backends.run import solve
from discreet.problems.checks import whole
from discreet.problems.errors import BackendError, InputError
from discreet.problems.measures.mutual_information import feasible_duals
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["SampledEstimate", "estimate_continuous_by_samples"]

_LEARNING = 50_000  # most outcomes of the discrete problem that is solved
_MOST_NUMBERS = 50_000_000  # posteriors held at once: 400 MB, and twice that at the peak
_GAP = 1e-7  # of it: far below the sampling error
_AIM = 1.05  # of the difference between what the draws show and what they cannot rule out


@dataclass(frozen=True, eq=False)
class SampledEstimate:
    """A confidence interval of the least error probability, and a rule. Statistical: no certificate.

    lower, upper     contain the optimum, and `leakage_ceiling` ≤ budget holds for the rule, with probability ≥ confidence
    error            error probability of the rule as estimated
    leakage          of the rule as estimated, before blending, nats
    rule             a coin between two tilted Bayes rules
    tilt, multiplier [m, n] and μ of the lower limit
    blend            probability with which the rule ignores Z and guesses `fallback`
    samples          draws tested on (as many again were learnt from)
    """

    lower: float
    upper: float
    confidence: float
    error: float
    leakage: float
    leakage_ceiling: float
    budget: float
    rule: SampledRule
    tilt: Array
    multiplier: float
    blend: float
    fallback: int
    samples: int
    model: SampledModel

    @property
    def statistical(self) -> bool:
        """True: these are confidence limits, not proven bounds."""
        return True

    def guess(self, z: Any, rng: np.random.Generator) -> NDArray[np.intp]:
        """Guesses [points] for measurements [points, d] (or [points])."""
        points = np.asarray(z, dtype=np.float64)
        labels = self.rule.guess(self.model, points, rng)
        return np.where(rng.random(labels.shape) < self.blend, self.fallback, labels)

    def __repr__(self) -> str:
        return (
            f"SampledEstimate({100 * self.confidence:g}% confidence interval [{self.lower:.6g}, {self.upper:.6g}], "
            "statistical, not a certificate; "
            f"{self.samples} draws, leakage ≤ {self.leakage_ceiling:.6g} of {self.budget:g} nats)"
        )


def estimate_continuous_by_samples(
    distributions: Sequence[Sequence[Any]],
    p_xy: Any,
    budget: float,
    *,
    loss_matrix: Any = None,
    samples: int = 200_000,
    confidence: float = 0.99,
    rng: np.random.Generator | None = None,
) -> SampledEstimate:
    """Bracket the optimum for a Z of any dimension with draws, and return a rule that keeps the budget with confidence.

    distributions   [n][m] laws of Z given (x_j, y_k) with `logpdf` and `rvs`, such as frozen scipy.stats.multivariate_normal
    p_xy            p(x_j, y_k) [n, m]
    budget          ε > 0 in nats (inf for no constraint)
    samples         draws in total, at least 1000; half teach and half test
    rng             numpy Generator; numpy.random.default_rng(0) by default

    Raises InputError for budget 0, a confidence outside (0, 1), or arrays that are no laws within 1e-9.
    """
    model = sampled_model(distributions, p_xy, loss_matrix)
    samples = whole(samples, "samples", 1000)
    if samples * model.prior.size > _MOST_NUMBERS:
        raise InputError(
            f"{samples:,} draws of {model.prior.size} posteriors are more than {_MOST_NUMBERS:,} numbers; take fewer draws"
        )
    if not 0.0 < confidence < 1.0:
        raise InputError(f"the confidence is {confidence!r}; give a number between 0 and 1, such as 0.99")
    if not budget > 0.0:
        raise InputError("draws cannot show that a rule leaks nothing; give a small positive budget, not 0")
    rng = np.random.default_rng(0) if rng is None else rng
    learnt = model.posterior(model.draw(samples // 2, rng))
    tested = model.posterior(model.draw(samples - samples // 2, rng))
    laws = 2 + 2 * model.guesses * (1 + model.n)  # one-sided limits that must hold together
    log_risk = math.log(2.0 * laws / (1.0 - confidence))
    tilt, multiplier = _learn(model, learnt, budget)
    rule = calibrated(model, learnt, tilt, budget)
    if math.isfinite(budget):  # aim below the budget by what the test will not be able to rule out
        draws = rule.on(model, learnt)
        box = LeakageBox.of(model.prior, model.guesses, draws, draws, log_risk)
        aim = max(0.5 * budget, budget - _AIM * max(0.0, box.ceiling() - box.leakage()))
        rule = calibrated(model, learnt, _learn(model, learnt, aim)[0], aim)
    return _tested(model, (learnt, tested), rule, (tilt, multiplier), budget, confidence, log_risk)


def _tested(
    model: SampledModel,
    posteriors: tuple[Array, Array],
    rule: SampledRule,
    duals: tuple[Array, float],
    budget: float,
    confidence: float,
    log_risk: float,
) -> SampledEstimate:
    """Confidence limits from the test draws; rule and duals are fixed before they are looked at."""
    learnt, tested = posteriors
    tilt, multiplier = duals
    bayes = SampledRule(tilt, tilt, 0.0)
    halves = bayes.on(model, learnt), bayes.on(model, tested)
    value, radius = controlled_mean(_coefficients(model, tilt), model.prior, *halves, log_risk)
    lower = value - radius - (multiplier * budget if multiplier > 0.0 else 0.0)
    halves = rule.on(model, learnt), rule.on(model, tested)
    error, spread = controlled_mean(_coefficients(model, np.zeros_like(tilt)), model.prior, *halves, log_risk)
    box = LeakageBox.of(model.prior, model.guesses, *halves, log_risk)
    ceiling = box.ceiling()
    blend = max(0.0, 1.0 - budget / ceiling) if ceiling > budget else 0.0  # leakage is convex in the share and ends at 0
    constants = model.loss.T @ model.prior.sum(axis=0)
    fallback = int(constants.argmin())
    return SampledEstimate(
        lower=max(0.0, lower),
        upper=(1.0 - blend) * (error + spread) + blend * float(constants[fallback]),
        confidence=confidence,
        error=(1.0 - blend) * error + blend * float(constants[fallback]),
        leakage=box.leakage(),
        leakage_ceiling=min(ceiling, budget),
        budget=float(budget),
        rule=rule,
        tilt=tilt,
        multiplier=multiplier,
        blend=blend,
        fallback=fallback,
        samples=int(tested.shape[2]),
        model=model,
    )


def _learn(model: SampledModel, posterior: Array, budget: float) -> tuple[Array, float]:
    """A tilt [guesses, n] and μ, dual feasible for the model's own prior, from draws taken as outcomes."""
    part = posterior[:, :, :_LEARNING]
    problem = Problem.from_joint(part / part.sum(), budget, loss_matrix=model.loss)
    solution = solve(problem, "tilt", gap=_GAP)
    if solution.tilt is None or solution.multiplier is None:
        raise BackendError(f"the discrete problem of the draws was not solved: {solution.message}")
    exact = Problem(model.prior.sum(axis=1)[:, None], np.zeros((problem.m, 1)), budget)
    repaired = feasible_duals(solution.tilt, solution.multiplier, exact.p_x, exact.budget)
    return repaired if repaired is not None else (np.zeros_like(solution.tilt), 0.0)


def _coefficients(model: SampledModel, tilt: Array) -> Array:
    """loss(y_k, i) + t_ij [guesses, n, m]: the tilted loss of guess i is their mean under p(x_j, y_k given z)."""
    return np.asarray(model.loss.T[:, None, :] + tilt[:, :, None])
