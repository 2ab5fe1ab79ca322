"""Primal–dual interior point with Mehrotra's predictor and corrector, for budgets from 0 to just under the Bayes rule's leakage.

Start: the Bayes rule blended with the uniform estimator until half the budget is unused; all barrier products are centred
there (the weight κ of the budget's product is chosen for it), so no phase one and no line search is needed. Columns of
P stay stochastic and the losses stay dual feasible by construction; what Newton's method has to remove is only the
curvature of the leakage.

Stop: when the bracket estimated from the iterate itself (its tilt's dual bound; its error probability plus the price of any
excess leakage) is within the target, or when it no longer improves; the best iterate seen is returned. The estimate is for
stopping only: the judge certifies.

Source: S. Mehrotra, "On the implementation of a primal–dual interior point method", SIAM J. Optim. 2 (1992); discreet
design §4.1.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from discreet.backends.tilt.model import Law, Model, law_of
from discreet.backends.tilt.newton import Direction, Iterate, Newton
from discreet.problems.accurate import Array

__all__ = ["Outcome", "solve_interior"]

_TO_BOUNDARY = 0.99
_START_DISTANCE = 0.3  # slack of the best guess at the start, in units of loss
_START_MIX = 0.1  # least share of the uniform estimator at the start
_PATIENCE = 4  # iterations without a better bracket before giving up


@dataclass(frozen=True, eq=False)
class Outcome:
    """The best iterate seen: estimator [m, N], tilt in R^n [m, n], μ (inf at budget 0), iterations, and how it ended."""

    estimator: Array
    tilt: Array
    multiplier: float
    iterations: int
    ended: str


def solve_interior(
    model: Model, bayes: Array, *, gap: float, max_iterations: int, deadline: float | None = None
) -> Outcome:
    """Run the interior point. `bayes` is the Bayes rule [m, N]; `deadline` is on time.perf_counter's clock."""
    at = _start(model, bayes)
    kappa = at.unused * at.multiplier / _mean_product(model, at) if not model.perfect else 0.0
    best: tuple[float, Iterate] | None = None
    since_best = 0
    for iteration in range(max_iterations + 1):
        law = law_of(model, at.estimator)
        width, upper = _bracket(model, at, law)
        if best is None or width < best[0]:
            best, since_best = (width, at), 0
        else:
            since_best += 1
        ended = _verdict(width, upper, gap, since_best, deadline)
        if ended or iteration == max_iterations:
            break
        moved = _advance(model, at, law, kappa)
        if moved is None:
            ended = "stalled"
            break
        at = moved
    found = best[1]
    tilt = found.tilt @ model.frame.T
    return Outcome(found.estimator, tilt, found.multiplier, iteration, ended or "iteration limit")


def _verdict(width: float, upper: float, gap: float, since_best: int, deadline: float | None) -> str:
    if width <= gap * upper:
        return "optimal"
    if since_best >= _PATIENCE:
        return "stalled"
    if deadline is not None and time.perf_counter() > deadline:
        return "time limit"
    return ""


def _start(model: Model, bayes: Array) -> Iterate:
    m = bayes.shape[0]
    share = _starting_share(model, bayes)
    estimator = (1.0 - share) * bayes + share / m
    law = law_of(model, estimator)
    multiplier = 0.3 / np.sqrt(2.0 * model.budget) if not model.perfect else np.inf
    tilt = np.zeros_like(law.gradient) if model.perfect else multiplier * law.gradient
    tilted = model.losses + tilt @ model.features
    shadow = tilted.min(axis=0) - _START_DISTANCE
    unused = 0.0 if model.perfect else max(model.budget - law.leakage, 0.1 * model.budget)
    return Iterate(estimator, tilted - shadow, shadow, tilt, multiplier, unused)


def _starting_share(model: Model, bayes: Array) -> float:
    """Share of the uniform estimator that leaves half the budget unused, at least `_START_MIX`; leakage is monotone in it."""
    if model.perfect:
        return 0.5
    m = bayes.shape[0]
    low, high = 0.0, 1.0
    tail = bayes @ model.weighted.T  # the law is linear in the estimator: blend [m, k] numbers
    flat = np.full_like(bayes, 1.0 / m) @ model.weighted.T
    for _ in range(40):
        share = 0.5 * (low + high)
        if _leakage(model, (1.0 - share) * tail + share * flat) <= 0.5 * model.budget:
            high = share
        else:
            low = share
    return max(high, _START_MIX)


