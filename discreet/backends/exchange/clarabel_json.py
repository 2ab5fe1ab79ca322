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

from discreet.backends.cones import ConeProgram
from discreet.backends.exchange.preamble import Preamble
from discreet.measures.measure import Cone


def lines(form: ConeProgram, preamble: Preamble) -> Iterator[str]:
    """Yield the lines of the file, one for each key."""
    matrix, right = form.standard()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    count = form.cost.size
    rows = right.size
    whole = {
        "about": list(preamble.lines()),
        "P": _columns(count, count, [0] * (count + 1), [], []),
        "q": form.cost.tolist(),
        "A": _columns(
            rows, count, matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
        ),
        "b": right.tolist(),
        "cones": [{name: size[0] if size else []} for name, *size in clarabel_cones(form)],
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


def clarabel_cones(form: ConeProgram) -> Iterator[tuple[Any, ...]]:
    """Yield the cones of the rows of `ConeProgram.standard`: Clarabel's name, and its size if it
    has one.
    """
    yield "ZeroConeT", form.equations
    yield "NonnegativeConeT", form.signed + form.inequalities
    for block in form.blocks:
        if block.cone is Cone.POWER:
            yield "PowerConeT", block.power
        elif block.cone is Cone.QUADRATIC:
            yield "SecondOrderConeT", block.size
        else:
            yield ("ExponentialConeT",)
