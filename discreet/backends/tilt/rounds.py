"""Solve large problems through small ones: aggregate, solve, certify, shrink.

Only outcomes near a decision boundary matter individually. Each round passes over the outcomes
under the best tilt so far: the outcomes with the smallest margins are retained, all others are
summed into cells (`passes`). The small problem of both is solved by sifting if it is linear,
otherwise by the interior point and the crossover. One column for all members of a cell is a
restriction, so its optimum is feasible for the whole problem and gives an upper bound; its tilt,
made feasible, gives a lower bound in the next pass. If the tilt moved by less than the margins of
all outcomes in cells, none of their decisions can have changed, and the small problem determines
the lower bound without a pass. When the two bounds meet, the restriction did not cost anything.

The first tilt comes from the caller, who has solved other budgets (a continuation), or from a
weighted sample of the outcomes. The weights make the sample's sums equal to those of all outcomes,
but single outcomes are still estimates. So the pass under its tilt also *draws* outcomes, fewer at
larger margins. The problem of the draws keeps the sums of all other outcomes by label, and
estimates only how labels change. Its tilt is more accurate by an order of magnitude, and the next
pass draws again until margins of that size are retained. Tilts of aggregates do not help in this
way if the tilt has many entries, because the members of a cell differ in directions that its margin
does not show.

If a round does not shrink the bracket to a third, the next one retains eight times as many
outcomes. Once all are retained, the small problem is the whole one (if they do not fit into memory,
the rounds end "stalled"). If the bounds meet without a vertex, which would be a shorter rule, the
last pass is searched for one, unless more outcomes tie than are retained.

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
from discreet.problems.duals import feasible_for
from discreet.problems.outcomes import Blocks, is_stored
from discreet.problems.problem import Problem
from discreet.problems.streams.sample import sample, strip_for

MOST_RETAINED = 1 << 18
"""Largest number of outcomes held individually, so that memory does not grow with N. Problems of up
to this size end solved whole.
"""
ROUNDS_FROM = 16
"""Rounds and screening pay from this multiple of the outcomes that a round retains:
benchmarks/ablation.py.
"""
_ROUNDS = 40
# Share of the outcomes whose largest margin a sample estimates: at least 50 of those drawn.
_SAMPLED = 0.02
# If a round does not shrink the bracket by this factor, the next one retains more:
# benchmarks/ablation.py.
_PROGRESS = 0.3
_MORE = 8  # factor by which the next round retains more
# passes draw from this number of outcomes on; with fewer, all that matter are retained as soon
_DRAWN_FROM = 1 << 15
_DRAWN = 2  # draw at most twice as many outcomes as are retained
_DRAWS = 4  # most times that a tilt is found from draws
_NEARER = 10.0  # factor by which the tilt of draws is more accurate than the one before


@dataclass(frozen=True)
class WorkLimits:
    """Bounds on the work, and the callback for progress.

    iterations  of each interior point
    deadline    on time.perf_counter's clock
    threads     for passes over the outcomes (0 = all cores)
    compiled    whether these passes are compiled (None: when that pays)
    report      called after every round with (step, lower bound, upper bound)
    """

    iterations: int = 100
    deadline: float = math.inf
    threads: int = 0
    compiled: bool | None = None
    report: Callable[[str, float, float], None] | None = None

    @property
    def late(self) -> bool:
        """True once the deadline has passed."""
        return time.perf_counter() > self.deadline


@dataclass(frozen=True, eq=False)
class Proof:
    """A pass under a feasible tilt, its multipliers [C], the number of outcomes to retain, and the
    proven lower bound.
    """

    scan: Scan
    multipliers: Array
    wanted: int
    bound: float


@dataclass(frozen=True, eq=False)
class RoundResult:
    """The result of a round.

    point   columns on the retained outcomes and cells of `source`, within the budget; feasible
            duals
    vertex  whether the point's tilt decides all outcomes except a few retained ones
    source  the pass in which outcomes were aggregated
    upper   error probability of the columns
    lower   bound that the duals prove; −inf if only another pass can prove one
    """

    point: Point
    vertex: bool
    source: Proof
    upper: float
    lower: float


@dataclass(frozen=True, eq=False)
class Ended:
    """The best result of all rounds, the last pass, and how the rounds ended."""

    result: RoundResult
    proof: Proof
    ending: Ending
    passes: int

    @property
    def duals(self) -> tuple[Array, Array]:
        """The feasible tilt and multipliers with the best lower bound."""
        if self.result.lower >= self.proof.bound:
            return self.result.point.tilt, self.result.point.multipliers
        return self.proof.scan.tilt, self.proof.multipliers


def first_retained(n: int, m: int) -> int:
    """Return the smallest number of outcomes that the first round retains: 100 for each entry of
    the tilt, at least 500.
    """
    return max(500, 100 * n * m)


def saving_passes(blocks: Blocks) -> int:
    """Return the smallest number of outcomes worth retaining to save a pass; a pass costs more if
    it has to generate the outcomes.
    """
    return min(2000, blocks.N // 10_000) * (1 if is_stored(blocks) else 4)


def solve_whole(
    problem: Problem,
    precision: Precision,
    gap: float,
    limits: WorkLimits,
    first_tilt: Array | None = None,
) -> tuple[Point, Ending]:
    """Return the optimum of a small problem: by sifting if it is linear, otherwise by the interior
    point with its crossover; by the other method if rounding stops the first.

    Perfect privacy with many equations is linear too, but the interior point takes less time.
    first_tilt: a tilt from which sifting starts. The Bayes rule must exceed the budget.
    """
    start = np.zeros((problem.m, problem.n)) if first_tilt is None else first_tilt

    def sift() -> tuple[Point, Ending] | None:
        return solve_by_sifting(
            problem, start, precision, gap=gap, far=True, deadline=limits.deadline
        )

    def iterate() -> tuple[Point, Ending]:
        return solve_interior(
            model_of(problem, precision),
            gap=gap,
            max_iterations=limits.iterations,
            deadline=limits.deadline,
            shortcut=lambda at: crossover(
                problem, at.tilt, at.multipliers, precision, at.columns, gap, limits.deadline
            ),
        )

    methods: list[Callable[[], tuple[Point, Ending] | None]] = [iterate]
    if is_linear(problem):
        methods = [sift, iterate]
    elif problem.perfect:
        methods = [iterate, sift]
    stopped: list[tuple[Point, Ending]] = []
    for method in methods:
        result = method()
        if result is None:
            continue
        point, ending = result
        if ending.optimal and (not stopped or keeps_budgets(problem, point.columns)):
            return result
        stopped.append(result)
        if limits.late:
            break
    return stopped[0]


def solve_in_rounds(
    problem: BlockProblem,
    precision: Precision,
    limits: WorkLimits,
    start: tuple[Array, Array] | None = None,
) -> Ended:
    """Solve a problem in blocks, taking every outcome of positive mass into account.

    start: duals that may be nearly optimal. When the time is up, or at an interrupt from the
    keyboard after the first round, the best result so far is returned.
    """
    return _Rounds(problem, precision, limits).run(start)


class _Rounds:
    """The rounds of one problem.

    retained    number of outcomes that the next pass retains
    best        best result so far; None before the first
    """

    def __init__(self, problem: BlockProblem, precision: Precision, limits: WorkLimits) -> None:
        self._problem = problem
        self._precision = precision
        self._limits = limits
        first = min(first_retained(problem.n, problem.m), max(500, problem.N // ROUNDS_FROM))
        self._retained = max(first, saving_passes(problem.blocks))
        self._iterations = self._passes = 0
        self._best: RoundResult | None = None

    def run(self, start: tuple[Array, Array] | None) -> Ended:
        """Run rounds until the bounds meet, or there is no more progress."""
        if start is None:
            labels, cells = self._scan_labels()
            if bayes_answer(cells, self._precision):
                return self._slack(labels, cells)
            proof = self._prove_by_sample(labels, cells)
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
        """Run one round. Return the next pass, the width of the bracket, and why the rounds end (""
        if they go on).

        last: the width before the round.
        """
        solved = self._cross(proof) or self._iterate(proof)
        if self._best is None or self._better(solved, self._best):
            self._best = solved
        best = self._best
        # With more ties than this there is no short rule.
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
        # Otherwise the next round would repeat this one.
        return (self._again(proof) if proof is solved.source else proof), width, ""

    def _vertex(self, proof: Proof, best: RoundResult) -> RoundResult:
        """Return the vertex of the last pass, a shorter rule, if it is as good as the best result,
        whose bounds have met.

        If the best point is not a vertex of its own small problem because too many columns
        randomise, iterating again does not find one.
        """
        drawn = np.count_nonzero(best.point.columns.max(axis=0) < 1.0)
        solved = self._cross(proof) or (
            self._iterate(proof) if drawn <= best.point.tilt.size else best
        )
        narrow = _width(solved, proof) <= self._precision.bracket
        return solved if solved.vertex and narrow and self._better(solved, best) else best

    # -- how good
    # ----------------------------------------------------------------------------------------------

    def _better(self, one: RoundResult, other: RoundResult) -> bool:
        """Return True if the first has a lower error, or is a vertex (a short rule) with an error
        within the gap.
        """
        if one.vertex and not other.vertex:
            return one.upper <= other.upper * (1.0 + self._precision.bracket)
        return one.upper < other.upper

    def _ending(self, width: float, solved: RoundResult) -> str:
        if width <= self._precision.bracket:
            return "optimal"
        if self._limits.late:
            return "time limit"
        # Without cells the small problem was the whole one.
        return "" if solved.source.scan.counts.size else "stalled"

    def _end(self, best: RoundResult, proof: Proof, reason: str) -> Ended:
        return Ended(
            best, proof, Ending(reason, self._iterations, _width(best, proof)), self._passes
        )

    # -- the first tilt
    # ----------------------------------------------------------------------------------------------

    def _scan_labels(self) -> tuple[Scan, Problem]:
        """Return the pass under a tilt of 0, and the problem of its cells. Each cell contains
        outcomes of one label, so the cells determine the law of the Bayes rule.
        """
        problem = self._problem
        strip = strip_for(problem.N)
        nothing = np.zeros((problem.m, problem.n))
        labels = self._scan(Pass(nothing, screen=0.0, strip=strip))
        return labels, _small(problem, labels.columns)

    def _slack(self, labels: Scan, cells: Problem) -> Ended:
        """Return the Bayes rule, which keeps the budget."""
        proof = Proof(labels, np.zeros(len(cells.terms)), 0, labels.total)
        bayes = RoundResult(Point.bayes(cells), True, proof, labels.total, labels.total)
        return self._end(bayes, proof, SLACK)

    def _prove_by_sample(self, labels: Scan, cells: Problem) -> Proof:
        """Return the pass under the tilt of a sample, up to a margin that the sample estimates."""
        problem = self._problem
        count = max(self._retained, min(5 * self._retained, problem.N // 8))
        strip = strip_for(problem.N)
        threads = self._limits.threads
        columns, counts = sample(problem.blocks, labels.weights, strip, count, threads=threads)
        self._passes += 1
        columns = _calibrate_sample(columns, labels.columns.sum(axis=1), problem.n)
        tilt, multipliers = self._duals_of_sample(columns, cells)
        target = 2.0 * self._retained
        reliable = _SAMPLED * problem.N
        edge = wanted_margin(columns, counts, tilt, max(target, reliable)) * min(
            1.0, target / reliable
        )
        ties = float(shell_top(-1))  # if this many tie, draws would consist of ties only
        draws = problem.N >= _DRAWN_FROM and edge > ties
        return self._prove(tilt, multipliers, max(edge, ties), draws=draws)

    def _duals_of_sample(self, columns: Array, cells: Problem) -> tuple[Array, Array]:
        """Return the duals of a sample; 0 if it lacks private values or leaks nothing."""
        problem = self._problem
        shares = _sample_shares(problem, columns, cells)
        small = _small(problem, columns, shares)
        if ((small.p_x > 0.0) != (problem.p_x > 0.0)).any() or not all(shares):
            return np.zeros((problem.m, problem.n)), np.zeros(len(problem.terms))
        point, ending = solve_whole(small, self._precision, self._precision.sampled, self._limits)
        self._iterations += ending.iterations
        return point.tilt, point.multipliers

    def _nearer(self, proof: Proof) -> Proof:
        """Return the pass under the tilt of draws, repeated until all outcomes whose decision may
        change can be retained.
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
            distance = _distance(tilt, proof.scan.tilt)
            if distance < proof.scan.threshold:
                break
            again = distance > _NEARER * proof.scan.threshold
            better = self._prove(
                tilt, multipliers, self._margin_to_retain(proof.scan, tilt), draws=again
            )
            if better.bound <= proof.bound:
                break
            proof = better
            farthest = distance
        return proof

    def _representative(self, passed: Scan, farthest: float) -> Problem | None:
        """Return the problem of the drawn outcomes up to a margin, weighted by how many outcomes
        each represents, and the remaining sums by label; None without draws.

        The sums by label are those of all outcomes, so only changes of labels are estimated.
        Weights are reduced if the draws of a label would exceed the sum of the label.
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
        sums_by_label = passed.columns @ one_hot(labels, m).T
        drawn = one_hot(passed.labels_of(columns), m)
        sums = columns @ drawn.T
        share = np.divide(
            sums_by_label, sums, out=np.ones_like(sums_by_label), where=sums > sums_by_label
        ).min(axis=0)
        columns = np.concatenate(
            [columns * (share @ drawn), np.maximum(sums_by_label - share * sums, 0.0)], axis=1
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
        """Make the duals feasible and pass over the outcomes. Outcomes far from a decision boundary
        may be screened.
        """
        problem = self._problem
        tilt, multipliers = self._feasible(tilt, multipliers)
        if self._retained >= problem.N:
            threshold = math.inf
        screens = screens and problem.N >= ROUNDS_FROM * self._retained and threshold > 0.0
        # Ties are never screened, because a rule may randomise them.
        edge = max(threshold, float(shell_top(-1)))
        request = Pass(
            tilt,
            retain=threshold,
            most=self._retained,
            screen=SCREENED * edge if screens else math.inf,
            draws=draws and 0.0 < threshold < math.inf,
        )
        passed = self._scan(request)
        return Proof(passed, multipliers, self._retained, passed.total - self._price(multipliers))

    def _price(self, multipliers: Array) -> float:
        paid = zip(self._problem.terms, multipliers.tolist(), strict=True)
        return sum((float(price * term.level) for term, price in paid if term.priced), 0.0)

    def _feasible(self, tilt: Array, multipliers: Array) -> tuple[Array, Array]:
        return feasible_for(tilt, multipliers, self._problem.p_x, self._problem.terms)

    def _margin_to_retain(self, last_scan: Scan, tilt: Array) -> float:
        """Return a margin that about twice as many outcomes as are to be retained do not exceed;
        retaining too many costs nothing.
        """
        counts = np.concatenate([np.ones(last_scan.retained.size), last_scan.counts])
        shells = last_scan.keys % SHELLS
        reach = np.concatenate(
            [np.zeros(last_scan.retained.size), shell_top(shells) - shell_top(shells - 1)]
        )
        return wanted_margin(last_scan.columns, counts, tilt, 2.0 * self._retained, reach)

    # -- one round
    # ----------------------------------------------------------------------------------------------

    def _small(self, proof: Proof) -> Problem:
        """Return the problem of retained outcomes and cells. With cells, the budget is reduced by
        what rounding of their sums may leak.
        """
        share = 1.0 - self._precision.vertex if proof.scan.counts.size else 1.0
        return _small(self._problem, proof.scan.columns, [share] * len(self._problem.terms))

    def _cross(self, proof: Proof) -> RoundResult | None:
        """Return the vertex of the small problem closest to the current duals, without an
        iteration; None if there is none.

        Unless the problem is linear, the duals do not lead to a vertex if more outcomes tie than
        are retained.
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
        return None if vertex is None else self._result_of(small, proof, vertex)

    def _iterate(self, proof: Proof) -> RoundResult:
        """Solve the whole small problem, with its vertex."""
        small = self._small(proof)
        point, ending = solve_whole(small, self._precision, self._precision.small, self._limits)
        self._iterations += ending.iterations
        return self._result_of(small, proof, point)

    def _result_of(self, small: Problem, proof: Proof, point: Point) -> RoundResult:
        """Return the point, moved into the budget, with its bracket."""
        point = replace(point, columns=within_budget(small, point.columns))
        tilt, multipliers = self._feasible(point.tilt, point.multipliers)
        upper = small.error_probability(point.columns)
        lower = self._carry_bound(small, proof, tilt, multipliers)
        vertex = lower > -math.inf and _decides(small, proof.scan.retained.size, point)
        point = replace(point, tilt=tilt, multipliers=multipliers)
        return RoundResult(point, vertex, proof, upper, lower)

    def _carry_bound(self, small: Problem, proof: Proof, tilt: Array, multipliers: Array) -> float:
        """Return the bound that new duals prove if no outcome in a cell can have changed its
        decision, else −inf.

        The difference of two tilted losses of an outcome changes by at most its mass times the
        largest change of t_ij − t_kj.
        """
        if proof.scan.counts.size and not _distance(tilt, proof.scan.tilt) < proof.scan.threshold:
            return -math.inf
        return float((small.loss + tilt @ small.p_xz).min(axis=0).sum()) - self._price(multipliers)

    def _improve(self, proof: Proof, solved: RoundResult) -> Proof:
        """Return the proof of the new duals, or the current one if that is at least as good."""
        if -math.inf < solved.lower <= proof.bound:  # known without a pass
            return proof
        screened = proof.scan.retained.size + np.flatnonzero(proof.scan.screened)
        if (solved.point.columns[:, screened].max(axis=0) < 1.0 - self._precision.certain).any():
            return self._again(proof)
        better = self._prove(
            solved.point.tilt,
            solved.point.multipliers,
            self._margin_to_retain(proof.scan, solved.point.tilt),
        )
        return better if better.bound > proof.bound else proof

    def _again(self, proof: Proof) -> Proof:
        """Return the proof of the same duals, without screening and with the current number of
        outcomes to retain.
        """
        return self._prove(
            proof.scan.tilt,
            proof.multipliers,
            self._margin_to_retain(proof.scan, proof.scan.tilt),
            screens=False,
        )


