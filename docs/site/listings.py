"""Files of code as pages with numbered, linkable lines, and folders as lists of them.

They are neither in the navigation nor in the search: the reference and the documentation link
to their lines.
"""

from __future__ import annotations

import html
import posixpath
from collections.abc import Iterable
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>{title} - discreet</title><link rel="stylesheet" href="{top}assets/listing.css"></head>
<body><header><a href="{top}index.html">discreet</a> <h1>{title}</h1></header>
<main>{body}</main></body></html>
"""


def _page(path: Path, place: str, body: str) -> str:
    top = posixpath.relpath(".", posixpath.dirname(place)) + "/"
    return _PAGE.format(title=html.escape(path.as_posix()), top=top, body=body)


def listing(path: Path, text: str) -> str:
    """The page of a file; line k has the anchor Lk."""
    try:
        lexer = get_lexer_for_filename(path.name, stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    lines = highlight(text, lexer, HtmlFormatter(nowrap=True)).splitlines()
    numbered = "\n".join(
        f'<span id="L{k}"><a href="#L{k}">{k}</a>{line}</span>' for k, line in enumerate(lines, 1)
    )
    return _page(
        path,
        f"source/{path.as_posix()}.html",
        (f'<pre class="highlight" tabindex="0"><code>{numbered}</code></pre>'),
    )


def folder_listing(path: Path, members: Iterable[tuple[str, str]]) -> str:
    """The page of a folder; members: names and links."""
    items = "\n".join(
        f'<li><a href="{html.escape(link)}">{html.escape(name)}</a></li>' for name, link in members
    )
    return _page(path, f"source/{path.as_posix()}/index.html", f"<ul>{items}</ul>")
