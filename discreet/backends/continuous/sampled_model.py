"""A model that can be drawn from and evaluated at draws, and rules on its posteriors.

A tilted Bayes rule is a function of the posterior p(x_j, y_k given z) alone. Where the posterior hardly varies over a
part of Z that matters (all measurements far out on one side say the same), its leakage jumps as the tilt changes; the best
rule randomises there. So a rule here is a coin between two tilted Bayes rules, chosen among neighbours of one tilt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.continuous.confidence import Draws
from discreet.problems.checks import check_total, mass_array
from discreet.problems.errors import InputError
from discreet.problems.measures.law import OutputLaw
from discreet.problems.numerics.double_double import Array

__all__ = ["SampledModel", "SampledRule", "calibrated", "sampled_model"]

_SCALES = 12
_HALVINGS = 40
_CALIBRATED = 200_000  # most draws the coin is set on


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
            np.asarray(self.distributions[j][k].rvs(size=counts[j, k], random_state=rng)).reshape(counts[j, k], -1)
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
        return np.asarray((self.loss.T @ posterior.sum(axis=0) + tilt @ posterior.sum(axis=1)).argmin(axis=0))

    def posterior(self, z: Array) -> Array:
        """p(x_j, y_k given z) [n, m, points]."""
        points = z[:, 0] if z.ndim == 2 and z.shape[1] == 1 else z
        logs = np.full((*self.prior.shape, z.shape[0]), -np.inf)
        for j, k in np.argwhere(self.prior > 0.0):
            with np.errstate(divide="ignore"):
                logs[j, k] = np.asarray(self.distributions[j][k].logpdf(points)).reshape(-1) + math.log(self.prior[j, k])
        largest = logs.max(axis=(0, 1))
        if not np.isfinite(largest).all():
            raise InputError("every density is 0 (or NaN) at some draw; the distributions' rvs and logpdf do not agree")
        weights = np.exp(logs - largest)
        return np.asarray(weights / weights.sum(axis=(0, 1)))


def sampled_model(distributions: Sequence[Sequence[Any]], p_xy: Any, loss_matrix: Any) -> SampledModel:
    """Check and freeze; InputError in one sentence."""
    prior = mass_array(p_xy, "p_xy", 2, "[n, m]")
    prior = prior / check_total(prior, "p_xy")
    n, m = prior.shape
    loss = 1.0 - np.eye(m) if loss_matrix is None else mass_array(loss_matrix, "loss_matrix", 2, "[m, guesses]")
    if loss.shape[0] != m:
        raise InputError(f"loss_matrix has {loss.shape[0]} rows but Y has {m} values; give one row per value of Y")
    if len(distributions) != n or any(len(row) != m for row in distributions):
        raise InputError(f"p_xy has shape {[n, m]} but distributions does not; give {n} rows of {m} distributions")
    for j, row in enumerate(distributions):
        for k, each in enumerate(row):
            if not (callable(getattr(each, "logpdf", None)) and callable(getattr(each, "rvs", None))):
                raise InputError(f"the law of Z given (x[{j}], y[{k}]) is {each!r}; it needs logpdf and rvs")
    return SampledModel(distributions, prior, loss)


@dataclass(frozen=True, eq=False)
class SampledRule:
    """The tilted Bayes rule of `first` [guesses, n], or with probability `share` that of `second`."""

    first: Array
    second: Array
    share: float

    def on(self, model: SampledModel, posterior: Array) -> Draws:
        """Draws with the labels of both."""
        return Draws(posterior, model.labels(posterior, self.first), model.labels(posterior, self.second), self.share)

    def guess(self, model: SampledModel, z: Array, rng: np.random.Generator) -> NDArray[np.intp]:
        """Guesses for measurements."""
        posterior = model.posterior(z)
        chosen = rng.random(posterior.shape[2]) < self.share
        return np.where(chosen, model.labels(posterior, self.second), model.labels(posterior, self.first))


def calibrated(model: SampledModel, posterior: Array, tilt: Array, aim: float) -> SampledRule:
    """The coin of least error between two tilted Bayes rules near a tilt that leaks at most `aim` on draws [n, m, N].

    Candidates: the rules of the tilt scaled by 1 ± 10^-k/2, the Bayes rule, and the best constant, so there always is one.
    """
    posterior = posterior[:, :, :_CALIBRATED]
    tilts = _candidates(model, tilt)
    measured = [_measure(model, posterior, each) for each in tilts]
    laws, errors = np.stack([law for law, _ in measured]), np.array([error for _, error in measured])
    leaks = _leakages(model, laws) > aim
    above, below = np.flatnonzero(leaks), np.flatnonzero(~leaks)
    best = below[errors[below].argmin()]
    if not above.size:
        return SampledRule(tilts[best], tilts[best], 0.0)
    first, second = (each.ravel() for each in np.meshgrid(above, below))
    share = _least_shares(model, laws[first], laws[second], aim)
    cost = (1.0 - share) * errors[first] + share * errors[second]
    k = int(cost.argmin())
    if cost[k] >= errors[best]:
        return SampledRule(tilts[best], tilts[best], 0.0)
    return SampledRule(tilts[first[k]], tilts[second[k]], float(share[k]))


def _candidates(model: SampledModel, tilt: Array) -> list[Array]:
    steps = 10.0 ** (-0.5 * np.arange(1, _SCALES))
    constant = np.full(tilt.shape, 2.0 * float(model.loss.max()) + 1.0)
    constant[int((model.loss.T @ model.prior.sum(axis=0)).argmin())] = 0.0
    return [constant, *(scale * tilt for scale in (0.0, *(1.0 - steps), 1.0, *(1.0 + steps)))]


def _measure(model: SampledModel, posterior: Array, tilt: Array) -> tuple[Array, float]:
    """Joint law of X and Ŷ [guesses, n] of a tilted Bayes rule on draws, and its error probability."""
    labels = model.labels(posterior, tilt)
    private, loss = posterior.sum(axis=1), model.loss.T @ posterior.sum(axis=0)
    joint = [np.bincount(labels, weights=row, minlength=model.guesses) / labels.size for row in private]
    return np.stack(joint, axis=1), float(loss[labels, np.arange(labels.size)].mean())


def _leakages(model: SampledModel, laws: Array) -> Array:
    """I(X; Ŷ) [K] of joint laws [K, guesses, n], with the model's own prior."""
    p_x = model.prior.sum(axis=1)
    found = []
    for joint in laws:
        mass = joint.sum(axis=1)
        found.append(OutputLaw(mass, joint - mass[:, None] * p_x, p_x).leakage())
    return np.array(found)


def _least_shares(model: SampledModel, first: Array, second: Array, aim: float) -> Array:
    """Least share of the second law of each pair with which the mixture leaks at most `aim`; the second alone does."""
    low, high = np.zeros(first.shape[0]), np.ones(first.shape[0])
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        mixed = (1.0 - middle)[:, None, None] * first + middle[:, None, None] * second
        leaks = _leakages(model, mixed) > aim
        low, high = np.where(leaks, middle, low), np.where(leaks, high, middle)
    return high
