"""The paper's sensors: Z = 0.6 Y + 0.4 X + N(0, 0.01), X ∈ {0, 1} with probabilities 0.7 and 0.3, Y
∈ {0, 1} with 0.5 and 0.5, independent.

The paper does not state its bin edges; the edges here are the midpoints between the four means 0,
0.4, 0.6, 1.

Source: docs/theory.md, reference 1, numerical section.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.checks import real_numbers
from discreet.numerics.double_double import Array
from discreet.problems.sensors.bins import NormalDensity, check_edges, interval_masses

PAPER_WEIGHT_X = 0.4
PAPER_WEIGHT_Y = 0.6
PAPER_SIGMA = 0.1  # the variance is 0.01
PAPER_EDGES = (-math.inf, 0.2, 0.5, 0.8, math.inf)


def paper_p_xy() -> Array:
    """Return p(x, y) [2, 2] of the paper, in which X and Y are independent."""
    return np.outer([0.7, 0.3], [0.5, 0.5])


def paper_conditional(edges: Any = PAPER_EDGES) -> Array:
    """Return Pr(bin given x, y) [2, 2, bins] of one sensor of the paper: Z = 0.6 Y + 0.4 X + N(0,
    0.1²).
    """
    return linear_conditional(PAPER_WEIGHT_X, PAPER_WEIGHT_Y, PAPER_SIGMA, edges)


def linear_conditional(weight_x: float, weight_y: float, sigma: float, edges: Any) -> Array:
    """Return Pr(bin given x, y) [2, 2, bins] of a sensor that reports weight_y·Y + weight_x·X +
    N(0, sigma²), with X and Y in {0, 1}.
    """
    weight_x = float(real_numbers("weight_x", weight_x, ()))
    weight_y = float(real_numbers("weight_y", weight_y, ()))
    sigma = float(real_numbers("sigma", sigma, ()))
    with np.errstate(all="ignore"):  # means that are not finite are refused
        means = weight_x * np.arange(2)[:, None, None] + weight_y * np.arange(2)[None, :, None]
    return interval_masses(NormalDensity(means, sigma), check_edges(edges))
