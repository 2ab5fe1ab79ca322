"""From a point that is nearly optimal to the vertex next to it: deterministic off the ties, conditions met to rounding.

Method: an active-set method. The active set says which guess every outcome gets, its label, and which few outcomes are
ties. A pivot first looks at the shares that the ties need for the law that is expected, which is a small linear system. If
these are within [0, 1], it solves the square system of the ties (`vertex`). Then it looks at what is wrong:

- There is no solution, or a share is outside [0, 1]: the tie of the least share loses that guess. If too few ties are left,
  the tilt moves on as in the dual simplex method: other labels change when their losses become equal, and the outcome at
  which the law has moved by as much as that share was outside is a tie.
- The new tilt contradicts labels: they change. What changes a second time is a tie.

The first active set comes from an interior estimator, in which a guess is active where its probability exceeds its reduced
loss. Where more outcomes hesitate than an optimum needs, it comes from the tilt alone, with ties of the least margins.

Source: discreet, docs/theory.md (at most (m − 1) n ties; the crossover). Many labels that change along one direction: I.
Maros, "A generalized dual phase-2 simplex algorithm", European Journal of Operational Research 149 (2003).
"""

from __future__ import annotations

import math

import numpy as np

from discreet.backends.precision import Precision
from discreet.backends.tilt.point import Point
from discreet.backends.tilt.vertex import Vertex
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.estimators import Decisions
from discreet.problems.numerics.tilted_losses import first_least
from discreet.problems.problem import Problem

_PIVOTS = 8  # more find hardly more: benchmarks/ablation.py


