"""References without rounding: the numbers of a problem recomputed with fractions, logarithms with 120 digits.

Stored doubles are taken as exact. With `normalised`, the law of a problem is divided by its total, and the columns of an
estimator by their sums.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np

from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = [
    "bound",
    "error_probability",
    "leakage",
    "perfect_privacy_optimum",
    "support",
    "total",
]

mpmath.mp.dps = 120

Rows = list[list[Fraction]]


def _rows(array: Any) -> Rows:
    return [[Fraction(float(value)) for value in row] for row in np.asarray(array)]


def _real(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / mpmath.mpf(value.denominator)


def total(problem: Problem) -> Fraction:
    """Σ p_xz."""
    return sum((value for row in _rows(problem.p_xz) for value in row), Fraction(0))


def _columns_to_one(estimator: Rows) -> Rows:
    sums = [sum(column, Fraction(0)) for column in zip(*estimator, strict=True)]
    return [[value / whole for value, whole in zip(row, sums, strict=True)] for row in estimator]


def _phi(x: Fraction) -> Any:
    """(1 + x) log(1 + x) − x with at least 60 correct digits."""
    if x <= -1:
        return mpmath.mpf(1)
    value = _real(x)
    if abs(value) < mpmath.mpf(10) ** -25:
        return value**2 / 2 - value**3 / 6 + value**4 / 12
    log = mpmath.log(_real(1 + x)) if x < -0.5 else mpmath.log1p(value)
    return _real(1 + x) * log - value


def leakage(problem: Problem, estimator: Array, normalised: bool = False) -> Any:
    """I(X; Ŷ) in nats, as an mpf."""
    a, guess, whole = _rows(problem.p_xz), _rows(estimator), total(problem)
    if normalised:
        guess = _columns_to_one(guess)
    prior = [sum(row, Fraction(0)) / whole for row in a]
    result = mpmath.mpf(0)
    for row in guess:
        joint = [sum((p * v for p, v in zip(row, masses, strict=True)), Fraction(0)) / whole for masses in a]
        mass = sum(joint, Fraction(0))
        for u, pi in zip(joint, prior, strict=True):
            if mass and pi:
                result += _real(mass * pi) * _phi(u / (mass * pi) - 1)
    return result


def error_probability(problem: Problem, estimator: Array, normalised: bool = False) -> Fraction:
    """⟨L, P⟩."""
    guess = _columns_to_one(_rows(estimator)) if normalised else _rows(estimator)
    return sum(
        (p * v for row, losses in zip(guess, _rows(problem.loss), strict=True) for p, v in zip(row, losses, strict=True)),
        Fraction(0),
    )


def bound(problem: Problem, tilt: Array, multiplier: float) -> Fraction:
    """Σ_l min_i (L_il + a_l·t_i) − μ ε Σ π of feasible duals."""
    a, losses, t = _rows(problem.p_xz), _rows(problem.loss), _rows(tilt)
    value = sum(
        (
            min(losses[i][k] + sum((t[i][j] * a[j][k] for j in range(problem.n)), Fraction(0)) for i in range(problem.m))
            for k in range(problem.N)
        ),
        Fraction(0),
    )
    free = multiplier == 0.0 or problem.budget == 0.0
    return value - (Fraction(0) if free else Fraction(multiplier) * Fraction(problem.budget) * total(problem))


def support(problem: Problem, tilt: Array, multiplier: float) -> Any:
    """max_i h_i(t, μ) ÷ μ, as an mpf (μ = inf: max_i Σ π_j t_ij; μ = 0: max_ij t_ij); feasible duals have it ≤ 0."""
    whole = total(problem)
    prior = [sum(row, Fraction(0)) / whole for row in _rows(problem.p_xz)]
    worst = mpmath.mpf("-inf")
    for row in _rows(tilt):
        entries = [(pi, t) for pi, t in zip(prior, row, strict=True) if pi]
        if multiplier == np.inf:
            value = _real(sum((pi * t for pi, t in entries), Fraction(0)))
        elif multiplier == 0.0:
            value = _real(max(t for _, t in entries))
        else:
            mu = mpmath.mpf(multiplier)
            top = max(t for _, t in entries)
            steps = [(_real(pi), _real(t - top) / mu) for pi, t in entries]
            power = sum((pi * mpmath.exp(step) for pi, step in steps), mpmath.mpf(0))
            growth = sum((pi * mpmath.expm1(step) for pi, step in steps), mpmath.mpf(0))
            value = _real(top) / mu + (mpmath.log(power) if power < 0.5 else mpmath.log1p(growth))
        worst = max(worst, value)
    return worst


def perfect_privacy_optimum(problem: Problem) -> Fraction:
    """The least error probability with Φ P = 0 exactly, m = 2, by enumerating the vertices of {0 ≤ p ≤ 1, Φ p = 0}.

    At a vertex at most rank Φ entries of the row p = P_2 are strictly between 0 and 1; n = 2 has rank at most one.
    """
    if problem.n != 2 or problem.m != 2:
        raise ValueError("vertex enumeration is written for n = m = 2")
    a, losses, whole = _rows(problem.p_xz), _rows(problem.loss), total(problem)
    prior = [sum(row, Fraction(0)) / whole for row in a]
    outcomes = range(problem.N)
    phi = [a[0][k] - prior[0] * (a[0][k] + a[1][k]) for k in outcomes]
    price = [losses[1][k] - losses[0][k] for k in outcomes]
    best = None
    for corner in product((Fraction(0), Fraction(1)), repeat=problem.N):
        for loose in (None, *outcomes):
            point = list(corner)
            rest = sum((phi[k] * point[k] for k in outcomes if k != loose), Fraction(0))
            if loose is None:
                if rest != 0:
                    continue
            elif phi[loose] == 0 or not 0 <= -rest / phi[loose] <= 1:
                continue
            else:
                point[loose] = -rest / phi[loose]
            value = sum((price[k] * point[k] for k in outcomes), sum(losses[0], Fraction(0)))
            best = value if best is None else min(best, value)
    if best is None:
        raise ValueError("no vertex is feasible, not even the constants")
    return best
