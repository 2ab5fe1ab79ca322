"""Primal–dual interior point, predictor and corrector, for budgets from 0 to just under the Bayes
rule's leakage.

Start: columns are inversely proportional to the slacks that losses have under no tilt, so the
products of an outcome agree. They are blended with a draw from their law to keep the budget. The
tilt is that of the law, and gives the slacks.

Step: Mehrotra's predictor aims at products of 0. How far it can be followed shows how far they can
fall. It also shows how the mass of each guess is going to change, about which the log ratios are
linearised again. The corrector aims at products that can be reached, with a second-order
correction.

Length: as long as all outcomes but a few allow, since outcomes are coupled by the law and the tilt
only. The columns of those few go as far as they can, and their slacks are raised together (`_costs`
says how many they may be). Log ratios are linear in small changes only, so there is a limit to what
the next law may leak.

End: when the bracket that the iterate proves is within the gap, or no longer improves. The best
iterate is returned.

Source: docs/theory.md, section 13; S. Mehrotra, SIAM J. Optim. 2 (1992) 575–601.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from discreet.backends.precision import Precision
from discreet.backends.tilt.model import Model
from discreet.backends.tilt.newton import Newton, Step, Targets
from discreet.backends.tilt.point import Ending, Point
from discreet.backends.tilt.relation import JointLaw
from discreet.backends.tilt.systems import Iterate
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import SMALLEST, UNIT

_TO_BOUNDARY = (0.9, 0.99)  # share of the longest step: far from the optimum, and next to it
# Of an outcome's best guess, in errors of the best constant guess; at perfect privacy: the other.
_FIRST_SLACK = (0.1, 0.3)
# Times the budget, or what the last iterate leaks if that is more: so much may an iterate leak.
_LEAKS = 2.0
# Error by outcomes left behind: of all products; of a guess's mass, for log ratios of order one.
_ALLOWED = 0.1
# Relative width of the bracket at which the next vertex is most often optimal:
# benchmarks/ablation.py.
_NARROW = 1e-5
# Iterations in which the bracket has not narrowed and the products have not halved before giving up
_PATIENCE = 15


def solve_interior(
    model: Model,
    *,
    gap: float,
    max_iterations: int,
    deadline: float = math.inf,
    shortcut: Callable[[Point], Point | None] | None = None,
) -> tuple[Point, Ending]:
    """The iterate with the narrowest bracket, at budget 0 with the least merit, or a vertex.

    `deadline` is on time.perf_counter's clock. `shortcut` finds a vertex next to an iterate, of a
    bracket within the gap, or None. It is called at the start if there are `_few_ties`, once where
    `_worth_a_try`, and at the end unless all are ties. An ending's width counts excess leakage.
    """
    at, law = _start(model)
    if (
        shortcut is not None
        and _few_ties(model)
        and (vertex := shortcut(_point(model, at))) is not None
    ):
        return vertex, Ending("optimal", 0, gap)
    guesses = len(at.tilt)
    outcomes = _outcome_products(model, at)
    path = Targets(
        1.0,
        at.inner.products * guesses / outcomes,
        at.unused * at.multiplier * guesses / outcomes,
    )
    best = at
    nearest = np.inf
    lowest = np.inf
    since_best = 0
    ended = ""
    leaked = model.chart.leaked(law)
    untried = True
    for iteration in range(max_iterations + 1):
        merit, width, error = _merit(model, at, leaked, gap)
        since_best += 1
        lacks = merit if model.perfect or merit <= 1.0 else width / gap
        if lacks < nearest or merit <= 1.0:
            best = at
            nearest = lacks
            since_best = 0
        if (outcomes := _outcome_products(model, at)) < 0.5 * lowest:
            lowest = outcomes
            since_best = 0
        if (
            shortcut is not None
            and gap < width
            and untried
            and iteration
            and _worth_a_try(model, at, width)
        ):
            untried = False
            if (vertex := shortcut(_point(model, at))) is not None:
                return vertex, Ending("optimal", iteration, gap)
        ended = _ending(merit, since_best, iteration == max_iterations, deadline)
        moved = (
            None if ended else _advance(model, at, law, leaked, path, gap, (outcomes, width, error))
        )
        if moved is None:
            ended = ended or "stalled"
            break
        at, law, leaked = moved
    point = _point(model, best)
    if ended == "optimal" and model.outcomes > model.values and (best.estimator > best.slack).all():
        shortcut = None  # all guesses of all outcomes are active, so the tilt tells none apart
    if shortcut is not None and (vertex := shortcut(point)) is not None:
        return vertex, Ending("optimal", iteration, gap)
    return point, Ending(ended, iteration, nearest * gap)


def _most_ties(model: Model) -> int:
    """How many shares a vertex has at most."""
    return int(model.losses.shape[1] - 1) * (model.values - model.perfect)


def _few_ties(model: Model) -> bool:
    """Whether so few can be ties that the start most often leads to the vertex."""
    return _most_ties(model) <= 3 + model.perfect and (model.perfect or not model.chart.apart)


def _worth_a_try(model: Model, at: Iterate, width: float) -> bool:
    """Whether the bracket of that width that an iterate proves is narrow for as many as still
    hesitate.
    """
    most = _most_ties(model)
    if width > _NARROW * most**3:  # too wide even for a single tie
        return False
    active = np.add.reduce(model.joined(at.estimator - at.slack) > 0.0, axis=0)
    ties = max(1, int(np.maximum(active - 1, 0).sum()))
    return bool(ties <= most and width * ties**3 <= _NARROW * most**3)


def _point(model: Model, at: Iterate) -> Point:
    chart = model.chart
    return Point(model.joined(at.estimator), chart.rows(at.tilt), chart.multipliers(at.multiplier))


def _ending(merit: float, since_best: int, exhausted: bool, deadline: float) -> str:
    if merit <= 1.0:
        return "optimal"
    if since_best >= _PATIENCE:
        return "stalled"
    if exhausted:
        return "iteration limit"
    return "time limit" if time.perf_counter() > deadline else ""


# -- the start
# --------------------------------------------------------------------------------------------------


def _start(model: Model) -> tuple[Iterate, JointLaw]:
    """Columns inversely proportional to the slacks under no tilt, blended with a draw within the
    budget, and their law.

    In the draw no guess adds more to the error than the best constant guess errs. Leakage falls
    about as the square of the blend; a twentieth more than that asks for, so that the search ends.
    The multiplier has the size that it takes as budgets shrink, the tilt is μ log ratio of the law,
    and losses that matter are of the size of the best constant guess's error.
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
        drawn, errors = (
            np.matmul(rows, model.mass[:, :, None]).sum(axis=0) for rows in (sharp, model.losses)
        )
        drawn = np.minimum(drawn, unit / (errors - errors.min() + unit))
        blend = 1.0
        drawn = drawn / drawn.sum()
        used = _TO_BOUNDARY[0] * chart.start_levels
        while (
            share := float((used / np.maximum(chart.leaked(law), Precision.nonzero)).min())
        ) < 1.0:
            blend *= 0.95 * math.sqrt(share)
            estimator = blend * sharp + (1.0 - blend) * drawn
            law = model.law_of(estimator)
    inner, multiplier = chart.start(law, 0.3 * unit)
    tilt = model.tilt_of(inner)
    if not model.perfect:
        slack = _slack(model, tilt, unit)
    unused = chart.shared_levels - chart.counted(inner, law)
    return Iterate(estimator, slack, tilt, inner, multiplier, unused), law


