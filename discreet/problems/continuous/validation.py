"""A density must integrate to the differences of its own cdf, everywhere and in total; else it is refused by name.

Every cell of a partition is integrated by Gauss–Legendre quadrature and compared with its mass by the cdf; cells that
differ are halved, which soon settles smooth densities, kinks and integrable poles alike. What still differs after that is
a mistake in the model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.problems.checks import TOTAL_TOLERANCE
from discreet.problems.continuous.density import Component
from discreet.problems.errors import InputError
from discreet.problems.numerics.double_double import Array

__all__ = ["check_component", "midpoints"]


def check_component(density: Component) -> None:
    """Refuse a density whose cdf does not run from 0 to 1 or that does not integrate to it within 1e-9."""
    ends = density.tails(np.array([-1e300, 1e300]))
    low, high = float(ends[0][0]), float(ends[0][1])
    if abs(low) > TOTAL_TOLERANCE or abs(high - 1.0) > TOTAL_TOLERANCE:
        raise InputError(f"the cdf of {density.what} runs from {low:.12g} to {high:.12g}, not from 0 to 1")
    wrong = float(np.abs(np.concatenate([sum(density.tails(density.quantiles)) - 1.0, ends[0] + ends[1] - 1.0])).max())
    if wrong > TOTAL_TOLERANCE:
        raise InputError(f"cdf and survival function of {density.what} do not add up to 1 (off by {wrong:.3g})")
    below = density.tails(density.quantiles)[0]
    if (np.diff(below) < -TOTAL_TOLERANCE).any():
        raise InputError(f"the cdf of {density.what} decreases somewhere; give a cdf")
    missing = _discrepancy(density)
    if missing > TOTAL_TOLERANCE:
        raise InputError(
            f"the density of {density.what} does not integrate to its cdf within {TOTAL_TOLERANCE:g} "
            f"(off by {missing:.3g}); a density must integrate to one and match its cdf"
        )


def _discrepancy(density: Component) -> float:
    """Σ over cells of |∫ pdf − mass|, after halving every cell that disagrees as far as is sensible."""
    inner = density.breakpoints[(density.breakpoints > density.quantiles[0]) & (density.breakpoints < density.quantiles[-1])]
    edges = np.unique(np.concatenate([density.quantiles, inner]))
    low, high = edges[:-1], edges[1:]
    nodes, weights = np.polynomial.legendre.leggauss(24)
    settled, cells = 0.0, 0
    for _ in range(60):
        off = _differences(density, low, high, nodes, weights)
        middle = midpoints(low, high)
        agrees = off <= 1e-12
        done = agrees | ~((low < middle) & (middle < high))
        off[done & ~agrees & _at_pole(density, low, high)] = 0.0
        settled += float(off[done].sum())
        cells += low.size
        if done.all() or cells > 4000:
            return settled + float(off[~done].sum())
        low, middle, high = low[~done], middle[~done], high[~done]
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return settled + float(off[~done].sum())


def _differences(density: Component, low: Array, high: Array, nodes: Array, weights: Array) -> Array:
    half = 0.5 * (high - low)[:, None]
    points = low[:, None] + half * (1.0 + nodes)
    with np.errstate(invalid="ignore", over="ignore"):  # a node may fall on a pole
        integral = (density.pdf(points.ravel()).reshape(points.shape) * weights * half).sum(axis=1)
    integral[np.isnan(integral)] = np.inf
    return np.asarray(np.abs(integral - np.diff(np.stack([density.tails(low)[0], density.tails(high)[0]]), axis=0)[0]))


def _at_pole(density: Component, low: Array, high: Array) -> NDArray[np.bool_]:
    """Whether the density is infinite at an end: between such neighbouring doubles there is nothing left to compare."""
    return np.asarray(np.isinf(density.pdf(low)) | np.isinf(density.pdf(high)))


def midpoints(low: Array, high: Array) -> Array:
    """Middles of finite intervals: arithmetic, but geometric where the ends have one sign and differ fourfold."""
    with np.errstate(all="ignore"):
        far = (low * high > 0.0) & (np.maximum(np.abs(low), np.abs(high)) > 4.0 * np.minimum(np.abs(low), np.abs(high)))
        geometric = np.sign(low) * np.sqrt(np.abs(low)) * np.sqrt(np.abs(high))
    return np.asarray(np.where(far, geometric, 0.5 * low + 0.5 * high))
