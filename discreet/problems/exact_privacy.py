"""Perfect privacy without rounding: a few columns as integers, so that the guess is exactly
independent of X.

Doubles cannot represent an estimator with Φ P = 0 in general. The judge proves that an estimator
with perfect privacy differs from the stored one in (m − 1)(n − 1) probabilities, and lists them
(`Verdict.moved`). Here they are computed over the integers (p-adic lifting), while all other
probabilities stay as they are.

As in `discreet.verification`, the likeliest guess in a column of doubles gets one minus the other
probabilities.

Source: docs/theory.md, section 8 (perfect privacy); J. D. Dixon, "Exact solution of linear
equations using p-adic expansions", Numerische Mathematik 40 (1982).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.double_double import Array
from discreet.problems.folds import fold
from discreet.problems.outcomes import Blocks, Chunk
from discreet.problems.private_rows import PrivateRows
from discreet.problems.rule import Rule

_PRIME = 2**127 - 1

_Fractions = Any  # numpy arrays of Python fractions
_Parts = tuple[_Fractions, dict[int, _Fractions], dict[int, _Fractions]]


def exact_columns(
    blocks: Blocks, answer: Rule, moved: NDArray[np.intp], private: PrivateRows
) -> dict[int, list[int]]:
    """Return outcome → integers proportional to its column, with which a rule for outcomes has
    perfect privacy.

    moved    outcomes and guesses of the probabilities to solve for [2, K], as in `Verdict`
    private  rows with a prior of their own, of which the guess must be independent

    The result is empty if nothing is moved.
    """
    if not moved.size:
        return {}
    law, columns, masses = fold(blocks, partial(_in_chunk, answer, moved), _merge_parts)
    bases = {outcome: int(column.argmax()) for outcome, column in columns.items()}
    moves = [(outcome, guess, bases[outcome]) for outcome, guess in moved.T.tolist()]
    if private.gains.size:
        gains = _fractions(private.gains)
        law = np.concatenate([law, law @ gains.T], axis=1)
        masses = {outcome: np.concatenate([each, gains @ each]) for outcome, each in masses.items()}
    effects = [(guess, base, masses[outcome]) for outcome, guess, base in moves]
    values = _solution([row for group in private.groups for row in _equations(law, effects, group)])
    for (outcome, guess, base), value in zip(moves, values, strict=True):
        columns[outcome][guess] += value
        columns[outcome][base] -= value
    return {outcome: _integers(columns[outcome]) for outcome in sorted(columns)}


def _in_chunk(answer: Rule, moved: NDArray[np.intp], chunk: Chunk) -> _Parts:
    """Return, for a chunk, the law of all probabilities except the moved ones, and the columns and
    masses of outcomes with moved probabilities.
    """
    p_xz, loss = chunk.read()
    here = np.arange(chunk.start, chunk.start + chunk.count)
    made = answer.decisions(here, p_xz, loss)
    law = np.array(
        [[_exact_sum(row[certain]) for row in p_xz] for certain in made.certain > 0.0],
        dtype=object,
    )
    tied = _fractions(p_xz[:, made.places])
    drawn = _complete_columns(made.columns)
    columns = dict[int, _Fractions]()
    masses = dict[int, _Fractions]()
    for place, outcome in enumerate((chunk.start + made.places).tolist()):
        guesses = moved[1, moved[0] == outcome]
        if guesses.size:
            drawn[made.columns[:, place].argmax(), place] += drawn[guesses, place].sum()
            drawn[guesses, place] = Fraction(0)
            columns[outcome] = drawn[:, place]
            masses[outcome] = tied[:, place]
    return law + drawn @ tied.T, columns, masses


def _merge_parts(parts: list[_Parts]) -> _Parts:
    """Merge the results for chunks; the sums are exact in any order."""
    columns, masses = (dict(chain.from_iterable(part[k].items() for part in parts)) for k in (1, 2))
    return sum(part[0] for part in parts), columns, masses


def _equations(
    law: _Fractions, moves: list[tuple[int, int, _Fractions]], group: slice
) -> list[list[Fraction]]:
    """Return the equations u_ij = s_i π_j for the probabilities moved to a guess from its base, at
    outcomes with these masses of X.
    """
    law = law[:, group]
    moves = [(guess, base, masses[group]) for guess, base, masses in moves]
    prior = law.sum(axis=0)
    mass = law.sum(axis=1)
    total = prior.sum()
    excess = law * total - np.outer(mass, prior)
    apart = [masses * total - prior * masses.sum() for _, _, masses in moves]
    # Deviations sum to 0 over j and over i, so one j and one i are redundant.
    possible = np.flatnonzero(prior)
    if not possible.size:
        return []
    used = {guess for guess, _, masses in moves if masses.any()} | set(
        np.flatnonzero(mass).tolist()
    )
    rows = []
    for i in sorted(used - {int(mass.argmax())}):
        signs = [(guess == i) - (base == i) for guess, base, _ in moves]
        for j in np.delete(possible, prior[possible].argmax()):
            rows.append(
                [sign * each[j] for sign, each in zip(signs, apart, strict=True)] + [-excess[i, j]]
            )
    return rows


def _solution(equations: list[list[Fraction]]) -> list[Fraction]:
    """Return the solution of a regular system of equations, whose last column is the right side.

    The equations are scaled to integers, and the solution is computed modulo increasing powers of a
    prime, one digit at a time. Numerators and denominators divide minors of the system, so modulo a
    power beyond twice the square of any minor the solution is unique.
    """
    rows = np.array([_integers(equation) for equation in equations], dtype=object)
    matrix = rows[:, :-1]
    rest = rows[:, -1]
    largest = math.prod(np.abs(rows).sum(axis=1).tolist())  # an upper bound of any minor
    inverse = _inverse_modulo_prime(matrix)
    residue = 0 * rest
    modulus = 1
    while modulus <= 2 * largest**2:
        digits = inverse @ rest % _PRIME
        residue += modulus * digits
        rest = (rest - matrix @ digits) // _PRIME
        modulus *= _PRIME
    unit = 1
    for value in residue.tolist():
        unit *= _denominator(value * unit % modulus, modulus, largest)
    numerators = (residue * unit % modulus).tolist()
    return [Fraction(value - modulus * (value > largest), unit) for value in numerators]


def _inverse_modulo_prime(matrix: NDArray[np.object_]) -> NDArray[np.object_]:
    size = len(matrix)
    rows = np.hstack([matrix % _PRIME, np.eye(size, dtype=int).astype(object)])
    for k in range(size):
        pivot = k + np.flatnonzero(rows[k:, k])[0]
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] = rows[k] * pow(rows[k, k], -1, _PRIME) % _PRIME
        others = np.delete(np.arange(size), k)
        others = others[rows[others, k] != 0]
        rows[others] = (rows[others] - np.outer(rows[others, k], rows[k])) % _PRIME
    return rows[:, size:]


def _denominator(value: int, modulus: int, largest: int) -> int:
    """Return the denominator of the fraction that equals `value` modulo another number; its
    numerator and denominator are at most `largest`.
    """
    if modulus - value <= largest:
        return 1  # a negative integer
    before = modulus
    factors = (0, 1)
    while value > largest:  # Euclid's algorithm
        times, left = divmod(before, value)
        before = value
        value = left
        factors = (factors[1], factors[0] - times * factors[1])
    return abs(factors[1])


def _complete_columns(columns: Array) -> _Fractions:
    """Return stored columns [m, K] as fractions; the likeliest guess of each gets one minus the
    others.
    """
    fractions = _fractions(columns)
    index = np.arange(columns.shape[1])
    likeliest = columns.argmax(axis=0)
    fractions[likeliest, index] += 1 - fractions.sum(axis=0)
    return fractions


def _fractions(values: Array) -> _Fractions:
    fractions = [Fraction(value) for value in values.ravel().tolist()]
    return np.array(fractions, dtype=object).reshape(values.shape)


def _exact_sum(row: Array) -> Fraction:
    """Return the exact sum of doubles: rounded sums are added until nothing remains."""
    total = Fraction(0)
    left = row.tolist()
    while rounded := math.fsum(left):
        total += Fraction(rounded)
        left.append(-rounded)
    return total


def _integers(values: _Fractions) -> list[int]:
    """Return the values times the least number that makes all of them integers."""
    unit = math.lcm(*(value.denominator for value in values))
    return [int(value * unit) for value in values]
