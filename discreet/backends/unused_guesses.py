"""Duals of an estimator that came without, also when some guesses are never given.

For the guesses in use t_ij = μ log(p(x_j given ŷ_i)/π_j), with the μ that gives the best bound. Where
Ŷ = y_i never happens there is no posterior, and that formula says nothing; yet a tilt that makes y_i look better than the
guesses in use ruins the bound, though the estimator may be optimal. What the optimality conditions ask is that some t_i with
h_i(t_i, μ) ≤ 0 makes y_i nowhere better. Such a tilt is found here as

    maximise z   subject to   L_il + a_l·t_i − λ_l ≥ z w_l  for every l,   μ log Σ_j π_j e^{t_ij/μ} ≤ 0,

with λ_l the least tilted loss of the guesses in use; z ≥ 0 is reached exactly if the guess is rightly unused.

Method: J. E. Kelley, "The cutting-plane method for solving convex programs", J. SIAM 8 (1960): the smooth constraint
enters as tangents at the points where the linear programs (n + 1 variables) violate it.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.problems.measures.law import OutputLaw
from discreet.problems.measures.mutual_information import tilts_from_ratio
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["duals_of_law", "tilt_unused_guesses"]

_UNUSED = 1e-9  # probability of a guess under which its posterior is taken for rounding
_CUTS = 60
_LEAST = -40.0  # of t_ij/μ
_ENOUGH = 1e-12  # violation of h in units of μ at which cutting stops


def duals_of_law(problem: Problem, law: OutputLaw) -> tuple[Array, float]:
    """(tilt [m, n], multiplier) for an estimator of that law, at a positive finite budget."""
    used = law.mass >= _UNUSED
    restricted = Problem(problem.p_xz, problem.loss[used], problem.constraint)
    some, multiplier = tilts_from_ratio(law.ratio_minus_one()[used], restricted.p_xz, restricted.loss, restricted.budget)
    tilt = np.zeros((problem.m, problem.n))
    tilt[used] = some
    return tilt_unused_guesses(problem, tilt, multiplier, law.mass), multiplier


def tilt_unused_guesses(problem: Problem, tilt: Array, multiplier: float, mass: Array) -> Array:
    """The tilt [m, n] with the rows of unused guesses (mass [m], s_i under 1e-9) replaced; needs a positive multiplier."""
    unused = np.flatnonzero(mass < _UNUSED)
    if unused.size == 0 or unused.size == problem.m or not 0.0 < multiplier < math.inf:
        return tilt
    found = tilt.copy()
    used = mass >= _UNUSED
    least = (problem.loss[used] + tilt[used] @ problem.p_xz).min(axis=0)
    for i in unused:
        found[i] = multiplier * _exclude((problem.loss[i] - least) / problem.p_z / multiplier, problem)
    return found


def _exclude(lead: Array, problem: Problem) -> Array:
    """t/μ [n] for a guess that loses by `lead` [N] (per mass, in units of μ) before it is tilted."""
    from scipy.optimize import linprog

    pi = problem.p_x
    posterior = (problem.p_xz / problem.p_z).T
    rows = [np.column_stack([-posterior, np.ones(problem.N)])]
    right = [lead]
    best, best_worst = np.zeros(problem.n), float(lead.min())
    for _ in range(_CUTS):
        answer = linprog(
            np.append(np.zeros(problem.n), -1.0),
            np.concatenate(rows),
            np.concatenate(right),
            bounds=[*((_LEAST, -math.log(p)) for p in pi), (None, None)],
            method="highs",
        )
        if answer.x is None:
            break
        point = np.asarray(answer.x[:-1])
        weight = pi * np.exp(point - point.max())
        excess = float(point.max() + np.log(weight.sum()))
        worst = float((lead + posterior @ (point - excess)).min())
        if worst > best_worst:
            best, best_worst = point - excess, worst
        if excess <= _ENOUGH or best_worst >= 0.0:
            break
        tangent = weight / weight.sum()
        rows.append(np.append(tangent, 0.0)[None, :])
        right.append(np.array([tangent @ point - excess]))
    return best
