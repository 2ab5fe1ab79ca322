"""What is shown, as values: words with a tone, facts, tables, and the sections of a page.

A value says nothing about a medium. The renderers next to this file write it for a terminal, a
notebook, Markdown, HTML and JSON.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from discreet.showing import numerals
from discreet.showing.figures import Figure

GOOD = "good"
UNSURE = "unsure"
BAD = "bad"
PLAIN = "plain"
"""The tones of words."""


class Toned(str):
    """Words with one of the tones; media without colours show only the words."""

    tone: str

    def __new__(cls, words: str, tone: str) -> Toned:
        made = super().__new__(cls, words)
        made.tone = tone
        return made


@dataclass(frozen=True)
class Facts:
    """Pairs of a name and its words; a number has its unit next to it."""

    title: str
    lines: Sequence[tuple[str, str]]

    def __bool__(self) -> bool:
        return bool(self.lines)


@dataclass(frozen=True)
class Table:
    """Lines under headings, which name the unit. The first cell of a line names the line.

    numbers   headings of the columns of numbers, which are aligned to the right and never folded
    spare     headings of the columns that may be left out where there is no room, least important
              first
    folded    the reader opens the table; a medium that cannot fold leaves it out
    """

    title: str
    heads: Sequence[str]
    lines: Sequence[Sequence[str]]
    numbers: Collection[str] = ()
    spare: Sequence[str] = ()
    caption: str = ""
    folded: bool = False

    def __bool__(self) -> bool:
        return bool(self.lines)

    @classmethod
    def of(
        cls, title: str, columns: Mapping[str, str], records: Iterable[Mapping[str, Any]]
    ) -> Table:
        """The table of records of plain values; `columns` maps each heading to the key of its
        values. A column of numbers is one without a cell that begins with a letter.
        """
        lines = [
            [str(numerals.in_words(record[key])) for key in columns.values()] for record in records
        ]
        numbers = [
            head
            for k, head in enumerate(columns)
            if not any(line[k][:1].isalpha() for line in lines)
        ]
        return cls(title, tuple(columns), lines, numbers)


@dataclass(frozen=True)
class Sentences:
    """Sentences that are shown as a list."""

    lines: Sequence[str]

    def __bool__(self) -> bool:
        return bool(self.lines)


@dataclass(frozen=True)
class Section:
    """A title, and the parts below it. Parts that are empty or None are left out, as is a section
    without any.
    """

    title: str
    parts: Sequence[Part | None]

    def __bool__(self) -> bool:
        return any(self.parts)

    def figures(self) -> Iterator[Figure]:
        """The figures anywhere in the section, of a choice those of its first section."""
        for part in self.parts:
            match part:
                case Section():
                    yield from part.figures()
                case OneOf() if part:
                    yield from part.sections[0].figures()
                case Figure() if part:
                    yield part


@dataclass(frozen=True)
class OneOf:
    """Sections of which the reader chooses one; a medium without a choice shows the first.

    name    of the choice, in addresses
    label   what is chosen
    """

    name: str
    label: str
    sections: Sequence[Section]

    def __bool__(self) -> bool:
        return bool(self.sections)


Part: TypeAlias = "str | Facts | Table | Sentences | Figure | OneOf | Section"
"""A part of a page; a text is one paragraph or several."""
