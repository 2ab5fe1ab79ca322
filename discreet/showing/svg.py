"""Figures as plain SVG, light and dark, without a plotting library.

Inside a page, colours are CSS variables of that page. Many programs that show SVG files (librsvg,
CairoSVG, resvg, QtSvg) know neither variables nor colour schemes, and some take no style from the
root element. So a separate file states the light colour of every piece, and the dark colours inside
`@supports`, which these programs skip. Each piece is one line of text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from discreet.showing.plane import (
    COLOURS,
    DARK,
    LIGHT,
    LOOKS,
    WIDTH,
    Shape,
    Words,
    draw_figure,
    sample,
)
from discreet.storage.writing import marked

if TYPE_CHECKING:
    from discreet.showing.figures import Figure


def _looks(paint: Callable[[str], str]) -> str:
    """The style sheet of `LOOKS`. `paint` returns the CSS colour of each name in `COLOURS`, and of
    "tone".
    """
    rules = [
        f".fig .{name}{{{';'.join(f'{key}:{_css(key, value, paint)}' for key, value in ({'fill': 'none'} | look).items())}}}\n"
        for name, look in LOOKS.items()
    ]
    fonts = (
        "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif"
    )
    return f".fig{{fill:none;stroke-linejoin:round;stroke-linecap:round;{fonts}}}\n{''.join(rules)}"


def _css(key: str, value: str | float, paint: Callable[[str], str]) -> str:
    if key in ("fill", "stroke"):
        return value if value == "none" else paint(str(value))
    return f"{value}px" if key == "font-size" else f"{value}"


def _named_colours(ground: int, tones: Sequence[str]) -> str:
    """The style sheet of a separate file on a light (0) or dark (1) ground."""
    colours = {name: pair[ground] for name, pair in COLOURS.items()} | {"tone": "none"}
    toned = [
        f".fig .{name}.t{k}{{{key}:{tone}}}"
        for name, look in LOOKS.items()
        for key, value in look.items()
        if value == "tone"
        for k, tone in enumerate(tones)
    ]
    return f"{_looks(lambda name: colours[name])}{''.join(toned)}\n"


LOOK_STYLE = _looks(lambda name: f"var(--{name})")
"""How pieces are painted, with the colours of the page around them."""

FIGURE_STYLE = (
    f"\n{_named_colours(0, LIGHT)}@supports (fill:var(--a)){{@media (prefers-color-scheme:dark){{\n"
    f"{_named_colours(1, DARK)}}}}}\n"
)
"""The same for a separate file, with colours that follow the system's scheme."""

IS_FIGURE = marked('<svg class="fig" xmlns=')
"""Recognises the file of a figure."""


def svg(
    figure: Figure, *, titled: bool = True, legend: bool = True, style: str = "", live: bool = False
) -> str:
    """The figure as one <svg> element.

    style   a style sheet for a figure in a file of its own; see `FIGURE_STYLE`
    live    a script shows, hides and explains the marks; otherwise their hints are titles
    """
    height, pieces = draw_figure(figure, titled=titled, legend=legend)
    words = (
        f"{figure.title}. {figure.description}{' Arrow keys go from mark to mark.' if live else ''}"
    )
    return picture(pieces, height, words, style=style, live=live)


def picture(
    pieces: Iterable[Shape | Words],
    height: float,
    words: str,
    *,
    style: str = "",
    live: bool = False,
) -> str:
    """Pieces in a box of `WIDTH` × `height` as one <svg> element; `words` say what it shows to
    those who cannot see it.
    """
    inside = (
        f'<style>{style}</style><rect class="ground" width="{WIDTH:g}" height="{height:g}"/>'
        if style
        else ""
    )
    size = f' width="{1.5 * WIDTH:g}" height="{1.5 * height:g}"' if style else ""
    role = 'role="group" tabindex="0"' if live else 'role="img"'
    return (
        f'<svg class="fig" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} '
        f'{height:g}"{size} {role} '
        f'aria-label="{escape(words)}">{inside}\n{_written(pieces, live)}\n</svg>'
    )


_MIDDLE = ("#2f86c9", "#cf6a17", "#159a76", "#c05c98", "#94811d", "#7d8894")
INKED_STYLE = LOOK_STYLE + (
    ".fig{--ink:currentColor;--soft:currentColor;--line:color-mix(in srgb,currentColor "
    "18%,transparent);--paper:transparent}"
    + "".join(f".fig .t{k}{{--tone:{tone}}}" for k, tone in enumerate(_MIDDLE))
)
"""Looks in colours between those for light and for dark grounds, next to the ink of the page."""


def render_inline(figure: Figure) -> str:
    """The figure without its title and ground, in the ink of the page around it, light or dark."""
    return f"<style>{INKED_STYLE}</style>{svg(figure, titled=False)}"


def standalone(figure: Figure) -> str:
    """The figure as the text of an SVG file."""
    return svg(figure, style=FIGURE_STYLE) + "\n"


def sample_svg(tone: int) -> str:
    """The line and the mark of a tone, for the legend of a page."""
    shapes = _written(sample("both", tone, (1.0, 6.0), 28.0), live=False)
    return (
        '<svg class="fig sample" viewBox="0 0 30 12" width="30" height="12" '
        f'aria-hidden="true">{shapes}</svg>'
    )


def _written(pieces: Iterable[Shape | Words], live: bool) -> str:
    return "\n".join(
        _shape(piece, live) if isinstance(piece, Shape) else _words(piece) for piece in pieces
    )


def _shape(shape: Shape, live: bool) -> str:
    look = LOOKS[shape.look]
    css = f"{shape.look} t{shape.tone % len(LIGHT)}" if "tone" in look.values() else shape.look
    notes = _notes(shape) if live else ""
    title = (
        f"<title>{escape(shape.hint)}</title>"
        if shape.hint and look.get("fill") and not live
        else ""
    )
    if shape.radius:
        x, y = shape.places[0]
        kind = "circle"
        where = f'cx="{x:.1f}" cy="{y:.1f}" r="{shape.radius:g}"'
    else:
        dash = f'stroke-dasharray="{shape.dash}" ' if shape.dash else ""
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in shape.places)
        kind = "path"
        where = f'{dash}d="M{path}{"z" if "fill" in look else ""}"'
    return f'<{kind} class="{css}"{notes} {where}' + (f">{title}</{kind}>" if title else "/>")


def _notes(shape: Shape) -> str:
    """The attributes by which a script finds it: the attempt behind it, or its words, and its
    owner.
    """
    if shape.behind >= 0:
        return f' data-row="{shape.behind}"'
    hint = f' data-hint="{escape(shape.hint).replace(chr(10), "&#10;")}"' if shape.hint else ""
    return hint + (f' data-of="{escape(shape.owner)}"' if shape.owner else "")


def _words(words: Words) -> str:
    x, y = (f"{value:.1f}" for value in words.place)
    turned = f' transform="rotate(-90 {x} {y})"' if words.turned else ""
    return (
        f'<text class="{words.look}" x="{x}" y="{y}" '
        f'text-anchor="{words.anchor}"{turned}>{escape(words.text)}</text>'
    )
