"""Another budget of a model whose neighbours are solved: predict the tilt, solve only what the prediction leaves open.

Along the curve tilts are smooth in √ε (t tends to a limit and μ grows like 1/√ε as ε → 0), so interpolating the nearest
solved budgets gives a tilt that decides all but a few outcomes rightly. Those with the smallest margins stay individual, all
others are summed by label and margin shell, and the small problem is finished at its vertex by a few pivots. Treating a cell
alike is a restriction, so the result is feasible; a pass under its own tilt says how much better any estimator could be.

At a kink of the curve (the number of ties changes) interpolating across it misleads: there the neighbours of one side alone
are asked, and the prediction that proves most is taken. Where the pivots do not settle, the interior point solves a small
problem with more individuals instead, whose tilt is the next prediction. Only where that fails too, the budget has to be
solved afresh.

Source: discreet, docs/theory.md (aggregation is a restriction; finishing by ties).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.backends.contract import Known
from discreet.backends.tilt.cells import two_least
from discreet.backends.tilt.finish import shortcut
from discreet.backends.tilt.interior_point import Outcome, solve_interior
from discreet.backends.tilt.model import model_of
from discreet.backends.tilt.pivots import Pivots
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["follow", "pivot"]

_NEIGHBOURS = 3
_ROUNDS = 4  # of prediction and small solve
_PIVOTS = 12
_ITERATIONS = 50  # of the interior point on a small problem
_FEW = 128  # outcomes kept individually for pivots
_MORE = 512  # and for the interior point, which their number hardly slows
_SHELLS = 40  # of margins outside the individuals, each half as wide again
_INSIDE = 2.0**-47  # relative uncertainty of summed masses: by what that can leak, the budget is undercut


def follow(problem: Problem, known: Sequence[Known], gap: float) -> Outcome | None:
    """The solution at the problem's budget, within the gap by its own bracket; None where it has to be solved afresh.

    Outcomes and private values need positive probability, the budget must be positive and finite and bind.
    """
    useful = [point for point in known if point.multiplier > 0.0]
    inside = problem.budget - 8.0 * _INSIDE * math.sqrt(problem.budget)  # a law leaks ε with log ratios of about √(2 ε)
    if not any(point.multiplier < math.inf for point in useful) or not inside > 0.0:
        return None  # budget 0 alone says nothing of the multiplier
    tilt, multiplier = _interpolated(_nearest(useful, problem.budget), problem.budget)
    small, group, found = _pivoted(problem, tilt, multiplier, inside)
    if found is None:
        tilt, multiplier = _one_sided(problem, useful) or (tilt, multiplier)
        small, group, found = _pivoted(problem, tilt, multiplier, inside)
    for _ in range(_ROUNDS):
        if found is None:
            small, group = _small(problem, tilt, inside, _MORE)
            found = _solved(small, gap, tilt, multiplier)
        if found is None:
            return None
        if _width(problem, small, found) <= gap:
            return replace(found, estimator=found.estimator[:, group])
        tilt, multiplier = found.tilt, found.multiplier  # a better prediction: it keeps other outcomes individually
        small, group, found = _pivoted(problem, tilt, multiplier, inside)
    return None


def _pivoted(
    problem: Problem, tilt: Array, multiplier: float, budget: float
) -> tuple[Problem, NDArray[np.intp], Outcome | None]:
    """The small problem under a prediction, where each outcome went, and its vertex if the pivots settle."""
    small, group = _small(problem, tilt, budget, _FEW)
    return small, group, pivot(small, tilt, multiplier)


def _solved(small: Problem, gap: float, tilt: Array, multiplier: float) -> Outcome | None:
    """The small problem by the interior point; None where that stalls, or the budget binds no longer."""
    if small.bayes_leakage <= small.budget:
        return None
    found = solve_interior(
        model_of(small),
        small.bayes_estimator,
        gap=gap,
        max_iterations=_ITERATIONS,
        shortcut=shortcut(small, gap),
        near=(tilt, multiplier),
    )
    return found if found.ended == "optimal" else None


def pivot(problem: Problem, tilt: Array, multiplier: float) -> Outcome | None:
    """The vertex of a problem whose tilt is nearly known, by a few pivots; None if they do not settle.

    Outcomes and private values need positive probability, the budget must be positive and finite and bind.
    """
    found = Pivots(problem, tilt).run(multiplier, _PIVOTS)
    return None if found is None else Outcome(found.estimator(problem.m), found.tilt, found.multiplier, 0, "optimal")


# -- predictions ---------------------------------------------------------------------------------------------------------


def _nearest(known: Sequence[Known], budget: float) -> list[Known]:
    """The nearest solved budgets, in units of √ε."""
    place = math.sqrt(budget)
    distinct = {point.budget: point for point in known}.values()
    return sorted(distinct, key=lambda point: abs(math.sqrt(point.budget) - place))[:_NEIGHBOURS]


def _one_sided(problem: Problem, known: Sequence[Known]) -> tuple[Array, float] | None:
    """Of the tilts and multipliers that one to three neighbours on one side predict, those that prove the highest bound."""
    budget = problem.budget
    below = _nearest([point for point in known if point.budget <= budget], budget)
    above = _nearest([point for point in known if point.budget > budget], budget)
    found: tuple[Array, float] | None = None
    most = -math.inf
    for side in (below, above):
        for count in range(1, len(side) + 1):
            predicted = _interpolated(side[:count], budget)
            bound = _bound(problem, *predicted)
            if bound > most:
                found, most = predicted, bound
    return found


def _interpolated(known: Sequence[Known], budget: float) -> tuple[Array, float]:
    """Tilt and multiplier by the polynomial in √ε through solved budgets, all distinct (1/μ, which is 0 at budget 0)."""
    place = math.sqrt(budget)
    roots = [math.sqrt(point.budget) for point in known]
    weights = [
        math.prod((place - other) / (root - other) for k, other in enumerate(roots) if k != own)
        for own, root in enumerate(roots)
    ]
    tilt = sum(weight * point.tilt for weight, point in zip(weights, known, strict=True))
    slowness = sum(weight / point.multiplier for weight, point in zip(weights, known, strict=True))
    largest = max(known, key=lambda point: point.budget)
    if not slowness > 0.0:  # only budget 0 is known, or a kink: scale the nearest by √ε
        slowness = place / (largest.multiplier * math.sqrt(largest.budget)) if largest.budget > 0.0 else place
    return np.asarray(tilt), 1.0 / slowness


def _bound(problem: Problem, tilt: Array, multiplier: float) -> float:
    """The lower bound that duals prove once each row is shifted by its support μ log Σ π e^{t/μ}, up to rounding."""
    if not (np.isfinite(tilt).all() and 0.0 < multiplier < math.inf):
        return -math.inf
    scaled = tilt / multiplier
    largest = scaled.max(axis=1)
    support = multiplier * (largest + np.log(np.exp(scaled - largest[:, None]) @ problem.p_x))
    tilted = problem.loss + (tilt - support[:, None]) @ problem.p_xz
    return float(tilted.min(axis=0).sum()) - multiplier * problem.budget


# -- the small problem ---------------------------------------------------------------------------------------------------


def _small(problem: Problem, tilt: Array, budget: float, individuals: int) -> tuple[Problem, NDArray[np.intp]]:
    """The problem with the smallest margins kept and the rest summed by cell; where each outcome went."""
    if problem.N <= individuals:
        return problem.with_budget(budget), np.arange(problem.N)
    best, lowest, _, runner = two_least(problem.loss + tilt @ problem.p_xz)
    margin = (runner - lowest) / problem.p_z
    kept = np.argpartition(margin, individuals)[:individuals]
    least = max(float(margin[kept].max()), 1e-300)
    shell = np.minimum(_SHELLS, np.log(np.maximum(margin, least) / least) / math.log(1.5))
    cells = problem.m * (_SHELLS + 1)
    key = best * (_SHELLS + 1) + shell.astype(np.intp)
    key[kept] = cells + np.arange(individuals)
    counts = np.bincount(key, minlength=cells + individuals)
    group = (np.cumsum(counts > 0) - 1)[key]
    order = np.argsort(key.astype(np.min_scalar_type(counts.size)), kind="stable")  # short integers sort fastest
    occupied = counts[counts > 0]
    starts = np.cumsum(occupied) - occupied
    # reduceat adds pairwise, so that large cells do not drift
    p_xz, loss = (np.add.reduceat(rows[:, order], starts, axis=1) for rows in (problem.p_xz, problem.loss))
    return Problem(p_xz, loss, budget), group


def _width(problem: Problem, small: Problem, found: Outcome) -> float:
    """The bracket that a solution of the small problem leaves for the whole one, relative, up to rounding."""
    error = float((small.loss * found.estimator).sum())
    return (error - _bound(problem, found.tilt, found.multiplier)) / error if error > 0.0 else math.inf
