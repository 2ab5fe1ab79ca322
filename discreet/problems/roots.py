"""Bisection of many brackets at the same time, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.double_double import Array


def bisect(
    before: Callable[[Array], NDArray[np.bool_]], low: Any, high: Any
) -> tuple[Array, Array]:
    """Halve brackets [low, high] until no double lies between their ends; `before` returns True for
    points before the change.
    """
    low = np.asarray(low, dtype=np.float64)
    high = np.asarray(high, dtype=np.float64)
    for _ in range(200):  # enough except near 0, where doubles are dense
        middle = midpoints(low, high)
        inside = (low < middle) & (middle < high)
        if not inside.any():
            break
        left = before(np.where(inside, middle, low))
        low = np.where(inside & left, middle, low)
        high = np.where(inside & ~left, middle, high)
    return low, high


def midpoints(low: Array, high: Array) -> Array:
    """Return the midpoints of finite intervals: arithmetic, or geometric if the ends have the same
    sign and differ by more than a factor of four.
    """
    with np.errstate(all="ignore"):
        far = (low * high > 0.0) & (
            np.maximum(np.abs(low), np.abs(high)) > 4.0 * np.minimum(np.abs(low), np.abs(high))
        )
        geometric = np.sign(low) * np.sqrt(np.abs(low)) * np.sqrt(np.abs(high))
    return np.asarray(np.where(far, geometric, 0.5 * low + 0.5 * high))
