"""Sums in twice the working precision over strips of outcomes, compiled by numba.

The outcomes of a strip are dealt out to `PLACES` accumulators, each a double-double number whose high part takes every
number without error, the error going to the low part. A loop over places is one over independent numbers, and each
accumulator is read and written once in a strip. After `TILE` strips they are put together and added to the total, which is
normalised each time.

With k = 2^9 numbers ≥ 0 to an accumulator and S their sum, its low part adds up k errors of at most uS, u = 2^-53, so it is
off by less than k²u²S = 2^-88 S; putting 16 of them together costs less than 2^-92 S, and adding to the total 2^-104 of it.
So the sums of a chunk of up to 2^30 outcomes are good to 2^-86, relative, also those of a label that is rare.

Source: T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26 (2005), algorithm Sum2.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from discreet.problems.numerics.compiled import jit, once

__all__ = ["PLACES", "STRIP", "TILE", "compiled_sums"]

STRIP = 128
"""Outcomes in a strip: its buffers stay in the nearest cache."""

PLACES = 16
"""Accumulators of one sum."""

TILE = 64
"""Strips after which they are put together."""

_inlined = partial(jit, inline=True)


@once
def compiled_sums() -> tuple[Any, Any, Any]:
    """Sums in accumulators: of a row, of what has one label in it, and all of them put together."""
    places, rows, index = PLACES, STRIP // PLACES, np.uint64

    @_inlined
    def add(data, start, high, low, s):  # type: ignore[no-untyped-def]
        for place in range(places):
            k = index(place)
            at = index(s * places) + k
            total, rest = high[at], low[at]
            for row in range(rows):
                value = data[index(start) + index(row * places) + k]
                added = total + value
                back = added - total
                rest += (total - (added - back)) + (value - back)
                total = added
            high[at], low[at] = total, rest

    @_inlined
    def add_where(data, start, label, own, high, low, s):  # type: ignore[no-untyped-def]
        for place in range(places):
            k = index(place)
            at = index(s * places) + k
            total, rest = high[at], low[at]
            for row in range(rows):
                here = index(row * places) + k
                value = data[index(start) + here] if label[here] == own else 0.0
                added = total + value
                back = added - total
                rest += (total - (added - back)) + (value - back)
                total = added
            high[at], low[at] = total, rest

    @jit
    def gather(high, low, sums):  # type: ignore[no-untyped-def]
        """Empty the accumulators into sums [·, 2]."""
        for s in range(sums.shape[0]):
            total = rest = 0.0
            for k in range(s * places, (s + 1) * places):
                added = total + high[k]
                back = added - total
                rest += ((total - (added - back)) + (high[k] - back)) + low[k]
                total = added
                high[k] = low[k] = 0.0
            added = sums[s, 0] + total
            back = added - sums[s, 0]
            rest = ((sums[s, 0] - (added - back)) + (total - back)) + (sums[s, 1] + rest)
            sums[s, 0] = added + rest
            sums[s, 1] = rest - (sums[s, 0] - added)

    return add, add_where, gather
