"""Heterogeneous sensors: pooled counts compared with counts by group.

Sensor s reports the bin of weight_y·Y + a_s X + N(0, σ_s²), with the paper's X, Y, weight_y = 0.6
and bin edges. A sensor with a large a_s responds strongly to the private variable. Pooling the
counts loses the information which sensor reported which bin; counting by groups keeps it, see
docs/how-to/many-sensors.md. All weights and deviations are assumed.

Source: docs/theory.md, section 19; the sensors of its reference 1 are identical.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated

import numpy as np

from discreet.checks import as_list, brief, real, whole
from discreet.errors import InputError
from discreet.numerics.double_double import Array
from discreet.problems.catalog.paper import paper_edges
from discreet.problems.catalog.registry import Means, Whole, register
from discreet.problems.sensors.paper_sensor import PAPER_WEIGHT_Y, linear_conditional, paper_p_xy
from discreet.problems.sensors.several import grouped_sensors

_Bins = Annotated[int, Whole("bins of each sensor, cut as in paper-single", 2)]
_Correlation = Annotated[
    float, Means("correlation of X and Y; p(x) and p(y) stay 0.7, 0.3 and 0.5, 0.5")
]


@register("sensors")
def multi_mixed(
    sensors: Annotated[int, Whole("number of sensors M", most=10_000)] = 6,
    bins: _Bins = 4,
    weight_x: Annotated[
        tuple[float, ...],
        Means("weight of X in the first and the last sensor; those between are spaced evenly"),
    ] = (0.1, 0.7),
    sigma: Annotated[
        tuple[float, ...],
        Means("standard deviation of the noise of the first and the last sensor, spaced likewise"),
    ] = (0.2, 0.2),
    correlation: _Correlation = 0.0,
    groups: Annotated[
        int,
        Whole("1: pooled counts; g: separate counts of g groups of neighbours; M: every report"),
    ] = 1,
) -> Array:
    """Heterogeneous sensors, ordered by their response to X: pooled counts, or counts by group.

    The pooled counts have a Poisson-multinomial law. Outcomes are in the order of
    `sensors.count_vectors` or, by group, of `sensors.grouped_count_vectors`.
    """
    if groups > sensors:
        raise InputError(
            f"groups is {groups} and sensors is {sensors}; give at most one group per sensor"
        )
    edges = paper_edges(bins)
    prior = _prior(correlation)
    nearest, farthest = _finite(weight_x, "weight_x", 2)
    first, last = _finite(sigma, "sigma", 2, least=0.0)
    weights = np.linspace(nearest, farthest, sensors)
    sigmas = np.linspace(first, last, sensors)
    laws = np.array(_laws(weights, sigmas, edges))
    return grouped_sensors(np.array_split(laws, groups), prior)


@register("sensors")
def multi_groups(
    sizes: Annotated[tuple[int, ...], Means("number of sensors of each group")] = (3, 3),
    bins: _Bins = 4,
    weight_x: Annotated[tuple[float, ...], Means("weight of X in the sensors of each group")] = (
        0.1,
        0.7,
    ),
    sigma: Annotated[tuple[float, ...], Means("standard deviation of the noise of each group")] = (
        0.2,
        0.2,
    ),
    correlation: _Correlation = 0.0,
    pooled: Annotated[bool, Means("pool the counts of all groups")] = False,
) -> Array:
    """Groups of identical sensors, each with its own weight of X: counts by group, or pooled.

    Counts by group are a sufficient statistic of all reports: nothing is lost. Outcomes are in the
    order of `sensors.grouped_count_vectors` or, pooled, of `sensors.count_vectors`.
    """
    counts = [
        whole(each, "sizes", 1, 10_000)
        for each in as_list(sizes, "sizes", "the number of sensors of every group")
    ]
    weights = _finite(weight_x, "weight_x", len(counts))
    sigmas = _finite(sigma, "sigma", len(counts), least=0.0)
    edges = paper_edges(bins)
    prior = _prior(correlation)
    groups = [
        np.tile(law, (size, 1, 1, 1))
        for size, law in zip(counts, _laws(weights, sigmas, edges), strict=True)
    ]
    return grouped_sensors([np.concatenate(groups)] if pooled else groups, prior)


def _laws(weights: Iterable[float], sigmas: Iterable[float], edges: Array) -> list[Array]:
    """Return the law [2, 2, bins] of a sensor for each weight of X and standard deviation."""
    pairs = zip(weights, sigmas, strict=True)
    return [linear_conditional(a, PAPER_WEIGHT_Y, sigma, edges) for a, sigma in pairs]


def _finite(
    values: Sequence[float], what: str, count: int, least: float = -math.inf
) -> list[float]:
    """Return `count` finite numbers, all > least; otherwise raise InputError."""
    numbers = [real(value) for value in as_list(values, what, f"{count} numbers")]
    if len(numbers) != count:
        raise InputError(f"{what} is {brief(values)}; give {count} numbers")
    for value, number in zip(values, numbers, strict=True):
        if not least < number < math.inf:
            above = "" if math.isinf(least) else f" > {least:g}"
            raise InputError(f"{what} holds {brief(value)}; give finite numbers{above}")
    return numbers


def _prior(correlation: float) -> Array:
    """Return p(x, y) [2, 2] with the paper's marginals and a correlation of X and Y."""
    [asked] = _finite([correlation], "correlation", 1)
    plain = paper_p_xy()
    covariance = asked * math.sqrt(math.prod(plain.sum(axis=1)) * math.prod(plain.sum(axis=0)))
    prior = plain + covariance * np.array([[1.0, -1.0], [-1.0, 1.0]])
    if prior.min() < 0.0:
        raise InputError(
            f"correlation is {asked!r}, which the marginals do not allow; give less "
            "than 0.65 in size"
        )
    return prior
