"""From a point that is nearly optimal to the vertex next to it: deterministic off the ties,
conditions met to rounding.

Method: an active-set method. The active set says which guess every outcome gets, its label, and
which few outcomes are ties. A pivot first looks at the shares that the ties need for the law that
is expected, which is a small linear system. If these are within [0, 1], it solves the square system
of the ties (`vertex`). Then it looks at what is wrong:

- There is no solution, a share is outside [0, 1], or there are more shares than a vertex has: the
  tie of the least share loses that guess.
  If too few ties are left, the tilt moves on as in the dual simplex method: other labels change
  when their losses become equal, and the outcome at which the law has moved by as much as that
  share was outside is a tie.
- The new tilt contradicts labels: they change. What changes a second time is a tie.

Under linear measures of leakage the vertex is that of a small linear program instead (`program`).

The first active set comes from an interior estimator, in which a guess is active where its
probability exceeds its reduced loss. Where more outcomes hesitate than an optimum needs, it comes
from the tilt alone, which moves on from tie to tie.

Source: discreet, docs/theory.md (at most (m − 1) n ties; the crossover). Many labels that change
along one direction: I. Maros, "A generalized dual phase-2 simplex algorithm", European Journal of
Operational Research 149 (2003).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.backends.precision import Precision
from discreet.backends.repairs import plain_law
from discreet.backends.tilt.model import Point
from discreet.backends.tilt.program import is_linear, solve_by_sifting
from discreet.backends.tilt.vertex import Vertex, is_entropic, proven_width
from discreet.measures.mutual_information import phi_divergence
from discreet.measures.registry import LINEAR
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import one_hot
from discreet.numerics.tilted_losses import first_least
from discreet.problems.problem import Problem

# And ties that a tilt leads to, one after another; more find hardly more: benchmarks/ablation.py.
_PIVOTS = 8


def crossover(
    problem: Problem,
    tilt: Array,
    multipliers: Array,
    precision: Precision,
    columns: Array | None = None,
    gap: float = math.inf,
    deadline: float = math.inf,
) -> Point | None:
    """The vertex next to duals that are nearly known, if it proves a bracket within the relative
    gap, up to rounding.

    tilt [m, n], multipliers [C]: μ (inf at budget 0). columns: an interior estimator [m, N], where
    one is known: it tells which outcomes hesitate. None if no consistent vertex is found within a
    bounded number of pivots. Outcomes and private values need positive probability; the budget must
    be 0 or positive, finite and binding. The deadline, on the clock of time.perf_counter, is that
    of sifting.
    """
    if is_linear(problem):
        sift = solve_by_sifting(problem, tilt, precision, columns, gap, deadline=deadline)
        return sift[0] if sift is not None and sift[1].optimal else None
    if any(term.priced and term.measure.name in LINEAR for term in problem.terms):
        return None  # a linear measure beside one that is not
    # What is nearly known may be far off.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        active = _ActiveSet(problem, problem.loss + tilt @ problem.p_xz)
        deviation = None if columns is None else active.hesitate(columns)
        if deviation is None and is_entropic(problem):
            deviation = active.cut(tilt, float(multipliers[0]))
        elif deviation is None:
            if columns is None:
                return None
            deviation = active.nearest(columns)
        for _ in range(_PIVOTS):
            if not active.ties:
                return None
            vertex = active.vertex()
            start = vertex.near(deviation)
            if start is None:
                return None
            # As the shares sum to one, none is above one then.
            solvable = start.min() >= -Precision.settled and active.shares <= active.most_shares
            solved = vertex.solve(start, tilt, multipliers, precision) if solvable else None
            if solved is None:
                active.leave(vertex, start)
                continue
            wrong = active.relabel(problem.loss + solved.tilt @ problem.p_xz, solved, precision)
            if solved.columns.min() >= 0.0 and not wrong:
                active.certain[:, sorted(active.ties)] = solved.columns
                found = Point(active.certain, solved.tilt, solved.multipliers)
                return (
                    found
                    if gap == math.inf or proven_width(problem, found, precision) <= gap
                    else None
                )
            multipliers = solved.multipliers
            deviation = vertex.deviation(solved.columns)
            if solved.columns.min() < 0.0:
                active.leave(vertex, solved.columns)
    return None


class _ActiveSet:
    """The label of every outcome [N], also as an estimator [m, N], and a column [m] for each tie.

    A tie's column is positive at the guesses that it may get. That of an interior estimator is
    where its shares start, too. What relies on a tilt is told its losses [m, N].
    """

    def __init__(self, problem: Problem, losses: Array) -> None:
        self._problem = problem
        self._losses = losses
        self.labels = first_least(losses)
        # Priors that are no equation.
        self._exact = sum(len(term.groups) for term in problem.terms if term.budget.perfect)
        self.certain = one_hot(self.labels, problem.m)
        self.ties = dict[int, Array]()
        self._changed = np.zeros(problem.N, dtype=bool)

    def hesitate(self, columns: Array) -> Array | None:
        """Ties where an interior estimator [m, N] hesitates; the deviation of its law. None where
        none or too many do.
        """
        problem = self._problem
        likeliest = columns.argmax(axis=0)
        active = columns * problem.p_z > self._losses - self._losses.min(axis=0)
        active[likeliest, np.arange(problem.N)] = True
        if not 0 < np.count_nonzero(active) - problem.N <= self.most_shares:
            return None
        self.labels = likeliest
        self.certain = one_hot(likeliest, problem.m)
        hesitating = np.flatnonzero(np.add.reduce(active, 0) > 1)
        self.ties = {
            tie: np.where(active[:, tie], columns[:, tie], 0.0) for tie in hesitating.tolist()
        }
        return self._aimed(columns @ problem.deviations.T)

    def nearest(self, columns: Array) -> Array:
        """Make those of the least margins ties; the deviation of the law of an interior estimator
        [m, N].
        """
        self._least(min(self._problem.N, self.most_shares))
        return self._aimed(columns @ self._problem.deviations.T)

    def _aimed(self, deviation: Array) -> Array:
        """What a law [m, n] is to be: that of a secret that must not leak is 0."""
        for term in self._problem.terms:
            deviation[:, term.rows] *= not term.budget.perfect
        return deviation

    def cut(self, tilt: Array, multiplier: float) -> Array:
        """Make as many ties as a law has equations; the deviation [m, n] that duals announce, which
        the first come near.

        It is in proportion to s_i π_j (r_ij − 1), with the masses of the labels and r_ij in
        proportion to e^{t_ij/μ} so that Σ_i s_i r_ij is one, and leaks about the budget; 0 at
        budget 0. A tie enters as the tilt moves towards what others cannot make up, by which their
        losses stay equal. After a few, those of the least margins are ties, too.
        """
        problem = self._problem
        laws = plain_law(problem, self.certain).groups
        most = -Precision.no_evidence
        announced = np.zeros_like(tilt)
        leaks = 0.0
        for rows, law in zip(problem.groups, laws, strict=True):
            ratio = np.expm1(np.clip(tilt[:, rows] / multiplier, -most, most))
            excess = law.mass @ ratio / law.mass.sum()
            ratio = (ratio - excess) / (1.0 + excess)
            leaks += float(law.mass @ (phi_divergence(ratio) @ law.p_x))
            announced[:, rows] = law.mass[:, None] * law.p_x * ratio
        announced *= math.sqrt(problem.budget / max(leaks, Precision.nonzero))
        count = min(problem.N, (problem.m - 1) * (problem.n - len(laws)))
        reached = np.concatenate([law.deviation for law in laws], axis=1)
        for _ in range(min(count, _PIVOTS)):
            if self.ties:
                near = (vertex := self.vertex()).near(announced)
                reached = announced if near is None else vertex.deviation(near)
            missing = announced - reached
            self._enter(-missing / problem.p_x, float((missing * missing / problem.p_x).sum()))
        if count > len(self.ties):
            self._least(count)
        return announced

    def _least(self, count: int) -> None:
        """As many outcomes of the least margins are ties."""
        gap = self._losses - self._losses.min(axis=0)
        gap[self.certain == 1.0] = math.inf
        nearest = first_least(gap)
        margin = gap.min(axis=0) / self._problem.p_z
        for tie in margin.argpartition(count - 1)[:count].tolist():
            self._tie(tie, nearest[tie])

    def vertex(self) -> Vertex:
        """The equations for what the ties get, in the order of outcomes."""
        ties = sorted(self.ties)
        columns = np.array([self.ties[outcome] for outcome in ties]).T
        where = np.array(ties), self.labels[ties], columns / columns.sum(axis=0)
        return Vertex(self._problem, self.certain, *where)

    def relabel(self, losses: Array, at: Point, precision: Precision) -> bool:
        """Change what contradicts losses [m, N] beyond rounding; whether there is any.

        A label changes once; the second time the outcome is a tie. A tie may get the better guess
        besides.
        """
        problem = self._problem
        self._losses = losses
        better = first_least(losses)
        wrong = np.flatnonzero(better != self.labels)
        if not wrong.size:
            return False
        excess = losses[self.labels[wrong], wrong] - losses[better[wrong], wrong]
        rounding = (
            problem.loss[:, wrong].max(axis=0)
            + np.abs(at.tilt).max(axis=0) @ problem.p_xz[:, wrong]
        )
        dearest = at.multipliers.max(initial=0.0, where=at.multipliers < math.inf)
        rounding += 0.125 * dearest * problem.p_z[wrong]
        wrong = wrong[excess > precision.contradicted * rounding]
        for outcome in wrong.tolist():
            if self._changed[outcome] or outcome in self.ties:
                self._tie(outcome, better[outcome])
            else:
                self._label(outcome, better[outcome])
        self._changed[wrong] = True
        return bool(wrong.size)

    def leave(self, vertex: Vertex, columns: Array) -> None:
        """The tie with the least share [m, K] loses that guess; if that leaves one guess, it is a
        tie no longer.

        Another share enters where fewer would be left than an optimum has: at ε = 0 as many as
        equations, else one.
        """
        place = int(columns.min(axis=0).argmin())
        tie = sorted(self.ties)[place]
        loses = int(columns[:, place].argmin())
        shares = self.shares
        rest = self.ties.pop(tie)
        rest[loses] = 0.0
        self._label(tie, rest.argmax())
        if np.count_nonzero(rest) > 1:
            self.ties[tie] = rest
        direction = vertex.direction(place, loses)
        if direction is not None and shares <= self._equations:
            self._enter(direction, -float(columns[loses, place]))

    @property
    def shares(self) -> int:
        """Number of guesses that the ties may get, beyond one for each tie."""
        return sum(int(np.count_nonzero(each)) - 1 for each in self.ties.values())

    @property
    def most_shares(self) -> int:
        """Largest number of such guesses at a vertex: one for each equation of a law."""
        return (self._problem.m - 1) * (self._problem.n - self._exact)

    @property
    def _equations(self) -> int:
        """How many shares an optimum has at least: one for each budget that can bind, and for each
        of an exact secret.
        """
        problem = self._problem
        exact = sum(
            sum(term.sizes) - len(term.groups) for term in problem.terms if term.budget.perfect
        )
        return (problem.m - 1) * exact + sum(not term.budget.perfect for term in problem.terms)

    def _enter(self, direction: Array, missing: float) -> None:
        """As the tilt moves in a direction [m, n], labels change; where the law has moved by what
        is missing is a tie.
        """
        change = direction @ self._problem.deviations
        closing = np.einsum("il,il->l", self.certain, change) - change
        gap = self._losses - self._losses.min(axis=0)
        gap += Precision.nonzero
        rate = np.divide(closing, gap, out=gap)  # 1 / when losses are equal
        for tie, column in self.ties.items():
            rate[column > 0.0, tie] = 0.0
            closing[:, tie] = math.inf  # nothing moves on beyond a tie
        fastest = rate.max(axis=0)
        sample = np.sort(fastest[:: math.isqrt(fastest.size)])
        # √N outcomes most often suffice
        for limit in (*sample[[-1, -1 - sample.size // 8, -1 - sample.size // 4]], 0.0):
            order = np.flatnonzero(fastest > max(limit, 0.0))
            order = order[(-fastest.take(order)).argsort()]
            nearest = rate.take(order, axis=1).argmax(axis=0)
            moved = np.cumsum(closing[nearest, order])
            if order.size and moved[-1] >= missing:
                break
        if order.size:
            passed = min(int(np.searchsorted(moved, missing)), order.size - 1)
            self._label(order[:passed], nearest[:passed])
            change *= 1.0 / fastest[order[passed]]
            self._losses += change
            self._tie(int(order[passed]), nearest[passed])

    def _label(self, outcomes: Any, guesses: Any) -> None:
        self.labels[outcomes] = guesses
        self.certain[:, outcomes] = 0.0
        self.certain[guesses, outcomes] = 1.0

    def _tie(self, outcome: int, guess: int) -> None:
        """An outcome may get a guess besides its label, or besides those that it may
        get already.
        """
        self.ties.setdefault(outcome, 0.5 * (np.arange(self._problem.m) == self.labels[outcome]))[
            guess
        ] = 0.5
