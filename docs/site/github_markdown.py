"""Markdown as GitHub reads it, with formulas as MathML.

The pages of docs/ are read on GitHub too, so the site must parse them in the same way:
CommonMark with tables, anchors of headings as GitHub makes them, formulas between dollars.
markdown-it-py parses that; Pygments colours code; `formulas` turns TeX into MathML, which browsers draw without a script or a
network.

`{#name}` at the end of a heading gives it that anchor, and `{#name data-search-exclude}` also keeps
its section out of the search; only generated pages use them.

Source: CommonMark 0.31, https://spec.commonmark.org.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Sequence
from typing import Any

from formulas import formula
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_by_name
from pygments.util import ClassNotFound

_ANCHOR = re.compile(r"\s*\{#([\w.-]+)( data-search-exclude)?\}$")
_BESIDE = re.compile(
    r"\(?<math [^>]*inline(?:(?!</math>).)*</math>[.,;:!?)]+|\(<math "
    r"[^>]*inline(?:(?!</math>).)*</math>"
)
"""A formula, or a piece of one, with adjacent punctuation, which browsers would otherwise put at
the beginning or the end of a line.
"""
LONG_NAME = 24
"""Characters of code from which on a line may be broken inside it, after an underscore."""
_PAGE = re.compile(r"^(?![a-z]+:|//)([^#?]*)\.(?:md|ipynb)(?=$|[#?])")


def slug(heading: str, taken: set[str]) -> str:
    """The anchor that GitHub gives a heading; of equal ones the later are numbered. Adds it to
    `taken`.
    """
    base = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
    name = base
    count = 0
    while name in taken:
        count += 1
        name = f"{base}-{count}"
    taken.add(name)
    return name


def coloured(code: str, language: str, _attributes: str = "") -> str:
    """Lines of code, with their tokens in spans."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False) if language else TextLexer(stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    inner = highlight(code, lexer, HtmlFormatter(nowrap=True))
    name = html.escape(language or "text")
    return f'<pre class="language-{name} highlight"><code>{inner}</code></pre>\n'


def _words(token: Token) -> str:
    """The text of a heading without marks."""
    return "".join(
        child.content
        for child in token.children or ()
        if child.type in ("text", "code_inline", "math_inline")
    )


def _headings(tokens: Sequence[Token]) -> list[dict[str, Any]]:
    """Give each heading its anchor, and the headings as the tree that Python-Markdown calls
    `toc_tokens`.
    """
    taken: set[str] = set()
    top: list[dict[str, Any]] = []
    open_: list[dict[str, Any]] = []
    for opening, inline in itertools.pairwise(tokens):
        if opening.type != "heading_open":
            continue
        last = inline.children[-1] if inline.children else None
        stated = _ANCHOR.search(last.content) if last is not None and last.type == "text" else None
        if stated and last is not None:
            last.content = last.content[: stated.start()]
        text = _words(inline)
        name = stated[1] if stated else slug(text, taken)
        opening.attrSet("id", name)
        if stated and stated[2]:
            opening.attrSet("data-search-exclude", "")
        link = Token(
            "html_inline",
            "",
            0,
            content=(f'<a class="headerlink" href="#{name}" title="Link to this section">¶</a>'),
        )
        inline.children = [*(inline.children or ()), link]
        level = int(opening.tag[1])
        short = text.rpartition(".")[2] if stated and level > 2 else ""  # members under their class
        item = {
            "level": level,
            "id": name,
            "name": text,
            "html": html.escape(text),
            "data-toc-label": short,
            "children": [],
        }
        while open_ and open_[-1]["level"] >= level:
            open_.pop()
        (open_[-1]["children"] if open_ else top).append(item)
        open_.append(item)
    return top


def _linked(target: str) -> str:
    """Links to pages are links to what they become."""
    return _PAGE.sub(lambda found: re.sub(r"(^|/)README$", r"\1index", found[1]) + ".html", target)


def parser() -> MarkdownIt:
    """The parser with all that GitHub's pages use here."""
    found = MarkdownIt("commonmark", {"highlight": coloured}).enable(["table", "strikethrough"])
    # With allow_digits=False the plugin takes the last character of a text for the one before its
    # first.
    dollarmath_plugin(found, allow_space=False, double_inline=True)

    def inline(_: RendererHTML, tokens: Sequence[Token], index: int, *rest: Any) -> str:
        return formula(tokens[index].content, displayed=tokens[index].type == "math_inline_double")

    def block(_: RendererHTML, tokens: Sequence[Token], index: int, *rest: Any) -> str:
        return (
            '<div class="formula" '
            f'tabindex="0">{formula(tokens[index].content, displayed=True)}</div>\n'
        )

    def code(_: RendererHTML, tokens: Sequence[Token], index: int, *rest: Any) -> str:
        words = html.escape(tokens[index].content)
        if len(words) > LONG_NAME:
            words = re.sub(r"(?<=\w)_(?=\w)", "_<wbr>", words)
        return f"<code>{words}</code>"

    found.add_render_rule("code_inline", code)
    for kind in ("math_inline", "math_inline_double"):
        found.add_render_rule(kind, inline)
    found.add_render_rule("math_block", block)
    return found


def rendered(source: str) -> tuple[str, list[dict[str, Any]]]:
    """A page as HTML, and its headings as a tree."""
    reader = parser()
    environment: dict[str, Any] = {}
    tokens = reader.parse(source, environment)
    headings = _headings(tokens)
    for token in (child for outer in tokens for child in (outer.children or ())):
        for name in ("href", "src"):
            if name in token.attrs:
                token.attrSet(name, _linked(str(token.attrs[name])))
    page = reader.renderer.render(tokens, reader.options, environment)
    return _BESIDE.sub(r'<span class="unbroken">\g<0></span>', page), headings
