"""The vertex of a problem whose labels and ties are nearly known, by a few pivots.

Solving for the ties gives their shares and a better tilt. A share outside [0, 1] says how much more has to change sides: the
next outcomes in the order of margins follow until the rest is a share again. A label that the better tilt contradicts
changes; an outcome that would change a second time is a tie.

Source: discreet, docs/theory.md (finishing by ties).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.backends.tilt.vertex import Finished, Vertex, contradicted
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["Pivots"]

_LARGEST_LOG_RATIO = 40.0  # e^40 of a prior is certainty


class Pivots:
    """A tilt [m, n] that is nearly known, labels [N] and ties; by default the tilt's labels and a tie of the least margin.

    The two guesses of a tie are the best ones under the tilt. Outcomes and private values need positive probability.
    """

    def __init__(
        self,
        problem: Problem,
        tilt: Array,
        labels: NDArray[np.intp] | None = None,
        ties: list[int] | None = None,
    ) -> None:
        self._problem = problem
        self._every = np.arange(problem.N)
        self._tilt = tilt
        self._aim(tilt)
        self._labels = self._order[0].copy() if labels is None else labels
        self._ties = [int(self._margin.argmin())] if ties is None else ties
        self._changed: set[int] = set(self._ties)

    def run(self, multiplier: float, pivots: int, deviation: Array | None = None) -> Finished | None:
        """The consistent vertex; None when that many pivots do not settle, or a guess would never occur.

        deviation [m, n]: of the law (X, Ŷ) from independence, where it is nearly known; otherwise that of which the tilt
        is μ log ratio. The shares start next to it.
        """
        if deviation is None:
            deviation = self._told_by_tilt(multiplier)
        for _ in range(pivots):
            vertex = Vertex(self._problem, *self._guessed())
            vertex.start_next_to(deviation)
            solved = vertex.solve(multiplier)
            if solved is None or solved.mass.min() <= 0.0:
                return None
            multiplier = solved.multiplier
            if solved.columns.min() < 0.0:  # as they sum to one, none is above it otherwise
                if not self._shift(vertex, solved.columns, solved.tilt):
                    return None
                continue
            wrong = contradicted(self._problem, vertex, solved.tilt)
            if not wrong.size:
                return Finished(vertex.labels, vertex.ties, solved.columns, solved.tilt, multiplier)
            if not self._flip(wrong, solved.tilt):
                return None
        return None

    def _told_by_tilt(self, multiplier: float) -> Array:
        """The deviation π_j s_i (e^{t_ij/μ} − 1) [m, n], with the masses of the labels."""
        mass = np.bincount(self._labels, weights=self._problem.p_z, minlength=self._problem.m)
        farthest = _LARGEST_LOG_RATIO * multiplier
        log_ratio = np.clip(self._tilt, -farthest, farthest) / multiplier
        return np.asarray(mass[:, None] * self._problem.p_x * np.expm1(log_ratio))

    def _aim(self, tilt: Array) -> None:
        losses = (self._problem.loss + tilt @ self._problem.p_xz) / self._problem.p_z
        if self._problem.m == 2:  # a comparison is many times faster than sorting columns
            first = (losses[1] < losses[0]).astype(np.intp)
            self._order, self._margin = np.array([first, 1 - first]), np.abs(losses[1] - losses[0])
            return
        self._order = losses.argsort(axis=0)[:2]
        two = losses[self._order, self._every]
        self._margin = two[1] - two[0]

    def _guessed(self) -> tuple[NDArray[np.bool_], Array]:
        """Active guesses and a starting estimator [m, N]."""
        estimator = np.zeros((self._problem.m, self._problem.N))
        estimator[self._labels, self._every] = 1.0
        estimator[:, self._ties] = 0.0
        estimator[self._order[:, self._ties], self._ties] = 0.5
        return estimator > 0.0, estimator

    def _shift(self, vertex: Vertex, columns: Array, tilt: Array) -> bool:
        """Let the outcomes next to a tie follow it to its side until what is left over is a share of one of them.

        False when they do not suffice.
        """
        self._aim(tilt)
        furthest = int(np.argmax(np.abs(columns - 0.5).max(axis=0)))
        tie, column = int(vertex.ties[furthest]), columns[:, furthest]
        gains, loses = int(np.argmax(column)), int(np.argmin(column))
        left = float(-column[loses]) * self._problem.p_z[tie]
        self._labels[tie] = gains
        movable = (self._labels == loses) & (self._order == gains).any(axis=0) & (self._order == loses).any(axis=0)
        movable[vertex.ties] = False
        near = np.flatnonzero(movable)
        near = near[self._margin[near].argsort()]
        reached = np.cumsum(self._problem.p_z[near])
        place = int(np.searchsorted(reached, left))
        self._labels[near[:place]] = gains
        if place == near.size:
            return False
        outcome, others = int(near[place]), [int(other) for other in vertex.ties if other != tie]
        again = outcome in self._changed
        self._changed.add(outcome)
        self._ties = [*others, tie, outcome][-self._most :] if again else [*others, outcome]
        return True

    def _flip(self, wrong: NDArray[np.intp], tilt: Array) -> bool:
        """Change contradicted labels; those that changed before become ties. False when there would be too many."""
        self._aim(tilt)
        for outcome in wrong.tolist():
            if outcome in self._changed and outcome not in self._ties:
                self._ties.append(outcome)
            self._labels[outcome] = self._order[0, outcome]
            self._changed.add(outcome)
        return len(self._ties) <= self._most

    @property
    def _most(self) -> int:
        return (self._problem.m - 1) * self._problem.n
