"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["table"]


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table whose cells keep their words, whatever these hold."""
    cells = [list(heads), ["---"] * len(heads), *lines]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in cells)


def _cell(words: str) -> str:
    return words.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