def _slack(model: Model, tilt: Array, unit: float) -> Array:
    """Tilted losses less one number for each outcome, so that its least is the first slack × unit ×
    barrier [K, m, W].
    """
    tilted = model.losses + tilt @ model.features
    tilted -= tilted.min(axis=1)[:, None]
    tilted += _FIRST_SLACK[model.perfect] * unit * model.barrier[:, None]
    return tilted


# -- how good an iterate is
# ----------------------------------------------------------------------------------------------


def _outcome_products(model: Model, at: Iterate) -> float:
    """Σ_l w_l Σ_i P_il z_il, which is m τ on the central path."""
    return model.total(np.einsum("bil,bil->bl", at.estimator, at.slack))


def _merit(model: Model, at: Iterate, leaked: Array, gap: float) -> tuple[float, float, float]:
    """(merit, width, error); the iteration is done where merit ≤ 1.

    error  error probability, plus what blending with a constant guess costs where leakage exceeds
           the budget
    width  relative, of the bracket that the iterate proves, up to rounding
    merit  width over gap, or excess leakage over what rounding explains, whichever is larger
    """
    error = max(SMALLEST, model.total(np.einsum("bil,bil->bl", model.losses, at.estimator)))
    lowered, cost = model.chart.bound(at.inner, at.multiplier)
    tilted = model.losses + (at.tilt - lowered) @ model.features
    if model.perfect:
        width = abs(error - model.total(tilted.min(axis=1))) / error
        leaking = float(leaked.max())
        return max(width / gap, leaking / Precision.leak_free), max(width, leaking), error
    excess = min(1.0, max(0.0, float(np.maximum.reduce(leaked / model.chart.levels)) - 1.0))
    error += excess * max(0.0, model.constant_error - error)
    lower = model.total(np.minimum.reduce(tilted, axis=1)) - cost
    width = (error - lower) / error
    return max(width / gap, excess / model.undercut), width, error


# -- one step
# --------------------------------------------------------------------------------------------------


