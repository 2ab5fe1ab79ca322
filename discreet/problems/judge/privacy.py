"""How private an answer is at budget 0: exactly, or within a published number.

*Within δ* means |p(x_j given ŷ_i) / p(x_j) − 1| ≤ δ for every guess that is ever made, however rare, and every private
value. `distance` bounds that number from above. A stored estimator is hardly ever exactly private, but often some *moves* of
probability away from one that is. `privacy` proves it by an approximate inverse of the matrix of these moves. Every number
here is known up to bounds of its rounding, and the bounds are added.

Source: docs/theory.md, section 8 (perfect privacy, with the proof); enclosures by approximate inverses: S. M. Rump,
"Verification methods: rigorous results using floating-point arithmetic", Acta Numerica 19 (2010).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.problems.measures.law import OutputLaw, distance_from_private, law_of
from discreet.problems.numerics.double_double import Array, DoubleDouble
from discreet.problems.numerics.estimators import Decisions
from discreet.problems.numerics.rounding import SMALLEST, UNIT

PRIVATE_LIMIT = 1e-12
"""Largest δ of an answer that counts as private at budget 0: some thousand roundings of its probabilities, and as leakage is
at most δ², no more than 1e-24 nats."""

_MOST_MOVES = 100
"""More moves to an exactly private estimator are not looked for: the integers that state it have some 15 digits a move."""

_FAINTEST = 1e-250  # products of a guess's and a private value's probability below it have no digits to spare
_SPARE = 1.0 + 2.0**-30  # more than the bounds below are rounded by, as sums of fewer than 2^20 terms ≥ 0

_EACH = ("outcomes", "towards", "base", "room", "p_xz", "cost")  # fields of `Moves` that have an entry for every move


@dataclass(frozen=True, eq=False)
class Moves:
    """Moves of probability between two guesses at outcomes whose guess is drawn, K of them.

    outcomes        their indices                                                [K]
    towards, base   the guesses; base is the likeliest at its outcome            [K]
    room            the largest change of probability                            [K]
    p_xz            of the outcomes                                              [n, K]
    p_x             π_j, to choose by only                                       [n]
    cost            |difference of the two losses|                               [K]
    made            whether a guess is drawn with a positive probability         [m]
    """

    outcomes: NDArray[np.intp]
    towards: NDArray[np.intp]
    base: NDArray[np.intp]
    room: Array
    p_xz: Array
    p_x: Array
    cost: Array
    made: NDArray[np.bool_]

    @classmethod
    def of(cls, decided: Decisions, drawn: NDArray[np.intp], p_xz: Array, loss: Array, p_x: Array) -> Moves:
        """The moves that the decisions at outcomes p_xz [n, ·], loss [m, ·] allow; drawn [·]: indices of the drawn ones."""
        columns, p_xz, loss = decided.columns, p_xz.take(decided.places, axis=1), loss.take(decided.places, axis=1)
        columns = columns * p_xz.any(axis=0)
        base, every = columns.argmax(axis=0), np.arange(columns.shape[1])
        room = np.minimum(columns, columns.max(axis=0) / max(1, len(columns) - 1))
        room[base, every] = 0.0
        if every.size > (most := 64 * len(p_xz)):  # of each guess; few of them are chosen
            weight = room * np.sqrt(np.square(_effect(p_xz, p_x)).sum(axis=0))
            room[weight < np.partition(weight, -most, axis=1)[:, -most, None]] = 0.0
        towards, place = np.nonzero(room)
        cost = np.abs(loss[towards, place] - loss[base[place], place])
        made = np.asarray(columns.any(axis=1))
        room = room[towards, place]
        return cls(drawn[place], towards, base[place], room, p_xz[:, place], p_x, cost, made)._spanning()

    @classmethod
    def joined(cls, found: Sequence[Moves]) -> Moves:
        """All of some moves, at least one."""
        made = np.logical_or.reduce([moves.made for moves in found])
        each = {name: np.concatenate([getattr(moves, name) for moves in found], axis=-1) for name in _EACH}
        return replace(found[0], made=made, **each)._spanning()

    def chosen(self, which: Any) -> Moves:
        """Some of the moves, by index or mask."""
        return replace(self, **{name: getattr(self, name)[..., which] for name in _EACH})

    def _spanning(self) -> Moves:
        """For each guess 2(n − 1) moves: twice as many independent ones as needed, those of most effect first."""
        if np.bincount(self.towards).max(initial=0) < len(self.p_xz):
            return self
        effect = _effect(self.p_xz, self.p_x) * self.room
        kept = np.zeros(self.room.size, dtype=np.bool_)
        for guess in range(self.made.size):
            for _ in range(2):
                mine = np.flatnonzero((self.towards == guess) & ~kept)
                kept[mine[_largest_apart(effect[:, mine], len(effect) - 1)]] = True
        return self if kept.all() else self.chosen(kept)


def _effect(p_xz: Array, p_x: Array) -> Array:
    """p(z_l given x_j) − p(z_l) [n, ·]: what a guess at an outcome changes."""
    lift = np.divide(p_xz, p_x[:, None], out=np.zeros_like(p_xz), where=p_x[:, None] > 0.0)
    return np.asarray(lift - p_xz.sum(axis=0))


def _largest_apart(vectors: Array, count: int) -> list[int]:
    """Up to `count` of the vectors [r, K]: the largest, then the one with the largest part orthogonal to those before, …"""
    if vectors.shape[1] <= count:
        return list(range(vectors.shape[1]))
    left, found = vectors / (np.abs(vectors).max(initial=0.0) or 1.0), list[int]()
    for _ in range(count):
        sizes = np.einsum("jk,jk->k", left, left)
        found.append(int(sizes.argmax()))
        direction = left[:, found[-1]] / (math.sqrt(sizes.max()) or 1.0)
        left -= direction[:, None] * (direction @ left)
    return found


@dataclass(frozen=True, eq=False)
class Privacy:
    """What is proven: an estimator private within δ errs more than the stored one by at most `rise`.

    within   δ; 0 for exactly private
    rise     probability
    moves    that lead to the exactly private estimator, if it is not the stored one
    """

    within: float
    rise: float = 0.0
    moves: Moves | None = None


def privacy(law: OutputLaw, found: Sequence[Moves], marginal: DoubleDouble, doubt: float, accuracy: float) -> Privacy:
    """How private a stored estimator is, with δ = 0 where possible.

    law        of the stored estimator; every entry errs by at most the relative `doubt`
    found      moves that its drawn guesses allow
    marginal   Σ_l a_l of the same outcomes, for any total
    accuracy   relative error of masses of outcomes and of their sums, of which `doubt` holds the effect on the law
    """
    if np.count_nonzero(law.p_x) == 1:
        return Privacy(0.0)
    unseen = any((moves.made & (law.mass == 0.0)).any() for moves in found)
    within = math.inf if unseen else distance(law, doubt)
    if is_private(within, doubt):
        return _exactly_private(law, found, marginal, doubt, accuracy) or Privacy(within)
    return Privacy(within)


def is_private(within: float, doubt: float) -> bool:
    """Whether an answer private within that number counts as private; what it is in doubt by does not count against it.

    Where the doubt is ∞ nothing is known of the law, so only what is private whatever the law is counts.
    """
    return within == 0.0 or within <= PRIVATE_LIMIT + 5.0 * doubt < math.inf


def distance(law: OutputLaw, doubt: float) -> float:
    """Upper bound of max_ij |p(x_j given ŷ_i) / p(x_j) − 1| over the guesses made; entries of the law err by `doubt`.

    doubt: relative, and at least that of a sum over outcomes. So the totals s_i, π_j and Σ π err by no more than it.
    """
    if ((law.mass > 0.0) & (law.mass < _FAINTEST)).any():
        return math.inf
    largest = distance_from_private(law)
    return (largest + 4.5 * doubt * (1.0 + largest)) * (1.0 + 2.0**-45)


def _exactly_private(
    law: OutputLaw, found: Sequence[Moves], marginal: DoubleDouble, doubt: float, accuracy: float
) -> Privacy | None:
    """The exactly private estimator next to the one of this law; None if none is proven."""
    guesses, values = np.flatnonzero(law.mass > 0.0), np.flatnonzero(law.p_x > 0.0)
    if guesses.size == 1:
        return Privacy(0.0)
    if not found or law.mass[guesses].min() * law.p_x[values].min() < _FAINTEST:
        return None
    guesses, values = _all_but_largest(guesses, law.mass), _all_but_largest(values, law.p_x)
    if guesses.size * values.size > _MOST_MOVES:
        return None
    moves = Moves.joined(found) if len(found) > 1 else found[0]
    total, every = float(marginal[0].sum()), np.arange(moves.room.size)
    outcomes = law_of((moves.p_xz.T, np.zeros_like(moves.p_xz.T)), marginal, np.zeros(law.p_x.size, dtype=np.int32))
    effect, share = np.zeros((every.size, *law.deviation.shape)), moves.room / total
    effect[every, moves.base] = outcomes.excess * (-share / law.mass[moves.base])[:, None]
    effect[every, moves.towards] = outcomes.excess * (share / law.mass[moves.towards])[:, None]
    matrix = effect.take(guesses, axis=1).take(values, axis=2).reshape(every.size, guesses.size * values.size).T
    right = np.abs(law.ratio_minus_one().take(guesses, axis=0).take(values, axis=1)).ravel()
    right = (right * (1.0 + 16.0 * UNIT) + 5.0 * doubt * (1.0 + right)) * _SPARE
    if every.size < len(matrix) or not np.isfinite(matrix).all():
        return None
    chosen = _largest_apart(matrix, len(matrix))
    bounds = _enclosed(matrix[:, chosen], right, 5.0 * accuracy)
    if bounds is None or not bounds.max() <= 1.0 / _SPARE:
        return None
    made = moves if len(chosen) == every.size else moves.chosen(chosen)
    rise = float((bounds * made.room + SMALLEST) @ made.cost) * _SPARE / total
    return Privacy(0.0, rise + 2.0 * SMALLEST * int(np.count_nonzero(made.cost)), made)


def _all_but_largest(indices: NDArray[np.intp], sizes: Array) -> NDArray[np.intp]:
    return np.compress(indices != indices[sizes[indices].argmax()], indices)


def _enclosed(matrix: Array, right: Array, error: float) -> Array | None:
    """Bounds of |y| for every y with M y = d, |d| ≤ right, where M is known up to `error`; None if M may be singular.

    The entries of M err by 16 u of themselves besides.
    """
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    size, terms = np.abs(inverse), len(matrix) + 20
    with np.errstate(over="ignore", invalid="ignore"):
        rounding = (terms * UNIT * np.abs(matrix) + error).sum(axis=1)
        row = (np.abs(inverse @ matrix - np.eye(len(matrix))).sum(axis=1) + size @ rounding) * _SPARE
        first = size @ right * _SPARE
    if not (row.max() <= 0.5 and math.isfinite(first.max())):
        return None
    return np.asarray((first + row * (first.max() / (1.0 - row.max()))) * _SPARE)
