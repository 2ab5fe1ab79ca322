"""A confidence region of the law of (X, Ŷ) of a fixed rule, given the guesses of N people.

W_ij = Pr(Ŷ = y_i given X = x_j) are the *rates* of group j, and π_j = p(x_j) the shares of the
groups. Given the number of people N_j in each group, their guesses are independent multinomials, so
these statements hold together:

- box: every rate and every share lies in its Clopper–Pearson interval, at a level divided by the
  number of intervals;
- ball: Σ_j N_j KL(Ŵ_j ‖ W_j) ≤ r. The moment generating function of the left side is below (1 −
  t)^{−d} with d = n (m − 1), so it exceeds r with probability at most (e r/d)^d e^{−r} (Agrawal);
- evidence: the e-value of W against an independent guess with the same mixture of rates is at most
  1/δ (see `Region`). Its mean is 1 if W is true, so it exceeds 1/δ with probability at
  most δ (Markov). It excludes laws that leak when the table is nearly independent, while the ball
  excludes laws that leak more than a table that leaks;
- odds, for two guesses and two groups: the ratio of the odds of a guess in both groups lies in
  Fisher's exact interval, given the number of people who got each guess.

If a rule states probabilities instead of guesses, Ŵ are means of numbers from 0 to 1; drawing the
guesses would only spread them. The e-value is the exponential of a linear function of Ŵ, and
exponential moments of distance are convex, so the mean of the first is at most 1 and the ball holds
unchanged (Jensen). Chernoff's interval N_j KL(Ŵ_ij ‖ W_ij) ≤ log(1/δ) replaces that of Clopper and
Pearson (Hoeffding).

The level is divided according to the shape of the table and the purpose, before any guess is seen
(`Levels`). Given another variable, the columns are the groups of each of its values, one value
after another.

Source: docs/theory.md, section 23; C. J. Clopper, E. S. Pearson, Biometrika 26 (1934) 404–413; W.
Hoeffding, JASA 58 (1963) 13–30; R. A. Fisher, Journal of the Royal Statistical Society 98 (1935)
39–82; R. Agrawal, Finite-Sample Concentration of the Multinomial in Relative Entropy, IEEE TIT 66
(2020), arXiv:1904.02291; P. Grünwald, R. de Heide, W. Koolen, Safe Testing, JRSS B 86 (2024),
arXiv:1906.07801.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from discreet.measures.region import Region
from discreet.numerics.double_double import Array
from discreet.problems.roots import bisect


@dataclass(frozen=True)
class Levels:
    """The probabilities with which the statements of a region may fail, which sum to the level.

    A statement of level 0 is not made. For upper limits evidence gets most of the level, since they
    are needed for rules that hardly leak; rates and lower limits come from the box.
    """

    shares: float
    box: float
    ball: float
    evidence: float
    odds: float

    @classmethod
    def of(cls, m: int, n: int, level: float, counted: bool, given: int, upper: bool) -> Levels:
        """Return the levels for a table [m, n]; the other arguments are those of `region_of`."""
        of_shares = 0.05 * level if n > 1 else 0.0
        left = level - of_shares
        if m == 2 and n == 2 * given and counted:
            return cls(of_shares, 0.25 * left, 0.0, 0.0, 0.75 * left)
        if upper:
            return cls(of_shares, 0.05 * left, 0.1 * left, 0.85 * left, 0.0)
        return cls(of_shares, 0.5 * left, 0.2 * left, 0.3 * left, 0.0)


def region_of(
    table: Array, confidence: float, counted: bool = True, given: int = 1, *, upper: bool = False
) -> Region:
    """Return the region of a table [m, n] with the number of people of group j who got guess i, or
    with sums of probabilities if not `counted`.

    Guesses and groups that no one has count too if they have a row or a column. given: see
    `Region`. upper: for upper limits only, of quantities that do not decrease as odds ratios move
    away from 1 on the same side. A true ratio is on one side of 1, and only the end of its interval
    on that side must not fail, so each end has the whole level of the odds.
    """
    m, n = table.shape
    people = np.round(table.sum(axis=0))
    levels = Levels.of(m, n, 1.0 - confidence, counted, given, upper)
    cells = n if m == 2 else n * m
    shares = n - 1 if n <= 2 else n
    rates = np.divide(table, people, out=np.full(table.shape, 1.0 / m), where=people > 0)
    low, high = binomial_limits(table, people, levels.box / cells, counted)
    if m == 1:
        low = high = np.ones_like(table)
    share_low = np.ones(n)
    share_high = np.ones(n)
    if n > 1:
        share_low, share_high = binomial_limits(
            people, np.full(n, people.sum()), levels.shares / shares
        )
    radius = ball_radius(n * (m - 1), levels.ball)
    evidence = -math.log(levels.evidence) if levels.evidence else math.inf
    power = best_power((n - given) * (m - 1), evidence)
    odds = None
    if levels.odds:
        level = levels.odds * (2.0 if upper else 1.0) / given
        odds = odds_limits(np.round(table).reshape(2, given, 2).swapaxes(0, 1), level)
    return Region(
        people,
        rates,
        low,
        high,
        people / people.sum(),
        share_low,
        share_high,
        radius,
        power,
        evidence,
        given,
        odds,
    )


def odds_limits(tables: Array, level: float) -> Array:
    """Return the smallest and largest log odds ratio [K, 2] of tables of counts [K, 2, 2], each
    pair wrong with this probability.

    Given the margins, the first entry has Fisher's noncentral law. −inf and inf if the margins
    leave no room below or above.
    """
    law = Fisher.of(np.concatenate([tables, tables]))  # lower ends, then upper ends
    (a, b), (c, d) = tables.transpose(1, 2, 0)
    count = len(tables)

    def before(log_odds: Array) -> NDArray[np.bool_]:
        below, above = law.tails(log_odds)
        return np.concatenate([above[:count] <= 0.5 * level, below[count:] > 0.5 * level])

    large = np.full(2 * count, 750.0)
    starts, ends = bisect(before, -large, large)
    low = starts[:count]
    high = ends[count:]
    return np.column_stack(
        [np.where(a * d == 0.0, -np.inf, low), np.where(b * c == 0.0, np.inf, high)]
    )


@dataclass(frozen=True)
class Fisher:
    """Fisher's noncentral law of the first entries k of tables of counts [K, 2, 2] with given
    margins, at odds ratio 1.

    up, down   log Pr(k + step)/Pr(k) and log Pr(k − step)/Pr(k) [K, reach], step = 1, 2, …

    They end ten standard deviations and thirty people from k, where the remaining probability is
    below any level in use.
    """

    up: Array
    down: Array

    @classmethod
    def of(cls, tables: Array) -> Fisher:
        """Return the law from ratios of neighbours, so that nothing cancels."""
        (a, b), (c, d) = (each[..., None] for each in tables.transpose(1, 2, 0))
        deviation = float((1.0 / (1.0 / (tables + 1.0)).sum(axis=(1, 2))).max() ** 0.5)
        step = np.arange(int(10.0 * deviation) + 30)

        def along(first: Array, second: Array, third: Array, fourth: Array) -> Array:
            """Return the logarithms if the first two entries fall and the others rise."""
            left = np.maximum(first - step, 0.0) * np.maximum(second - step, 0.0)
            with np.errstate(divide="ignore"):
                ratios = np.log(left / ((third + step + 1.0) * (fourth + step + 1.0)))
            return np.asarray(np.cumsum(ratios, axis=1))

        return cls(along(b, c, a, d), along(a, d, b, c))

    def tails(self, log_odds: Array) -> tuple[Array, Array]:
        """Return Pr(K ≤ k) and Pr(K ≥ k) [K] at other odds ratios."""
        shift = log_odds[:, None] * np.arange(1.0, self.up.shape[1] + 1.0)
        up = self.up + shift
        down = self.down - shift
        top = np.maximum(np.maximum(up.max(axis=1), down.max(axis=1)), 0.0)
        here = np.exp(-top)
        above = np.exp(up - top[:, None]).sum(axis=1)
        below = np.exp(down - top[:, None]).sum(axis=1)
        total = here + above + below
        return (here + below) / total, (here + above) / total


def binomial_limits(
    hits: Array, trials: Array, level: float, counted: bool = True
) -> tuple[Array, Array]:
    """Return lower and upper limits of probabilities, each pair wrong with probability at most
    `level`.

    hits of trials: whole numbers if `counted`, else sums of independent numbers from 0 to 1.
    Without trials the limits are 0 and 1.
    """
    hits, trials = np.broadcast_arrays(hits, trials)
    if not counted:
        mean = np.divide(hits, trials, out=np.full(hits.shape, 0.5), where=trials > 0.0)
        return near_rates(mean, trials, math.log(2.0 / level))
    from scipy.special import betaincinv

    missed = trials - hits
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1.0), missed + 1.0, 0.5 * level), 0.0)
    high = np.where(
        missed > 0, betaincinv(hits + 1.0, np.maximum(missed, 1.0), 1.0 - 0.5 * level), 1.0
    )
    return low, high


def near_rates(mean: Array, trials: Array, exponent: float | Array) -> tuple[Array, Array]:
    """Return the p below and above the mean [m, n] with trials · KL(mean ‖ p) = exponent, for two
    values.
    """
    from scipy.special import rel_entr

    def near(p: Array) -> NDArray[np.bool_]:
        return np.asarray(trials * (rel_entr(mean, p) + rel_entr(1.0 - mean, 1.0 - p)) <= exponent)

    low = bisect(lambda p: np.logical_not(near(p)), np.zeros_like(mean), mean)[0]
    high = bisect(near, mean, np.ones_like(mean))[1]
    return low, high


@cache
def ball_radius(freedom: int, level: float) -> float:
    """Return the r > d with (e r/d)^d e^{−r} = level, rounded upward; 0 for d = 0, inf at
    level 0.
    """
    if freedom == 0:
        return 0.0
    if level == 0.0:
        return math.inf
    aim = -math.log(level) / freedom
    above = bisect(lambda y: y - 1.0 - np.log(y) < aim, 1.0, 2.0 * aim + 4.0)[1]
    return freedom * float(above)


@cache
def best_power(freedom: int, evidence: float) -> float:
    """Return the power a with which e-values give the smallest limit for the information of an
    independent guess.

    With many people, the law that leaks t/N in the direction that best fits a table with d degrees
    of freedom has the log e-value a (2 − a) t − a √(2 d t), and a minimises the t at which this
    equals `evidence`.
    """
    power = np.arange(5, 101) / 100.0
    middle = math.sqrt(0.5 * freedom)
    root = (middle + np.sqrt(middle**2 + (2.0 - power) / power * evidence)) / (2.0 - power)
    return float(power[root.argmin()])
