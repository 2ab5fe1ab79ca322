"""From a point that is nearly optimal to the vertex next to it: deterministic off the ties, conditions met to rounding.

Method: an active-set method. The active set says which guess every outcome gets, its label, and which few outcomes are
ties. Each pivot solves the square system of the ties (`vertex`) and looks at what is wrong with the answer:

- There is none: the ties that weigh least become certain.
- A share is outside [0, 1]: the tie becomes certain. If that leaves no tie at all, the next outcomes in the order of margins
  follow, until as much probability as was missing has changed sides; where that ends is the new tie.
- The new tilt contradicts labels: they change.

Where nothing is wrong the optimality conditions hold (docs/theory.md, section 6).

The first active set comes from an interior estimator, in which a guess is active where its probability exceeds its reduced
loss, or from the tilt alone. Where X has two values, posteriors lie on a line and an optimum decides nearly in the order of
margins. Outcomes that hesitate in greater number than it needs are therefore first rounded in that order, and the shares
start where they keep the law of (X, Ŷ); that works far from the optimum already.
Where X has more values, hesitating outcomes in greater number tell nothing yet.

Source: discreet, docs/theory.md (at most (m − 1) n ties; the crossover). Changing many entries of the active set at once:
J. J. Júdice, F. M. Pires, "A block principal pivoting algorithm for large-scale strictly monotone linear complementarity
problems", Computers & Operations Research 21 (1994).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.backends.precision import Precision
from discreet.backends.tilt.point import Point
from discreet.backends.tilt.vertex import Vertex
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["crossover"]

_PIVOTS = 4  # more find hardly more: benchmarks/ablation.py
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
        deviation = active.deviation(tilt, multiplier)
        for _ in range(_PIVOTS):
            if not active.ties:
                return None
            vertex = Vertex(problem, active.labels, np.array(sorted(active.ties)), active.start())
            solved = vertex.solve(deviation, tilt, multiplier, precision)
            if solved is None:
                active.lighten()
                continue
            multiplier = solved.multiplier
            losses = problem.loss + solved.tilt @ problem.p_xz
            if solved.columns.min() < 0.0:  # as they sum to one, none is above it otherwise
                active.leave(solved.columns, losses)
                continue
            rounding = problem.loss.max(axis=0) + np.abs(solved.tilt).max(axis=0) @ problem.p_xz
            if not active.relabel(losses, precision.contradicted * rounding):
                found = active.estimator(solved.columns)
                wasted = (found * (losses - losses.min(axis=0))).sum() / max((found * problem.loss).sum(), 1e-300)
                return Point(found, solved.tilt, multiplier), float(wasted)
    return None


class _ActiveSet:
    """The label of every outcome [N], and for each tie a column [m], positive at the guesses that it may get.

    That of an interior estimator is where the tie's shares start, too.
    """

    def __init__(self, problem: Problem, tilt: Array, columns: Array | None) -> None:
        self._problem, self._every = problem, np.arange(problem.N)
        losses = problem.loss + tilt @ problem.p_xz
        self.ties: dict[int, Array] = {}
        self._known = False  # where the shares of the ties start
        if columns is None:
            self.labels = losses.argmin(axis=0)
            self._least(losses)
            return
        active = columns * problem.p_z > losses - losses.min(axis=0)
        self.labels = columns.argmax(axis=0)
        active[self.labels, self._every] = True
        hesitating = np.flatnonzero(np.add.reduce(active, 0) > 1)
        if not hesitating.size:
            self._least(losses)
        elif hesitating.size <= (problem.m - 1) * (problem.n - problem.constraint.perfect):  # ties that an optimum may need
            self.ties = {at: np.where(active[:, at], columns[:, at], 0.0) for at in hesitating.tolist()}
            self._known = True
        elif problem.n == 2:
            self._round(hesitating, columns, losses)

    def deviation(self, tilt: Array, multiplier: float) -> Array | None:
        """Of the law (X, Ŷ) from independence [m, n], where shares should start next to it; else None.

        It is π_j s_i (e^{t_ij/μ} − 1), with the masses of the labels, and 0 at budget 0.
        """
        if self._problem.constraint.perfect:
            return np.zeros_like(tilt)
        if self._known:
            return None
        mass = np.bincount(self.labels, weights=self._problem.p_z, minlength=self._problem.m)
        log_ratio = np.clip(tilt / multiplier, -40.0, 40.0)  # e^40 of a prior is certainty
        return np.asarray(mass[:, None] * self._problem.p_x * np.expm1(log_ratio))

    def start(self) -> Array:
        """The columns [m, K] from which the shares of the ties start, in the order of outcomes."""
        columns = np.stack([self.ties[outcome] for outcome in sorted(self.ties)], axis=1)
        return np.asarray(columns / columns.sum(axis=0))

    def estimator(self, columns: Array) -> Array:
        """[m, N] for columns of the ties [m, K]."""
        found = np.zeros((self._problem.m, self._problem.N))
        found[self.labels, self._every] = 1.0
        found[:, sorted(self.ties)] = columns
        return found

    def relabel(self, losses: Array, rounding: Array) -> bool:
        """Change the labels of determined outcomes that are not best, by more than rounding [N]; whether there are any."""
        wrong = losses[self.labels, self._every] - losses.min(axis=0) > rounding
        wrong[list(self.ties)] = False
        self.labels[wrong] = losses[:, wrong].argmin(axis=0)
        return bool(wrong.any())

    def lighten(self) -> None:
        """The lightest ties become certain; at budget 0 all: there a system without solution has too few."""
        weight = {outcome: self._problem.p_z[outcome] * (1.0 - column.max()) for outcome, column in self.ties.items()}
        count = 0 if self._problem.constraint.perfect else int(_RETAINED * len(self.ties))
        for outcome in sorted(self.ties, key=lambda outcome: -weight[outcome])[count:]:
            self.labels[outcome] = self.ties.pop(outcome).argmax()

    def leave(self, columns: Array, losses: Array) -> None:
        """Each tie with a share outside loses the guess of its least; if that leaves one guess, it is a tie no longer."""
        for tie, column in sorted(zip(sorted(self.ties), columns.T, strict=True), key=lambda found: found[1].min()):
            loses, gains = int(column.argmin()), int(column.argmax())
            if column[loses] >= 0.0:
                break
            rest = self.ties.pop(tie)
            rest[loses] = 0.0
            self.labels[tie] = rest.argmax()
            if np.count_nonzero(rest) > 1:
                self.ties[tie] = rest
            elif not self.ties:
                self._follow(gains, loses, -float(column[loses]) * self._problem.p_z[tie], losses)

    def _follow(self, gains: int, loses: int, mass: float, losses: Array) -> None:
        """Outcomes of that mass with the least margins change sides as well; where that ends is a tie."""
        first, second, margin = self._two_best(losses)
        near = np.flatnonzero(
            (self.labels == loses) & (first + second == gains + loses) & ((first == gains) | (first == loses))
        )
        near = near[~np.isin(near, list(self.ties))]
        near = near[margin[near].argsort()]
        end = int(np.searchsorted(np.cumsum(self._problem.p_z[near]), mass))
        self.labels[near[:end]] = gains
        if end < near.size:
            self._tie(int(near[end]), gains, loses)

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
            self._tie(int(held[place]), one, other)

    def _least(self, losses: Array) -> None:
        """The outcome with the least margin is a tie."""
        first, second, margin = self._two_best(losses)
        outcome = int(margin.argmin())
        self._tie(outcome, int(first[outcome]), int(second[outcome]))

    def _tie(self, outcome: int, one: int, other: int) -> None:
        column = np.zeros(self._problem.m)
        column[[one, other]] = 0.5
        self.ties[outcome], self.labels[outcome] = column, one

    def _two_best(self, losses: Array) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """The best and the second best guess of every outcome, and how much worse the second is, for each of its mass."""
        if losses.shape[0] == 2:  # a comparison is many times faster than sorting columns
            first = (losses[1] < losses[0]).astype(np.intp)
            return first, 1 - first, np.abs(losses[1] - losses[0]) / self._problem.p_z
        first, second = losses.argsort(axis=0)[:2]
        return first, second, (losses[second, self._every] - losses[first, self._every]) / self._problem.p_z
