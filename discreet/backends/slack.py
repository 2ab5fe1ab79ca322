"""The slack budget: the plain Bayes rule already satisfies it, and is then optimal."""

from __future__ import annotations

import numpy as np

from discreet.backends.contract import Answer
from discreet.backends.precision import Precision
from discreet.measures.law import distance_from_private
from discreet.problems.constraint import Term
from discreet.problems.problem import Problem

SLACK = "optimal: the Bayes rule keeps the budget"
"""The claim of a backend in this case."""


def bayes_answer(problem: Problem, precision: Precision) -> Answer | None:
    """Return the Bayes rule with zero duals if it satisfies the budgets (always if n = 1 or m = 1),
    otherwise None.
    """
    if not all(
        _keeps(problem, number, term, precision) for number, term in enumerate(problem.terms)
    ):
        return None
    nothing = np.zeros((problem.m, problem.n))
    return Answer(problem.bayes_estimator, nothing, np.zeros(len(problem.terms)))


def _keeps(problem: Problem, number: int, term: Term, precision: Precision) -> bool:
    if term.budget.perfect:
        groups = problem.bayes_law.constraints[number]
        return all(distance_from_private(group) <= Precision.private for group in groups)
    if term.budget.oblivious:
        return True  # summing in another order may change the leakage by up to the undercut
    most = term.budget.amount * (1.0 + precision.undercuts[number])
    # The upper bound is only formed if the estimate lies within the budget.
    within = problem.bayes_law.leakages[number] <= most
    return bool(within and problem.bayes_leakages[number] <= most)
