"""Linear programs in free MPS: names without spaces, numbers that read back as the same doubles.

The columns x0, x1, … and the rows e0, e1, … are those of `Program.linear_program` in their order.
Variables are at least 0 unless the section BOUNDS makes them free; no row needs a range.

Source: IBM, *Mathematical Programming System/360*, 1972, for the sections; HiGHS and CPLEX for the
free form.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.backends.exchange.preamble import Preamble
from discreet.backends.lowering import LinearProgram


def lines(form: LinearProgram, preamble: Preamble) -> Iterator[str]:
    """Yield the lines of the file."""
    yield from (f"* {line}" for line in preamble.lines())
    yield from (f"NAME {preamble.title}", "ROWS", " N cost")
    equations = (form.low == form.high).tolist()
    yield from (f" {'E' if exact else 'L'} e{row}" for row, exact in enumerate(equations))
    yield "COLUMNS"
    columns = form.matrix.tocsc()
    cost = form.cost.tolist()
    starts = columns.indptr.tolist()
    rows = columns.indices.tolist()
    values = columns.data.tolist()
    for column, price in enumerate(cost):
        own = range(starts[column], starts[column + 1])
        if price or not own:  # a column without entries still has to be named
            yield f" x{column} cost {price!r}"
        yield from (f" x{column} e{rows[k]} {values[k]!r}" for k in own)
    yield "RHS"
    for row in np.flatnonzero(form.high).tolist():
        yield f" RHS e{row} {float(form.high[row])!r}"
    yield "BOUNDS"
    yield from (
        f" FR BOUND x{column}" for column in np.flatnonzero(np.isneginf(form.least)).tolist()
    )
    yield "ENDATA"
