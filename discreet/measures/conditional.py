"""Conditional mutual information: what the guess reveals about X to who knows another variable W
already.

    I(X; Ŷ given W) = Σ_w Σ_i g(u_i^w),   u_ij^w = Pr(W = w, X = x_j, Ŷ = y_i),

with g of mutual information and the prior of each group w. Given Y, a budget of 0 is equalized odds
(Ŷ independent of X given Y). Rows of every given value are a group, and the functions below are
about one group: g is a sum over groups, so a tilt is in μ V if its part of every group is in μ
times the V of that group. Source: docs/theory.md, section 22.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from discreet.measures.mutual_information import MeanDivergence


@final
@dataclass(frozen=True)
class ConditionalMutualInformation(MeanDivergence):
    """I(X; Ŷ given W) ≤ budget; rows p(w, x_j, z_l) come in groups, one for each given value w."""

    name = "conditional-mutual-information"
    citation = (
        "A. D. Wyner, A Definition of Conditional Mutual Information, Information and "
        "Control 38 (1978)"
    )
    conditional = True
