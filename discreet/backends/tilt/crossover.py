"""From a point that is nearly optimal to the vertex next to it: deterministic off the ties, conditions met to rounding.

Method: an active-set method. The active set says which guess every outcome gets, its label, and which few outcomes are
ties. Each pivot solves the square system of the ties (`vertex`) and looks at what is wrong with the answer:

- There is none: the ties that weigh least become certain.
- A share is outside [0, 1]: the tie becomes certain. Where no other tie is left between its guesses, the next outcomes in
  the order of margins follow, until as much probability as was missing has changed sides; where that ends is the new tie.
- The new tilt contradicts a label: the label changes; an outcome that changed before becomes a tie.

Where nothing is wrong the optimality conditions hold (docs/theory.md, section 6).

The first active set comes from an interior estimator, in which a guess is active where its probability exceeds its reduced
loss, or from the tilt alone. Where X has two values, posteriors lie on a line and an optimum decides nearly in the order of
margins. Outcomes that hesitate in greater number than it needs are therefore first rounded in that order, and the shares
start where they keep the law of (X, Ŷ); that works far from the optimum already.

Source: discreet, docs/theory.md (at most (m − 1) n ties; the crossover). Changing many entries of the active set at once:
J. J. Júdice, F. M. Pires, "A block principal pivoting algorithm for large-scale strictly monotone linear complementarity
problems", Computers & Operations Research 21 (1994).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.backends.precision import Precision
from discreet.backends.tilt.point import Point
from discreet.backends.tilt.vertex import Solved, Vertex
from discreet.backends.unused_guesses import tilt_unused_guesses
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["crossover"]

_PIVOTS = 6  # of which the first three find nine vertices in ten that are found
_RETAINED = 0.75  # of the ties, the heaviest, where they have no common solution


def crossover(
    problem: Problem, tilt: Array, multiplier: float, precision: Precision, columns: Array | None = None
) -> tuple[Point, float] | None:
    """The vertex next to duals that are nearly known, and the relative width that it proves, up to rounding.

    tilt [m, n], multiplier: μ (inf at budget 0). columns: an interior estimator [m, N], where one is known: it tells which
    outcomes hesitate. None if no consistent vertex is found within a bounded number of pivots. Outcomes and private values
    need positive probability; the budget must be 0 or positive, finite and binding.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is nearly known may be far off
        active = _ActiveSet(problem, tilt, columns)
        deviation = active.deviation(multiplier)
        for _ in range(_PIVOTS):
            if not 0 < len(active.ties) <= active.most:
                return None
            vertex = Vertex(problem, active.labels, *active.tied())
            solved = vertex.solve(active.start(), deviation, tilt, multiplier, precision)
            if solved is None:
                active.lighten()
                continue
            multiplier = solved.multiplier
            if solved.columns.min() < 0.0:  # as they sum to one, none is above it otherwise
                active.leave(solved)
                continue
            duals = _with_unused(problem, solved, tilt)
            losses = problem.loss + duals @ problem.p_xz
            rounding = precision.contradicted * (problem.loss.max(axis=0) + np.abs(duals).max(axis=0) @ problem.p_xz)
            wrong = active.contradicted(losses, rounding)
            if not wrong.size:
                found = active.estimator(solved.columns)
                wasted = (found * (losses - losses.min(axis=0))).sum() / max((found * problem.loss).sum(), 1e-300)
                return Point(found, duals, multiplier), float(wasted)
            active.relabel(wrong, losses)
    return None


def _with_unused(problem: Problem, solved: Solved, start: Array) -> Array:
    """The tilt with rows for the guesses that never occur, such that they are nowhere better if that is possible.

    Those of the start serve, shifted to the boundary of what is feasible, if they do as well as that; otherwise they are
    searched for. At budget 0 the equations of the ties leave them as they are.
    """
    unused = solved.mass == 0.0
    if problem.constraint.perfect or not unused.any():
        return solved.tilt
    filled = solved.tilt.copy()
    scaled = start[unused] / solved.multiplier
    scaled -= scaled.max(axis=1, keepdims=True)
    filled[unused] = solved.multiplier * (scaled - np.log(np.exp(scaled) @ problem.p_x)[:, None])
    losses = problem.loss + filled @ problem.p_xz
    if (losses[unused].min(axis=0) >= losses[~unused].min(axis=0)).all():
        return filled
    return tilt_unused_guesses(problem, solved.tilt, solved.multiplier, solved.mass)


