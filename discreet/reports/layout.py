"""How facts and lists of things fit a terminal of any width, for rich.

A list is a table if every number fits on one line and no word is cut. In a narrower terminal columns that may go leave, and
a line says which. If that is not enough, the rows stack: the name of a thing, and below it its values beside their headings.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

Cell = str | Text

_PROSE = 24  # columns without which sentences are hard to read
_BETWEEN = 3  # columns from one cell to the next


@dataclass(frozen=True)
class Listing:
    """Things under headings, a line each, its name first. Words are shown as they are; what has a colour is a `Text`.

    numbers   headings of columns of numbers, which are never folded
    spare     headings of columns that may go, the first to go first
    ruled     whether there is a line under the headings
    """

    title: str
    heads: tuple[str, ...]
    lines: tuple[tuple[Cell, ...], ...]
    numbers: frozenset[str] = frozenset()
    spare: tuple[str, ...] = ()
    caption: str = ""
    ruled: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Title, table or stacked rows, caption, an empty line."""
        columns, gone = list(range(len(self.heads))), list[str]()
        for head in self.spare:
            if self._least_width(columns) > options.max_width:
                columns.remove(self.heads.index(head))
                gone.append(head)
        fits = self._least_width(columns) <= options.max_width
        if self.title:
            yield Text(self.title, "bold")
        yield from [self._table(columns, options.max_width)] if fits else self._stacked(options.max_width)
        if fits and gone:
            yield Text(f"  A wider terminal also shows: {'; '.join(gone)}.", "dim")
        if self.caption:
            yield Text(self.caption, "dim")
        yield Text("")

    def _words(self, column: int) -> list[str]:
        return [str(line[column]) for line in self.lines]

    def _rigid(self, column: int) -> bool:
        return column == 0 or self.heads[column] in self.numbers

    def _least(self, column: int) -> int:
        """The width below which a cell would be cut or hard to read."""
        cells = self._words(column)
        full, word = _longest(cells), _longest(word for cell in cells for word in cell.split())
        own = full if self._rigid(column) else max(word, min(full, _PROSE))
        return max(own, _longest(self.heads[column].split()))

    def _least_width(self, columns: Sequence[int]) -> int:
        return sum(self._least(k) + _BETWEEN for k in columns) + 1

    def _table(self, columns: Sequence[int], width: int) -> Table:
        table = Table(box=box.SIMPLE_HEAD if self.ruled else None)
        spare = width - self._least_width(columns)
        for k in columns:
            least, full = self._least(k), cell_len(self.heads[k])
            if least < full <= least + spare:  # a heading on one line where there is room
                least, spare = full, spare - (full - least)
            table.add_column(
                textwrap.fill(self.heads[k], least),
                style="bold" if k == 0 else "",
                justify="right" if self.heads[k] in self.numbers else "left",
                no_wrap=self._rigid(k),
                min_width=least,
            )
        for line in self.lines:
            table.add_row(*(line[k] for k in columns))
        return table

    def _stacked(self, width: int) -> Iterator[RenderableType]:
        """Each row as its name and pairs of heading and value, as many beside one another as fit; sentences stand alone."""
        pairs = range(1, len(self.heads))
        alone = [k for k in pairs if not self._rigid(k) and _longest(self._words(k)) > 2 * _PROSE]
        short = [k for k in pairs if k not in alone]
        sizes = [cell_len(self.heads[k]) + 1 + _longest(self._words(k)) for k in short]
        across = max((n for n in range(2, len(short) + 1) if sum(_slots(sizes, n)) + _BETWEEN * n + 4 <= width), default=1)
        for line in self.lines:
            yield Text("  ").append_text(_styled(line[0], "bold"))
            few, long = ([(self.heads[k], line[k]) for k in which if str(line[k])] for which in (short, alone))
            if across == 1:
                yield _beside([*few, *long], "dim")
                continue
            grid = Table.grid(padding=(0, _BETWEEN, 0, 0))
            for size in _slots(sizes, across):
                grid.add_column(min_width=size)
            for start in range(0, len(few), across):
                grid.add_row(*(_pair(*each) for each in few[start : start + across]))
            yield Padding(grid, (0, 0, 0, 4))
            yield from (Padding(_pair(*each), (0, 0, 0, 4)) for each in long)


def facts(title: str, lines: Iterable[tuple[Cell, Cell]]) -> Facts:
    """A line per fact: its name and its words."""
    return Facts(title, tuple(lines))


def listed(
    title: str,
    heads: Sequence[str],
    lines: Iterable[Sequence[Cell]],
    *,
    right: Collection[str] = (),
    spare: Sequence[str] = (),
    caption: str = "",
) -> Listing:
    """A line per thing under headings, its name first; see `Listing`. The columns named in `right` hold numbers."""
    return Listing(title, tuple(heads), tuple(map(tuple, lines)), frozenset(right), tuple(spare), caption)


@dataclass(frozen=True)
class Facts:
    """Names, and beside or below them their words."""

    title: str
    lines: tuple[tuple[Cell, Cell], ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Title, lines, an empty line."""
        yield Text(self.title, "bold")
        names = _longest(str(name) for name, _ in self.lines)
        word = _longest(word for _, words in self.lines for word in str(words).split())
        if names + word + _BETWEEN + 4 <= options.max_width:
            yield Text("")
            yield _beside(self.lines, "bold", 2)
        else:
            for name, words in self.lines:
                yield Text("  ").append_text(_styled(name, "bold"))
                yield Padding(words, (0, 0, 0, 4))
        yield Text("")


def _beside(lines: Iterable[tuple[Cell, Cell]], style: str, indent: int = 4) -> Padding:
    """Names in a style, and words beside them."""
    grid = Table.grid(padding=(0, _BETWEEN, 0, 0))
    grid.add_column(style=style, no_wrap=True)
    grid.add_column()
    for line in lines:
        grid.add_row(*line)
    return Padding(grid, (0, 0, 0, indent))


def _pair(head: str, cell: Cell) -> Text:
    return Text(f"{head} ", "dim").append_text(_styled(cell, "not dim"))


def _styled(cell: Cell, style: str) -> Text:
    """A cell in a style, unless it has one."""
    return cell if isinstance(cell, Text) else Text(cell, style)


def _longest(words: Iterable[str]) -> int:
    return max((cell_len(each) for each in words), default=0)


def _slots(sizes: Sequence[int], across: int) -> list[int]:
    """Widths of the columns of pairs, so many in a line."""
    return [max(sizes[start::across]) for start in range(across)]
