"""From an interior solution to the vertex: deterministic off the ties, conditions met to rounding.

At an optimum all but a few outcomes have one best guess; the others are *ties*, whose tilted losses agree. Once labels and
ties are known, what is left is a small square system: one equality of tilted losses per tie and leakage = ε, with the tilts
t_i = μ log ratio a function of the ties' probabilities and μ (at ε = 0: leakage-free equations linear in the
probabilities, equalities linear in the tilts). Newton's method takes a few steps to rounding, because the law of the
determined outcomes is summed once, in twice the working precision.

The sets are guessed from the interior solution (a guess is active where its probability exceeds its reduced loss) and
mended: a probability that leaves [0, 1] is fixed there, a label that the new tilt contradicts is changed. The result is
returned only when it is consistent; whoever calls compares brackets and keeps the better pair.

Source: discreet, docs/theory.md (at most (m − 1) n ties; finishing by ties).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from discreet.backends.tilt.interior_point import Outcome
from discreet.backends.unused_guesses import tilt_unused_guesses
from discreet.problems.accurate import Array, Pair, sum_pair
from discreet.problems.information import OutputLaw, output_law
from discreet.problems.problem import Problem

__all__ = ["Finished", "Vertex", "contradicted", "finish", "shortcut"]

_GRID = 2.0**53
_INSIDE = 2.0**-44  # relative: the budget is undercut by that, and more where rounding the shares to the grid leaks
_AIMS = 6
_HEAVY = 0.1  # of the weight of the heaviest tie
_FAINT = 1e-3  # probability of a guess that may be on its way out
_NEWTON_STEPS = 12
_MENDINGS = 6
_LEAK_FREE = 1e-14  # ‖Φ P‖∞ that rounding leaves
_EXACT = 1e-13  # relative width that needs no further try
_ONE_BY_ONE = 4  # numbers of ties tried one after the other; then doubling
_TRIES = 8
_FEW_TRIES = 2
_SETTLED = 1e-14  # relative change of the multiplier and absolute change of probabilities that ends Newton's method
_ROUNDING = 1e-11  # the same, where steps that no longer halve are rounding


@dataclass(frozen=True, eq=False)
class Finished:
    """A consistent vertex: deterministic but for the ties.

    labels      the guess of every outcome      [N]
    ties        the outcomes that randomise     [K]
    columns     their columns                   [m, K]
    tilt        duals of u_i                    [m, n]
    multiplier  μ (inf at ε = 0)
    width       what it leaves between its error probability and its tilt's bound, relative, up to rounding
    """

    labels: NDArray[np.intp]
    ties: NDArray[np.intp]
    columns: Array
    tilt: Array
    multiplier: float
    width: float = math.inf

    def estimator(self, m: int) -> Array:
        """The dense estimator [m, N]."""
        found = np.zeros((m, self.labels.size))
        found[self.labels, np.arange(self.labels.size)] = 1.0
        found[:, self.ties] = self.columns
        return found


def shortcut(problem: Problem, gap: float, tries: int = _TRIES) -> Callable[[Outcome], Outcome | None]:
    """What the interior point calls to end early: the vertex next to an iterate, if it is within the relative gap."""

    def attempt(outcome: Outcome) -> Outcome | None:
        few = tries if outcome.ended != "optimal" or tries < _TRIES else _FEW_TRIES
        found = finish(problem, outcome.estimator, outcome.tilt, outcome.multiplier, tries=few)
        if found is None or found.width > gap:
            return None
        return replace(
            outcome, estimator=found.estimator(problem.m), tilt=found.tilt, multiplier=found.multiplier, ended="optimal"
        )

    return attempt


def finish(problem: Problem, estimator: Array, tilt: Array, multiplier: float, *, tries: int = _TRIES) -> Finished | None:
    """Find the vertex next to an interior solution (estimator [m, N], tilt [m, n], μ); None if none is consistent.

    Outcomes and private values need positive probability. tries: sets of ties to try before giving up.
    """
    active = _active(problem, estimator, tilt)
    marginal = sum_pair(problem.p_xz)
    best: Finished | None = None
    for candidate in islice(_candidates(problem, active, estimator), tries):
        found = _mended(problem, candidate, estimator, tilt, multiplier, marginal)
        if found is None:
            continue
        found = replace(found, width=_relative_width(problem, found))
        if best is None or found.width < best.width:
            best = found
        if best.width <= _EXACT:
            break
    return best


def _relative_width(problem: Problem, found: Finished) -> float:
    losses = problem.loss + found.tilt @ problem.p_xz
    spent = losses[found.labels, np.arange(problem.N)]
    spent[found.ties] = (losses[:, found.ties] * found.columns).sum(axis=0)
    return float((spent - losses.min(axis=0)).sum() / max(problem.bayes_error, 1e-300))


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
    """The ties that weigh about as much as the heaviest; all, if they are few enough, else as many as can be needed; then
    the heaviest one, two, four, ...

    The weight of a tie is the probability it spends on guesses other than its first; outcomes next to a boundary, and those
    of next to no mass, often look like ties only because nothing has pushed them to a side yet.
    """
    limit = problem.n * problem.m
    tied = np.flatnonzero(active.sum(axis=0) > 1)
    weight = problem.p_z[tied] * (1.0 - estimator[:, tied].max(axis=0))
    order = np.argsort(-weight, kind="stable")
    tied = tied[order]
    needed = (problem.m - 1) * (problem.n - 1 if problem.constraint.perfect else problem.n)  # no optimum needs more
    heavy = int((weight >= _HEAVY * weight[order[0]]).sum()) if tied.size else 0
    if 0 < heavy < min(tied.size, needed):
        yield _without_ties(active, estimator, tied[heavy:])
    if 0 < tied.size <= needed:
        yield active
    elif tied.size and needed:
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
    problem: Problem, active: NDArray[np.bool_], estimator: Array, tilt: Array, multiplier: float, marginal: Pair
) -> Finished | None:
    """Solve for the vertex of a set of active guesses, mending the set while it turns out inconsistent."""
    active = active.copy()
    for _ in range(_MENDINGS):
        vertex = Vertex(problem, active, estimator, marginal)
        solved = vertex.solve(multiplier)
        if solved is None:
            return None
        shares, new_tilt, new_multiplier = solved
        columns = vertex.columns(shares)
        if ((columns < 0.0) | (columns > 1.0)).any():
            active = _without(active, vertex.ties, columns)
            continue
        new_tilt = _with_unused(problem, new_tilt, new_multiplier, vertex.mass(shares), tilt)
        wrong = contradicted(problem, vertex, new_tilt)
        if not wrong.size:
            return Finished(vertex.labels, vertex.ties, columns, new_tilt, new_multiplier)
        losses = problem.loss[:, wrong] + new_tilt @ problem.p_xz[:, wrong]
        active[:, wrong] = False
        active[np.argmin(losses, axis=0), wrong] = True
    return None


def _with_unused(problem: Problem, tilt: Array, multiplier: float, mass: Array, interior: Array) -> Array:
    """The tilt with rows for the guesses that never occur, such that they are nowhere better.

    At ε = 0 those of the interior solution serve, in the gauge of the new ones; otherwise they are searched for.
    """
    unused = mass == 0.0
    if not unused.any():
        return tilt
    if not problem.constraint.perfect:
        return tilt_unused_guesses(problem, tilt, multiplier, mass)
    filled = tilt.copy()
    filled[unused] = interior[unused] + (tilt[~unused] - interior[~unused]).mean(axis=0)
    return filled


def _active(problem: Problem, estimator: Array, tilt: Array) -> NDArray[np.bool_]:
    """[m, N] which guesses an outcome uses: by strict complementarity probability and reduced loss are never both small."""
    losses = problem.loss + tilt @ problem.p_xz
    reduced = (losses - losses.min(axis=0)) / problem.p_z
    active = estimator > reduced
    active[np.argmax(estimator, axis=0), np.arange(problem.N)] = True
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


def contradicted(problem: Problem, vertex: Vertex, tilt: Array) -> NDArray[np.intp]:
    """Determined outcomes whose label is not best under the tilt, by more than rounding."""
    losses = problem.loss + tilt @ problem.p_xz
    chosen = losses[vertex.labels, np.arange(problem.N)]
    rounding = 2.0**-50 * (problem.loss.max(axis=0) + np.abs(tilt).max(axis=0) @ problem.p_xz)
    wrong = chosen - losses.min(axis=0) > rounding
    wrong[vertex.ties] = False
    return np.flatnonzero(wrong)


class Vertex:
    """Labels and ties with the law of the determined outcomes; unknowns are the shares of all but one guess of each tie."""

    def __init__(self, problem: Problem, active: NDArray[np.bool_], estimator: Array, marginal: Pair) -> None:
        self._problem = problem
        self.labels = np.argmax(np.where(active, estimator, -1.0), axis=0)
        self.ties = np.flatnonzero(active.sum(axis=0) > 1)
        determined = np.zeros_like(estimator)
        determined[self.labels, np.arange(problem.N)] = 1.0
        determined[:, self.ties] = 0.0
        self._fixed = output_law(problem.p_xz, determined, marginal)
        self._tied = problem.p_xz[:, self.ties]  # [n, K]
        single = [output_law(problem.p_xz[:, [l]], np.ones((1, 1)), marginal) for l in self.ties]  # noqa: E741
        self._tied_mass = np.array([law.mass[0] for law in single])
        self._tied_deviation = np.array([law.deviation[0] for law in single]).reshape(self.ties.size, problem.n)
        self._places, self._guesses = self._free_shares(active)
        self._start = estimator[self._guesses, self.ties[self._places]]

    def _free_shares(self, active: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """(place of the tie, guess) of every unknown share: the active guesses of each tie but its label."""
        tied = active[:, self.ties].copy()
        tied[self.labels[self.ties], np.arange(self.ties.size)] = False
        guesses, places = np.nonzero(tied)
        return places, guesses

    def columns(self, shares: Array) -> Array:
        """[m, K] the ties' columns for the free shares, rounded to multiples of 2^-53: such columns sum to one exactly."""
        found = np.zeros((self._problem.m, self.ties.size))
        found[self._guesses, self._places] = np.round(shares * _GRID) / _GRID
        found[self.labels[self.ties], np.arange(self.ties.size)] = 1.0 - found.sum(axis=0)
        return found

    def mass(self, shares: Array) -> Array:
        """Pr(Ŷ = y_i) [m]; exactly 0 for a guess that is nowhere active."""
        return self._law(shares).mass

    def _law(self, shares: Array) -> OutputLaw:
        columns = self.columns(shares)
        return OutputLaw(
            self._fixed.mass + columns @ self._tied_mass,
            self._fixed.deviation + columns @ self._tied_deviation,
            self._fixed.p_x,
        )

    def solve(self, multiplier: float) -> tuple[Array, Array, float] | None:
        """Shares, tilt and multiplier of the vertex; None when Newton's method does not settle."""
        if self._start.size == 0:
            return None
        return self._solve_perfect() if self._problem.constraint.perfect else self._solve_constrained(multiplier)

    def _differences(self, rows: Array) -> Array:
        """a_l·(rows_i − rows_label) for every unknown share, rows [m, n]."""
        labels = self.labels[self.ties[self._places]]
        return np.asarray(np.einsum("kn,kn->k", self._tied.T[self._places], rows[self._guesses] - rows[labels]))

    def _loss_differences(self) -> Array:
        outcomes = self.ties[self._places]
        loss = self._problem.loss
        return np.asarray(loss[self._guesses, outcomes] - loss[self.labels[outcomes], outcomes])

    def _solve_constrained(self, multiplier: float) -> tuple[Array, Array, float] | None:
        """Newton's method for a leakage just inside the budget: as little inside as rounding the shares allows."""
        inside = _INSIDE
        for _ in range(_AIMS):
            solved = self._newton(multiplier, self._problem.budget * (1.0 - inside))
            if solved is None:
                break
            excess = self._law(solved[0]).leakage_ceiling() / self._problem.budget - 1.0
            if excess <= 0.0:
                break
            inside = 2.0 * inside + 1.5 * excess
        return solved

    def _newton(self, multiplier: float, budget: float) -> tuple[Array, Array, float] | None:
        shares, mu, size = self._start.copy(), multiplier, math.inf
        excess = self._loss_differences()
        for _ in range(_NEWTON_STEPS):
            law = self._law(shares)
            if law.mass.min() < 0.0:
                return None
            excess_ratio = law.ratio_minus_one()  # 0 where the guess never occurs
            if not excess_ratio.min() > -1.0:
                return None
            log_ratio = np.log1p(excess_ratio)
            slopes = self._differences(log_ratio)
            if not (law.mass[:, None] * law.p_x + law.deviation)[law.mass > 0.0].min() > 0.0:
                return None
            curvature = self._curvature(law)
            scale = abs(mu) * budget  # the leakage equation in the units of the others
            matrix = np.zeros((slopes.size + 1, slopes.size + 1))
            matrix[:-1, :-1] = mu * curvature
            matrix[:-1, -1], matrix[-1, :-1] = slopes, mu * slopes
            right = -np.append(excess + mu * slopes, mu * (law.leakage_ceiling() - budget))
            if scale == 0.0:
                return None
            step = _least_squares(matrix, right)
            if step is None:
                return None
            shares, change = shares + step[:-1], step[-1]
            mu += change
            if not mu > 0.0 or np.abs(shares).max() > 1e3:
                return None
            last, size = size, max(float(np.abs(step[:-1]).max()), abs(change) / mu)
            if size <= _SETTLED or 0.5 * last <= size <= _ROUNDING:  # converging steps shrink; what rounding leaves does not
                break
        ratio = self._law(shares).ratio_minus_one()
        return (shares, mu * np.log1p(ratio), float(mu)) if ratio.min() > -1.0 else None

    def _curvature(self, law: OutputLaw) -> Array:
        """∂(a_l·(v_i − v_label)) / ∂ share for all pairs of unknowns, by V_i = diag(1/u_i) − 1 1'/s_i for equal guesses."""
        joint = law.mass[:, None] * law.p_x + law.deviation
        rows = self._tied.T[self._places]  # [F, n]
        mass = rows.sum(axis=1)
        labels = self.labels[self.ties[self._places]]
        total = np.zeros((rows.shape[0], rows.shape[0]))
        for i in np.flatnonzero(law.mass > 0.0):
            sign = (self._guesses == i).astype(float) - (labels == i)
            weighted = rows * sign[:, None]
            total += (weighted / joint[i]) @ weighted.T - np.outer(mass * sign, mass * sign) / law.mass[i]
        return total

    def _solve_perfect(self) -> tuple[Array, Array, float] | None:
        problem = self._problem
        m, n = problem.m, problem.n
        labels = self.labels[self.ties[self._places]]
        effect = np.zeros((self._start.size, m, n))
        rows = np.arange(self._start.size)
        effect[rows, self._guesses] += self._tied_deviation[self._places]
        effect[rows, labels] -= self._tied_deviation[self._places]
        flat = effect.reshape(self._start.size, m * n) / np.tile(np.sqrt(problem.p_x), m)
        shares = self._start.copy()
        for _ in range(3):  # linear: the repeats only refine
            residual = (self._law(shares).deviation / np.sqrt(problem.p_x)).ravel()
            step = _least_squares(flat.T, -residual)
            if step is None:
                return None
            shares = shares + step
        if not np.abs(self._law(shares).excess).max() <= _LEAK_FREE:  # too few ties to cancel what the others leak
            return None
        tilt = _least_squares(flat, -self._loss_differences())
        if tilt is None:
            return None
        tilt = tilt.reshape(m, n) / np.sqrt(problem.p_x)
        return shares, tilt - (tilt @ problem.p_x)[:, None], math.inf


def _least_squares(matrix: Array, right: Array) -> Array | None:
    """The least-norm solution after equilibrating rows and columns; None where numbers are beyond range."""
    with np.errstate(over="ignore", invalid="ignore"):  # ties of next to no mass
        rows = np.abs(matrix).max(axis=1)
        rows[rows == 0.0] = 1.0
        scaled = matrix / rows[:, None]
        columns = np.abs(scaled).max(axis=0)
        columns[columns == 0.0] = 1.0
        scaled, right = scaled / columns, right / rows
        if not (np.isfinite(scaled).all() and np.isfinite(right).all()):
            return None
        solution = np.linalg.lstsq(scaled, right, rcond=1e-13)[0] / columns
    return np.asarray(solution) if np.isfinite(solution).all() else None
