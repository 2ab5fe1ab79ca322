"""Large problems through small ones: aggregate, solve, certify, shrink.

Only outcomes near a decision boundary matter individually. Each round makes one pass over the outcomes under the best tilt
so far: those with the smallest margins stay as they are, all others are summed into cells of equal best guess, second
best guess and margin shell. The small problem of individuals and cells is solved by the interior point. Treating the
members of a cell alike is a restriction, so its optimum is feasible for the whole problem and an upper bound; its tilt,
made feasible, gives a lower bound by the next pass. Where the tilt has moved by less than the margins of all that is in
cells, none of their decisions can have changed, and the small problem knows the lower bound without a pass. When the two
bounds meet, the restriction was no restriction.

The first tilt comes from a weighted sample: half of the draws in proportion to mass, half to the Bayes rule's error, which
is where decisions can change. If a new tilt proves less than the best, the pass is repeated part of the way towards it;
if a round does not shrink the bracket by a factor of ten, twice as many outcomes stay individual: at the latest when all
of them do, the small problem is the whole one (unless there are more than memory should hold: then it ends "stalled").

Source: discreet, docs/theory.md (aggregation is a restriction; screening by margins).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.backends.tilt.cells import SHELLS, is_far, shell_top
from discreet.backends.tilt.condense import RARE, condense
from discreet.backends.tilt.finish import shortcut
from discreet.backends.tilt.follow import pivot
from discreet.backends.tilt.interior_point import Outcome, solve_interior
from discreet.backends.tilt.kernels import Scan, best_guesses, member, scan
from discreet.backends.tilt.model import model_of
from discreet.backends.tilt.sampling import Sample, sample
from discreet.problems.blocks import BlockProblem, Blocks
from discreet.problems.measures.law import LEAK_FREE, output_law, phi_residual
from discreet.problems.measures.mutual_information import feasible_duals
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["NO_BUDGET", "Aggregated", "Proof", "Report", "individuals", "price_of_nothing", "solve_aggregated", "spread"]

NO_BUDGET = 1e-26
"""Nats; a smaller budget cannot be told from nothing in double precision, and is solved as perfect privacy."""
_INDIVIDUALS_PER_ENTRY = 100  # outcomes kept individually in the first round, per entry of the tilt
_LEAST_INDIVIDUALS = 500
_SHARE_OF_OUTCOMES = 1e-4  # kept at least, up to a few thousand: the longer a pass, the more a small solve may take
_FEW_THOUSAND = 2000
_DRAWS = 5  # sampled outcomes per individual
_SAMPLE_GAP = 1e-5  # the sample's own error is larger
_COARSEST_GAP = 1e-8  # of a round's interior point: a few iterations more there save rounds
_SHARE_OF_GAP = 0.2  # of the gap aimed at: what the interior point of the last round may leave
_MOST_INDIVIDUALS = 1 << 18  # kept in any round, so that memory does not grow with N; problems up to there end solved whole
_STUCK_ROUNDS = 4  # with that many individuals and without progress, after which the bracket is returned as it is
_ROUNDS = 40
_EXTRA_ROUNDS = 2  # after the bracket is narrow enough, for an answer that is a vertex; none where a crowd cannot be listed
_PIVOT_WIDTH = 1e-4  # relative width of the bracket from which the duals at hand may be a few pivots from a vertex
_VERTEX_TRIES = 8  # sets of ties tried then, and where the interior point stalls
_ADJUSTMENTS = 2  # of the threshold, for one tilt
_VISIBLE = 0.02  # share of a sample that estimates a quantile well; margins are about uniform below it
_GENEROUS = 2.0  # times the individuals wanted should be within the threshold, as those too many cost nothing
_ENOUGH = 0.25  # of the individuals wanted
_FAR = 64.0  # thresholds from which on margins need not be told apart
_OPEN = 0.25  # share of outcomes, those of the smallest margins, whose decision a sample leaves open
_KEPT = 1.0 - 1e-6  # probability of a guess that counts as certain in an interior solution of a round
_NEXT_MOVE = 0.25  # of the last move of the tilt: as far as the next may go
_PROGRESS = 0.1  # a round must shrink the bracket by this factor, or the next one keeps more individuals
_STEPS = (1.0, 0.5, 0.25, 0.1, 0.03)  # towards the new tilt, until it proves more


@dataclass(frozen=True, eq=False)
class Aggregated:
    """What the rounds found.

    tilt, multiplier  feasible duals                                   [m, n]
    source            the pass whose individuals and cells the columns belong to
    columns           the estimator on them: individuals first         [m, K + cells]
    vertex            the tilt of which these columns are the rule: deterministic, but for individuals; or None   [m, n]
    proof             the pass under the duals
    upper, lower      the bracket, up to rounding
    """

    tilt: Array
    multiplier: float
    source: Proof
    columns: Array
    vertex: Array | None
    proof: Proof
    upper: float
    lower: float
    iterations: int
    passes: int
    ended: str


@dataclass(frozen=True, eq=False)
class Proof:
    """Feasible duals, the pass made under them, and the bound they prove."""

    tilt: Array
    multiplier: float
    found: Scan
    bound: float


@dataclass(frozen=True, eq=False)
class _Round:
    """A solved small problem: its columns and feasible duals, the pass its outcomes came from, and the bracket it reaches.

    lower: −inf where only another pass can tell. strained: whether outcomes should change that were not told apart.
    """

    columns: Array
    tilt: Array
    multiplier: float
    vertex: Array | None
    source: Proof
    upper: float
    lower: float
    strained: bool = False


Report = Callable[[str, float, float], None]
"""Called after every round with (what was done, lower bound, upper bound)."""


def solve_aggregated(
    problem: BlockProblem,
    *,
    gap: float,
    max_iterations: int = 100,
    deadline: float | None = None,
    threads: int = 0,
    report: Report | None = None,
    vertex: bool = False,
    compiled: bool | None = None,
) -> Aggregated:
    """Solve a problem in blocks; every outcome of positive mass counts, and the Bayes rule must not keep the budget.

    gap: relative width of the bracket aimed at. max_iterations: for each small solve. deadline: on time.perf_counter's
    clock; the best so far is returned when it passes, and at an interrupt from the keyboard once there is any. threads:
    for the passes (0 = all cores). vertex: go on, within reason, until the answer can be stated as a rule.
    compiled: whether the kernels are (None: where that pays).
    """
    budget = problem.budget
    if not 0.0 < budget < NO_BUDGET:
        return _Aggregation(problem, gap, max_iterations, deadline, threads, report, vertex, compiled).run()
    without = problem.with_budget(0.0)
    found = _Aggregation(without, gap, max_iterations, deadline, threads, report, vertex, compiled).run()
    if not math.isinf(found.multiplier):
        return found
    return replace(found, multiplier=price_of_nothing(found.tilt, problem.p_x, budget))


def price_of_nothing(tilt: Array, p_x: Array, budget: float) -> float:
    """The multiplier that makes the tilt of perfect privacy cost least at a tiny budget: μ ε + variance of t / (2 μ)."""
    spread = float((tilt**2 @ p_x).max())
    return math.sqrt(spread / (2.0 * budget))


def spread(blocks: Blocks, found: Aggregated, *, threads: int = 0) -> Array:
    """The dense estimator [m, N]: every outcome has the column of its individual or cell.

    At a vertex cells keep their best guess, and which cell an outcome is in need not be found out.
    """
    source, listed = found.source, found.source.found.listed
    cells = found.columns[:, listed.size :]
    if (cells[source.found.keys // (blocks.m * SHELLS), np.arange(cells.shape[1])] == 1.0).all():
        estimator = best_guesses(blocks, source.tilt, threads=threads)
        estimator[:, listed] = found.columns[:, : listed.size]
        return estimator
    return found.columns[:, member(blocks, source.tilt, source.found, threads=threads)]


def individuals(n: int, m: int) -> int:
    """How many outcomes the first round keeps as they are."""
    return max(_LEAST_INDIVIDUALS, _INDIVIDUALS_PER_ENTRY * n * m)


class _Aggregation:
    def __init__(
        self,
        problem: BlockProblem,
        gap: float,
        max_iterations: int,
        deadline: float | None,
        threads: int,
        report: Report | None,
        vertex: bool,
        compiled: bool | None,
    ) -> None:
        self._problem, self._gap, self._threads = problem, gap, threads
        self._max_iterations, self._deadline, self._report = max_iterations, deadline, report
        share = min(_FEW_THOUSAND, int(_SHARE_OF_OUTCOMES * problem.N))
        self._individuals = max(individuals(problem.n, problem.m), share)
        self._vertex, self._compiled = vertex, compiled
        self._iterations = self._passes = self._rounds = 0

    def run(self) -> Aggregated:
        bayes = self._bayes()
        if bayes.upper == bayes.lower:  # it keeps the budget
            return self._result(bayes, bayes.source, "optimal: the Bayes rule keeps the budget")
        proof = self._first_proof(bayes.source.found)
        best: _Round | None = None
        width, extra = math.inf, _EXTRA_ROUNDS if self._vertex else 0
        ended, stuck = "", 0
        for count in range(1, _ROUNDS + 1):
            try:
                solved = self._solve_small(proof, width)
                self._rounds = count
                best = solved if best is None or self._better(solved, best) else best
                done = solved is best and self._settled(solved)
                proof = proof if done else self._improve(proof, solved)
                lower = max(proof.bound, solved.lower) if done else proof.bound
                last, width = width, (best.upper - lower) / best.upper
                if self._report is not None:
                    self._report(f"round {count}", lower, best.upper)
                if done:
                    return self._result(best, proof, "optimal", best)
                ended = self._ending(width, solved)
                if width <= self._gap and best.vertex is None and extra > 0 and proof.found.listed.size:
                    extra -= 1
                    ended = ""
                if not ended and width > _PROGRESS * last:
                    if self._individuals >= _MOST_INDIVIDUALS:
                        stuck += 1
                        ended = "stalled" if stuck >= _STUCK_ROUNDS else ""
                    self._individuals = min(2 * self._individuals, max(self._individuals, _MOST_INDIVIDUALS))
                    if not ended and proof is solved.source:  # the next round would be this one again
                        proof = self._again(proof)
            except KeyboardInterrupt:
                if best is None:
                    raise
                ended = "interrupted"
            if ended:
                break
        assert best is not None
        return self._result(best, proof, ended or "round limit")

    def _settled(self, solved: _Round) -> bool:
        """Whether a round's own bracket is narrow enough and, where a rule is wanted, it is a vertex: no pass is needed."""
        stated = solved.vertex is not None or not self._vertex
        return stated and solved.upper - solved.lower <= self._gap * solved.upper

    def _better(self, one: _Round, other: _Round) -> bool:
        """A lower error; or, where a rule is wanted, a vertex within the gap."""
        if self._vertex and one.vertex is not None and other.vertex is None:
            return one.upper <= other.upper * (1.0 + self._gap)
        return one.upper < other.upper

    def _result(self, best: _Round, proof: Proof, ended: str, duals: _Round | None = None) -> Aggregated:
        """The answer with the duals of the last proof, or with those of a round that needs none."""
        tilt, multiplier, lower = proof.tilt, proof.multiplier, proof.bound
        if duals is not None and duals.lower > lower:
            tilt, multiplier, lower = duals.tilt, duals.multiplier, duals.lower
        return Aggregated(
            tilt, multiplier, best.source, best.columns, best.vertex, proof, best.upper, lower,
            self._iterations, self._passes, ended,
        )  # fmt: skip

    def _bayes(self) -> _Round:
        """The Bayes rule as a first round; its error is its bound if it keeps the budget, and inf if it does not."""
        problem = self._problem
        m, n = problem.m, problem.n
        nothing = np.zeros((m, n))
        found = self._scan(nothing, -1.0, far=0.0, grouped=True)
        proof = Proof(nothing, 0.0, found, found.total)
        columns = np.zeros((m, found.keys.size))
        columns[found.keys // (m * SHELLS), np.arange(found.keys.size)] = 1.0
        law = output_law(found.cells[:n], columns)
        keeps = phi_residual(law) <= LEAK_FREE if problem.constraint.perfect else law.leakage() <= problem.budget
        return _Round(columns, nothing, 0.0, nothing, proof, found.total if keeps else math.inf, found.total)

    def _scan(self, tilt: Array, threshold: float, **how: Any) -> Scan:
        self._passes += 1
        return scan(self._problem.blocks, tilt, threshold, threads=self._threads, compiled=self._compiled, **how)

    def _ending(self, width: float, solved: _Round) -> str:
        if width <= self._gap:
            return "optimal"
        if self._late():
            return "time limit"
        return "" if solved.source.found.counts.size else "stalled"  # without cells the small problem was the whole one

    def _late(self) -> bool:
        return self._deadline is not None and time.perf_counter() > self._deadline

    def _first_proof(self, bayes: Scan) -> Proof:
        """Duals from a sample of the outcomes, weighted by mass and by the Bayes rule's error."""
        problem = self._problem
        n, draws = problem.n, _DRAWS * self._individuals
        drawn = sample(
            problem.blocks, bayes.groups, draws, doubt=bayes.total, threads=self._threads, compiled=self._compiled
        )
        self._passes += 1
        columns = drawn.columns
        total = columns[:n].sum()
        small = Problem(columns[:n] / total, columns[n:] / total, problem.constraint)
        duals = np.zeros((problem.m, n)), 0.0
        if (small.p_x > 0).all() and (problem.constraint.perfect or small.bayes_leakage > small.budget):
            outcome = self._interior(small, _SAMPLE_GAP)
            duals = outcome.tilt, outcome.multiplier
        return self._prove(*duals, *self._quantiles(drawn, duals[0]))

    def _interior(self, problem: Problem, gap: float, tries: int = 0, near: tuple[Array, float] | None = None) -> Outcome:
        condensed = condense(problem, RARE * self._gap)
        smaller = condensed.problem
        outcome = solve_interior(
            model_of(smaller),
            smaller.bayes_estimator,
            gap=gap,
            max_iterations=self._max_iterations,
            deadline=self._deadline,
            shortcut=shortcut(smaller, gap, tries) if tries else None,
            near=near,
        )
        self._iterations += outcome.iterations
        return replace(outcome, estimator=condensed.restore(outcome.estimator))

    def _prove(self, tilt: Array, multiplier: float, threshold: float, far: float) -> Proof:
        """Make duals feasible and pass over the outcomes; the threshold is adjusted if it lists too few.

        far: margins that decisions may still come to; those beyond it are not told apart.
        """
        problem = self._problem
        tilt, multiplier = self._feasible(tilt, multiplier)
        price = 0.0 if problem.constraint.perfect else multiplier * problem.budget
        wanted = self._individuals
        if wanted >= problem.N:
            threshold = math.inf
        far = max(far, _FAR * threshold) if threshold > 0.0 else math.inf
        for _ in range(_ADJUSTMENTS):
            found = self._scan(tilt, threshold, far=far, most=wanted)
            if self._told_apart(found, wanted) or found.threshold < threshold or not found.counts.size:
                break  # margins so equal that they were too many are left to the cells
            threshold, far = _threshold(found, _GENEROUS * wanted), math.inf
        return Proof(tilt, multiplier, found, found.total - price)

    def _told_apart(self, found: Scan, wanted: int) -> bool:
        """Whether enough outcomes are listed; or, under a first tilt, in cells that the next one may tell apart."""
        if found.listed.size >= _ENOUGH * wanted:
            return True
        return not self._rounds and found.counts[~is_far(found.keys, self._problem.m)].sum() >= wanted

    def _feasible(self, tilt: Array, multiplier: float) -> tuple[Array, float]:
        feasible = feasible_duals(tilt, multiplier, self._problem.p_x, self._problem.budget)
        if feasible is not None:
            return feasible
        return np.zeros_like(tilt), math.inf if self._problem.constraint.perfect else 0.0

    def _quantiles(self, drawn: Sample, tilt: Array) -> tuple[float, float]:
        """By the sample: a margin that rather more outcomes do not exceed than shall stay individual, and the open ones'."""
        n = self._problem.n
        p_xz, loss = drawn.columns[:n], drawn.columns[n:]
        two = np.partition(loss + tilt @ p_xz, 1, axis=0)[:2]
        margins = (two[1] - two[0]) / p_xz.sum(axis=0)
        order = np.argsort(margins)
        reached = np.cumsum(drawn.scale[order])
        share = min(1.0, _GENEROUS * self._individuals / self._problem.N)
        visible = max(share, _VISIBLE)
        places = np.searchsorted(reached, reached[-1] * np.array([visible, max(visible, _OPEN)]))
        edge, far = margins[order[np.minimum(places, order.size - 1)]].tolist()
        return edge * share / visible, far

    def _solve_small(self, proof: Proof, width: float) -> _Round:
        """The interior point on individuals and cells, as exact as the present bracket makes worthwhile, and its vertex."""
        n = self._problem.n
        columns = np.concatenate([proof.found.columns, proof.found.cells], axis=1)
        small = Problem(columns[:n], columns[n:], self._problem.constraint)
        gap, whole = _SHARE_OF_GAP * self._gap, not proof.found.counts.size
        if not whole:
            gap = max(gap, min(_COARSEST_GAP, 1e-3 * width))
        outcome = self._pivoted(small, proof, width)
        if outcome is None:
            near = (proof.tilt, proof.multiplier)
            outcome = self._interior(small, gap, _VERTEX_TRIES if whole else 0, near)
        tilt, multiplier = self._feasible(outcome.tilt, outcome.multiplier)
        lower = self._screened(small, proof, tilt, multiplier)
        if not whole and lower > -math.inf:  # else it has not come so near that its ties are the problem's
            vertex = shortcut(small, gap, _VERTEX_TRIES)(outcome)
            if vertex is not None:
                outcome = vertex
                tilt, multiplier = self._feasible(outcome.tilt, outcome.multiplier)
                lower = self._screened(small, proof, tilt, multiplier)
        columns = outcome.estimator
        drawn = np.flatnonzero(columns.max(axis=0) < 1.0)
        exact = drawn.size <= small.n * small.m and bool((drawn < proof.found.listed.size).all())
        error = small.error_probability(columns)
        if outcome.ended != "optimal":
            error += _price_of_excess(small, columns, error)
        far = proof.found.listed.size + np.flatnonzero(is_far(proof.found.keys, small.m))
        strained = bool((columns[:, far].max(axis=0) < _KEPT).any())
        return _Round(columns, tilt, multiplier, outcome.tilt if exact else None, proof, error, lower, strained)

    def _screened(self, small: Problem, proof: Proof, tilt: Array, multiplier: float) -> float:
        """The bound that new duals prove, if no outcome in a cell can have changed its decision; else −inf.

        Each pair of an outcome's tilted losses moves apart by at most its mass times the largest change of t_ij − t_kj.
        """
        moved = tilt - proof.tilt
        if proof.found.counts.size and not float(np.ptp(moved, axis=0).max()) < proof.found.threshold:
            return -math.inf
        price = 0.0 if small.constraint.perfect else multiplier * small.budget
        return float((small.loss + tilt @ small.p_xz).min(axis=0).sum()) - price

    def _pivoted(self, small: Problem, proof: Proof, width: float) -> Outcome | None:
        """The vertex next to the duals at hand, once they are good: no iteration needed."""
        usable = 0.0 < proof.multiplier < math.inf and width <= _PIVOT_WIDTH
        if not usable:
            return None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a prediction may be far off
            return pivot(small, proof.tilt, proof.multiplier)

    def _improve(self, proof: Proof, solved: _Round) -> Proof:
        """The proof of the new tilt, or of one part of the way to it: never worse than the one at hand, which may stay."""
        if -math.inf < solved.lower <= proof.bound:  # known without a pass
            return proof
        if solved.strained:
            return self._again(proof)
        move = float(np.ptp(solved.tilt - proof.tilt, axis=0).max())
        for step in _STEPS:
            multiplier = solved.multiplier
            if step < 1.0 and math.isfinite(multiplier):
                multiplier = proof.multiplier + step * (multiplier - proof.multiplier)
            tilt = proof.tilt + step * (solved.tilt - proof.tilt)
            threshold = _expected(proof.found, tilt, _GENEROUS * self._individuals)
            better = self._prove(tilt, multiplier, threshold, step * _NEXT_MOVE * move)
            if better.bound > proof.bound:
                return better
            if self._late() or solved.upper - proof.bound <= self._gap * solved.upper:  # good enough
                break
        return proof

    def _again(self, proof: Proof) -> Proof:
        """The same duals, with all margins told apart and as many outcomes listed as are wanted by now."""
        return self._prove(proof.tilt, proof.multiplier, _threshold(proof.found, _GENEROUS * self._individuals), math.inf)


def _price_of_excess(problem: Problem, estimator: Array, error: float) -> float:
    """What blending with a constant guess, until the budget is kept, adds at most to the error probability."""
    if problem.constraint.perfect:
        return 0.0
    excess = min(1.0, max(0.0, problem.leakage(estimator) / problem.budget - 1.0))
    return excess * max(0.0, problem.constant_error - error)


def _expected(found: Scan, tilt: Array, wanted: float) -> float:
    """A margin that about `wanted` outcomes do not exceed under another tilt, from those listed and the means of cells.

    The members of a cell are taken to reach as far beyond its mean as its shell is wide.
    """
    n = tilt.shape[1]
    columns = np.concatenate([found.columns, found.cells], axis=1)
    two = np.partition(columns[n:] + tilt @ columns[:n], min(1, tilt.shape[0] - 1), axis=0)[:2]
    margins = (two[-1] - two[0]) / columns[:n].sum(axis=0)
    tops = np.array([shell_top(shell) for shell in range(-1, SHELLS)])
    margins[found.listed.size :] += np.diff(tops)[found.keys % SHELLS]
    order = np.argsort(margins)
    reached = np.cumsum(np.concatenate([np.ones(found.listed.size), found.counts])[order])
    return float(margins[order[min(int(np.searchsorted(reached, wanted)), order.size - 1)]])


def _threshold(found: Scan, wanted: float) -> float:
    """A margin that about `wanted` outcomes do not exceed, from the counts of a pass."""
    listed = found.listed.size
    if listed >= wanted:
        return found.threshold * wanted / listed
    counts = np.bincount(found.keys % SHELLS, weights=found.counts, minlength=SHELLS)
    reached = listed + np.cumsum(counts)
    shell = min(int(np.searchsorted(reached, wanted)), SHELLS - 1)
    if shell == SHELLS - 1 and found.far < math.inf:
        return found.far
    top, bottom = shell_top(shell), max(found.threshold, shell_top(shell - 1) if shell else 0.0)
    before = reached[shell] - counts[shell]
    return float(bottom + (top - bottom) * min(1.0, (wanted - before) / max(counts[shell], 1.0)))
