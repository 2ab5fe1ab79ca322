"""Where the densities of scipy.stats turn from rising to falling (or jump), and which of them have monotone ratios.

The ends of the support are added for every family, since a density may jump or have a pole there. A *ratio family* is a set
of densities any two of which have a monotone ratio between neighbouring breakpoints of either: log f is affine on every
piece (Laplace, exponential, uniform), f is (triangular), or all are normal with one σ. Monotone ratios can prove ties on a
whole interval; monotone densities cannot.

Source: the modes of N. L. Johnson, S. Kotz, N. Balakrishnan, *Continuous Univariate Distributions*, 2nd ed. (1994/95).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

from discreet.problems.numerics.double_double import Array
from discreet.problems.sensors.bins import NormalDensity


def _beta(a: float, b: float) -> list[float]:
    """The mode for a, b > 1, the antimode for a, b < 1; monotone otherwise."""
    return [(a - 1.0) / (a + b - 2.0)] if (a - 1.0) * (b - 1.0) > 0.0 else []


FAMILIES: dict[str, Callable[..., list[float]]] = {
    **dict.fromkeys(("cauchy", "gumbel_l", "gumbel_r", "hypsecant", "laplace", "logistic", "norm"), lambda: [0.0]),
    **dict.fromkeys(("expon", "halfcauchy", "halfnorm", "uniform"), lambda: []),
    "beta": _beta,
    "chi": lambda df: [math.sqrt(df - 1.0)] if df > 1.0 else [],
    "chi2": lambda df: [max(df - 2.0, 0.0)],
    "gamma": lambda a: [max(a - 1.0, 0.0)],
    "invgamma": lambda a: [1.0 / (a + 1.0)],
    "lognorm": lambda s: [math.exp(-s * s)],
    "maxwell": lambda: [math.sqrt(2.0)],
    "pareto": lambda b: [],
    "rayleigh": lambda: [1.0],
    "t": lambda df: [0.0],
    "triang": lambda c: [c],
    "truncnorm": lambda a, b: [min(max(0.0, a), b)],
    "weibull_min": lambda c: [((c - 1.0) / c) ** (1.0 / c)] if c > 1.0 else [],
}
"""Family name → turning points of the standard member, as a function of the shape parameters."""


def known_breakpoints(entry: Any) -> Array | list[float] | None:
    """Breakpoints of a frozen scipy.stats distribution (or a normal density); None when they are not known."""
    if isinstance(entry, NormalDensity):
        return [float(entry.mean)]
    family = FAMILIES.get(getattr(getattr(entry, "dist", None), "name", ""))
    if family is None:
        return None
    shapes, location, scale = entry.dist._parse_args(*entry.args, **entry.kwds)
    turns = [float(location) + float(scale) * turn for turn in family(*(float(shape) for shape in shapes))]
    return [*turns, *(float(end) for end in entry.support())]


def ratio_family(entry: Any) -> Hashable | None:
    """A key that densities share exactly when their ratios are known to be monotone between breakpoints; None if unknown."""
    if hasattr(entry, "ratio_family"):
        return entry.ratio_family  # type: ignore[no-any-return]
    if isinstance(entry, NormalDensity):
        return "normal", float(entry.sigma)
    family = getattr(getattr(entry, "dist", None), "name", "")
    if family in ("laplace", "expon", "uniform"):
        return "exponential"
    if family == "norm":
        return "normal", float(entry.std())
    return "affine" if family == "triang" else None
