"""Checks of the input of every sensor model: conditional laws, a prior, and the memory limit.

A sensor is given by its law Pr(it reports bin k given x_j, y_i) [n, m, bins]; given (x, y) the
sensors are independent. Any prior p(x_j, y_i) [n, m] is allowed, so X and Y may be dependent. For a
pair (x, y) of probability 0, the law must only be finite and ≥ 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.checks import TOTAL_TOLERANCE, mass_array, refuse_total, whole
from discreet.errors import InputError
from discreet.numerics.double_double import Array, dd_sum

DEFAULT_MAX_BYTES = 1 << 32
"""Default limit of the peak memory for building a sensor model: 4 GiB."""


def check_law(law: Any, prior: Array, what: str, sensors: bool) -> Array:
    """Return a law [n, m, bins], or with `sensors` one per sensor [sensors, n, m, bins], whose rows
    sum to one.

    Rows of pairs of probability 0 become 0. Raises InputError naming the first entry or row that is
    wrong.
    """
    lead = "sensors, " if sensors else ""
    masses = mass_array(law, what, 4 if sensors else 3, f"[{lead}n, m, bins]")
    if masses.shape[-3:-1] != prior.shape:
        raise InputError(
            f"{what} has shape {list(masses.shape)} and p_xy {list(prior.shape)}; "
            f"give [{lead}n, m, bins] and [n, m] with the same n and m"
        )
    masses[..., prior == 0.0, :] = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        rough = masses.sum(axis=-1)
    # Very large entries would overflow the exact sum.
    totals = dd_sum(np.where(rough[..., None] < 2.0, masses, 0.0))[0]
    totals = np.where(rough < 2.0, totals, rough)
    for index in np.argwhere((np.abs(totals - 1.0) > TOTAL_TOLERANCE) & (prior > 0.0)).tolist():
        refuse_total(float(totals[tuple(index)]), f"{what}{index}")
    return np.asarray(masses / np.where(prior > 0.0, totals, 1.0)[..., None])


def allow(needed: int, max_bytes: int, what: str, remedy: str) -> None:
    """Raise InputError for a model that takes more than the allowed number of bytes to build.

    `what` states the model and its size ("5 sensors with 4 bins have 56 count vectors"), `remedy`
    what to do instead.
    """
    limit = whole(max_bytes, "max_bytes", 1)
    needed += 1 << 20  # small tables, so that the estimate also covers tiny models
    if needed > limit:
        raise InputError(
            f"{what}, which take {_size(needed)} to build and the limit is {_size(limit)}; "
            f"{remedy}, or raise max_bytes"
        )


def count_text(number: int) -> str:
    """Return a count as text: 1,234, or about 10^120 for very large counts."""
    return f"{number:,}" if number < 10**15 else f"about 10^{math.log10(number):.0f}"


def _size(count: int) -> str:
    for unit, power in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 1 << power:
            whole_units = count >> power
            return (
                f"{count / (1 << power):.3g} {unit}"
                if whole_units < 1000
                else f"{count_text(whole_units)} {unit}"
            )
    return f"{count} bytes"
