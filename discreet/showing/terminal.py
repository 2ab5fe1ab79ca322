"""Facts and tables for a terminal of any width, by rich.

A table always keeps its shape: every number fits on one line, and no word is cut. In a narrow
terminal the spare columns are left out, then the first column is folded, then the last columns are
left out; a line below names those that are.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich import table as rich
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.text import Text

from discreet.showing.values import BAD, GOOD, PLAIN, UNSURE, Facts, Table, Toned

_PROSE = 24  # columns without which sentences are hard to read
_BETWEEN = 3  # columns from one cell to the next
_STYLES = {GOOD: "green", UNSURE: "yellow", BAD: "bold red", PLAIN: "dim"}


@dataclass(frozen=True)
class Shown:
    """A value, as a console prints it."""

    value: Facts | Table | str

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The lines of the value, and an empty one after facts and tables."""
        match self.value:
            case str(words):
                yield words
            case Table() as table:
                yield from _with_title(table.title, _table(table, options.max_width))
            case Facts() as facts:
                yield from _with_title(facts.title, _facts(facts, options.max_width))


def _with_title(title: str, lines: Iterable[RenderableType]) -> Iterator[RenderableType]:
    if title:
        yield Text(title, "bold")
    yield from lines
    yield Text("")


def _facts(facts: Facts, width: int) -> Iterator[RenderableType]:
    names = _longest(name for name, _ in facts.lines)
    word = _longest(word for _, words in facts.lines for word in words.split())
    if names + word + _BETWEEN + 4 <= width:
        yield Text("")
        grid = rich.Table.grid(padding=(0, _BETWEEN, 0, 0))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column()
        for name, words in facts.lines:
            grid.add_row(_text(name), _text(words))
        yield Padding(grid, (0, 0, 0, 2))
        return
    for name, words in facts.lines:
        yield Padding(Text(name, "bold"), (0, 0, 0, 2))
        yield Padding(_text(words), (0, 0, 0, 4))


def _table(table: Table, width: int) -> Iterator[RenderableType]:
    heads = list(table.heads)
    gone = list[str]()
    for head in dict.fromkeys([*table.spare, *reversed(table.heads[1:])]):
        folded = head not in table.spare
        if _least_width(table, heads, folded) > width:
            heads.remove(head)
            gone.append(head)
    yield _grid(table, heads, width)
    if gone:
        yield Text(f"  A wider terminal also shows: {'; '.join(gone)}.", "dim")
    if table.caption:
        yield Text(table.caption, "dim")


def _grid(table: Table, heads: Sequence[str], width: int) -> rich.Table:
    grid = rich.Table(box=box.SIMPLE_HEAD if table.title else None)
    folded = _least_width(table, heads, folded=False) > width
    room = width - _least_width(table, heads, folded)
    for head in heads:
        least = _column_width(table, head, folded)
        wider = cell_len(head) - least
        if 0 < wider <= room:  # the heading fits on one line
            least += wider
            room -= wider
        first = head == table.heads[0]
        grid.add_column(
            textwrap.fill(head, least),
            style="bold" if first else "",
            justify="right" if head in table.numbers else "left",
            no_wrap=(first and not folded) or head in table.numbers,
            min_width=least,
        )
    shown = [table.heads.index(head) for head in heads]
    for line in table.lines:
        grid.add_row(*(_text(line[k]) for k in shown))
    return grid


def _column_width(table: Table, head: str, folded: bool) -> int:
    """The width of a column below which a cell would be cut or hard to read.

    folded: the first column may be folded like the columns of text
    """
    cells = [line[table.heads.index(head)] for line in table.lines]
    full = _longest(cells)
    if head not in table.numbers and (folded or head != table.heads[0]):
        full = max(_longest(word for cell in cells for word in cell.split()), min(full, _PROSE))
    return max(full, _longest(head.split()))


def _least_width(table: Table, heads: Sequence[str], folded: bool) -> int:
    return sum(_column_width(table, head, folded) + _BETWEEN for head in heads) + 1


def _text(words: str) -> Text:
    """Words in the style of their tone, if they have one."""
    return Text(str(words), _STYLES[words.tone] if isinstance(words, Toned) else "")


def _longest(words: Iterable[str]) -> int:
    return max(map(cell_len, words), default=0)
