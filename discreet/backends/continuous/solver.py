"""Backend `intervals`: the best rule for a continuous measurement, as finitely many intervals with
exact boundaries.

If the plain Bayes rule keeps the budget it is optimal. Otherwise rounds as in docs/theory.md,
section 17 ("Solving"), until the bracket is within the gap: `tilt` solves the discrete problem of a
partition; the boundaries under its tilt (`boundaries`) and the middles of cells that randomise
become edges; Newton's method on the boundaries (`polish`) usually finds the remaining digits at
once, and counts only if it narrows the bracket. The bracket is the backend's own; the judge
certifies the answer. Rounds end when only the accuracy of the distribution functions is left.

Cannot: measurements in several dimensions (`sampled` brackets those by draws); prove more than the
stated accuracy of densities and distribution functions allows. At the time limit the subdivision of
the first round ends wherever it is, and its bracket is valid.
"""

from __future__ import annotations

import math
import time

import numpy as np

from discreet.backends.attempts import ask, matrix
from discreet.backends.continuous.boundaries import Boundaries, trace
from discreet.backends.continuous.polish import aim_within, polish
from discreet.backends.continuous.tidy import cut_draws, tidy_rule
from discreet.backends.contract import Answer, Capabilities, Kind, Options, Raw, Regime, Unlifted
from discreet.backends.precision import Precision
from discreet.backends.repairs import within_budget
from discreet.backends.tilt.backend import Tilt
from discreet.measures.law import distance_from_private
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import normalise
from discreet.problems.certificate import NEGLIGIBLE
from discreet.problems.continuous.bound import SweptCells
from discreet.problems.continuous.model import ContinuousProblem
from discreet.problems.continuous.rule import IntervalRule
from discreet.problems.duals import change_with_prior, feasible_duals
from discreet.problems.roots import midpoints


class Intervals(Unlifted):
    """Intervals whose boundaries are exact; see the module's docstring."""

    name = "intervals"
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=0,
        gives_duals=True,
        method=(
            "partitions refined at the boundaries of the tilted Bayes rule, then Newton's "
            "method on these"
        ),
        citation="discreet, docs/theory.md, Continuous measurements",
        kinds=frozenset({Kind.DENSITIES}),
        method_class="structured",
    )

    def lower(self, problem: ContinuousProblem, options: Options) -> _Search:
        """The first partition: quantiles and breakpoints of every density, and their middles."""
        return _Search(problem, Precision.of(problem, options.gap))

    def solve(self, lowered: _Search, options: Options) -> Raw[Answer]:
        """Refine until the bracket is within the gap; no round is begun after the time limit.
        `iterations` are rounds.
        """
        lowered.deadline = options.deadline()
        most = options.max_iterations or 30
        rounds = 0
        if not lowered.try_bayes():
            while not lowered.done and rounds < most and (rounds == 0 or lowered.time_left > 0.0):
                rounds += 1
                lowered.round()
                if options.progress is not None:
                    options.progress(f"round {rounds}", lowered.lower, lowered.upper)
        claimed = f"stopped after {rounds} rounds"
        if lowered.optimal:
            claimed = "optimal"
        elif lowered.explained:
            claimed = "stopped: the accuracy of the distribution functions sets the gap"
        rule = lowered.tidy() if lowered.time_left > 0.0 else lowered.rule
        return Raw(claimed, Answer(rule, lowered.tilt, np.array([lowered.multiplier])), rounds)


