"""A region of the law of (X, Ŷ) of a rule in production that holds at all times together, so that
it may be examined after every record.

Let p be the probability that laws drawn from Dirichlet priors give the guesses so far, and p_W that
of the rates W. If W is true, p/p_W is a martingale that begins at 1: given the groups, each guess
multiplies it by a number of mean 1. So the probability that it ever reaches 1/δ is at most δ
(Ville), and the rates with p_W > δ p contain the true rates at all times with probability 1 − δ.
Since log p_W = log p_Ŵ − Σ_j N_j KL(Ŵ_j ‖ W_j), they form a ball. The same argument for one guess
and all others gives an interval of each rate, and for one group and all others an interval of its
share.

One prior has the parameter ½ throughout. If the promise was shown on people, others are centred at
their table, as if a number of further people of each group had been seen.

Source: docs/theory.md, section 23; J. Ville, Étude critique de la notion de collectif (1939); L.
Wasserman, A. Ramdas, S. Balakrishnan, Universal Inference, PNAS 117 (2020), arXiv:1912.11436; R. E.
Krichevsky, V. K. Trofimov, The Performance of Universal Encoding, IEEE TIT 27 (1981).
"""

from __future__ import annotations

import math

import numpy as np

from discreet.measures.region import Region
from discreet.numerics.double_double import Array
from discreet.people.region import near_rates

_SHARES = 0.05  # share of the level for intervals of shares
_RATES = 0.45  # share for intervals of rates; the ball has the rest
_WEIGHTS = 4.0 ** np.arange(1, 8)  # number of people of each group that a prior represents
_ROUNDING = 1e-14  # relative rounding error of sums of logarithms of gamma functions


def anytime_region(table: Array, shown: Array | None, level: float, given: int = 1) -> Region:
    """Return the region of a table of counts [m, n · given], which misses the truth at any time
    with probability at most `level`.

    shown    the table with which the promise was shown, in the same order, if it is known
    """
    m, n = table.shape
    people = table.sum(axis=0)
    total = people.sum()
    rates = np.divide(table, people, out=np.full(table.shape, 1.0 / m), where=people > 0)
    priors = _priors(table.shape, shown)
    # the intervals of two guesses are the same
    of_rate = _RATES * level / (n if m == 2 else n * m)
    low, high = near_rates(rates, people, _single_radii(table, priors, of_rate))
    shares = people / max(total, 1.0)
    of_groups = _priors((n, 1), None if shown is None else shown.sum(axis=0)[:, None])
    radii = _single_radii(people[:, None], of_groups, _SHARES * level / n)
    share_low, share_high = near_rates(shares, np.full(n, total), radii[:, 0])
    radius = _radii(table, priors, (1.0 - _RATES - _SHARES) * level, together=True)
    return Region(
        people,
        rates,
        low,
        high,
        shares,
        share_low,
        share_high,
        float(radius[0]),
        1.0,
        math.inf,
        given,
    )


def _priors(shape: tuple[int, int], shown: Array | None) -> Array:
    """Return the parameters of the Dirichlet priors of the columns [priors, m, n]."""
    flat = np.full((1, *shape), 0.5)
    if shown is None:
        return flat
    centre = (shown + 0.5) / (shown + 0.5).sum(axis=0)
    return np.concatenate([flat, _WEIGHTS[:, None, None] * centre])


def _single_radii(counts: Array, priors: Array, level: float) -> Array:
    """Return the radii of each row of counts [m, n] against all other rows, in each column."""
    both = np.stack([counts, counts.sum(axis=0) - counts])
    others = priors.sum(axis=1, keepdims=True) - priors
    beliefs = np.stack([priors, others], axis=1)
    radii = _radii(both.reshape(2, -1), beliefs.reshape(len(priors), 2, -1), level)
    return radii.reshape(counts.shape)


def _radii(counts: Array, priors: Array, level: float, *, together: bool = False) -> Array:
    """Return log(p_Ŵ/p) − log(level) of each column of counts [m, n], or of all of them
    `together`.
    """
    from scipy.special import gammaln, logsumexp, xlogy

    people = counts.sum(axis=0)
    strength = priors.sum(axis=1)
    cells = (gammaln(priors + counts) - gammaln(priors)).sum(axis=1)
    columns = cells + gammaln(strength) - gammaln(strength + people)
    fitted = xlogy(counts, counts).sum(axis=0) - xlogy(people, people)
    if together:
        columns = columns.sum(axis=1, keepdims=True)
        fitted = fitted.sum(keepdims=True)
    rounding = _ROUNDING * gammaln(strength.max() + people.sum() + 1.0)
    mixed = logsumexp(columns, axis=0) - math.log(len(priors))
    return np.asarray(fitted - mixed - math.log(level) + rounding)
