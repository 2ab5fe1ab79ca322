"""Measurements in several dimensions, through samples: a confidence interval in place of a
certificate.

1. Half of the draws are for learning: they are the outcomes of a discrete problem, solved by
   `tilt`. They prove nothing.
2. The other half, independent of the first, tests the fixed tilt and the fixed rule: the dual bound
   is the mean of a bounded function of Z (docs/theory.md, section 17). One-sided limits of such
   means hold for any number of draws; a union bound gives the stated confidence (`confidence`).
3. Leakage is at most the largest over the box in which guess masses and deviations lie with that
   confidence. The rule is blended with a constant until this keeps the budget, and the price is
   charged to the upper bound.

The result is a statement about draws: with probability ≥ confidence (over the draws) the interval
holds the optimum and the rule keeps the budget. It proves nothing about one run. At budget 0 no
number of draws shows that a rule leaks nothing.

A tilted Bayes rule is a function of the posterior p(x_j, y_k given z) alone. Where the posterior
hardly varies over a part of Z that matters, the leakage jumps as the tilt changes, and the best
rule randomises there. So a rule here draws between two tilted Bayes rules, chosen near one tilt.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.continuous.confidence import Draws, LeakageBox, controlled_mean
from discreet.backends.precision import Precision
from discreet.backends.run import solve
from discreet.checks import brief, check_prior, check_table, loss_table, whole
from discreet.errors import BackendError, InputError
from discreet.measures.law import OutputLaw
from discreet.numerics.double_double import Array
from discreet.problems.adversary.inference import check_confidence
from discreet.problems.blend import least_share
from discreet.problems.duals import feasible_duals
from discreet.problems.laws import Law
from discreet.problems.problem import Problem


@dataclass(frozen=True, eq=False)
class SampledEstimate:
    """A confidence interval of the least error probability, and a rule. It is statistical, not a
    certificate.

    lower, upper      contain the optimum, and `leakage_ceiling` ≤ budget holds for the rule, with
                      probability ≥ confidence
    error             error probability of the rule as estimated
    leakage           of the rule as estimated, before blending, nats
    rule              draws between two tilted Bayes rules
    tilt, multiplier  [m, n] and μ of the lower limit
    blend             probability with which the rule ignores Z and guesses `fallback`
    samples           draws for testing (as many again were for learning)
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

    def guess(self, z: Any, rng: np.random.Generator) -> NDArray[np.intp]:
        """Guesses [points] for measurements [points, d] (or [points])."""
        draws = self.rule.on(self.model, self.model.posterior(np.asarray(z, dtype=np.float64)))
        labels = np.where(rng.random(draws.labels.size) < draws.share, draws.others, draws.labels)
        return np.where(rng.random(labels.size) < self.blend, self.fallback, labels)

    def __repr__(self) -> str:
        return (
            f"SampledEstimate({100 * self.confidence:g}% confidence interval [{self.lower:.6g}, "
            f"{self.upper:.6g}], "
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
    """Bracket the optimum for a Z of any dimension with draws, and return a rule that keeps the
    budget with confidence.

    distributions   [n][m] laws of Z given (x_j, y_k) with `logpdf` and `rvs`, such as frozen
                    scipy.stats.multivariate_normal
    p_xy            p(x_j, y_k) [n, m]
    budget          ε > 0 in nats (inf for no constraint)
    samples         draws in total, at least 1000: half for learning, half for testing
    rng             numpy Generator; numpy.random.default_rng(0) by default

    Raises InputError for budget 0, a confidence outside (0, 1), or a p_xy that does not sum to one
    within 1e-9.
    """
    model = sampled_model(distributions, p_xy, loss_matrix)
    samples = whole(samples, "samples", 1000)
    most = 50_000_000  # posteriors held at once: 400 MB, and twice that at the peak
    if samples * model.prior.size > most:
        raise InputError(
            f"{samples:,} draws of {model.prior.size} posteriors are more than {most:,} numbers; "
            "take fewer draws"
        )
    check_confidence(confidence)
    if not budget > 0.0:
        raise InputError(
            "draws cannot show that a rule leaks nothing; give a small positive budget, not 0"
        )
    rng = np.random.default_rng(0) if rng is None else rng
    learnt = model.posterior(model.draw(samples // 2, rng))
    tested = model.posterior(model.draw(samples - samples // 2, rng))
    tilt, multiplier = _learn(model, learnt, budget)
    rule = _calibrate_rule(model, learnt, tilt, budget)
    if math.isfinite(budget):  # aim below the budget by what the test will not be able to rule out
        box = _Halves(model, learnt, learnt, confidence).box(rule)
        aim = max(
            0.5 * budget, budget - Precision.ceiling * max(0.0, box.ceiling() - box.leakage())
        )
        rule = _calibrate_rule(model, learnt, _learn(model, learnt, aim)[0], aim)
    halves = _Halves(model, learnt, tested, confidence)
    return _test_rule(halves, rule, tilt, multiplier, float(budget))


@dataclass(frozen=True, eq=False)
class _Halves:
    """Posteriors [n, m, N] of the draws for learning and of those for testing, and the confidence
    of all limits together.
    """

    model: SampledModel
    learnt: Array
    tested: Array
    confidence: float

    @property
    def log_risk(self) -> float:
        """log(2/δ) for each one-sided limit: of the lower bound, the error and the law of Ŷ."""
        limits = 2 + 2 * self.model.guesses * (1 + self.model.n)
        return math.log(2.0 * limits / (1.0 - self.confidence))

    def mean_loss(self, rule: SampledRule, tilt: Array) -> tuple[float, float]:
        """The mean tilted loss of a rule, and its one-sided radius."""
        model = self.model
        return controlled_mean(
            _coefficients(model, tilt),
            model.prior,
            rule.on(model, self.learnt),
            rule.on(model, self.tested),
            self.log_risk,
        )

    def box(self, rule: SampledRule) -> LeakageBox:
        """The limits of what a rule leaks."""
        model = self.model
        return LeakageBox.of(
            model.prior,
            model.guesses,
            rule.on(model, self.learnt),
            rule.on(model, self.tested),
            self.log_risk,
        )


def _test_rule(
    halves: _Halves, rule: SampledRule, tilt: Array, multiplier: float, budget: float
) -> SampledEstimate:
    """Confidence limits from the test draws; rule and duals are fixed before they are looked at."""
    model = halves.model
    value, radius = halves.mean_loss(SampledRule(tilt, tilt, 0.0), tilt)
    lower = value - radius - (multiplier * budget if multiplier > 0.0 else 0.0)
    error, spread = halves.mean_loss(rule, np.zeros_like(tilt))
    box = halves.box(rule)
    ceiling = box.ceiling()
    # Leakage is convex in the share and ends at 0.
    blend = max(0.0, 1.0 - budget / ceiling) if ceiling > budget else 0.0
    constants = model.loss.T @ model.prior.sum(axis=0)
    fallback = int(constants.argmin())
    return SampledEstimate(
        lower=max(0.0, lower),
        upper=(1.0 - blend) * (error + spread) + blend * float(constants[fallback]),
        confidence=halves.confidence,
        error=(1.0 - blend) * error + blend * float(constants[fallback]),
        leakage=box.leakage(),
        leakage_ceiling=min(ceiling, budget),
        budget=budget,
        rule=rule,
        tilt=tilt,
        multiplier=multiplier,
        blend=blend,
        fallback=fallback,
        samples=int(halves.tested.shape[2]),
        model=model,
    )


def _learn(model: SampledModel, posterior: Array, budget: float) -> tuple[Array, float]:
    """A tilt [guesses, n] and μ, dual feasible for the model's own prior, from draws taken as
    outcomes.
    """
    part = posterior[:, :, :50_000]
    problem = Problem.from_joint(part / part.sum(), budget, loss_matrix=model.loss)
    solution = solve(problem, "tilt", gap=Precision.sampled)
    if solution.tilt is None or solution.multiplier is None:
        raise BackendError(f"the discrete problem of the draws was not solved: {solution.message}")
    repaired = feasible_duals(
        solution.tilt, float(solution.multiplier), model.prior.sum(axis=1), problem.budget
    )
    return repaired if repaired is not None else (np.zeros_like(solution.tilt), 0.0)


def _coefficients(model: SampledModel, tilt: Array) -> Array:
    """loss(y_k, i) + t_ij [guesses, n, m]: the tilted loss of guess i is their mean under p(x_j,
    y_k given z).
    """
    return np.asarray(model.loss.T[:, None, :] + tilt[:, :, None])


# -- models and rules
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SampledModel:
    """Laws of Z given (x_j, y_k), prior [n, m] and loss matrix [m, guesses]."""

    distributions: Sequence[Sequence[Any]]
    prior: Array
    loss: Array

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Draws of Z [count, d]."""
        counts = rng.multinomial(count, self.prior.ravel()).reshape(self.prior.shape)
        parts = [
            np.asarray(self.distributions[j][k].rvs(size=counts[j, k], random_state=rng)).reshape(
                counts[j, k], -1
            )
            for j, k in np.argwhere(counts > 0)
        ]
        return np.asarray(rng.permutation(np.concatenate(parts)))

    @property
    def n(self) -> int:
        """Number of private values."""
        return int(self.prior.shape[0])

    @property
    def guesses(self) -> int:
        """Number of guesses."""
        return int(self.loss.shape[1])

    def labels(self, posterior: Array, tilt: Array) -> NDArray[np.intp]:
        """The tilted Bayes rule on posteriors [n, m, N]."""
        return np.asarray(
            (self.loss.T @ posterior.sum(axis=0) + tilt @ posterior.sum(axis=1)).argmin(axis=0)
        )

    def posterior(self, z: Array) -> Array:
        """p(x_j, y_k given z) [n, m, points]."""
        points = z[:, 0] if z.ndim == 2 and z.shape[1] == 1 else z
        logs = np.full((*self.prior.shape, z.shape[0]), -np.inf)
        for j, k in np.argwhere(self.prior > 0.0):
            with np.errstate(divide="ignore"):
                logs[j, k] = np.asarray(self.distributions[j][k].logpdf(points)).reshape(
                    -1
                ) + math.log(self.prior[j, k])
        largest = logs.max(axis=(0, 1))
        if not np.isfinite(largest).all():
            raise InputError(
                "every density is 0 (or NaN) at some draw; the distributions' rvs "
                "and logpdf do not agree"
            )
        weights = np.exp(logs - largest)
        return np.asarray(weights / weights.sum(axis=(0, 1)))


def sampled_model(
    distributions: Sequence[Sequence[Any]], p_xy: Any, loss_matrix: Any
) -> SampledModel:
    """Check and freeze; InputError in one sentence."""
    prior = check_prior(p_xy)
    loss = loss_table(loss_matrix, prior.shape[1])
    laws = check_table(distributions, prior)
    for j, row in enumerate(laws):
        for k, each in enumerate(row):
            if not (
                callable(getattr(each, "logpdf", None)) and callable(getattr(each, "rvs", None))
            ):
                raise InputError(
                    f"the law of Z given (x[{j}], y[{k}]) is {brief(each)}; it needs logpdf and rvs"
                )
    return SampledModel(laws, prior, loss)


@dataclass(frozen=True, eq=False)
class SampledRule:
    """The tilted Bayes rule of `first` [guesses, n], or with probability `share` that
    of `second`.
    """

    first: Array
    second: Array
    share: float

    def on(self, model: SampledModel, posterior: Array) -> Draws:
        """Draws with the labels of both."""
        return Draws(
            posterior,
            model.labels(posterior, self.first),
            model.labels(posterior, self.second),
            self.share,
        )


def _calibrate_rule(model: SampledModel, posterior: Array, tilt: Array, aim: float) -> SampledRule:
    """The draw between two tilted Bayes rules near a tilt that has least error and leaks at most
    `aim` on draws [n, m, N].

    Candidates: the rules of the tilt scaled by 1 ± 10^-k/2, the Bayes rule, and the best constant,
    so there always is one.
    """
    posterior = posterior[:, :, :200_000]  # enough draws to find a share with
    steps = 10.0 ** (-0.5 * np.arange(1, 12))
    constant = np.full(tilt.shape, 2.0 * float(model.loss.max()) + 1.0)
    constant[int((model.loss.T @ model.prior.sum(axis=0)).argmin())] = 0.0
    tilts = [constant, *(scale * tilt for scale in (0.0, *(1.0 - steps), 1.0, *(1.0 + steps)))]
    laws, errors = zip(*(_measure(model, posterior, each) for each in tilts), strict=True)
    leaks = [law.leakage() > aim for law in laws]
    below = [k for k, over in enumerate(leaks) if not over]
    best = min(below, key=lambda k: errors[k])
    least = errors[best]
    rule = SampledRule(tilts[best], tilts[best], 0.0)
    for first, second in itertools.product(np.flatnonzero(leaks), below):
        ends = [Law(((laws[place],),)) for place in (first, second)]
        share = least_share(ends[0], ends[1], aim, 0.0) or 0.0
        cost = (1.0 - share) * errors[first] + share * errors[second]
        if cost < least:
            least = cost
            rule = SampledRule(tilts[first], tilts[second], share)
    return rule


def _measure(model: SampledModel, posterior: Array, tilt: Array) -> tuple[OutputLaw, float]:
    """Joint law of X and Ŷ of a tilted Bayes rule on draws, for the model's own prior of X, and its
    error probability.
    """
    labels = model.labels(posterior, tilt)
    p_x = model.prior.sum(axis=1)
    private = posterior.sum(axis=1)
    loss = model.loss.T @ posterior.sum(axis=0)
    joint = (
        np.stack(
            [np.bincount(labels, weights=row, minlength=model.guesses) for row in private], axis=1
        )
        / labels.size
    )
    mass = joint.sum(axis=1)
    law = OutputLaw(mass, joint - mass[:, None] * p_x, p_x)
    return law, float(loss[labels, np.arange(labels.size)].mean())
