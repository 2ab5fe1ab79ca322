"""What `verify` says of a solution that the judge certified: one sentence for everything that it contradicts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.backends.solution import Solution, Status
from discreet.problems.problem import Problem
from discreet.verification import Verification, verify


def second_opinion(solution: Solution, gap: float) -> tuple[Verification | None, list[str]]:
    """What is proven of a certified solution, and a sentence for every contradiction.

    At positive budgets the numbers of the certificate must hold, but for the outward rounding of what `verify` shows. It
    divides losses by the exact total of the law, which in a problem may differ from 1 by rounding. At budget 0 they are
    those of an estimator that is private up to a tolerance; the one of the solution's file must be exactly private, and as
    good within the gap (relative) that was asked for. None without python-flint, and for what is not certified.
    """
    if solution.status is not Status.CERTIFIED:
        return None, []
    try:
        found = verify(solution.problem, solution)
    except ImportError:
        return None, []
    return found, contradictions(solution, found, gap)


def contradictions(solution: Solution, found: Verification, gap: float) -> list[str]:
    """A sentence for everything in the certificate of a solution, of whatever status, that `verify` contradicts."""
    judged, faults = solution.certificate, []
    assert judged is not None  # it is what was verified
    if not found.budget_kept:
        faults.append(f"the estimator leaks {found.leakage[0]!r} to {found.leakage[1]!r} of {found.budget!r} nats")
    slack = Fraction(gap * judged.upper if solution.problem.constraint.perfect else 0.0)
    total = sum((Fraction(part) for part in np.ravel(_totals(solution)).tolist()), Fraction(0))
    if Fraction(found.error[0]) * total > Fraction(judged.upper) + slack:
        faults.append(f"the estimator errs with probability {found.error[0]!r}, above the upper bound {judged.upper!r}")
    if Fraction(judged.lower) > Fraction(math.nextafter(found.lower_bound, math.inf)) * total + slack:
        faults.append(f"the duals prove {found.lower_bound!r}, less than the lower bound {judged.lower!r}")
    return faults


def _totals(solution: Solution) -> Any:
    """The exact masses of the private values, in two parts."""
    problem = solution.problem
    return problem.marginal if isinstance(problem, Problem) else (problem.p_x,)
