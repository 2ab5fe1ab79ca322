"""The joint laws of each secret and the guess, one for every group of rows of every constraint.

A conditional measure is a sum over groups: I(X; Ŷ given W) = Σ_w Σ_i s_i^w G(x_i^w), where s_i^w =
Pr(W = w, Ŷ = y_i), and x^w compares p(x given w, ŷ) with p(x given w). The law of a group is an
`OutputLaw` whose masses sum to Pr(W = w) and whose prior is the prior of the group. The level of a
constraint is the sum of the levels of its groups, and likewise for upper bounds. Any other measure
has one group, which contains all rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.lazy import cached_property
from discreet.measures.law import OutputLaw, law_of
from discreet.numerics.double_double import Array, DoubleDouble
from discreet.numerics.rounding import UNIT
from discreet.problems.constraint import Term


@dataclass(frozen=True, eq=False)
class Law:
    """The laws of all constraints [C], each with the laws of its groups.

    The law is linear in the estimator, so `blend` returns the law of a mixture of two estimators.
    """

    constraints: tuple[tuple[OutputLaw, ...], ...]

    @cached_property
    def groups(self) -> tuple[OutputLaw, ...]:
        """The laws of all groups, in the order of the rows."""
        return tuple([group for groups in self.constraints for group in groups])

    @property
    def mass(self) -> Array:
        """The guess masses Pr(Ŷ = y_i) [m]."""
        return np.asarray(np.sum([group.mass for group in self.constraints[0]], axis=0))

    @cached_property
    def levels(self) -> Array:
        """The level of each constraint [C], which its measure compares with B."""
        return np.array([sum([group.level for group in groups]) for groups in self.constraints])

    @property
    def leakages(self) -> Array:
        """Estimates of the leakage under each constraint [C], in the unit of its measure."""
        pairs = zip(self.constraints, self.levels.tolist(), strict=True)
        return np.array([groups[0].measure.amount(level) for groups, level in pairs])

    def ceilings(self, perturbation: float = 0.0) -> Array:
        """Return upper bounds [C] of the exact leakages, as described in
        `OutputLaw.leakage_ceiling`.
        """
        ceilings = []
        for groups in self.constraints:
            worst = sum([group.leakage_ceiling(perturbation) for group in groups])
            if groups[0].measure.conditional:  # the sum over groups is rounded
                worst *= 1.0 + 4.0 * len(groups) * UNIT
            ceilings.append(worst)
        return np.array(ceilings)

    def of(self, number: int) -> Law:
        """Return the law of one constraint."""
        return Law((self.constraints[number],))

    def blend(self, other: Law, share: float) -> Law:
        """Return the law of (1 − share)·self + share·other."""
        constraints = []
        for own, others in zip(self.constraints, other.constraints, strict=True):
            pairs = zip(own, others, strict=True)
            constraints.append(tuple([one.blend(another, share) for one, another in pairs]))
        return Law(tuple(constraints))

    def under_guess(self, column: Array) -> Law:
        """Return the law if the guess is drawn from a column [m] at every outcome."""
        return Law(tuple([_independent_laws(column, groups) for groups in self.constraints]))


def laws_of(
    joint: DoubleDouble,
    marginal: DoubleDouble,
    lift: NDArray[np.int32],
    terms: Sequence[Term],
    totals: Sequence[float] | None = None,
    lost: Array | float = 0.0,
) -> Law:
    """Return the law for given Pr(X = x_j, Ŷ = y_i) · 2^lift_j [m, n], and π_j [n] of all rows.

    totals   total probability of each constraint, which is divided out; default: 1
    lost     upper bound of the error of the entries times 2^lift_j from underflow [m, n], or 0
    """
    constraints = []
    for number, term in enumerate(terms):
        total = 1.0 if totals is None else totals[number]
        groups = []
        for rows in term.groups:
            own = lost[:, rows] if isinstance(lost, np.ndarray) else lost
            entries = (joint[0][:, rows], joint[1][:, rows])
            prior = (marginal[0][rows], marginal[1][rows])
            probability = total
            exponent = 0
            if term.measure.conditional:
                # Scaled by a power of two to a size of about one, products of rare values do not
                # underflow.
                probability = float(prior[0].sum())
                exponent = min(1000, -math.frexp(probability)[1])
                prior = (np.ldexp(prior[0], exponent), np.ldexp(prior[1], exponent))
            law = law_of(entries, prior, lift[rows] - exponent, term.measure, own)
            if term.measure.conditional or total != 1.0:
                scale = math.ldexp(1.0, exponent)
                law = scaled_law(law, probability * scale, total * scale)
            groups.append(law)
        constraints.append(tuple(groups))
    return Law(tuple(constraints))


def _independent_laws(column: Array, groups: tuple[OutputLaw, ...]) -> tuple[OutputLaw, ...]:
    laws = []
    for group in groups:
        mass = column * group.mass.sum() if group.measure.conditional else column
        laws.append(
            OutputLaw(mass, np.zeros_like(group.deviation), group.p_x, measure=group.measure)
        )
    return tuple(laws)


def scaled_law(law: OutputLaw, prior: float, total: float) -> OutputLaw:
    """Return the law with its prior divided by one number and its masses by another.

    The ratios do not change.
    """
    prior = prior or 1.0  # a group of probability 0
    deviation = law.deviation / total / prior
    return replace(
        law, mass=law.mass / total, deviation=deviation, p_x=law.p_x / prior, off=law.off / total
    )
