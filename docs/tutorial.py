"""Runs the cells of tutorial.ipynb and stores what they show: `python docs/tutorial.py`; extras
people, onnx.

The cells share one namespace and an empty folder. The output of a cell is stored as text. The value
of its last line is stored as text and, if it has a card, a table or a figure, as HTML. A test runs
the cells and compares the texts.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parent / "tutorial.ipynb"

Outputs = list[dict[str, Any]]


def run(source: str, names: dict[str, Any], number: int) -> Outputs:
    """Run a cell of code in a namespace, and return its outputs."""
    tree = ast.parse(source)
    said = io.StringIO()
    outputs = Outputs()
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(said):
        exec(compile(tree, f"cell {number}", "exec"), names)
        value = None if last is None else eval(compile(last, f"cell {number}", "eval"), names)
    if said.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines(said.getvalue())})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = lines(value._repr_html_())
        outputs.append(
            {
                "output_type": "execute_result",
                "execution_count": number,
                "data": data,
                "metadata": {},
            }
        )
    return outputs


def lines(text: str) -> list[str]:
    """Return text as notebooks store it: a list of lines."""
    return text.splitlines(keepends=True)


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook with the current outputs of its cells."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    number = 0
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    number += 1
                    shown = run("".join(cell["source"]), names, number)
                    cell = {**cell, "execution_count": number, "outputs": shown}
                cells.append(cell)
        finally:
            os.chdir(before)
    return {**notebook, "cells": cells}


if __name__ == "__main__":
    made = executed(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    NOTEBOOK.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
