"""From an interior solution to the vertex: deterministic off the ties, conditions met to rounding.

At an optimum all but a few outcomes have one best guess; the others are *ties*, whose tilted losses agree. Once labels and
ties are known, what is left is a small square system (`vertex`).

The sets are guessed from the interior solution (a guess is active where its probability exceeds its reduced loss) and
mended: a probability that leaves [0, 1] is fixed there, a label that the new tilt contradicts is changed. Where X has two
values and more outcomes hesitate than an optimum can need, they are rounded in the order of their margins instead, and
pivots do the rest; that works far from the optimum already. The result is returned only when it is consistent; whoever
calls compares brackets and keeps the better pair.

Source: discreet, docs/theory.md (at most (m − 1) n ties; finishing by ties).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from discreet.backends.tilt.interior_point import Outcome
from discreet.backends.tilt.pivots import Pivots
from discreet.backends.tilt.vertex import Finished, Solved, Vertex, contradicted
from discreet.backends.unused_guesses import tilt_unused_guesses
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["Finished", "finish", "relative_width", "shortcut"]

_HEAVY = 0.1  # of the weight of the heaviest tie
_FAINT = 1e-3  # probability of a guess that may be on its way out
_MENDINGS = 6
_PIVOTS = 6
_EARLY_STEPS = 2
_EARLY = 1e-6  # relative width up to which the interior solution knows its ties well enough to be worth several tries
_EXACT = 1e-13  # relative width that needs no further try
_ONE_BY_ONE = 4  # numbers of ties tried one after the other; then doubling
_TRIES = 8
_FEW_TRIES = 2


def shortcut(problem: Problem, gap: float, tries: int = _TRIES) -> Callable[[Outcome], Outcome | None]:
    """What the interior point calls to end early: the vertex next to an iterate, if it is within the relative gap."""

    def attempt(outcome: Outcome) -> Outcome | None:
        few = tries if outcome.ended != "optimal" or tries < _TRIES else _FEW_TRIES
        early = outcome.ended == "optimal" and outcome.width > _EARLY
        found = finish(problem, outcome.estimator, outcome.tilt, outcome.multiplier, tries=few, early=early)
        if found is None or not found.width <= gap:
            return None
        return replace(
            outcome, estimator=found.estimator(problem.m), tilt=found.tilt, multiplier=found.multiplier, ended="optimal"
        )

    return attempt


def finish(
    problem: Problem, estimator: Array, tilt: Array, multiplier: float, *, tries: int = _TRIES, early: bool = False
) -> Finished | None:
    """Find the vertex next to an interior solution (estimator [m, N], tilt [m, n], μ); None if none is consistent.

    Outcomes and private values need positive probability. tries: sets of ties to try before giving up.
    early: the solution is far from the optimum, and only the likeliest set is tried, and not for long.
    """
    best: Finished | None = None
    for found in _attempts(problem, estimator, tilt, multiplier, tries, early):
        if found is None:
            continue
        found = replace(found, width=relative_width(problem, found))
        if best is None or found.width < best.width:
            best = found
        if best.width <= _EXACT:
            break
    return best


def _attempts(
    problem: Problem, estimator: Array, tilt: Array, multiplier: float, tries: int, early: bool
) -> Iterator[Finished | None]:
    """Vertices of the likeliest sets."""
    losses = problem.loss + tilt @ problem.p_xz
    reduced = losses - losses.min(axis=0)
    active = _active(problem, estimator, reduced)
    tied = np.flatnonzero(np.add.reduce(active, 0) > 1)
    few = 0 < tied.size <= _needed(problem)
    if not few and (problem.n == 2 or not tied.size):
        labels, ties = _rounded(problem, tied, estimator, losses) if tied.size else (None, None)
        if ties is None or len(ties) < problem.m:
            deviation = (estimator @ problem.phi.T) * problem.p_x
            pivots = Pivots(problem, tilt, labels, ties)
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a first guess may be far off
                yield pivots.run(multiplier, _EARLY_STEPS if early else _PIVOTS, deviation)
    elif early and few:
        yield _mended(problem, active, estimator, tilt, multiplier, _EARLY_STEPS)
    if early:
        return
    for candidate in islice(_candidates(problem, active, estimator), tries):
        yield _mended(problem, candidate, estimator, tilt, multiplier, _MENDINGS)


def _needed(problem: Problem) -> int:
    """As many ties as an optimum may need."""
    return (problem.m - 1) * (problem.n - 1 if problem.constraint.perfect else problem.n)


def _rounded(
    problem: Problem, tied: NDArray[np.intp], estimator: Array, losses: Array
) -> tuple[NDArray[np.intp], list[int]]:
    """Labels [N] and ties that keep the law nearly as it is when those that randomise stop doing so, but for a tie a pair.

    Of the outcomes that hesitate between two guesses, those with the better margins for one get it, until it has the
    probability that it has now; the outcome at which that happens is the tie. Where X has two values, posteriors lie on a
    line, and that is nearly the order in which an optimum decides, with a tie for each two neighbouring guesses at most.
    """
    labels, ties = estimator.argmax(axis=0), []
    best = np.sort(losses[:, tied].argsort(axis=0)[:2], axis=0)
    pairs = best[0] * problem.m + best[1]
    for pair in sorted(set(pairs.tolist())):
        one, other = divmod(pair, problem.m)
        held = tied[pairs == pair]
        mass = problem.p_z[held]
        order = ((losses[other, held] - losses[one, held]) / mass).argsort(kind="stable")
        held, mass = held[order], mass[order]
        wanted = mass @ (estimator[other, held] / (estimator[one, held] + estimator[other, held]))
        place = min(int(np.searchsorted(np.cumsum(mass), wanted)), held.size - 1)
        labels[held[:place]], labels[held[place:]] = other, one
        ties.append(int(held[place]))
    return labels, ties


def relative_width(problem: Problem, found: Finished) -> float:
    """What its tilted losses exceed the least ones by, over its error probability."""
    losses = problem.loss + found.tilt @ problem.p_xz
    spent, error = (_expected(values, found) for values in (losses, problem.loss))
    return float((spent - losses.min(axis=0)).sum() / max(error.sum(), 1e-300))


def _expected(values: Array, found: Finished) -> Array:
    """Σ_i P_il v_il [N] for values [m, N]."""
    expected = values[found.labels, np.arange(found.labels.size)]
    expected[found.ties] = (values[:, found.ties] * found.columns).sum(axis=0)
    return np.asarray(expected)


def _candidates(problem: Problem, active: NDArray[np.bool_], estimator: Array) -> Iterator[NDArray[np.bool_]]:
    """Sets of active guesses worth trying: first without the guesses that hardly occur, then with all.

    A guess that the optimum never gives keeps a vanishing probability inside the feasible set.
    """
    faint = (estimator @ problem.p_z < _FAINT) & (np.bincount(np.argmax(estimator, axis=0), minlength=problem.m) == 0)
    if faint.any():
        used = active.copy()
        used[faint] = False
        yield from _fewer_ties(problem, used, estimator)
    yield from _fewer_ties(problem, active, estimator)


def _fewer_ties(problem: Problem, active: NDArray[np.bool_], estimator: Array) -> Iterator[NDArray[np.bool_]]:
    """All ties, if they are few enough; those that weigh about as much as the heaviest; as many as can be needed; then the
    heaviest one, two, four, ...

    The weight of a tie is the probability it spends on guesses other than its first; outcomes next to a boundary, and those
    of next to no mass, often look like ties only because nothing has pushed them to a side yet.
    """
    limit = problem.n * problem.m
    tied = np.flatnonzero(active.sum(axis=0) > 1)
    weight = problem.p_z[tied] * (1.0 - estimator[:, tied].max(axis=0))
    order = np.argsort(-weight, kind="stable")
    tied = tied[order]
    needed = _needed(problem)
    heavy = int((weight >= _HEAVY * weight[order[0]]).sum()) if tied.size else 0
    if 0 < tied.size <= needed:
        yield active
    if 0 < heavy < min(tied.size, needed):
        yield _without_ties(active, estimator, tied[heavy:])
    if tied.size > needed > 0:
        yield _without_ties(active, estimator, tied[needed:])
    count = 1
    while count <= min(tied.size, limit):
        yield _without_ties(active, estimator, tied[count:])
        count += 1 if count < _ONE_BY_ONE else count


def _without_ties(active: NDArray[np.bool_], estimator: Array, outcomes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Only the likeliest guess stays active at the given outcomes."""
    single = active.copy()
    single[:, outcomes] = False
    single[np.argmax(estimator[:, outcomes], axis=0), outcomes] = True
    return single


