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

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.problems.blocks import Blocks
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.estimators import normalise
from discreet.problems.problem import Problem
from discreet.problems.rule import Rule

_Integers = Any  # numpy arrays of Python integers

_LARGEST_SYSTEM = 100  # equations; the integers have some 50 digits for each of them
_CANDIDATES = 2000  # probabilities among which those to solve for are chosen
_SHARES = (0.0, 2.0**-44, 2.0**-34)  # of the draw that ignores the outcome: far above 1e-17, far below any gap
_RARE = (2.0**-40, 2.0**-31)  # probability of all guesses that are left out, together at most


def exactly_private(problem: Problem, estimator: Array) -> tuple[Array, dict[int, list[int]]]:
    """An estimator [m, N] hardly different from the given one, and the columns with which it is exactly private.

    They are stated as outcome → integers in proportion to the probabilities of the guesses. If none are found, the estimator
    comes back as it was, without columns. Law: the error probability rises by at most 1e-9 of itself, the default gap.
    """
    masses, _ = _integers(problem.p_xz)
    columns = exact_columns(masses, estimator)
    if columns is not None:
        return estimator, columns
    given, most = estimator @ problem.p_z, problem.error_probability(estimator) * (1.0 + 1e-9)
    for rare, share in itertools.product(_RARE, _SHARES):
        law = np.where(given > rare / problem.m, given, 0.0)
        common = np.where(law[:, None] > 0.0, estimator, 0.0)
        common[law.argmax(), common.sum(axis=0) == 0.0] = 1.0
        mixed = normalise((1.0 - share) * normalise(common) + share * (law / law.sum())[:, None])
        columns = exact_columns(masses, mixed) if problem.error_probability(mixed) <= most else None
        if columns is not None:
            return mixed, columns
    return estimator, {}


def exactly_private_ties(blocks: Blocks, rule: Rule) -> dict[int, list[int]]:
    """Outcome → integers in proportion to its column, with which the rule is exactly private; empty if none are found.

    Two outcomes with the same guess count as one here, so what is solved has as many columns as there are ties and guesses.
    """
    sums = np.full((blocks.n, rule.m), Fraction(0))
    ties: list[int] = []
    tied, drawn = [sums[:, :0]], [np.zeros((rule.m, 0))]
    for chunk in blocks.chunks():
        p_xz, loss = chunk.read()
        made = rule.decisions(np.arange(chunk.start, chunk.start + chunk.count), p_xz, loss)
        masses, bits = _integers(p_xz)
        for guess, certain in enumerate(made.certain > 0.0):
            sums[:, guess] += masses[:, certain].sum(axis=1) * Fraction(1, 1 << bits)
        ties += (chunk.start + made.places).tolist()
        tied.append(masses[:, made.places] * Fraction(1, 1 << bits))
        drawn.append(made.columns)
        if len(ties) > _CANDIDATES:
            return {}
    together = np.hstack([*tied, sums])
    unit = max(value.denominator for value in together.flat)
    columns = exact_columns(np.vectorize(int, otypes=[object])(together * unit), np.hstack([*drawn, np.eye(rule.m)]))
    return {ties[place]: column for place, column in (columns or {}).items()}


def exact_columns(masses: _Integers, estimator: Array) -> dict[int, list[int]] | None:
    """Outcome → integers in proportion to the column that it needs; None if the estimator randomises too little for that.

    masses: p(x_j, z_l) up to a factor, in integers [n, N]; estimator [m, N].
    """
    m, n = len(estimator), len(masses)
    shares, unit = _integers(estimator)
    likeliest, places = estimator.argmax(axis=0), np.arange(estimator.shape[1])
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
    guesses, outcomes = np.nonzero((estimator > 0.0) & (np.arange(m)[:, None] != likeliest))
    slack = np.minimum(estimator[guesses, outcomes], estimator[likeliest[outcomes], outcomes])
    order = np.argsort(-slack * (mass[outcomes] / total).astype(np.float64), kind="stable")[:_CANDIDATES]
    guesses, outcomes, slack = guesses[order], outcomes[order], slack[order]
    apart = masses[:, outcomes] * total - np.outer(prior, mass[outcomes])  # [n, V]
    change = np.zeros((m, n, order.size), dtype=object)  # of the excess, by every free probability
    change[guesses, :, np.arange(order.size)] += apart.T
    change[likeliest[outcomes], :, np.arange(order.size)] -= apart.T
    law = estimator @ (mass / total).astype(np.float64)
    scale = np.sqrt((prior / total).astype(np.float64)) * law[:, None]  # rare guesses count like others
    scale[scale < 1e-290] = 1.0  # a guess or a private value that plays no part
    effects = (change / total**2).astype(np.float64) / scale[:, :, None]
    rows, chosen = _pivots(effects.reshape(m * n, -1) * slack)
    if not rows or len(rows) > _LARGEST_SYSTEM:
        return None
    before = estimator[guesses[chosen], outcomes[chosen]]
    shares[guesses[chosen], outcomes[chosen]] = 0
    excess, change = excess_of_law(), change[:, :, chosen]
    system = [[*change[i, j], -excess[i, j]] for i, j in (divmod(row, n) for row in rows)]
    values, unit_of_values = _solve(system)
    if unit_of_values == 0 or (excess * unit_of_values + change @ np.array(values, dtype=object)).any():
        return None
    moved = [abs(value / (unit_of_values << unit) - old) for value, old in zip(values, before.tolist(), strict=True)]
    if sum(mass[outcomes[chosen]] / total * np.array(moved)) > _SHARES[-1]:
        return None  # private, but another estimator
    found: dict[int, list[int]] = {}
    for guess, outcome, value in zip(guesses[chosen].tolist(), outcomes[chosen].tolist(), values, strict=True):
        column = found.setdefault(outcome, [share * unit_of_values for share in shares[:, outcome]])
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
