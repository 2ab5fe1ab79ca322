"""A set of laws of (X, Ŷ): intervals of rates and shares, a limit of an e-value, and odds ratios.

W_ij = Pr(Ŷ = y_i given X = x_j) are the *rates* of group j, π_j = p(x_j) the shares of the groups.
Measures bound their leakage over such a set (`Measure.largest_level`, `Measure.rates_ceiling`,
`Measure.ratio_terms`, `Measure.least_leakage`). `discreet.people.region` makes sets that hold the
law of a rule with a stated confidence.

Linear functions of rates or of shares are least over intervals and simplex where the cheapest
entries are filled up (`filled_up`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.numerics.double_double import Array
from discreet.numerics.rounding import UNIT

# Relative: far above what rounding changes, far below what a person changes.
OUTWARD = 1e-9

# Of an interval of rates: the limit of an independent guess is 1 % larger than with infinitely many
_PIECES = 256
# What the multiplier of a ball may be, over the best one with many people
_SCALES = np.geomspace(0.9, 8.0, 24)
# What rounding adds to terms that cancel, which are powers or logarithms of ratios of rates.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Region:
    """A set of laws of (X, Ŷ), which holds the law of the table it was made from.

    people                   N_j [n]
    rates, low, high         Ŵ_ij and what the W_ij may be [m, n]
    shares, share_low, share_high   N_j/N and what the π_j may be [n]
    radius                   r, of the ball Σ_j N_j KL(Ŵ_j ‖ W_j) ≤ r; inf if there is none
    power, evidence          a in (0, 1] and c: the e-value of a law in the set is at most e^c
                             (`log_evidence`); c is inf if e-values are not limited
    given                    how many values the given variable has: so many times as many columns;
                             1 without one
    odds                     least and largest log of W_11 W_22/(W_12 W_21), for each given value
                             [given, 2]; or None
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
        """The columns of each value of the given variable; shares are those among all people."""
        n = self.people.size // self.given
        names = ("people", "rates", "low", "high", "shares", "share_low", "share_high")
        found = []
        for value in range(self.given):
            own = slice(value * n, (value + 1) * n)
            odds = None if self.odds is None else self.odds[value : value + 1]
            columns: dict[str, Any] = {name: getattr(self, name)[..., own] for name in names}
            limits = {name: getattr(self, name) for name in ("radius", "power", "evidence")}
            found.append(Region(**columns, **limits, odds=odds))
        return found

    def diluted(self, share: float, towards: Array) -> Region:
        """Where the law lies if the guess is drawn with a probability, by `towards` [m] whoever the
        person is, and else that of before.

        Odds, ball and evidence are about the guess as before.
        """
        mixed = {
            name: (1.0 - share) * getattr(self, name) + share * towards[:, None]
            for name in ("rates", "low", "high")
        }
        return replace(self, **mixed, radius=np.inf, evidence=np.inf, odds=None)

    @property
    def alphabet(self) -> int:
        """The smaller number of guesses and groups."""
        return min(len(self.rates), self.people.size)

    @property
    def weights(self) -> Array:
        """ρ [n]: positive weights of the groups of a value of the given variable, near N_j/N."""
        people = self.people.reshape(self.given, -1) + 0.5
        return np.asarray((people / people.sum(axis=1, keepdims=True)).ravel())

    def log_evidence(self, rates: Array) -> float:
        """The log of the e-value of rates W [m, n · given] against their own mixture q = Σ_j ρ_j
        W_j, in which the guess is independent of the group.

        Σ_j N_j (a Σ_i Ŵ_ij log(q_i/W_ij) − log Σ_i q_i^a W_ij^{1−a})
        """
        by_value = (rates * self.weights).reshape(len(rates), self.given, -1)
        mixture = np.repeat(by_value.sum(axis=2), by_value.shape[2], axis=1)
        seen = self.rates > 0.0
        ratio = np.divide(mixture, rates, out=np.full(rates.shape, np.inf), where=rates > 0.0)
        gained = (self.rates * np.log(ratio, where=seen, out=np.zeros_like(rates))).sum(axis=0)
        scale = (mixture**self.power * rates ** (1.0 - self.power)).sum(axis=0)
        return float(self.people @ (self.power * gained - np.log(scale)))

    @property
    def total(self) -> float:
        """Π = Σ_j high_j: every π of the region has π ≤ Π π⁺."""
        return float(self.share_high.sum())

    @property
    def top(self) -> Array:
        """π⁺ = high/Π [n]."""
        return np.asarray(self.share_high / self.share_high.sum())

    @property
    def apart(self) -> float:
        """The largest difference of two rates of a guess, at least."""
        apart = self.least_contrast((self.low.max(axis=1) - self.high.min(axis=1)).argmax(), 1.0)
        if self.odds is not None:
            apart = max(apart, float(np.ptp(self.least_apart(), axis=1).min()))
        return max(apart, 0.0)

    def least_mean(self, values: Array) -> Array:
        """The least Σ_j π_j v_j [...] of values [..., n], less what rounding may add to it."""
        rounding = (values.shape[-1] + 4) * UNIT * np.abs(values).max(axis=-1)
        terms = filled_up(values, self.share_low, self.share_high)
        return np.asarray(terms.sum(axis=-1) - rounding)

    def largest_mean(self, values: Array) -> Array:
        """The largest, and what rounding may take from it."""
        return -self.least_mean(-values)

    def over_mass(self, values: Array, rates: Array) -> Array:
        """Values [k] ≥ 0 over the masses of guesses with these rates [k, n], at most; 0 for a guess
        that nobody gets.
        """
        least = self.least_mean(rates)
        ratio = np.divide(values, least, out=np.full(len(values), np.inf), where=least > 0.0)
        return np.where(rates.any(axis=1), ratio, 0.0)

    def least_sum(self, price: Array) -> float:
        """The least Σ_ij price_ij W_ij of price [m, n], less what rounding may add to it; over
        intervals or over the ball, whichever is larger.
        """
        terms = filled_up(price.T, self.low.T, self.high.T)
        in_box = terms.sum() - _ROUNDING * (1.0 + np.abs(terms).sum())
        return max(float(in_box), self._least_in_ball(price))

    def _least_in_ball(self, price: Array) -> float:
        """A lower bound of Σ_ij price_ij W_ij over the ball.

        Σ_j c̄_j + γ (Σ_ij N_j Ŵ_ij log(1 + (price_ij − c̄_j)/(γ N_j)) − r) is one for every γ > 0 for
        which all logarithms exist, with c̄_j = Σ_i Ŵ_ij price_ij.
        """
        if np.isinf(self.radius):
            return -np.inf
        some = self.people > 0
        mean = np.where(some, (self.rates * price).sum(axis=0), price.min(axis=0))
        apart = np.where(some, (price - mean) / np.maximum(self.people, 1.0), 0.0)
        gained = 0.0
        if apart.min() < 0.0:
            # With many people the best γ is this deviation over the root of 2r.
            deviation = math.sqrt(float(self.people @ (self.rates * apart**2).sum(axis=0)))
            scale = deviation / math.sqrt(2.0 * self.radius) * _SCALES
            scale = np.maximum(scale, -(1.0 + OUTWARD) * apart.min())
            logs = np.log1p(apart / scale[:, None, None])
            drawn = (self.people * self.rates * logs).sum(axis=(1, 2)) - self.radius
            gained = float((scale * drawn).max())
        return float(mean.sum() + gained - _ROUNDING * (1.0 + np.abs(price).sum() + abs(gained)))

    def least_contrast(self, guess: Any, factor: float) -> float:
        """The least W_ij − f W_ik of a guess, for the groups whose intervals differ most."""
        price = np.zeros_like(self.low)
        price[guess, self.low[guess].argmax()] = 1.0
        price[guess, self.high[guess].argmin()] -= factor
        return self.least_sum(price)

    def single_ends(self) -> Array:
        """Rates of single guesses of which one is at its largest and the others at their least
        [m n, n].
        """
        n = self.people.size
        ends = np.where(np.eye(n, dtype=np.bool_), self.high[:, None, :], self.low[:, None, :])
        return ends.reshape(-1, n)

    def along_odds(self, odds: Array) -> tuple[Array, Array, Array, Array]:
        """Boxes that cover the rates (w, v) of the first guess in two groups, as `odds_boxes` makes
        them; those that hold no law are left out.
        """
        boxes = odds_boxes(self.low[:1], self.high[:1], odds[None])
        met = boxes[2] <= boxes[3]
        w_low, w_high, v_low, v_high = (each[met] for each in boxes)
        return w_low, w_high, v_low, v_high

    def least_apart(self) -> Array:
        """Where the ratio of odds is limited: rates (w, v) of the first guess [k, 2] of which one
        can be made from any law of the region by processing the guess.

        What is processed leaks no more: of a box the corner that is least apart, or any equal rates
        if w and v may be equal.
        """
        assert self.odds is not None
        w_low, w_high, v_low, v_high = self.along_odds(self.odds[0])
        rates = np.where(
            w_high < v_low, [w_high, v_low], np.where(v_high < w_low, [w_low, v_high], 0.5)
        )
        return np.asarray(rates.T) if rates.size else np.array([[0.5, 0.5]])


