"""Large problems through small ones: aggregate, solve, certify, shrink.

Only outcomes near a decision boundary matter individually. Each round makes one pass over the outcomes under the best tilt
so far: those with the smallest margins stay as they are, all others are summed into cells of equal best guess, second
best guess and margin shell. The small problem of individuals and cells is solved by the interior point. Treating the
members of a cell alike is a restriction, so its optimum is feasible for the whole problem and an upper bound; its tilt,
made feasible, gives a lower bound by the next pass. When the two meet, the restriction was no restriction.

The first tilt comes from a weighted sample: half of the draws in proportion to mass, half to the Bayes rule's error, which
is where decisions can change. If a new tilt proves less than the best, the pass is repeated part of the way towards it;
if a round does not shrink the bracket by a factor of ten, twice as many outcomes stay individual: at the latest when all
of them do, the small problem is the whole one (unless there are more than memory should hold: then it ends "stalled").

Source: discreet, docs/theory.md (aggregation is a restriction; screening by margins).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.backends.tilt.condense import RARE, condense
from discreet.backends.tilt.finish import shortcut
from discreet.backends.tilt.follow import pivot
from discreet.backends.tilt.interior_point import Outcome, solve_interior
from discreet.backends.tilt.kernels import SHELLS, Scan, classified, member, sample, scan, shell_top
from discreet.backends.tilt.model import model_of
from discreet.problems.accurate import Array
from discreet.problems.blocks import CHUNK_OUTCOMES, BlockProblem, Blocks
from discreet.problems.dual import repair_duals
from discreet.problems.information import output_law
from discreet.problems.judge_kernels import in_order_losses
from discreet.problems.primal import LEAK_FREE, phi_residual
from discreet.problems.problem import Problem
from discreet.problems.rule import Rule

__all__ = ["Aggregated", "Proof", "Report", "individuals", "rules_of", "solve_aggregated", "spread"]

_INDIVIDUALS_PER_ENTRY = 100  # outcomes kept individually in the first round, per entry of the tilt
_LEAST_INDIVIDUALS = 1000
_DRAWS = 5  # sampled outcomes per individual
_SAMPLE_GAP = 1e-5  # the sample's own error is larger
_COARSEST_GAP = 1e-6  # of a round's interior point
_SHARE_OF_GAP = 0.2  # of the gap aimed at: what the interior point of the last round may leave
_MOST_INDIVIDUALS = 1 << 18  # kept in any round, so that memory does not grow with N; problems up to there end solved whole
_STUCK_ROUNDS = 4  # with that many individuals and without progress, after which the bracket is returned as it is
_ROUNDS = 40
_EXTRA_ROUNDS = 2  # after the bracket is narrow enough, for an answer that is a vertex
_VERTEX_WIDTH = 1e-6
_PIVOT_WIDTH = 1e-4  # relative width of the bracket from which the duals at hand may be a few pivots from a vertex
_VERTEX_TRIES = 8  # sets of ties tried then, and where the interior point stalls
_BAND_GROWTH = 1.0 + 1e-6  # of the error, at which wider bands are given up
_BAND_GAP = 1e-11  # of the small problem of labels and crowds
_BAND_ITERATIONS = 60
_DETERMINED = 1.0 - 1e-9  # probability of a guess that counts as certain when an interior answer is stated as a rule
_TRIES = 2  # sets of ties a round tries: an early round has no vertex worth a search
_ADJUSTMENTS = 2  # of the threshold, for one tilt
_SUBSAMPLE = 20_000  # outcomes from which the first threshold is guessed
_VISIBLE = 0.02  # share of a subsample that estimates a quantile well; margins are about uniform below it
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
    """Feasible duals, the pass made under them (listing margins up to `threshold`), and the bound they prove."""

    tilt: Array
    multiplier: float
    threshold: float
    found: Scan
    bound: float


@dataclass(frozen=True, eq=False)
class _Round:
    """A solved small problem: its columns and duals, the pass its outcomes came from, and the error it reaches."""

    columns: Array
    tilt: Array
    multiplier: float
    vertex: Array | None
    source: Proof
    upper: float


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
    return _Aggregation(problem, gap, max_iterations, deadline, threads, report, vertex, compiled).run()


def rules_of(problem: BlockProblem, found: Aggregated, *, threads: int = 0) -> Iterator[Rule]:
    """Ways to state the answer as a rule, likeliest first; the judge has to find the best.

    A vertex is a rule, and at the optimum exact. Where there is none, crowds of outcomes agree in margin to more digits
    than the tilt can tell apart. They may decide together: among the bands of margin that the last pass distinguishes, the
    one is taken in which randomising costs least. Or individuals are listed as they are, and outcomes that are no more
    than a chunk holds all of them.
    """
    source = found.source.found
    if found.vertex is not None:
        yield _listing(found.vertex, source.listed, source.columns, found.columns)
    crowded = _best_band(problem, found) if source.counts.size else None
    if crowded is not None:
        yield crowded
    yield _listing(found.tilt, source.listed, source.columns, found.columns)
    if source.counts.size and problem.N <= CHUNK_OUTCOMES:
        held = np.concatenate([np.concatenate(chunk.read()) for chunk in problem.blocks.chunks()], axis=1)
        yield _listing(found.tilt, np.arange(problem.N), held, spread(problem.blocks, found, threads=threads))


def _listing(tilt: Array, outcomes: NDArray[np.intp], held: Array, columns: Array) -> Rule:
    """The rule of a tilt with the columns of those of some outcomes that randomise or, equal in margin, go another way.

    held: their (p_xz, loss) [n + m, K]. columns: [m, K …].
    """
    n = tilt.shape[1]
    labels = np.argmin(in_order_losses(held[:n], held[n:], tilt), axis=0)
    ties = np.flatnonzero(columns[labels, np.arange(outcomes.size)] < 1.0)
    return Rule(tilt, outcomes[ties], columns[:, ties])


def _best_band(problem: BlockProblem, found: Aggregated) -> Rule | None:
    """The rule with crowds of least error, or None if no band can meet the budget."""
    cells, pair, shell = _by_margin(problem, found.proof)
    best: tuple[float, Rule] | None = None
    for last in range(int(shell.min()), int(shell.max()) + 1):
        if not (shell == last).any():
            continue
        tried = _banded(problem, found, cells, pair, shell <= last, shell_top(last))
        if tried is not None and (best is None or tried[0] < best[0]):
            best = tried
        if best is not None and (best[0] <= found.upper or (tried is not None and tried[0] > best[0] * _BAND_GROWTH)):
            break
    return None if best is None else best[1]


def _by_margin(problem: BlockProblem, proof: Proof) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
    """All outcomes of a pass as cells [n + m, ·] with pair (best · m + second) and shell; individuals join their shell."""
    n, found = problem.n, proof.found
    _, keys, _ = classified(found.columns[:n], found.columns[n:], proof.tilt)
    keys = np.concatenate([found.keys, keys])
    return np.concatenate([found.cells, found.columns], axis=1), keys // SHELLS, keys % SHELLS


def _banded(
    problem: BlockProblem, found: Aggregated, cells: Array, pair: NDArray[np.intp], within: NDArray[np.bool_], band: float
) -> tuple[float, Rule] | None:
    """Error and rule when the cells within the band form crowds by pair and all others keep their label."""
    n, m = problem.n, problem.m
    best, second = pair // m, pair % m
    crowd = np.minimum(best, second) * m + np.maximum(best, second)  # both orders of a pair are one crowd
    used, place = np.unique(np.where(within, m + crowd, best), return_inverse=True)
    sums = np.stack([np.bincount(place, weights=row) for row in cells])
    small = Problem(sums[:n], sums[n:], problem.constraint)
    if small.bayes_leakage <= small.budget:
        return None
    outcome = solve_interior(
        model_of(small),
        small.bayes_estimator,
        gap=_BAND_GAP,
        max_iterations=_BAND_ITERATIONS,
        shortcut=shortcut(small, _BAND_GAP),
    )
    columns, determined = outcome.estimator, used < m
    if outcome.ended != "optimal":
        return None
    surely = columns.max(axis=0) >= _DETERMINED
    columns[:, surely] = np.eye(m)[:, np.argmax(columns[:, surely], axis=0)]
    if (columns[used[determined], np.flatnonzero(determined)] < 1.0).any():
        return None
    crowds = np.repeat(np.eye(m), m, axis=0)
    for drawn in np.flatnonzero(~determined):
        i, k = divmod(int(used[drawn]) - m, m)
        crowds[[i * m + k, k * m + i]] = columns[:, drawn]
    return small.error_probability(columns), Rule(found.tilt, band=band, crowds=crowds)


def spread(blocks: Blocks, found: Aggregated, *, threads: int = 0) -> Array:
    """The dense estimator [m, N]: every outcome has the column of its individual or cell."""
    source = found.source
    return found.columns[:, member(blocks, source.tilt, source.threshold, source.found, threads=threads)]


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
        self._individuals = individuals(problem.n, problem.m)
        self._vertex, self._compiled = vertex, compiled
        self._iterations = self._passes = 0

    def run(self) -> Aggregated:
        bayes = self._bayes()
        if bayes.upper == bayes.source.bound:  # it keeps the budget
            return self._result(bayes, bayes.source, "optimal: the Bayes rule keeps the budget")
        proof = self._first_proof(bayes.source.found.total)
        best: _Round | None = None
        width, extra = math.inf, _EXTRA_ROUNDS if self._vertex else 0
        ended, stuck = "round limit", 0
        for count in range(1, _ROUNDS + 1):
            try:
                solved = self._solve_small(proof, width)
                best = solved if best is None or self._better(solved, best) else best
                proof = self._improve(proof, solved)
                last, width = width, (best.upper - proof.bound) / best.upper
                if self._report is not None:
                    self._report(f"round {count}", proof.bound, best.upper)
            except KeyboardInterrupt:
                if best is None:
                    raise
                ended = "interrupted"
                break
            ended = self._ending(width, solved) or ended
            if width <= self._gap and best.vertex is None and extra > 0:
                extra -= 1
                ended = "round limit"
            if ended != "round limit":
                break
            if width > _PROGRESS * last:
                if self._individuals >= _MOST_INDIVIDUALS:
                    stuck += 1
                    ended = "stalled" if stuck >= _STUCK_ROUNDS else ended
                self._individuals = min(2 * self._individuals, max(self._individuals, _MOST_INDIVIDUALS))
            if ended != "round limit":
                break
        assert best is not None
        return self._result(best, proof, ended)

    def _better(self, one: _Round, other: _Round) -> bool:
        """A lower error; or, where a rule is wanted, a vertex within the gap."""
        if self._vertex and one.vertex is not None and other.vertex is None:
            return one.upper <= other.upper * (1.0 + self._gap)
        return one.upper < other.upper

    def _result(self, best: _Round, proof: Proof, ended: str) -> Aggregated:
        return Aggregated(
            proof.tilt, proof.multiplier, best.source, best.columns, best.vertex, proof, best.upper, proof.bound,
            self._iterations, self._passes, ended,
        )  # fmt: skip

    def _bayes(self) -> _Round:
        """The Bayes rule as a first round; its error is its bound if it keeps the budget, and inf if it does not."""
        problem = self._problem
        m, n = problem.m, problem.n
        nothing = np.zeros((m, n))
        found = scan(problem.blocks, nothing, -1.0, threads=self._threads, compiled=self._compiled)
        self._passes += 1
        proof = Proof(nothing, 0.0, -1.0, found, found.total)
        columns = np.zeros((m, found.keys.size))
        columns[found.keys // (m * SHELLS), np.arange(found.keys.size)] = 1.0
        law = output_law(found.cells[:n], columns)
        keeps = phi_residual(law) <= LEAK_FREE if problem.constraint.perfect else law.leakage() <= problem.budget
        return _Round(columns, nothing, 0.0, nothing, proof, found.total if keeps else math.inf)

    def _ending(self, width: float, solved: _Round) -> str:
        if width <= self._gap:
            return "optimal"
        if self._late():
            return "time limit"
        return "" if solved.source.found.counts.size else "stalled"  # without cells the small problem was the whole one

    def _late(self) -> bool:
        return self._deadline is not None and time.perf_counter() > self._deadline

    def _first_proof(self, doubt: float) -> Proof:
        """Duals from a sample of the outcomes, weighted by mass and by the Bayes rule's error (`doubt`)."""
        problem = self._problem
        n = problem.n
        drawn = sample(problem.blocks, _DRAWS * self._individuals, _SUBSAMPLE, doubt=doubt, threads=self._threads)
        self._passes += 1
        columns = drawn.columns[:, drawn.columns[:n].sum(axis=0) > 0.0]
        total = columns[:n].sum()
        small = Problem(columns[:n] / total, columns[n:] / total, problem.constraint)
        duals = np.zeros((problem.m, n)), 0.0
        if (small.p_x > 0).all() and (problem.constraint.perfect or small.bayes_leakage > small.budget):
            outcome = self._interior(small, _SAMPLE_GAP, _TRIES)
            duals = outcome.tilt, outcome.multiplier
        return self._prove(*duals, self._quantile(drawn.spread, duals[0]))

    def _interior(self, problem: Problem, gap: float, tries: int) -> Outcome:
        condensed = condense(problem, RARE * self._gap)
        smaller = condensed.problem
        outcome = solve_interior(
            model_of(smaller),
            smaller.bayes_estimator,
            gap=gap,
            max_iterations=self._max_iterations,
            deadline=self._deadline,
            shortcut=shortcut(smaller, gap, tries),
        )
        self._iterations += outcome.iterations
        return replace(outcome, estimator=condensed.restore(outcome.estimator))

    def _prove(self, tilt: Array, multiplier: float, threshold: float) -> Proof:
        """Make duals feasible and pass over the outcomes; the threshold is adjusted until about enough are listed."""
        problem = self._problem
        tilt, multiplier = self._feasible(tilt, multiplier)
        wanted = self._individuals
        if wanted >= problem.N:
            threshold = math.inf
        price = 0.0 if problem.constraint.perfect else multiplier * problem.budget
        best: Proof | None = None
        for _ in range(_ADJUSTMENTS):
            found = scan(problem.blocks, tilt, threshold, threads=self._threads, compiled=self._compiled)
            self._passes += 1
            proof = Proof(tilt, multiplier, threshold, found, found.total - price)
            listed = found.listed.size
            if listed <= 4 * wanted and (best is None or listed > best.found.listed.size):
                best = proof
            if wanted / 4 <= listed <= 4 * wanted or not found.counts.size:
                break
            threshold = _threshold(proof, wanted)
        if best is None:  # a crowd of equal margins: leave it to the cells
            found = scan(problem.blocks, tilt, -1.0, threads=self._threads, compiled=self._compiled)
            self._passes += 1
            best = Proof(tilt, multiplier, -1.0, found, found.total - price)
        return best

    def _feasible(self, tilt: Array, multiplier: float) -> tuple[Array, float]:
        feasible = repair_duals(self._problem, tilt, multiplier)
        if feasible is not None:
            return feasible
        return np.zeros_like(tilt), math.inf if self._problem.constraint.perfect else 0.0

    def _quantile(self, columns: Array, tilt: Array) -> float:
        """A margin that about as many outcomes do not exceed as shall stay individual, from an even subsample."""
        n = self._problem.n
        p_xz, loss = columns[:n, columns[:n].sum(axis=0) > 0.0], columns[n:, columns[:n].sum(axis=0) > 0.0]
        two = np.partition(loss + tilt @ p_xz, 1, axis=0)[:2]
        margins = np.sort((two[1] - two[0]) / p_xz.sum(axis=0))
        share = min(1.0, self._individuals / self._problem.N)
        visible = max(share, _VISIBLE)
        return float(margins[min(margins.size - 1, int(visible * margins.size))] * share / visible)

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
            worth = whole or (self._vertex and width <= _VERTEX_WIDTH)
            outcome = self._interior(small, gap, _VERTEX_TRIES if worth else _TRIES)
        columns = outcome.estimator
        drawn = np.flatnonzero(columns.max(axis=0) < 1.0)
        exact = drawn.size <= small.n * small.m and bool((drawn < proof.found.listed.size).all())
        error = small.error_probability(columns)
        return _Round(columns, outcome.tilt, outcome.multiplier, outcome.tilt if exact else None, proof, error)

    def _pivoted(self, small: Problem, proof: Proof, width: float) -> Outcome | None:
        """The vertex next to the duals at hand, once they are good: no iteration needed."""
        usable = 0.0 < proof.multiplier < math.inf and width <= _PIVOT_WIDTH
        if not usable:
            return None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a prediction may be far off
            return pivot(small, proof.tilt, proof.multiplier)

    def _improve(self, proof: Proof, solved: _Round) -> Proof:
        """The proof of the new tilt, or of one part of the way to it: never worse than the one at hand."""
        threshold = _threshold(proof, self._individuals)
        for step in _STEPS:
            multiplier = solved.multiplier
            if step < 1.0 and math.isfinite(multiplier):
                multiplier = proof.multiplier + step * (multiplier - proof.multiplier)
            better = self._prove(proof.tilt + step * (solved.tilt - proof.tilt), multiplier, threshold)
            if better.bound > proof.bound:
                return better
            if self._late():
                return proof
        few = proof.found.listed.size < self._individuals / 2 or self._individuals >= self._problem.N
        return self._prove(proof.tilt, proof.multiplier, threshold) if few and proof.found.counts.size else proof


def _threshold(proof: Proof, wanted: int) -> float:
    """A margin that about `wanted` outcomes do not exceed, from the counts of a pass."""
    listed = proof.found.listed.size
    if listed >= wanted:
        return proof.threshold * wanted / listed
    counts = np.bincount(proof.found.keys % SHELLS, weights=proof.found.counts, minlength=SHELLS)
    reached = listed + np.cumsum(counts)
    shell = min(int(np.searchsorted(reached, wanted)), SHELLS - 1)
    top, bottom = shell_top(shell), max(proof.threshold, shell_top(shell - 1) if shell else 0.0)
    before = reached[shell] - counts[shell]
    return float(bottom + (top - bottom) * min(1.0, (wanted - before) / max(counts[shell], 1.0)))
