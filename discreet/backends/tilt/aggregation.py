"""Large problems through small ones: aggregate, solve, certify, shrink.

Only outcomes near a decision boundary matter individually. Each round makes one pass over the outcomes under the best tilt
so far: those with the smallest margins stay as they are, all others are summed into cells of equal best guess, second
best guess and margin shell. The small problem of individuals and cells is solved by the interior point. Treating the
members of a cell alike is a restriction, so its optimum is feasible for the whole problem and an upper bound; its tilt,
made feasible, gives a lower bound by the next pass. When the two meet, the restriction was no restriction.

The first tilt comes from a weighted sample: half of the draws in proportion to mass, half to the Bayes rule's error, which
is where decisions can change. If a new tilt proves less than the best, the pass is repeated part of the way towards it;
if a round does not shrink the bracket by a factor of ten, twice as many outcomes stay individual: at the latest when all
of them do, the small problem is the whole one.

Source: discreet, docs/theory.md (aggregation is a restriction; screening by margins).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from discreet.backends.tilt.condense import RARE, condense
from discreet.backends.tilt.interior_point import Outcome, solve_interior
from discreet.backends.tilt.kernels import SHELLS, Scan, member, sample, scan, shell_top
from discreet.backends.tilt.model import model_of
from discreet.problems.accurate import Array
from discreet.problems.dual import repair_duals
from discreet.problems.problem import Problem

__all__ = ["individuals", "solve_aggregated"]

_INDIVIDUALS_PER_ENTRY = 100  # outcomes kept individually in the first round, per entry of the tilt
_LEAST_INDIVIDUALS = 1000
_DRAWS = 5  # sampled outcomes per individual
_SAMPLE_GAP = 1e-5  # the sample's own error is larger
_COARSEST_GAP = 1e-6  # of a round's interior point
_SHARE_OF_GAP = 0.2  # of the gap aimed at: what the interior point of the last round may leave
_ROUNDS = 40
_ADJUSTMENTS = 3  # of the threshold, for one tilt
_SUBSAMPLE = 20_000  # outcomes from which the first threshold is guessed
_VISIBLE = 0.02  # share of a subsample that estimates a quantile well; margins are about uniform below it
_PROGRESS = 0.1  # a round must shrink the bracket by this factor, or the next one keeps more individuals
_STEPS = (1.0, 0.5, 0.25, 0.1, 0.03)  # towards the new tilt, until it proves more


@dataclass(frozen=True, eq=False)
class _Proof:
    """Feasible duals, the pass made under them (listing margins up to `threshold`), and the bound they prove."""

    tilt: Array
    multiplier: float
    threshold: float
    found: Scan
    bound: float


@dataclass(frozen=True, eq=False)
class _Round:
    """A solved small problem: its outcome, the pass its outcomes came from, and the error probability it reaches."""

    outcome: Outcome
    source: _Proof
    upper: float


def solve_aggregated(
    problem: Problem, *, gap: float, max_iterations: int, deadline: float | None, threads: int = 0
) -> Outcome:
    """The interior point on aggregates; the outcome's estimator [m, N] covers all outcomes.

    gap: relative width of the bracket aimed at. max_iterations: for each small solve. deadline: on time.perf_counter's
    clock. threads: for the passes (0 = all cores).
    """
    return _Aggregation(problem, gap, max_iterations, deadline, threads).run()


def individuals(problem: Problem) -> int:
    """How many outcomes the first round keeps as they are."""
    return max(_LEAST_INDIVIDUALS, _INDIVIDUALS_PER_ENTRY * problem.n * problem.m)


class _Aggregation:
    def __init__(self, problem: Problem, gap: float, max_iterations: int, deadline: float | None, threads: int) -> None:
        self._problem, self._gap, self._threads = problem, gap, threads
        self._max_iterations, self._deadline = max_iterations, deadline
        self._individuals = individuals(problem)
        self._iterations = 0

    def run(self) -> Outcome:
        proof = self._first_proof()
        best: _Round | None = None
        width, ended = math.inf, "round limit"
        for _ in range(_ROUNDS):
            solved = self._solve_small(proof, width)
            if best is None or solved.upper < best.upper:
                best = solved
            proof = self._improve(proof, solved.outcome)
            last, width = width, (best.upper - proof.bound) / best.upper
            if width <= self._gap:
                ended = "optimal"
                break
            if self._deadline is not None and time.perf_counter() > self._deadline:
                ended = "time limit"
                break
            if self._individuals >= self._problem.N:
                ended = "stalled"
                break
            if width > _PROGRESS * last:
                self._individuals *= 2
        assert best is not None
        return Outcome(self._spread(best), proof.tilt, proof.multiplier, self._iterations, ended)

    def _first_proof(self) -> _Proof:
        """Duals from a weighted sample of the outcomes."""
        problem = self._problem
        doubt = problem.loss.min(axis=0)
        weights = problem.p_z + (doubt / doubt.sum() if doubt.any() else 0.0)
        index, times = sample(weights, _DRAWS * self._individuals)
        share = times / weights[index]
        p_xz, loss = problem.p_xz[:, index] * share, problem.loss[:, index] * share
        total = p_xz.sum()
        drawn = Problem(p_xz / total, loss / total, problem.constraint)
        if (drawn.p_x > 0).all() and not _slack(drawn):
            outcome = self._interior(drawn, _SAMPLE_GAP)
            return self._prove(outcome.tilt, outcome.multiplier, None)
        return self._prove(np.zeros((problem.m, problem.n)), 0.0, None)

    def _interior(self, problem: Problem, gap: float) -> Outcome:
        condensed = condense(problem, RARE * self._gap)
        smaller = condensed.problem
        outcome = solve_interior(
            model_of(smaller), smaller.bayes_estimator, gap=gap, max_iterations=self._max_iterations, deadline=self._deadline
        )
        self._iterations += outcome.iterations
        return replace(outcome, estimator=condensed.restore(outcome.estimator))

    def _prove(self, tilt: Array, multiplier: float, before: _Proof | None) -> _Proof:
        """Make duals feasible and pass over the outcomes; the threshold is adjusted until about enough are listed."""
        problem = self._problem
        feasible = repair_duals(problem, tilt, multiplier)
        if feasible is None:
            feasible = np.zeros_like(tilt), math.inf if problem.constraint.perfect else 0.0
        wanted = min(self._individuals, problem.N)
        threshold = self._quantile(feasible[0], wanted) if before is None else _threshold(before, wanted)
        for _ in range(_ADJUSTMENTS):
            found = scan(problem.p_xz, problem.loss, feasible[0], threshold, threads=self._threads)
            price = 0.0 if problem.constraint.perfect else feasible[1] * problem.budget
            proof = _Proof(*feasible, threshold, found, found.total - price)
            if wanted / 4 <= found.listed.size <= 4 * wanted or found.listed.size == problem.N:
                break
            threshold = _threshold(proof, wanted)
        return proof

    def _quantile(self, tilt: Array, wanted: int) -> float:
        """A margin that about `wanted` outcomes do not exceed, from an even subsample."""
        problem = self._problem
        part = slice(None, None, max(1, problem.N // _SUBSAMPLE))
        tilted = problem.loss[:, part] + tilt @ problem.p_xz[:, part]
        two = np.partition(tilted, 1, axis=0)[:2]
        margins = np.sort((two[1] - two[0]) / problem.p_z[part])
        share = wanted / problem.N
        visible = max(share, _VISIBLE)
        return float(margins[min(margins.size - 1, int(visible * margins.size))] * share / visible)

    def _solve_small(self, proof: _Proof, width: float) -> _Round:
        """The interior point on individuals and cells, as exact as the present bracket makes worthwhile."""
        problem, found = self._problem, proof.found
        n = problem.n
        p_xz = np.concatenate([problem.p_xz[:, found.listed], found.cells[:, :n].T], axis=1)
        loss = np.concatenate([problem.loss[:, found.listed], found.cells[:, n:].T], axis=1)
        small = Problem(p_xz, loss, problem.constraint)
        gap = max(_SHARE_OF_GAP * self._gap, min(_COARSEST_GAP, 1e-3 * width))
        outcome = self._interior(small, gap)
        return _Round(outcome, proof, small.error_probability(outcome.estimator))

    def _improve(self, proof: _Proof, outcome: Outcome) -> _Proof:
        """The proof of the new tilt, or of one part of the way to it: never worse than the one at hand."""
        for step in _STEPS:
            tilt = proof.tilt + step * (outcome.tilt - proof.tilt)
            multiplier = outcome.multiplier
            if step < 1.0 and math.isfinite(multiplier):
                multiplier = proof.multiplier + step * (multiplier - proof.multiplier)
            better = self._prove(tilt, multiplier, proof)
            if better.bound > proof.bound:
                return better
        return (
            proof if proof.found.listed.size >= self._individuals / 2 else self._prove(proof.tilt, proof.multiplier, proof)
        )

    def _spread(self, best: _Round) -> Array:
        """The estimator over all outcomes: each has the column of its individual or cell in the small problem."""
        problem, source = self._problem, best.source
        group = member(problem.p_xz, problem.loss, source.tilt, source.threshold, source.found, threads=self._threads)
        return best.outcome.estimator[:, group]


def _slack(problem: Problem) -> bool:
    return problem.bayes_leakage <= problem.budget


def _threshold(proof: _Proof, wanted: int) -> float:
    """A margin that about `wanted` outcomes do not exceed, from the counts of a pass."""
    listed = proof.found.listed.size
    if listed >= wanted:
        return proof.threshold * wanted / listed
    counts = np.bincount(proof.found.keys % SHELLS, weights=proof.found.counts, minlength=SHELLS)
    reached = listed + np.cumsum(counts)
    return shell_top(int(np.searchsorted(reached, wanted)))