def odds_boxes(low: Array, high: Array, odds: Array) -> tuple[Array, Array, Array, Array]:
    """Boxes that cover the rates (w, v) of a guess in two groups: least and largest w, least and
    largest v [k, pieces], for intervals [k, 2] of both rates and of the log of their odds ratio.

    The interval of w is cut into pieces. With the ratio r of the odds of w and v it is v = w/(w +
    (1 − w) r), which rises with w and falls with r. A box whose least v exceeds its largest is
    empty.
    """
    w = np.linspace(low[:, 0], high[:, 0], _PIECES + 1, axis=1)
    least, most = (np.exp(np.clip(each, -745.0, 709.0)) for each in odds.T)
    first, last = w[:, :-1], w[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        v_low = first / (first + (1.0 - first) * most[:, None])
        v_high = last / (last + (1.0 - last) * least[:, None])
    v_low = np.where(most[:, None] < np.exp(709.0), v_low, 0.0)
    v_high = np.where(least[:, None] > np.exp(-745.0), v_high, 1.0)
    return first, last, np.maximum(v_low, low[:, 1:]), np.minimum(v_high, high[:, 1:])


def filled_up(price: Array, low: Array, high: Array) -> Array:
    """The terms price · w, in the order of their prices, of the w with low ≤ w ≤ high and sum 1
    along the last axis that make their sum least.
    """
    order = np.argsort(price, axis=-1, kind="stable")
    room = high - low
    price, low, room = (
        np.take_along_axis(np.broadcast_to(each, order.shape), order, axis=-1)
        for each in (price, low, room)
    )
    left = 1.0 - low.sum(axis=-1, keepdims=True) - (np.cumsum(room, axis=-1) - room)
    return np.asarray(price * (low + np.clip(left, 0.0, room)))
