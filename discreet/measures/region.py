"""A set of laws of (X, Ŷ): intervals of rates and shares, a limit of an e-value, and bounds of odds
ratios.

W_ij = Pr(Ŷ = y_i given X = x_j) are the *rates* of group j, and π_j = p(x_j) are the shares of the
groups. Measures bound their leakage over such a set (`Measure.largest_level`,
`Measure.rates_ceiling`, `Measure.ratio_terms`, `Measure.least_leakage`). `discreet.people.region`
makes sets that contain the law of a rule with a stated confidence.

A linear function of rates or shares, over intervals intersected with the simplex, is smallest if
the entries are filled up in the order of their prices (`filled_up`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.numerics.double_double import Array
from discreet.numerics.rounding import UNIT

# Relative margin: far larger than rounding errors, far smaller than the effect of one person.
OUTWARD = 1e-9

# Pieces of an interval of rates; with more pieces, the limit of an independent guess falls by 1 %.
_PIECES = 256
# Trial values of the multiplier of a ball, relative to the best one for many people.
_SCALES = np.geomspace(0.9, 8.0, 24)
# Rounding error of terms that cancel: powers or logarithms of ratios of rates.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Region:
    """A set of laws of (X, Ŷ) that contains the law of the table it was made from.

    people                          N_j [n]
    rates, low, high                Ŵ_ij and the interval of W_ij [m, n]
    shares, share_low, share_high   N_j/N and the interval of π_j [n]
    radius                          r of the ball Σ_j N_j KL(Ŵ_j ‖ W_j) ≤ r; inf if there is none
    power, evidence                 a in (0, 1] and c: the e-value of a law in the set is at most
                                    e^c; c is inf if e-values are not limited. The log of the
                                    e-value of W against q = Σ_j ρ_j W_j is
                                    Σ_j N_j (a Σ_i Ŵ_ij log(q_i/W_ij) − log Σ_i q_i^a W_ij^{1−a})
    given                           number of values of the given variable, whose columns follow
                                    each other; 1 if no variable is given
    odds                            least and largest log of W_11 W_22/(W_12 W_21) for each given
                                    value [given, 2]; or None
    """

    people: Array
    rates: Array
    low: Array
    high: Array
    shares: Array
    share_low: Array
    share_high: Array
    radius: float
    power: float
    evidence: float
    given: int = 1
    odds: Array | None = None

    @property
    def parts(self) -> list[Region]:
        """Return one region for each value of the given variable; its shares are relative to all
        people.
        """
        n = self.people.size // self.given
        names = ("people", "rates", "low", "high", "shares", "share_low", "share_high")
        regions = []
        for value in range(self.given):
            own = slice(value * n, (value + 1) * n)
            odds = None if self.odds is None else self.odds[value : value + 1]
            columns: dict[str, Any] = {name: getattr(self, name)[..., own] for name in names}
            limits = {name: getattr(self, name) for name in ("radius", "power", "evidence")}
            regions.append(Region(**columns, **limits, odds=odds))
        return regions

    def diluted(self, share: float, towards: Array) -> Region:
        """Return the region of the law if, with probability `share`, the guess is drawn from
        `towards` [m] independently of the person.

        Bounds of odds, ball and evidence apply to the undiluted guess only and are dropped.
        """
        mixed = {
            name: (1.0 - share) * getattr(self, name) + share * towards[:, None]
            for name in ("rates", "low", "high")
        }
        return replace(self, **mixed, radius=np.inf, evidence=np.inf, odds=None)

    @property
    def alphabet(self) -> int:
        """Return the smaller of the numbers of guesses and groups."""
        return min(len(self.rates), self.people.size)

    @property
    def weights(self) -> Array:
        """Return ρ [n]: positive weights of the groups within each given value, close to N_j/N."""
        people = self.people.reshape(self.given, -1) + 0.5
        return np.asarray((people / people.sum(axis=1, keepdims=True)).ravel())

    @property
    def total(self) -> float:
        """Return Π = Σ_j high_j: every π of the region satisfies π ≤ Π π⁺."""
        return float(self.share_high.sum())

    @property
    def top(self) -> Array:
        """Return π⁺ = high/Π [n]."""
        return np.asarray(self.share_high / self.share_high.sum())

    @property
    def apart(self) -> float:
        """Return a lower bound of the largest difference between two rates of one guess."""
        apart = self.least_contrast((self.low.max(axis=1) - self.high.min(axis=1)).argmax(), 1.0)
        if self.odds is not None:
            apart = max(apart, float(np.ptp(self.least_apart(), axis=1).min()))
        return max(apart, 0.0)

    def least_mean(self, values: Array) -> Array:
        """Return a lower bound of Σ_j π_j v_j [...] over the region for values [..., n], with a
        margin for rounding.
        """
        rounding = (values.shape[-1] + 4) * UNIT * np.abs(values).max(axis=-1)
        terms = filled_up(values, self.share_low, self.share_high)
        return np.asarray(terms.sum(axis=-1) - rounding)

    def largest_mean(self, values: Array) -> Array:
        """Return an upper bound of Σ_j π_j v_j [...] over the region for values [..., n], with a
        margin for rounding.
        """
        return -self.least_mean(-values)

    def over_mass(self, values: Array, rates: Array) -> Array:
        """Return upper bounds of values [k] ≥ 0 divided by the masses of guesses with these rates
        [k, n]; 0 for a guess that is never made.
        """
        smallest_mass = self.least_mean(rates)
        ratio = np.divide(
            values, smallest_mass, out=np.full(len(values), np.inf), where=smallest_mass > 0.0
        )
        return np.where(rates.any(axis=1), ratio, 0.0)

    def least_sum(self, price: Array) -> float:
        """Return a lower bound of Σ_ij price_ij W_ij for price [m, n], with a margin for rounding:
        the larger of the bounds over the intervals and over the ball.
        """
        terms = filled_up(price.T, self.low.T, self.high.T)
        in_box = terms.sum() - _ROUNDING * (1.0 + np.abs(terms).sum())
        return max(float(in_box), self._least_in_ball(price))

    def _least_in_ball(self, price: Array) -> float:
        """Return a lower bound of Σ_ij price_ij W_ij over the ball.

        Σ_j c̄_j + γ (Σ_ij N_j Ŵ_ij log(1 + (price_ij − c̄_j)/(γ N_j)) − r) with c̄_j = Σ_i Ŵ_ij
        price_ij is a lower bound for every γ > 0 for which all logarithms exist.
        """
        if np.isinf(self.radius):
            return -np.inf
        some = self.people > 0
        mean = np.where(some, (self.rates * price).sum(axis=0), price.min(axis=0))
        apart = np.where(some, (price - mean) / np.maximum(self.people, 1.0), 0.0)
        gained = 0.0
        if apart.min() < 0.0:
            # For many people the best γ is this deviation divided by √(2r).
            deviation = math.sqrt(float(self.people @ (self.rates * apart**2).sum(axis=0)))
            scale = deviation / math.sqrt(2.0 * self.radius) * _SCALES
            scale = np.maximum(scale, -(1.0 + OUTWARD) * apart.min())
            logs = np.log1p(apart / scale[:, None, None])
            drawn = (self.people * self.rates * logs).sum(axis=(1, 2)) - self.radius
            gained = float((scale * drawn).max())
        return float(mean.sum() + gained - _ROUNDING * (1.0 + np.abs(price).sum() + abs(gained)))

    def least_contrast(self, guess: Any, factor: float) -> float:
        """Return a lower bound of W_ij − f W_ik for a guess i, where j and k are the groups whose
        intervals differ most.
        """
        price = np.zeros_like(self.low)
        price[guess, self.low[guess].argmax()] = 1.0
        price[guess, self.high[guess].argmin()] -= factor
        return self.least_sum(price)

    def single_ends(self) -> Array:
        """Return rates [m n, n] of single guesses: one rate is at its upper end and the others are
        at their lower ends.
        """
        n = self.people.size
        ends = np.where(np.eye(n, dtype=np.bool_), self.high[:, None, :], self.low[:, None, :])
        return ends.reshape(-1, n)

    def along_odds(self, odds: Array) -> tuple[Array, Array, Array, Array]:
        """Return the boxes of `odds_boxes` that cover the rates (w, v) of the first guess in two
        groups, without the empty ones.
        """
        boxes = odds_boxes(self.low[:1], self.high[:1], odds[None])
        met = boxes[2] <= boxes[3]
        w_low, w_high, v_low, v_high = (each[met] for each in boxes)
        return w_low, w_high, v_low, v_high

    def least_apart(self) -> Array:
        """Return rates (w, v) of the first guess [k, 2] such that processing the guess can turn any
        law of the region into at least one of them. The odds ratio must be bounded.

        Processing never increases the leakage. Each box contributes its corner where w and v differ
        least, or equal rates if the box permits w = v.
        """
        assert self.odds is not None
        w_low, w_high, v_low, v_high = self.along_odds(self.odds[0])
        rates = np.where(
            w_high < v_low, [w_high, v_low], np.where(v_high < w_low, [w_low, v_high], 0.5)
        )
        return np.asarray(rates.T) if rates.size else np.array([[0.5, 0.5]])


def odds_boxes(low: Array, high: Array, odds: Array) -> tuple[Array, Array, Array, Array]:
    """Return boxes that cover the rates (w, v) of a guess in two groups: least and largest w, least
    and largest v [k, pieces], for intervals [k, 2] of both rates and of the log of their odds
    ratio.

    The interval of w is cut into pieces. If r is the ratio of the odds of w and v, then v = w/(w +
    (1 − w) r), which increases with w and decreases with r. A box whose least v exceeds its largest
    v is empty.
    """
    w = np.linspace(low[:, 0], high[:, 0], _PIECES + 1, axis=1)
    smallest_odds, largest_odds = (np.exp(np.clip(each, -745.0, 709.0)) for each in odds.T)
    first, last = w[:, :-1], w[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        v_low = first / (first + (1.0 - first) * largest_odds[:, None])
        v_high = last / (last + (1.0 - last) * smallest_odds[:, None])
    v_low = np.where(largest_odds[:, None] < np.exp(709.0), v_low, 0.0)
    v_high = np.where(smallest_odds[:, None] > np.exp(-745.0), v_high, 1.0)
    return first, last, np.maximum(v_low, low[:, 1:]), np.minimum(v_high, high[:, 1:])


def filled_up(price: Array, low: Array, high: Array) -> Array:
    """Return the terms price · w, sorted by price, for the w that minimises their sum subject to
    low ≤ w ≤ high and a sum of 1 along the last axis.
    """
    order = np.argsort(price, axis=-1, kind="stable")
    room = high - low
    price, low, room = (
        np.take_along_axis(np.broadcast_to(each, order.shape), order, axis=-1)
        for each in (price, low, room)
    )
    left = 1.0 - low.sum(axis=-1, keepdims=True) - (np.cumsum(room, axis=-1) - room)
    return np.asarray(price * (low + np.clip(left, 0.0, room)))
