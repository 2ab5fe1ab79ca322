"""The measures of leakage, implemented a second time: the leakage of an exact joint law, and the
bounds that tilts prove, by rational numbers and balls.

A guess with the joint masses u_j = Pr(X = x_j, guess), s = Σ_j u_j, contributes g(u) = s G(q),
where q = u/s and G(π) = 0. A budget ε bounds, with B = ε or B = e^{cε} − 1,

    sum         Σ_i g(u_i) ≤ B
    shares      g(u_i) ≤ B for each guess
    posteriors  G(q_i) ≤ B for each guess

A conditional measure adds up Σ_i g(u_i) over groups of rows, each with its own prior. A tilt then
has a row for each guess and group, and all have one multiplier.

A tilt t proves a bound after it is lowered by κ ≥ max over posteriors q of t·q − μ G(q) (sum), ≥
Σ_j π_j t_j (shares, at the price Σ_j π_j (t_j − κ)₊), or ≥ the largest t·q that the budget permits
(posteriors). Every κ here is at least that large.

The gain of an adversary is measured relative to one action w: Σ_i max_k (G u_i)_k ≤ e^ε max_k (G
π)_k means Σ_i g(u_i) ≤ B' for g(u) = max_k ((G_k − G_w)·u) / max_k (G π)_k and B' = e^ε − (G π)_w /
max_k (G π)_k. This holds for every w. If several actions are best without a guess, the one with the
best bound is used.

Source: docs/theory.md, section 22, whose letters are used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from typing import Any

from discreet.verification.exact import arb, ball, ctx, end, outward

_Row = Sequence[Fraction]  # a number for each private value of positive probability

# Rows [m, n] of a law or a tilt, and their prior π, π_j > 0.
Group = tuple[Sequence[_Row], _Row]

# e^{cε} with a larger exponent counts as infinite, so that the budget does not affect the bound.
_FAR = 4096


@dataclass(frozen=True)
class ExactMeasure:
    """A measure of leakage in exact arithmetic.

    name       name and parameters
    bounds     what a budget bounds: "sum", "shares" or "posteriors"
    growth     c in B = e^{cε} − 1; 0 for B = ε
    contribution   (u, π) → g(u), a fraction, inf or a ball
    shift      (t, π, μ, w) → κ; for posteriors (t, π, B, w)
    gains      gain of an adversary by each action [actions, n], if the measure has one; else empty
    separates  True if zero leakage implies independence of X
    groups     True if it is a sum over groups of rows
    """

    name: str
    bounds: str
    growth: Fraction
    contribution: Callable[[_Row, _Row], Any]
    shift: Callable[[_Row, _Row, Fraction, int], Fraction]
    gains: Sequence[_Row] = ()
    separates: bool = True
    groups: bool = False

    def of_values(self, kept: Sequence[int], n: int) -> ExactMeasure:
        """Return the measure for the kept private values out of n."""
        if not self.gains:
            return self
        if len(self.gains[0]) != n:
            raise ValueError(
                f"the gain has {len(self.gains[0])} columns and X has {n} values; "
                "give one column per value"
            )
        return _of_gains(self.name, [[row[j] for j in kept] for row in self.gains])


def measure_of(text: str) -> ExactMeasure:
    """Return the measure that a text describes, with its parameters; ValueError if there is
    none.
    """
    name, _, rest = text.partition(":")
    key, _, value = rest.partition("=")
    known = ", ".join(sorted([*_PLAIN, "sibson:alpha=…", "g-leakage:gain=…"]))
    unknown = ValueError(f"{text[:80]!r} names no measure; give one of {known}")
    try:
        if name in _PLAIN and not rest:
            return ExactMeasure(
                name,
                *_PLAIN[name],
                groups=name.startswith("conditional-"),
                separates=name != "min-entropy-leakage",
            )
        if (
            name == "sibson"
            and key == "alpha"
            and (order := Fraction(float(json.loads(value)))) > 1
        ):
            contribution = partial(_contribution_by_order, order)
            shift = partial(_shift_by_order, order / (order - 1))
            return ExactMeasure(text, "sum", (order - 1) / order, contribution, shift)
        if name == "g-leakage" and key == "gain":
            gains = [[Fraction(float(gain)) for gain in row] for row in json.loads(value)]
            if gains and gains[0] and len({*map(len, gains)}) == 1 and min(map(min, gains)) >= 0:
                return _of_gains(text, gains)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise unknown from None
    raise unknown


def leakage(
    measure: ExactMeasure, groups: Sequence[Group], budget: float
) -> tuple[tuple[float, float], bool | None]:
    """Return the leakage of joint laws u [m, n], each with its prior, as an interval; and whether
    it is at most the budget.
    """
    guesses = [(row, prior) for law, prior in groups for row in law if any(row)]
    for precision in (2**k for k in range(7, 15)):
        with ctx.workprec(precision):
            amount = _amount(measure, guesses)
            if not isinstance(amount, arb):
                # Python compares fractions and doubles exactly.
                inside = math.isinf(budget) or amount <= budget
                return (outward(amount) if amount < math.inf else (math.inf, math.inf)), inside
            kept: bool | None = amount <= arb(budget)
            if not kept and not amount > arb(budget):
                kept = None
            interval = max(0.0, outward(end(amount.lower()))[0]), outward(end(amount.upper()))[1]
        if kept is not None and amount.rel_accuracy_bits() > 60:
            break
    return interval, kept


def _amount(measure: ExactMeasure, guesses: Sequence[tuple[_Row, _Row]]) -> Any:
    contributions = [measure.contribution(row, prior) for row, prior in guesses]
    if measure.bounds == "sum":
        level = sum(contributions)
    else:
        if measure.bounds == "posteriors":
            masses = [sum(row, Fraction(0)) for row, _ in guesses]
            contributions = [
                one / (ball(s) if isinstance(one, arb) else s)
                for one, s in zip(contributions, masses, strict=True)
            ]
        larger = arb.max if isinstance(contributions[0], arb) else max
        level = reduce(larger, contributions)
    if not measure.growth or (not isinstance(level, arb) and level in (0, math.inf)):
        return level
    return (level if isinstance(level, arb) else ball(level)).log1p() / ball(measure.growth)


def _contribution_by_logarithms(u: _Row, prior: _Row) -> Any:
    s = sum(u)
    return sum(
        (ball(mass) * ball(mass / (p * s)).log() for mass, p in zip(u, prior, strict=True) if mass),
        arb(0),
    )


def _contribution_by_order(order: Fraction, u: _Row, prior: _Row) -> Any:
    s = sum(u, Fraction(0))
    alpha = ball(order)
    norm = sum(
        (ball(p) * ball(mass / (p * s)) ** alpha for mass, p in zip(u, prior, strict=True) if mass),
        arb(0),
    )
    return ball(s) * (norm ** (1 / alpha) - 1)


def _contribution_by_squares(u: _Row, prior: _Row) -> Fraction:
    s = sum(u, Fraction(0))
    return _dot(u, _likelihoods(u, prior)) / s - s


def _contribution_by_distances(u: _Row, prior: _Row) -> Fraction:
    s = sum(u, Fraction(0))
    return sum((abs(mass - p * s) for mass, p in zip(u, prior, strict=True)), Fraction(0)) / 2


def _likelihoods(u: _Row, prior: _Row) -> list[Fraction]:
    return [mass / p for mass, p in zip(u, prior, strict=True)]


def _contribution_by_the_largest(u: _Row, prior: _Row) -> Fraction:
    return max(_likelihoods(u, prior)) - sum(u)


def _contribution_by_the_range(u: _Row, prior: _Row) -> Fraction:
    likelihoods = _likelihoods(u, prior)
    return max(likelihoods) - min(likelihoods)


def _contribution_by_the_ratio(u: _Row, prior: _Row) -> Any:
    likelihoods = _likelihoods(u, prior)
    s = sum(u, Fraction(0))
    return s * (max(likelihoods) / min(likelihoods)) - s if min(likelihoods) else math.inf


def _contribution_by_guessing(u: _Row, prior: _Row) -> Fraction:
    return max(u) / max(prior) - sum(u)


def _contribution_by_gains(gains: Sequence[_Row], u: _Row, prior: _Row) -> Fraction:
    return _best(gains, u) / _best(gains, prior) - sum(u)


def _best(gains: Sequence[_Row], masses: _Row) -> Fraction:
    return max(_dot(row, masses) for row in gains)


def _dot(one: _Row, other: _Row) -> Fraction:
    return sum((x * y for x, y in zip(one, other, strict=True)), Fraction(0))


def proven(
    measure: ExactMeasure, groups: Sequence[Group], multiplier: float, budget: float
) -> tuple[list[list[float]], Fraction] | None:
    """Return, by group, doubles by which rows of tilts [m, n] are lowered, and the cost of the
    budget; None if nothing is proven.

    The error probability of every estimator that satisfies the budget is at least Σ_l min_i (L_il +
    Σ_j (t_ij − κ_i) a_jl) / τ minus the cost.
    """
    level = _level(measure, budget)
    if budget == 0.0 and measure.separates:
        return _upward(groups, lambda row, prior: _dot(prior, row)), Fraction(0)
    if math.isinf(level) or (measure.bounds == "sum" and multiplier == 0.0):
        return _upward(groups, lambda row, _: max(row)), Fraction(0)
    if measure.bounds == "posteriors":
        return _upward(
            groups, lambda row, prior: measure.shift(row, prior, Fraction(level), 0)
        ), Fraction(0)
    if measure.bounds == "shares":
        shifts = _upward(groups, lambda row, prior: _dot(prior, row))
        price = Fraction(0)
        for (tilt, prior), lowered in zip(groups, shifts, strict=True):
            for row, shift in zip(tilt, lowered, strict=True):
                price += _dot(prior, [max(t - Fraction(shift), Fraction(0)) for t in row])
        return shifts, price * level
    if math.isinf(multiplier):
        return None
    mu = Fraction(multiplier)
    repairs = []
    for w, share in _baselines(measure, groups[0][1]):
        shifts = _upward(groups, lambda row, prior, w=w: measure.shift(row, prior, mu, w))
        cost = mu * (level + 1 - share)
        repairs.append((-Fraction(max(map(max, shifts))) - cost, shifts, cost))
    return max(repairs)[1:]


def _upward(groups: Sequence[Group], shift: Callable[..., Fraction]) -> list[list[float]]:
    return [[outward(shift(row, prior))[1] for row in tilt] for tilt, prior in groups]


def _level(measure: ExactMeasure, budget: float) -> Any:
    """Return B or a larger fraction."""
    if not measure.growth or math.isinf(budget):
        return budget if math.isinf(budget) else Fraction(budget)
    with ctx.workprec(256):
        exponent = ball(measure.growth) * arb(budget)
        return end(exponent.expm1().upper()) if exponent < _FAR else math.inf


def _baselines(measure: ExactMeasure, prior: _Row) -> list[tuple[int, Fraction]]:
    """Return the actions w that are best without a guess, up to rounding, with (G π)_w / max_k (G
    π)_k.
    """
    if measure.separates:
        return [(0, Fraction(1))]
    gained = [_dot(row, prior) for row in measure.gains] if measure.gains else prior
    shares = [(w, gain / max(gained)) for w, gain in enumerate(gained)]
    return [(w, share) for w, share in shares if share > 1 - 2.0**-40]


def _shift_by_logarithms(t: _Row, prior: _Row, mu: Fraction, _: int) -> Fraction:
    """Return an upper bound of μ log Σ_j π_j e^{t_j/μ}."""
    with ctx.workprec(1024):  # μ ≤ 1e200 < 2^665, so the error of κ is at most 2^-300
        powers = (ball(p) * ball((x - max(t)) / mu).exp() for p, x in zip(prior, t, strict=True))
        return max(t) + mu * end(sum(powers).log().upper())


def _water(weights: _Row, heights: _Row, total: Fraction) -> Fraction:
    """Return the least κ with Σ_j w_j (y_j − κ)₊ ≤ total: the largest (Σ_S w y − total) / Σ_S w
    over the sets S of the k largest y.
    """
    mass = Fraction(0)
    filled = -total
    levels = []
    for y, w in sorted(zip(heights, weights, strict=True), reverse=True):
        mass = mass + w
        filled = filled + w * y
        levels.append(filled / mass)
    return max(levels)


def _shift_by_squares(t: _Row, prior: _Row, mu: Fraction, _: int) -> Fraction:
    """Return the minimum over λ of λ + Σ_j π_j max_{r ≥ 0} ((t_j − λ) r − μ (r − 1)²), where the
    best r satisfy Σ_j π_j r_j = 1.
    """
    top = _water(prior, [x + 2 * mu for x in t], 2 * mu)
    over = [x - top for x in t]
    return top + _dot(prior, [y + y * y / (4 * mu) if y >= -2 * mu else -mu for y in over])


def _shift_by_distances(t: _Row, prior: _Row, mu: Fraction, _: int) -> Fraction:
    return _dot(prior, [max(x, max(t) - mu) for x in t])


def _shift_by_the_largest(t: _Row, prior: _Row, mu: Fraction, _: int) -> Fraction:
    """Return the κ with Σ_j π_j (t_j + μ − κ)₊ = μ."""
    return _water(prior, [x + mu for x in t], mu)


def _shift_by_order(beta: Fraction, t: _Row, prior: _Row, mu: Fraction, _: int) -> Fraction:
    """Return the upper end of a bisected interval, where Σ_j π_j (1 + (t_j − κ)/μ)₊^β ≤ 1 is
    proven.
    """
    size = _dot(prior, [abs(x) for x in t])
    with ctx.workprec(1024):  # as in `_shift_by_logarithms`
        power = ball(beta)
        low = end(ball(_dot(prior, t)).lower())
        high = max(t)
        while high - low > size / 2**120:
            middle = (low + high) / 2
            base = [1 + (x - middle) / mu for x in t]
            total = sum(
                (
                    ball(p) * ball(one) ** power
                    for p, one in zip(prior, base, strict=True)
                    if one > 0
                ),
                arb(0),
            )
            low, high = (low, middle) if total <= 1 else (middle, high)
    return high


def _shift_by_guessing(t: _Row, prior: _Row, mu: Fraction, w: int) -> Fraction:
    """Return the least κ with Σ_j (π* (t_j − κ)/μ + [j = w])₊ ≤ 1, π* = max π."""
    total = mu / max(prior)
    return _water([Fraction(1)] * len(t), [x + total * (j == w) for j, x in enumerate(t)], total)


def _shift_by_gains(gains: Sequence[_Row], t: _Row, prior: _Row, mu: Fraction, w: int) -> Fraction:
    """Return the minimum of max_j (t_j − Σ_k λ_k (G_k − G_w)_j) over λ ≥ 0 with Σ_k λ_k ≤ μ / max_k
    (G π)_k.
    """
    columns = zip(*gains, strict=True)
    rows = [[Fraction(1), *(column[w] - gain for gain in column)] for column in columns]
    rows.append([Fraction(0), *(Fraction(1) for _ in gains)])
    return max(t) - _maximise_first(rows, [*(max(t) - x for x in t), mu / _best(gains, prior)])


def _maximise_first(rows: list[list[Fraction]], limits: list[Fraction]) -> Fraction:
    """Return the largest x_0 over x ≥ 0 with rows·x ≤ limits, which are ≥ 0, by the simplex method
    with Bland's rule.
    """
    names = list(range(len(rows[0]) + len(rows)))  # names of the columns, then of the rows
    width = len(rows[0])
    rows = [[*row, limit] for row, limit in zip(rows, limits, strict=True)]
    # The rate at which x_0 grows; in the last column, minus its value.
    rows.append([Fraction(1), *(Fraction(0) for _ in range(width))])
    while rising := [e for e in range(width) if rows[-1][e] > 0]:
        e = min(rising, key=names.__getitem__)
        r = min(
            (row[width] / row[e], names[width + k], k)
            for k, row in enumerate(rows[:-1])
            if row[e] > 0
        )[2]
        pivot = [value / rows[r][e] for value in rows[r]]
        pivot[e] = 1 / rows[r][e]
        for k, row in enumerate(rows):
            rows[k] = (
                [old - row[e] * new for old, new in zip(row, pivot, strict=True)]
                if k != r
                else pivot
            )
            rows[k][e] = -row[e] * pivot[e] if k != r else pivot[e]
        names[e], names[width + r] = names[width + r], names[e]
    return -rows[-1][width]


def _shift_by_lifts(t: _Row, prior: _Row, level: Fraction, _: int) -> Fraction:
    """Return max t·q over q_j ≤ (1 + B) π_j."""
    left = Fraction(1)
    value = Fraction(0)
    for x, p in sorted(zip(t, prior, strict=True), reverse=True):
        taken = min(left, (1 + level) * p)
        left = left - taken
        value = value + taken * x
    return value


def _shift_by_ratios(t: _Row, prior: _Row, level: Fraction, _: int) -> Fraction:
    """Return max (Σ_j π_j t_j + B Σ_S π_j t_j)/(1 + B π(S)) over the sets S of the k largest
    t_j.
    """
    mean = gained = _dot(prior, t)
    mass = Fraction(1)
    gains = [mean]
    for x, p in sorted(zip(t, prior, strict=True), reverse=True):
        gained = gained + level * p * x
        mass = mass + level * p
        gains.append(gained / mass)
    return max(gains)


def _shift_by_divergences(t: _Row, prior: _Row, level: Fraction, w: int) -> Fraction:
    """Return ν log Σ_j π_j e^{t_j/ν} + ν B, which is valid for every ν; it is smallest if the
    divergence of π_j e^{t_j/ν} from π is B.
    """
    size = max(map(abs, t))
    low = -1000.0
    high = 1000.0
    if not size:
        return Fraction(0)
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if _divergence(t, prior, size * Fraction(2.0**middle)) > ball(level)
            else (low, middle)
        )
    nu = size * Fraction(2.0**high)
    return min(max(t), _shift_by_logarithms(t, prior, nu, w) + nu * level)


def _divergence(t: _Row, prior: _Row, nu: Fraction) -> Any:
    with ctx.workprec(1024):
        power = [ball((x - max(t)) / nu) for x in t]
        weights = [ball(p) * one.exp() for p, one in zip(prior, power, strict=True)]
        total = sum(weights)
        return (
            sum(weight * one for weight, one in zip(weights, power, strict=True)) / total
            - total.log()
        )


def _mean(t: _Row, prior: _Row, _price: Fraction, _w: int) -> Fraction:
    return _dot(prior, t)


def _of_gains(text: str, gains: Sequence[_Row]) -> ExactMeasure:
    if not any(map(any, gains)):
        raise ValueError("the gain of every action is 0; give some gain")
    contribution = partial(_contribution_by_gains, gains)
    shift = partial(_shift_by_gains, gains)
    return ExactMeasure(text, "sum", Fraction(1), contribution, shift, gains, separates=False)


_INFORMATION = "sum", Fraction(0), _contribution_by_logarithms, _shift_by_logarithms
_PLAIN: dict[str, tuple[str, Fraction, Any, Any]] = {
    "conditional-mutual-information": _INFORMATION,
    "mutual-information": _INFORMATION,
    "chi-square": ("sum", Fraction(0), _contribution_by_squares, _shift_by_squares),
    "total-variation": ("sum", Fraction(0), _contribution_by_distances, _shift_by_distances),
    "maximal-leakage": ("sum", Fraction(1), _contribution_by_the_largest, _shift_by_the_largest),
    "min-entropy-leakage": ("sum", Fraction(1), _contribution_by_guessing, _shift_by_guessing),
    "parity-difference": ("shares", Fraction(0), _contribution_by_the_range, _mean),
    "max-lift": ("posteriors", Fraction(1), _contribution_by_the_largest, _shift_by_lifts),
    "local-differential-privacy": (
        "posteriors",
        Fraction(1),
        _contribution_by_the_ratio,
        _shift_by_ratios,
    ),
    "pointwise-information": (
        "posteriors",
        Fraction(0),
        _contribution_by_logarithms,
        _shift_by_divergences,
    ),
}
