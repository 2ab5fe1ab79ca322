"""Pages as one HTML file that loads nothing.

`document` puts every page of the project together. A content security policy forbids every address
and allows only the script of the page itself, by its SHA-256. `html` writes the parts of a page.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib.resources import files

from discreet.problems.provenance import version_of
from discreet.showing.figures import Figure
from discreet.showing.plane import DARK, LIGHT
from discreet.showing.svg import LOOK_STYLE, svg
from discreet.showing.values import Facts, OneOf, Part, Section, Sentences, Table, Toned

MARK = "made by discreet report"
"""The mark at the top of a page."""


def document(
    title: str,
    *,
    heading: str = "",
    lead: str,
    body: str,
    footer: str,
    mark: str = MARK,
    brand: str = "discreet",
    script: str = "",
) -> str:
    """Return a whole page as HTML.

    Lead, body and footer are HTML. Without a script the page has none, and its theme is the system's.
    """
    light, dark = (
        "".join(f"--t{k}:{colour};" for k, colour in enumerate(each)) for each in (LIGHT, DARK)
    )
    dark = f"{dark}color-scheme:dark;{_asset('dark.css').strip()}"
    style = (
        f"{_asset('page.css')}{LOOK_STYLE}:root{{{light}}}@media screen{{:root[data-theme=dark]{{{dark}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme]){{{dark}}}}}}}\n"
    )
    allowed = "style-src 'unsafe-inline'"
    button = theme = element = ""
    if script:
        allowed = f"style-src {_hash(style)}; script-src {_hash(script)}"
        button = '<button type="button" id="theme"></button>'
        theme = ' data-theme="light"'
        element = f"<script>{script}</script>"
    parts = {
        "THEME": theme,
        "MARK": mark,
        "POLICY": f"default-src 'none'; base-uri 'none'; form-action 'none'; {allowed}",
        "TITLE": escape(title),
        "STYLE": style,
        "BRAND": f"{brand}</p>{button}",
        "HEADING": escape(heading or title),
        "LEAD": lead,
        "FOOTER": f"{footer}<p>Made by discreet {version_of('discreet')}.</p>",
        "SCRIPT": element,
        "BODY": body,
    }
    text = _asset("template.html")
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part, 1)
    return text


def html(parts: Iterable[Part | None], draw: Callable[[Figure], str] | None = None) -> str:
    """The parts one below the other.

    draw   writes a figure; by default as a drawing that does not change
    """
    return "".join(_part(each, draw or _drawing) for each in parts if each)


def table(value: Table) -> str:
    """A table that scrolls if it is too wide; the first cell of a line is its heading."""
    styles = ["text" if value.numbers and name not in value.numbers else "" for name in value.heads]
    head = "".join(
        f'<th scope="col"{_style(style)}>{escape(words)}</th>'
        for words, style in zip(value.heads, styles, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row">{_breakable(first)}</th>{_cells(cells, styles[1:])}</tr>'
        for first, *cells in value.lines
    )
    label = escape(value.title)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">'
        f'<table class="figures"><caption class="hidden">{label}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cells(words: Sequence[str], styles: Sequence[str]) -> str:
    return "".join(
        f"<td{_style(style, cell)}>{escape(cell)}</td>"
        for cell, style in zip(words, styles, strict=True)
    )


def _style(style: str, words: str = "") -> str:
    """The classes of an element: a style if there is one, and the tone of its words."""
    tone = words.tone if isinstance(words, Toned) else ""
    classes = " ".join(filter(None, (style, tone)))
    return f' class="{classes}"' if classes else ""


def _breakable(words: str) -> str:
    """Words that may be broken after a colon or an equals sign, as in conic:solver=scs."""
    return re.sub(r"([:=])(?=\S)", r"\1<wbr>", escape(words))


def cards(facts: Facts) -> str:
    """The few numbers at the top of a page, or a list of facts."""
    return _facts(facts, "cards")


def _part(part: Part, draw: Callable[[Figure], str]) -> str:
    match part:
        case Section(title, parts):
            name = re.sub(r"\W+", "-", title.lower())
            return f'<section><h2 id="{name}">{escape(title)}</h2>{html(parts, draw)}</section>'
        case OneOf():
            return html(part.sections[0].parts, draw)
        case Table(title, folded=True):
            return f"<details><summary>{escape(title)}</summary>{table(part)}</details>"
        case Table(title):
            heading = f"<h3>{escape(title)}</h3>" * bool(title)
            return f"{heading}{_aside(part.caption)}{table(part)}"
        case Facts():
            return _facts(part, "facts")
        case Figure():
            return draw(part)
        case Sentences(lines):
            items = "".join(f"<li>{escape(line)}</li>" for line in lines)
            return f'<ul class="verdict">{items}</ul>'
        case _:
            return _aside(part)


def _drawing(figure: Figure) -> str:
    words = f"<strong>{escape(figure.title)}</strong><span>{escape(figure.subtitle)}</span>"
    drawing = svg(figure, titled=False)
    return f"<figure><figcaption>{words}</figcaption>{drawing}</figure>{_aside(figure.description)}"


def _aside(words: str) -> str:
    return f'<p class="aside">{escape(words)}</p>' * bool(words)


def _facts(facts: Facts, style: str) -> str:
    lines = "".join(
        f"<div{_style('', words)}><dt>{escape(name)}</dt><dd>{escape(words)}</dd></div>"
        for name, words in facts.lines
    )
    return f'<dl class="{style}">{lines}</dl>'


def _asset(name: str) -> str:
    return files("discreet.showing").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
