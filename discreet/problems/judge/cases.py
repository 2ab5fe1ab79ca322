"""The judge's cases for a matrix [m, N] and for a rule: one pass gives the sums under the answer
and under the duals.

The repair of a matrix is again a matrix, which is summed anew. A rule is judged in one pass that
keeps no outcome: the law of (X, Ŷ) is linear in the estimator, so blending towards a guess that
ignores the outcome changes only its m·n numbers. The totals that a problem in blocks states make
the duals feasible before that pass; those found in it correct them afterwards.

Source: docs/theory.md, sections 8 (the certificate) and 18 (one pass; truncation).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from discreet.problems.blocks import ArrayBlocks, BlockProblem, Blocks, Chunk
from discreet.problems.checks import are_masses, real_numbers
from discreet.problems.constraint import Term
from discreet.problems.errors import InputError
from discreet.problems.folds import fold
from discreet.problems.judge.conclusion import (
    Duals,
    End,
    Inexact,
    Worth,
    usable_duals,
    worth_of,
    worth_of_guess,
)
from discreet.problems.judge.privacy import Moves, distance, groups_of
from discreet.problems.measures.duals import measure_of_tilts
from discreet.problems.measures.law import faint_lift, total_error, total_of
from discreet.problems.numerics.double_double import Array, DoubleDouble, dd_add, difference_below
from discreet.problems.numerics.estimators import Decisions, column_error, normalise
from discreet.problems.numerics.label_strips import compiled_pays
from discreet.problems.numerics.rounding import SMALLEST, UNIT
from discreet.problems.numerics.sums import Sums, clear_strips, sums_of_strips, sums_over, totals
from discreet.problems.numerics.tilted_losses import in_order_losses
from discreet.problems.private_rows import PrivateRows
from discreet.problems.problem import Problem
from discreet.problems.rule import OutcomeRule

Progress = Callable[[int, int], None]


class MatrixCase:
    """An estimator [m, N] of any numbers, with optional duals and anchors to blend towards."""

    def __init__(
        self,
        problem: Problem,
        estimator: Array,
        tilt: Array | None,
        multipliers: float | Array | None,
        anchors: Iterable[Array] = (),
        wrong: tuple[Array, Array] | None = None,
    ) -> None:
        """Raises InputError for wrong shapes and entries that are not real numbers.

        wrong: how far entries of `p_xz` [n, N] and `loss` [m, N] may be from the true ones, at
        most; None if they are exact.
        """
        self._problem = problem
        self._towards = anchors
        self._wrong = wrong
        self._tilt, self._multipliers = usable_duals(problem, tilt, multipliers)
        self._lift = faint_lift(problem.p_x)
        self.terms = problem.terms
        self.off = total_error(problem.marginal, problem.terms[0].rows)
        self._private = PrivateRows.of(problem.terms, problem.p_x)
        self.answer = normalise(real_numbers("estimator", estimator, (problem.m, problem.N)))
        self.own = self._worth(self.answer)
        self._sums = self._latest[1]
        # Rounding of the blended entries and their columns.
        self.blended_doubt = 2.0 * (problem.m + 1) * UNIT

    @property
    def constant_errors(self) -> Array:
        """Error probability of always guessing y_i [m]."""
        return self._problem.constant_errors

    def _sums_under(self, estimator: Array, tilt: Array, found: list[Moves] | None = None) -> Sums:
        p_xz = self._problem.p_xz
        loss = self._problem.loss

        def decide(block: slice) -> Decisions:
            decided = Decisions.of(estimator[:, block])
            if found is not None and decided.places.size:
                drawn = block.start + decided.places
                found.append(
                    Moves.of(
                        decided,
                        drawn,
                        p_xz[:, block],
                        loss[:, block],
                        self._problem.p_x,
                        self._private,
                    )
                )
            return decided

        return sums_over(decide, p_xz, loss, tilt, self._lift, self._problem.rows)

    def _worth(self, estimator: Array) -> Worth:
        found: list[Moves] | None = [] if self._private else None
        # What an exactly private rule costs is only known up to the errors of masses: such a rule
        # is not looked for.
        self._latest = (
            estimator,
            self._sums_under(estimator, self._tilt, found if self._wrong is None else None),
        )
        sums = self._latest[1]
        marginal = self._problem.marginal
        inexact = self._inexact(estimator)
        return worth_of(sums, marginal, self._lift, self.terms, None, found, inexact, self._private)

    def _inexact(self, estimator: Array) -> Inexact | None:
        if self._wrong is None:
            return None
        (wrong_mass, wrong_loss) = self._wrong
        spare = 1.0 + 2.0**-30
        return Inexact(
            estimator @ wrong_mass.T * spare, float((estimator * wrong_loss).sum()) * spare
        )

    def blended(self, share: float, end: End) -> tuple[Array, Worth]:
        """Entries are rounded and columns normalised again; at share 1 the end as it is."""
        towards = end.answer if end.answer.ndim == 2 else end.answer[:, None]
        if share == 1.0:
            estimator = np.array(np.broadcast_to(towards, self.answer.shape))
            inexact = self._inexact(estimator)
            return estimator, end.worth if inexact is None else replace(
                end.worth, upper=end.worth.upper + 2.0 * inexact.loss
            )
        estimator = normalise((1.0 - share) * self.answer + share * towards)
        return estimator, self._worth(estimator)

    @property
    def anchors(self) -> Iterator[End]:
        """The given anchors that have the right shape."""
        for anchor in self._towards:
            if np.shape(anchor) == self.answer.shape:
                estimator = normalise(np.asarray(anchor, dtype=np.float64))
                moved = 0.5 * float(np.abs(estimator - self.answer).sum(axis=0) @ self._problem.p_z)
                yield End(estimator, self._worth(estimator), moved)

    def duals(self) -> Iterator[Duals]:
        """Zero duals, which prove the Bayes error, and the given ones."""
        yield Duals(
            *usable_duals(self._problem, None, None),
            (self._problem.bayes_error * (1.0 - 4.0 * UNIT),),
        )
        if self._tilt.any():
            yield Duals(self._tilt, self._multipliers, self._sums.least(self._tilt, self._lift))

    def worst_entry(self, answer: Array, tilt: Array) -> float:
        """max_il P_il r_il / w_l."""
        known = answer is self._latest[0] and tilt is self._tilt
        worst = (self._latest[1] if known else self._sums_under(answer, tilt)).worst
        # The rows of an outcome add up to w_l once for each constraint.
        return worst * len(self.terms)


@dataclass(frozen=True, eq=False)
class _Found:
    """What a pass finds of consecutive outcomes under a rule.

    outcomes   how many they are
    sums       under the rule and the duals
    totals     of (p_xz, loss), of problems in blocks      double-double [n + m]
    last       the last outcome's p_xz [n] and loss [m]
    moves      where the guess must be private, those that its draws allow
    """

    outcomes: int
    sums: Sums
    totals: DoubleDouble
    last: tuple[Array, Array]
    moves: list[Moves]


def _together(parts: list[_Found]) -> _Found:
    """What was found of consecutive outcomes, put together."""
    return _Found(
        sum(part.outcomes for part in parts),
        reduce(Sums.plus, [part.sums for part in parts]),
        reduce(dd_add, [part.totals for part in parts]),
        parts[-1].last,
        [move for part in parts for move in part.moves],
    )


@dataclass(frozen=True, eq=False)
class _Visit:
    """The judge's work on one chunk: the sums under a rule and a feasible tilt.

    lift      exponents that keep products of rare private values from underflow   [n]
    compiled  whether clear outcomes are summed by compiled code
    streamed  whether the outcomes come in blocks, which are checked and added up
    private   groups of rows that must be private; p_x: of the problem   [n]
    """

    rule: OutcomeRule
    tilt: Array
    lift: Any
    compiled: bool
    streamed: bool
    private: PrivateRows
    p_x: Array

    def __call__(self, chunk: Chunk) -> _Found:
        """The sums over a chunk."""
        rule = self.rule
        (a, loss) = chunk.read()
        last = (a[:, -1].copy(), loss[:, -1].copy())
        clear = None
        parts = []
        if self.compiled:
            clear = clear_strips(
                self._without_ties(chunk.start, a), loss, rule.tilt, self.tilt, rule.band
            )
            parts.append(sums_of_strips(clear, self.lift))
            a = a[:, clear.unclear]
            loss = loss[:, clear.unclear]
        counted = (np.zeros(0), np.zeros(0))
        found = list[Moves]()
        if self.streamed:
            if not are_masses(a, loss):
                raise InputError(
                    f"outcomes {chunk.start} … {chunk.start + chunk.count - 1} hold an entry that "
                    "is negative, above "
                    "1e150 or not a number; every p_xz and loss must be a number ≥ 0"
                )
            counted = totals(a, loss, clear)
        if a.size:
            outcomes = chunk.start + (np.arange(chunk.count) if clear is None else clear.unclear)

            def decide(block: slice) -> Decisions:
                decided = rule.decisions(outcomes[block], a[:, block], loss[:, block])
                if self.private and decided.places.size:
                    drawn = outcomes[block][decided.places]
                    found.append(
                        Moves.of(
                            decided, drawn, a[:, block], loss[:, block], self.p_x, self.private
                        )
                    )
                return decided

            parts.append(sums_over(decide, a, loss, self.tilt, self.lift))
        moves = [Moves.joined(found)] if found else found
        return _Found(chunk.count, reduce(Sums.plus, parts), counted, last, moves)

    def _without_ties(self, start: int, p_xz: Array) -> Array:
        """The same outcomes with the mass of ties set to 0, so that no tie is clear."""
        ties = self.rule.ties[self.rule.ties_in(start, p_xz.shape[1])] - start
        if ties.size:
            p_xz = p_xz.copy()
            p_xz[:, ties] = 0.0
        return p_xz


class RuleCase:
    """A rule for outcomes in memory or in blocks, with optional duals; the default tilt is the
    rule's own.
    """

    anchors: tuple[End, ...] = ()  # each would need another pass

    def __init__(
        self,
        problem: Problem | BlockProblem,
        rule: OutcomeRule,
        tilt: Array | None,
        multipliers: float | Array | None,
        threads: int,
        progress: Progress | None,
        compiled: bool | None = None,
    ) -> None:
        """Pass over the outcomes once.

        Raises InputError for wrong shapes, and for blocks that contradict the problem: entries that
        are negative or not numbers, another number of outcomes, totals that differ by more than
        1e-9.
        """
        real_numbers("rule's tilt", rule.tilt, (problem.m, problem.n))
        if rule.ties.size and rule.ties[-1] >= problem.N:
            raise InputError(
                f"outcome {rule.ties[-1]} is listed as a tie, but the problem has "
                f"{problem.N} outcomes"
            )
        self._problem = problem
        self.answer = rule
        self.terms = problem.terms
        self._private = PrivateRows.of(problem.terms, problem.p_x)
        self.blocks: Blocks = (
            problem.blocks
            if isinstance(problem, BlockProblem)
            else ArrayBlocks(problem.p_xz, problem.loss)
        )
        self._tilt, self._multipliers = usable_duals(
            problem, rule.tilt if tilt is None else tilt, multipliers
        )
        self._lift = faint_lift(problem.p_x)
        self._compiled = compiled_pays(problem.N) if compiled is None else compiled
        found = self._pass(threads, progress)
        self._sums = found.sums
        (high, low) = found.totals
        self._last = found.last
        moves = found.moves
        if isinstance(problem, BlockProblem):
            self._marginal = high[: problem.n], low[: problem.n]
            self._totals = [total_of((high[term.rows], low[term.rows])) for term in self.terms]
            self._errors = high[problem.n :] / self._totals[0]
            problem.check_totals(self._marginal[0], self._totals, self._errors)
            self.off = 0.0
        else:
            self._marginal = problem.marginal
            self._totals = [1.0] * len(self.terms)
            self.off = total_error(problem.marginal, self.terms[0].rows)
        recorded = moves if self._private else None
        self._plain = worth_of(
            self._sums,
            self._marginal,
            self._lift,
            self.terms,
            self._totals,
            recorded,
            private=self._private,
        )
        self.blended_doubt = self._plain.doubt
        self.own = self._worth(rule)

    @property
    def constant_errors(self) -> Array:
        """Error probability of always guessing y_i [m]."""
        return self._problem.constant_errors if isinstance(self._problem, Problem) else self._errors

    def _pass(self, threads: int, progress: Progress | None) -> _Found:
        """Sums under the rule, totals of the outcomes, and the last outcome."""
        visited = 0

        def seen(count: int) -> None:
            nonlocal visited
            visited += count
            if progress is not None:
                progress(visited, self._problem.N)

        streamed = isinstance(self._problem, BlockProblem)
        visit = _Visit(
            self.answer,
            self._tilt,
            self._lift,
            self._compiled,
            streamed,
            self._private,
            self._problem.p_x,
        )
        found: _Found = fold(self.blocks, visit, _together, threads=threads, seen=seen)
        if found.outcomes != self._problem.N:
            raise InputError(
                f"the blocks hold {found.outcomes} outcomes, but the problem states "
                f"{self._problem.N}; "
                "make the problem anew from these blocks"
            )
        return found

    def _worth(self, rule: OutcomeRule) -> Worth:
        """The worth of the rule blended towards a guess that ignores the outcome, by the rule's
        share.
        """
        plain = self._plain
        share = rule.share
        if share == 0.0:
            return plain
        end = worth_of_guess(rule.towards, self.constant_errors, plain.law)
        if share == 1.0:
            return end
        law = plain.law.blend(end.law, share)
        error = (1.0 - share) * plain.error + share * end.error
        upper = ((1.0 - share) * plain.upper + share * end.upper) * (
            1.0 + 8.0 * UNIT
        ) + 4.0 * SMALLEST
        doubt = plain.doubt + column_error(rule.towards[:, None])
        private = [
            distance(group.law, doubt) for group in groups_of(law, self.terms) if group.perfect
        ]
        # The guess that ignores the outcome is exactly private, so the blend is as private as the
        # rule, or more.
        within = min(plain.within, max(private, default=math.inf))
        return Worth(law, error, upper, doubt, within, plain.moves, plain.shaken, plain.tied)

    def blended(self, share: float, end: End) -> tuple[OutcomeRule, Worth]:
        """The rule that ignores the outcome with a larger probability."""
        rule = self.answer.blended(share, end.answer)
        return rule, self._worth(rule)

    def duals(self) -> Iterator[Duals]:
        """The duals of the pass, lowered as far as the totals of the outcomes require."""
        tilt = self._tilt
        total = self._totals[0]
        shifts = self._shifts()
        unseen = self._unseen()
        parts = (*self._sums.least(tilt, self._lift), -unseen * (1.0 + 2.0**-30))
        for group, shift in shifts:
            mass = float(self._marginal[0][group].sum()) * (1.0 + 2.0**-30)
            parts = (*parts, -shift * mass * (1.0 + 8.0 * UNIT) - SMALLEST)
        if isinstance(self._problem, BlockProblem) and all(map(math.isfinite, parts)):
            least = math.fsum(parts)
            # Sum, total and quotient are rounded once each.
            parts = (least / total, -4.0 * UNIT * abs(least), -SMALLEST)
        uneven = (
            max(0.0, max(self._totals) / total * (1.0 + 4.0 * UNIT) - 1.0)
            if len(self._totals) > 1
            else 0.0
        )
        yield Duals(*self._lowered(shifts), parts, uneven)

    def _groups(self) -> Iterator[tuple[Term, float, slice, Array]]:
        """Each group of rows with its constraint, multiplier and prior, for the totals found."""
        for term, multiplier, total in zip(
            self.terms, self._multipliers.tolist(), self._totals, strict=True
        ):
            for group in term.groups:
                mass = self._marginal[0][group]
                yield (
                    term,
                    multiplier,
                    group,
                    mass / ((mass.sum() or 1.0) if term.measure.conditional else total),
                )

    def _lowered(self, shifts: Iterable[tuple[slice, float]]) -> tuple[Array, Array]:
        """The tilt, lowered, and the price of its multipliers for the totals found."""
        tilt = self._tilt
        if shifts:
            tilt = tilt.copy()
            for group, shift in shifts:
                tilt[:, group] = difference_below(tilt[:, group], np.full(1, shift))
        if not tilt.any():
            return tilt, self._multipliers
        prices = list[float]()
        for term, multiplier, group, p_x in self._groups():
            if group.start == term.rows.start:  # a measure of each guess has one group
                possible = p_x > 0.0
                fitting = measure_of_tilts(term.measure, term.budget.amount, possible)
                price = (
                    fitting.price(tilt[:, group][:, possible], p_x[possible], multiplier)
                    if term.priced
                    else multiplier
                )
                prices.append(price)
        return tilt, np.array(prices)

    def _shifts(self) -> list[tuple[slice, float]]:
        """By how much tilts of which rows must be lowered to be feasible for the totals found,
        which may differ from those stated.
        """
        found = []
        for term, multiplier, group, p_x in self._groups():
            own = self._tilt[:, group]
            stated = self._problem.p_x[group]
            if term.measure.conditional:
                stated = stated / (stated.sum() or 1.0)
            if np.array_equal(p_x, stated) or term.budget.oblivious or not own.any():
                continue
            possible = p_x > 0.0
            fitting = measure_of_tilts(term.measure, term.budget.amount, possible)
            over = float(
                fitting.ceiling(own[:, possible], p_x[possible], multiplier, term.level).max()
            )
            if term.measure.conditional:  # as in `feasible_for`
                over += 4.0 * UNIT * float(np.abs(own).max())
            if over > 0.0:
                found.append((group, over))
        return found

    def _unseen(self) -> float:
        """At most by how much Σ min_i F_il of the outcomes left out lies under that of rest; 0
        without truncation.
        """
        if not isinstance(self._problem, BlockProblem) or self._problem.tail == 0.0:
            return 0.0
        mass, loss = self._last
        reached = float(in_order_losses(mass[:, None], loss[:, None], self._tilt).min())
        possible = float(np.maximum(-self._tilt, 0.0).max(axis=0) @ mass)
        return (
            max(0.0, reached + possible) * (1.0 + 2.0**-30) + (abs(reached) + possible) * 2.0**-40
        )

    def worst_entry(self, answer: OutcomeRule, tilt: Array) -> float:
        """max_il P_il r_il / w_l; inf (unknown) for a blended rule. `tilt` differs from that of the
        pass by a shift only.
        """
        # As for a matrix.
        return math.inf if answer.share > 0.0 else self._sums.worst * len(self.terms)
