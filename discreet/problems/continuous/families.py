"""Known families of scipy.stats: their turning and inflection points, how accurate their functions
are, and better functions for six of them.

SciPy computes everything from the standard coordinate x = (z − location) / scale. Next to an end of
the support other than x = 0, the distance 1 − x or x − a has lost its relative digits, and so have
tails and densities that vanish at that end. `functions` replaces the functions of the six families
with such an end. It computes the distance to the end in double-double arithmetic, and nothing that
is computed from it cancels.

The ends of the support are breakpoints of every family, since a density may jump or have a pole
there. A *ratio family* is a set of densities any two of which have a monotone ratio between
neighbouring breakpoints of either: log f is affine on every piece (Laplace, exponential, uniform),
f is (triangular), or all are normal with one σ. Monotone ratios can prove ties on a whole interval;
monotone densities cannot.

The relative error of the other functions is at most 5e-13, or more where a shape parameter makes
them steep (`accuracy`). `tests/problems/test_families.py` compares every family with ball
arithmetic, at both ends.

Source: the modes of N. L. Johnson, S. Kotz, N. Balakrishnan, *Continuous Univariate Distributions*,
2nd ed. (1994/95).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from discreet.numerics.double_double import Array, dd_add, exact_product

Function: TypeAlias = Callable[[Array], Array]


def _beta_turns(a: float, b: float) -> list[float]:
    """The mode for a, b > 1, the antimode for a, b < 1; monotone otherwise."""
    return [(a - 1.0) / (a + b - 2.0)] if (a - 1.0) * (b - 1.0) > 0.0 else []


TURNS: dict[str, Callable[..., list[float]]] = {
    **dict.fromkeys(
        ("cauchy", "gumbel_l", "gumbel_r", "hypsecant", "laplace", "logistic", "norm"),
        lambda: [0.0],
    ),
    **dict.fromkeys(("expon", "halfcauchy", "halfnorm", "uniform"), lambda: []),
    "beta": _beta_turns,
    "chi": lambda df: [math.sqrt(df - 1.0)] if df > 1.0 else [],
    "chi2": lambda df: [max(df - 2.0, 0.0)],
    "gamma": lambda a: [max(a - 1.0, 0.0)],
    "invgamma": lambda a: [1.0 / (a + 1.0)],
    "lognorm": lambda s: [math.exp(-s * s)],
    "lomax": lambda c: [],
    "maxwell": lambda: [math.sqrt(2.0)],
    "pareto": lambda b: [],
    "rayleigh": lambda: [1.0],
    "t": lambda df: [0.0],
    "triang": lambda c: [c],
    "truncnorm": lambda a, b: [min(max(0.0, a), b)],
    "weibull_min": lambda c: [((c - 1.0) / c) ** (1.0 / c)] if c > 1.0 else [],
}
"""Family name → turning points of the standard member, as a function of the shape parameters."""


def _roots(a: float, b: float, c: float) -> list[float]:
    """The real roots of a x² + b x + c, without cancellation."""
    square = b * b - 4.0 * a * c
    if not math.isfinite(square):
        raise OverflowError
    if square < 0.0:
        return []
    larger = -0.5 * (b + math.copysign(math.sqrt(square), b))
    quotients = ((larger, a), (c, larger))
    return [over / under for over, under in quotients if under != 0.0]


def _power_roots(exponent: float, a: float, b: float, c: float) -> list[float]:
    """The positive x whose power x^exponent is a root of a quadratic."""
    return [root ** (1.0 / exponent) for root in _roots(a, b, c) if root > 0.0]


def _beta_bends(a: float, b: float) -> list[float]:
    p = a - 1.0
    s = p + b - 1.0
    return [x for x in _roots(s * (s - 1.0), -2.0 * p * (s - 1.0), p * (p - 1.0)) if 0.0 < x < 1.0]


def _chi_bends(df: float) -> list[float]:
    return _power_roots(2.0, 1.0, 1.0 - 2.0 * df, (df - 1.0) * (df - 2.0))


def _gamma_bends(a: float) -> list[float]:
    return _power_roots(1.0, 1.0, 2.0 - 2.0 * a, (a - 1.0) * (a - 2.0))


def _gumbel_bends(sign: float) -> list[float]:
    return [-sign * math.log(y) for y in _roots(1.0, -3.0, 1.0)]


def _lognorm_bends(s: float) -> list[float]:
    return [math.exp(s * s * (v - 1.0)) for v in _roots(1.0, 1.0, -1.0 / (s * s))]


def _weibull_bends(c: float) -> list[float]:
    return _power_roots(c, c * c, -3.0 * c * (c - 1.0), (c - 1.0) * (c - 2.0))


BENDS: dict[str, Callable[..., list[float]]] = {
    **dict.fromkeys(("expon", "laplace", "uniform"), lambda: []),
    **dict.fromkeys(("lomax", "pareto", "triang"), lambda shape: []),
    **dict.fromkeys(
        ("cauchy", "halfcauchy"), lambda: [-math.sqrt(1.0 / 3.0), math.sqrt(1.0 / 3.0)]
    ),
    **dict.fromkeys(("halfnorm", "norm"), lambda: [-1.0, 1.0]),
    "beta": _beta_bends,
    "chi": _chi_bends,
    "chi2": lambda df: [2.0 * x for x in _gamma_bends(0.5 * df)],
    "gamma": _gamma_bends,
    "gumbel_l": lambda: _gumbel_bends(-1.0),
    "gumbel_r": lambda: _gumbel_bends(1.0),
    "hypsecant": lambda: [-math.asinh(1.0), math.asinh(1.0)],
    "invgamma": lambda a: [1.0 / x for x in _roots(1.0, -2.0 * (a + 2.0), (a + 1.0) * (a + 2.0))],
    "logistic": lambda: [-math.acosh(2.0), math.acosh(2.0)],
    "lognorm": _lognorm_bends,
    "maxwell": lambda: _chi_bends(3.0),
    "rayleigh": lambda: _chi_bends(2.0),
    "t": lambda df: [-math.sqrt(df / (df + 2.0)), math.sqrt(df / (df + 2.0))],
    "truncnorm": lambda a, b: [-1.0, 1.0],
    "weibull_min": _weibull_bends,
}
"""Family name → inflection points of the standard member, as a function of the shape parameters.

