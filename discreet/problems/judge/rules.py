"""A rule as a case for the judge: one pass over the outcomes, each seen once and forgotten.

- The law of (X, Ŷ) is linear in the estimator, and of a rule it is a sum of p(x_j, z_l) over the outcomes of each label,
  kept in twice the working precision, plus what the few ties and tie classes change. Blending towards a guess that ignores
  the outcome is done on those m·n numbers; no second pass is needed.
- The lower side needs Σ_l min_i of tilted losses under feasible duals, which is Σ_l of those of the rule's own labels less
  what these lose; the loss is bounded outcome by outcome, with its rounding (`label_doubt`).
- The totals π_j are those of the outcomes themselves, found in the same pass. What the problem says they are only serves to
  make the duals feasible beforehand; the difference is made good afterwards.

A last outcome "rest", into which a source put a tail (`BlockProblem.tail`), counts fully for the upper side. For the lower
side it stands for outcomes that were not seen: of them only that losses are ≥ 0 and that their mass is the rest's is used,
so that Σ min_i ≥ −Σ_j max_i(−t_ij)⁺ rest_j. The bound then holds for the problem before truncation.

Source: docs/theory.md (the certificate; truncation).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.problems.blocks import ArrayBlocks, BlockProblem, Blocks, Chunk, in_order, threads_for
from discreet.problems.checks import TOTAL_TOLERANCE
from discreet.problems.errors import InputError
from discreet.problems.judge.conclusion import Duals, End, Worth, numbers, usable_duals
from discreet.problems.measures.law import OutputLaw, faint_lift, law_of
from discreet.problems.measures.mutual_information import support_ceiling
from discreet.problems.numerics.double_double import Array, DoubleDouble, dd_add, dd_dot, dd_sum
from discreet.problems.numerics.estimators import column_error
from discreet.problems.numerics.label_sums import Tally, tally_for
from discreet.problems.numerics.rounding import SMALLEST, SUM_ROUNDING, UNIT
from discreet.problems.numerics.tilted_losses import in_order_losses, most_wasted
from discreet.problems.problem import Problem
from discreet.problems.rule import Rule

__all__ = ["Progress", "RuleCase"]

Progress = Callable[[int, int], None]
_Last = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class _Drawn:
    """What the outcomes that draw their guess change in the sums by label; dd stands for double-double.

    joint    Σ_l (P_l − its label) a_l, row j times 2^lift_j             dd [m, n]
    loss     Σ_l (P_l − its label)·L_l                                   dd []
    random   Σ_l P_l a_l over the entries of P that are neither 0 nor 1  [m, n], times 2^lift_j
    error    how far a column is from summing to one, at most
    missed   what products too small for a number may add to the loss
    worst    max_il P_il r_il / w_l
    """

    joint: DoubleDouble
    loss: DoubleDouble
    random: Array
    error: float
    missed: float
    worst: float

    @classmethod
    def of(
        cls,
        rule: Rule,
        start: int,
        p_xz: Array,
        loss: Array,
        tilt: Array,
        lift: NDArray[np.int32],
        near: NDArray[np.intp] | None,
    ) -> _Drawn | None:
        """Those among consecutive outcomes, under feasible duals; None if there are none. near: see `Rule.drawn_in`."""
        places, columns = rule.drawn_in(start, p_xz, loss, near)
        if not places.size:
            return None
        p_xz, loss = p_xz[:, places], loss[:, places]
        counted, lifted = -np.eye(rule.m)[:, rule.labels(p_xz, loss)], np.ldexp(p_xz, lift[:, None])
        return cls(
            dd_add(*(dd_dot(weights[:, None, :], lifted[None, :, :]) for weights in (counted, columns))),
            dd_add(*(dd_dot(weights.ravel(), loss.ravel()) for weights in (counted, columns))),
            np.where(columns == 1.0, 0.0, columns) @ lifted.T,
            column_error(columns),
            SMALLEST * np.count_nonzero((columns > 0.0) & (loss > 0.0)),
            most_wasted(columns, in_order_losses(p_xz, loss, tilt), p_xz.sum(axis=0)),
        )

    def plus(self, other: _Drawn | None) -> _Drawn:
        """Both together."""
        if other is None:
            return self
        return _Drawn(
            dd_add(self.joint, other.joint),
            dd_add(self.loss, other.loss),
            self.random + other.random,
            max(self.error, other.error),
            self.missed + other.missed,
            max(self.worst, other.worst),
        )


class RuleCase:
    """A rule for outcomes in memory or in blocks, with optional duals: its own tilt where none is given."""

    anchors: tuple[End, ...] = ()  # they would take the outcomes again

    def __init__(
        self,
        problem: Problem | BlockProblem,
        rule: Rule,
        tilt: Array | None,
        multiplier: float | None,
        threads: int,
        progress: Progress | None,
        compiled: bool | None = None,
    ) -> None:
        """Pass over the outcomes once.

        Raises InputError for wrong shapes, and for blocks that are not what the problem says: entries that are negative or
        not numbers, another number of outcomes, totals that differ by more than 1e-9.
        """
        numbers("rule's tilt", rule.tilt, (problem.m, problem.n))
        if rule.ties.size and rule.ties[-1] >= problem.N:
            raise InputError(f"outcome {rule.ties[-1]} is listed as a tie, but the problem has {problem.N} outcomes")
        self._problem, self.answer, self.constraint = problem, rule, problem.constraint
        self.blocks: Blocks = (
            problem.blocks if isinstance(problem, BlockProblem) else ArrayBlocks(problem.p_xz, problem.loss)
        )
        self._tilt, self._multiplier = usable_duals(problem, rule.tilt if tilt is None else tilt, multiplier)
        self._lift = faint_lift(problem.p_x)
        self._sums, self._drawn, self._last = self._pass(threads, progress, compiled)
        self._marginal = dd_add(*(dd_sum(part.T) for part in self._sums.joint))
        self._total = float(self._marginal[0].sum())
        self.constant_errors = np.asarray(self._sums.errors[0] / self._total)
        self._check_totals()
        self._plain = self._without_share()
        self.own = self._worth(rule)

    # -- the pass ------------------------------------------------------------------------------------------------------

    def _pass(self, threads: int, progress: Progress | None, compiled: bool | None) -> tuple[Tally, _Drawn | None, _Last]:
        """Sums under the labels, what draws change in them, and the last outcome."""
        rule, outcomes = self.answer, self._problem.N
        count = tally_for(outcomes, compiled)

        def work(chunk: Chunk) -> tuple[int, Tally, _Drawn | None, _Last]:
            a, loss = chunk.read()
            sums = count(a, loss, rule.tilt, self._tilt, rule.band)
            if not sums.smallest >= 0.0:
                raise InputError(
                    f"outcomes {chunk.start} … {chunk.start + chunk.count - 1} hold an entry {sums.smallest!r}; "
                    "every p_xz and loss must be a number ≥ 0"
                )
            drawn = _Drawn.of(rule, chunk.start, a, loss, self._tilt, self._lift, sums.near)
            return chunk.count, sums, drawn, (a[:, -1].copy(), loss[:, -1].copy())

        found: tuple[Tally, _Drawn | None, _Last] | None = None
        visited = 0
        for size, sums, drawn, last in in_order(self.blocks.chunks(), threads_for(self.blocks, threads), work):
            if found is not None:
                sums = found[0].plus(sums)
                drawn = drawn if found[1] is None else found[1].plus(drawn)
            found = sums, drawn, last
            visited += size
            if progress is not None:
                progress(visited, outcomes)
        if found is None or visited != outcomes:
            raise InputError(
                f"the blocks hold {visited} outcomes but the problem says {outcomes}; give one problem one source"
            )
        return found

    def _check_totals(self) -> None:
        """Refuse blocks whose totals are not those of the problem."""
        problem = self._problem
        if not isinstance(problem, BlockProblem):
            return
        gap = float(np.abs(self._marginal[0] - problem.p_x).max())
        same = np.array_equal(faint_lift(self._marginal[0]) > 0, self._lift > 0)
        if not (abs(self._total - 1.0) <= TOTAL_TOLERANCE and gap <= TOTAL_TOLERANCE and same):
            raise InputError(
                f"the blocks sum to {self._total!r} and their p_x is up to {gap:g} from the problem's; give the totals found"
            )
        if not np.allclose(self.constant_errors, problem.constant_errors, rtol=TOTAL_TOLERANCE, atol=0.0):
            raise InputError(
                f"the blocks' losses of constant guesses are {self.constant_errors.tolist()} and the problem says "
                f"{np.asarray(problem.constant_errors).tolist()}; give the totals found"
            )

    # -- the upper side ------------------------------------------------------------------------------------------------

    def _without_share(self) -> Worth:
        """The worth of the rule when no outcome is ignored; totals other than one are divided out."""
        sums, drawn, m, lift, total = self._sums, self._drawn, self.answer.m, self._lift, self._total
        joint = np.ldexp(sums.joint[0], lift), np.ldexp(sums.joint[1], lift)
        loss, doubt, missed = sums.loss, 0.0, 0.0
        self.blended_doubt = SUM_ROUNDING
        if drawn is not None:
            joint, loss, missed = dd_add(joint, drawn.joint), dd_add(loss, drawn.loss), drawn.missed
            share = np.divide(drawn.random, joint[0], out=np.ones_like(drawn.random), where=joint[0] > 0.0)
            share_drawn = float(np.minimum(1.0, share).max())
            doubt = drawn.error * share_drawn
            self.blended_doubt += (m + 1) * UNIT * share_drawn
        law = law_of(joint, self._marginal, lift)
        if total != 1.0:  # its ratios stay as they are
            law = OutputLaw(law.mass / total, law.deviation / total / total, law.p_x / total)
        error = max(0.0, float(loss[0] + loss[1])) / total
        # Of the sums little is lost; the total was divided out, columns sum to one within m + 1 units, also where blended.
        return Worth(law, error, (m + 16) * UNIT, missed if error < 1e-290 else 0.0, doubt + SUM_ROUNDING)

    def _worth(self, rule: Rule) -> Worth:
        """The worth of the rule with some share of the outcomes ignored."""
        plain, share = self._plain, rule.share
        if share == 0.0:
            return plain
        ignoring = OutputLaw(rule.towards, np.zeros_like(plain.law.deviation), plain.law.p_x)
        law = ignoring if share == 1.0 else plain.law.blend(ignoring, share)
        error = (1.0 - share) * plain.error + share * float(self.constant_errors @ rule.towards)
        missed = plain.missed + (SMALLEST * 2 * rule.m if error < 1e-290 else 0.0)
        return Worth(law, error, plain.rounding, missed, self.blended_doubt)

    def blended(self, share: float, end: End) -> tuple[Rule, Worth]:
        """The rule with a larger share of ignored outcomes."""
        rule = self.answer.blended(share, end.answer)
        return rule, self._worth(rule)

    # -- the lower side ------------------------------------------------------------------------------------------------

    def duals(self) -> Iterator[Duals]:
        """Those under which the pass was made, lowered by what the totals found differ from those that were stated."""
        tilt, sums, total = self._tilt, self._sums, self._total
        shift, size = self._shift(), float(np.abs(tilt).max())
        doubt = sums.doubt if size > 0.0 or sums.wasted > 0.0 else 0.0  # without a tilt the losses are as they are stored
        parts = sums.least(tilt, doubt + self._unseen())
        if shift:
            parts = (*parts, -(shift + 4.0 * UNIT * (size + shift)) * total * (1.0 + 8.0 * UNIT))
        if total != 1.0 and all(map(math.isfinite, parts)):
            least = math.fsum(parts)
            parts = (least / total, -4.0 * UNIT * abs(least))
        yield Duals(tilt - shift if shift else tilt, self._multiplier, parts)

    def _shift(self) -> float:
        """By how much all tilts must still be lowered, since the totals of the outcomes are not those that were stated."""
        tilt, p_x = self._tilt, self._marginal[0] / self._total
        if np.array_equal(p_x, self._problem.p_x) or self.constraint.oblivious or not tilt.any():
            return 0.0
        possible = p_x > 0.0
        over = float(support_ceiling(tilt[:, possible], p_x[possible], self._multiplier).max())
        return 0.0 if over <= 0.0 else over + 2.0 * UNIT * (float(np.abs(tilt).max()) + over) + 8.0 * SMALLEST

    def _unseen(self) -> float:
        """How much better than the last outcome the outcomes that it stands for can be, at most; 0 where nothing was cut."""
        if not isinstance(self._problem, BlockProblem) or self._problem.tail == 0.0:
            return 0.0
        mass, loss = self._last
        reached = float(in_order_losses(mass[:, None], loss[:, None], self._tilt).min())
        possible = float(np.maximum(-self._tilt, 0.0).max(axis=0) @ mass)
        return max(0.0, reached + possible) * (1.0 + 2.0**-30) + (abs(reached) + possible) * 2.0**-40

    def worst_entry(self, answer: Rule, tilt: Array) -> float:
        """max_il P_il r_il / w_l; not known of a blended rule. `tilt` differs from the pass's by a shift only."""
        if answer.share > 0.0:
            return math.inf
        return self._sums.astray if self._drawn is None else max(self._sums.astray, self._drawn.worst)
