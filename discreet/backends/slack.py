"""The slack budget: the plain Bayes rule already keeps it, and is then optimal."""

from __future__ import annotations

import numpy as np

from discreet.backends.contract import Answer
from discreet.problems.measures.law import LEAK_FREE, phi_residual
from discreet.problems.problem import Problem

__all__ = ["bayes_answer"]

_ROUNDING = 1e-12  # relative, of a budget: what summing in another order may change


def bayes_answer(problem: Problem) -> Answer | None:
    """The Bayes rule with zero duals if it keeps the budget (always when n = 1 or m = 1), else None."""
    if problem.constraint.perfect:
        keeps = phi_residual(problem.output_law(problem.bayes_estimator)) <= LEAK_FREE
    else:
        keeps = problem.constraint.oblivious or problem.bayes_leakage <= problem.budget * (1.0 + _ROUNDING)
    return Answer(problem.bayes_estimator, np.zeros((problem.m, problem.n)), 0.0) if keeps else None
