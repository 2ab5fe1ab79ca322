"""Primal–dual interior point with predictor and corrector, for budgets from 0 to just below the
leakage of the Bayes rule.

Start: columns are inversely proportional to the slacks of the untilted losses, so all products of
an outcome are equal. The columns are blended with a draw from their law until they keep the budget.
The tilt is that of the law, and determines the slacks.

Step: Mehrotra's predictor aims at products of 0. The length of the feasible step shows how far the
products can fall, and how the mass of each guess will change; log ratios are linearised again about
those masses. The corrector aims at reachable products with a second-order correction.

Length: outcomes are coupled only by the law and the tilt, so the step is as long as all but a few
outcomes allow. The columns of those few go as far as they can, and their slacks are raised together
(`_costs` limits how many). Log ratios are linear only in small changes, so the leakage of the next
law is bounded.

End: the iteration stops when the bracket is within the gap, or no longer improves, and returns the
best iterate.

Source: docs/theory.md, section 13; S. Mehrotra, SIAM J. Optim. 2 (1992) 575–601.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from discreet.backends.precision import Precision
from discreet.backends.tilt.model import Ending, Model, Point
from discreet.backends.tilt.newton import Iterate, Newton, Step, Targets
from discreet.backends.tilt.relation import JointLaw
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import SMALLEST, UNIT

_TO_BOUNDARY = (0.9, 0.99)  # share of the longest step: far from the optimum, and close to it
# Initial slack of each best guess, relative to the error of the best constant guess: in general,
# and under perfect privacy.
_FIRST_SLACK = (0.1, 0.3)
# An iterate may leak this multiple of the budget, or of the leakage of the last iterate if that is
# larger.
_LEAKS = 2.0
# Error allowed from outcomes left behind: relative to all products, and to a guess's mass for log
# ratios of order one.
_ALLOWED = 0.1
# Relative width of the bracket at which the next vertex is usually optimal: benchmarks/ablation.py.
_NARROW = 1e-5
# The iteration gives up after this many iterations without a narrower bracket or halved products.
_PATIENCE = 15


def solve_interior(
    model: Model,
    *,
    gap: float,
    max_iterations: int,
    deadline: float = math.inf,
    shortcut: Callable[[Point], Point | None] = lambda _: None,
) -> tuple[Point, Ending]:
    """Return the iterate with the narrowest bracket (under perfect privacy, with the least merit),
    or a vertex. If the gap is not reached, the columns are those of the iterate with the least
    error.

    `deadline` is on time.perf_counter's clock. `shortcut` returns a vertex close to an iterate
    whose bracket is within the gap, or None. It is called at the start if `_few_ties`, once when
    `_worth_a_try`, and at the end unless all outcomes are ties. The width of an ending includes
    excess leakage.
    """
    at, law = _start(model)
    if _few_ties(model) and (vertex := shortcut(_point(model, at))) is not None:
        return vertex, Ending("optimal", 0, gap)
    path = _path(model, at)
    search = _Progress(model, gap)
    untried = True
    for iteration in count():
        current = _measure(model, at, law, gap)
        search.note(current)
        if untried and iteration and gap < current.width and _worth_a_try(model, at, current.width):
            untried = False
            if (vertex := shortcut(_point(model, at))) is not None:
                return vertex, Ending("optimal", iteration, gap)
        reason = search.reason(current, iteration == max_iterations, deadline)
        following = None if reason else _advance(model, current, path, gap)
        if following is None:
            break
        at, law = following
    point = _point(model, search.best)
    if not (reason == "optimal" and search.undecided):
        vertex = shortcut(point)
        if vertex is not None:
            return vertex, Ending("optimal", iteration, gap)
    if reason != "optimal" and not model.perfect:
        point = replace(point, columns=model.joined(search.cheapest))
    return point, Ending(reason or "stalled", iteration, search.lacks * gap)


@dataclass(frozen=True, eq=False)
class _Measured:
    """An iterate, its law, and how good it is.

    leaked    the leakages that are compared with the levels [C]
    products  Σ_l w_l Σ_i P_il z_il, which equals m τ on the central path
    error     error probability, plus the cost of blending with a constant guess if the leakage
              exceeds the budget
    width     relative width of the bracket that the iterate proves, up to rounding
    merit     the larger of width/gap and excess leakage in units of rounding; the iteration ends at
              merit ≤ 1
    """

    at: Iterate
    law: JointLaw
    leaked: Array
    products: float
    error: float
    width: float
    merit: float


class _Progress:
    """The best iterate so far, its distance from the gap, the estimator with the least error, and
    whether the search still makes progress.
    """

    def __init__(self, model: Model, gap: float) -> None:
        self._model = model
        self._gap = gap
        self._lowest = math.inf
        self._bracket = math.inf
        self._error = math.inf
        self._since = 0  # iterations without progress
        self.lacks = math.inf
        self.best: Iterate
        self.cheapest: Array

    def note(self, here: _Measured) -> None:
        """Record an iterate. Progress means a narrower bracket, or products that have halved."""
        self._since += 1
        done = here.merit <= 1.0
        by_merit = self._model.perfect or done
        bracket = here.width * here.error
        if self._model.perfect:
            bracket *= max(1.0, here.leaked.max() / Precision.leak_free)
        if bracket < self._bracket or done:
            self.best = here.at
            self.lacks = here.merit if by_merit else here.width / self._gap
            self._bracket = bracket
            self._since = 0
        if here.error < self._error:
            self._error = here.error
            self.cheapest = here.at.estimator
        if here.products < 0.5 * self._lowest:
            self._lowest = here.products
            self._since = 0

    def reason(self, here: _Measured, exhausted: bool, deadline: float) -> str:
        """Return why the iteration ends here; the empty string if it continues."""
        if here.merit <= 1.0:
            return "optimal"
        if self._since >= _PATIENCE:
            return "stalled"
        if exhausted:
            return "iteration limit"
        return "time limit" if time.perf_counter() > deadline else ""

    @property
    def undecided(self) -> bool:
        """True if all guesses of all outcomes are active, so that the tilt does not distinguish
        outcomes.
        """
        many = self._model.outcomes > self._model.values
        return many and bool((self.best.estimator > self.best.slack).all())


def _most_ties(model: Model) -> int:
    """Return the largest number of shares of a vertex."""
    return int(model.losses.shape[1] - 1) * (model.values - model.perfect)


def _few_ties(model: Model) -> bool:
    """Return True if there can be so few ties that the start usually leads to the vertex."""
    return _most_ties(model) <= 3 + model.perfect and (model.perfect or not model.chart.apart)


def _worth_a_try(model: Model, at: Iterate, width: float) -> bool:
    """Return True if an iterate's bracket is narrow enough for the number of outcomes that are
    still undecided.
    """
    most = _most_ties(model)
    if width > _NARROW * most**3:  # too wide even for a single tie
        return False
    active = np.add.reduce(model.joined(at.estimator - at.slack) > 0.0, axis=0)
    ties = max(1, int(np.maximum(active - 1, 0).sum()))
    return bool(ties <= most and width * ties**3 <= _NARROW * most**3)


def _point(model: Model, at: Iterate) -> Point:
    chart = model.chart
    return Point(model.joined(at.estimator), chart.rows(at.tilt), chart.multipliers(at.inner))


# -- the start
# --------------------------------------------------------------------------------------------------


def _start(model: Model) -> tuple[Iterate, JointLaw]:
    """Return the starting point and its law: columns inversely proportional to the untilted slacks,
    blended with a draw that keeps the budget.

    In the draw no guess contributes more error than the best constant guess. Leakage falls
    approximately with the square of the blend; the factor 0.95 makes the search finite. The
    multiplier has its limiting size for small budgets, the tilt is μ times the log ratio of the
    law, and relevant losses are of the size of the best constant guess's error.
    """
    nothing = np.zeros((model.losses.shape[1], model.features.shape[1]))
    unit = max(math.sqrt(Precision.nonzero), min(1.0, model.constant_error))
    slack = _slack(model, nothing, unit)
    sharp = 1.0 / slack
    sharp /= sharp.sum(axis=1)[:, None]
    estimator = sharp
    law = model.law_of(sharp)
    chart = model.chart
    if not model.perfect:
        mass_of_draw, errors = (
            np.matmul(rows, model.mass[:, :, None]).sum(axis=0) for rows in (sharp, model.losses)
        )
        mass_of_draw = np.minimum(mass_of_draw, unit / (errors - errors.min() + unit))
        blend = 1.0
        mass_of_draw = mass_of_draw / mass_of_draw.sum()
        used = _TO_BOUNDARY[0] * chart.start_levels
        while (
            share := float((used / np.maximum(chart.leaked(law), Precision.nonzero)).min())
        ) < 1.0:
            blend *= 0.95 * math.sqrt(share)
            estimator = blend * sharp + (1.0 - blend) * mass_of_draw
            law = model.law_of(estimator)
    inner = chart.start(law, 0.3 * unit)
    tilt = model.tilt_of(inner)
    if not model.perfect:
        slack = _slack(model, tilt, unit)
    return Iterate(estimator, slack, tilt, inner), law


def _slack(model: Model, tilt: Array, unit: float) -> Array:
    """Return tilted losses minus one number per outcome, so that the smallest is the initial slack
    × unit × barrier [K, m, W].
    """
    tilted = model.losses + tilt @ model.features
    tilted -= tilted.min(axis=1)[:, None]
    tilted += _FIRST_SLACK[model.perfect] * unit * model.barrier[:, None]
    return tilted


# -- how good an iterate is
# ----------------------------------------------------------------------------------------------


def _outcome_products(model: Model, at: Iterate) -> float:
    """Return Σ_l w_l Σ_i P_il z_il, which equals m τ on the central path."""
    return model.total(np.einsum("bil,bil->bl", at.estimator, at.slack))


def _path(model: Model, at: Iterate) -> Targets:
    """Return the products of the central path at τ = 1, scaled by those of the starting
    outcomes.
    """
    scale = len(at.tilt) / _outcome_products(model, at)
    return Targets(1.0, at.inner.products * scale)


def _measure(model: Model, at: Iterate, law: JointLaw, gap: float) -> _Measured:
    leaked = model.chart.leaked(law)
    products = _outcome_products(model, at)
    error = max(SMALLEST, model.total(np.einsum("bil,bil->bl", model.losses, at.estimator)))
    lowered, cost = model.chart.bound(at.inner)
    tilted = model.losses + (at.tilt - lowered) @ model.features
    lower = model.total(np.minimum.reduce(tilted, axis=1)) - cost
    excess = 0.0
    if not model.perfect:
        excess = min(1.0, max(0.0, float(np.maximum.reduce(leaked / model.chart.levels)) - 1.0))
        error += excess * max(0.0, model.constant_error - error)
    width = (error - lower) / error
    if not model.perfect:
        merit = max(width / gap, excess / model.undercut)
        return _Measured(at, law, leaked, products, error, width, merit)
    leaking = float(leaked.max())
    merit = max(abs(width) / gap, leaking / Precision.leak_free)
    return _Measured(at, law, leaked, products, error, max(abs(width), leaking), merit)


# -- one step
# --------------------------------------------------------------------------------------------------


def _advance(
    model: Model, here: _Measured, path: Targets, gap: float
) -> tuple[Iterate, JointLaw] | None:
    """Return the iterate and law after one predictor–corrector step; None if the linear algebra
    broke down.

    path: the products of the central path at τ = 1.
    """
    at = here.at
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        newton = Newton(model, at, here.law)
        total = here.products + float(at.inner.products.sum())
        # The products, as far as the bracket shows them.
        shown = max(UNIT * total, 2.0 * total - abs(here.width) * here.error)
        costs = _costs(model, at, here.law, _ALLOWED * shown)
        predictor = newton.direction(path.times(0.0))
        predicted = min(1.0, _length(model, at, costs, predictor))
        if not model.perfect:
            newton.anticipate(predictor, predicted)
        remaining = (1.0 - predicted) ** 2 * total
        whole = path.outcomes * len(at.tilt) + float(path.inner.sum())
        target = path.times(max(Precision.own_gap * gap * here.error, remaining) / whole)
        share = min(_TO_BOUNDARY[1], max(_TO_BOUNDARY[0], 1.0 - math.sqrt(abs(here.width))))
        most = _most_leaked(model, here.leaked)
        for shortened in range(30):
            step = newton.direction(target, predictor)
            length = 0.25**shortened * min(1.0, share * _length(model, at, costs, step))
            candidate = _take_step(model, at, step, length, share)
            law = model.law_of(candidate.estimator)
            if not (model.chart.leaked(law) > most).any():
                break
    inside = candidate.estimator.min() > 0.0 and candidate.slack.min() > 0.0
    return (candidate, law) if inside else None


def _most_leaked(model: Model, leaked: Array) -> Array:
    """Return the largest leakages allowed for the next iterate [C]."""
    if model.perfect:
        return np.full(leaked.size, math.inf)
    return np.asarray(_LEAKS * np.maximum(model.chart.levels, leaked))


def _costs(model: Model, at: Iterate, law: JointLaw, room: float) -> Array:
    """Return the error caused by leaving an outcome behind, relative to what is allowed [K, W].

    room: error allowed in the products. The error allowed in the mass of a guess is a share of the
    relative changes of posteriors within the budget.
    """
    costs = model.mass / room
    if not model.perfect:
        prices = 1.0 / (_ALLOWED * model.chart.size * law.mass)
        costs += model.mass * np.matmul(prices, at.estimator)
    return costs


def _length(model: Model, at: Iterate, costs: Array, step: Step) -> float:
    """Return the longest step that stays inside, except for outcomes whose costs sum to at most 1;
    inf if unbounded.
    """
    falls = np.maximum.reduce(step.falls, axis=0)
    length = _to_boundary(float(np.maximum.reduce(falls, axis=None)))
    if length < 1.0:
        length = _affordable(costs, falls)
    for values, changes in (
        (at.inner.slack, step.inner.slack),
        (at.inner.multipliers, step.inner.multipliers),
    ):
        length = min(length, _to_boundary(float((-changes / values).max(initial=0.0))))
    return length


def _to_boundary(fall: float) -> float:
    """Return the step at which a value reaches 0, if a whole step reduces it by this share of
    itself.
    """
    return 1.0 / fall if fall > 0.0 else math.inf


def _affordable(costs: Array, falls: Array) -> float:
    """Return the longest step, at most 1, with Σ cost × (excess over the outcome's own longest
    step) ≤ 1.
    """
    order = (falls > 1.0).ravel().nonzero()[0]
    order = order[(-falls.take(order)).argsort()]
    costs = costs.take(order)
    ends = 1.0 / falls.take(order)
    # Step lengths with the first, the first two, … outcomes left behind.
    lengths = (1.0 + (costs * ends).cumsum()) / costs.cumsum()
    lengths[:-1][lengths[:-1] > ends[1:]] = math.inf  # the next outcome ends the step earlier
    return min(1.0, float(np.minimum.reduce(lengths)))


def _take_step(model: Model, at: Iterate, step: Step, length: float, share: float) -> Iterate:
    """Return the iterate after a step of this length. The arrays of the step are overwritten.

    No outcome loses more than `share` of its distance to the boundary.
    """
    estimator = step.estimator
    estimator *= np.minimum(length, share / np.maximum(step.falls[0], share))[:, None]
    estimator += 1.0
    estimator *= at.estimator
    estimator /= np.add.reduce(estimator, axis=1)[:, None]
    slack = step.slack
    slack *= length
    slack += 1.0
    slack *= at.slack
    block, place = np.nonzero(length * step.falls[1] > share)
    floor = (1.0 - share) * at.slack[block, :, place]
    # All slacks of an outcome are raised together, which preserves the differences of its losses.
    slack[block, :, place] += (floor - slack[block, :, place]).max(axis=1, initial=0.0)[:, None]
    inner = at.inner.moved(step.inner, length)
    return Iterate(estimator, slack, model.tilt_of(inner), inner)
