"""How things show themselves in a notebook: a card of HTML, and a table of pandas.

A card loads nothing and escapes all that it is given. It takes the ink of the page around it, so it
suits dark pages too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, how_to_install
from discreet.showing.page import html
from discreet.showing.svg import INKED_STYLE
from discreet.showing.values import BAD, GOOD, PLAIN, UNSURE, Part, Toned

if TYPE_CHECKING:
    import pandas as pd

COLOURS = {GOOD: "#1a7f4b", UNSURE: "#8f6400", BAD: "#b3261e", PLAIN: "#5b6470"}
"""Grounds of white words, which stand out on light and on dark pages."""

_LINE = "color-mix(in srgb, currentColor 22%, transparent)"
_STYLE = f"""
.discreet-card{{border:1px solid {_LINE};border-radius:8px;padding:.7em 1em;max-width:46em;font-size:.92em;line-height:1.45;
font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif;margin:.3em 0}}
.discreet-card .top{{display:flex;gap:.7em;align-items:baseline;flex-wrap:wrap;margin:0 0 .45em}}
.discreet-card .kind{{opacity:.72}}
.discreet-card .badge{{color:#fff;border-radius:99px;padding:.05em .7em;font-size:.9em}}
.discreet-card dl{{display:grid;grid-template-columns:fit-content(45%) 1fr;gap:.12em 1.1em;margin:0}}
.discreet-card dl div{{display:contents}}
.discreet-card dt{{opacity:.72;font-weight:normal;margin:0}}
.discreet-card dd{{margin:0;overflow-wrap:break-word;min-width:0;font-variant-numeric:tabular-nums}}
.discreet-card .scroll{{overflow-x:auto;margin:.6em 0 0}}
.discreet-card .hidden{{display:none}}
.discreet-card h3{{font-size:1em;margin:.6em 0 0}}
.discreet-card figure{{margin:.6em 0 0}}
.discreet-card figcaption span{{display:block;opacity:.72}}
.discreet-card table{{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0}}
.discreet-card tr{{background:none}}
.discreet-card th,.discreet-card td{{text-align:left;padding:.12em 1.2em .12em 0;border:0;border-top:1px solid {_LINE};
white-space:nowrap;background:none;color:inherit}}
.discreet-card th{{font-weight:normal}}
.discreet-card thead th{{border-top:0;opacity:.72}}
.discreet-card p{{margin:.5em 0 0}}
.discreet-card svg{{max-width:100%;height:auto;border-radius:6px}}
{INKED_STYLE}"""


def card(kind: str, title: str, *parts: Part, badge: Toned | None = None) -> str:
    """A card: what it is, its title, a badge in its tone, and the parts, whose texts become
    sentences.
    """
    top = f"<b>{escape(kind)}</b>"
    if title:
        top = f'<span class="kind">{escape(kind)}</span><b>{escape(title)}</b>'
    if badge:
        top += (
            f'<span class="badge" style="background:{COLOURS[badge.tone]}">{escape(badge)}</span>'
        )
    body = html(part[:1].upper() + part[1:] if isinstance(part, str) else part for part in parts)
    return (
        f'<div class="discreet-card"><style>{_STYLE}</style><div '
        f'class="top">{top}</div>{body}</div>'
    )


def frame(data: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """A table of columns by name, or of records. Raises InputError without pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise InputError(
            f"to_frame needs pandas, which does not import; {how_to_install('data')}"
        ) from None
    return pd.DataFrame(data)
