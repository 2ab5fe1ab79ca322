"""A rule with few intervals from a rule with many.

An estimator on a partition has entries of rounding size and spreads its randomisation over
neighbouring cells. Tidying joins neighbours of one label, and averages by mass over neighbours at
which the same guesses tie. A continuous model ties on a whole interval only where all densities are
proportional. Cutting it into labelled parts of the same masses then changes neither error nor
leakage, and the rule need not randomise. The result is a proposal, certified like any other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.backends.precision import Precision
from discreet.numerics.double_double import Array
from discreet.problems.continuous.model import ContinuousProblem
from discreet.problems.continuous.rule import IntervalRule
from discreet.problems.roots import bisect


def tidy_rule(problem: ContinuousProblem, rule: IntervalRule, tilt: Array) -> IntervalRule:
    """Join neighbours of one label, and average columns by mass over neighbours at which the same
    guesses tie.
    """
    estimator = np.where(rule.estimator < Precision.unseen, 0.0, rule.estimator)
    estimator /= estimator.sum(axis=0)
    discrete = problem.on(rule.edges)
    tilted = discrete.loss + tilt @ discrete.p_xz
    tied = tilted <= tilted.min(axis=0) + Precision.certain * discrete.p_z
    # The set of tied guesses, as a number.
    kind = (tied * (2.0 ** np.arange(problem.m))[:, None]).sum(axis=0)
    single = tied.sum(axis=0) == 1
    kind = np.where(single, -1.0 - estimator.argmax(axis=0), kind)
    starts = np.flatnonzero(np.concatenate([[True], kind[1:] != kind[:-1]]))
    mass = np.maximum(discrete.p_z, Precision.nonzero)
    columns = np.add.reduceat(estimator * mass, starts, axis=1)
    labelled = np.eye(problem.m)[:, columns.argmax(axis=0)]
    columns = np.where(single[starts], labelled, columns / columns.sum(axis=0))
    return IntervalRule(np.concatenate([rule.edges[starts], [np.inf]]), columns).simplified()


def cut_draws(problem: ContinuousProblem, rule: IntervalRule) -> IntervalRule:
    """Cut intervals that randomise into labelled parts of the same mass, in the order of the
    guesses.
    """
    edges: list[float] = []
    labels: list[int] = []
    for k in range(rule.edges.size - 1):
        low = float(rule.edges[k])
        high = float(rule.edges[k + 1])
        column = rule.estimator[:, k]
        used = np.flatnonzero(column > 0.0)
        shares = np.cumsum(column[used])[:-1]
        points = _split_by_mass(problem, low, high, shares) if shares.size else np.empty(0)
        edges += [low, *points.tolist()]
        labels += [int(i) for i in used]
    kept = [
        0,
        *(
            k
            for k in range(1, len(edges))
            if edges[k] > edges[k - 1] and labels[k] != labels[k - 1]
        ),
    ]
    return IntervalRule.from_labels(
        [edges[k] for k in kept[1:]], np.array([labels[k] for k in kept]), problem.m
    )


def _split_by_mass(problem: ContinuousProblem, low: float, high: float, shares: Array) -> Array:
    """Points that leave given shares of the mass of (low, high] to their left, by bisection."""
    inner = problem.quantiles
    bottom, top = np.clip([low, high], inner[0] - np.ptp(inner), inner[-1] + np.ptp(inner))
    weight = problem.private.sum(axis=0)
    below, at_most = weight @ problem.tails(np.array([low, high]))[0]
    wanted = below + shares * (at_most - below)

    def before(points: Array) -> NDArray[np.bool_]:
        return np.asarray(weight @ problem.tails(points)[0] < wanted)

    return bisect(before, np.full(shares.size, bottom), np.full(shares.size, top))[0]
