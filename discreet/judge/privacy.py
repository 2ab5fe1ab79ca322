"""Whether an answer at budget 0 has perfect privacy, exactly or within a published number δ.

*Within δ* means |p(x_j given ŷ_i) / p(x_j) − 1| ≤ δ for every guess that is ever made, however
rare, and every private value. `distance` returns an upper bound of this number. Because of
rounding, a stored estimator hardly ever has perfect privacy exactly, but an estimator with perfect
privacy often exists a few *moves* of probability away. `privacy` proves it by an approximate
inverse of the matrix of these moves. Every number here has a bound of its rounding error, and the
bounds are added.

Source: docs/theory.md, section 8 (perfect privacy, with the proof); enclosures by approximate
inverses: S. M. Rump, "Verification methods: rigorous results using floating-point arithmetic", Acta
Numerica 19 (2010).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import TOTAL_TOLERANCE
from discreet.measures.law import OutputLaw, law_of
from discreet.numerics.double_double import Array, DoubleDouble
from discreet.numerics.estimators import Decisions
from discreet.numerics.rounding import SMALLEST, UNIT
from discreet.problems.constraint import Term
from discreet.problems.laws import Law
from discreet.problems.private_rows import PrivateRows

PRIVATE_LIMIT = 1e-12
"""Largest δ of an answer that counts as private at budget 0: several thousand rounding errors of
its probabilities. Leakage is at most δ², so at most 1e-24 nats."""

_MOST_MOVES = 100
"""Largest number of moves to an estimator with perfect privacy: the integers of its exact form have
about 15 digits for each move.
"""

# Below this, the product of the probabilities of a guess and a private value loses digits.
_FAINTEST = 1e-250
# Covers the rounding of the bounds below, which are sums of fewer than 2^20 terms ≥ 0.
_SPARE = 1.0 + 2.0**-30

# Fields of `Moves` with one entry for each move.
_EACH = ("outcomes", "towards", "base", "room", "p_xz", "cost")


@dataclass(frozen=True, eq=False)
class Moves:
    """K moves of probability between two guesses, at outcomes whose guess is drawn.

    outcomes        indices of the outcomes                                      [K]
    towards, base   the two guesses; base is the likeliest at its outcome        [K]
    room            the largest change of probability                            [K]
    p_xz            masses of the outcomes, extended by gains                    [n + k, K]
    p_x             π_j, extended; used only to select moves                     [n + k]
    cost            |difference of the two losses|                               [K]
    guesses         number of guesses
    groups          the rows that must be private
    """

    outcomes: NDArray[np.intp]
    towards: NDArray[np.intp]
    base: NDArray[np.intp]
    room: Array
    p_xz: Array
    p_x: Array
    cost: Array
    guesses: int
    groups: tuple[slice, ...]

    @classmethod
    def of(
        cls,
        decided: Decisions,
        drawn: NDArray[np.intp],
        p_xz: Array,
        loss: Array,
        p_x: Array,
        private: PrivateRows,
    ) -> Moves:
        """Return the moves that the decisions at outcomes p_xz [n, ·], loss [m, ·] allow; drawn
        [·]: indices of the outcomes whose guess is drawn.

        If there are many moves, only those with the largest effect are returned.
        """
        groups = private.groups
        p_x = private.extend_rows(p_x)
        columns = decided.columns
        loss = loss.take(decided.places, axis=1)
        p_xz = private.extend_rows(p_xz.take(decided.places, axis=1))
        columns = columns * p_xz.any(axis=0)
        base = columns.argmax(axis=0)
        index = np.arange(columns.shape[1])
        room = np.minimum(columns, columns.max(axis=0) / max(1, len(columns) - 1))
        room[base, index] = 0.0
        towards, place = np.nonzero(room)
        if index.size > (most := 64 * len(p_xz)):  # for each guess; few of them are selected
            weight = room[towards, place] * np.sqrt(
                np.square(_effect(p_xz, p_x, groups)).sum(axis=0)
            ).take(place)
            kept = _heaviest(towards, weight, most)
            towards = towards[kept]
            place = place[kept]
        cost = np.abs(loss[towards, place] - loss[base[place], place])
        room = room[towards, place]
        masses = p_xz.take(place, axis=1)
        return cls(
            drawn[place], towards, base[place], room, masses, p_x, cost, len(columns), groups
        )

    @classmethod
    def joined(cls, several: Sequence[Moves]) -> Moves:
        """Return a spanning subset of a non-empty sequence of moves, which takes less memory than
        all of them.
        """
        each: dict[str, Any] = {
            name: np.concatenate([getattr(moves, name) for moves in several], axis=-1)
            for name in _EACH
        }
        return replace(several[0], **each)._select_spanning()

    def chosen(self, which: Any) -> Moves:
        """Return some of the moves, by index or mask."""
        return replace(self, **{name: getattr(self, name)[..., which] for name in _EACH})

    def _select_spanning(self) -> Moves:
        """Select 2(n − 1) moves for each guess, twice as many independent ones as needed, in the
        order of their effect.
        """
        if np.bincount(self.towards).max(initial=0) < len(self.p_xz):
            return self
        effect = _effect(self.p_xz, self.p_x, self.groups) * self.room
        kept = np.zeros(self.room.size, dtype=np.bool_)
        for guess in range(self.guesses):
            for _ in range(2):
                mine = np.flatnonzero((self.towards == guess) & ~kept)
                kept[mine[_largest_apart(effect[:, mine], len(effect) - 1)]] = True
        return self if kept.all() else self.chosen(kept)


def _heaviest(towards: NDArray[np.intp], weight: Array, most: int) -> NDArray[np.bool_]:
    """Return a mask of the moves with the largest weights for each guess, at least `most` of them
    if available. The guesses are in increasing order.
    """
    kept = np.ones(weight.size, dtype=np.bool_)
    ends = np.cumsum(np.bincount(towards)).tolist()
    for start, end in zip([0, *ends], ends, strict=False):
        if end - start > most:
            own = weight[start:end]
            kept[start:end] = own >= np.partition(own, -most)[-most]
    return kept


def _effect(p_xz: Array, p_x: Array, groups: tuple[slice, ...]) -> Array:
    """Return p(z_l given x_j) − p(z_l) for the rows of the groups [·, K]: the effect of a guess at
    one outcome.
    """
    lift = np.divide(p_xz, p_x[:, None], out=np.zeros_like(p_xz), where=p_x[:, None] > 0.0)
    return np.concatenate(
        [lift[group] - p_xz[group].sum(axis=0) / (p_x[group].sum() or 1.0) for group in groups]
    )


def _largest_apart(vectors: Array, count: int) -> list[int]:
    """Select up to `count` of the vectors [r, K]: first the largest, then repeatedly the one with
    the largest part orthogonal to the selected ones.
    """
    if vectors.shape[1] <= count:
        return list(range(vectors.shape[1]))
    left = vectors / (np.abs(vectors).max(initial=0.0) or 1.0)
    indices = list[int]()
    for _ in range(count):
        sizes = np.einsum("jk,jk->k", left, left)
        indices.append(int(sizes.argmax()))
        direction = left[:, indices[-1]] / (math.sqrt(sizes.max()) or 1.0)
        left -= direction[:, None] * (direction @ left)
    return indices


@dataclass(frozen=True, eq=False)
class Privacy:
    """A proven statement: some estimator that is private within δ has an error probability that
    exceeds the error probability of the stored estimator by at most `rise`.

    within   δ; 0 for perfect privacy
    rise     increase of the error probability
    moves    moves that lead to the estimator with perfect privacy, if it is not the stored one
    change   upper bound of the relative change that the moves make to any entry of the laws of
             other constraints
    stored   δ of the stored estimator
    """

    within: float
    rise: float = 0.0
    moves: Moves | None = None
    change: float = 0.0
    stored: float = 0.0


@dataclass(frozen=True, eq=False)
class Group:
    """Rows with a prior of their own, the law of their values and the guess, and whether perfect
    privacy is required.
    """

    rows: slice
    law: OutputLaw
    perfect: bool


def groups_of(law: Law, terms: Sequence[Term]) -> list[Group]:
    """Return the groups of all constraints with their laws."""
    return [
        Group(rows, own, term.budget.perfect)
        for term, laws in zip(terms, law.constraints, strict=True)
        for rows, own in zip(term.groups, laws, strict=True)
    ]


def privacy(
    groups: Sequence[Group],
    available: Sequence[Moves],
    marginal: DoubleDouble,
    doubt: float,
    accuracy: float,
) -> Privacy:
    """Return how private a stored estimator is, with δ = 0 where this can be proven.

    groups     groups with the laws of the stored estimator; `doubt` bounds the relative error of
               every entry
    available  moves that the drawn guesses allow
    marginal   Σ_l a_l of the same outcomes, for any total
    accuracy   relative error of masses of outcomes and of their sums; `doubt` includes its effect
               on the law
    """
    private = [group for group in groups if group.perfect]
    informative = [
        group
        for group in private
        if np.count_nonzero(group.law.p_x) > 1 and not (group.law.is_constant and doubt < math.inf)
    ]
    if not informative:
        return Privacy(0.0)
    within = max(distance(group.law, doubt) for group in informative)
    if is_private(within, doubt):
        exactly = _exactly_private(informative, groups, available, marginal, doubt, accuracy)
        if exactly is not None:
            return replace(exactly, stored=within)
    return Privacy(within, stored=within)


def is_private(within: float, doubt: float) -> bool:
    """Return True if an answer private within that number counts as private. The tolerance includes
    its own uncertainty, `doubt`.

    If the doubt is ∞, the law is unknown, so only an answer that is private under every law counts.
    """
    return within == 0.0 or within <= PRIVATE_LIMIT + 5.0 * doubt < math.inf


def distance(law: OutputLaw, doubt: float) -> float:
    """Return an upper bound of max_ij |p(x_j given ŷ_i) / p(x_j) − 1| over the guesses that are
    made.

    doubt: relative error of the entries of the law, at least as large as the error of a sum over
    outcomes. Hence it also bounds the relative errors of the totals s_i, π_j and Σ π.
    """
    if not doubt < 1.0 / 3.0:
        return math.inf
    return float((np.abs(law.ratio_minus_one()) + law.reach(doubt)).max()) * (1.0 + 2.0**-45)


def _exactly_private(
    private: Sequence[Group],
    groups: Sequence[Group],
    available: Sequence[Moves],
    marginal: DoubleDouble,
    doubt: float,
    accuracy: float,
) -> Privacy | None:
    """Return a proof that an estimator with perfect privacy exists near the one with these laws, or
    None.
    """
    private = [group for group in private if np.count_nonzero(group.law.mass) > 1]
    if not private:
        return Privacy(0.0)
    if not available:
        return None
    moves = Moves.joined(available)
    systems = [
        each for group in private if (each := _equations(group, moves, marginal, doubt)) is not None
    ]
    if len(systems) < len(private):
        return None
    matrix, right = (np.concatenate(parts) for parts in zip(*systems, strict=True))
    if len(matrix) > _MOST_MOVES or moves.room.size < len(matrix) or not np.isfinite(matrix).all():
        return None
    chosen = _largest_apart(matrix, len(matrix))
    rounding = 64.0 * UNIT * float(np.abs(matrix).max())  # from the shares of groups
    bounds = _enclose(matrix[:, chosen], right, 5.0 * accuracy + rounding)
    if bounds is None or not bounds.max() <= 1.0 / _SPARE:
        return None
    made = moves if len(chosen) == moves.room.size else moves.chosen(chosen)
    least_total = 1.0 - 2.0 * TOTAL_TOLERANCE
    rise = float((bounds * made.room + SMALLEST) @ made.cost) * _SPARE / least_total
    change = max(
        [_relative_change(group, made, bounds) for group in groups if not group.perfect],
        default=0.0,
    )
    return Privacy(0.0, rise + 2.0 * SMALLEST * int(np.count_nonzero(made.cost)), made, change)


def _equations(
    group: Group, moves: Moves, marginal: DoubleDouble, doubt: float
) -> tuple[Array, Array] | None:
    """Return the equations Φ P = 0 of a group: the effect of each move [equations, K], in units of
    the law, and an upper bound of each residual.

    Return None if products of its probabilities would lose digits.
    """
    law = group.law
    rows = group.rows
    guesses = np.flatnonzero(law.mass > 0.0)
    values = np.flatnonzero(law.p_x > 0.0)
    if law.mass[guesses].min() * marginal[0][rows][values].min() < _FAINTEST:
        return None
    guesses = _all_but_largest(guesses, law.mass)
    values = _all_but_largest(values, law.p_x)
    if guesses.size * values.size > _MOST_MOVES:
        return None
    prior = (marginal[0][rows], marginal[1][rows])
    p_xz = moves.p_xz[rows]
    total = float(prior[0].sum())
    index = np.arange(moves.room.size)
    outcomes = law_of(
        (p_xz.T, np.zeros_like(p_xz.T)), prior, np.zeros(law.p_x.size, dtype=np.int32)
    )
    effect = np.zeros((index.size, *law.deviation.shape))
    share = moves.room / total
    mass = np.where(law.mass > 0.0, law.mass, 1.0) / law.mass.sum()
    effect[index, moves.base] = outcomes.excess * (-share / mass[moves.base])[:, None]
    effect[index, moves.towards] = outcomes.excess * (share / mass[moves.towards])[:, None]
    matrix = effect[:, guesses][:, :, values].reshape(index.size, guesses.size * values.size).T
    ratio = np.abs(law.ratio_minus_one())
    apart = ratio * (1.0 + 16.0 * UNIT) + law.reach(doubt) + doubt * (1.0 + ratio)
    return matrix, apart[np.ix_(guesses, values)].ravel() * _SPARE


def _relative_change(group: Group, moves: Moves, bounds: Array) -> float:
    """Return an upper bound of the relative change of any entry of the law under moves within the
    bounds.
    """
    law = group.law
    change = (bounds * moves.room + SMALLEST) * _SPARE * moves.p_xz[group.rows]
    moved = np.zeros((law.mass.size, law.p_x.size))
    np.add.at(moved, moves.towards, change.T)
    np.add.at(moved, moves.base, change.T)
    expected = law.mass[:, None] * law.p_x
    joint = expected + law.deviation - 4.0 * UNIT * (expected + np.abs(law.deviation))
    with np.errstate(divide="ignore", over="ignore"):
        shares = np.divide(moved, joint, out=np.where(moved > 0.0, np.inf, 0.0), where=joint > 0.0)
    return float(shares.max()) * (1.0 + 2.0**-20)


def _all_but_largest(indices: NDArray[np.intp], sizes: Array) -> NDArray[np.intp]:
    return np.compress(indices != indices[sizes[indices].argmax()], indices)


def _enclose(matrix: Array, right: Array, error: float) -> Array | None:
    """Return bounds of |y| for every y with M y = d, |d| ≤ right, if M is known up to `error`; None
    if M may be singular.

    The entries of M also have a relative error of 16 u.
    """
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    size = np.abs(inverse)
    terms = len(matrix) + 20
    with np.errstate(over="ignore", invalid="ignore"):
        rounding = (terms * UNIT * np.abs(matrix) + error).sum(axis=1)
        row = (
            np.abs(inverse @ matrix - np.eye(len(matrix))).sum(axis=1) + size @ rounding
        ) * _SPARE
        first = size @ right * _SPARE
    if not (row.max() <= 0.5 and math.isfinite(first.max())):
        return None
    return np.asarray((first + row * (first.max() / (1.0 - row.max()))) * _SPARE)
