"""Calls of the judge that tests share: its upper or lower bound alone, and rules judged by the
NumPy or compiled pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from discreet.judge.cases import Case
from discreet.judge.conclusion import Duals, Worth, _bound, _within_budget, conclude
from discreet.measures.law import OutputLaw
from discreet.numerics.double_double import Array
from discreet.numerics.tilted_losses import in_order_losses
from discreet.problems.blocks import BlockProblem
from discreet.problems.certificate import Certificate, Verdict
from discreet.problems.laws import Law
from discreet.problems.problem import Problem
from discreet.problems.rule import Matrix, OutcomeRule

__all__ = ["Repaired", "certify_rule", "lower_bound", "repaired", "restated"]


class Repaired(NamedTuple):
    """A feasible estimator, its law and error probability, and the share of another estimator that
    was blended in.
    """

    estimator: Array
    law: OutputLaw
    error: float
    share: float


def repaired(problem: Problem, estimator: Array, anchors: Iterable[Array] = ()) -> Repaired:
    """The judge's repair alone, which gives the upper bound."""
    answer, worth, share = _within_budget(
        Case(problem, problem.rule_of(estimator, anchors), None, None)
    )
    return Repaired(answer.answer, worth.law.groups[0], worth.error, share)


def lower_bound(problem: Problem, tilt: Array, multiplier: float) -> float:
    """The bound that feasible duals prove by themselves."""
    best = np.argmin(in_order_losses(problem.p_xz, problem.loss, tilt), axis=0)
    case = Case(problem, Matrix(np.eye(problem.m)[:, best]), None, None)
    mass = np.full(problem.m, 1.0 / problem.m)
    even = Law(((OutputLaw(mass, np.zeros((problem.m, problem.n)), problem.p_x),),))
    parts = case._pass(case.answer, tilt).sums.least(tilt, case._lift)
    return _bound(
        problem.terms, Duals(tilt, np.array([multiplier]), parts), Worth(even, 0.0, 0.0, within=0.0)
    )


def certify_rule(
    problem: Problem | BlockProblem,
    rule: OutcomeRule,
    multiplier: float,
    *,
    threads: int = 0,
    progress: Callable[[int, int], None] | None = None,
    compiled: bool | None = None,
) -> Verdict[OutcomeRule]:
    """`certify` of a rule with its own tilt, by the NumPy or the compiled pass."""
    return conclude(
        Case(
            problem,
            problem.rule_of(rule),
            None,
            np.array([multiplier]),
            threads,
            progress,
            compiled,
        )
    )


def restated(certificate: Certificate, **changes: Any) -> Certificate:
    """The certificate with other numbers about its only constraint."""
    return replace(certificate, terms=(replace(certificate.only, **changes),))
