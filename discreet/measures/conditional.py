"""Conditional mutual information: what the guess reveals about X to someone who already knows
another variable W.

    I(X; Ŷ given W) = Σ_w Σ_i g(u_i^w),   u_ij^w = Pr(W = w, X = x_j, Ŷ = y_i),

with the g of mutual information and the prior of each group w. If W is Y, a budget of 0 is
equalized odds (Ŷ independent of X given Y). The rows of each given value form a group, and the
functions below act on one group. Since g is a sum over groups, a tilt is in μ V if, for every
group, its part is in μ times the V of that group. Source: docs/theory.md, section 22.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from discreet.measures.mutual_information import MeanDivergence


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
