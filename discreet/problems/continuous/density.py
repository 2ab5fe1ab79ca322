"""Densities of a one-dimensional measurement that are monotone between known points, and mixtures
of them.

The cdf of a density gives the mass of any interval, and between neighbouring *breakpoints* it is
monotone: its range over an interval is spanned by its values at the ends. Breakpoints are the modes
(and antimodes) and every point where the density jumps, such as the ends of its support. They are
known for the common families of scipy.stats (`families`), given by the user for callables, and
otherwise located numerically, which the problem then lists among its assumptions. A `Mixture` is
split into its components, since mixtures need not be unimodal but are linear in components that
are.

A density that does not integrate to the differences of its own cdf, everywhere and in total, is
refused by name.

Source: docs/theory.md, section 17.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import TOTAL_TOLERANCE, brief, freeze
from discreet.errors import InputError
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import UNIT
from discreet.problems.continuous.families import Member
from discreet.problems.roots import bisect, midpoints
from discreet.problems.sensors.bins import has_own_sf

LEVELS = np.array(
    [1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, *np.arange(0.04, 0.51, 0.06)]
)
"""Probabilities in each tail at which quantiles are taken, up to near the median."""

UNDERFLOW = 1e-300
"""Absolute error allowed for in densities, cdfs and survival functions besides the relative one:
normal laws underflow beyond 37σ, and values below 1e-308 lose digits."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


@dataclass(frozen=True, eq=False)
class Density:
    """A density given by vectorised functions of z.

    pdf, cdf      density and Pr(Z ≤ z)
    sf            Pr(Z > z); without it upper tails are 1 − cdf and keep absolute precision only
    breakpoints   all points where the density turns from rising to falling or back, or jumps; None
                  to have them located numerically, which the problem will list as assumed
    ratio_family  any key; densities of one key have monotone ratios between breakpoints (see
                  `families`)
    """

    pdf: Callable[[Array], Any]
    cdf: Callable[[Array], Any]
    sf: Callable[[Array], Any] | None = None
    breakpoints: Sequence[float] | None = None
    ratio_family: Hashable | None = None


@dataclass(frozen=True, eq=False)
class Mixture:
    """Σ_r weights_r × components_r; weights ≥ 0 that sum to one, components as for any other entry
    of a problem.
    """

    weights: Sequence[float]
    components: Sequence[Any]

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.ndim != 1 or weights.size != len(self.components) or not weights.size:
            raise InputError(
                f"a mixture has {len(self.components)} components and weights of "
                f"shape {list(weights.shape)}"
            )
        if not ((weights >= 0.0).all() and abs(float(weights.sum()) - 1.0) <= 1e-9):
            raise InputError(
                f"the weights {weights.tolist()} of a mixture must be ≥ 0 and sum to 1 within 1e-9"
            )
        freeze(self, weights=tuple((weights / weights.sum()).tolist()))