class _ActiveSet:
    """The label of every outcome [N], and for each tie a column [m], positive at the guesses that it may get.

    That of an interior estimator is where the tie's shares start, too.
    """

    def __init__(self, problem: Problem, tilt: Array, columns: Array | None) -> None:
        self._problem, self._tilt, self._every = problem, tilt, np.arange(problem.N)
        losses = problem.loss + tilt @ problem.p_xz
        self.ties: dict[int, Array] = {}
        self.labels = (-losses if columns is None else columns).argmax(axis=0)
        hesitating = np.empty(0, dtype=np.intp)
        if columns is not None:
            active = columns * problem.p_z > losses - losses.min(axis=0)
            active[self.labels, self._every] = True
            hesitating = np.flatnonzero(np.add.reduce(active, 0) > 1)
        self._known = 0 < hesitating.size and (problem.n > 2 or hesitating.size <= self.most)
        if columns is None or not hesitating.size:
            first, second, margin = _two_best(losses / problem.p_z)
            outcome = int(margin.argmin())
            self.ties[outcome] = self._between(int(first[outcome]), int(second[outcome]))
        elif self._known:
            weight = problem.p_z[hesitating] * (1.0 - columns[:, hesitating].max(axis=0))
            heaviest = hesitating[np.argsort(-weight, kind="stable")[: self.most]]
            self.ties = {outcome: np.where(active[:, outcome], columns[:, outcome], 0.0) for outcome in heaviest.tolist()}
        else:
            self._round(hesitating, columns, losses)
        self._changed = set(self.ties)

    @property
    def most(self) -> int:
        """As many ties as an optimum may need."""
        return (self._problem.m - 1) * (self._problem.n - self._problem.constraint.perfect)

    def deviation(self, multiplier: float) -> Array | None:
        """Of the law (X, Ŷ) from independence [m, n], where shares should start next to it; else None.

        It is π_j s_i (e^{t_ij/μ} − 1), with the masses of the labels, and 0 at budget 0.
        """
        if self._problem.constraint.perfect:
            return np.zeros_like(self._tilt)
        if self._known:
            return None
        mass = np.bincount(self.labels, weights=self._problem.p_z, minlength=self._problem.m)
        log_ratio = np.clip(self._tilt / multiplier, -40.0, 40.0)  # e^40 of a prior is certainty
        return np.asarray(mass[:, None] * self._problem.p_x * np.expm1(log_ratio))

    def tied(self) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The ties [K] and which guesses each may get [m, K]."""
        return np.array(sorted(self.ties)), self.start() > 0.0

    def start(self) -> Array:
        """The columns [m, K] from which the shares of the ties start."""
        columns = np.stack([self.ties[outcome] for outcome in sorted(self.ties)], axis=1)
        return np.asarray(columns / columns.sum(axis=0))

    def estimator(self, columns: Array) -> Array:
        """[m, N] for columns of the ties [m, K]."""
        found = np.zeros((self._problem.m, self._problem.N))
        found[self.labels, self._every] = 1.0
        found[:, sorted(self.ties)] = columns
        return found

    def contradicted(self, losses: Array, rounding: Array) -> NDArray[np.intp]:
        """Determined outcomes whose label is not best, by more than rounding [N]."""
        wrong = losses[self.labels, self._every] - losses.min(axis=0) > rounding
        wrong[list(self.ties)] = False
        return np.flatnonzero(wrong)

    def relabel(self, wrong: NDArray[np.intp], losses: Array) -> None:
        """Contradicted labels change; outcomes that changed before become ties."""
        best = losses[:, wrong].argmin(axis=0)
        for outcome, guess in zip(wrong.tolist(), best.tolist(), strict=True):
            if outcome in self._changed:
                self.ties[outcome] = self._between(int(self.labels[outcome]), guess)
            self.labels[outcome] = guess
            self._changed.add(outcome)

    def lighten(self) -> None:
        """The lightest ties become certain; at budget 0 all: there a system without solution has too few."""
        weight = {outcome: self._problem.p_z[outcome] * (1.0 - column.max()) for outcome, column in self.ties.items()}
        count = 0 if self._problem.constraint.perfect else int(_RETAINED * len(self.ties))
        for outcome in sorted(self.ties, key=lambda outcome: -weight[outcome])[count:]:
            self.labels[outcome] = self.ties.pop(outcome).argmax()

    def leave(self, solved: Solved) -> None:
        """Each tie with a share outside loses the guess of its least; if that leaves one guess, it is a tie no longer."""
        aim = _two_best((self._problem.loss + solved.tilt @ self._problem.p_xz) / self._problem.p_z)
        for tie, column in sorted(zip(sorted(self.ties), solved.columns.T, strict=True), key=lambda found: found[1].min()):
            loses, gains = int(column.argmin()), int(column.argmax())
            if column[loses] >= 0.0:
                break
            rest = self.ties.pop(tie)
            rest[loses] = 0.0
            self.labels[tie] = rest.argmax()
            if np.count_nonzero(rest) > 1:
                self.ties[tie] = rest
            elif not any(other[gains] > 0.0 < other[loses] for other in self.ties.values()):
                self._follow(tie, gains, loses, -float(column[loses]) * self._problem.p_z[tie], *aim)

    def _follow(
        self, tie: int, gains: int, loses: int, mass: float, first: NDArray[np.intp], second: NDArray[np.intp], margin: Array
    ) -> None:
        """The outcomes of that mass with the least margins follow a tie to its side; where it ends is the new tie.

        If that one changed before, the boundary is between the two, and both are ties. If they do not suffice, none is.
        """
        movable = (self.labels == loses) & ((first == gains) | (second == gains)) & ((first == loses) | (second == loses))
        movable[list(self.ties)] = False
        near = np.flatnonzero(movable)
        near = near[margin[near].argsort()]
        end = int(np.searchsorted(np.cumsum(self._problem.p_z[near]), mass))
        self.labels[near[:end]] = gains
        if end == near.size:
            return
        outcome = int(near[end])
        for new in (outcome, tie) if outcome in self._changed else (outcome,):
            self.ties[new] = self._between(gains, loses)
        self._changed.add(outcome)

    def _round(self, hesitating: NDArray[np.intp], columns: Array, losses: Array) -> None:
        """Of the outcomes that hesitate between two guesses, those with the better margins for one get it.

        They get it until it has the probability that it has in the estimator; where that ends is a tie.
        """
        m, p_z = self._problem.m, self._problem.p_z
        best = np.sort(losses[:, hesitating].argsort(axis=0)[:2], axis=0)
        pairs = best[0] * m + best[1]
        for pair in np.unique(pairs).tolist():
            one, other = divmod(pair, m)
            held = hesitating[pairs == pair]
            held = held[((losses[other, held] - losses[one, held]) / p_z[held]).argsort(kind="stable")]
            wanted = p_z[held] @ (columns[other, held] / (columns[one, held] + columns[other, held]))
            place = min(int(np.searchsorted(np.cumsum(p_z[held]), wanted)), held.size - 1)
            self.labels[held[:place]], self.labels[held[place:]] = other, one
            self.ties[int(held[place])] = self._between(one, other)

    def _between(self, one: int, other: int) -> Array:
        column = np.zeros(self._problem.m)
        column[[one, other]] = 0.5
        return column


def _two_best(losses: Array) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """The best and the second best guess of every outcome, and how much worse the second is."""
    if losses.shape[0] == 2:  # a comparison is many times faster than sorting columns
        first = (losses[1] < losses[0]).astype(np.intp)
        return first, 1 - first, np.abs(losses[1] - losses[0])
    first, second = losses.argsort(axis=0)[:2]
    every = np.arange(losses.shape[1])
    return first, second, losses[second, every] - losses[first, every]
