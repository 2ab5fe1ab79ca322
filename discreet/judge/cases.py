"""An answer to a problem as sums, computed in one pass over the outcomes, and the entry points of
the judge: `certify` and `leaks`.

Every rule is judged on a problem over outcomes: a rule on intervals on its own partition, a rule
for guesses over time as the matrix of all guesses given all measurements. A rule that lists the
guess of every outcome is summed again when it is blended. The law of (X, Ŷ) is linear in the
estimator, so for any other rule, blending towards a guess that is independent of the outcome
changes only m·n numbers. The totals stated by a problem in blocks make the duals feasible before
the pass; the totals summed in the pass correct them afterwards.

Source: docs/theory.md, sections 8 (the certificate), 17 (densities), 18 (one pass; truncation) and
24 (guesses over time).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import are_masses
from discreet.errors import InputError
from discreet.judge.conclusion import (
    DualBound,
    End,
    Worth,
    conclude,
    round_up,
    usable_duals,
    worth_of_guess,
)
from discreet.judge.privacy import Group, Moves, Privacy, distance, groups_of, privacy
from discreet.measures.law import faint_lift
from discreet.numerics.double_double import (
    BLOCK,
    Array,
    DoubleDouble,
    Split,
    dd_add,
)
from discreet.numerics.estimators import column_error
from discreet.numerics.label_strips import compiled_pays
from discreet.numerics.rounding import SMALLEST, UNIT
from discreet.numerics.sums import Sums, block_sums, sums_of_strips, totals
from discreet.numerics.tilted_losses import in_order_losses
from discreet.problems.blocks import BlockProblem
from discreet.problems.certificate import Verdict
from discreet.problems.constraint import Constrained, LeakageBudget, each_entry
from discreet.problems.duals import feasible_for, no_multipliers
from discreet.problems.folds import fold
from discreet.problems.laws import Law, laws_of
from discreet.problems.leaks import Leak, Odds, leaks_of
from discreet.problems.outcomes import Blocks, Chunk, Kind
from discreet.problems.private_rows import PrivateRows
from discreet.problems.problem import Problem
from discreet.problems.rule import EXACT, Rule

if TYPE_CHECKING:
    from discreet.problems.causal.model import CausalProblem
    from discreet.problems.continuous.model import ContinuousProblem

_Answer = TypeVar("_Answer")
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class _PassSums:
    """The result of a pass over consecutive outcomes under a rule.

    outcomes   number of outcomes
    sums       sums under the rule and the duals
    totals     of (p_xz, loss), for problems in blocks      double-double [n + m]
    last       p_xz [n] and loss [m] of the last outcome, for problems in blocks
    moves      moves that the drawn guesses allow, if the guess must be private
    """

    outcomes: int
    sums: Sums
    totals: DoubleDouble
    last: tuple[Array, Array]
    moves: list[Moves]


def _merge_sums(parts: list[_PassSums]) -> _PassSums:
    """Merge the results for consecutive outcomes."""
    return _PassSums(
        sum(part.outcomes for part in parts),
        reduce(Sums.plus, [part.sums for part in parts]),
        reduce(dd_add, [part.totals for part in parts]),
        parts[-1].last,
        [move for part in parts for move in part.moves],
    )


@dataclass(frozen=True, eq=False)
class _Visit:
    """The work of the judge on one chunk: the sums under a rule and a feasible tilt.

    lift      exponents that keep products of rare private values from underflow   [n]
    compiled  True if clear outcomes are summed by compiled code
    streamed  True if the outcomes come in blocks, which are checked and added up
    private   groups of rows that must be private
    p_x       prior of the problem                                                 [n]
    rows      the split rows of the only chunk, or None
    """

    rule: Rule
    tilt: Array
    lift: Any
    compiled: bool
    streamed: bool
    private: PrivateRows
    p_x: Array
    rows: Split | None

    def __call__(self, chunk: Chunk) -> _PassSums:
        """Return the sums over a chunk."""
        a, loss = chunk.read()
        outcomes = np.arange(chunk.start, chunk.start + chunk.count)
        clear = self.rule.clear(chunk.start, a, loss, self.tilt) if self.compiled else None
        parts = []
        last = counted = (np.zeros(0), np.zeros(0))
        if self.streamed:
            last = (a[:, -1].copy(), loss[:, -1].copy())
        if clear is not None:
            parts.append(sums_of_strips(clear, self.lift))
            outcomes = outcomes[clear.unclear]
            a = a[:, clear.unclear]
            loss = loss[:, clear.unclear]
        if self.streamed:
            if not are_masses(a, loss):
                raise InputError(
                    f"outcomes {chunk.start} … {chunk.start + chunk.count - 1} hold an entry that "
                    "is negative, above "
                    "1e150 or not a number; every p_xz and loss must be a number ≥ 0"
                )
            counted = totals(a, loss, clear)
        batches = list[Moves]()
        rows = self.rows if clear is None else None
        for start in range(0, outcomes.size, BLOCK):
            here = outcomes[start : start + BLOCK]
            masses = a[:, start : start + BLOCK]
            costs = loss[:, start : start + BLOCK]
            decided = self.rule.decisions(here, masses, costs)
            parts.append(block_sums(decided, masses, costs, self.tilt, self.lift, rows))
            if self.private and decided.places.size:
                drawn = here[decided.places]
                batches.append(Moves.of(decided, drawn, masses, costs, self.p_x, self.private))
        moves = [Moves.joined(batches)] if batches else batches
        return _PassSums(chunk.count, reduce(Sums.plus, parts), counted, last, moves)


class JudgedAnswer:
    """An answer to a problem with optional duals; by default the rule's own tilt is used.

    answer, own       the given rule, and its worth
    totals            totals of the outcomes, and error probabilities of the constant guesses
    blocks            the outcomes, for a rule that does not list their guesses; else None
    """

    def __init__(
        self,
        problem: Constrained,
        rule: Rule,
        tilt: Array | None,
        multipliers: Array | None,
        threads: int = 0,
        progress: Progress | None = None,
        compiled: bool | None = None,
    ) -> None:
        """Pass over the outcomes once.

        Raises InputError for duals of wrong shapes, and for blocks that contradict the problem:
        entries that are negative or not numbers, a different number of outcomes, totals that differ
        by more than 1e-9.
        """
        self._problem = problem
        self.answer = rule
        self.terms = problem.terms
        self._tilt, self._multipliers = usable_duals(
            problem, rule.tilt if tilt is None else tilt, multipliers
        )
        self._discrete = rule.discrete(problem)
        model = self._discrete.problem
        self._model = model
        self._threads = threads
        self._progress = progress
        if compiled is None:
            compiled = model.rows is None and compiled_pays(model.N)
        self._compiled = compiled
        self._lift = faint_lift(model.p_x)
        self._private = PrivateRows.of(self.terms, model.p_x)
        result = self._pass(rule, self._tilt)
        self._sums = result.sums
        self._last = result.last
        self.totals = model.totals(result.totals)
        self._plain = self._worth(rule, result)
        self.own = self._ignoring_some(rule)

    @property
    def blend_doubt(self) -> float:
        """Return an upper bound of the `doubt` of a blend."""
        return self.answer.blend_doubt(self._plain.doubt)

    @property
    def blocks(self) -> Blocks | None:
        """Return the outcomes that an `OutcomeRule` applies to, or None."""
        single_pass = self._model is self._problem and not self.answer.explicit
        return self._model.blocks if single_pass else None

    def _pass(self, rule: Rule, tilt: Array) -> _PassSums:
        """Return the sums under the rule and the tilt, totals of the outcomes, and the last
        outcome.
        """
        model = self._model
        visited = 0

        def seen(count: int) -> None:
            nonlocal visited
            visited += count
            if self._progress is not None:
                self._progress(visited, model.N)

        visit = _Visit(
            rule,
            tilt,
            self._lift,
            self._compiled,
            model.streamed,
            self._private,
            model.p_x,
            model.rows,
        )
        if model.kind is Kind.ARRAYS and model.rows is not None:  # of one chunk
            return visit(Chunk(0, model.N, lambda: (model.p_xz, model.loss)))
        result: _PassSums = fold(model.blocks, visit, _merge_sums, threads=self._threads, seen=seen)
        if result.outcomes != model.N:
            raise InputError(
                f"the blocks hold {result.outcomes} outcomes, but the problem states "
                f"{model.N}; "
                "make the problem anew from these blocks"
            )
        return result

    def _worth(self, rule: Rule, result: _PassSums) -> Worth:
        """Return the worth of a rule from its pass, for a total probability of one, before blending
        in its share of ignored outcomes.

        If a column does not sum to one, the missing mass is an uncertainty in every entry that
        depends on the draw.
        """
        sums = result.sums
        self._latest = rule, sums
        lift = self._lift
        marginal = self.totals.marginal
        constraints = self.totals.constraints
        inexact = rule.inexact(self._discrete)
        lost = sums.lost + inexact.vanished
        law = laws_of(sums.joint, marginal, lift, self.terms, constraints, lost)
        error = max(0.0, float(sums.loss[0] + sums.loss[1]))
        missed = sums.missed
        total = constraints[0]
        if total != 1.0:
            # The quotient may be subnormal.
            missed = 2.0 * missed + (SMALLEST if error > 0.0 else 0.0)
            error /= total
        doubt = sums.doubt + inexact.relative
        if sums.column_error > 0.0:
            doubt += sums.column_error * sums.drawn_share()
        private = self._private
        tied = private.tied
        verdict = Privacy(math.inf)
        if private:
            doubt += inexact.relative_to(law.groups[0])  # for every entry, and hence the totals π_j
            groups = groups_of(law, self.terms)
            accuracy = sums.doubt
            if private.gains.size:
                accuracy += (private.gains.shape[1] + 2) * UNIT  # rounding of an outcome's gain
                joint = private.extend_sums(sums.joint, lift)
                marginal = private.extend_sums(marginal, np.zeros_like(lift))
                laws = private.gain_laws(joint, marginal)
                groups += [Group(rows, each, True) for rows, each in laws]
            # Errors of the masses would make the cost of moves uncertain.
            moves = result.moves if inexact is EXACT else []
            verdict = privacy(groups, moves, marginal, doubt, accuracy)
        elif np.any(inexact.joint):
            ((group,),) = law.constraints
            law = Law(((replace(group, off=group.off + inexact.joint),),))
        if tied and verdict.within == 0.0:
            unproven = private.without_proven(law)
            gained = unproven.ceilings(doubt + verdict.change)
            if gained[list(tied)].any():
                # The moves may let other actions gain, so the leakage of the stored answer is used.
                verdict = Privacy(verdict.stored)
            else:
                law = unproven
        upper = round_up(error + verdict.rise + inexact.loss, sums.column_error, missed)
        upper *= 1.0 + 2.0 * inexact.relative
        return Worth(law, error, upper, doubt, verdict.within, verdict.moves, verdict.change, tied)

    def _worth_of(self, rule: Rule) -> Worth:
        return self._worth(rule, self._pass(rule, self._tilt))

    def _ignoring_some(self, rule: Rule) -> Worth:
        """Return the worth of the rule after blending its share towards a guess that is independent
        of the outcome.
        """
        plain = self._plain
        share = rule.share
        if share == 0.0:
            return plain
        end = worth_of_guess(rule.towards, self.totals.errors, plain.law)
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
        # The guess that ignores the outcome has perfect privacy, so the blend is at least as
        # private as the rule.
        within = min(plain.within, max(private, default=math.inf))
        return Worth(law, error, upper, doubt, within, plain.moves, plain.change, plain.tied)

    def blended(self, share: float, end: End) -> tuple[Rule, Worth]:
        """Return the blend (1 − share)·answer + share·end, and its worth as it is stored."""
        rule = self.answer.blended(share, end.answer)
        if rule.share == 0.0 and rule is not self.answer:
            if share == 1.0 and rule.draws_exactly(end.answer):
                more = 2.0 * rule.inexact(self._discrete).loss
                return rule, replace(end.worth, upper=end.worth.upper + more)
            self._plain = self._worth_of(rule)
        return rule, self._ignoring_some(rule)

    @property
    def anchors(self) -> Iterator[End]:
        """Yield further answers to blend towards; they are read only if a budget is exceeded."""
        for rule, moved in self.answer.anchors(self._problem):
            yield End(rule.answer, self._worth_of(rule), moved)

    def duals(self) -> Iterator[DualBound]:
        """Yield the given duals, and, if they are cheap, zero duals, which prove the Bayes
        error.
        """
        problem = self._problem
        error = self.own.error
        if self.answer.explicit:
            zero = np.zeros_like(self._tilt), no_multipliers(self.terms)
            yield DualBound(*zero, problem.least(*zero, error, None))
        if self._tilt.any() or not self.answer.explicit:
            least_losses = self._sums.least(self._tilt, self._lift)
            parts = problem.least(self._tilt, self._multipliers, error, least_losses)
            duals = DualBound(self._tilt, self._multipliers, parts)
            yield self._correct_duals(duals) if self._model.streamed else duals

    def _correct_duals(self, duals: DualBound) -> DualBound:
        """Return duals that are feasible for the totals of the pass, which may differ from those
        stated, and the bound that they prove.
        """
        marginal = self.totals.marginal[0]
        totals = self.totals.constraints
        priors = [marginal[term.rows] / each for term, each in zip(self.terms, totals, strict=True)]
        prior = np.concatenate(priors)
        tilt = duals.tilt
        multipliers = duals.multipliers
        lowered = 0.0
        if tilt.any() and not np.array_equal(prior, self._problem.p_x):
            tilt, multipliers = feasible_for(tilt, multipliers, prior, self.terms)
            # Every least tilted loss falls by at most Σ_j max_i (t_ij − t'_ij) a_jl.
            fall = (duals.tilt - tilt).max(axis=0, initial=0.0)  # a gain does not count
            lowered = float(fall @ marginal) + SMALLEST * marginal.size
        parts = (*duals.parts, -(self._unseen() + lowered) * (1.0 + 2.0**-30))
        total = totals[0]
        if all(map(math.isfinite, parts)):
            bound = math.fsum(parts)
            # The sum, the total and the quotient are each rounded once.
            parts = (bound / total, -4.0 * UNIT * abs(bound), -SMALLEST)
        surplus = max(0.0, max(totals) / total * (1.0 + 4.0 * UNIT) - 1.0)
        return DualBound(tilt, multipliers, parts, surplus)

    def _unseen(self) -> float:
        """Return an upper bound of how far Σ min_i F_il of the truncated outcomes lies below that
        of the last outcome; 0 without truncation.
        """
        if self._problem.tail == 0.0:
            return 0.0
        mass, loss = self._last
        reached = float(in_order_losses(mass[:, None], loss[:, None], self._tilt).min())
        possible = float(np.maximum(-self._tilt, 0.0).max(axis=0) @ mass)
        return (
            max(0.0, reached + possible) * (1.0 + 2.0**-30) + (abs(reached) + possible) * 2.0**-40
        )

    def worst_entry(self, answer: Rule, tilt: Array) -> float:
        """Return max_il P_il r_il / w_l of a (repaired) answer. It is inf, meaning unknown, for
        densities, guesses over time, and blended rules that do not list their guesses.
        """
        if self._model is not self._problem or answer.share > 0.0:
            return math.inf
        rule, sums = self._latest
        # For a rule that does not list its guesses, the tilt differs from the tilt of the pass only
        # by a shift.
        if answer.explicit and not (rule is answer and tilt is self._tilt):
            sums = self._pass(answer, tilt).sums
        # For each constraint, the rows of an outcome sum to w_l.
        return sums.worst * len(self.terms)


def certify(
    problem: Problem | BlockProblem | ContinuousProblem | CausalProblem,
    answer: _Answer,
    tilt: Array | None = None,
    multiplier: ArrayLike | None = None,
    *,
    anchors: Iterable[Array] = (),
    threads: int = 0,
    progress: Progress | None = None,
) -> Verdict[_Answer]:
    """Judge an answer with optional duals (tilt t [m, n], multiplier μ; sign conventions of
    docs/theory.md).

    problem      in memory, in blocks, of densities, or of guesses over time
    answer       an estimator [m, N] or a rule for a problem in memory, a rule for blocks, a rule on
                 intervals for densities, a causal rule for guesses over time
    tilt         default: the rule's own tilt, if it has one. Without a multiplier (at budget 0:
                 without a tilt) the lower bound is the Bayes error
    multiplier   a number, or an array [C] with one multiplier for each constraint
    anchors      estimators [m, N] to blend a matrix towards; each is checked before it is used
    threads      for large problems: 0 = all cores; results do not depend on it
    progress     called with (outcomes seen, N) while a rule is judged

    Law: if no blend towards an anchor is used, the certificates of a rule and of its matrix agree
    up to rounding.

    Raises InputError for wrong shapes, and for blocks that contradict the problem: entries that are
    negative or not numbers, a different number of outcomes, totals that differ by more than 1e-9.
    """
    rule = problem.rule_of(answer, anchors)
    multipliers = None
    if multiplier is not None:
        multipliers = each_entry("multiplier", multiplier, len(problem.terms))
    return conclude(JudgedAnswer(problem, rule, tilt, multipliers, threads, progress))


def leaks(
    problem: Problem | BlockProblem | ContinuousProblem | CausalProblem,
    answer: Any,
    *,
    threads: int = 0,
) -> tuple[tuple[Leak, ...], Odds | None]:
    """Return the leakage of an answer as it was given, by every measure, and the guess that changes
    odds most; in one pass.

    With several secrets, every secret is measured; a secret given another variable is measured only
    by its own measure. Raises InputError under the same conditions as `certify`.
    """
    limits = [LeakageBudget(math.inf, term.measure) for term in problem.terms]
    free = problem.with_budget(limits)
    worth = JudgedAnswer(free, free.rule_of(answer), None, None, threads).own
    return leaks_of(worth.law, worth.doubt, [term.measure for term in problem.terms])
