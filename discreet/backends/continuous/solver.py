"""The best continuous rule, to a certified relative gap: partition, solve, refine at the boundaries, finish, certify.

1. If the plain Bayes rule keeps the budget it is optimal.
2. A partition at the quantiles of all densities is a discrete problem; `tilt` solves it. Its estimator is a rule that keeps
   the budget (an upper bound), its tilt is dual feasible for the continuous problem as it is (a lower bound).
3. The tilted Bayes rule of that tilt has its boundaries at roots of differences of tilted densities: they are found to the
   last bit, and become edges of the partition, as do the middles of cells that still randomise. Only the neighbourhood of
   boundaries is ever refined; the gap falls with the square of the cells there.
4. Newton's method on the boundaries (`finish`) usually gets the rest of the digits at once, also at perfect privacy, where
   it yields a deterministic rule. What it proposes counts only if it improves the certificate.

Repeat 2-4 until the certified gap is met.

Source: docs/theory.md, "Continuous measurements".
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.backends.continuous.boundaries import Boundaries, trace
from discreet.backends.continuous.finish import finish
from discreet.backends.continuous.tidy import cut, tidied
from discreet.backends.contract import Options
from discreet.backends.run import solve
from discreet.backends.solution import Status
from discreet.problems.continuous import ContinuousCertificate, ContinuousProblem, IntervalRule, certify_rule, sweep
from discreet.problems.continuous.certificate import Judged
from discreet.problems.continuous.validation import midpoints
from discreet.problems.errors import BackendError, InputError
from discreet.problems.numerics.double_double import Array

__all__ = ["ContinuousSolution", "solve_continuous"]

_ROUNDS = 30
_DISCRETE_GAP = 1e-10
_FINEST = 1e-12
_TRIFLE = 1e-9
_STALLED_ROUNDS = 6


@dataclass(frozen=True, eq=False)
class ContinuousSolution:
    """What solving gave; every number is that of the certificate.

    rule         the rule returned: intervals with exact boundaries; it keeps the budget
    tilt         [m, n], dual feasible: the optimal rule is argmin_i L_i(z) + Σ_j t_ij p(x_j, z)
    multiplier   μ ≥ 0 (inf at perfect privacy)
    rounds       discrete problems solved
    """

    problem: ContinuousProblem
    status: Status
    rule: IntervalRule
    tilt: Array
    multiplier: float
    certificate: ContinuousCertificate
    rounds: int
    solve_seconds: float

    @property
    def error_probability(self) -> float:
        """Error probability of `rule`."""
        return self.certificate.upper

    @property
    def leakage(self) -> float:
        """Leakage of `rule` in nats."""
        return self.certificate.leakage

    @property
    def equivocation(self) -> float:
        """H(X given Ŷ) of `rule` in nats."""
        return self.problem.entropy_x - self.leakage

    @property
    def relative_gap(self) -> float:
        """Certified (upper − lower) / upper."""
        return self.certificate.relative_gap

    def guess(self, z: Any, rng: np.random.Generator | None = None) -> NDArray[np.intp]:
        """Guesses for measurements of any shape; `rng` where the rule randomises."""
        return self.rule(z, rng)

    def __repr__(self) -> str:
        return (
            f"ContinuousSolution({self.status.value}, error probability {self.error_probability:.12g}, "
            f"gap {self.relative_gap:.1e}, {self.rule.edges.size - 1} intervals, "
            f"leakage {self.leakage:.6g} of {self.problem.budget:g} nats)"
        )


def solve_continuous(
    problem: ContinuousProblem, gap: float = 1e-8, *, time_limit: float | None = None
) -> ContinuousSolution:
    """Solve to a certified relative gap. The status is CERTIFIED when it is met, INACCURATE otherwise.

    time_limit: seconds after which no further round is begun. Raises InputError for a gap outside (0, 1).
    """
    if not isinstance(problem, ContinuousProblem):
        raise InputError(f"solve_continuous needs a ContinuousProblem, not a {type(problem).__name__}; use solve for others")
    Options(gap, time_limit)  # one place says what a gap and a time limit may be
    started = time.perf_counter()
    search = _Search(problem, gap)
    rounds = 0
    if not search.try_bayes():
        while rounds < _ROUNDS and not search.done:
            rounds += 1
            search.round()
            if time_limit is not None and time.perf_counter() - started > time_limit:
                break
    best = search.tidy(search.result())
    status = Status.CERTIFIED if best.certificate.relative_gap <= gap else Status.INACCURATE
    seconds = time.perf_counter() - started
    return ContinuousSolution(
        problem, status, best.rule, best.tilt, best.multiplier, best.certificate, rounds, seconds
    )  # fmt: skip


class _Search:
    """The best rule and the best duals so far, which need not come from the same round, and the partition."""

    def __init__(self, problem: ContinuousProblem, gap: float) -> None:
        self.problem, self.gap = problem, gap
        self.edges = _first_partition(problem)
        self.upper: Judged | None = None
        self.lower: Judged | None = None
        self.waiting = 0

    @property
    def done(self) -> bool:
        """The bracket is narrow enough, or nothing has narrowed it for a while."""
        return self.width <= self.gap or self.waiting >= _STALLED_ROUNDS

    @property
    def width(self) -> float:
        """Relative width of the bracket."""
        if self.upper is None or self.lower is None:
            return math.inf
        top = self.upper.certificate.upper
        return (top - self.lower.certificate.lower) / top if top > 0.0 else 0.0

    def consider(self, judged: Judged) -> None:
        """Keep what improves either side."""
        if self.upper is None or judged.certificate.upper < self.upper.certificate.upper:
            self.upper = judged
        if self.lower is None or judged.certificate.lower > self.lower.certificate.lower:
            self.lower = judged

    def try_bayes(self) -> bool:
        """Whether the plain Bayes rule keeps the budget; then it is the answer."""
        nothing = np.zeros((self.problem.m, self.problem.n))
        found = trace(self.problem, nothing, sweep(self.problem, nothing, 0.02 * self.gap * self.problem.constant_error))
        rule = found.rule(self.problem.m)
        if rule.output_law(self.problem).leakage_ceiling(self.problem.accuracy) > self.problem.budget:
            return False
        self.consider(self.judge(rule, nothing, 0.0))
        return self.width <= self.gap

    def round(self) -> None:
        """Solve on the partition, finish from its boundaries, refine the partition."""
        before = self.width
        solution = solve(self.problem.on(self.edges), "tilt", gap=_DISCRETE_GAP)
        if solution.estimator is None or solution.tilt is None or solution.multiplier is None:
            raise BackendError(f"the discrete problem of a partition was not solved: {solution.message}")
        rule = IntervalRule(self.edges, solution.estimator)
        judged = self.judge(rule.simplified(), solution.tilt, solution.multiplier)
        self.consider(judged)
        found = trace(self.problem, judged.tilt, judged.swept)
        self.finish(found, judged.tilt, judged.multiplier)
        self.edges = _refined(self.edges, solution.estimator, found.positions)
        self.waiting = 0 if self.width < 0.9 * before else self.waiting + 1

    def finish(self, found: Boundaries, tilt: Array, multiplier: float) -> None:
        """Newton's proposal from these boundaries, and the boundaries themselves, if they are any good."""
        if self.width <= self.gap:
            return
        finished = finish(self.problem, found, tilt, multiplier)
        if finished is None:
            self.consider(self.judge(found.rule(self.problem.m), tilt, multiplier))
            return
        self.consider(self.judge(finished.boundaries.rule(self.problem.m), finished.tilt, finished.multiplier))

    def judge(self, rule: IntervalRule, tilt: Array, multiplier: float) -> Judged:
        """The certificate of a rule and duals."""
        return certify_rule(self.problem, rule, tilt, multiplier, gap=self.gap)

    def result(self) -> Judged:
        """The best rule judged together with the best duals."""
        if self.upper is None or self.lower is None:
            raise BackendError("no rule was found")
        if self.upper is self.lower:
            return self.upper
        both = self.judge(self.upper.rule.simplified(), self.lower.tilt, self.lower.multiplier)
        return both if both.certificate.gap < self.upper.certificate.gap else self.upper

    def tidy(self, best: Judged) -> Judged:
        """The answer with fewer intervals and without a coin, if such a rule is as good as was asked."""
        if best.rule.deterministic or best.certificate.relative_gap > self.gap:
            return best
        merged = tidied(self.problem, best.rule, best.tilt)
        rules = [cut(self.problem, merged), merged]
        if not self.problem.constraint.perfect:
            again = self.again(merged, best)
            rules = [cut(self.problem, again), *rules, again]
        for rule in rules:
            judged = self.judge(rule, best.tilt, best.multiplier)
            if judged.certificate.relative_gap <= self.gap and judged.rule.edges.size < best.rule.edges.size:
                return judged
        return best

    def again(self, merged: IntervalRule, best: Judged) -> IntervalRule:
        """Solved once more on few intervals, a trifle under the budget, so that rounding cannot push it above."""
        discrete = self.problem.on(merged.edges).with_budget(self.problem.budget * (1.0 - _TRIFLE))
        solution = solve(discrete, "tilt", gap=_FINEST)
        if solution.estimator is None:
            return merged
        return tidied(self.problem, IntervalRule(merged.edges, solution.estimator), best.tilt)


def _first_partition(problem: ContinuousProblem) -> Array:
    """Quantiles and breakpoints of every density, and their middles."""
    inner = np.unique(np.concatenate([problem.quantiles, problem.breakpoints]))
    edges = np.concatenate([[-np.inf], inner, midpoints(inner[:-1], inner[1:]), [np.inf]])
    return np.unique(edges)


def _refined(edges: Array, estimator: Array, roots: Array) -> Array:
    """The partition with edges at the roots, and cells that randomise halved."""
    random = (estimator.max(axis=0) < 1.0 - 1e-6) & np.isfinite(edges[:-1]) & np.isfinite(edges[1:])
    halves = midpoints(edges[:-1][random], edges[1:][random])
    return np.unique(np.concatenate([edges, roots, halves]))