class _Search:
    """The partition, the best rule and the best duals so far, which need not come from the same
    round.

    aim        budget of the next partition: below the problem's by what inexact masses may hide
    upper      error probability of `rule`, which keeps the budget
    within     how far from perfect privacy the errors of masses may put the rule, at budget 0
    lower      what `tilt` and `multiplier` prove
    allowance  the part of it lost to the inaccuracy of the functions
    """

    def __init__(self, problem: ContinuousProblem, precision: Precision) -> None:
        self.problem = problem
        self.precision = precision
        self.deadline = math.inf
        self.aim = problem.budget
        self.gap = precision.bracket
        inner = np.unique(np.concatenate([problem.quantiles, problem.breakpoints]))
        self.edges = np.unique(
            np.concatenate([[-np.inf], inner, midpoints(inner[:-1], inner[1:]), [np.inf]])
        )
        self.rule = IntervalRule.from_labels([], [0], problem.m)
        self.upper = math.inf
        self.tilt = np.zeros((problem.m, problem.n))
        self.multiplier = 0.0
        self.lower = -math.inf
        self.allowance = 0.0
        self.within = 0.0
        self.waiting = 0

    @property
    def time_left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.perf_counter()

    @property
    def done(self) -> bool:
        """Whether the bracket is narrow enough, or six rounds in a row have hardly narrowed it. One
        such round is enough within the gap asked for, as partitions grow with every round.
        """
        patience = 1 if self.optimal else 6
        return self.narrow or self.waiting >= patience

    @property
    def optimal(self) -> bool:
        """Whether the bracket, and what may leak at budget 0, are within the gap asked for."""
        return self.width + self.leak_allowance <= self.precision.gap

    @property
    def narrow(self) -> bool:
        """Whether the bracket is within the gap, or hardly wider than the accuracy of the functions
        makes it.
        """
        return self._width_beyond(self.allowance) <= max(self.gap, 0.1 * self.leak_allowance)

    @property
    def explained(self) -> bool:
        """Whether the bracket would be within the gap asked for if functions were exact: they are
        charged in the lower bound, and in what the rule may leak.
        """
        law = self.rule.output_law(self.problem)
        hidden = self.multiplier * (self.problem.budget - aim_within(self.problem, law))
        charged = self.allowance + (hidden if math.isfinite(hidden) else 0.0)
        return self._width_beyond(charged) <= max(self.precision.gap, 0.1 * self.leak_allowance)

    def _width_beyond(self, charged: float) -> float:
        """The relative width of the bracket beyond what is charged."""
        return self.width - charged / max(self.upper, NEGLIGIBLE)

    @property
    def leak_allowance(self) -> float:
        """The widening of a bracket at budget 0 by inexact masses, relative to its upper end."""
        return self.within * self._price / max(self.upper, NEGLIGIBLE)

    @property
    def _price(self) -> float:
        """Cost of a rule's distance from perfect privacy per unit, at most."""
        if not self.problem.constraint.perfect:
            return 0.0
        return float(change_with_prior(self.tilt, math.inf, self.problem.p_x).max())

    @property
    def width(self) -> float:
        """Relative width of the bracket."""
        if not math.isfinite(self.upper - self.lower):
            return math.inf
        return (self.upper - self.lower) / max(self.upper, NEGLIGIBLE)

    def offer_rule(self, rule: IntervalRule) -> None:
        """Keep the rule, moved within the budget, if it is the best so far."""
        kept, error = _within_budget(self.problem, rule)
        within = _private_within(self.problem, kept)
        if error + self._price * within < self.upper + self._price * self.within:
            self.rule = kept
            self.upper = error
            self.within = within

    def offer_duals(self, tilt: Array, multiplier: float) -> tuple[Array, float, SweptCells]:
        """Keep the duals, made feasible, if they prove most so far; return them and the subdivision
        behind their bound.
        """
        problem = self.problem
        none = np.zeros_like(tilt), math.inf if problem.constraint.perfect else 0.0
        tilt, multiplier = feasible_duals(tilt, multiplier, problem.p_x, problem.budget) or none
        target = self.precision.small * min(self.upper, problem.constant_error)
        swept = problem.bound_losses(tilt, multiplier, target, self.deadline)
        lower = swept.value
        if 0.0 < problem.budget < math.inf:
            lower -= multiplier * problem.budget
        if lower > self.lower:
            self.tilt = tilt
            self.multiplier = multiplier
            self.lower = lower
            self.allowance = swept.allowance
        return tilt, multiplier, swept

    def try_bayes(self) -> bool:
        """Whether the plain Bayes rule keeps the budget; then it is the answer."""
        tilt, _, swept = self.offer_duals(np.zeros_like(self.tilt), 0.0)
        rule = trace(self.problem, tilt, swept).rule(self.problem.m)
        if rule.output_law(self.problem).leakage_ceiling() > self.problem.budget:
            return False
        self.offer_rule(rule)
        return self.width <= self.gap

    def round(self) -> None:
        """Solve on the partition, polish from its boundaries, refine the partition."""
        before = self.width
        partition = self.problem.with_budget(self.aim).on(self.edges)
        options = Options(self.precision.small, time_limit=max(self.time_left, 1e-3))
        answer = ask(Tilt(), partition, options).answer
        assert answer is not None
        assert answer.tilt is not None  # `tilt` always states one
        estimator = normalise(matrix(partition, answer.estimator))
        rule = IntervalRule(self.edges, estimator).simplified()
        self.offer_rule(rule)
        self.aim = aim_within(self.problem, rule.output_law(self.problem))
        multipliers = answer.multipliers
        price = math.inf if multipliers is None else float(multipliers[0])
        tilt, multiplier, swept = self.offer_duals(answer.tilt, price)
        boundaries = trace(self.problem, tilt, swept)
        roots = boundaries.positions
        if self.width > self.gap:
            roots = self._polish(boundaries, tilt, multiplier)
        self.edges = refine_partition(self.edges, estimator, roots)
        self.waiting = 0 if self.width < Precision.stalled * before else self.waiting + 1

    def _polish(self, start: Boundaries, tilt: Array, multiplier: float) -> Array:
        """Offer what Newton's method makes of the boundaries; return the edges to add."""
        polished = polish(self.problem, start, tilt, multiplier, self.precision, self.deadline)
        if polished is None:
            self.offer_rule(start.rule(self.problem.m))
            return start.positions
        self.offer_rule(polished.boundaries.rule(self.problem.m))
        self.offer_duals(polished.tilt, polished.multiplier)
        return np.union1d(start.positions, polished.boundaries.positions)

    def tidy(self) -> IntervalRule:
        """The best rule, or one with fewer intervals and without randomisation if that is within
        the gap too.
        """
        if self.rule.deterministic or self.width > self.gap:
            return self.rule
        merged = tidy_rule(self.problem, self.rule, self.tilt)
        for rule in (cut_draws(self.problem, merged), merged):
            kept, error = _within_budget(self.problem, rule)
            cost = error + self._price * _private_within(self.problem, kept)
            if (
                math.isfinite(error)
                and cost - self.lower <= self.gap * error
                and kept.edges.size < self.rule.edges.size
            ):
                return kept
        return self.rule