def crossover(
    problem: Problem, tilt: Array, multiplier: float, precision: Precision, columns: Array | None = None
) -> tuple[Point, float] | None:
    """The vertex next to duals that are nearly known, and the relative width that it proves, up to rounding.

    tilt [m, n], multiplier: μ (inf at budget 0). columns: an interior estimator [m, N], where one is known: it tells which
    outcomes hesitate. None if no consistent vertex is found within a bounded number of pivots. Outcomes and private values
    need positive probability; the budget must be 0 or positive, finite and binding.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is nearly known may be far off
        active = _ActiveSet(problem, problem.loss + tilt @ problem.p_xz)
        deviation = None if columns is None else active.hesitate(columns)
        if deviation is None:
            deviation = active.cut(tilt, multiplier)
        for _ in range(_PIVOTS):
            if not active.ties:
                return None
            vertex = active.vertex()
            start = vertex.near(deviation)
            if start is None:
                return None
            inside = start.min() >= 0.0  # as they sum to one, none is above it then
            solved = vertex.solve(start, tilt, multiplier, precision) if inside else None
            if solved is None:
                active.leave(vertex, start)
                continue
            multiplier, deviation = solved.multiplier, vertex.law(solved.columns).deviation
            losses = problem.loss + solved.tilt @ problem.p_xz
            least = losses.min(axis=0)
            wrong = active.relabel(losses, least, solved, precision)
            if solved.columns.min() < 0.0:
                active.leave(vertex, solved.columns)
            elif not wrong:
                found = Decisions.labelled(active.labels, np.array(sorted(active.ties)), solved.columns).matrix()
                wasted = np.vdot(found, losses - least) / max(np.vdot(found, problem.loss), Precision.nonzero)
                return Point(found, solved.tilt, multiplier), float(wasted)
    return None


class _ActiveSet:
    """The label of every outcome [N], and for each tie a column [m], positive at the guesses that it may get.

    That of an interior estimator is where the tie's shares start, too. What relies on a tilt is told its losses [m, N].
    """

    def __init__(self, problem: Problem, losses: Array) -> None:
        self._problem, self._losses, self._every = problem, losses, np.arange(problem.N)
        self.labels, self.ties = first_least(losses), dict[int, Array]()
        self._changed = np.zeros(problem.N, dtype=bool)

    def hesitate(self, columns: Array) -> Array | None:
        """Ties where an interior estimator [m, N] hesitates; the deviation of its law. None where none or too many do."""
        problem = self._problem
        likeliest, active = columns.argmax(axis=0), columns * problem.p_z > self._losses - self._losses.min(axis=0)
        active[likeliest, self._every] = True
        if not 0 < np.count_nonzero(active) - problem.N <= (problem.m - 1) * (problem.n - problem.constraint.perfect):
            return None
        self.labels = likeliest
        hesitating = np.flatnonzero(np.add.reduce(active, 0) > 1)
        self.ties = {tie: np.where(active[:, tie], columns[:, tie], 0.0) for tie in hesitating.tolist()}
        return columns @ problem.deviations.T * (not problem.constraint.perfect)

    def cut(self, tilt: Array, multiplier: float) -> Array:
        """Make as many ties as a law has equations; the deviation [m, n] that duals announce, which the first comes near.

        It is s_i π_j (r_ij − 1), with the masses of the labels and r_ij in proportion to e^{t_ij/μ} so that Σ_i s_i r_ij is
        one; 0 at budget 0. The other ties are those of the least margins then.
        """
        problem = self._problem
        certain = (self.labels == np.arange(problem.m)[:, None]).astype(np.float64)
        log_ratio = np.maximum(np.minimum(tilt / multiplier, -Precision.no_evidence), Precision.no_evidence)
        mass, ratio = certain @ problem.p_z, np.expm1(log_ratio)
        excess = mass @ ratio
        announced = np.asarray(mass[:, None] * problem.p_x * (ratio - excess) / (1.0 + excess))
        missing = announced - certain @ problem.deviations.T
        self._enter(-missing / problem.p_x, float((missing * missing / problem.p_x).sum()))
        count = min(problem.N, (problem.m - 1) * (problem.n - 1))
        if count > len(self.ties):
            gap = self._losses - self._of_labels(self._losses)
            gap[self.labels, self._every] = math.inf
            nearest, margin = first_least(gap), gap.min(axis=0) / problem.p_z
            for tie in margin.argpartition(count - 1)[:count].tolist():
                self._tie(tie, nearest[tie])
        return announced

    def vertex(self) -> Vertex:
        """The equations for what the ties get, in the order of outcomes."""
        ties = sorted(self.ties)
        columns = np.array([self.ties[outcome] for outcome in ties]).T
        return Vertex(self._problem, self.labels, np.array(ties), columns / columns.sum(axis=0))

    def relabel(self, losses: Array, least: Array, at: Point, precision: Precision) -> bool:
        """Change what contradicts losses [m, N] beyond rounding; whether there is any.

        A label changes once; the second time the outcome is a tie. A tie may get the better guess besides.
        """
        problem, self._losses = self._problem, losses
        excess = self._of_labels(losses) - least
        wrong = np.flatnonzero(excess > 0.0)
        rounding = problem.loss[:, wrong].max(axis=0) + np.abs(at.tilt).max(axis=0) @ problem.p_xz[:, wrong]
        if at.multiplier < math.inf:
            rounding += 0.125 * at.multiplier * problem.p_z[wrong]
        wrong = wrong[excess[wrong] > precision.contradicted * rounding]
        better = losses[:, wrong].argmin(axis=0)
        for outcome, guess in zip(wrong.tolist(), better.tolist(), strict=True):
            if self._changed[outcome] or outcome in self.ties:
                self._tie(outcome, guess)
            else:
                self.labels[outcome] = guess
        self._changed[wrong] = True
        return bool(wrong.size)

    def leave(self, vertex: Vertex, columns: Array) -> None:
        """The tie with the least share [m, K] loses that guess; if that leaves one guess, it is a tie no longer.

        Another share enters where fewer would be left than an optimum has: at ε = 0 as many as equations, else one.
        """
        problem, place = self._problem, int(columns.min(axis=0).argmin())
        tie, loses = sorted(self.ties)[place], int(columns[:, place].argmin())
        shares = sum(np.count_nonzero(each) - 1 for each in self.ties.values())
        rest = self.ties.pop(tie)
        rest[loses] = 0.0
        self.labels[tie] = rest.argmax()
        if np.count_nonzero(rest) > 1:
            self.ties[tie] = rest
        direction = vertex.direction(place, loses)
        if direction is not None and shares <= ((problem.m - 1) * (problem.n - 1) if problem.constraint.perfect else 1):
            self._enter(direction, -float(columns[loses, place]))

    def _enter(self, direction: Array, missing: float) -> None:
        """As the tilt moves in a direction [m, n], labels change; where the law has moved by what is missing is a tie."""
        change = direction @ self._problem.deviations
        closing = self._of_labels(change) - change
        until = np.where(closing > 0.0, (self._losses - self._of_labels(self._losses)) / closing, math.inf)
        for tie, column in self.ties.items():
            until[column > 0.0, tie] = math.inf
            closing[:, tie] = math.inf  # nothing moves on beyond a tie
        nearest, until = first_least(until), until.min(axis=0)
        order = np.flatnonzero(until < until[:: math.isqrt(until.size)].min())  # about √N outcomes most often suffice
        if closing[nearest[order], order].sum() < missing:
            order = np.flatnonzero(until < math.inf)
        if order.size:
            order = order[until[order].argsort()]
            moved = np.cumsum(closing[nearest[order], order])
            passed = min(int(np.searchsorted(moved, missing)), order.size - 1)
            tie = int(order[passed])
            self.labels[order[:passed]] = nearest[order[:passed]]
            self._losses = self._losses + until[tie] * change
            self._tie(tie, nearest[tie])

    def _of_labels(self, rows: Array) -> Array:
        """The entry of each outcome's label [N], of rows [m, N]."""
        return rows.take(self.labels * self._problem.N + self._every)

    def _tie(self, outcome: int, guess: int) -> None:
        """An outcome may get a guess besides its label, or besides those that it may get already."""
        self.ties.setdefault(outcome, 0.5 * (np.arange(self._problem.m) == self.labels[outcome]))[guess] = 0.5
