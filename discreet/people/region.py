"""Where the law of (X, Ŷ) of a fixed rule lies, given the guesses of N people: a set that holds it with 95 % confidence.

W_ij = Pr(Ŷ = y_i given X = x_j) are the *rates* of group j, π_j = p(x_j) the shares of the groups. Given how many people
N_j each group has, their guesses are independent multinomials, so three statements hold together:

- box: every rate and every share lies in its Clopper–Pearson interval, at a level divided by the number of intervals;
- ball: Σ_j N_j KL(Ŵ_j ‖ W_j) ≤ r. The left side has a moment generating function below (1 − t)^{−d}, d = n (m − 1), so it
  exceeds r with probability at most (e r/d)^d e^{−r} (Agrawal).

Where a rule states probabilities instead of guesses, Ŵ are means of numbers from 0 to 1. Drawing the guesses would only
spread them, and exponential moments of distance are convex functions of Ŵ. So the ball holds as it stands (Jensen), and
Chernoff's interval N_j KL(Ŵ_ij ‖ W_ij) ≤ log(1/δ) takes the place of Clopper's and Pearson's (Hoeffding).

The level is divided by shape alone, before any guess is seen: nine tenths go to whichever of the two is narrower for an
independent guess, one tenth to the other.

Source: docs/theory.md, section 23; C. J. Clopper, E. S. Pearson, Biometrika 26 (1934) 404–413; W. Hoeffding, JASA 58 (1963)
13–30; R. Agrawal, Finite-Sample Concentration of the Multinomial in Relative Entropy, IEEE TIT 66 (2020), arXiv:1904.02291.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from discreet.problems.numerics.double_double import Array
from discreet.problems.roots import bisected

_FAVOURED, _SHARES = 0.9, 0.05  # of the level: the narrower of box and ball; the shares of the groups


@dataclass(frozen=True)
class Region:
    """A confidence set of the law of (X, Ŷ); the law of the table itself is in it.

    people                   N_j [n]
    rates, low, high         Ŵ_ij and what the W_ij may be [m, n]
    shares, share_low, share_high   N_j/N and what the π_j may be [n]
    radius                   r, of the ball of all rates
    """

    people: Array
    rates: Array
    low: Array
    high: Array
    shares: Array
    share_low: Array
    share_high: Array
    radius: float


def region_of(table: Array, confidence: float, counted: bool = True) -> Region:
    """The region of a table [m, n] of how many people of group j got guess i, or of sums of probabilities if not `counted`.

    Guesses and groups that no one has count too if they have a row or a column.
    """
    from scipy.special import ndtri

    m, n = table.shape
    people = np.round(table.sum(axis=0))
    level = 1.0 - confidence
    cells, freedom, shares = (n if m == 2 else n * m), n * (m - 1), (n - 1 if n <= 2 else n)
    level_shares, level = (level * _SHARES, level * (1.0 - _SHARES)) if n > 1 else (0.0, level)
    box_null = ndtri(level / (2 * cells)) ** 2 if counted else 2.0 * math.log(2 * cells / level)
    favoured = 0.5 * freedom * box_null < ball_radius(freedom, level)  # N times the limit for an independent guess
    of_box = _FAVOURED if favoured else 1.0 - _FAVOURED
    rates = np.divide(table, people, out=np.full(table.shape, 1.0 / m), where=people > 0)
    some = np.maximum(people, 1.0)
    low, high = binomial_limits(np.where(people > 0, table, 0.5), some, level * of_box / cells, counted)
    low, high = np.where(people > 0, low, 0.0), np.where(people > 0, high, 1.0)
    if m == 1:
        low = high = np.ones_like(table)
    share_low, share_high = np.ones(n), np.ones(n)
    if n > 1:
        share_low, share_high = binomial_limits(people, np.full(n, people.sum()), level_shares / shares)
    radius = ball_radius(freedom, level * (1.0 - of_box))
    return Region(people, rates, low, high, people / people.sum(), share_low, share_high, radius)


def binomial_limits(hits: Array, trials: Array, level: float, counted: bool = True) -> tuple[Array, Array]:
    """Lower and upper limits of probabilities, each pair wrong with probability `level` at most.

    hits of trials: whole numbers if `counted`, else sums of independent numbers from 0 to 1.
    """
    if not counted:
        return _chernoff(hits / trials, trials, math.log(2.0 / level))
    from scipy.special import betaincinv

    hits, trials = np.broadcast_arrays(hits, trials)
    missed = trials - hits
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1.0), missed + 1.0, 0.5 * level), 0.0)
    high = np.where(missed > 0, betaincinv(hits + 1.0, np.maximum(missed, 1.0), 1.0 - 0.5 * level), 1.0)
    return low, high


def _chernoff(mean: Array, trials: Array, exponent: float) -> tuple[Array, Array]:
    """The p below and above the mean [m, n] with trials · KL(mean ‖ p) = exponent, for two values."""
    from scipy.special import rel_entr

    def near(p: Array) -> NDArray[np.bool_]:
        return np.asarray(trials * (rel_entr(mean, p) + rel_entr(1.0 - mean, 1.0 - p)) <= exponent)

    low = bisected(lambda p: np.logical_not(near(p)), np.zeros_like(mean), mean)[0]
    high = bisected(near, mean, np.ones_like(mean))[1]
    return low, high


@cache
def ball_radius(freedom: int, level: float) -> float:
    """The r > d with (e r/d)^d e^{−r} = level, rounded upward; 0 for d = 0."""
    if freedom == 0:
        return 0.0
    aim = -math.log(level) / freedom
    above = bisected(lambda y: y - 1.0 - np.log(y) < aim, 1.0, 2.0 * aim + 4.0)[1]
    return freedom * float(above)