def _leakage(model: Model, coordinates: Array) -> float:
    from discreet.problems.information import phi_divergence

    ratio = (coordinates[:, 1:] @ model.basis.T) / coordinates[:, :1]
    return float(coordinates[:, 0] @ (phi_divergence(ratio) @ model.p_x))


def _mean_product(model: Model, at: Iterate) -> float:
    return float((at.estimator * at.slack).sum(axis=0) @ model.mass) / at.estimator.shape[0]


def _bracket(model: Model, at: Iterate, law: Law) -> tuple[float, float]:
    """Width of the bracket the iterate proves (up to rounding), and its upper end."""
    tilted = model.losses + at.tilt @ model.features
    error = float((model.losses * at.estimator).sum(axis=0) @ model.mass)
    if model.perfect:
        off = float(np.abs(at.tilt[:, 1:] * law.coordinates[:, 1:]).sum())
        upper = error + off
        return upper - float(tilted.min(axis=0) @ model.mass), upper
    excess = at.multiplier * max(0.0, law.leakage - model.budget)
    tilted = tilted - _support(model, at)[:, None]
    lower = float(tilted.min(axis=0) @ model.mass) - at.multiplier * model.budget
    return error + excess - lower, error + excess


def _support(model: Model, at: Iterate) -> Array:
    """h_i(t, μ) = μ log Σ π e^{t_ij/μ} [m]."""
    scaled = at.tilt @ model.frame.T / at.multiplier
    largest = scaled.max(axis=1)
    near = np.log1p(np.expm1(np.minimum(scaled, 1.0)) @ model.p_x)
    far = largest + np.log(np.exp(scaled - largest[:, None]) @ model.p_x)
    return at.multiplier * np.where(np.abs(scaled).max(axis=1) < 1.0, near, far)


def _advance(model: Model, at: Iterate, law: Law, kappa: float) -> Iterate | None:
    """One predictor–corrector step; None when the linear algebra has broken down."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        newton = Newton(model, at, law, kappa)
        predictor = newton.direction(0.0)
        primal, dual = (min(1.0, length) for length in _steps(model, at, predictor))
        products = model.mass @ ((at.estimator + primal * predictor.estimator) * (at.slack + dual * predictor.slack)).sum(axis=0)
        now = float(model.mass @ (at.estimator * at.slack).sum(axis=0))
        budget_now = 0.0
        if not model.perfect:
            products += (at.unused + primal * predictor.unused) * (at.multiplier + dual * predictor.multiplier)
            budget_now = at.unused * at.multiplier
        weight = at.estimator.shape[0] + kappa
        total = now + budget_now
        if not np.isfinite(products) or total <= 0.0:
            return None
        target = min(1.0, max(1e-8, float(products) / total)) ** 3 * total / weight
        corrector = newton.direction(
            target, predictor.estimator * predictor.slack, predictor.unused * predictor.multiplier
        )
        primal, dual = _steps(model, at, corrector)
    return _moved(at, corrector, min(1.0, _TO_BOUNDARY * primal), min(1.0, _TO_BOUNDARY * dual))


def _steps(model: Model, at: Iterate, step: Direction) -> tuple[float, float]:
    """Longest primal and dual steps that stay inside (inf if none ends); one common length while the budget bends the path."""
    primal = _longest(at.estimator, step.estimator)
    dual = _longest(at.slack, step.slack)
    if model.perfect:
        return primal, dual
    for value, change in ((at.unused, step.unused), (at.multiplier, step.multiplier)):
        if change < 0.0:
            primal = min(primal, -value / change)
    return min(primal, dual), min(primal, dual)


def _longest(values: Array, changes: Array) -> float:
    worst = float((-changes / values).max())
    return 1.0 / worst if worst > 0.0 else np.inf


def _moved(at: Iterate, step: Direction, primal: float, dual: float) -> Iterate | None:
    estimator = at.estimator + primal * step.estimator
    slack = at.slack + dual * step.slack
    if not (np.isfinite(estimator).all() and estimator.min() > 0.0 and slack.min() > 0.0):
        return None
    return Iterate(
        estimator / estimator.sum(axis=0),
        slack,
        at.shadow + dual * step.shadow,
        at.tilt + dual * step.tilt,
        at.multiplier + dual * step.multiplier if step.multiplier else at.multiplier,
        at.unused + primal * step.unused,
    )
