"""The page as one file: template, style, scripts and data put together, and writing it over nothing that is not ours.

No address is loaded: a content security policy allows only the style and the script of the page itself, by their SHA-256.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from discreet.problems.errors import FileError, InputError
from discreet.reports.asv_results import AsvRecord
from discreet.reports.figures import DARK, LIGHT
from discreet.reports.html.data import cleaned, page_data
from discreet.reports.measurements import Measurement
from discreet.reports.outputs import replace_file

__all__ = ["MARK", "SCRIPTS", "check_report_path", "report_page", "write_report"]

MARK = "made by discreet report"
"""Stands at the top of every page; a file without it is somebody else's and is never overwritten."""

SCRIPTS = (
    "random.js", "statistics.js", "scaling.js", "agreement.js", "rows.js", "format.js", "elements.js", "state.js", "axes.js",
    "plot.js", "claims.js", "growth.js", "profiles.js", "tables.js", "commits.js", "filters.js", "main.js",
)  # fmt: skip
"""The scripts in the order in which they are put together."""

_NOTHING_ELSE = "default-src 'none'; base-uri 'none'; form-action 'none'"
_LOOK_BYTES = 2048  # the mark stands within these


def report_page(rows: Sequence[Measurement], *, asv: Sequence[AsvRecord] = (), source: str = "") -> str:
    """The text of the page; equal rows give equal text, in whatever order they come. Raises InputError without rows."""
    if not rows:
        raise InputError("there are no measurements to report; give the results of a discreet bench that has run")
    data = json.dumps(page_data(cleaned(rows), asv, source), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    style = _palette() + _asset("report.css")
    script = '(() => {\n"use strict";\n' + "\n".join(_asset(name) for name in SCRIPTS) + "})();\n"
    parts = {
        "MARK": MARK,
        "POLICY": f"{_NOTHING_ELSE}; style-src {_hash(style)}; script-src {_hash(script)}",
        "STYLE": style,
        "DATA": data.replace("<", "\\u003c"),
        "SCRIPT": script,
    }
    text = _asset("template.html")
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part, 1)
    return text


def write_report(rows: Sequence[Measurement], path: str | Path, *, asv: Sequence[AsvRecord] = (), source: str = "") -> Path:
    """Write the page to a file, all or nothing; its path.

    Raises InputError without rows, FileError for a file that is there and was not made here, and for a place that cannot be
    written; then nothing has changed.
    """
    target = check_report_path(path)
    return replace_file(target, report_page(rows, asv=asv, source=source))


def check_report_path(path: str | Path) -> Path:
    """The path; raises FileError if `write_report` would refuse it: worth asking before work."""
    target = Path(path)
    if "\0" in str(target):
        raise FileError(f"{str(target)!r} holds a null character, which no path can; choose another --out")
    try:
        if target.is_dir():
            raise FileError(f"{target} is a folder and the page is one file; give a name such as {target / 'report.html'}")
        if (target.exists() or target.is_symlink()) and not _ours(target):
            raise FileError(f"{target} was not made by discreet report and is left alone; choose another --out")
    except OSError as error:
        raise FileError(f"{str(target)!r} cannot be written: {error.strerror or error}; choose another --out") from None
    return target


def _ours(path: Path) -> bool:
    if not path.is_file() or path.is_symlink():
        return False
    with path.open("rb") as stream:
        return MARK.encode() in stream.read(_LOOK_BYTES)


def _asset(name: str) -> str:
    return files("discreet.reports.html").joinpath(name).read_text(encoding="utf-8")


def _palette() -> str:
    """The tones of all pictures of the project as CSS variables, light and dark."""
    light, dark = ("".join(f"--t{k}:{colour};" for k, colour in enumerate(each)) for each in (LIGHT, DARK))
    return f":root{{{light}}}\n:root[data-theme=dark]{{{dark}}}\n@media print{{:root[data-theme=dark]{{{light}}}}}\n"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
