"""The JSON format in which Clarabel saves and loads a problem: min q·x with A x + slack = b, the
slacks in cones.

A key of our own, `about`, contains the text that the other formats have as a comment; Clarabel
ignores it. Settings are left to the reader.

Source: `DefaultSolver::load_from_file` of Clarabel 0.9 and later (P. J. Goulart, Y. Chen,
arXiv:2405.12762).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from discreet.backends.cones import ConeBlock, ConeProgram
from discreet.backends.exchange.preamble import Preamble
from discreet.measures.measure import Cone


def lines(form: ConeProgram, preamble: Preamble) -> Iterator[str]:
    """Yield the lines of the file, one for each key."""
    matrix, right = form.standard()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    count = form.cost.size
    rows = right.size
    linear = [{"ZeroConeT": form.equations}, {"NonnegativeConeT": form.signed + form.inequalities}]
    whole = {
        "about": list(preamble.lines()),
        "P": _columns(count, count, [0] * (count + 1), [], []),
        "q": form.cost.tolist(),
        "A": _columns(
            rows, count, matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
        ),
        "b": right.tolist(),
        "cones": [*linear, *map(_cone, form.blocks)],
        "settings": {},
    }
    last = len(whole) - 1
    for k, (key, value) in enumerate(whole.items()):
        text = f'"{key}": {json.dumps(value, allow_nan=False)}'
        yield ("{" if k == 0 else "") + text + ("}" if k == last else ",")


def _columns(
    rows: int, columns: int, starts: list[int], places: list[int], values: list[float]
) -> dict[str, Any]:
    return {"m": rows, "n": columns, "colptr": starts, "rowval": places, "nzval": values}


def _cone(block: ConeBlock) -> dict[str, Any]:
    if block.cone is Cone.POWER:
        return {"PowerConeT": block.power}
    return (
        {"ExponentialConeT": []} if block.cone is Cone.ENTROPY else {"SecondOrderConeT": block.size}
    )
