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

mpmath.mp.dps = 120

Rows = list[list[Fraction]]


def rational(value):
    """A double as a rational of FLINT's, with which arithmetic takes a tenth of the time of
    fractions.
    """
    return fmpq(*float(value).as_integer_ratio())


def rationals(array):
    """The same for every entry of an array."""
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


def _rows(array):
    return [
        [value if isinstance(value, Fraction) else Fraction(float(value)) for value in row]
        for row in np.asarray(array)
    ]


def real(value):
    return mpmath.mpf(value.numerator) / mpmath.mpf(value.denominator)


def total(problem):
    """Σ p_xz."""
    return sum((value for row in _rows(problem.p_xz) for value in row), Fraction(0))


def _columns_to_one(estimator):
    sums = [sum(column, Fraction(0)) for column in zip(*estimator, strict=True)]
    return [[value / whole for value, whole in zip(row, sums, strict=True)] for row in estimator]


def _phi(x):
    """(1 + x) log(1 + x) − x with at least 60 correct digits."""
    if x <= -1:
        return mpmath.mpf(1)
    value = real(x)
    if abs(value) < mpmath.mpf(10) ** -25:
        return value**2 / 2 - value**3 / 6 + value**4 / 12
    log = mpmath.log(real(1 + x)) if x < -0.5 else mpmath.log1p(value)
    return real(1 + x) * log - value


def leakage(problem, estimator, normalised=False):
    """I(X; Ŷ) in nats, as an mpf."""
    a = _rows(problem.p_xz)
    guess = _rows(estimator)
    whole = total(problem)
    if normalised:
        guess = _columns_to_one(guess)
    prior = [sum(row, Fraction(0)) / whole for row in a]
    result = mpmath.mpf(0)
    for row in guess:
        joint = [
            sum((p * v for p, v in zip(row, masses, strict=True)), Fraction(0)) / whole
            for masses in a
        ]
        mass = sum(joint, Fraction(0))
        for u, pi in zip(joint, prior, strict=True):
            if mass and pi:
                result += real(mass * pi) * _phi(u / (mass * pi) - 1)
    return result


def error_probability(problem, estimator, normalised=False):
    """⟨L, P⟩."""
    guess = _columns_to_one(_rows(estimator)) if normalised else _rows(estimator)
    return sum(
        (
            p * v
            for row, losses in zip(guess, _rows(problem.loss), strict=True)
            for p, v in zip(row, losses, strict=True)
        ),
        Fraction(0),
    )


def bound(problem, tilt, multiplier):
    """Σ_l min_i (L_il + a_l·t_i) − μ ε Σ π of feasible duals."""
    a = _rows(problem.p_xz)
    losses = _rows(problem.loss)
    t = _rows(tilt)
    value = sum(
        (
            min(
                losses[i][k] + sum((t[i][j] * a[j][k] for j in range(problem.n)), Fraction(0))
                for i in range(problem.m)
            )
            for k in range(problem.N)
        ),
        Fraction(0),
    )
    free = multiplier == 0.0 or problem.budget == 0.0
    return value - (
        Fraction(0) if free else Fraction(multiplier) * Fraction(problem.budget) * total(problem)
    )


def support(problem, tilt, multiplier):
    """max_i h_i(t, μ) ÷ μ, as an mpf (μ = inf: max_i Σ π_j t_ij; μ = 0: max_ij t_ij); feasible
    duals have it ≤ 0.
    """
    whole = total(problem)
    prior = [sum(row, Fraction(0)) / whole for row in _rows(problem.p_xz)]
    worst = mpmath.mpf("-inf")
    for row in _rows(tilt):
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
    a = _rows(problem.p_xz)
    guess = _columns_to_one(_rows(estimator))
    whole = total(problem)
    found = Fraction(0)
    for row in guess:
        u = [sum((p * q for p, q in zip(row, masses, strict=True)), Fraction(0)) for masses in a]
        for mass, masses in zip(u, a, strict=True):
            if sum(u) and sum(masses):
                found = max(found, abs(mass * whole / (sum(u) * sum(masses)) - 1))
    return found


