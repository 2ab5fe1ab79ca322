"""Hypothesis strategies shared by the tests: problems with difficult masses, estimators, and
garbage.

Masses range over all of double precision: ordinary, equal, zero, nearly one, and tiny down to
subnormal. The arrays are small, because the laws do not depend on size and the references compute
with fractions. An array or a whole model is one draw of bytes, which choose from tables: a draw for
every entry takes longer than most laws. Strategies are cached, since Hypothesis validates each new
one.
"""

import math
from functools import cache
from math import inf, nan

import numpy as np
from hypothesis import strategies as st

from discreet.problems.problem import Problem

characters = st.characters(exclude_categories=["Cs"])
"""All that UTF-8 encodes. That is also the default of `st.text`, which takes a second to try every
code point first.
"""

_CHOICES = 1 << 16
"""Length of a table of values: two drawn bytes choose one."""

_random = np.random.default_rng(0)


def _table(*kinds):
    """A table where all kinds of values take turns; what is shorter is repeated."""
    each = -(-_CHOICES // len(kinds))
    return np.stack([np.resize(kind, each) for kind in kinds], axis=1).ravel()[:_CHOICES]


def _uniform(low, high):
    return _random.uniform(low, high, _CHOICES)


_exponents = _random.integers(-996, 1, _CHOICES)  # down to 1e-300
_bits = _random.integers(0, 1 << 64, _CHOICES, dtype=np.uint64).view(np.float64)
_extreme = np.array([0.0, 0.0, 0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1e-310, 5e-324, 1e308])

_round = np.array([0.0, 0.25, 0.5, 1.0])
_tiny = np.array([5e-324, 1e-310, 1e-300, 1e-30, 1e-15, 1.0 - 1e-15])
_powers = 2.0 ** _random.integers(-1074, 1, _CHOICES)

MASSES = _table(
    _round, _uniform(0.01, 1.0), _tiny, _uniform(0.5, 1.0) * 2.0**_exponents, _round, _powers, _tiny
)
"""Non-negative numbers at most one, of every order of magnitude."""

ANYTHING = _table(np.append(_extreme, [nan, inf, -inf]), _uniform(-2.0, 2.0), _bits)
"""Any double at all."""

FINITE = _table(_extreme, _uniform(-2.0, 2.0), _bits[np.isfinite(_bits)])
"""Any number at all."""

LOSSES = _table(MASSES[: _CHOICES // 2], _uniform(0.0, 100.0))
MODERATE = _table(np.zeros(1), *(_uniform(-0.5, 0.5) for _ in range(7)))
ORDINARY = _table(
    np.array([0.0, 1.0, -1.0, 1e30, 1e-99]),
    *(_uniform(-1.0, 1.0) * scale for scale in (1.0, 1e-8, 1e-90, 1e16, 1e30)),
)
MIXED = _table(
    *(_uniform(-1.0, 1.0) * scale for scale in (1e-300, 1e-12, 1e-3, 1.0, 50.0, 1e5, 1e300))
)

anything = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-2.0, 2.0),
    st.sampled_from([*_extreme.tolist(), nan, inf, -inf]),
)
"""Any double at all."""

seeds = st.integers(0, 10**6)
"""What random numbers follow from."""

budgets = st.one_of(
    st.sampled_from(
        [0.0, 1e-300, 1e-32, 1e-28, 1e-20, 1e-14, 1e-9, 1e-4, 0.01, 0.1, 0.7, 1e3, 1e300, inf]
    ),
    st.floats(1e-12, 1.0),
)
"""Leakage budgets in nats, from perfect privacy to none."""


def _drawn(count, make):
    """Draw a number of bytes, and make a value of them."""
    return st.binary(min_size=count, max_size=count).map(make)


def _room(*shape):
    """How many bytes `_array` takes."""
    return 2 * math.prod(shape) + 2


def _array(drawn, shape, table):
    """An array of values of a table: in most of them some entries, or all, equal the first."""
    chosen = np.frombuffer(drawn, np.uint16, math.prod(shape) + 1)
    places = chosen[1:].copy()
    places[places < int(chosen[0]) - _CHOICES // 4] = places[0]
    return table[places].reshape(shape)


_MOST = 3
"""Private values, and guesses."""

_HEADER = 6
"""Bytes of a model before its arrays: n, m, N, the kind of loss, and two places."""


def _joint(drawn, outcomes):
    n = drawn[0] % _MOST + 1
    m = drawn[1] % _MOST + 1
    count = drawn[2] % outcomes + 1
    raw = _array(drawn[_HEADER:], (n, m, count), MASSES)
    if raw.sum() < 0.01:
        raw[drawn[4] % n, 0, drawn[5] % count] = 1.0
    return raw / raw.sum()


@cache
def joints():
    """Joint tensors p(x, y, z) [n, m, N] that sum to one, n and m up to 3, N up to 5."""
    return _drawn(_HEADER + _room(_MOST, _MOST, 5), lambda drawn: _joint(drawn, 5))


@cache
def problems(
    budget=budgets,
    outcomes=5,
    general=True,
):
    """Problems under a budget, given or drawn; with `general`, half of them have any loss masses
    instead of 0/1 loss.
    """
    masses = _HEADER + _room(_MOST, _MOST, outcomes)

    def problem(drawn, nats):
        joint = _joint(drawn, outcomes)
        if not general or drawn[3] % 2 == 0:
            return Problem.from_joint(joint, nats)
        p_xz = joint.sum(axis=1)
        loss = _array(drawn[masses:], joint.shape[1:], LOSSES)
        return Problem(p_xz, loss * (p_xz.sum(axis=0) > 0.0), nats)

    size = masses + _room(_MOST, outcomes)
    model = st.binary(min_size=size, max_size=size)
    if isinstance(budget, float):
        return model.map(lambda drawn: problem(drawn, budget))
    return st.tuples(model, budget).map(lambda both: problem(*both))


@cache
def estimators(shape):
    """Column-stochastic matrices [m, N]: vertices, even draws, and weights of every order of
    magnitude.
    """
    m, count = shape

    def estimator(drawn):
        if drawn[0] % 2 == 0:
            return np.eye(m)[:, np.frombuffer(drawn, np.uint8, count, 1) % m]
        raw = _array(drawn[1:], shape, MASSES)
        raw[0, raw.sum(axis=0) == 0.0] = 1.0
        raw = raw / raw.max(axis=0)
        return raw / raw.sum(axis=0)

    return _drawn(1 + _room(*shape), estimator)


@cache
def garbage(shape):
    """Arrays of any doubles: NaN, infinities, negative, huge, subnormal."""
    return _from(shape, ANYTHING)


@cache
def finite_tilts(shape):
    """Tilts [m, n]: moderate, of mixed orders of magnitude, or any numbers."""
    return _from(shape, MODERATE, MIXED, FINITE)


@cache
def tilts(shape):
    """Tilts [m, n]: moderate, of mixed orders of magnitude, or arbitrary doubles, NaN and
    infinities included.
    """
    return _from(shape, MODERATE, MIXED, ANYTHING)


@cache
def vectors(rows, most=40):
    """Some vectors of one length up to `most` [rows, ·], of numbers whose products neither overflow
    nor underflow.
    """

    def vector(drawn):
        return _array(drawn[1:], (rows, drawn[0] % most + 1), ORDINARY)

    return _drawn(1 + _room(rows, most), vector)


def _from(shape, *tables):
    """Arrays of values of one of the tables."""
    return _drawn(
        1 + _room(*shape), lambda drawn: _array(drawn[1:], shape, tables[drawn[0] % len(tables)])
    )
