"""From a point that is nearly optimal to the vertex next to it: deterministic off the ties, conditions met to rounding.

Method: an active-set method. The active set says which guess every outcome gets, its label, and which few outcomes are
ties. A pivot first looks at the shares that the ties need for the law that is expected, which is a small linear system. If
these are within [0, 1], it solves the square system of the ties (`vertex`). Then it looks at what is wrong:

- There is no solution: the tie that weighs least becomes certain.
- A share is outside [0, 1]: the tie becomes certain. If that leaves no tie at all and there is only one pair of guesses and
  of private values, the next outcomes in the order of margins follow, until the law has moved by as much as was missing.
- The new tilt contradicts labels: they change.

Where nothing is wrong the optimality conditions hold (docs/theory.md, section 6).

The first active set comes from an interior estimator, in which a guess is active where its probability exceeds its reduced
loss. Where more guesses hesitate than an optimum needs, the ties are those of the largest undecided probability. With two
guesses and two private values it then comes from the tilt alone: posteriors lie on a line, and an optimum decides nearly in
the order of margins. So the one tie is where outcomes up to it give the law that the duals announce.

Source: discreet, docs/theory.md (at most (m − 1) n ties; the crossover). Changing many entries of the active set at once:
J. J. Júdice, F. M. Pires, "A block principal pivoting algorithm for large-scale strictly monotone linear complementarity
problems", Computers & Operations Research 21 (1994).
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
from discreet.problems.reduction import reduce

_PIVOTS = 8  # more find hardly more: benchmarks/ablation.py


def crossover(
    problem: Problem, tilt: Array, multiplier: float, precision: Precision, columns: Array | None = None
) -> tuple[Point, float] | None:
    """The vertex next to duals that are nearly known, and the relative width that it proves, up to rounding.

    tilt [m, n], multiplier: μ (inf at budget 0). columns: an interior estimator [m, N], where one is known: it tells which
    outcomes hesitate; needed for more than two guesses or private values. None if no consistent vertex is found within a
    bounded number of pivots. Outcomes need positive probability; the budget must be 0 or positive, finite and binding.
    """
    if not problem.p_x.all():
        reduced = reduce(problem, merge=False)
        smaller = crossover(reduced.problem, tilt[:, reduced.private_values], multiplier, precision, columns)
        return None if smaller is None else (smaller[0].restored(reduced), smaller[1])
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is nearly known may be far off
        active = _ActiveSet(problem, problem.loss + tilt @ problem.p_xz)
        deviation = np.zeros(tilt.shape) if problem.constraint.perfect else None
        if (columns is None or not active.hesitate(columns)) and problem.n == problem.m == 2:
            deviation = active.cut(tilt, multiplier)
        for _ in range(_PIVOTS):
            if not active.ties:
                return None
            vertex = active.vertex()
            start = vertex.near(deviation)
            if start is None:
                return None
            if start.min() < 0.0:  # as they sum to one, none is above it otherwise
                active.leave(start)
                continue
            solved = vertex.solve(start, tilt, multiplier, precision)
            if solved is None:
                active.lighten()
                continue
            multiplier, deviation = solved.multiplier, vertex.law(solved.columns).deviation
            losses = problem.loss + solved.tilt @ problem.p_xz
            least = losses.min(axis=0)
            wrong = active.relabel(losses, least, solved, precision)
            if solved.columns.min() < 0.0:
                active.leave(solved.columns)
            elif not wrong:
                found = Decisions.labelled(active.labels, np.array(sorted(active.ties)), solved.columns).matrix()
                wasted = np.vdot(found, losses - least) / max(np.vdot(found, problem.loss), Precision.nonzero)
                return Point(found, solved.tilt, multiplier), float(wasted)
    return None


class _ActiveSet:
    """The label of every outcome [N], and for each tie a column [m], positive at the guesses that it may get.

    That of an interior estimator is where the tie's shares start, too.
    """

    def __init__(self, problem: Problem, losses: Array) -> None:
        self._problem, self._losses = problem, losses
        self.labels, self.ties = first_least(losses), dict[int, Array]()

    def hesitate(self, columns: Array) -> bool:
        """Make ties where an interior estimator [m, N] hesitates; False where there are none, or the tilt tells more."""
        problem, outcomes = self._problem, np.arange(self._problem.N)
        likeliest, active = columns.argmax(axis=0), columns * problem.p_z > self._losses - self._losses.min(axis=0)
        active[likeliest, outcomes] = True
        hesitating = np.flatnonzero(np.add.reduce(active, 0) > 1)
        most = (problem.m - 1) * (problem.n - problem.constraint.perfect)  # free shares of an optimum
        if problem.n == problem.m == 2 and hesitating.size > most:
            return False
        undecided = problem.p_z[hesitating] * (1.0 - columns[likeliest[hesitating], hesitating])
        ties = hesitating[undecided.argsort()[::-1]]
        ties = ties[np.cumsum(np.add.reduce(active[:, ties], 0) - 1) <= most]
        self.labels = likeliest
        self.ties = {tie: np.where(active[:, tie], columns[:, tie], 0.0) for tie in ties.tolist()}
        return bool(self.ties)

    def cut(self, tilt: Array, multiplier: float) -> Array:
        """The one tie of two guesses at which the law deviates from independence as the duals announce; that deviation.

        It is s_i π_j (r_ij − 1) [2, n], with the masses of the labels and r_ij in proportion to e^{t_ij/μ} so that Σ_i s_i
        r_ij is one; 0 at budget 0.
        """
        problem, losses = self._problem, self._losses
        tie = int((np.abs(losses[0] - losses[1]) / problem.p_z).argmin())
        certain = (self.labels == np.arange(2)[:, None]).astype(np.float64)
        log_ratio = np.maximum(np.minimum(tilt / multiplier, -Precision.no_evidence), Precision.no_evidence)
        mass, ratio = certain @ problem.p_z, np.expm1(log_ratio)
        excess = mass @ ratio
        announced = mass[:, None] * problem.p_x * (ratio - excess) / (1.0 + excess)
        own = int(self.labels[tie])
        missing = announced[1 - own, 0] - problem.deviations[0] @ certain[1 - own]
        column = np.full((2, 1), missing / problem.deviations[0, tie])
        column[own] = 1.0 - column[own]
        self.ties[tie] = np.full(2, 0.5)
        self.leave(column)
        return np.asarray(announced)

    def vertex(self) -> Vertex:
        """The equations for what the ties get, in the order of outcomes."""
        ties = sorted(self.ties)
        columns = np.array([self.ties[outcome] for outcome in ties]).T
        return Vertex(self._problem, self.labels, np.array(ties), columns / columns.sum(axis=0))

    def relabel(self, losses: Array, least: Array, at: Point, precision: Precision) -> bool:
        """Change the labels of outcomes whose losses exceed the least [N] beyond rounding; whether there are any."""
        problem, self._losses = self._problem, losses
        excess = losses.take(self.labels * problem.N + np.arange(problem.N)) - least
        excess[list(self.ties)] = 0.0
        wrong = np.flatnonzero(excess > 0.0)
        if not wrong.size:
            return False
        rounding = problem.loss[:, wrong].max(axis=0) + np.abs(at.tilt).max(axis=0) @ problem.p_xz[:, wrong]
        if at.multiplier < math.inf:
            rounding += 0.125 * at.multiplier * problem.p_z[wrong]
        wrong = wrong[excess[wrong] > precision.contradicted * rounding]
        self.labels[wrong] = losses[:, wrong].argmin(axis=0)
        return bool(wrong.size)

    def lighten(self) -> None:
        """The lightest tie becomes certain."""
        lightest = min(self.ties, key=lambda tie: self._problem.p_z[tie] * (1.0 - self.ties[tie].max()))
        self.labels[lightest] = self.ties.pop(lightest).argmax()

    def leave(self, columns: Array) -> None:
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
            elif not self.ties and self._problem.n == self._problem.m == 2:
                self._follow(tie, gains, loses, -float(column[loses]))

    def _follow(self, tie: int, gains: int, loses: int, share: float) -> None:
        """With two guesses: outcomes of the least margins change sides, until the law has moved as by that share of the tie.

        Where that ends is the new tie.
        """
        problem, losses = self._problem, self._losses
        effect = problem.deviations[0] / problem.deviations[0, tie]
        outcomes = np.flatnonzero((self.labels == loses) & (effect > 0.0))
        if outcomes.size:
            margins = ((losses[gains] - losses[loses]) / problem.p_z)[outcomes]
            outcomes = outcomes[margins.argsort(kind="stable")]
            place = min(int(np.searchsorted(np.cumsum(effect[outcomes]), share)), outcomes.size - 1)
            self.labels[outcomes[:place]] = gains
            self.ties[int(outcomes[place])] = np.full(2, 0.5)