def perfect_privacy_optimum(problem, within=0.0):
    """The least error probability of all estimators under which |p(x_j given ŷ_i) / p(x_j) − 1| ≤
    `within`, for any n and m.

    The linear program over P_il with Σ_i P_il = 1 and Σ_l P_il (±(a_jl − π_j w_l) − δ π_j w_l) ≤ 0,
    in fractions.
    """
    a = _rows(problem.p_xz)
    losses = _rows(problem.loss)
    whole = total(problem)
    share = Fraction(within)
    prior = [sum(row, Fraction(0)) / whole for row in a]
    expected = [[pi * sum(masses) for masses in zip(*a, strict=True)] for pi in prior]
    limits = [
        [sign * (mass - mean) - share * mean for mass, mean in zip(row, means, strict=True)]
        for row, means in zip(a, expected, strict=True)
        for sign in ((1, -1) if share else (1,))
    ]
    m = problem.m
    count = problem.N
    zero = Fraction(0)
    slacks = m * len(limits) if share else 0
    rows = []
    right = []
    for place in range(count):
        rows.append([Fraction(k % count == place) for k in range(m * count)] + [zero] * slacks)
        right.append(Fraction(1))
    for i in range(m):
        for limit in limits:
            row = [zero] * (m * count + slacks)
            row[i * count : (i + 1) * count] = limit
            if share:
                row[m * count + len(right) - count] = Fraction(1)
            rows.append(row)
            right.append(zero)
    return _linear_program(
        [value for row in losses for value in row] + [zero] * slacks, rows, right
    )


def _linear_program(costs, rows, right):
    """The least Σ costs·x over x ≥ 0 with rows·x = right ≥ 0: the simplex method in two phases, by
    Bland's rule.

    Its rationals are FLINT's, which take a tenth of the time of Python's.
    """
    count = len(costs)
    artificial = len(rows)
    table = [
        [
            fmpq(*entry.as_integer_ratio())
            for entry in (*row, *(Fraction(k == r) for k in range(artificial)), value)
        ]
        for r, (row, value) in enumerate(zip(rows, right, strict=True))
    ]
    basis = list(range(count, count + artificial))
    for phase in (1, 2):
        asked = (
            [Fraction(0)] * count + [Fraction(1)] * artificial
            if phase == 1
            else [*costs, *[Fraction(0)] * artificial]
        )
        price = [fmpq(*cost.as_integer_ratio()) for cost in asked]
        allowed = count + artificial if phase == 1 else count
        while True:
            entering = next(
                (k for k in range(allowed) if _reduced(price, basis, table, k) < 0), None
            )
            if entering is None:
                break
            leaving = min(
                (
                    r
                    for r, row in enumerate(table)
                    if row[entering] > 0 or (basis[r] >= count and row[entering] and phase == 2)
                ),
                key=lambda r: (abs(table[r][-1] / table[r][entering]), basis[r]),
            )
            _pivot(table, leaving, entering)
            basis[leaving] = entering
        value = sum((price[k] * row[-1] for k, row in zip(basis, table, strict=True)), fmpq(0))
        if phase == 1 and value:
            raise ValueError("no point is feasible")
    return Fraction(int(value.p), int(value.q))


def _reduced(price, basis, table, k):
    return price[k] - sum(
        (price[b] * row[k] for b, row in zip(basis, table, strict=True) if row[k]), fmpq(0)
    )


def _pivot(table, leaving, entering):
    own = [value / table[leaving][entering] for value in table[leaving]]
    for r, row in enumerate(table):
        factor = row[entering]
        if r == leaving:
            table[r] = own
        elif factor:
            table[r] = [
                value - factor * mine if mine else value
                for value, mine in zip(row, own, strict=True)
            ]
