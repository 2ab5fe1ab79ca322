"""A family of problems for discreet: what calls to a service desk tell about the caller."""

from typing import Annotated

import numpy as np

from discreet.problems.catalog import Number, Whole, register


@register("application")
def service_calls(
    rate: Annotated[float, Number("calls a week of a customer who has no trouble")] = 2.0,
    trouble: Annotated[float, Number("by how much a fault multiplies the rate")] = 2.5,
    most: Annotated[int, Whole("largest number of calls that is counted")] = 12,
) -> np.ndarray:
    """Guess from a week's calls whether a device is faulty, without telling who is new.

    X: new customer or not, Y: fault or not, Z: Poisson count of calls, cut at `most`. New customers
    call half as often again.
    """
    counts = np.arange(most + 1)
    factorials = np.cumsum(np.log(np.maximum(counts, 1)))
    joint = np.empty((2, 2, most + 1))  # [x, y, z]
    for x, (share, curious) in enumerate(((0.7, 1.0), (0.3, 1.5))):
        for y, (likely, factor) in enumerate(((0.8, 1.0), (0.2, trouble))):
            mean = rate * curious * factor
            law = np.exp(counts * np.log(mean) - mean - factorials)
            joint[x, y] = share * likely * law / law.sum()
    return joint
