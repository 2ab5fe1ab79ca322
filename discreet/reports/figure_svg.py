"""Figures as plain SVG, light and dark, drawn here so that they need no plotting library.

Colours are CSS variables with a dark scheme, so the same drawing serves inside a page and as a file of its own. The box is
about as wide as a phone, so that text keeps its size there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from discreet.reports.figures import DARK, LIGHT, Figure, Range, Series

_WIDTH, _RIGHT = 480.0, 14.0
_LINE = 17.0  # between lines of the legend
_KEY = 30.0  # width of a legend's sample
_TONES, _DARK_TONES = ("".join(f"--t{k}:{colour};" for k, colour in enumerate(each)) for each in (LIGHT, DARK))

FIGURE_STYLE = (
    """
.fig{--ink:#1b2430;--soft:#55616f;--line:#dfe4ea;--paper:#ffffff;"""
    + _TONES
    + """font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
.fig text{fill:var(--ink);font-size:12px}.fig .title{font-size:14px;font-weight:600}
.fig .soft{fill:var(--soft);font-size:11.5px}.fig .tick{fill:var(--soft);font-size:11px}
.fig .grid{stroke:var(--line);stroke-width:1}.fig .axis{stroke:var(--soft);stroke-width:1.2;fill:none}
.fig .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.fig .band{opacity:.28;stroke:none}.fig .whisker{stroke:var(--ink);stroke-width:1.3;fill:none}
.fig .mark{stroke:var(--paper);stroke-width:.8}.fig .paper{fill:var(--paper)}.fig .zone{fill:#c2255c;opacity:.08}
@media (prefers-color-scheme:dark){.fig{--ink:#e8edf3;--soft:#a3afbd;--line:#2d3642;--paper:#161b22;"""
    + _DARK_TONES
    + """}}
"""
)


def svg(figure: Figure, *, titled: bool = True, style: str = "") -> str:
    """The figure as one <svg> element. `style` goes inside when it is to stand alone; see `FIGURE_STYLE`."""
    plane = _Plane.of(figure, titled)
    inside = f'<style>{style}</style><rect class="paper" width="100%" height="100%"/>' if style else ""
    size = f' width="{1.5 * _WIDTH:g}" height="{1.5 * plane.height:g}"' if style else ""
    heading = [_text(12, 22, figure.title, "title"), _text(12, 40, figure.subtitle, "soft")] if titled else []
    parts = [*heading, *_legend(figure, plane.top - 8.0), *_frame(figure, plane)]
    parts += [piece for series in figure.series for piece in _drawn(series, plane)]
    return (
        f'<svg class="fig" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {plane.height:g}"{size} role="img" '
        f'aria-label="{escape(figure.title)}. {escape(figure.description)}">{inside}{"".join(parts)}</svg>'
    )


def standalone(figure: Figure) -> str:
    """The figure as the text of an SVG file."""
    return svg(figure, style=FIGURE_STYLE) + "\n"


@dataclass(frozen=True)
class _Plane:
    """From numbers to places in the drawing."""

    x_ends: Range
    y_ends: Range
    log_x: bool
    log_y: bool
    top: float
    left: float
    bottom: float

    @classmethod
    def of(cls, figure: Figure, titled: bool) -> _Plane:
        top = (48.0 if titled else 6.0) + _LINE * len(_rows(figure)) + 12.0
        left = 16.0 + max(map(len, figure.rows)) * 6.0 if figure.rows else 66.0
        tall = 26.0 * len(figure.rows) if figure.rows else 232.0
        return cls(figure.x_axis()[0], figure.y_axis()[0], figure.log_x, figure.log_y, top, left, top + tall)

    @property
    def height(self) -> float:
        return self.bottom + 48.0

    def x(self, value: float) -> float:
        return self.left + _share(value, self.x_ends, self.log_x) * (_WIDTH - self.left - _RIGHT)

    def y(self, value: float) -> float:
        return self.bottom - _share(value, self.y_ends, self.log_y) * (self.bottom - self.top)


def _share(value: float, ends: Range, log: bool) -> float:
    if log:
        value, ends = math.log(max(value, ends[0])), (math.log(ends[0]), math.log(ends[1]))
    return min(1.0, max(0.0, (value - ends[0]) / (ends[1] - ends[0])))


# -- around the series -----------------------------------------------------------------------------------------------------


def _rows(figure: Figure) -> list[list[tuple[float, Series]]]:
    """The entries of the legend with their places, broken into lines."""
    rows: list[list[tuple[float, Series]]] = []
    x = _WIDTH
    for series in figure.series:
        if not series.label:
            continue
        width = _KEY + 6.3 * len(series.label) + 20.0  # of a character, roughly, at the size of the legend
        if x + width > _WIDTH:
            rows.append([])
            x = 12.0
        rows[-1].append((x, series))
        x += width
    return rows


def _legend(figure: Figure, bottom: float) -> list[str]:
    parts = []
    rows = _rows(figure)
    for k, row in enumerate(rows):
        y = bottom - _LINE * (len(rows) - k) + 8.0
        for x, series in row:
            parts += [*_sample(series, x, y - 4.0), _text(x + _KEY - 2.0, y, series.label)]
    return parts


def _sample(series: Series, x: float, y: float) -> Iterable[str]:
    end = x + _KEY - 8.0
    line = [] if series.kind == "points" else [f'<path class="line" {_stroke(series)} d="M{x:.1f} {y:.1f}H{end:.1f}"/>']
    mark = [_mark(series, 0.5 * (x + end), y, 4.0)] if series.kind in ("points", "both") else []
    return [*line, *mark]