def _small(problem: BlockProblem, columns: Array, shares: Sequence[float] | None = None) -> Problem:
    """Return the problem of columns (p_xz, loss), with its budgets multiplied by shares."""
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
    """Return for each budget the factor to use with a sample. If the sample's Bayes rule keeps the
    budget, it is the ratio of the leakages in the sample and in all outcomes.
    """
    shares = []
    leakages = _small(problem, columns).bayes_leakages
    for term, leaks, whole in zip(problem.terms, leakages, cells.bayes_leakages, strict=True):
        within = term.priced and leaks <= term.budget.amount and whole > 0.0
        shares.append(leaks / whole if within else 1.0)
    return shares


def _calibrate_sample(drawn: Array, sums: Array, n: int) -> Array:
    """Return columns (p_xz, loss) [n + m, K] of a sample with weights such that they sum to the
    totals of all outcomes [n + m].

    Weights are linear in the calibrated totals, the generalised regression estimator of J.-C.
    Deville and C.-E. Särndal, J. Am. Stat. Assoc. 87 (1992). If a weight would change by more than
    half, the sample is only scaled.
    """
    total = sums[:n].sum()
    drawn = drawn * (total / drawn[:n].sum())
    each = drawn / drawn[:n].sum(axis=0)
    weights = 1.0 + np.linalg.lstsq(drawn @ each.T, sums - drawn.sum(axis=1), rcond=1e-10)[0] @ each
    if np.abs(weights - 1.0).max() > 0.5:
        return np.asarray(drawn)
    drawn *= weights
    return np.asarray(drawn * (total / drawn[:n].sum()))  # a rare row may fall short of its total


def _distance(tilt: Array, other: Array) -> float:
    """Return the margin up to which the best guess of an outcome may differ between two tilts."""
    return float(np.ptp(tilt - other, axis=0).max())


def _width(result: RoundResult, proof: Proof) -> float:
    """Return the width of the bracket relative to its upper end."""
    return (
        (result.upper - max(result.lower, proof.bound)) / result.upper
        if result.upper > 0.0
        else 0.0
    )


def _decides(small: Problem, retained: int, point: Point) -> bool:
    """Return True if the tilt decides all cells, by more than the margins of their members differ,
    and all retained outcomes except a few.
    """
    drawn = np.flatnonzero(point.columns.max(axis=0) < 1.0)
    cells = small.loss[:, retained:] + point.tilt @ small.p_xz[:, retained:]
    best, least, _, runner = least_two(cells)
    apart = runner - least > shell_top(-1) * small.p_z[retained:]
    follow = point.columns[best, retained + np.arange(best.size)] == 1.0
    return bool(
        drawn.size <= small.n * small.m and (drawn < retained).all() and (apart & follow).all()
    )
