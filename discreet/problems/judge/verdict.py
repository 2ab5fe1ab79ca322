"""The judge's one entry point: `certify` takes an answer and returns a `Verdict`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar, cast

from discreet.problems.blocks import BlockProblem
from discreet.problems.certificate import Verdict
from discreet.problems.errors import InputError
from discreet.problems.judge.cases import MatrixCase, Progress, RuleCase
from discreet.problems.judge.conclusion import Case, conclude
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem
from discreet.problems.rule import Rule

if TYPE_CHECKING:
    from discreet.problems.continuous.model import ContinuousProblem

_Answer = TypeVar("_Answer")


def certify(
    problem: Problem | BlockProblem | ContinuousProblem,
    answer: _Answer,
    tilt: Array | None = None,
    multiplier: float | None = None,
    *,
    anchors: Iterable[Array] = (),
    threads: int = 0,
    progress: Progress | None = None,
) -> Verdict[_Answer]:
    """Judge an answer with optional duals (tilt t [m, n], multiplier μ; sign conventions of docs/theory.md).

    problem   in memory, in blocks, or of densities
    answer    an estimator [m, N] or a rule for a problem in memory, a rule for blocks, a rule on intervals for densities
    tilt, multiplier   a rule's own tilt is the default. Without μ (at budget 0: without t) the bound is the Bayes error
    anchors   estimators [m, N] to blend a matrix towards; each is checked before it is used
    threads   for large problems: 0 = all cores; results do not depend on it
    progress  called with (outcomes seen, N) while a rule is judged

    Law: if no blend towards an anchor is used, the certificates of a rule and of its matrix agree up to rounding.

    Raises InputError for wrong shapes, and for blocks that contradict the problem: entries that are negative or not numbers,
    another number of outcomes, totals that differ by more than 1e-9.
    """
    case: Case
    if not isinstance(problem, Problem | BlockProblem):
        from discreet.problems.continuous.rule import IntervalRule
        from discreet.problems.judge.densities import DensityCase

        if not isinstance(answer, IntervalRule):
            raise InputError(f"the judge was given a {type(answer).__name__} for densities; give an IntervalRule")
        case = DensityCase(problem, answer, tilt, multiplier)
    elif isinstance(answer, Rule):
        case = RuleCase(problem, answer, tilt, multiplier, threads, progress)
    elif isinstance(problem, Problem):
        case = MatrixCase(problem, cast("Array", answer), tilt, multiplier, anchors)
    else:
        raise InputError("the judge was given a matrix for a problem in blocks; give a Rule, or a Problem in memory")
    return conclude(case, case.blocks if isinstance(case, RuleCase) else None)
