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
- The new tilt contradicts labels: they change.

Under linear measures of leakage the vertex is that of a small linear program instead (`program`).

The first active set comes from an interior estimator, in which a guess is active where its
probability exceeds its reduced loss. Where more outcomes hesitate than an optimum needs, or no
interior estimator is known, a tilt gives the labels and moves on from tie to tie towards the law
that is expected. The Bayes rule, whose tilt is 0, is enough where few outcomes can be ties.

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
    if _has_linear(problem) or (columns is None and not is_entropic(problem)):
        return None
    # What is nearly known may be far off.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        active = _ActiveSet(problem, problem.loss + tilt @ problem.p_xz)
        if columns is None:
            deviation = active.announce(tilt, float(multipliers[0]))
            active.enter(deviation)
        else:
            deviation = active.aim(columns)
            if not active.hesitate(columns):
                active.enter(deviation)
        start = Point(active.certain, tilt, multipliers)
        return _pivot(active, deviation, start, precision, gap)


def cross_from_bayes(problem: Problem, precision: Precision, gap: float) -> Point | None:
    """The same from the Bayes rule, whose law shows where that within the budgets is."""
    if _has_linear(problem):
        return None
    nothing = np.zeros((problem.m, problem.n))
    error = max(problem.constant_error, Precision.nonzero)
    prices = np.array([error / term.level if term.priced else 0.0 for term in problem.terms])
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        active = _ActiveSet(problem, problem.loss)
        deviation = active.shrink()
        active.enter(deviation)
        return _pivot(active, deviation, Point(active.certain, nothing, prices), precision, gap)


def _has_linear(problem: Problem) -> bool:
    return any(term.priced and term.measure.name in LINEAR for term in problem.terms)


