"""From a nearly optimal point to the closest vertex, which is deterministic except at ties and
satisfies the optimality conditions to rounding.

Method: an active-set method. The active set consists of the label of each outcome, the guess it
gets, and a few outcomes that are ties. A pivot first solves a small linear system for the shares
that the ties need to produce the expected law. If the shares are within [0, 1], it solves the
square system of the ties (`vertex`). Then it corrects what is wrong:

- If there is no solution, if a share is outside [0, 1], or if there are more shares than a vertex
  has, the tie with the smallest share loses that guess. If too few ties remain, the tilt moves as
  in the dual simplex method: other labels change when their losses become equal, and the outcome at
  which the law has moved far enough becomes a tie.
- If the new tilt contradicts labels, they change. An outcome whose label would change a second time
  becomes a tie.

For linear measures of leakage the vertex comes from a small linear program instead (`program`).

The first active set comes from an interior estimator, in which a guess is active if its probability
exceeds its reduced loss. If more outcomes are undecided than an optimum needs, it comes only
from the tilt, which then moves from tie to tie.

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

# Most pivots, and most ties that a tilt finds one after the other; more rarely find more:
# benchmarks/ablation.py.
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
    """Return the vertex closest to nearly known duals if it proves a bracket within the relative
    gap, up to rounding, else None.

    tilt [m, n]; multipliers [C]: μ, inf at budget 0; columns: an interior estimator [m, N] if
    known, which shows the undecided outcomes. The number of pivots is bounded. Outcomes and private
    values need positive probability, and the budget must be 0, or positive, finite and binding. The
    deadline, on the clock of time.perf_counter, bounds sifting.
    """
    if is_linear(problem):
        sift = solve_by_sifting(problem, tilt, precision, columns, gap, deadline=deadline)
        return sift[0] if sift is not None and sift[1].optimal else None
    if any(term.priced and term.measure.name in LINEAR for term in problem.terms):
        return None  # a linear measure next to one that is not linear
    # The duals may be far from the optimum.
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
            start = vertex.columns_near(deviation)
            if start is None:
                return None
            # The shares sum to one, so none exceeds one either.
            solvable = start.min() >= -Precision.settled and active.shares <= active.most_shares
            vertex_point = vertex.solve(start, tilt, multipliers, precision) if solvable else None
            if vertex_point is None:
                active.leave(vertex, start)
                continue
            wrong = active.relabel(
                problem.loss + vertex_point.tilt @ problem.p_xz, vertex_point, precision
            )
            if vertex_point.columns.min() >= 0.0 and not wrong:
                active.certain[:, sorted(active.ties)] = vertex_point.columns
                point = Point(active.certain, vertex_point.tilt, vertex_point.multipliers)
                return (
                    point
                    if gap == math.inf or proven_width(problem, point, precision) <= gap
                    else None
                )
            multipliers = vertex_point.multipliers
            deviation = vertex.deviation(vertex_point.columns)
            if vertex_point.columns.min() < 0.0:
                active.leave(vertex, vertex_point.columns)
    return None


class _ActiveSet:
    """The label of each outcome [N], also as an estimator [m, N], and a column [m] for each tie.

    The column of a tie is positive at the guesses that it may get. If it comes from an interior
    estimator, it is also the starting value of the shares. `losses` [m, N] are the losses under the
    current tilt.
    """

    def __init__(self, problem: Problem, losses: Array) -> None:
        self._problem = problem
        self._losses = losses
        self.labels = first_least(losses)
        # the number of priors, each of which removes one equation
        self._exact = sum(len(term.groups) for term in problem.terms if term.budget.perfect)
        self.certain = one_hot(self.labels, problem.m)
        self.ties = dict[int, Array]()
        self._changed = np.zeros(problem.N, dtype=bool)

    def hesitate(self, columns: Array) -> Array | None:
        """Make ties of the undecided outcomes of an interior estimator [m, N], and return the
        deviation of its law; None if there are no or too many such outcomes.
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
        return self._target_deviation(columns @ problem.deviations.T)

    def nearest(self, columns: Array) -> Array:
        """Make ties of the outcomes with the smallest margins, and return the deviation of the law
        of an interior estimator [m, N].
        """
        self._tie_closest(min(self._problem.N, self.most_shares))
        return self._target_deviation(columns @ self._problem.deviations.T)

    def _target_deviation(self, deviation: Array) -> Array:
        """Return the target deviation of a law [m, n], which is 0 for secrets under perfect
        privacy.
        """
        for term in self._problem.terms:
            deviation[:, term.rows] *= not term.budget.perfect
        return deviation

    def cut(self, tilt: Array, multiplier: float) -> Array:
        """Make as many ties as a law has equations, and return the deviation [m, n] that the duals
        predict.

        The deviation is proportional to s_i π_j (r_ij − 1), with the masses of the labels and r_ij
        proportional to e^{t_ij/μ} such that Σ_i s_i r_ij = 1. It is scaled to leak approximately
        the budget, and is 0 at budget 0. The tilt moves along the part of the deviation that the
        ties cannot produce, with their losses kept equal, until another outcome ties. After a few
        such ties, the outcomes with the smallest margins become ties.
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
                columns = (vertex := self.vertex()).columns_near(announced)
                reached = announced if columns is None else vertex.deviation(columns)
            missing = announced - reached
            self._enter(-missing / problem.p_x, float((missing * missing / problem.p_x).sum()))
        if count > len(self.ties):
            self._tie_closest(count)
        return announced

    def _tie_closest(self, count: int) -> None:
        """Make ties of this number of outcomes with the smallest margins."""
        gap = self._losses - self._losses.min(axis=0)
        gap[self.certain == 1.0] = math.inf
        nearest = first_least(gap)
        margin = gap.min(axis=0) / self._problem.p_z
        for tie in margin.argpartition(count - 1)[:count].tolist():
            self._tie(tie, nearest[tie])

    def vertex(self) -> Vertex:
        """Return the equations of the ties' shares, in the order of outcomes."""
        ties = sorted(self.ties)
        columns = np.array([self.ties[outcome] for outcome in ties]).T
        where = np.array(ties), self.labels[ties], columns / columns.sum(axis=0)
        return Vertex(self._problem, self.certain, *where)

    def relabel(self, losses: Array, at: Point, precision: Precision) -> bool:
        """Change the labels that losses [m, N] contradict beyond rounding, and return whether there
        are any.

        A label changes once; the second time the outcome becomes a tie. A tie may get the better
        guess in addition.
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
        """Remove the guess with the smallest share from its tie [m, K]; a tie with a single guess
        left becomes a label.

        If fewer shares would remain than an optimum has, another tie enters.
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
        """Number of guesses that the ties may get, minus one for each tie."""
        return sum(int(np.count_nonzero(each)) - 1 for each in self.ties.values())

    @property
    def most_shares(self) -> int:
        """Largest number of shares at a vertex: one for each equation of a law."""
        return (self._problem.m - 1) * (self._problem.n - self._exact)

    @property
    def _equations(self) -> int:
        """Smallest number of shares at an optimum: one for each budget that can bind, and those of
        the secrets under perfect privacy.
        """
        problem = self._problem
        exact = sum(
            sum(term.sizes) - len(term.groups) for term in problem.terms if term.budget.perfect
        )
        return (problem.m - 1) * exact + sum(not term.budget.perfect for term in problem.terms)

    def _enter(self, direction: Array, missing: float) -> None:
        """Move the tilt in a direction [m, n]. Labels change on the way, and the outcome at which
        the law has moved far enough becomes a tie.
        """
        change = direction @ self._problem.deviations
        closing = np.einsum("il,il->l", self.certain, change) - change
        gap = self._losses - self._losses.min(axis=0)
        gap += Precision.nonzero
        rate = np.divide(closing, gap, out=gap)  # 1 / step at which the losses become equal
        for tie, column in self.ties.items():
            rate[column > 0.0, tie] = 0.0
            closing[:, tie] = math.inf  # the move ends at a tie
        fastest = rate.max(axis=0)
        sample = np.sort(fastest[:: math.isqrt(fastest.size)])
        # √N outcomes usually suffice
        for limit in (*sample[[-1, -1 - sample.size // 8, -1 - sample.size // 4]], 0.0):
            order = np.flatnonzero(fastest > max(limit, 0.0))
            order = order[(-fastest.take(order)).argsort()]
            nearest = rate.take(order, axis=1).argmax(axis=0)
            law_change = np.cumsum(closing[nearest, order])
            if order.size and law_change[-1] >= missing:
                break
        if order.size:
            last = min(int(np.searchsorted(law_change, missing)), order.size - 1)
            self._label(order[:last], nearest[:last])
            change *= 1.0 / fastest[order[last]]
            self._losses += change
            self._tie(int(order[last]), nearest[last])

    def _label(self, outcomes: Any, guesses: Any) -> None:
        self.labels[outcomes] = guesses
        self.certain[:, outcomes] = 0.0
        self.certain[guesses, outcomes] = 1.0

    def _tie(self, outcome: int, guess: int) -> None:
        """Allow an outcome to get a guess in addition to its label, or to the guesses that it may
        already get.
        """
        self.ties.setdefault(outcome, 0.5 * (np.arange(self._problem.m) == self.labels[outcome]))[
            guess
        ] = 0.5
