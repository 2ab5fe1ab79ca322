"""Large problems through small ones: aggregate, solve, certify, shrink.

Only outcomes near a decision boundary matter individually. Each round has a pass over the outcomes
under the best tilt so far: those with the smallest margins are retained, all others are summed into
cells (`passes`). The small problem of both is solved by sifting if it is linear, else by the
interior point and the crossover. Treating the members of a cell alike is a restriction, so its
optimum is feasible for the whole problem and an upper bound; its tilt, made feasible, gives a lower
bound by the next pass. Where the tilt has moved by less than the margins of all that is in cells,
none of their decisions can have changed, and the small problem knows the lower bound without a
pass. When the two bounds meet, the restriction was no restriction.

The first tilt comes from the caller, who knows other budgets (a continuation), or from a weighted
sample of the outcomes. The sample is weighted so that it adds up to what all outcomes do, but it
errs about each of them. So the pass under its tilt also *draws* outcomes, fewer the larger their
margins. The problem of the draws has what the labels of all others add up to: it estimates only how
labels change. Its tilt is nearer by an order of magnitude, and the next pass draws again until
margins of that size are retained. Tilts of aggregates are no such help where the tilt has many
entries: the members of a cell differ in directions that its margin does not show. Where a round
does not shrink the bracket to a third, the next one retains eight times as many: at the latest when
all are retained, the small problem is the whole one (unless that would be more than memory should
hold: then it ends "stalled"). Where the bounds meet and there is no vertex yet, which is a shorter
rule, the last pass is searched for one, unless more outcomes tie than are retained.

Source: discreet, docs/theory.md, section 18 (aggregation is a restriction; screening by margins).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.backends.precision import Precision
from discreet.backends.repairs import within_budget
from discreet.backends.slack import SLACK, bayes_answer
from discreet.backends.tilt.crossover import crossover
from discreet.backends.tilt.interior_point import solve_interior
from discreet.backends.tilt.model import Ending, Point, model_of
from discreet.backends.tilt.passes import (
    SCREENED,
    SHELLS,
    Pass,
    Scan,
    scan,
    shell_top,
    wanted_margin,
)
from discreet.backends.tilt.program import is_linear, keeps_budgets, solve_by_sifting
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import one_hot
from discreet.numerics.tilted_losses import least_two
from discreet.problems.blocks import BlockProblem
from discreet.problems.constraint import LeakageBudget
from discreet.problems.duals import feasible_for, no_multipliers
from discreet.problems.outcomes import Blocks, is_stored
from discreet.problems.problem import Problem
from discreet.problems.streams.sample import sample, strip_for

MOST_RETAINED = 1 << 18
"""Outcomes held one by one at most, so that memory does not grow with N; problems of up to so many
end solved whole.
"""
ROUNDS_FROM = 16
"""From so many times the outcomes that a round retains on, rounds and screening pay:
benchmarks/ablation.py.
"""
_ROUNDS = 40
# Share of the outcomes of which a sample tells the largest margin: at least 50 of those drawn.
_SAMPLED = 0.02
# a round must shrink the bracket by this factor, or the next one retains more:
# benchmarks/ablation.py
_PROGRESS = 0.3
_MORE = 8  # times as many
_DRAWN_FROM = 1 << 15  # outcomes on, passes draw: of fewer, all that matter are retained as soon
_DRAWN = 2  # at most twice as many outcomes are drawn as are retained
_DRAWS = 4  # times that a tilt is found from draws at most
_NEARER = 10.0  # by so many times such a tilt is nearer than the one before


@dataclass(frozen=True)
class Limits:
    """What bounds the work, and who is told of it.

    iterations  of each interior point
    deadline    on time.perf_counter's clock
    threads     for passes over the outcomes (0 = all cores)
    compiled    whether these passes are (None: where that pays)
    report      called after every round with (what was done, lower bound, upper bound)
    """

    iterations: int = 100
    deadline: float = math.inf
    threads: int = 0
    compiled: bool | None = None
    report: Callable[[str, float, float], None] | None = None

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() > self.deadline


@dataclass(frozen=True, eq=False)
class Proof:
    """A pass under a feasible tilt with so many outcomes to retain, its multipliers [C], and the
    lower bound that they prove.
    """

    scan: Scan
    multipliers: Array
    wanted: int
    bound: float


@dataclass(frozen=True, eq=False)
class Found:
    """What a round found.

    point   columns on the retained outcomes and cells of `source`, within the budget; feasible
            duals
    vertex  whether the point's tilt decides all outcomes but some retained ones
    source  the pass under which outcomes were put together
    upper   error probability that the columns reach
    lower   bound that the duals prove; −inf where only another pass can tell
    """

    point: Point
    vertex: bool
    source: Proof
    upper: float
    lower: float


@dataclass(frozen=True, eq=False)
class Ended:
    """The best of all rounds, the last pass, and how they ended."""

    found: Found
    proof: Proof
    ending: Ending
    passes: int

    @property
    def duals(self) -> tuple[Array, Array]:
        """The feasible tilt and multipliers with the best lower bound."""
        if self.found.lower >= self.proof.bound:
            return self.found.point.tilt, self.found.point.multipliers
        return self.proof.scan.tilt, self.proof.multipliers


def first_retained(n: int, m: int) -> int:
    """How many outcomes the first round retains at least: 100 for each entry of the tilt, ≥ 500."""
    return max(500, 100 * n * m)


def saving_passes(blocks: Blocks) -> int:
    """How many outcomes to retain at least where a pass costs more than they do, most where it
    makes the outcomes.
    """
    return min(2000, blocks.N // 10_000) * (1 if is_stored(blocks) else 4)


def solve_whole(
    problem: Problem, precision: Precision, gap: float, limits: Limits, near: Array | None = None
) -> tuple[Point, Ending]:
    """The optimum of the small problem: by sifting if it is linear, else, or where rounding stops
    sifting, by the interior point with its crossover.

    near: a tilt that tells sifting where to begin. The Bayes rule must not keep the budget.
    """
    found: tuple[Point, Ending] | None = None
    if is_linear(problem):
        start = np.zeros((problem.m, problem.n)) if near is None else near
        found = solve_by_sifting(
            problem, start, precision, gap=gap, far=True, deadline=limits.deadline
        )
    if found is not None and (found[1].optimal or limits.late):
        return found
    point, ending = solve_interior(
        model_of(problem, precision),
        gap=gap,
        max_iterations=limits.iterations,
        deadline=limits.deadline,
        shortcut=lambda at: crossover(
            problem, at.tilt, at.multipliers, precision, at.columns, gap, limits.deadline
        ),
    )
    if found is None or (ending.optimal and keeps_budgets(problem, point.columns)):
        return point, ending
    return found


def solve_in_rounds(
    problem: BlockProblem,
    precision: Precision,
    limits: Limits,
    start: tuple[Array, Array] | None = None,
) -> Ended:
    """Solve a problem in blocks; every outcome of positive mass counts.

    start: duals that may be nearly optimal. The best so far is returned when time is up, and at an
    interrupt from the keyboard once there is any.
    """
    return _Rounds(problem, precision, limits).run(start)


class _Rounds:
    """The rounds of one problem.

    retained    how many outcomes the next pass retains
    best        of all rounds so far; None before the first
    """

    def __init__(self, problem: BlockProblem, precision: Precision, limits: Limits) -> None:
        self._problem = problem
        self._precision = precision
        self._limits = limits
        first = min(first_retained(problem.n, problem.m), max(500, problem.N // ROUNDS_FROM))
        self._retained = max(first, saving_passes(problem.blocks))
        self._iterations = self._passes = 0
        self._best: Found | None = None

    def run(self, start: tuple[Array, Array] | None) -> Ended:
        """Rounds until the bounds meet, or nothing more is won."""
        if start is None:
            labels, cells = self._labelled()
            if bayes_answer(cells, self._precision):
                return self._slack(labels, cells)
            proof = self._sampled(labels, cells)
        else:
            proof = self._prove(*start, math.inf)
        try:
            proof = self._nearer(proof)
        except KeyboardInterrupt:
            return self._end(self._iterate(proof), proof, "interrupted")
        width = math.inf
        reason = ""
        for count in range(1, _ROUNDS + 1):
            last = width
            try:
                proof, width, reason = self._round(proof, last)
                self._report(f"round {count}", proof)
            except KeyboardInterrupt:
                if self._best is None:
                    raise
                reason = "interrupted"
            if reason:
                break
        assert self._best is not None
        return self._end(self._best, proof, reason or "round limit")

    def _report(self, what: str, proof: Proof) -> None:
        if self._limits.report is not None and self._best is not None:
            lower = max(self._best.lower, proof.bound)
            self._limits.report(what, lower, self._best.upper)

    def _round(self, proof: Proof, last: float) -> tuple[Proof, float, str]:
        """One round: the next pass, the width of the bracket, and why the rounds end, if they do.

        last: the width before.
        """
        solved = self._cross(proof) or self._iterate(proof)
        if self._best is None or self._better(solved, self._best):
            self._best = solved
        best = self._best
        # Of so many ties there is no short rule.
        decided = solved.vertex or solved.source.scan.ties > self._retained
        met = solved is best and _width(best, proof) <= self._precision.bracket
        if not (met and decided):
            proof = self._improve(proof, solved)
        width = _width(best, proof)
        reason = self._ending(width, solved)
        if reason == "optimal" and not (best.vertex or decided) and proof.scan.retained.size:
            self._best = self._vertex(proof, best)
        if reason or width <= _PROGRESS * last:
            return proof, width, reason
        if solved.source.wanted >= MOST_RETAINED:
            return proof, width, "stalled"
        self._retained = max(self._retained, min(_MORE * solved.source.wanted, MOST_RETAINED))
        # Else the next round would be this one again.
        return (self._again(proof) if proof is solved.source else proof), width, ""

    def _vertex(self, proof: Proof, best: Found) -> Found:
        """Where the bounds have met: the vertex of the last pass, which is a shorter rule, if it is
        as good.

        If the best point is no vertex of its own small problem, as too many columns are drawn,
        iterating again finds none.
        """
        drawn = np.count_nonzero(best.point.columns.max(axis=0) < 1.0)
        solved = self._cross(proof) or (
            self._iterate(proof) if drawn <= best.point.tilt.size else best
        )
        narrow = _width(solved, proof) <= self._precision.bracket
        return solved if solved.vertex and narrow and self._better(solved, best) else best

    # -- how good
    # ----------------------------------------------------------------------------------------------

    def _better(self, one: Found, other: Found) -> bool:
        """A lower error; or a vertex, which is a rule, within the gap."""
        if one.vertex and not other.vertex:
            return one.upper <= other.upper * (1.0 + self._precision.bracket)
        return one.upper < other.upper

    def _ending(self, width: float, solved: Found) -> str:
        if width <= self._precision.bracket:
            return "optimal"
        if self._limits.late:
            return "time limit"
        # Without cells the small problem was the whole one.
        return "" if solved.source.scan.counts.size else "stalled"

    def _end(self, best: Found, proof: Proof, reason: str) -> Ended:
        return Ended(
            best, proof, Ending(reason, self._iterations, _width(best, proof)), self._passes
        )

    # -- the first tilt
    # ----------------------------------------------------------------------------------------------

    def _labelled(self) -> tuple[Scan, Problem]:
        """The pass under no tilt, and its cells: these hold outcomes of one label each, so they
        know the law of the Bayes rule.
        """
        problem = self._problem
        strip = strip_for(problem.N)
        nothing = np.zeros((problem.m, problem.n))
        labels = self._scan(Pass(nothing, screen=0.0, strip=strip))
        return labels, _small(problem, labels.columns)

    def _slack(self, labels: Scan, cells: Problem) -> Ended:
        """The Bayes rule, where it keeps the budget."""
        proof = Proof(labels, np.zeros(len(cells.terms)), 0, labels.total)
        found = Found(Point.bayes(cells), True, proof, labels.total, labels.total)
        return self._end(found, proof, SLACK)

    def _sampled(self, labels: Scan, cells: Problem) -> Proof:
        """The pass under the tilt of a sample, up to a margin that the sample tells."""
        problem = self._problem
        count = max(self._retained, min(5 * self._retained, problem.N // 8))
        strip = strip_for(problem.N)
        threads = self._limits.threads
        columns, counts = sample(problem.blocks, labels.weights, strip, count, threads=threads)
        self._passes += 1
        columns = _calibrate_sample(columns, labels.columns.sum(axis=1), problem.n)
        tilt, multipliers = self._duals_of_sample(columns, cells)
        wanted = 2.0 * self._retained
        least = _SAMPLED * problem.N
        edge = wanted_margin(columns, counts, tilt, max(wanted, least)) * min(1.0, wanted / least)
        ties = float(shell_top(-1))  # where so many tie, draws would be of them alone
        draws = problem.N >= _DRAWN_FROM and edge > ties
        return self._prove(tilt, multipliers, max(edge, ties), draws=draws)

    def _duals_of_sample(self, columns: Array, cells: Problem) -> tuple[Array, Array]:
        """The duals of a sample; none where it lacks private values or leaks nothing."""
        problem = self._problem
        shares = _sample_shares(problem, columns, cells)
        small = _small(problem, columns, shares)
        if ((small.p_x > 0.0) != (problem.p_x > 0.0)).any() or not all(shares):
            return np.zeros((problem.m, problem.n)), np.zeros(len(problem.terms))
        point, ending = solve_whole(small, self._precision, self._precision.sampled, self._limits)
        self._iterations += ending.iterations
        return point.tilt, point.multipliers

    def _nearer(self, proof: Proof) -> Proof:
        """The pass under the tilt of draws, again until those that may decide otherwise can be
        retained.
        """
        farthest = math.inf
        for _ in range(_DRAWS):
            small = None if self._limits.late else self._representative(proof.scan, farthest)
            if small is None:
                break
            point, ending = solve_whole(
                small, self._precision, self._precision.drawn, self._limits, proof.scan.tilt
            )
            self._iterations += ending.iterations
            tilt, multipliers = self._feasible(point.tilt, point.multipliers)
            moved = _distance(tilt, proof.scan.tilt)
            if moved < proof.scan.threshold:
                break
            again = moved > _NEARER * proof.scan.threshold
            better = self._prove(tilt, multipliers, self._expected(proof.scan, tilt), draws=again)
            if better.bound <= proof.bound:
                break
            proof = better
            farthest = moved
        return proof

    def _representative(self, passed: Scan, farthest: float) -> Problem | None:
        """Drawn outcomes up to a margin, each for as many as it stands for, and what is left of all
        by label.

        So what the labels of the pass say of all outcomes is kept, and only changes of labels are
        estimated. Draws stand for less where they exceed what their label holds. None without
        draws.
        """
        m = self._problem.m
        n = self._problem.n
        most = min(_DRAWN * self._retained, max(self._retained, self._problem.N // ROUNDS_FROM))
        drawn = passed.drawn[:, passed.drawn[-2] <= farthest]
        if not (drawn.shape[1] and passed.counts.size):
            return None
        edge = (
            float(np.partition(drawn[-1], most - 1)[most - 1])
            if drawn.shape[1] > most
            else passed.threshold
        )
        drawn = drawn[:, drawn[-1] <= edge]
        columns = drawn[:-2] * np.maximum(1.0, drawn[-2] / edge)
        labels = np.concatenate(
            [
                passed.labels_of(passed.columns[:, : passed.retained.size]),
                passed.keys // (SHELLS * m),
            ]
        )
        left = passed.columns @ one_hot(labels, m).T
        drawn = one_hot(passed.labels_of(columns), m)
        sums = columns @ drawn.T
        share = np.divide(left, sums, out=np.ones_like(left), where=sums > left).min(axis=0)
        columns = np.concatenate(
            [columns * (share @ drawn), np.maximum(left - share * sums, 0.0)], axis=1
        )
        return _small(self._problem, columns[:, columns[:n].any(axis=0)])

    # -- passes
    # ----------------------------------------------------------------------------------------------

    def _scan(self, wanted: Pass) -> Scan:
        self._passes += 1
        limits = self._limits
        blocks = self._problem.blocks
        return scan(blocks, wanted, threads=limits.threads, compiled=limits.compiled)

    def _prove(
        self,
        tilt: Array,
        multipliers: Array,
        threshold: float,
        screens: bool = True,
        draws: bool = False,
    ) -> Proof:
        """Make duals feasible and pass over the outcomes, of which those far from a boundary may be
        screened.
        """
        problem = self._problem
        tilt, multipliers = self._feasible(tilt, multipliers)
        if self._retained >= problem.N:
            threshold = math.inf
        screens = screens and problem.N >= ROUNDS_FROM * self._retained and threshold > 0.0
        # Ties are never screened, as a rule may draw them.
        least = max(threshold, float(shell_top(-1)))
        wanted = Pass(
            tilt,
            retain=threshold,
            most=self._retained,
            screen=SCREENED * least if screens else math.inf,
            draws=draws and 0.0 < threshold < math.inf,
        )
        found = self._scan(wanted)
        return Proof(found, multipliers, self._retained, found.total - self._price(multipliers))

    def _price(self, multipliers: Array) -> float:
        paid = zip(self._problem.terms, multipliers.tolist(), strict=True)
        return sum((float(price * term.level) for term, price in paid if term.priced), 0.0)

    def _feasible(self, tilt: Array, multipliers: Array) -> tuple[Array, Array]:
        terms = self._problem.terms
        feasible = feasible_for(tilt, multipliers, self._problem.p_x, terms)
        return feasible or (np.zeros_like(tilt), no_multipliers(terms))

    def _expected(self, found: Scan, tilt: Array) -> float:
        """The margin up to which about twice as many outcomes lie as are to be retained; too many
        cost nothing.
        """
        counts = np.concatenate([np.ones(found.retained.size), found.counts])
        shells = found.keys % SHELLS
        reach = np.concatenate(
            [np.zeros(found.retained.size), shell_top(shells) - shell_top(shells - 1)]
        )
        return wanted_margin(found.columns, counts, tilt, 2.0 * self._retained, reach)

    # -- one round
    # ----------------------------------------------------------------------------------------------

    def _small(self, proof: Proof) -> Problem:
        """Retained outcomes and cells; with cells, the budget leaves room for what rounding their
        sums may leak.
        """
        share = 1.0 - self._precision.vertex if proof.scan.counts.size else 1.0
        return _small(self._problem, proof.scan.columns, [share] * len(self._problem.terms))

    def _cross(self, proof: Proof) -> Found | None:
        """The vertex of the small problem next to the duals at hand, without an iteration.

        But for linear programs duals do not lead there where more outcomes tie than are retained.
        """
        small = self._small(proof)
        leads = proof.multipliers.max() > 0.0 and proof.scan.ties <= self._retained
        if not small.p_x.all() or not (is_linear(small) or leads):
            return None
        gap = self._precision.bracket
        deadline = self._limits.deadline
        vertex = crossover(
            small, proof.scan.tilt, proof.multipliers, self._precision, gap=gap, deadline=deadline
        )
        return None if vertex is None else self._found(small, proof, vertex)

    def _iterate(self, proof: Proof) -> Found:
        """The small problem solved whole, and its vertex."""
        small = self._small(proof)
        point, ending = solve_whole(small, self._precision, self._precision.small, self._limits)
        self._iterations += ending.iterations
        return self._found(small, proof, point)

    def _found(self, small: Problem, proof: Proof, point: Point) -> Found:
        """The point within the budget, with its bracket."""
        point = replace(point, columns=within_budget(small, point.columns))
        tilt, multipliers = self._feasible(point.tilt, point.multipliers)
        upper = small.error_probability(point.columns)
        lower = self._carry_bound(small, proof, tilt, multipliers)
        vertex = lower > -math.inf and _decides(small, proof.scan.retained.size, point)
        point = replace(point, tilt=tilt, multipliers=multipliers)
        return Found(point, vertex, proof, upper, lower)

    def _carry_bound(self, small: Problem, proof: Proof, tilt: Array, multipliers: Array) -> float:
        """The bound that new duals prove, if no outcome in a cell can have changed its decision;
        else −inf.

        Each pair of an outcome's tilted losses moves apart by at most its mass times the largest
        change of t_ij − t_kj.
        """
        if proof.scan.counts.size and not _distance(tilt, proof.scan.tilt) < proof.scan.threshold:
            return -math.inf
        return float((small.loss + tilt @ small.p_xz).min(axis=0).sum()) - self._price(multipliers)

    def _improve(self, proof: Proof, solved: Found) -> Proof:
        """The proof of the new duals, or the one at hand where that is no worse."""
        if -math.inf < solved.lower <= proof.bound:  # known without a pass
            return proof
        screened = proof.scan.retained.size + np.flatnonzero(proof.scan.screened)
        if (solved.point.columns[:, screened].max(axis=0) < 1.0 - self._precision.certain).any():
            return self._again(proof)
        better = self._prove(
            solved.point.tilt,
            solved.point.multipliers,
            self._expected(proof.scan, solved.point.tilt),
        )
        return better if better.bound > proof.bound else proof

    def _again(self, proof: Proof) -> Proof:
        """The same duals, with none screened and as many outcomes retained as are wanted by now."""
        return self._prove(
            proof.scan.tilt,
            proof.multipliers,
            self._expected(proof.scan, proof.scan.tilt),
            screens=False,
        )


def _small(problem: BlockProblem, columns: Array, shares: Sequence[float] | None = None) -> Problem:
    """The problem of columns (p_xz, loss) with those shares of its budgets."""
    terms = problem.terms
    n = problem.n
    if shares is not None:
        amounts = [term.budget.amount * share for term, share in zip(terms, shares, strict=True)]
        terms = tuple(
            replace(term, budget=LeakageBudget(amount, term.measure))
            for term, amount in zip(terms, amounts, strict=True)
        )
    return Problem.of_rows(columns[:n], columns[n:], terms)


def _sample_shares(problem: BlockProblem, columns: Array, cells: Problem) -> list[float]:
    """Of each budget, for a sample: where its Bayes rule keeps the budget, what that leaks over
    what all outcomes do.
    """
    shares = []
    leakages = _small(problem, columns).bayes_leakages
    for term, leaks, whole in zip(problem.terms, leakages, cells.bayes_leakages, strict=True):
        within = term.priced and leaks <= term.budget.amount and whole > 0.0
        shares.append(leaks / whole if within else 1.0)
    return shares


def _calibrate_sample(drawn: Array, sums: Array, n: int) -> Array:
    """Columns (p_xz, loss) [n + m, K] of a sample, weighted so that they add up to what all
    outcomes do [n + m].

    Weights are linear in what is calibrated, the generalised regression estimator of J.-C. Deville
    and C.-E. Särndal, J. Am. Stat. Assoc. 87 (1992). Where a weight would change by more than half
    the sample is only scaled.
    """
    total = sums[:n].sum()
    drawn = drawn * (total / drawn[:n].sum())
    each = drawn / drawn[:n].sum(axis=0)
    weights = 1.0 + np.linalg.lstsq(drawn @ each.T, sums - drawn.sum(axis=1), rcond=1e-10)[0] @ each
    if np.abs(weights - 1.0).max() > 0.5:
        return np.asarray(drawn)
    drawn *= weights
    return np.asarray(drawn * (total / drawn[:n].sum()))  # of which a rare row may lack some


def _distance(tilt: Array, other: Array) -> float:
    """The margin up to which the best guess of an outcome may differ under two tilts."""
    return float(np.ptp(tilt - other, axis=0).max())


def _width(found: Found, proof: Proof) -> float:
    """The width of the bracket, relative to its upper end."""
    return (found.upper - max(found.lower, proof.bound)) / found.upper if found.upper > 0.0 else 0.0


def _decides(small: Problem, retained: int, point: Point) -> bool:
    """Whether the tilt decides all cells, by more than their members may be apart, and all but a
    few retained outcomes.
    """
    drawn = np.flatnonzero(point.columns.max(axis=0) < 1.0)
    cells = small.loss[:, retained:] + point.tilt @ small.p_xz[:, retained:]
    best, least, _, runner = least_two(cells)
    apart = runner - least > shell_top(-1) * small.p_z[retained:]
    follow = point.columns[best, retained + np.arange(best.size)] == 1.0
    return bool(
        drawn.size <= small.n * small.m and (drawn < retained).all() and (apart & follow).all()
    )
