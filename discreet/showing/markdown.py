"""Sections of a page as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from discreet.showing.figures import Figure
from discreet.showing.values import Facts, OneOf, Part, Section, Sentences, Table


def markdown(parts: Iterable[Part | None], *, level: int = 1, stem: str = "") -> str:
    """The parts one below the other; each figure is a link to STEMname.svg.

    Texts and sentences are Markdown already. Cells of tables and words of facts are escaped.
    """
    shown = (_part(each, level, stem) for each in parts if each)
    return "\n\n".join(filter(None, shown))


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table; special characters in its cells are escaped."""
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _part(part: Part, level: int, stem: str) -> str:
    match part:
        case Section(title, parts):
            body = markdown(parts, level=level + 1, stem=stem)
            return f"{'#' * level} {title}\n\n{body}"
        case OneOf():
            return markdown(part.sections[0].parts, level=level, stem=stem)
        case Table(folded=True):
            return ""
        case Table(title):
            words = [f"{title}:" * bool(title), table(part.heads, part.lines), part.caption]
            return "\n\n".join(filter(None, words))
        case Facts(title, lines):
            return table((title, ""), lines)
        case Figure():
            return f"![{part.title}]({stem}{part.name}.svg)"
        case Sentences(lines):
            return "\n".join(f"- {line}" for line in lines)
        case _:
            return part


def _cell(words: str) -> str:
    escaped = words.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return escaped.replace("\n", " ")