def _advance(
    model: Model,
    at: Iterate,
    law: JointLaw,
    leaked: Array,
    path: Targets,
    gap: float,
    measured: tuple[float, float, float],
) -> tuple[Iterate, JointLaw, Array] | None:
    """One predictor–corrector step, the law that it leads to and what that leaks; None when linear
    algebra has broken down.

    path: the products of the central path, at τ = 1.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        newton = Newton(model, at, law)
        (total, width, error) = measured
        total += float(at.unused @ at.multiplier + at.inner.products.sum())
        # Of the products, by the bracket.
        shown = max(UNIT * total, 2.0 * total - abs(width) * error)
        costs = _costs(model, at, law, _ALLOWED * shown)
        predictor = newton.direction(path.nothing)
        ahead = min(1.0, _length(model, at, costs, predictor))
        left = (1.0 - ahead) ** 2 * total
        most = np.array([math.inf])
        if not model.perfect:
            newton.anticipate(predictor, ahead)
            reached = np.maximum(model.chart.levels, leaked)
            most = np.minimum(_LEAKS * reached, reached + model.chart.room)
        target = path.times(max(Precision.own_gap * gap * error, left) / path.total)
        share = min(_TO_BOUNDARY[1], max(_TO_BOUNDARY[0], 1.0 - math.sqrt(abs(width))))
        for shortened in range(30):
            step = newton.direction(target, predictor)
            moved = _moved(
                model,
                at,
                step,
                0.25**shortened * min(1.0, share * _length(model, at, costs, step)),
                share,
            )
            later = model.law_of(moved.estimator)
            if not ((leaks := model.chart.leaked(later)) > most).any():
                break
    return (
        (moved, later, leaks) if moved.estimator.min() > 0.0 and moved.slack.min() > 0.0 else None
    )


def _costs(model: Model, at: Iterate, law: JointLaw, room: float) -> Array:
    """The error caused by leaving an outcome behind, as a share of what is allowed [K, W].

    room: error allowed in the products. That in the mass of a guess is a share of the relative
    changes of posteriors that the budget allows.
    """
    costs = model.mass / room
    if not model.perfect:
        prices = 1.0 / (_ALLOWED * model.chart.size * law.mass)
        costs += model.mass * np.matmul(prices, at.estimator)
    return costs


def _length(model: Model, at: Iterate, costs: Array, step: Step) -> float:
    """The longest step that stays inside but for outcomes whose costs add up to at most 1; inf if
    nothing ends it.
    """
    falls = np.maximum.reduce(step.falls, axis=0)
    worst = float(np.maximum.reduce(falls, axis=None))
    length = 1.0 / worst if worst > 0.0 else math.inf
    if length < 1.0:
        length = _affordable(costs, falls)
    if not model.perfect:
        budgets = [*at.unused.tolist(), *at.multiplier.tolist()]
        steps = [*step.unused.tolist(), *step.multiplier.tolist()]
        for value, change in zip(budgets, steps, strict=True):
            length = min(length, -value / change) if change < 0.0 else length
        if at.inner.slack.size:
            for values, changes in (
                (at.inner.slack, step.inner.slack),
                (at.inner.multipliers, step.inner.multipliers),
            ):
                fall = float((changes / values).min())
                length = min(length, -1.0 / fall) if fall < 0.0 else length
    return float(length)


def _affordable(costs: Array, falls: Array) -> float:
    """The longest step, at most 1, with Σ cost × (its excess over an outcome's own longest step) ≤
    1.
    """
    order = (falls > 1.0).ravel().nonzero()[0]
    order = order[(-falls.take(order)).argsort()]
    costs = costs.take(order)
    ends = 1.0 / falls.take(order)
    # With the first, the first two, … left behind.
    reached = (1.0 + (costs * ends).cumsum()) / costs.cumsum()
    reached[:-1][reached[:-1] > ends[1:]] = math.inf  # the next ends before
    return min(1.0, float(np.minimum.reduce(reached)))


def _moved(model: Model, at: Iterate, step: Step, length: float, share: float) -> Iterate:
    """The iterate after a step of that length. Its arrays are those of the step, which are
    overwritten.

    No outcome comes nearer to its boundary than 1 − share of what it was.
    """
    estimator = step.estimator
    slack = step.slack
    estimator *= np.minimum(length, share / np.maximum(step.falls[0], share))[:, None]
    slack *= length
    for moved, value in ((estimator, at.estimator), (slack, at.slack)):
        moved += 1.0
        moved *= value
    block, place = np.nonzero(length * step.falls[1] > share)
    raised = np.maximum.reduce(
        (1.0 - share) * at.slack[block, :, place] - slack[block, :, place], axis=1
    )
    slack[block, :, place] += raised[:, None]
    estimator /= np.add.reduce(estimator, axis=1)[:, None]
    inner = at.inner.moved(step.inner, length)
    multiplier = at.multiplier + length * step.multiplier
    return Iterate(
        estimator, slack, model.tilt_of(inner), inner, multiplier, at.unused + length * step.unused
    )