Between them and the turning points a density is convex or concave. Points outside the support are
harmless.
"""

_ACCURACY: dict[str, Callable[..., float]] = {
    "beta": lambda a, b: 5e-15 * (a + b),
    "chi": lambda df: 2.5e-15 * df,
    "chi2": lambda df: 2.5e-15 * df,
    "gamma": lambda a: 5e-15 * a,
    "gumbel_l": lambda: 1.2e-12,
    "gumbel_r": lambda: 1.2e-12,
    "invgamma": lambda a: 5e-15 * a,
    "lognorm": lambda s: 3e-13 + 4e-14 / s,
    "t": lambda df: 1e-12,
    "weibull_min": lambda c: 2e-13 * c,
}
"""Family name → relative error of density, cdf and survival function down to 1e-300, as a function
of the shape parameters.

x errs by 2⁻⁵² of itself, hence x^c by c 2⁻⁵²; with exp(−x^c) ≥ 1e-300 the exponent, at most 691,
errs by 1.6e-13 c. For a Gumbel law x^c is e^{−x}, where |x| ≤ 6.6. For a lognormal law the exponent
is y² / 2 with y = log x / s, and errs by y 2⁻⁵² / s. This falls with the root of |log v| only, and
for v = 1e-16, where y = 8.2, must be less than a twentieth. The sums of logarithms in gamma and
beta densities are of the size of the shape parameters.
"""


@dataclass(frozen=True)
class Member:
    """A frozen distribution of a known family: location + scale · X, where X is standard with these
    shape parameters.
    """

    name: str
    shapes: tuple[float, ...]
    location: float
    scale: float
    dist: Any

    @classmethod
    def of(cls, entry: Any) -> Member | None:
        """The parameters of a frozen scipy.stats distribution; None of other families, and for
        invalid parameters.
        """
        name = getattr(getattr(entry, "dist", None), "name", "")
        if name not in TURNS:
            return None
        try:
            shapes, location, scale = entry.dist._parse_args(*entry.args, **entry.kwds)
            member = cls(
                name,
                tuple(float(shape) for shape in shapes),
                float(location),
                float(scale),
                entry.dist,
            )
        except TypeError:  # several distributions at once
            return None
        valid = bool(entry.dist._argcheck(*member.shapes)) and 0.0 < member.scale < math.inf
        return member if valid and math.isfinite(member.location) else None

    @property
    def accuracy(self) -> float:
        """Relative error that the functions may have whatever the problem assumes; 0 where the
        default covers it.
        """
        return _ACCURACY[self.name](*self.shapes) if self.name in _ACCURACY else 0.0

    @property
    def steady(self) -> float:
        """The least share of the relative error by which tails v err. The share falls with |log v|,
        but less far where SciPy adds up large logarithms.
        """
        if self.name not in ("beta", "chi", "chi2", "gamma", "invgamma"):
            return 0.05
        return min(1.0, max(0.05, self.accuracy / 5e-13))

    @property
    def breakpoints(self) -> list[float]:
        """The turning points and the ends of the support."""
        standard = [
            *TURNS[self.name](*self.shapes),
            *(float(end) for end in self.dist.support(*self.shapes)),
        ]
        return [self.place(x) for x in standard]

    @property
    def exact_ends(self) -> list[float]:
        """The ends of the support that are doubles."""
        ends = [self._place(float(end)) for end in self.dist.support(*self.shapes)]
        return [place for place, lost in ends if lost == 0.0]

    @property
    def bends(self) -> list[float] | None:
        """The inflection points; None if they cannot be computed."""
        try:
            points = [self.place(x) for x in BENDS[self.name](*self.shapes)]
        except OverflowError:
            return None
        return points if np.isfinite(points).all() else None

    @property
    def ratio_family(self) -> Hashable | None:
        """A key that densities share exactly when their ratios are known to be monotone between
        breakpoints; None if unknown.
        """
        if self.name in ("laplace", "expon", "uniform"):
            return "exponential"
        if self.name == "norm":
            return "normal", self.scale
        return "affine" if self.name == "triang" else None

    def place(self, x: float) -> float:
        """Location + x · scale, rounded once; ±inf at x = ±inf."""
        return self._place(x)[0]

    def _place(self, x: float) -> tuple[float, float]:
        """Location + x · scale, rounded once, and its rounding error."""
        if not math.isfinite(x):
            return x, 0.0
        high, low = dd_add(
            (np.array(self.location), np.array(0.0)), exact_product(np.array(x), self.scale)
        )
        return float(high), float(low)

    def beyond(self, x: float = 0.0) -> Function:
        """The function (z − location) / scale − x of z, within three roundings of itself; ∓inf at x
        = ±inf.
        """
        high, low = self._place(x)
        return lambda z: np.asarray(((z - high) - low) / self.scale)

    def functions(self) -> tuple[Function, Function, Function] | None:
        """Density, cdf and survival function that keep relative digits at both ends; None where
        those of SciPy do.
        """
        make = _FUNCTIONS.get(self.name)
        return None if make is None else make(self, *self.shapes)

    def _density(self, standard: Callable[[Array], Array], *ends: float) -> Function:
        """The density at z, of which `standard` is `scale` times as large.

        An end of the support may lie between two doubles, where the density can be larger than at
        both. So at the double that stands for an end, it is at least the value at the end itself.
        """

        largest = [(self.place(end), float(self.dist.pdf(end, *self.shapes))) for end in ends]

        def density(z: Array) -> Array:
            values = standard(z)
            for place, value in largest:
                values = np.where(z == place, np.maximum(values, value), values)
            return np.asarray(values / self.scale)

        return density


def _power_tail(member: Member, power: float, start: float) -> tuple[Function, Function, Function]:
    """1 − (1 + x − start)^(−power) for x ≥ start, with its logarithm from x − start."""
    past = member.beyond(start)

    def logarithm(z: Array) -> Array:
        return np.asarray(np.log1p(np.maximum(past(z), 0.0)))

    def standard(z: Array) -> Array:
        return np.where(past(z) >= 0.0, power * np.exp(-(power + 1.0) * logarithm(z)), 0.0)

    return (
        member._density(standard, start),
        lambda z: -np.expm1(-power * logarithm(z)),
        lambda z: np.exp(-power * logarithm(z)),
    )


def _from_both_ends(
    member: Member,
    standard: Callable[[Array, Array], Array],
    below: Callable[[Array, Array], Array],
    above: Callable[[Array, Array], Array],
) -> tuple[Function, Function, Function]:
    """Density, cdf and survival function of a law on [0, 1] from functions of the distances x and 1
    − x to its ends, both accurate.
    """

    first = member.beyond(0.0)
    last = member.beyond(1.0)

    def distances(z: Array) -> tuple[Array, Array]:
        return np.clip(first(z), 0.0, 1.0), np.clip(-last(z), 0.0, 1.0)

    def density(z: Array) -> Array:
        inside = (z >= member.place(0.0)) & (last(z) <= 0.0)
        return np.where(inside, standard(*distances(z)), 0.0)

    return (
        member._density(density, 0.0, 1.0),
        lambda z: below(*distances(z)),
        lambda z: above(*distances(z)),
    )


def _uniform(member: Member) -> tuple[Function, Function, Function]:
    """Both tails are distances to an end."""
    return _from_both_ends(member, lambda x, y: np.ones(x.shape), lambda x, y: x, lambda x, y: y)


def _triang(member: Member, c: float) -> tuple[Function, Function, Function]:
    """x²/c is the mass below x ≤ c; beyond, 1 − (1 − x)²/(1 − c) = ((x − c) + x (1 − x)) / (1 − c)
    does not cancel.
    """

    def standard(x: Array, y: Array) -> Array:
        return np.where(x <= c, 2.0 * x / (c or 1.0), 2.0 * y / ((1.0 - c) or 1.0))

    def tail(x: Array, y: Array, c: float, d: float) -> Array:
        past = np.where(x < 0.5, x - c, d - y)
        return np.where(x <= c, x * x / (c or 1.0), (past + x * y) / (d or 1.0))

    return _from_both_ends(
        member,
        standard,
        lambda x, y: tail(x, y, c, 1.0 - c),
        lambda x, y: tail(y, x, 1.0 - c, c),
    )


def _beta(member: Member, a: float, b: float) -> tuple[Function, Function, Function]:
    """The incomplete beta function and the density from the nearer end."""
    from scipy.special import betainc, betaincc

    def standard(x: Array, y: Array) -> Array:
        return np.asarray(np.where(x <= 0.5, member.dist.pdf(x, a, b), member.dist.pdf(y, b, a)))

    def below(x: Array, y: Array) -> Array:
        return np.asarray(np.where(x <= 0.5, betainc(a, b, x), betaincc(b, a, y)))

    def above(x: Array, y: Array) -> Array:
        return np.asarray(np.where(x <= 0.5, betaincc(a, b, x), betainc(b, a, y)))

    return _from_both_ends(member, standard, below, above)


_ROOT = math.sqrt(0.5)
_HALF_LINE = math.sqrt(0.5 * math.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def _falling(start: Array, width: Array) -> Array:
    """∫ exp(−start·t − t²/2) dt over 0 ≤ t ≤ width for start ≥ 0: Gaussian quadrature where it is
    nearly constant.

    Elsewhere it is a difference of two values, of which the second is less than two thirds of the
    first.
    """
    from scipy.special import erfcx

    with np.errstate(invalid="ignore", over="ignore"):
        steep = start + width
        fall = np.exp(-width * (start + 0.5 * width))
        apart = erfcx(_ROOT * start) - np.where(fall > 0.0, fall * erfcx(_ROOT * steep), 0.0)
        short = np.where(width * steep <= 1.0, width, 0.0)
        t = 0.5 * short[..., None] * (1.0 + _NODES)
        nearly = 0.5 * short * (np.exp(-t * (start[..., None] + 0.5 * t)) @ _WEIGHTS)
        return np.where(width * steep <= 1.0, nearly, _HALF_LINE * apart)


def _truncnorm(member: Member, a: float, b: float) -> tuple[Function, Function, Function]:
    """Masses of intervals over that of (a, b), both in units of exp(−max(a, 0)²/2). For b ≤ 0 the
    law is mirrored.
    """
    from scipy.special import erf

    if b <= 0.0:
        mirrored = Member(member.name, (-b, -a), -member.location, member.scale, member.dist)
        other = _truncnorm(mirrored, -b, -a)
        return lambda z: other[0](-z), lambda z: other[2](-z), lambda z: other[1](-z)
    unit = max(a, 0.0)

    def mass(low: Array, high: Array, width: Array) -> Array:
        """∫ exp((unit² − t²)/2) dt over low < t − unit < high, of an accurate width, on one side of
        0 or around it.
        """
        left = unit + low
        right = unit + high
        distance = np.where(left >= 0.0, low, np.maximum(-right, 0.0))
        aside = np.exp(-0.5 * distance * (distance + 2.0 * unit)) * _falling(unit + distance, width)
        return np.where(
            (left < 0.0) & (right > 0.0),
            _HALF_LINE * (erf(_ROOT * right) - erf(_ROOT * left)),
            aside,
        )

    first = a - unit
    last = b - unit
    whole = mass(np.array(first), np.array(last), np.array(b - a))
    after = member.beyond(a)
    before = member.beyond(b)
    from_unit = member.beyond(unit)

    def past(z: Array) -> Array:
        return np.clip(from_unit(z), first, last)

    def standard(z: Array) -> Array:
        values = np.exp(-0.5 * past(z) * (past(z) + 2.0 * unit)) / whole
        return np.where((after(z) >= 0.0) & (before(z) <= 0.0), values, 0.0)

    def mass_below(z: Array) -> Array:
        return np.asarray(
            mass(np.full(z.shape, first), past(z), np.clip(after(z), 0.0, b - a)) / whole
        )

    def mass_above(z: Array) -> Array:
        return np.asarray(
            mass(past(z), np.full(z.shape, last), np.clip(-before(z), 0.0, b - a)) / whole
        )

    return member._density(standard, a, b), mass_below, mass_above


_FUNCTIONS: dict[str, Callable[..., tuple[Function, Function, Function]]] = {
    "beta": _beta,
    "lomax": partial(_power_tail, start=0.0),
    "pareto": partial(_power_tail, start=1.0),
    "triang": _triang,
    "truncnorm": _truncnorm,
    "uniform": _uniform,
}