def _pivot(
    active: _ActiveSet, deviation: Array, start: Point, precision: Precision, gap: float
) -> Point | None:
    """The vertex that an active set leads to, from the deviation of a law and from duals."""
    problem = active.problem
    multipliers = start.multipliers
    for _ in range(_PIVOTS):
        if not active.ties:
            return None
        vertex = active.vertex()
        columns = vertex.near(deviation)
        if columns is None:
            return None
        # As the shares sum to one, none is above one then.
        solvable = columns.min() >= -Precision.settled and active.shares <= active.most_shares
        solved = vertex.solve(columns, start.tilt, multipliers, precision) if solvable else None
        if solved is None:
            active.leave(vertex, columns)
            continue
        wrong = active.relabel(problem.loss + solved.tilt @ problem.p_xz, solved, precision)
        if solved.columns.min() >= 0.0 and not wrong:
            active.certain[:, sorted(active.ties)] = solved.columns
            found = Point(active.certain, solved.tilt, solved.multipliers)
            narrow = gap == math.inf or proven_width(problem, found, precision) <= gap
            return found if narrow else None
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
        self.problem = problem
        self._losses = losses
        self.labels = first_least(losses)
        # Priors that are no equation.
        self._exact = sum(len(term.groups) for term in problem.terms if term.budget.perfect)
        self.certain = one_hot(self.labels, problem.m)
        self.ties = dict[int, Array]()

    def hesitate(self, columns: Array) -> bool:
        """Make ties where an interior estimator [m, N] hesitates; whether any do, and not too
        many.
        """
        problem = self.problem
        likeliest = columns.argmax(axis=0)
        active = columns * problem.p_z > self._losses - self._losses.min(axis=0)
        active[likeliest, np.arange(problem.N)] = True
        if not 0 < np.count_nonzero(active) - problem.N <= self.most_shares:
            return False
        self.labels = likeliest
        self.certain = one_hot(likeliest, problem.m)
        hesitating = np.flatnonzero(np.add.reduce(active, 0) > 1)
        self.ties = {
            tie: np.where(active[:, tie], columns[:, tie], 0.0) for tie in hesitating.tolist()
        }
        return True

    # -- the deviation [m, n] of the law that is expected
    # ----------------------------------------------------------------------------------------------

    def aim(self, columns: Array) -> Array:
        """That of an interior estimator [m, N]; 0 of a secret that must not leak."""
        deviation = np.asarray(columns @ self.problem.deviations.T)
        for term in self.problem.terms:
            deviation[:, term.rows] *= not term.budget.perfect
        return deviation

    def shrink(self) -> Array:
        """That of the labels, the Bayes rule, as much smaller as each budget asks."""
        problem = self.problem
        deviation = np.asarray(self.certain @ problem.deviations.T)
        for term, leakage in zip(problem.terms, problem.bayes_leakages.tolist(), strict=True):
            if leakage > term.budget.amount:
                deviation[:, term.rows] *= math.sqrt(term.budget.amount / leakage)
        return deviation

    def announce(self, tilt: Array, multiplier: float) -> Array:
        """That of duals, for mutual information.

        It is in proportion to s_i π_j (r_ij − 1), with the masses of the labels and r_ij in
        proportion to e^{t_ij/μ} so that Σ_i s_i r_ij is one, and leaks about the budget; 0 at
        budget 0.
        """
        problem = self.problem
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
        return announced * math.sqrt(problem.budget / max(leaks, Precision.nonzero))

    # -- ties
    # ----------------------------------------------------------------------------------------------

    def enter(self, deviation: Array) -> None:
        """Make as many ties as a law has equations, the first so that they come near that
        deviation [m, n].

        A tie enters as the tilt moves towards what others cannot make up, by which their losses
        stay equal. After a few, those of the least margins are ties, too.
        """
        problem = self.problem
        count = min(problem.N, (problem.m - 1) * (problem.n - len(problem.groups)))
        reached = self.certain @ problem.deviations.T
        for _ in range(min(count, _PIVOTS)):
            if self.ties:
                near = (vertex := self.vertex()).near(deviation)
                reached = deviation if near is None else vertex.deviation(near)
            missing = deviation - reached
            self._enter(-missing / problem.p_x, float((missing * missing / problem.p_x).sum()))
        if count > len(self.ties):
            self._least(count)

    def _least(self, count: int) -> None:
        """As many outcomes of the least margins are ties."""
        gap = self._losses - self._losses.min(axis=0)
        gap[self.certain == 1.0] = math.inf
        nearest = first_least(gap)
        margin = gap.min(axis=0) / self.problem.p_z
        for tie in margin.argpartition(count - 1)[:count].tolist():
            self._tie(tie, nearest[tie])

    def vertex(self) -> Vertex:
        """The equations for what the ties get, in the order of outcomes."""
        ties = sorted(self.ties)
        columns = np.array([self.ties[outcome] for outcome in ties]).T
        where = np.array(ties), self.labels[ties], columns / columns.sum(axis=0)
        return Vertex(self.problem, self.certain, *where)

    def relabel(self, losses: Array, at: Point, precision: Precision) -> bool:
        """Change what contradicts losses [m, N] beyond rounding; whether there is any.

        A tie may get the better guess besides.
        """
        problem = self.problem
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
            if outcome in self.ties:
                self._tie(outcome, better[outcome])
            else:
                self._label(outcome, better[outcome])
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
        return (self.problem.m - 1) * (self.problem.n - self._exact)

    @property
    def _equations(self) -> int:
        """How many shares an optimum has at least: one for each budget that can bind, and for each
        of an exact secret.
        """
        problem = self.problem
        exact = sum(
            sum(term.sizes) - len(term.groups) for term in problem.terms if term.budget.perfect
        )
        return (problem.m - 1) * exact + sum(not term.budget.perfect for term in problem.terms)

    def _enter(self, direction: Array, missing: float) -> None:
        """As the tilt moves in a direction [m, n], labels change; where the law has moved by what
        is missing is a tie.
        """
        change = direction @ self.problem.deviations
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
            self._losses = self._losses + change
            self._tie(int(order[passed]), nearest[passed])

    def _label(self, outcomes: Any, guesses: Any) -> None:
        self.labels[outcomes] = guesses
        self.certain[:, outcomes] = 0.0
        self.certain[guesses, outcomes] = 1.0

    def _tie(self, outcome: int, guess: int) -> None:
        """An outcome may get a guess besides its label, or besides those that it may
        get already.
        """
        self.ties.setdefault(outcome, 0.5 * (np.arange(self.problem.m) == self.labels[outcome]))[
            guess
        ] = 0.5
