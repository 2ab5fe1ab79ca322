"""The interactive page of results: the template of all pages, its scripts and its
data in one file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from discreet.problems.errors import InputError
from discreet.problems.files.writing import check_output, marked
from discreet.reports.asv_results import AsvRecord
from discreet.reports.html.data import cleaned, page_data
from discreet.reports.measurements import Measurement
from discreet.reports.outputs import replace_file
from discreet.showing.page import MARK, document, html
from discreet.showing.values import Sentences

IS_REPORT = marked(MARK)
"""Recognises a page."""

SCRIPTS = (
    "rows.js", "elements.js", "state.js", "figures.js", "claims.js", "growth.js", "profiles.js",
    "problems.js", "tables.js", "commits.js", "filters.js", "main.js",
)  # fmt: skip
"""The scripts in the order in which they are put together."""


def report_page(
    rows: Sequence[Measurement],
    *,
    asv: Sequence[AsvRecord] = (),
    source: str = "",
    verdict: Sequence[str] = (),
) -> str:
    """The interactive page; equal rows give equal text in any order. Raises InputError without
    rows.

    source    where the rows come from, in words
    verdict   sentences that stand at the top
    """
    if not rows:
        raise InputError(
            "there are no measurements to report; give the results of a discreet bench that has run"
        )
    data, lines = page_data(cleaned(rows), asv, source)
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    held = f'<script type="application/json" id="data">{text}</script>'
    held += f'<script type="text/plain" id="lines">{chr(10).join(lines)}</script>'
    return document(
        "discreet: every backend, measured",
        heading="Every backend, measured",
        lead=f'<p class="lead" id="lead"></p>{html([Sentences(verdict)])}<dl class="cards" '
        'id="cards"></dl>',
        body=_asset("report.html") + held,
        footer="<p>Nothing is loaded from anywhere: rows, styles and scripts are in this file. "
        "Filters, hidden backends and "
        "the theme stand in the address, so that a view can be shared with the file.</p>",
        script='(() => {\n"use strict";\n' + "\n".join(map(_asset, SCRIPTS)) + "})();\n",
    )


def write_report(
    rows: Sequence[Measurement],
    path: str | Path,
    *,
    asv: Sequence[AsvRecord] = (),
    source: str = "",
    overwrite: bool = False,
) -> Path:
    """Write the page to a file, all or nothing, and return its path.

    Raises InputError without rows; FileError for a file that was not made here (unless it is to be
    overwritten) and for a place that cannot be written; then nothing has changed.
    """
    target = check_output(path, IS_REPORT, overwrite=overwrite)
    return replace_file(target, report_page(rows, asv=asv, source=source))


def _asset(name: str) -> str:
    return files("discreet.reports.html").joinpath(name).read_text(encoding="utf-8")
