"""Measures of what the guess reveals about X to someone who already knows another variable W:
conditional mutual information, and the difference of equalized odds.

    I(X; Ŷ given W) = Σ_w Σ_i g(u_i^w),   u_ij^w = Pr(W = w, X = x_j, Ŷ = y_i),

with the g of mutual information and the prior of each group w. If W is Y, a budget of 0 is
equalized odds (Ŷ independent of X given Y). The rows of each given value form a group, and the
functions below act on one group. Since g is a sum over groups, a tilt is in μ V if, for every
group, its part is in μ times the V of that group. Source: docs/theory.md, section 22.

The difference of equalized odds is the largest difference of parity among people with one value of
W. It has limits for people. Rules are designed for conditional information instead: a difference δ
corresponds to ½ δ² nats, by Pinsker's inequality between two groups of equal size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from discreet.measures.each_guess import ParityDifference
from discreet.measures.measure import Measure
from discreet.measures.mutual_information import MUTUAL_INFORMATION, MeanDivergence


@final
@dataclass(frozen=True)
class ConditionalMutualInformation(MeanDivergence):
    """The budget bounds I(X; Ŷ given W); the rows p(w, x_j, z_l) come in groups, one for each given
    value w.
    """

    name = "conditional-mutual-information"
    citation = (
        "A. D. Wyner, A Definition of Conditional Mutual Information, Information and "
        "Control 38 (1978)"
    )
    conditional = True

    @property
    def given_one(self) -> Measure:
        """Mutual information."""
        return MUTUAL_INFORMATION


@final
@dataclass(frozen=True)
class EqualizedOddsDifference(ParityDifference):
    """max_ijkw |p(ŷ_i given w, x_j) − p(ŷ_i given w, x_k)| ≤ budget."""

    name = "equalized-odds-difference"
    citation = (
        "M. Hardt, E. Price, N. Srebro, Equality of Opportunity in Supervised Learning, NeurIPS "
        "2016"
    )
    conditional = True

    @property
    def given_one(self) -> Measure:
        """The difference of parity."""
        return ParityDifference()

    @property
    def design(self) -> Measure:
        """Information given the same variable."""
        return ConditionalMutualInformation()

    def design_budget(self, amount: float) -> float:
        """½ δ² nats."""
        return 0.5 * amount**2

    def amount_of_design(self, budget: float) -> float:
        """The δ of so many nats."""
        return math.sqrt(2.0 * budget)
