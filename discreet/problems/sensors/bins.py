"""One sensor: the bin (e_k, e_{k+1}] that contains a real measurement Z.

Precision: an interval below the median is a difference of cdf values, one above it a difference of
survival values, so that tail probabilities keep their *relative* precision.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.checks import (
    TOTAL_TOLERANCE,
    as_list,
    as_numbers,
    brief,
    check_prior,
    check_table,
    freeze,
    real_numbers,
    whole,
)
from discreet.errors import InputError
from discreet.numerics.double_double import Array


def single_sensor(distributions: Sequence[Sequence[Any]], p_xy: Any, edges: Any) -> Array:
    """Return the joint tensor [n, m, N] of a binned measurement.

    distributions   [n][m] frozen scipy.stats distributions of Z given (x_j, y_i); anything with
                    `cdf`, `sf` and `median`
    p_xy            p(x_j, y_i) [n, m]
    edges           increasing bin edges [N + 1], ±inf allowed at the ends; bin k is (e_k, e_{k+1}]

    Raises InputError for a bad p_xy, edges that do not increase, or a distribution with more than
    1e-9 of its mass outside the edges (less is distributed over the bins by normalising).
    """
    prior = check_prior(p_xy)
    bins = check_edges(edges)
    laws = check_table(distributions, prior)
    joint = np.zeros((*prior.shape, bins.size - 1))
    for j, i in np.argwhere(prior > 0.0):
        joint[j, i] = prior[j, i] * _masses(laws[j][i], bins, j, i)
    return np.asarray(joint / joint.sum())


def binned_law(distributions: Sequence[Sequence[Any]], edges: Any) -> Array:
    """Return Pr(bin k given x_j, y_i) [n, m, bins] of a sensor, the input of the models of several
    sensors.

    distributions and edges as for `single_sensor`; for several sensors stack one such law per
    sensor. Raises InputError for rows of different lengths, and as `single_sensor` does.
    """
    bins = check_edges(edges)
    wanted = "n rows of m frozen distributions each"
    rows = [
        as_list(row, "a row of distributions", wanted)
        for row in as_list(distributions, "distributions", wanted)
    ]
    if any(len(row) != len(rows[0]) for row in rows):
        raise InputError(f"distributions is not a table; give {wanted}")
    return np.array(
        [[_masses(law, bins, j, i) for i, law in enumerate(row)] for j, row in enumerate(rows)]
    )


def _masses(distribution: Any, bins: Array, j: int, i: int) -> Array:
    masses = interval_masses(distribution, bins)
    total = float(masses.sum())
    if abs(total - 1.0) > TOTAL_TOLERANCE:
        what = f"the distribution of Z given (x[{j}], y[{i}])"
        raise InputError(
            f"{what} has probability {total!r} inside the edges, not 1; add edges, "
            "such as −inf and inf"
        )
    return np.asarray(masses / total)


def check_edges(edges: Any) -> Array:
    """Return edges [N + 1] as float64: at least two, strictly increasing, no NaN; otherwise raise
    InputError.
    """
    bins = np.array(as_numbers(edges, "the row of edges", "[bins + 1]"))
    if bins.ndim != 1 or bins.size < 2:
        raise InputError(
            f"the edges have shape {list(bins.shape)}; give a row of at least two "
            "increasing numbers"
        )
    # Compare instead of subtracting, because inf − inf is NaN.
    wrong = np.flatnonzero(~(bins[1:] > bins[:-1]))
    if wrong.size:
        k = int(wrong[0])
        raise InputError(
            f"edges[{k}] = {bins[k]} and edges[{k + 1}] = {bins[k + 1]}; the edges "
            "must be strictly increasing"
        )
    return bins


def even_edges(bins: int, low: float, high: float) -> Array:
    """Return edges [bins + 1] of equally wide bins over [low, high], with the outer two replaced by
    ±inf. Raises InputError.
    """
    first = float(real_numbers("lower end", low, ()))
    last = float(real_numbers("upper end", high, ()))
    with np.errstate(all="ignore"):  # edges that do not increase are refused
        inner = np.linspace(first, last, whole(bins, "bins", 1, 1e8) + 1)[1:-1]
    return check_edges(np.concatenate([[-np.inf], inner, [np.inf]]))


def interval_masses(distribution: Any, edges: Array) -> Array:
    """Return Pr(e_k < Z ≤ e_{k+1}) [..., N] of a frozen distribution with checked edges [N + 1],
    with relative precision in both tails.

    A distribution whose parameters are columns [..., 1] gives one row each. If it has no survival
    function of its own (scipy's default is 1 − cdf, which has no digits left in the upper tail),
    light upper intervals are integrated from its density, which may refine the difference of cdf
    values only within its rounding error. Intervals much narrower than the distribution lose
    relative digits: a mass p in the middle has an error of about 1e-16/p.
    """
    if not (hasattr(distribution, "cdf") and hasattr(distribution, "sf")):
        raise InputError(
            f"{brief(distribution)} is not a distribution; give one with cdf and sf, "
            "such as one of scipy.stats"
        )
    below = np.asarray(distribution.cdf(edges))
    above = np.asarray(distribution.sf(edges))
    low = edges[:-1]
    high = edges[1:]
    left = below[..., 1:] - below[..., :-1]
    right = (
        above[..., :-1] - above[..., 1:]
        if has_own_sf(distribution)
        else _from_density(distribution, edges, left)
    )
    middle = np.asarray(distribution.median())
    across = (distribution.cdf(middle) - below[..., :-1]) + (
        distribution.sf(middle) - above[..., 1:]
    )
    masses = np.where(high <= middle, left, np.where(low >= middle, right, across))
    masses = np.where(np.isnan(middle), left, masses)
    if not np.isfinite(masses).all():
        raise InputError("a distribution has no cdf value at some edge (NaN); check its parameters")
    return np.asarray(np.maximum(masses, 0.0))


@dataclass(frozen=True)
class NormalDensity:
    """The normal law with a mean and a standard deviation σ > 0; unlike scipy.stats.norm it does
    not need an import of one second.

    Means [..., 1] give one row each to `interval_masses`. Raises InputError for numbers that are
    not finite, or σ ≤ 0.
    """

    steady: ClassVar[float] = 0.05

    mean: Any
    sigma: Any

    def __post_init__(self) -> None:
        mean = as_numbers(self.mean, "the mean", "[...]")
        sigma = as_numbers(self.sigma, "σ", "[...]")
        if not (np.isfinite(mean).all() and np.isfinite(sigma).all() and np.all(sigma > 0.0)):
            given = f"mean {brief(self.mean)} and σ {brief(self.sigma)}"
            raise InputError(f"a normal density with {given}; both must be finite and σ > 0")
        try:
            np.broadcast_shapes(mean.shape, sigma.shape)
        except ValueError:
            raise InputError(
                f"the mean has shape {list(mean.shape)} and σ {list(sigma.shape)}; give shapes "
                "that fit"
            ) from None
        freeze(
            self,
            mean=mean if mean.ndim else float(mean),
            sigma=sigma if sigma.ndim else float(sigma),
        )

    @property
    def breakpoints(self) -> list[float]:
        """The points between which the density is monotone."""
        return [float(self.mean)]

    @property
    def bends(self) -> list[float]:
        """The inflection points of the density."""
        return [float(self.mean - self.sigma), float(self.mean + self.sigma)]

    @property
    def ratio_family(self) -> Hashable:
        """A key shared by densities with monotone ratios."""
        return "normal", float(self.sigma)

    def pdf(self, z: Any) -> Array:
        """Return the density at z."""
        x = np.minimum(np.abs(self._standard(z)), 1e100)
        return np.asarray(np.exp(-0.5 * x**2) / (math.sqrt(2.0 * math.pi) * self.sigma))

    def cdf(self, z: Any) -> Array:
        """Return the probability Pr(Z ≤ z)."""
        from scipy.special import ndtr

        return np.asarray(ndtr(self._standard(z)))

    def sf(self, z: Any) -> Array:
        """Return Pr(Z > z), with relative precision in the upper tail."""
        from scipy.special import ndtr

        return np.asarray(ndtr(-self._standard(z)))

    def ppf(self, p: Any) -> Array:
        """Return the quantiles of probabilities p."""
        from scipy.special import ndtri

        return np.asarray(self.mean + self.sigma * ndtri(p))

    def isf(self, p: Any) -> Array:
        """Return the upper quantiles of probabilities p."""
        from scipy.special import ndtri

        return np.asarray(self.mean - self.sigma * ndtri(p))

    def median(self) -> Any:
        """Return the median, which is the mean."""
        return self.mean

    def rvs(self, size: int, random_state: np.random.Generator) -> Array:
        """Return an array of random draws [size]."""
        return random_state.normal(self.mean, self.sigma, size)

    def _standard(self, z: Any) -> Any:
        with np.errstate(over="ignore"):  # an infinite number of σ is allowed
            return (np.asarray(z, dtype=np.float64) - self.mean) / self.sigma


def has_own_sf(distribution: Any) -> bool:
    """Return True if a scipy distribution defines a survival function; the default, 1 − cdf, has no
    digits in the upper tail.
    """
    if not hasattr(distribution, "dist"):
        return True
    from scipy import stats

    own = getattr(type(distribution.dist), "_sf", None)
    return own not in (stats.rv_continuous._sf, stats.rv_discrete._sf)


def _from_density(distribution: Any, edges: Array, masses: Array) -> Array:
    """Return differences of cdf values; those above the median that are below 1e-4 are refined by
    integrating the density.
    """
    if masses.ndim != 1 or not hasattr(distribution.dist, "_pdf"):
        return masses
    from scipy import integrate

    refined = masses.copy()
    rounding = 4 * 2.0**-53  # rounding error of a cdf near one
    for k in np.flatnonzero((edges[:-1] >= distribution.median()) & (masses < 1e-4)):
        with np.errstate(all="ignore"):  # intermediate results may overflow if the density is 0
            value = integrate.quad(
                distribution.pdf, edges[k], edges[k + 1], epsabs=0.0, epsrel=1e-12, full_output=1
            )[0]
        if np.isfinite(value):
            refined[k] = np.clip(value, masses[k] - rounding, masses[k] + rounding)
    return refined
