"""The paper's two set-ups (`sensors.paper_sensor`): one binned sensor, and the counts of M
independent sensors.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from discreet.checks import whole
from discreet.numerics.double_double import Array
from discreet.problems.catalog.registry import Whole, register
from discreet.problems.sensors.paper_sensor import PAPER_EDGES, paper_conditional, paper_p_xy
from discreet.problems.sensors.several import iid_sensors


def paper_edges(bins: int) -> Array:
    """Return edges [bins + 1]: −∞, 0.2, 0.5, 0.8, ∞ for four bins, otherwise −∞, linspace(−0.5,
    1.5, bins − 1), ∞; bins ≥ 2.
    """
    bins = whole(bins, "bins", 2)
    if bins == len(PAPER_EDGES) - 1:
        return np.array(PAPER_EDGES)
    inner = np.linspace(-0.5, 1.5, bins - 1) if bins > 2 else np.array([0.5])
    return np.concatenate([[-math.inf], inner, [math.inf]])


@register("paper")
def paper_single(
    bins: Annotated[
        int,
        Whole("number of bins of Z; 4 are cut at 0.2, 0.5, 0.8, others evenly in [−0.5, 1.5]", 2),
    ] = 4,
) -> Array:
    """The paper's single sensor: Z = 0.6 Y + 0.4 X + noise, binned; N = bins.

    Two bins are cut at 0.5.
    """
    return paper_p_xy()[:, :, None] * paper_conditional(paper_edges(bins))


@register("paper")
def paper_multi(
    sensors: Annotated[
        int, Whole("number of sensors M; N = C(M + bins − 1, bins − 1) outcomes")
    ] = 5,
    bins: Annotated[int, Whole("bins of each sensor", 2)] = 4,
) -> Array:
    """The paper's M sensors: counts per bin of independent copies of the single sensor.

    Outcomes are in the order of `sensors.count_vectors`.
    """
    return iid_sensors(paper_conditional(paper_edges(bins)), paper_p_xy(), sensors)