def _frame(figure: Figure, plane: _Plane) -> list[str]:
    left, right = plane.left, _WIDTH - _RIGHT
    parts = []
    if figure.zone_from is not None:
        x, tall = plane.x(figure.zone_from), plane.bottom - plane.top
        parts.append(f'<rect class="zone" x="{x:.1f}" y="{plane.top:g}" width="{right - x:.1f}" height="{tall:g}"/>')
    for value, words in figure.y_axis()[1]:
        y = plane.y(value)
        parts.append(f'<path class="grid" d="M{left:g} {y:.1f}H{right:g}"/>')
        parts.append(_text(left - 7.0, y + 4.0, words, "tick", anchor="end"))
    for value, words in figure.x_axis()[1]:
        x = plane.x(value)
        parts.append(f'<path class="axis" d="M{x:.1f} {plane.bottom:g}v4"/>')
        parts.append(_text(x, plane.bottom + 17.0, words, "tick", anchor="middle"))
    parts.append(f'<path class="axis" d="M{left:g} {plane.top:g}V{plane.bottom:g}H{right:g}"/>')
    middle = 0.5 * ((0.0 if figure.rows else left) + right)
    parts.append(_text(middle, plane.bottom + 37.0, figure.x_label, "soft", anchor="middle"))
    middle = 0.5 * (plane.top + plane.bottom)
    turned = f'transform="rotate(-90 14 {middle:.1f})"'
    parts.append(_text(14.0, middle, figure.y_label, "soft", anchor="middle", more=turned))
    return parts


# -- the series ------------------------------------------------------------------------------------------------------------


def _drawn(series: Series, plane: _Plane) -> list[str]:
    xs, ys = [plane.x(value) for value in series.x], [plane.y(value) for value in series.y]
    parts = []
    if series.kind == "steps":
        path = "".join(f"H{x:.2f}V{y:.2f}" for x, y in zip(xs[1:], ys[1:], strict=True))
        parts.append(f'<path class="line" {_stroke(series)} d="M{xs[0]:.2f} {ys[0]:.2f}{path}"/>')
    elif series.kind in ("line", "both"):
        parts += _band(series, plane)
        path = "L".join(f"{x:.2f} {y:.2f}" for x, y in zip(xs, ys, strict=True))
        parts.append(f'<path class="line" {_stroke(series)} d="M{path}"/>')
    elif series.low:
        parts += [_whisker(*place) for place in zip(xs, map(plane.y, series.low), map(plane.y, series.high), strict=True)]
    if series.kind in ("points", "both"):
        hints = series.hints or ("",) * len(xs)
        parts += [_mark(series, x, y, 3.4, hint) for x, y, hint in zip(xs, ys, hints, strict=True)]
    return parts


def _band(series: Series, plane: _Plane) -> list[str]:
    if not series.low:
        return []
    there = [f"{plane.x(x):.2f} {plane.y(y):.2f}" for x, y in zip(series.x, series.high, strict=True)]
    back = [f"{plane.x(x):.2f} {plane.y(y):.2f}" for x, y in zip(series.x, series.low, strict=True)]
    return [f'<path class="band" {_fill(series)} d="M{"L".join([*there, *reversed(back)])}z"/>']


def _whisker(x: float, low: float, high: float) -> str:
    return f'<path class="whisker" d="M{x - 5:.1f} {low:.1f}h10m-5 0V{high:.1f}m-5 0h10"/>'


def _mark(series: Series, x: float, y: float, r: float, hint: str = "") -> str:
    if series.marker == "circle":
        return f'<circle class="mark" {_fill(series)} cx="{x:.2f}" cy="{y:.2f}" r="{r:g}">{_hint(hint)}</circle>'
    corners = {
        "diamond": f"M{x:.2f} {y - 1.3 * r:.2f}l{1.3 * r:.2f} {1.3 * r:.2f}l{-1.3 * r:.2f} {1.3 * r:.2f}l{-1.3 * r:.2f} "
        f"{-1.3 * r:.2f}z",
        "square": f"M{x - r:.2f} {y - r:.2f}h{2 * r:.2f}v{2 * r:.2f}h{-2 * r:.2f}z",
        "triangle": f"M{x:.2f} {y - 1.2 * r:.2f}l{1.2 * r:.2f} {2.1 * r:.2f}h{-2.4 * r:.2f}z",
        "cross": f"M{x - r:.2f} {y - 0.4 * r:.2f}h{0.6 * r:.2f}v{-0.6 * r:.2f}h{0.8 * r:.2f}v{0.6 * r:.2f}h{0.6 * r:.2f}"
        f"v{0.8 * r:.2f}h{-0.6 * r:.2f}v{0.6 * r:.2f}h{-0.8 * r:.2f}v{-0.6 * r:.2f}h{-0.6 * r:.2f}z",
    }
    return f'<path class="mark" {_fill(series)} d="{corners[series.marker]}">{_hint(hint)}</path>'


def _stroke(series: Series) -> str:
    dash = f' stroke-dasharray="{series.dash}"' if series.dash else ""
    return f'style="stroke:var(--t{series.tone % len(LIGHT)})"{dash}'


def _fill(series: Series) -> str:
    return f'style="fill:var(--t{series.tone % len(LIGHT)})"'


def _hint(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""


def _text(x: float, y: float, words: str, css: str = "", *, anchor: str = "", more: str = "") -> str:
    classes = f' class="{css}"' if css else ""
    place = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text{classes} x="{x:.1f}" y="{y:.1f}"{place} {more}>{escape(words)}</text>'.replace(" >", ">", 1)
