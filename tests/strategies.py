"""Hypothesis strategies shared by the tests: problems with difficult masses, estimators, and garbage.

Masses range over all of double precision: ordinary, equal, zero, nearly one, and tiny down to subnormal. The arrays are
small, because the laws do not depend on size and the references compute with fractions. Strategies are cached by shape,
since Hypothesis validates each new one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

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
    "masses",
    "problems",
    "tilts",
]

characters = st.characters(exclude_categories=["Cs"])
"""All that UTF-8 encodes. That is also the default of `st.text`, which takes a second to try every code point first."""

masses = st.one_of(
    st.floats(0.01, 1.0),
    st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    st.floats(1e-300, 1.0),
    st.integers(-1074, 0).map(lambda exponent: 2.0**exponent),
    st.sampled_from([5e-324, 1e-310, 1e-300, 1e-30, 1e-15, 1.0 - 1e-15]),
)
"""Non-negative numbers at most one, of every order of magnitude."""

anything = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-2.0, 2.0),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-310, 5e-324, 1e308]),
)
"""Any double at all."""

finite = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-2.0, 2.0),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1e-310, 5e-324, 1e308]),
)
"""Any number at all."""

_losses = st.one_of(masses, st.floats(0.0, 100.0))

budgets = st.one_of(
    st.sampled_from([0.0, 1e-300, 1e-32, 1e-28, 1e-20, 1e-14, 1e-9, 1e-4, 0.01, 0.1, 0.7, 1e3, 1e300, np.inf]),
    st.floats(1e-12, 1.0),
)
"""Leakage budgets in nats, from perfect privacy to none."""


@cache
def arrays(shape: tuple[int, ...], elements: st.SearchStrategy[float]) -> st.SearchStrategy[Array]:
    """Arrays of doubles."""
    return hnp.arrays(np.float64, shape, elements=elements)


@st.composite
def joints(draw: st.DrawFn, most: int = 3, outcomes: int = 5) -> Array:
    """Joint tensors p(x, y, z) [n, m, N] that sum to one, n and m up to `most`, N up to `outcomes`."""
    shape = draw(st.tuples(st.integers(1, most), st.integers(1, most), st.integers(1, outcomes)))
    raw = draw(arrays(shape, masses))
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
    loss = draw(arrays(joint.shape[1:], _losses))
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
    return st.one_of(vertices, arrays(shape, masses).map(normalised))


@cache
def garbage(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """Arrays of any doubles: NaN, infinities, negative, huge, subnormal."""
    return arrays(shape, anything)


_moderate = st.floats(-0.5, 0.5)
_mixed = st.tuples(st.floats(-1.0, 1.0), st.sampled_from([1e-300, 1e-12, 1e-3, 1.0, 50.0, 1e5, 1e300])).map(
    lambda pair: pair[0] * pair[1]
)


@cache
def finite_tilts(shape: tuple[int, int]) -> st.SearchStrategy[Any]:
    """Tilts [m, n]: moderate, of mixed orders of magnitude, or any numbers."""
    return st.one_of(arrays(shape, _moderate), arrays(shape, _mixed), arrays(shape, finite))


@cache
def tilts(shape: tuple[int, int]) -> st.SearchStrategy[Any]:
    """Tilts [m, n]: moderate, of mixed orders of magnitude, or arbitrary doubles, NaN and infinities included."""
    return st.one_of(arrays(shape, _moderate), arrays(shape, _mixed), garbage(shape))