def _within_budget(problem: ContinuousProblem, rule: IntervalRule) -> tuple[IntervalRule, float]:
    """The rule, changed until it keeps the budget within the assumed accuracy of masses, and its
    error probability.
    """
    aim = aim_within(problem, rule.output_law(problem))
    discrete = problem.with_budget(aim).on(rule.edges)
    kept = IntervalRule(rule.edges, within_budget(discrete, rule.estimator))
    return kept, discrete.error_probability(kept.estimator)


def _private_within(problem: ContinuousProblem, rule: IntervalRule) -> float:
    """How far p(x_j given ŷ_i)/p(x_j) may be from 1, about as the judge finds it; 0 unless the
    budget is 0, and for a constant guess.
    """
    if not problem.constraint.perfect:
        return 0.0
    law = rule.output_law(problem)
    return distance_from_private(law) if np.count_nonzero(law.mass) > 1 else 0.0


def refine_partition(edges: Array, estimator: Array, roots: Array) -> Array:
    """The partition with edges at the roots, and the cells halved that randomise and touch a root.

    Where losses tie on a whole cell, halves of it would tie too.
    """
    first = np.searchsorted(roots, edges[:-1], side="left")
    last = np.searchsorted(roots, edges[1:], side="right")
    random = (
        (estimator.max(axis=0) < 1.0 - Precision.certain)
        & (first < last)
        & np.isfinite(edges[:-1])
        & np.isfinite(edges[1:])
    )
    halves = midpoints(edges[:-1][random], edges[1:][random])
    return np.unique(np.concatenate([edges, roots, halves]))
