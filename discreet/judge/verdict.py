"""The entry points of the judge: `certify` returns a `Verdict` of an answer; `leaks` evaluates an
answer by every measure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import ArrayLike

from discreet.judge.cases import JudgedAnswer, Progress
from discreet.judge.conclusion import conclude
from discreet.numerics.double_double import Array
from discreet.problems.blocks import BlockProblem
from discreet.problems.certificate import Verdict
from discreet.problems.constraint import LeakageBudget, each_entry
from discreet.problems.leaks import Leak, Odds, leaks_of
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from discreet.problems.causal.model import CausalProblem
    from discreet.problems.continuous.model import ContinuousProblem

_Answer = TypeVar("_Answer")


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
