"""Primal–dual interior point, predictor and correctors, for budgets from 0 to just under the Bayes rule's leakage.

Start: columns inversely proportional to the slacks that losses have under no tilt, so that products agree for each outcome,
blended with uniform columns to keep the budget; then the tilt of their law and its slacks. All is feasible.

Step: Mehrotra's predictor shows how far the products can fall and how the mass of each guess is going to change, about which
the log ratios are linearised again; his second-order corrector follows, then Gondzio's centrality correctors while they
lengthen the step.

Stop: when the bracket estimated from the iterate itself (its tilt's dual bound; its error probability plus the price of any
excess leakage) is within the target, or when it no longer improves; the best iterate seen is returned. The estimate is for
stopping only: the judge certifies.

Source: docs/theory.md, section 13; S. Mehrotra, "On the implementation of a primal–dual interior point method", SIAM J.
Optim. 2 (1992); J. Gondzio, "Multiple centrality corrections in a primal–dual method for linear programming", Comput. Optim.
Appl. 6 (1996).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from discreet.backends.precision import Precision
from discreet.backends.tilt.model import Law, Model, law_of
from discreet.backends.tilt.newton import Iterate, Newton
from discreet.backends.tilt.point import Ending, Point
from discreet.problems.numerics.double_double import Array

_TO_BOUNDARY = (0.9, 0.99)  # share of the longest step: far from the optimum, and next to it
_FIRST_SLACK = 0.1  # of the best guess of an outcome, for losses of order one
_FIRST_USED = 0.9  # of the budget, at a start without a tilt
_MOST_CORRECTORS = 6
_ENTRIES_PER_CORRECTOR = 4  # of the tilt
_LONG_ENOUGH = 0.95  # step that no centrality corrector could lengthen by much
_AMBITION = 0.3  # how much longer a step each centrality corrector aims at
_NEIGHBOURHOOD = 30.0  # products between target / this and target × this count as centred
_FLOOR = 0.1  # of the gap: products need not fall further, where rounding would soon be larger
_FIRST_TRY = (0.3, 1e-3)  # width from which on vertices are found: of two private values and two guesses, and of more
_NARROWER = 0.03  # width of the bracket, next to that before, at which a vertex is worth another try
_PATIENCE = 15  # iterations without a better merit before giving up


Shortcut = Callable[[Point], tuple[Point, float] | None]
"""Tries to end early from an iterate: the vertex next to it and the width that it proves, if that is within the gap."""


def solve_interior(
    model: Model,
    *,
    gap: float,
    max_iterations: int,
    deadline: float | None = None,
    shortcut: Shortcut | None = None,
) -> tuple[Point, Ending]:
    """The iterate with the least merit, or a vertex; `deadline` is on time.perf_counter's clock.

    `shortcut` is tried from a bracket of `_FIRST_TRY` on, whenever it is `_NARROWER` than at the last try, and at the end.
    The ending's width counts all that is lacking.
    """
    at = _start(model)
    kappa = 0.0 if model.perfect else at.unused * at.multiplier / _mean_product(model, at)
    best, least, since_best, ended = at, np.inf, 0, ""
    worth_a_try = _FIRST_TRY[max(model.p_x.size, len(at.tilt)) > 2]
    for iteration in range(max_iterations + 1):
        law = law_of(model, at.estimator)
        tilted = model.losses + at.tilt @ model.features
        merit, width = _merit(model, at, law, tilted, gap)
        since_best += 1
        if merit < least:
            best, least, since_best = at, merit, 0
        if shortcut is not None and gap < width <= worth_a_try:
            worth_a_try = _NARROWER * width
            found = shortcut(_point(model, at))
            if found is not None:
                return found[0], Ending("optimal", iteration, found[1])
        ended = _ending(merit, since_best, iteration == max_iterations, deadline)
        moved = None if ended else _advance(model, at, law, kappa, gap, width)
        if moved is None:
            ended = ended or "stalled"
            break
        at = moved
    point = _point(model, best)
    found = shortcut(point) if shortcut is not None else None
    if found is not None:
        return found[0], Ending("optimal", iteration, found[1])
    return point, Ending(ended, iteration, least * gap)


def _point(model: Model, at: Iterate) -> Point:
    return Point(model.joined(at.estimator), at.tilt @ model.frame.T, at.multiplier)


def _ending(merit: float, since_best: int, exhausted: bool, deadline: float | None) -> str:
    if merit <= 1.0:
        return "optimal"
    if since_best >= _PATIENCE:
        return "stalled"
    if exhausted:
        return "iteration limit"
    if deadline is not None and time.perf_counter() > deadline:
        return "time limit"
    return ""


# -- the start -----------------------------------------------------------------------------------------------------------


def _start(model: Model) -> Iterate:
    """Columns inversely proportional to the slacks under no tilt, blended with uniform ones until they keep the budget.

    The multiplier has the size that it takes as budgets shrink, and the tilt is μ log ratio of the law.
    """
    m, k = model.losses.shape[1], model.features.shape[1]
    nothing = np.zeros((m, k))
    slack = _slack(model, nothing)
    sharp = 1.0 / slack
    sharp /= sharp.sum(axis=1)[:, None]
    if model.perfect:
        return Iterate(sharp, slack, nothing, math.inf, 0.0)
    estimator, blend = sharp, 1.0
    while (law := law_of(model, estimator)).leakage > _FIRST_USED * model.budget:  # falls about as the square
        blend *= 0.95 * math.sqrt(_FIRST_USED * model.budget / law.leakage)
        estimator = blend * sharp + (1.0 - blend) / m
    multiplier = 0.3 / math.sqrt(2.0 * model.budget)
    tilt = multiplier * law.gradient
    return Iterate(estimator, _slack(model, tilt), tilt, multiplier, model.budget - law.leakage)


def _slack(model: Model, tilt: Array) -> Array:
    """Tilted losses less one number an outcome, so that the least is `_FIRST_SLACK` × barrier [K, m, W]."""
    tilted = model.losses + tilt @ model.features
    tilted -= tilted.min(axis=1)[:, None]
    tilted += _FIRST_SLACK * model.barrier[:, None]
    return tilted


# -- how good an iterate is ----------------------------------------------------------------------------------------------


def _mean_product(model: Model, at: Iterate) -> float:
    """Σ_l w_l Σ_i P_il z_il / m, which is τ on the central path."""
    return model.total(np.einsum("bil,bil->bl", at.estimator, at.slack)) / len(at.tilt)


def _merit(model: Model, at: Iterate, law: Law, tilted: Array, gap: float) -> tuple[float, float]:
    """(merit, width): merit ≤ 1 means done, and is what is lacking in units of what is asked.

    width is that of the bracket the iterate proves, relative and up to rounding; merit is width over gap. Leakage above the
    budget is priced at what blending with a constant guess costs, and must besides be at the level of rounding.
    """
    error = model.total(np.einsum("bil,bil->bl", model.losses, at.estimator))
    if model.perfect:
        width = error - model.total(tilted.min(axis=1))
        leaking = float(np.abs(law.deviation / model.p_x).max())
        return max(width / (gap * error), leaking / Precision.leak_free), max(abs(width) / error, leaking)
    excess = min(1.0, max(0.0, law.leakage / model.budget - 1.0))
    error += excess * max(0.0, model.constant_error - error)
    lower = model.total((tilted - _support(model, at)[:, None]).min(axis=1)) - at.multiplier * model.budget
    width = (error - lower) / error
    return max(width / gap, excess / model.undercut), width


def _support(model: Model, at: Iterate) -> Array:
    """h_i(t, μ) = μ log Σ π e^{t_ij/μ} [m]."""
    scaled = at.tilt @ model.frame.T / at.multiplier
    size = np.abs(scaled).max(axis=1)
    near = np.log1p(np.expm1(np.minimum(scaled, 1.0)) @ model.p_x)
    if size.max() < 1.0:
        return np.asarray(at.multiplier * near)
    largest = scaled.max(axis=1)
    far = largest + np.log(np.exp(scaled - largest[:, None]) @ model.p_x)
    return at.multiplier * np.where(size < 1.0, near, far)


# -- one step ------------------------------------------------------------------------------------------------------------


def _advance(model: Model, at: Iterate, law: Law, kappa: float, gap: float, width: float) -> Iterate | None:
    """One predictor–corrector step; None when the linear algebra has broken down."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        newton = Newton(model, at, law, kappa)
        target, step = _corrected(model, at, law.mass, newton, kappa, _FLOOR * gap)
        lengths = _lengths(model, at, step)
        for _ in range(_correctors(at)):
            if min(lengths) >= _LONG_ENOUGH:
                break
            better = _recentred(at, newton, step, lengths, target * model.barrier)
            longer = _lengths(model, at, better)
            if not sum(min(1.0, a) for a in longer) > sum(min(1.0, a) for a in lengths) + 0.1 * _AMBITION:
                break
            step, lengths = better, longer
        share = min(_TO_BOUNDARY[1], max(_TO_BOUNDARY[0], 1.0 - math.sqrt(abs(width))))
        moved = _moved(at, step, *(min(1.0, share * length) for length in lengths))
    if not (np.isfinite(moved.estimator).all() and moved.estimator.min() > 0.0 and moved.slack.min() > 0.0):
        return None
    return replace(moved, estimator=moved.estimator / moved.estimator.sum(axis=1)[:, None])


