"""Duals of an estimator that came without, also when some guesses are never given.

For the guesses in use t_ij = μ log(p(x_j given ŷ_i)/π_j), with the μ that gives the best bound. Where Ŷ = y_i never happens
there is no posterior, yet a tilt that makes y_i look better than the guesses in use ruins the bound. With λ_l the least
tilted loss of the guesses in use, such a guess gets the t_i that solves

    maximise z   subject to   L_il + a_l·t_i − λ_l ≥ z w_l  for every l,   μ log Σ_j π_j e^{t_ij/μ} ≤ 0;

z ≥ 0 is reached exactly if the guess is rightly unused.

Method: J. E. Kelley, "The cutting-plane method for solving convex programs", J. SIAM 8 (1960): the smooth constraint
enters as tangents at the points where the linear programs (n + 1 variables) violate it.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.backends.repairs import tilts_from_ratio
from discreet.problems.measures.law import OutputLaw
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["duals_of_law"]


def duals_of_law(problem: Problem, law: OutputLaw) -> tuple[Array, float]:
    """(tilt [m, n], multiplier) for an estimator of that law, at a positive finite budget."""
    used = law.mass >= 1e-9  # the posterior of a rarer guess is rounding
    loss, tilt = problem.loss[used], np.zeros((problem.m, problem.n))
    tilt[used], multiplier = tilts_from_ratio(law.ratio_minus_one()[used], problem.p_xz, loss, problem.budget)
    if multiplier > 0.0:
        least = (loss + tilt[used] @ problem.p_xz).min(axis=0)
        for i in np.flatnonzero(~used):
            tilt[i] = multiplier * _excluded((problem.loss[i] - least) / problem.p_z / multiplier, problem)
    return tilt, multiplier


def _excluded(lead: Array, problem: Problem) -> Array:
    """t/μ [n] for a guess that loses by `lead` [N] (per mass, in units of μ) before it is tilted."""
    from scipy.optimize import linprog

    posterior = (problem.p_xz / problem.p_z).T
    objective = np.append(np.zeros(problem.n), -1.0)
    bounds = [*((-40.0, -math.log(p)) for p in problem.p_x), (None, None)]  # e^-40 of a prior is no evidence
    rows, right = np.column_stack([-posterior, np.ones(problem.N)]), lead
    best, most = np.zeros(problem.n), float(lead.min())
    for _ in range(60):  # cuts, where ten usually do
        answer = linprog(objective, rows, right, bounds=bounds, method="highs")
        if answer.x is None:
            break
        point = answer.x[:-1]
        weight = problem.p_x * np.exp(point - point.max())
        excess = float(point.max() + np.log(weight.sum()))
        reached = float((lead + posterior @ (point - excess)).min())
        if reached > most:
            best, most = point - excess, reached
        if excess <= 1e-12 or most >= 0.0:  # no constraint is violated, or the guess is excluded
            break
        tangent = weight / weight.sum()
        rows, right = np.vstack([rows, np.append(tangent, 0.0)]), np.append(right, tangent @ point - excess)
    return best
