"""The paper's single sensor with its measurement left continuous: Z = 0.6 Y + 0.4 X + N(0, 0.1²).

Source: E. Nekouei, H. Sandberg, M. Skoglund, K. H. Johansson, "Privacy-aware Minimum Error Probability Estimation: An
Entropy Constrained Approach", numerical section.
"""

from __future__ import annotations

from discreet.problems.continuous.density import NormalDensity
from discreet.problems.continuous.model import ContinuousProblem
from discreet.problems.sensors import PAPER_SIGMA, PAPER_WEIGHT_X, PAPER_WEIGHT_Y, paper_p_xy

__all__ = ["paper_continuous"]


def paper_continuous(budget: float | None = None, *, equivocation: float | None = None) -> ContinuousProblem:
    """The paper's single sensor: X ∈ {0, 1} with .7 and .3, Y ∈ {0, 1} with .5 and .5, independent; no bins."""
    means = [[PAPER_WEIGHT_X * x + PAPER_WEIGHT_Y * y for y in (0, 1)] for x in (0, 1)]
    distributions = [[NormalDensity(mean, PAPER_SIGMA) for mean in row] for row in means]
    return ContinuousProblem(distributions, paper_p_xy(), budget, equivocation=equivocation, name="paper-continuous")
