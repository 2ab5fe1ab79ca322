"""Sensor models: from the law of a measurement to the joint tensor p(x, y, z).

A single sensor reports the bin in which a real measurement Z falls; its bins are (e_k, e_{k+1}]. M independent, identical
sensors report one bin each; since their order says nothing, the outcome is the vector of counts per bin, of which there
are C(M + bins − 1, bins − 1).

Precision: an interval below the median is a difference of cdf values, one above it a difference of survival values, so
that tail probabilities keep their *relative* precision. The multinomial is evaluated in its saddle-point form

    log p(c) = δ(M) − Σ_k δ(c_k) + ½ log(2πM / Π_{c_k>0} 2πc_k) − Σ_k D(c_k, M q_k),

with δ the remainder of Stirling's formula and D(c, μ) = c log(c/μ) + μ − c, in which no large logarithms cancel; its
relative error is a few times 2^-53 (1 + |log p(c)| + max_k |c_k − M q_k|).

Source: C. Loader, "Fast and Accurate Computation of Binomial Probabilities" (2000), extended to several bins; the models
are those of E. Nekouei, H. Sandberg, M. Skoglund, K. H. Johansson, "Privacy-aware Minimum Error Probability Estimation: An
Entropy Constrained Approach", numerical section.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.problems.accurate import Array
from discreet.problems.checks import TOTAL_TOLERANCE, check_total, mass_array, whole
from discreet.problems.errors import InputError
from discreet.problems.information import phi_divergence

__all__ = [
    "LARGEST_LATTICE",
    "PAPER_EDGES",
    "PAPER_P_X",
    "PAPER_P_Y",
    "PAPER_SIGMA",
    "PAPER_WEIGHT_X",
    "PAPER_WEIGHT_Y",
    "Normal",
    "check_edges",
    "count_vectors",
    "iid_sensors",
    "interval_masses",
    "paper_conditional",
    "paper_p_xy",
    "single_sensor",
]

LARGEST_LATTICE = 10_000_000
"""Most count vectors `count_vectors` and `iid_sensors` will make: 320 MB of probabilities at n = m = 2."""

# The paper's numerical section: Z = 0.6 Y + 0.4 X + noise. Its bin edges are not given there; the edges here are the
# midpoints between the four means 0, 0.4, 0.6, 1.
PAPER_P_X = (0.7, 0.3)
PAPER_P_Y = (0.5, 0.5)
PAPER_WEIGHT_X = 0.4
PAPER_WEIGHT_Y = 0.6
PAPER_SIGMA = 0.1  # the variance is 0.01
PAPER_EDGES = (-math.inf, 0.2, 0.5, 0.8, math.inf)

_STIRLING_TABLE = 16  # counts under this take δ from exact factorials; the series is exact to rounding from here on
_FINE = 1e-4  # upper-tail intervals lighter than this are refined when the distribution has no survival function
_ROUNDING = 4 * 2.0**-53  # of a cdf near one


# -- one sensor --------------------------------------------------------------------------------------------------------


def single_sensor(distributions: Sequence[Sequence[Any]], p_xy: Any, edges: Any) -> Array:
    """The joint tensor [n, m, N] of a binned measurement.

    distributions   [n][m] frozen scipy.stats distributions of Z given (x_j, y_i); anything with `cdf`, `sf` and `median`
    p_xy            p(x_j, y_i) [n, m]
    edges           increasing bin edges [N + 1], ±inf allowed at the ends; bin k is (e_k, e_{k+1}]

    Raises InputError for a bad p_xy, edges that do not increase, or a distribution with more than 1e-9 of its mass outside
    the edges (less is spread over the bins by normalising).
    """
    prior = mass_array(p_xy, "p_xy", 2, "[n, m]")
    prior = prior / check_total(prior, "p_xy")
    bins = check_edges(edges)
    n, m = prior.shape
    if len(distributions) != n or any(len(row) != m for row in distributions):
        raise InputError(f"p_xy has shape {[n, m]} but distributions does not; give {n} rows of {m} frozen distributions")
    joint = np.empty((n, m, bins.size - 1))
    for j, row in enumerate(distributions):
        for i, distribution in enumerate(row):
            masses = interval_masses(distribution, bins)
            if prior[j, i] > 0.0:
                masses = masses / _covered(masses, f"the distribution of Z given (x[{j}], y[{i}])")
            joint[j, i] = prior[j, i] * masses
    return np.asarray(joint / joint.sum())


def _covered(masses: Array, what: str) -> float:
    total = float(masses.sum())
    if abs(total - 1.0) > TOTAL_TOLERANCE:
        raise InputError(f"{what} has probability {total!r} inside the edges, not 1; add edges, such as −inf and inf")
    return total


def check_edges(edges: Any) -> Array:
    """Edges [N + 1] as float64: at least two, strictly increasing, no NaN; or InputError."""
    try:
        bins = np.array(edges, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the edges are not real numbers ({error}); give increasing numbers") from None
    if bins.ndim != 1 or bins.size < 2:
        raise InputError(f"the edges have shape {list(bins.shape)}; give a row of at least two increasing numbers")
    # A comparison, not a difference: inf − inf is not a number.
    wrong = np.flatnonzero(~(bins[1:] > bins[:-1]))
    if wrong.size:
        k = int(wrong[0])
        raise InputError(f"edges[{k}] = {bins[k]} and edges[{k + 1}] = {bins[k + 1]}; the edges must be strictly increasing")
    return bins


def interval_masses(distribution: Any, edges: Array) -> Array:
    """Pr(e_k < Z ≤ e_{k+1}) [..., N] of a frozen distribution with checked edges [N + 1], relatively precise in both tails.

    A distribution whose parameters are columns [..., 1] gives one row each. If it brings no survival function of its own
    (scipy's default is 1 − cdf, which has no digits left in the upper tail), light upper intervals are integrated from its
    density, which may refine the difference of cdf values only within the rounding of the latter. Intervals much narrower
    than the distribution lose relative digits: a mass p in the middle is known to about 1e-16/p.
    """
    below, above = np.asarray(distribution.cdf(edges)), np.asarray(distribution.sf(edges))
    low, high = edges[:-1], edges[1:]
    left = below[..., 1:] - below[..., :-1]
    right = above[..., :-1] - above[..., 1:] if _has_own_sf(distribution) else _from_density(distribution, edges, left)
    middle = np.asarray(distribution.median())
    across = (distribution.cdf(middle) - below[..., :-1]) + (distribution.sf(middle) - above[..., 1:])
    masses = np.where(high <= middle, left, np.where(low >= middle, right, across))
    masses = np.where(np.isnan(middle), left, masses)
    if not np.isfinite(masses).all():
        raise InputError("a distribution has no cdf value at some edge (NaN); check its parameters")
    return np.asarray(np.maximum(masses, 0.0))


@dataclass(frozen=True)
class Normal:
    """Normal laws with means [..., 1] and a standard deviation: scipy.stats.norm without the second its import takes."""

    mean: Any
    sigma: Any

    def cdf(self, z: Any) -> Array:
        """Pr(Z ≤ z)."""
        from scipy.special import ndtr

        return np.asarray(ndtr((z - self.mean) / self.sigma))

    def sf(self, z: Any) -> Array:
        """Pr(Z > z), relatively precise in the upper tail."""
        from scipy.special import ndtr

        return np.asarray(ndtr((self.mean - z) / self.sigma))

    def median(self) -> Any:
        """The mean."""
        return self.mean


def _has_own_sf(distribution: Any) -> bool:
    if not hasattr(distribution, "dist"):
        return True
    from scipy import stats

    own = getattr(type(distribution.dist), "_sf", None)
    return own not in (stats.rv_continuous._sf, stats.rv_discrete._sf)


def _from_density(distribution: Any, edges: Array, masses: Array) -> Array:
    """Differences of cdf values, the light ones above the median refined by integrating the density."""
    if masses.ndim != 1 or not hasattr(distribution.dist, "_pdf"):
        return masses
    from scipy import integrate

    refined = masses.copy()
    for k in np.flatnonzero((edges[:-1] >= distribution.median()) & (masses < _FINE)):
        with np.errstate(all="ignore"):  # a density may overflow inside where its value is 0
            value = integrate.quad(distribution.pdf, edges[k], edges[k + 1], epsabs=0.0, epsrel=1e-12, full_output=1)[0]
        if np.isfinite(value):
            refined[k] = np.clip(value, masses[k] - _ROUNDING, masses[k] + _ROUNDING)
    return refined


# -- many sensors ------------------------------------------------------------------------------------------------------


def count_vectors(sensors: int, bins: int) -> NDArray[np.int32]:
    """All vectors of counts c [N, bins] with Σ_k c_k = sensors, lexicographic: (0, …, 0, M) first, (M, 0, …, 0) last."""
    sensors, bins = whole(sensors, "sensors", 0), whole(bins, "bins", 1)
    size = math.comb(sensors + bins - 1, bins - 1)
    if size > LARGEST_LATTICE:
        raise InputError(
            f"{sensors} sensors with {bins} bins have {size:,} count vectors and the limit is {LARGEST_LATTICE:,}; "
            "take fewer sensors or bins"
        )
    counts = np.zeros((size, bins), dtype=np.int32)
    if bins == 1:
        counts[:, 0] = sensors
        return counts
    # Level by level of a tree: `left` holds what each partial vector may still spend; it is repeated once per completion.
    left = np.array([sensors], dtype=np.int64)
    for k in range(bins - 1):
        branches = left + 1
        first = np.repeat(np.cumsum(branches) - branches, branches)
        spent = np.arange(first.size) - first
        left = np.repeat(left, branches) - spent
        counts[:, k] = np.repeat(spent, _completions(left, bins - 1 - k))
    counts[:, -1] = left
    return counts


def _completions(left: NDArray[np.int64], bins: int) -> NDArray[np.int64]:
    """Number of vectors of `bins` counts with sum `left`: C(left + bins − 1, bins − 1)."""
    table = np.array([math.comb(int(c) + bins - 1, bins - 1) for c in range(int(left.max()) + 1)], dtype=np.int64)
    return table[left]


def iid_sensors(p_z_given_xy: Any, p_xy: Any, sensors: int) -> Array:
    """The joint tensor [n, m, N] of the counts of `sensors` independent sensors, in the order of `count_vectors`.

    p_z_given_xy   Pr(one sensor reports bin k given x_j, y_i) [n, m, bins]
    p_xy           p(x_j, y_i) [n, m]

    Probabilities under the smallest double become 0. Raises InputError for arrays that are not probabilities within 1e-9
    or a lattice of more than `LARGEST_LATTICE` count vectors.
    """
    sensors = whole(sensors, "sensors", 1)
    law = mass_array(p_z_given_xy, "p_z_given_xy", 3, "[n, m, bins]")
    prior = mass_array(p_xy, "p_xy", 2, "[n, m]")
    if law.shape[:2] != prior.shape:
        raise InputError(f"p_z_given_xy has shape {list(law.shape)} and p_xy {list(prior.shape)}; the first two must agree")
    prior = prior / check_total(prior, "p_xy")
    counts = count_vectors(sensors, law.shape[2]).T.astype(np.float64)
    coefficient = _log_coefficient(counts, sensors)
    joint = np.zeros((*prior.shape, counts.shape[1]))
    for j, i in np.argwhere(prior > 0.0):
        q = law[j, i] / check_total(law[j, i], f"p_z_given_xy[{j}, {i}]")
        joint[j, i] = prior[j, i] * _multinomial(counts, coefficient, q, sensors)
    return np.asarray(joint / joint.sum())


def _multinomial(counts: Array, coefficient: Array, q: Array, sensors: int) -> Array:
    """Multinomial probabilities [N] of counts [bins, N] under bin probabilities q [bins]; they sum to one exactly."""
    exponent = coefficient.copy()
    for k, probability in enumerate(q):
        exponent -= _deviance(counts[k], sensors * probability)
    masses = np.exp(exponent)
    return np.asarray(masses / masses.sum())


def _log_coefficient(counts: Array, sensors: int) -> Array:
    """δ(M) − Σ δ(c_k) + ½ log(2πM / Π 2πc_k) [N]: all of log p(c) that does not depend on the bin probabilities."""
    table = _stirling_remainder(sensors) + 0.5 * np.log(2.0 * np.pi * np.maximum(np.arange(sensors + 1), 1.0))
    table[0] = 0.0  # an empty bin contributes nothing
    total = np.full(counts.shape[1], table[sensors])
    for row in counts:
        total -= table[row.astype(np.intp)]
    return total


def _stirling_remainder(largest: int) -> Array:
    """δ(c) = log c! − (½ log(2πc) + c log c − c) for c = 0..largest; δ(0) is set to 0."""
    c = np.maximum(np.arange(largest + 1, dtype=np.float64), 1.0)
    s = 1.0 / (c * c)
    remainder = (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - s * 691 / 360360))))) / c
    for k in range(1, min(largest + 1, _STIRLING_TABLE)):
        remainder[k] = math.log(math.factorial(k) * math.exp(k) / (math.sqrt(2.0 * math.pi * k) * float(k) ** k))
    remainder[0] = 0.0
    return np.asarray(remainder)


def _deviance(count: Array, mean: float) -> Array:
    """D(c, μ) = c log(c/μ) + μ − c, without cancellation near c = μ; inf where c > 0 = μ, 0 where both are 0."""
    if mean == 0.0:
        return np.where(count > 0.0, np.inf, 0.0)
    close = np.abs(count - mean) < 0.5 * mean
    near = mean * phi_divergence(np.where(close, count - mean, 0.0) / mean)
    far = count * (np.log(np.maximum(count, 1.0)) - math.log(mean)) + (mean - count)
    return np.where(close, near, far)


# -- the paper's model -------------------------------------------------------------------------------------------------


def paper_p_xy() -> Array:
    """p(x, y) [2, 2] of the paper: X and Y independent."""
    return np.outer(PAPER_P_X, PAPER_P_Y)


def paper_conditional(edges: Any = PAPER_EDGES) -> Array:
    """Pr(bin given x, y) [2, 2, bins] of one sensor of the paper: Z = 0.6 Y + 0.4 X + N(0, 0.1²)."""
    means = PAPER_WEIGHT_X * np.arange(2)[:, None, None] + PAPER_WEIGHT_Y * np.arange(2)[None, :, None]
    return interval_masses(Normal(means, PAPER_SIGMA), check_edges(edges))
