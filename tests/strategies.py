"""Hypothesis strategies shared by the tests: problems with difficult masses, estimators, and garbage.

Masses range over all of double precision: ordinary, equal, zero, nearly one, and tiny down to subnormal. The arrays are
small, because the laws do not depend on size and the references compute with fractions. A whole array is one draw of bytes,
which choose from a table: a draw for every entry takes longer than most laws. Strategies are cached by shape, since
Hypothesis validates each new one.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = [
    "anything",
    "arrays",
    "budgets",
    "characters",
    "estimators",
    "finite_tilts",
    "garbage",
    "joints",
    "problems",
    "tilts",
]

characters = st.characters(exclude_categories=["Cs"])
"""All that UTF-8 encodes. That is also the default of `st.text`, which takes a second to try every code point first."""

_CHOICES = 1 << 16
"""Length of a table of values: two drawn bytes choose one."""

_random = np.random.default_rng(0)


def _table(*kinds: Array) -> Array:
    """A table where all kinds of values take turns; what is shorter is repeated."""
    each = -(-_CHOICES // len(kinds))
    return np.stack([np.resize(kind, each) for kind in kinds], axis=1).ravel()[:_CHOICES]


def _uniform(low: float, high: float) -> Array:
    return _random.uniform(low, high, _CHOICES)


_exponents = _random.integers(-996, 1, _CHOICES)  # down to 1e-300
_bits = _random.integers(0, 1 << 64, _CHOICES, dtype=np.uint64).view(np.float64)
_extreme = np.array([0.0, 0.0, 0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1e-310, 5e-324, 1e308])

_round = np.array([0.0, 0.25, 0.5, 1.0])
_tiny = np.array([5e-324, 1e-310, 1e-300, 1e-30, 1e-15, 1.0 - 1e-15])
_powers = 2.0 ** _random.integers(-1074, 1, _CHOICES)

MASSES = _table(_round, _uniform(0.01, 1.0), _tiny, _uniform(0.5, 1.0) * 2.0**_exponents, _round, _powers, _tiny)
"""Non-negative numbers at most one, of every order of magnitude."""

ANYTHING = _table(np.append(_extreme, [np.nan, np.inf, -np.inf]), _uniform(-2.0, 2.0), _bits)
"""Any double at all."""

FINITE = _table(_extreme, _uniform(-2.0, 2.0), _bits[np.isfinite(_bits)])
"""Any number at all."""

LOSSES = _table(MASSES[: _CHOICES // 2], _uniform(0.0, 100.0))
MODERATE = _table(np.zeros(1), *(_uniform(-0.5, 0.5) for _ in range(7)))
MIXED = _table(*(_uniform(-1.0, 1.0) * scale for scale in (1e-300, 1e-12, 1e-3, 1.0, 50.0, 1e5, 1e300)))

anything = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-2.0, 2.0),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-310, 5e-324, 1e308]),
)
"""Any double at all."""

budgets = st.one_of(
    st.sampled_from([0.0, 1e-300, 1e-32, 1e-28, 1e-20, 1e-14, 1e-9, 1e-4, 0.01, 0.1, 0.7, 1e3, 1e300, np.inf]),
    st.floats(1e-12, 1.0),
)
"""Leakage budgets in nats, from perfect privacy to none."""


@st.composite
def arrays(draw: st.DrawFn, shape: tuple[int, ...], table: Array) -> Array:
    """Arrays of values of a table, from one draw of bytes: in most of them some entries, or all, equal the first."""
    size = math.prod(shape)
    drawn = np.frombuffer(draw(_bytes(2 * size + 2)), np.uint16)
    places = drawn[1:].copy()
    places[places < int(drawn[0]) - _CHOICES // 4] = places[0]
    return table[places].reshape(shape)


@cache
def _bytes(count: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=count, max_size=count)


@st.composite
def joints(draw: st.DrawFn, most: int = 3, outcomes: int = 5) -> Array:
    """Joint tensors p(x, y, z) [n, m, N] that sum to one, n and m up to `most`, N up to `outcomes`."""
    shape = draw(st.tuples(st.integers(1, most), st.integers(1, most), st.integers(1, outcomes)))
    raw = draw(arrays(shape, MASSES))
    if raw.sum() < 0.01:
        raw[draw(st.integers(0, shape[0] - 1)), 0, draw(st.integers(0, shape[2] - 1))] = 1.0
    return np.asarray(raw / raw.sum())


@st.composite
def problems(
    draw: st.DrawFn, budget: st.SearchStrategy[float] = budgets, most: int = 3, outcomes: int = 5, general: bool = True
) -> Problem:
    """Problems under a drawn budget; with `general`, sometimes any loss masses instead of the 0/1 loss of a joint."""
    joint = draw(joints(most, outcomes))
    if not general or draw(st.booleans()):
        return Problem.from_joint(joint, draw(budget))
    p_xz = joint.sum(axis=1)
    loss = draw(arrays(joint.shape[1:], LOSSES))
    return Problem(p_xz, loss * (p_xz.sum(axis=0) > 0.0), draw(budget))


@cache
def estimators(shape: tuple[int, int]) -> st.SearchStrategy[Array]:
    """Column-stochastic matrices [m, N]: vertices, even draws, and weights of every order of magnitude."""

    def normalised(raw: Array) -> Array:
        raw[0, raw.sum(axis=0) == 0.0] = 1.0
        raw = raw / raw.max(axis=0)
        return np.asarray(raw / raw.sum(axis=0))

    vertices = st.lists(st.integers(0, shape[0] - 1), min_size=shape[1], max_size=shape[1]).map(
        lambda labels: np.eye(shape[0])[:, labels]
    )
    return st.one_of(vertices, arrays(shape, MASSES).map(normalised))


@cache
def garbage(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """Arrays of any doubles: NaN, infinities, negative, huge, subnormal."""
    return arrays(shape, ANYTHING)


@cache
def finite_tilts(shape: tuple[int, int]) -> st.SearchStrategy[Any]:
    """Tilts [m, n]: moderate, of mixed orders of magnitude, or any numbers."""
    return st.one_of(arrays(shape, MODERATE), arrays(shape, MIXED), arrays(shape, FINITE))


@cache
def tilts(shape: tuple[int, int]) -> st.SearchStrategy[Any]:
    """Tilts [m, n]: moderate, of mixed orders of magnitude, or arbitrary doubles, NaN and infinities included."""
    return st.one_of(arrays(shape, MODERATE), arrays(shape, MIXED), garbage(shape))