def _correctors(at: Iterate) -> int:
    """Centrality correctors worth trying: as many as the system costs more to form than to solve once more."""
    return max(1, min(_MOST_CORRECTORS, at.tilt.size // _ENTRIES_PER_CORRECTOR))


def _corrected(model: Model, at: Iterate, mass: Array, newton: Newton, kappa: float, floor: float) -> tuple[float, Iterate]:
    """Mehrotra's target for the products and the direction corrected for what the predictor announces."""
    predictor = newton.direction(0.0)
    primal, dual = (min(1.0, length) for length in _lengths(model, at, predictor))
    now, then = _total_product(model, at), _total_product(model, _moved(at, predictor, primal, dual))
    error = model.total(np.einsum("bil,bil->bl", model.losses, at.estimator))
    target = max(floor * error, min(1.0, max(1e-8, then / now)) ** 3 * now) / (at.estimator.shape[1] + kappa)
    growth = 1.0 + primal * np.matmul(predictor.estimator, model.mass[:, :, None]).sum(axis=0)[:, 0] / mass
    newton.anticipate(np.clip(growth, 1.0 - _TO_BOUNDARY[1], 1.0 / (1.0 - _TO_BOUNDARY[1])))
    return target, newton.direction(target, predictor.estimator * predictor.slack, predictor.unused * predictor.multiplier)


def _recentred(at: Iterate, newton: Newton, step: Iterate, lengths: tuple[float, float], targets: Array) -> Iterate:
    """Gondzio's corrector: bring the products that a longer step would leave far from their targets back towards them."""
    primal, dual = (min(1.0, length + _AMBITION) for length in lengths)
    missing = np.empty_like(at.slack)
    for b, target in enumerate(targets):
        products = at.estimator[b] + primal * step.estimator[b]
        products *= at.slack[b] + dual * step.slack[b]
        np.minimum(products, target * _NEIGHBOURHOOD, out=missing[b])
        np.maximum(missing[b], target / _NEIGHBOURHOOD, out=missing[b])
        missing[b] -= products
        np.maximum(missing[b], -_NEIGHBOURHOOD * target, out=missing[b])
    return newton.again(missing)


def _total_product(model: Model, at: Iterate) -> float:
    budget = 0.0 if model.perfect else at.unused * at.multiplier
    return _mean_product(model, at) * len(at.tilt) + budget


def _lengths(model: Model, at: Iterate, step: Iterate) -> tuple[float, float]:
    """Longest primal and dual steps that stay inside (inf if none ends); one for both while the budget bends the path."""
    primal = _longest(at.estimator, step.estimator)
    dual = _longest(at.slack, step.slack)
    if model.perfect:
        return primal, dual
    for value, change in ((at.unused, step.unused), (at.multiplier, step.multiplier)):
        if change < 0.0:
            primal = min(primal, -value / change)
    return min(primal, dual), min(primal, dual)


def _longest(values: Array, changes: Array) -> float:
    worst = -min(float((change / value).min()) for change, value in zip(changes, values, strict=True))
    return 1.0 / worst if worst > 0.0 else math.inf


def _moved(at: Iterate, step: Iterate, primal: float, dual: float) -> Iterate:
    return Iterate(
        at.estimator + primal * step.estimator,
        at.slack + dual * step.slack,
        at.tilt + dual * step.tilt,
        at.multiplier + dual * step.multiplier if step.multiplier else at.multiplier,
        at.unused + primal * step.unused,
    )
