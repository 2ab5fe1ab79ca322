"""The joint laws of each secret and the guess, for problems with several constraints or with groups of rows.

A conditional measure is a sum over groups: I(X; Ŷ given W) = Σ_w Σ_i s_i^w G(x_i^w), where s_i^w = Pr(W = w, Ŷ = y_i), and
x^w compares p(x given w, ŷ) with p(x given w). So the law of a group is an `OutputLaw` whose masses add up to Pr(W = w) and
whose prior is that of the group; levels and ceilings of groups add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.problems.constraint import Term, is_plain
from discreet.problems.measures.law import OutputLaw, law_of
from discreet.problems.measures.measure import Measure
from discreet.problems.numerics.double_double import Array, DoubleDouble
from discreet.problems.numerics.rounding import UNIT


@dataclass(frozen=True, eq=False)
class GroupedLaw:
    """The laws of the groups of one constraint, by a conditional measure without growth."""

    parts: tuple[OutputLaw, ...]

    @property
    def measure(self) -> Measure:
        """By which leakage is counted."""
        return self.parts[0].measure

    @property
    def mass(self) -> Array:
        """Pr(Ŷ = y_i) [m]."""
        return np.asarray(sum(part.mass for part in self.parts))

    @property
    def level(self) -> float:
        """Σ over groups of Σ_i s_i G(x_i)."""
        return sum(part.level for part in self.parts)

    def leakage(self) -> float:
        """Leakage, ≥ 0: an estimate."""
        return self.measure.amount(self.level)

    def leakage_ceiling(self, perturbation: float = 0.0) -> float:
        """Upper bound of the exact leakage, as of `OutputLaw`."""
        worst = sum(part.leakage_ceiling(perturbation) for part in self.parts)
        return worst * (1.0 + 4.0 * len(self.parts) * UNIT)

    def blend(self, other: GroupedLaw, share: float) -> GroupedLaw:
        """The law of (1 − share)·this + share·other."""
        return GroupedLaw(tuple(one.blend(two, share) for one, two in zip(self.parts, other.parts, strict=True)))


TermLaw: TypeAlias = OutputLaw | GroupedLaw
"""The law of one constraint."""


@dataclass(frozen=True, eq=False)
class Laws:
    """The laws of all constraints."""

    each: tuple[TermLaw, ...]

    @property
    def parts(self) -> tuple[OutputLaw, ...]:
        """The laws of all groups, in the order of the rows."""
        return tuple(part for law in self.each for part in parts_of(law))

    def blend(self, other: Laws, share: float) -> Laws:
        """The laws of (1 − share)·these + share·others."""
        return Laws(tuple(one.blend(two, share) for one, two in zip(self.each, other.each, strict=True)))  # type: ignore[arg-type]


AnyLaw: TypeAlias = OutputLaw | Laws
"""The law of a problem of one secret with one prior, or the laws of any other."""


def each_of(law: AnyLaw) -> tuple[TermLaw, ...]:
    """The laws of the constraints, in their order."""
    return law.each if isinstance(law, Laws) else (law,)


def parts_of(law: AnyLaw | GroupedLaw) -> tuple[OutputLaw, ...]:
    """The laws of the groups, in the order of the rows."""
    return (law,) if isinstance(law, OutputLaw) else law.parts


def mass_of(law: AnyLaw) -> Array:
    """Pr(Ŷ = y_i) [m]."""
    return each_of(law)[0].mass


def laws_of(
    joint: DoubleDouble,
    marginal: DoubleDouble,
    lift: NDArray[np.int32],
    terms: Sequence[Term],
    totals: Sequence[float] | None = None,
    lost: Array | float = 0.0,
) -> AnyLaw:
    """The laws from Pr(X = x_j, Ŷ = y_i), times 2^lift_j [m, n], and the π_j [n] of all rows; totals are divided out.

    lost: by how much the entries times 2^lift_j may be wrong, at most, as products underflowed    [m, n], or 0
    """
    shares = [1.0] * len(terms) if totals is None else totals
    if is_plain(terms):
        return scaled_law(law_of(joint, marginal, lift, terms[0].measure, lost), shares[0], shares[0])
    found = list[TermLaw]()
    for term, share in zip(terms, shares, strict=True):
        parts = []
        for group in term.groups:
            total = float(marginal[0][group].sum())
            # A group is brought to about its own size by a power of two, so that products of rare ones do not underflow.
            exponent = min(1000, -math.frexp(total)[1]) if term.measure.conditional else 0
            prior = np.ldexp(marginal[0][group], exponent), np.ldexp(marginal[1][group], exponent)
            own = lost[:, group] if isinstance(lost, np.ndarray) else lost
            entries = joint[0][:, group], joint[1][:, group]
            law = law_of(entries, prior, lift[group] - exponent, term.measure, own)
            scale = math.ldexp(1.0, exponent)
            parts.append(scaled_law(law, total * scale if term.measure.conditional else share, share * scale))
        found.append(GroupedLaw(tuple(parts)) if term.measure.conditional else parts[0])
    return Laws(tuple(found))


def scaled_law(law: OutputLaw, prior: float, total: float) -> OutputLaw:
    """The law with its prior divided by one number and its masses by another; the ratios do not change."""
    if prior == total == 1.0:
        return law
    prior = prior or 1.0  # of a group that never happens
    deviation = law.deviation / total / prior
    return replace(law, mass=law.mass / total, deviation=deviation, p_x=law.p_x / prior, off=law.off / total)


def blend_of(start: AnyLaw, end: AnyLaw, share: float) -> AnyLaw:
    """The law or laws of (1 − share)·start + share·end."""
    return start.blend(end, share)  # type: ignore[arg-type]  # of one kind


def law_of_guess(column: Array, law: AnyLaw) -> AnyLaw:
    """The law if the guess is drawn from a column [m] whatever the outcome; law: has the priors."""
    if isinstance(law, OutputLaw):
        return _ignoring(column, law)

    def one(each: TermLaw) -> TermLaw:
        if isinstance(each, GroupedLaw):
            return GroupedLaw(tuple(_ignoring(column * part.mass.sum(), part) for part in each.parts))
        return _ignoring(column, each)

    return Laws(tuple(map(one, law.each)))


def _ignoring(mass: Array, law: OutputLaw) -> OutputLaw:
    return OutputLaw(mass, np.zeros_like(law.deviation), law.p_x, measure=law.measure)