def _mended(
    problem: Problem,
    active: NDArray[np.bool_],
    estimator: Array,
    tilt: Array,
    multiplier: float,
    mendings: int,
) -> Finished | None:
    """Solve for the vertex of a set of active guesses, mending the set while it turns out inconsistent."""
    active = active.copy()
    for _ in range(mendings):
        vertex = Vertex(problem, active, estimator)
        solved = vertex.solve(multiplier)
        if solved is None:
            return None
        if solved.columns.min() < 0.0:  # as they sum to one, none is above it otherwise
            active = _without(active, vertex.ties, solved.columns)
            continue
        new_tilt = _with_unused(problem, solved, tilt, search=mendings > _EARLY_STEPS)
        wrong = contradicted(problem, vertex, new_tilt)
        if not wrong.size:
            return Finished(vertex.labels, vertex.ties, solved.columns, new_tilt, solved.multiplier)
        losses = problem.loss[:, wrong] + new_tilt @ problem.p_xz[:, wrong]
        active[:, wrong] = False
        active[np.argmin(losses, axis=0), wrong] = True
    return None


def _with_unused(problem: Problem, solved: Solved, interior: Array, *, search: bool) -> Array:
    """The tilt with rows for the guesses that never occur, such that they are nowhere better.

    Those of the interior solution serve, in the gauge of the new ones: at ε = 0 always, else if they are as good as that.
    Otherwise they are searched for, if there is time to `search`.
    """
    unused = solved.mass == 0.0
    if not unused.any():
        return solved.tilt
    filled = solved.tilt.copy()
    if problem.constraint.perfect:
        filled[unused] = interior[unused] + (filled[~unused] - interior[~unused]).mean(axis=0)
        return filled
    with np.errstate(over="ignore", invalid="ignore"):  # far off, it is no good
        scaled = interior[unused] / solved.multiplier
        scaled -= scaled.max(axis=1, keepdims=True)
        filled[unused] = solved.multiplier * (scaled - np.log(np.exp(scaled) @ problem.p_x)[:, None])  # on its boundary
    losses = problem.loss + filled @ problem.p_xz
    if not search or (losses[unused].min(axis=0) >= losses[~unused].min(axis=0)).all():
        return filled
    return tilt_unused_guesses(problem, solved.tilt, solved.multiplier, solved.mass)


def _active(problem: Problem, estimator: Array, reduced: Array) -> NDArray[np.bool_]:
    """[m, N] which guesses an outcome uses: by strict complementarity probability and reduced loss are never both small."""
    active = estimator * problem.p_z > reduced
    active[estimator.argmax(axis=0), np.arange(problem.N)] = True
    return np.asarray(active)


def _without(active: NDArray[np.bool_], ties: NDArray[np.intp], columns: Array) -> NDArray[np.bool_]:
    """Drop the guess whose probability is furthest outside from each tie that has one outside."""
    mended = active.copy()
    for place, outcome in enumerate(ties):
        column = columns[:, place]
        if column.min() < 0.0:
            mended[np.argmin(column), outcome] = False
        elif column.max() > 1.0:
            mended[:, outcome] = False
            mended[np.argmax(column), outcome] = True
    return mended
