"""Builds every page as one file: template and style, and for the interactive page its scripts and data.

`document` builds every page of the project; `report_page` the interactive one. No address is loaded: a content security
policy forbids it, and allows only the script of the page itself, by its SHA-256.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from discreet.problems.errors import InputError
from discreet.problems.files.writing import check_output, marked
from discreet.problems.provenance import version_of
from discreet.reports.asv_results import AsvRecord
from discreet.reports.figure_svg import LOOK_STYLE
from discreet.reports.figures import DARK, LIGHT
from discreet.reports.html.data import cleaned, page_data
from discreet.reports.measurements import Measurement
from discreet.reports.outputs import replace_file

MARK = "made by discreet report"
"""The mark at the top of every page."""

IS_REPORT = marked(MARK)
"""Recognises a page."""

SCRIPTS = (
    "rows.js", "elements.js", "state.js", "figures.js", "claims.js", "growth.js", "profiles.js", "problems.js", "tables.js",
    "commits.js", "filters.js", "main.js",
)  # fmt: skip
"""The scripts in the order in which they are put together."""


def document(*, mark: str, brand: str, title: str, heading: str, lead: str, body: str, footer: str, script: str = "") -> str:
    """A whole page. Every part but the title is HTML; without a script the page has none, and its theme is the system's."""
    light, dark = ("".join(f"--t{k}:{colour};" for k, colour in enumerate(each)) for each in (LIGHT, DARK))
    dark = f"{dark}color-scheme:dark;{asset('dark.css').strip()}"
    style = (
        f"{asset('report.css')}{LOOK_STYLE}:root{{{light}}}@media screen{{:root[data-theme=dark]{{{dark}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme]){{{dark}}}}}}}\n"
    )
    allowed = f"style-src {_hash(style)}; script-src {_hash(script)}" if script else "style-src 'unsafe-inline'"
    parts = {
        "THEME": ' data-theme="light"' if script else "",
        "MARK": mark,
        "POLICY": f"default-src 'none'; base-uri 'none'; form-action 'none'; {allowed}",
        "TITLE": escape(title),
        "STYLE": style,
        "BRAND": f'{brand}</p><button type="button" id="theme"></button>' if script else f"{brand}</p>",
        "HEADING": heading,
        "LEAD": lead,
        "FOOTER": f"{footer}<p>Made by discreet {version_of('discreet')}.</p>",
        "SCRIPT": f"<script>{script}</script>" if script else "",
        "BODY": body,
    }
    text = asset("template.html")
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part, 1)
    return text


def report_page(
    rows: Sequence[Measurement], *, asv: Sequence[AsvRecord] = (), source: str = "", verdict: Sequence[str] = ()
) -> str:
    """The interactive page; equal rows give equal text in any order. Raises InputError without rows.

    source    where the rows come from, in words;   verdict   sentences that stand at the top
    """
    if not rows:
        raise InputError("there are no measurements to report; give the results of a discreet bench that has run")
    data, lines = page_data(cleaned(rows), asv, source)
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    held = f'<script type="application/json" id="data">{text}</script>'
    held += f'<script type="text/plain" id="lines">{chr(10).join(lines)}</script>'
    return document(
        mark=MARK,
        brand="discreet",
        title="discreet: every backend, measured",
        heading="Every backend, measured",
        lead=f'<p class="lead" id="lead"></p>{sentences(verdict)}<dl class="cards" id="cards"></dl>',
        body=asset("report.html") + held,
        footer="<p>Nothing is loaded from anywhere: rows, styles and scripts are in this file. Filters, hidden backends and "
        "the theme stand in the address, so that a view can be shared with the file.</p>",
        script='(() => {\n"use strict";\n' + "\n".join(asset(name) for name in SCRIPTS) + "})();\n",
    )


# -- pieces of pages -------------------------------------------------------------------------------------------------------


def sentences(told: Sequence[str]) -> str:
    """The most important sentences as a list; empty without any."""
    return f'<ul class="verdict">{"".join(f"<li>{escape(each)}</li>" for each in told)}</ul>' if told else ""


def table(caption: str, heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table that scrolls if it is too wide; the first cell of a line is its heading."""
    head = "".join(f'<th scope="col">{escape(words)}</th>' for words in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
        for first, *cells in lines
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}"><table class="figures">'
        f'<caption class="hidden">{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody>'
        "</table></div>"
    )


def folded(words: str, inside: str) -> str:
    """Content that the reader can open."""
    return f"<details><summary>{escape(words)}</summary>{inside}</details>"


def write_report(
    rows: Sequence[Measurement],
    path: str | Path,
    *,
    asv: Sequence[AsvRecord] = (),
    source: str = "",
    overwrite: bool = False,
) -> Path:
    """Write the page to a file, all or nothing; its path.

    Raises InputError without rows, FileError for a file that is there and was not made here (unless it is to be
    overwritten), and for a place that cannot be written; then nothing has changed.
    """
    target = check_output(path, IS_REPORT, overwrite=overwrite)
    return replace_file(target, report_page(rows, asv=asv, source=source))


def asset(name: str) -> str:
    """The text of a file of this folder."""
    return files("discreet.reports.html").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
