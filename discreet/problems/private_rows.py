"""The variables that the guess must be independent of at budget 0: private values, and the gains of
an adversary's best actions.

Under perfect privacy the guess is independent of each group of private values. Budget 0 for the
gain of an adversary is weaker: no guess may make another action better than those that are best
without a guess. If several actions w are best, with gains G_w, every guess i must keep their gains
in proportion,

    G_w·u_i / (G_w·π) the same for all best actions w,   u_i = A P_i.

This means independence of a variable whose joint masses with the outcomes are the rows G_w A.
Conversely, no best action gains from such guesses, so the leakage is 0 if they also make no other
action better. Rows that are linear combinations of others are redundant and are left out.

Source: docs/theory.md, section 22 (budget 0 of an adversary's gain).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.measures.g_leakage import OtherActions
from discreet.measures.law import OutputLaw, law_of, row_sums
from discreet.numerics.double_double import Array, DoubleDouble, dd_multiply
from discreet.problems.constraint import Term
from discreet.problems.laws import Law, scaled_law


@dataclass(frozen=True, eq=False)
class PrivateRows:
    """Groups of rows, each of which must be independent of the guess.

    groups   slices of the rows of p_xz followed by gains @ p_xz
    gains    gains of the best actions of all constraints                                   [k, n]
    proven   for each constraint, the actions that gain nothing if the groups are independent
    """

    groups: tuple[slice, ...]
    gains: Array
    proven: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, terms: Sequence[Term], p_x: Array) -> PrivateRows:
        """Return the rows for the budgets that are 0, with π [n] of all rows."""
        groups = [group for term in terms if term.budget.perfect for group in term.groups]
        proven = list[tuple[int, ...]]()
        gains = np.zeros((0, p_x.size))
        for term in terms:
            measure: Any = term.measure
            prior = p_x[term.rows]
            actions = np.zeros(0, dtype=np.intp)
            if term.budget.amount == 0.0:
                actions = measure.best_actions(prior)
            if actions.size < 2:
                proven.append(())
                continue
            proven.append(tuple(actions.tolist()))
            own = _independent(measure.gains(prior.size)[actions])
            start = p_x.size + len(gains)
            groups.append(slice(start, start + len(own)))
            whole = np.zeros((len(own), p_x.size))
            whole[:, term.rows] = own
            gains = np.concatenate([gains, whole])
        return cls(tuple(groups), gains, tuple(proven))

    def __bool__(self) -> bool:
        return bool(self.groups)

    @property
    def tied(self) -> tuple[int, ...]:
        """Indices of the constraints with several best actions without a guess."""
        return tuple(number for number, actions in enumerate(self.proven) if actions)

    def extend_rows(self, rows: Array) -> Array:
        """Return the rows p_xz [n, ·], followed by the gains of the best actions [n + k, ·]."""
        return np.concatenate([rows, self.gains @ rows]) if self.gains.size else rows

    def extend_sums(self, sums: DoubleDouble, lift: NDArray[np.int32]) -> DoubleDouble:
        """Return double-double sums over outcomes [..., n], which are scaled by 2^lift, followed by
        sums of gains, which are not scaled.
        """
        if not self.gains.size:
            return sums
        weights = np.ldexp(self.gains, -lift)
        gain_sums = row_sums(
            dd_multiply(
                (sums[0][..., None, :], sums[1][..., None, :]), (weights, np.zeros_like(weights))
            )
        )
        high, low = (np.concatenate(pair, axis=-1) for pair in zip(sums, gain_sums, strict=True))
        return high, low

    def gain_laws(
        self, joint: DoubleDouble, marginal: DoubleDouble
    ) -> list[tuple[slice, OutputLaw]]:
        """Return the groups of gains with their laws; joint [m, n + k] and marginal [n + k] are
        extended sums.
        """
        laws = []
        for rows in self.groups:
            if rows.start >= self.gains.shape[1]:
                prior = marginal[0][rows], marginal[1][rows]
                still = np.zeros(prior[0].size, dtype=np.int32)
                law = law_of((joint[0][:, rows], joint[1][:, rows]), prior, still)
                laws.append((rows, scaled_law(law, float(prior[0].sum()), 1.0)))
        return laws

    def without_proven(self, law: Law) -> Law:
        """Return the law by measures without the actions that are proven to gain nothing."""
        constraints = []
        for groups, proven in zip(law.constraints, self.proven, strict=True):
            if not proven:
                constraints.append(groups)
                continue
            others = OtherActions(groups[0].measure, proven)  # type: ignore[arg-type]
            constraints.append(tuple([replace(group, measure=others) for group in groups]))
        return Law(tuple(constraints))


def _independent(gains: Array) -> Array:
    """Return a maximal set of linearly independent rows, found exactly, in units of a power of 2
    near their largest entry.
    """
    kept = list[int]()
    reduced = list[tuple[int, list[Fraction]]]()  # rows with a leading one, and its place
    for number, row in enumerate(gains.tolist()):
        left = [Fraction(value) for value in row]
        for place, other in reduced:
            factor = left[place]
            if factor:
                left = [value - factor * one for value, one in zip(left, other, strict=True)]
        if any(left):
            kept.append(number)
            first = next(k for k, value in enumerate(left) if value)
            reduced.append((first, [value / left[first] for value in left]))
    return np.ldexp(gains[kept], -int(np.frexp(gains.max())[1]))
