"""References without rounding: the numbers of a problem recomputed with fractions, logarithms with
120 digits.

Stored doubles are taken as exact. With `normalised`, the law of a problem is divided by its total,
and the columns of an estimator by their sums.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
from flint import fmpq

from discreet.measures.mutual_information import MUTUAL_INFORMATION

mpmath.mp.dps = 120


def fractions(array):
    """Every entry of an array as a fraction; all references below compute with such arrays."""
    return np.vectorize(Fraction, otypes=[object])(array)


def rational(value):
    """A number as a rational of FLINT's, with which arithmetic takes a tenth of the time of
    fractions.
    """
    return fmpq(*value.as_integer_ratio())


def rationals(array):
    """Return every entry of an array as a fraction."""
    return np.vectorize(rational, otypes=[object])(array)


def dot(*factors):
    """The sum of the products of arrays of one size, in integers over a common power of two."""
    ratios = [
        [value.as_integer_ratio() for value in np.ravel(factor).tolist()] for factor in factors
    ]
    products = [
        tuple(map(math.prod, zip(*each, strict=True))) for each in zip(*ratios, strict=True)
    ]
    whole = max((below for _, below in products), default=1)
    return Fraction(sum(above * (whole // below) for above, below in products), whole)


def real(value):
    return mpmath.mpf(value.numerator) / mpmath.mpf(value.denominator)


def total(problem):
    """Return the sum of p_xz."""
    return fractions(problem.p_xz).sum()


def completed(estimator):
    """The columns as `verify` reads them: the likeliest guess gets what the others leave."""
    found = fractions(estimator)
    likeliest = np.argmax(estimator, axis=0)
    found[likeliest, np.arange(likeliest.size)] += 1 - found.sum(axis=0)
    return found


def _columns(estimator, normalised):
    """The columns, divided by their sums if they are normalised."""
    found = fractions(estimator)
    return found / found.sum(axis=0) if normalised else found


def guess_law(problem, estimator, normalised=True):
    """p(guess, x) [m, n], with the total of the problem divided out."""
    a = fractions(problem.p_xz)
    return _columns(estimator, normalised) @ a.T / a.sum()


def _phi(x):
    """(1 + x) log(1 + x) − x with at least 60 correct digits."""
    if x <= -1:
        return mpmath.mpf(1)
    value = real(x)
    if abs(value) < mpmath.mpf(10) ** -25:
        return value**2 / 2 - value**3 / 6 + value**4 / 12
    log = mpmath.log(real(1 + x)) if x < -0.5 else mpmath.log1p(value)
    return real(1 + x) * log - value


def leakage(problem, estimator, normalised=False, measure=MUTUAL_INFORMATION):
    """What an estimator leaks, in the unit of the measure, as an mpf."""
    joint = guess_law(problem, estimator, normalised)
    prior = fractions(problem.p_xz).sum(axis=1) / total(problem)
    made = joint[joint.sum(axis=1) != 0]
    return leakage_by(measure, made[:, prior != 0], prior[prior != 0])


def leakage_by(measure, u, pi):
    """The leakage of guesses with exact joint masses u [m, n] and prior π [n], as the literature
    defines it.
    """
    s = u.sum(axis=1)
    r = u / np.outer(s, pi)

    def mean(row, f):
        return mpmath.fsum(real(p) * f(one) for p, one in zip(pi, row, strict=True))

    def total(f):
        return mpmath.fsum(real(w) * mean(row, f) for w, row in zip(s, r, strict=True))

    def entropic(one):
        return _phi(one - 1)

    def raised(row):
        return mean(row, lambda one: real(one) ** measure.alpha) ** (1 / mpmath.mpf(measure.alpha))

    def gained(gain):
        def best(law):
            return (fractions(gain) @ law).max(axis=0).sum()

        return mpmath.log(real(best(u.T) / best(pi[:, None])))

    def ratio(row):
        return mpmath.log(real(max(row) / min(row))) if min(row) else mpmath.inf

    return {
        "mutual-information": lambda: total(entropic),
        "chi-square": lambda: total(lambda one: real(one - 1) ** 2),
        "total-variation": lambda: total(lambda one: real(abs(one - 1))) / 2,
        "sibson": lambda: (
            mpmath.log(mpmath.fsum(real(w) * raised(row) for w, row in zip(s, r, strict=True)))
            * measure.alpha
            / (measure.alpha - 1)
        ),
        "maximal-leakage": lambda: mpmath.log(real((s * r.max(axis=1)).sum())),
        "min-entropy-leakage": lambda: gained(np.eye(len(pi)).tolist()),
        "g-leakage": lambda: gained(measure.gain),
        "parity-difference": lambda: real((s * (r.max(axis=1) - r.min(axis=1))).max()),
        "max-lift": lambda: mpmath.log(real(r.max())),
        "local-differential-privacy": lambda: max(map(ratio, r)),
        "pointwise-information": lambda: max(mean(row, entropic) for row in r),
    }[measure.name]()


def error_probability(problem, estimator, normalised=False):
    """Return the expected loss ⟨L, P⟩."""
    return (_columns(estimator, normalised) * fractions(problem.loss)).sum()


def bound(problem, tilt, multiplier):
    """Σ_l min_i (L_il + a_l·t_i) − μ ε Σ π of feasible duals."""
    tilted = fractions(problem.loss) + fractions(tilt) @ fractions(problem.p_xz)
    value = tilted.min(axis=0).sum()
    if multiplier == 0.0 or problem.budget == 0.0:
        return value
    return value - Fraction(multiplier) * Fraction(problem.budget) * total(problem)


def support(problem, tilt, multiplier):
    """max_i h_i(t, μ) ÷ μ, as an mpf (μ = inf: max_i Σ π_j t_ij; μ = 0: max_ij t_ij); feasible
    duals have it ≤ 0.
    """
    prior = fractions(problem.p_xz).sum(axis=1) / total(problem)
    worst = mpmath.mpf("-inf")
    for row in fractions(tilt):
        entries = [(pi, t) for pi, t in zip(prior, row, strict=True) if pi]
        if multiplier == np.inf:
            value = real(sum((pi * t for pi, t in entries), Fraction(0)))
        elif multiplier == 0.0:
            value = real(max(t for _, t in entries))
        else:
            mu = mpmath.mpf(multiplier)
            top = max(t for _, t in entries)
            steps = [(real(pi), real(t - top) / mu) for pi, t in entries]
            power = sum((pi * mpmath.exp(step) for pi, step in steps), mpmath.mpf(0))
            growth = sum((pi * mpmath.expm1(step) for pi, step in steps), mpmath.mpf(0))
            value = real(top) / mu + (mpmath.log(power) if power < 0.5 else mpmath.log1p(growth))
        worst = max(worst, value)
    return worst


def distance(problem, estimator):
    """max_ij |p(x_j given ŷ_i) / p(x_j) − 1| over the guesses made; columns are divided by their
    sums.
    """
    found = Fraction(0)
    prior = fractions(problem.p_xz).sum(axis=1) / total(problem)
    for row in guess_law(problem, estimator):
        for u, pi in zip(row, prior, strict=True):
            if row.sum() and pi:
                found = max(found, abs(u / (row.sum() * pi) - 1))
    return found


def perfect_privacy_optimum(problem, within=0.0):
    """The least error probability of all estimators under which |p(x_j given ŷ_i) / p(x_j) − 1| ≤
    `within`, for any n and m.

    The linear program over P_il with Σ_i P_il = 1 and Σ_l P_il (±(a_jl − π_j w_l) − δ π_j w_l) ≤ 0,
    in fractions.
    """
    a = fractions(problem.p_xz)
    expected = np.outer(a.sum(axis=1), a.sum(axis=0)) / a.sum()
    share = Fraction(within)
    limits = a - expected
    if share:
        limits = np.concatenate([limits, -limits]) - share * np.concatenate([expected, expected])
    sums = np.tile(np.eye(problem.N, dtype=int), problem.m)
    limited = np.kron(np.eye(problem.m, dtype=int), limits)
    slacks = np.eye(len(limited), len(limited) if share else 0, dtype=int)
    unlimited = np.zeros((len(sums), slacks.shape[1]), dtype=int)
    rows = np.block([[sums, unlimited], [limited, slacks]])
    right = [1] * len(sums) + [0] * len(limited)
    costs = [*fractions(problem.loss).ravel(), *[0] * slacks.shape[1]]
    return _linear_program(costs, rows, right)


def _linear_program(costs, rows, right):
    """The least Σ costs·x over x ≥ 0 with rows·x = right ≥ 0: the simplex method in two phases, by
    Bland's rule.
    """
    count = len(costs)
    table = rationals(np.column_stack([rows, np.eye(len(rows), dtype=int), right]))
    basis = np.arange(count, count + len(rows))
    for phase, price in ((1, [0] * count + [1] * len(rows)), (2, [*costs, *[0] * len(rows)])):
        prices = rationals([*price, 0])
        reduced = prices - prices[basis] @ table
        allowed = reduced[: count if phase == 2 else -1]
        while (allowed < 0).any():
            entering = int(np.argmax(allowed < 0))
            column = table[:, entering].copy()
            held = (basis >= count) & (phase == 2)  # what is not in the program stays at 0
            leaving = min(
                np.flatnonzero((column > 0) | held & (column != 0)),
                key=lambda r: (abs(table[r, -1] / column[r]), basis[r]),
            )
            table[leaving] = table[leaving] / column[leaving]
            others = np.setdiff1d(np.flatnonzero(column), leaving)
            used = np.flatnonzero(table[leaving])
            table[np.ix_(others, used)] -= np.outer(column[others], table[leaving, used])
            reduced[used] -= reduced[entering] * table[leaving, used]
            basis[leaving] = entering
        if phase == 1 and reduced[-1]:
            raise ValueError("no point is feasible")
    return Fraction(int(-reduced[-1].p), int(reduced[-1].q))
