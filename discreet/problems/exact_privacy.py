"""Perfect privacy without rounding: a few columns as integers, so that the guess is exactly independent of X.

Doubles cannot state an estimator with Φ P = 0 in general. But these equations have rank at most (m − 1)(n − 1), so that many
probabilities, solved for in rationals while all others stay as they are, remove the last 1e-17. An estimator from a vertex
of the linear program has about as many that are neither 0 nor 1. They are chosen by elimination with complete pivoting in
doubles; then the equations are solved over the integers (Bareiss), and all of them are checked. An estimator that randomises
too little is first mixed with a tiny share of a draw that ignores the outcome, and guesses that are hardly ever made are
left out: what they tell about X can be anything.

A column of doubles means what it means to `discreet.verification`: its likeliest guess gets what the others leave.

Source: docs/theory.md, sections 7 and 11; E. H. Bareiss, "Sylvester's identity and multistep integer-preserving Gaussian
elimination", Mathematics of Computation 22 (1968).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.estimators import normalise
from discreet.problems.problem import Problem

_Integers = Any  # numpy arrays of Python integers
_Entry = tuple[int, int]  # (guess, outcome)

_LARGEST_SYSTEM = 100  # equations; the integers have some 50 digits for each of them
_CANDIDATES = 2000  # probabilities among which those to solve for are chosen
_SHARES = (0.0, 2.0**-44, 2.0**-34)  # of the draw that ignores the outcome: far above 1e-17, far below any gap
_RARE = 2.0**-40  # probability of a guess that is left out


def exactly_private(problem: Problem, estimator: Array) -> tuple[Array, dict[int, list[int]]]:
    """An estimator [m, N] hardly different from the given one, and the columns with which it is exactly private.

    They are stated as outcome → integers in proportion to the probabilities of the guesses. If none are found, the estimator
    comes back as it was, without columns. Law: under 0/1 loss the error probability changes by less than 1e-9.
    """
    columns = exact_columns(problem, estimator)
    if columns is not None:
        return estimator, columns
    law = estimator @ problem.p_z
    common = np.where(law[:, None] > _RARE, estimator, 0.0)
    common[law.argmax(), common.sum(axis=0) == 0.0] = 1.0
    law = np.where(law > _RARE, law, 0.0)
    for share in _SHARES:
        mixed = normalise((1.0 - share) * normalise(common) + share * (law / law.sum())[:, None])
        columns = exact_columns(problem, mixed)
        if columns is not None:
            return mixed, columns
    return estimator, {}


def exact_columns(problem: Problem, estimator: Array) -> dict[int, list[int]] | None:
    """Outcome → integers in proportion to the column that it needs; None if the estimator randomises too little for that."""
    masses, _ = _integers(problem.p_xz)
    shares, unit = _integers(estimator)
    likeliest, places = estimator.argmax(axis=0), np.arange(problem.N)
    prior, mass = masses.sum(axis=1), masses.sum(axis=0)
    total = prior.sum()

    def excess_of_law() -> _Integers:
        """u_ij − s_i π_j [m, n] in integers: all zero if the guess is independent of X."""
        shares[likeliest, places] = 0
        shares[likeliest, places] = (1 << unit) - shares.sum(axis=0)
        law = shares @ masses.T
        return law * total - np.outer(law.sum(axis=1), prior)

    if not excess_of_law().any():
        return {}
    guesses, outcomes = np.nonzero((estimator > 0.0) & (np.arange(problem.m)[:, None] != likeliest))
    slack = np.minimum(estimator[guesses, outcomes], estimator[likeliest[outcomes], outcomes])
    order = np.argsort(-slack * problem.p_z[outcomes], kind="stable")[:_CANDIDATES]
    free = list(zip(guesses[order].tolist(), outcomes[order].tolist(), strict=True))
    rows, chosen = _pivots(_effects(problem, free, likeliest) * slack[order])
    if not rows or len(rows) > _LARGEST_SYSTEM:
        return None
    solved = [free[k] for k in chosen]
    for guess, outcome in solved:
        shares[guess, outcome] = 0
    excess = excess_of_law()
    change = np.zeros((len(solved), problem.m, problem.n), dtype=object)
    for k, (guess, outcome) in enumerate(solved):
        apart = masses[:, outcome] * total - prior * mass[outcome]
        change[k, guess] += apart
        change[k, likeliest[outcome]] -= apart
    pairs = [divmod(row, problem.n) for row in rows]
    system = [[change[k, i, j] for k in range(len(solved))] + [-excess[i, j]] for i, j in pairs]
    values, scale = _solve(system)
    if scale == 0 or (excess * scale + np.tensordot(np.array(values, dtype=object), change, 1)).any():
        return None
    found: dict[int, list[int]] = {}
    for (guess, outcome), value in zip(solved, values, strict=True):
        column = found.setdefault(outcome, [share * scale for share in shares[:, outcome]])
        column[guess] += value
        column[likeliest[outcome]] -= value
    return None if any(min(column) < 0 for column in found.values()) else {k: _reduced(found[k]) for k in sorted(found)}


def _integers(array: Array) -> tuple[_Integers, int]:
    """Integers and b, with array = integers / 2^b."""
    fraction, exponent = np.frexp(array)
    whole = (fraction * 2.0**53).astype(np.int64)
    low = min(0, int(exponent[whole != 0].min(initial=0)) - 53)
    shift = np.where(whole != 0, exponent - 53 - low, 0)
    return whole.astype(object) << shift.astype(object), -low


def _effects(problem: Problem, free: list[_Entry], likeliest: Any) -> Array:
    """By how much every u_ij − s_i π_j rises with every free probability, scaled by 1/√π_j [m·n, V]."""
    apart = problem.deviations / np.sqrt(np.where(problem.p_x > 0.0, problem.p_x, 1.0))[:, None]
    effects = np.zeros((problem.m, problem.n, len(free)))
    for k, (guess, outcome) in enumerate(free):
        effects[guess, :, k] += apart[:, outcome]
        effects[likeliest[outcome], :, k] -= apart[:, outcome]
    return effects.reshape(problem.m * problem.n, len(free))


def _pivots(matrix: Array) -> tuple[list[int], list[int]]:
    """Rows and columns of a well-conditioned square part of full rank, by complete pivoting."""
    left, rows, columns = matrix.copy(), [], []
    least = 2.0**-40 * np.abs(matrix).max(initial=0.0)
    while left.size and np.abs(left).max() > least:
        row, column = (int(k) for k in np.unravel_index(np.abs(left).argmax(), left.shape))
        rows.append(row)
        columns.append(column)
        left -= np.outer(left[:, column], left[row] / left[row, column])
        left[row], left[:, column] = 0.0, 0.0
    return rows, columns


def _solve(system: list[list[int]]) -> tuple[list[int], int]:
    """Integers x and d ≥ 0 with x/d the solution of the equations, whose last column is the right side; d = 0 if singular.

    Fraction-free elimination: every division is exact.
    """
    rows, before = [list(row) for row in system], 1
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return [], 0
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i, row in enumerate(rows):
            if i != k:
                rows[i] = [(rows[k][k] * here - row[k] * there) // before for here, there in zip(row, rows[k], strict=True)]
        before = rows[k][k]
    sign = 1 if before > 0 else -1
    return [sign * row[-1] for row in rows], abs(before)


def _reduced(column: list[int]) -> list[int]:
    """The column without common factors."""
    common = math.gcd(*column)
    return [weight // common for weight in column]
