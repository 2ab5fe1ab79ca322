"""Calls of the judge that tests share: only its lower bound, rules judged by the NumPy or compiled
pass, and what certificates claim, in exact arithmetic.
"""

from dataclasses import replace
from fractions import Fraction

import exactly
import numpy as np

from discreet.judge.cases import JudgedAnswer
from discreet.judge.conclusion import DualBound, Worth, _bound, conclude
from discreet.measures.law import OutputLaw
from discreet.numerics.tilted_losses import in_order_losses
from discreet.problems.laws import Law
from discreet.problems.outcome_rules import Matrix


def lower_bound(problem, tilt, multiplier):
    """The bound that feasible duals prove by themselves."""
    best = np.argmin(in_order_losses(problem.p_xz, problem.loss, tilt), axis=0)
    case = JudgedAnswer(problem, Matrix(np.eye(problem.m)[:, best]), None, None)
    mass = np.full(problem.m, 1.0 / problem.m)
    even = Law(((OutputLaw(mass, np.zeros((problem.m, problem.n)), problem.p_x),),))
    parts = case._pass(case.answer, tilt).sums.least(tilt, case._lift)
    return _bound(
        problem.terms,
        DualBound(tilt, np.array([multiplier]), parts),
        Worth(even, 0.0, 0.0, within=0.0),
    )


def assert_bound_proven(problem, verdict):
    """The duals are feasible and prove at least the lower bound, in exact arithmetic."""
    if not problem.constraint.oblivious:
        assert exactly.support(problem, verdict.tilt, verdict.multiplier) <= 0
    lower = verdict.certificate.lower
    if lower > 0.0:
        assert Fraction(lower) <= exactly.bound(problem, verdict.tilt, verdict.multiplier)


def assert_optimum_bracketed(problem, certificate):
    """The bracket holds the least error of all estimators that are private within what is stated,
    in exact arithmetic.
    """
    optimum = exactly.perfect_privacy_optimum(problem, certificate.private_within)
    assert Fraction(certificate.lower) <= optimum <= Fraction(certificate.upper)


def certify_rule(problem, rule, multiplier, *, threads=0, progress=None, compiled=None):
    """`certify` of a rule with its own tilt, by the NumPy or the compiled pass."""
    return conclude(
        JudgedAnswer(
            problem,
            problem.rule_of(rule),
            None,
            np.array([multiplier]),
            threads,
            progress,
            compiled,
        )
    )


def restated(certificate, **changes):
    """The certificate with other numbers about its only constraint."""
    return replace(certificate, terms=(replace(certificate.only, **changes),))
