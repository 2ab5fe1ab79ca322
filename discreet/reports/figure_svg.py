"""Figures as plain SVG, light and dark, without a plotting library.

Colours are CSS variables with a dark scheme, so the same drawing serves inside a page and as a file of its own.
"""

from __future__ import annotations

from html import escape

from discreet.reports.drawing import COLOURS, LOOKS, WIDTH, Shape, Words, drawn
from discreet.reports.figures import DARK, LIGHT, Figure


def _style() -> str:
    """The style sheet of `LOOKS`; a shape with a tone has it as the variable of its class."""
    grounds = []
    for k, tones in enumerate((LIGHT, DARK)):
        names = "".join(f"--{name}:{pair[k]};" for name, pair in COLOURS.items())
        grounds.append(f".fig{{{names}}}" + "".join(f".fig .t{j}{{--tone:{tone}}}" for j, tone in enumerate(tones)))
    rules = [
        f".fig .{name}{{{';'.join(f'{key}:{_css(key, value)}' for key, value in look.items())}}}\n"
        for name, look in LOOKS.items()
    ]
    fonts = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif"
    plain = f".fig{{fill:none;stroke-linejoin:round;stroke-linecap:round;{fonts}}}\n"
    return f"\n{plain}{grounds[0]}\n{''.join(rules)}@media (prefers-color-scheme:dark){{{grounds[1]}}}\n"


def _css(key: str, value: str | float) -> str:
    return f"var(--{value})" if key in ("fill", "stroke") else f"{value}px" if key == "font-size" else f"{value}"


FIGURE_STYLE = _style()


def svg(figure: Figure, *, titled: bool = True, style: str = "") -> str:
    """The figure as one <svg> element. `style` goes inside when it is to stand alone; see `FIGURE_STYLE`."""
    height, pieces = drawn(figure, titled=titled)
    inside = f'<style>{style}</style><rect fill="var(--paper)" width="100%" height="100%"/>' if style else ""
    size = f' width="{1.5 * WIDTH:g}" height="{1.5 * height:g}"' if style else ""
    parts = "".join(_shape(piece) if isinstance(piece, Shape) else _words(piece) for piece in pieces)
    return (
        f'<svg class="fig" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}"{size} role="img" '
        f'aria-label="{escape(figure.title)}. {escape(figure.description)}">{inside}{parts}</svg>'
    )


def standalone(figure: Figure) -> str:
    """The figure as the text of an SVG file."""
    return svg(figure, style=FIGURE_STYLE) + "\n"


def _shape(shape: Shape) -> str:
    look = LOOKS[shape.look]
    css = f"{shape.look} t{shape.tone % len(LIGHT)}" if "tone" in look.values() else shape.look
    hint = f"<title>{escape(shape.hint)}</title>" if shape.hint else ""
    if shape.radius:
        x, y = shape.places[0]
        return f'<circle class="{css}" cx="{x:.2f}" cy="{y:.2f}" r="{shape.radius:g}">{hint}</circle>'
    path = "L".join(f"{x:.2f} {y:.2f}" for x, y in shape.places) + ("z" if "fill" in look else "")
    dash = f' stroke-dasharray="{shape.dash}"' if shape.dash else ""
    return f'<path class="{css}"{dash} d="M{path}">{hint}</path>'


def _words(words: Words) -> str:
    x, y = (f"{value:.1f}" for value in words.place)
    turned = f' transform="rotate(-90 {x} {y})"' if words.turned else ""
    return f'<text class="{words.look}" x="{x}" y="{y}" text-anchor="{words.anchor}"{turned}>{escape(words.text)}</text>'
