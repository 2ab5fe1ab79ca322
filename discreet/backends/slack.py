"""The slack budget: the plain Bayes rule already keeps it, and is then optimal."""

from __future__ import annotations

import numpy as np

from discreet.backends.contract import Answer
from discreet.backends.precision import Precision
from discreet.problems.measures.law import distance_from_private
from discreet.problems.problem import Problem

SLACK = "optimal: the Bayes rule keeps the budget"
"""What a backend claims then."""


def bayes_answer(problem: Problem, precision: Precision) -> Answer | None:
    """The Bayes rule with zero duals if it keeps the budget (always when n = 1 or m = 1), else None."""
    if problem.constraint.perfect:
        keeps = distance_from_private(problem.bayes_law) <= Precision.private
    else:  # summing in another order may change the leakage by the undercut
        keeps = problem.constraint.oblivious or problem.bayes_leakage <= problem.budget * (1.0 + precision.undercut)
    return Answer(problem.bayes_estimator, np.zeros((problem.m, problem.n)), 0.0) if keeps else None