@dataclass(frozen=True, eq=False)
class Component:
    """A density with all that bounds and masses need of it.

    upper_floor   absolute error of upper-tail probabilities beyond the relative one (0 with a
                  survival function)
    accuracy      known relative error of the functions; 0 where the problem's assumption covers it
    steady        tails v of known families err by the share max(steady, log v / log 1e-300) of the
                  accuracy (docs/theory.md, section 17); 1 for all others
    located       the breakpoints were found numerically
    family        ratio family, None if unknown
    family_stated it was stated by the user
    breakpoints   finite, increasing
    rounded       those of them that may lie between two doubles
    bends         breakpoints and inflection points: between them the density is convex or concave;
                  finite, increasing; None if unknown
    quantiles     at `LEVELS` of both tails, increasing
    median        intervals below it are measured by the cdf, those above it by the survival
                  function
    entry         the distribution that it was prepared from
    """

    what: str
    pdf_: Callable[[Array], Any]
    cdf_: Callable[[Array], Any]
    sf_: Callable[[Array], Any]
    upper_floor: float
    accuracy: float = 0.0
    steady: float = 1.0
    located: bool = False
    family: Hashable | None = None
    family_stated: bool = False
    breakpoints: Array = field(default_factory=lambda: np.empty(0))
    rounded: Array = field(default_factory=lambda: np.empty(0))
    bends: Array | None = None
    quantiles: Array = field(default_factory=lambda: np.empty(0))
    median: float = 0.0
    entry: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as the entry that it was prepared from, since functions cannot be."""
        return component, (self.entry, self.what)

    def pdf(self, z: Array) -> Array:
        """Densities at finite points; 0 at ±inf; may be inf at a pole.

        scipy.stats returns NaN where (z − location) / scale overflows. This counts as 0 where the
        cdf shows that the density is at most `UNDERFLOW`.
        """
        values = np.zeros(z.shape)
        finite = np.isfinite(z)
        densities = self._values(self.pdf_, z[finite], "density")
        unknown = np.isnan(densities)
        if unknown.any():
            densities = np.where(unknown & self._negligible(z[finite]), 0.0, densities)
        values[finite] = self._check_values(densities, z[finite], "density")
        return values

    def _negligible(self, z: Array) -> NDArray[np.bool_]:
        """Where the density is at most `UNDERFLOW`. Beyond all breakpoints it falls, so at z it is
        at most the mass past z/2 over |z/2|.
        """
        below, above = self.tails(0.5 * z)
        past = np.where(z < 0.0, below, above + self.upper_floor)
        width = 0.5 * np.abs(z)
        return np.asarray(
            (width > np.abs(self.breakpoints).max(initial=0.0)) & (past <= UNDERFLOW * width)
        )

    def tails(self, z: Array) -> tuple[Array, Array]:
        """(Pr(Z ≤ z), Pr(Z > z)) at any points, ±inf included."""
        below = (z == np.inf) * 1.0
        above = (z == -np.inf) * 1.0
        finite = np.isfinite(z)
        for tail, function, what in (
            (below, self.cdf_, "cdf"),
            (above, self.sf_, "survival function"),
        ):
            tail[finite] = self._check_values(
                self._values(function, z[finite], what), z[finite], what
            )
        return below, above

    def _values(self, function: Callable[[Array], Any], z: Array, what: str) -> Array:
        if not z.size:
            return np.empty(0)
        # Overflows inside where the value is 0; the result is checked here.
        with np.errstate(all="ignore"):
            try:
                values = _evaluate(function, z)
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"the {what} of {self.what} cannot be evaluated at an array of points: {error}"
                ) from None
        if values.shape != z.shape:
            raise InputError(
                f"the {what} of {self.what} returns shape {list(values.shape)} for {z.size} "
                "points; vectorise it"
            )
        return values

    def _check_values(self, values: Array, z: Array, what: str) -> Array:
        wrong = np.flatnonzero(np.isnan(values) | (values < 0.0))
        if wrong.size:
            k = int(wrong[0])
            raise InputError(
                f"the {what} of {self.what} is {values[k]} at z = {z[k]:.12g}; it "
                "must be ≥ 0 everywhere"
            )
        return values


def _evaluate(function: Callable[[Array], Any], z: Array) -> Array:
    """The values at points; inf at those where the function overflows, as some densities of
    scipy.stats do at a pole.
    """
    try:
        return np.asarray(function(z), dtype=np.float64)
    except OverflowError:  # raised for all points at once
        if z.size == 1:
            return np.array([math.inf])
        return np.concatenate([_evaluate(function, part) for part in np.array_split(z, 2)])


def expand(entry: Any, what: str) -> list[tuple[float, Any]]:
    """The (weight, component) pairs of an entry: itself, or the parts of a mixture."""
    if not isinstance(entry, Mixture):
        return [(1.0, entry)]
    pairs = zip(entry.weights, entry.components, strict=True)
    return [
        (weight * inner, part)
        for weight, each in pairs
        if weight > 0.0
        for inner, part in expand(each, what)
    ]


def component(entry: Any, what: str) -> Component:
    """Prepare one density. Raises InputError, which names it by `what`, if pdf or cdf is missing or
    they disagree by more than 1e-9.
    """
    if not callable(getattr(entry, "pdf", None)) or not callable(getattr(entry, "cdf", None)):
        raise InputError(
            f"{what} is {brief(entry)}, which has no pdf and cdf; give a continuous distribution "
            "or a discreet Density"
        )
    known: Any = Member.of(entry) or entry
    bare = _functions(entry, known, what)
    lower, higher = _quantiles(bare, entry, LEVELS)
    points: Any = getattr(known, "breakpoints", None)
    located = points is None
    if located:
        points = _locate_turning_points(bare, entry)
    bends = getattr(known, "bends", None)
    family = getattr(known, "ratio_family", None)
    prepared = replace(
        bare,
        located=located,
        family=family,
        family_stated=family is not None and bare.steady == 1.0,
        breakpoints=_finite(points),
        rounded=np.setdiff1d(_finite(points), getattr(known, "exact_ends", [])),
        bends=None if bends is None else _finite([*points, *bends]),
        quantiles=np.unique(np.concatenate([lower, higher])),
        median=0.5 * (float(lower[-1]) + float(higher[-1])),
        entry=entry,
    )
    _check(prepared)
    return prepared


def _finite(points: Any) -> Array:
    """The finite points, increasing."""
    sorted_points = np.unique(np.asarray(points, dtype=np.float64))
    return sorted_points[np.isfinite(sorted_points)]


def _functions(entry: Any, known: Any, what: str) -> Component:
    """The functions of an entry and how accurate they are."""
    accuracy = getattr(known, "accuracy", 0.0)
    steady = getattr(known, "steady", 1.0)
    functions = known.functions() if isinstance(known, Member) else None
    if functions is not None:
        return Component(what, *functions, 0.0, accuracy, steady)
    cdf = entry.cdf
    upper = getattr(entry, "sf", None)
    exact = upper is not None and has_own_sf(entry)
    sf = upper if upper is not None else lambda z: np.maximum(1.0 - np.asarray(cdf(z)), 0.0)
    return Component(what, entry.pdf, cdf, sf, 0.0 if exact else 4.0 * UNIT, accuracy, steady)


def _quantiles(bare: Component, entry: Any, levels: Array) -> tuple[Array, Array]:
    """Points with about `levels` of the mass below, and above. They are only guides; no proof rests
    on them.
    """
    if hasattr(entry, "ppf") and hasattr(entry, "isf"):
        try:
            with np.errstate(all="ignore"):
                quantiles = (
                    np.asarray(entry.ppf(levels), dtype=np.float64),
                    np.asarray(entry.isf(levels), dtype=np.float64),
                )
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the quantiles of {bare.what} cannot be evaluated: {error}; give one distribution"
            ) from None
        if all(np.isfinite(each).all() for each in quantiles):
            return quantiles
    return _bisect_quantiles(bare, levels, 0), _bisect_quantiles(bare, levels, 1)


def _bisect_quantiles(bare: Component, levels: Array, side: int) -> Array:
    """Quantiles of the lower (side 0) or upper (1) tail by bisection in the coordinate asinh z."""

    def before(x: Array) -> NDArray[np.bool_]:
        return np.asarray((bare.tails(np.sinh(x))[side] < levels) ^ (side == 1))

    ends = np.full(levels.shape, 700.0)  # sinh of more would overflow
    return np.asarray(np.sinh(bisect(before, -ends, ends)[0]))


def _locate_turning_points(bare: Component, entry: Any) -> Array:
    """Turning points of an unknown density: where its values on a fine grid of quantiles turn.

    Each turn is narrowed by thirds; the support's ends, where known, are added.
    """
    levels = np.concatenate([LEVELS[:7], np.linspace(1e-3, 0.5, 2000)])
    points = np.unique(np.concatenate(_quantiles(bare, entry, levels)))
    values = bare.pdf(points)
    steps = np.diff(np.minimum(values, 1e300))
    # Smaller steps are rounding, not shape.
    real = np.flatnonzero(np.abs(steps) > 1e-13 * np.minimum(values[1:], 1e300))
    turns = np.flatnonzero(np.sign(steps[real][1:]) != np.sign(steps[real][:-1]))
    low = points[real[turns]]
    high = points[real[turns + 1] + 1]
    sign = np.sign(steps[real[turns]])
    for _ in range(100):
        third = (high - low) / 3.0
        left = low + third
        right = high - third
        up = sign * bare.pdf(left) < sign * bare.pdf(right)
        low = np.where(up, left, low)
        high = np.where(up, high, right)
    ends = entry.support() if hasattr(entry, "support") else ()
    return np.array([*(0.5 * (low + high)), *ends], dtype=np.float64)


def _check(density: Component) -> None:
    """Refuse a density whose cdf does not run from 0 to 1 or that does not integrate to it within
    1e-9.
    """
    below, above = density.tails(np.array([-1e300, *density.quantiles, 1e300]))
    if abs(below[0]) > TOTAL_TOLERANCE or abs(below[-1] - 1.0) > TOTAL_TOLERANCE:
        raise InputError(
            f"the cdf of {density.what} runs from {below[0]:.12g} to {below[-1]:.12g}, not from 0 "
            "to 1"
        )
    wrong = float(np.abs(below + above - 1.0).max())
    if wrong > TOTAL_TOLERANCE:
        raise InputError(
            f"cdf and survival function of {density.what} do not add up to 1 (off by {wrong:.3g})"
        )
    missing, place = _discrepancy(density)
    if math.isinf(missing):
        raise InputError(
            f"the density of {density.what} is infinite near z = {place:.12g}, and too much of "
            "its mass is next to it to be "
            "compared with its cdf; end the density before that point, or bin z and state a "
            "problem of arrays"
        )
    if missing > TOTAL_TOLERANCE:
        raise InputError(
            f"the density of {density.what} does not integrate to its cdf within "
            f"{TOTAL_TOLERANCE:g} "
            f"(off by {missing:.3g}, most near z = {place:.6g}); a density must integrate to one "
            "and match its cdf"
        )


def _discrepancy(density: Component) -> tuple[float, float]:
    """Σ over cells of |∫ pdf − mass|, and where it is largest. Cells that disagree are halved while
    there are doubles inside, up to 60 times and to 4,000 cells.
    """
    inner = density.breakpoints[
        (density.breakpoints > density.quantiles[0]) & (density.breakpoints < density.quantiles[-1])
    ]
    edges = np.unique(np.concatenate([density.quantiles, inner]))
    low = edges[:-1]
    high = edges[1:]
    cells = 0
    differences = []
    places = []
    for halvings in range(61):
        off = _differences(density, low, high)
        middle = midpoints(low, high)
        done = (off <= 1e-12) | ~((low < middle) & (middle < high))
        pole = np.isinf(density.pdf(low)) | np.isinf(density.pdf(high))
        # a cell that cannot be halved at a pole: there is nothing left to compare
        off[done & pole & (off > 1e-12)] = 0.0
        cells += low.size
        done |= cells > 4000 or halvings == 60
        differences.append(off[done])
        places.append(middle[done])
        if done.all():
            break
        low, middle, high = (each[~done] for each in (low, middle, high))
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    off = np.concatenate(differences)
    # The first of those that differ by rounding.
    worst = off >= (1.0 - 1e-6) * off.max()
    return float(off.sum()), float(np.concatenate(places)[worst].min())


def _differences(density: Component, low: Array, high: Array) -> Array:
    """Return |∫ pdf − mass| of cells, by Gaussian quadrature."""
    half = 0.5 * (high - low)[:, None]
    points = low[:, None] + half * (1.0 + _NODES)
    with np.errstate(invalid="ignore", over="ignore"):  # a node may fall on a pole
        values = density.pdf(points.ravel()).reshape(points.shape)
        integral = (values * _WEIGHTS * half).sum(axis=1)
    integral[np.isnan(integral)] = np.inf
    masses = density.tails(high)[0] - density.tails(low)[0]
    return np.asarray(np.abs(integral - masses))
