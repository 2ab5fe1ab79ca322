"""The figure writer: places the lines, regions and words of a `Figure` in a box.

Every decision is made here: layout, colours, widths, sizes. `svg` only writes the pieces. The box
is about as wide as a phone, so that text keeps its size there; y grows downwards.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.showing.figures import Figure, Range, Series

LIGHT = ("#0063a6", "#b64a00", "#00785a", "#a33a7a", "#6b5b00", "#4b5563")
DARK = ("#6cb8f0", "#f29b52", "#3fc9a2", "#e79bc8", "#d9c64a", "#a3afbd")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
MARKERS: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    ((0, -1.2), (1.2, 0.9), (-1.2, 0.9)),
    ((-1, -0.4), (-0.4, -0.4), (-0.4, -1), (0.4, -1), (0.4, -0.4), (1, -0.4),
     (1, 0.4), (0.4, 0.4), (0.4, 1), (-0.4, 1), (-0.4, 0.4), (-1, 0.4)),
    (),
)  # fmt: skip
"""Corners of marks in units of their radius, to the right and downwards; a circle has none."""

WIDTH = 480.0

COLOURS = {
    "ink": ("#1b2430", "#e8edf3"),
    "soft": ("#55616f", "#a3afbd"),
    "line": ("#dfe4ea", "#2d3642"),
    "paper": ("#ffffff", "#161b22"),
    "alarm": ("#c2255c", "#c2255c"),
}
"""Name -> the colours on a light and on a dark background. The name "tone" stands for the colour of
the piece's series.
"""

LOOKS: dict[str, dict[str, Any]] = {
    "ground": {"fill": "paper"},
    "zone": {"fill": "alarm", "opacity": 0.08},
    "grid": {"stroke": "line", "stroke-width": 1.0},
    "axis": {"stroke": "soft", "stroke-width": 1.2},
    "band": {"fill": "tone", "opacity": 0.28},
    "fit": {"stroke": "tone", "stroke-width": 6.0, "opacity": 0.22},
    "line": {"stroke": "tone", "stroke-width": 2.0},
    "whisker": {"stroke": "ink", "stroke-width": 1.3},
    "mark": {"fill": "tone", "stroke": "paper", "stroke-width": 0.8},
    "hollow": {"fill": "paper", "stroke": "tone", "stroke-width": 1.4},
    "words": {"fill": "ink", "font-size": 12.0},
    "title": {"fill": "ink", "font-size": 14.0, "font-weight": "bold"},
    "inside": {"fill": "paper", "font-size": 11.5, "font-weight": "bold"},
    "soft": {"fill": "soft", "font-size": 11.5},
    "tick": {"fill": "soft", "font-size": 11.0},
}
"""How each kind of piece is painted, in the names of SVG. A shape with a fill is closed."""

Place = tuple[float, float]


def look(tone: int) -> tuple[str, tuple[tuple[float, float], ...]]:
    """Lengths of the dashes and the gaps between them (empty for an unbroken line), and the corners
    of the mark.
    """
    k = (tone + tone // len(LIGHT)) % len(LIGHT)
    return DASHES[k], MARKERS[k]


@dataclass(frozen=True)
class Shape:
    """A line through places, or a region with these corners; with a radius a circle.

    hint     shown when pointed at; of a line in steps "x y words" for each step, separated by |
    owner    the name that shows and hides it on a page
    behind   number of the attempt behind it; −1: none
    """

    look: str
    places: tuple[Place, ...]
    tone: int = 0
    dash: str = ""
    radius: float = 0.0
    hint: str = ""
    owner: str = ""
    behind: int = -1


@dataclass(frozen=True)
class Words:
    """Text whose baseline starts, is centred or ends at a place; turned text runs upwards."""

    look: str
    place: Place
    text: str
    anchor: str = "start"
    turned: bool = False


def draw_figure(
    figure: Figure, *, titled: bool = True, legend: bool = True
) -> tuple[float, list[Shape | Words]]:
    """The height of the box and the pieces in the order of painting.

    A page that shows its own title or legend asks for the figure without them.
    """
    lines = _lines(figure) if legend else []
    heading = _heading(figure) if titled else []
    below = heading[-1].place[1] + 8.0 if heading else 6.0
    plane = _Plane(figure, below, len(lines))
    pieces = [*heading, *_legend(lines, plane.top - 8.0), *_frame(figure, plane)]
    return plane.bottom + 48.0, pieces + [
        piece for series in figure.series for piece in _series(series, plane)
    ]


def _heading(figure: Figure) -> list[Words]:
    """The title and the lines of the subtitle."""
    subtitle = textwrap.wrap(figure.subtitle, 80) or [""]
    return [
        Words("title", (12.0, 22.0), figure.title),
        *(Words("soft", (12.0, 40.0 + _LINE * k), line) for k, line in enumerate(subtitle)),
    ]


class _Plane:
    """Converts numbers to places in the box, below a heading and the lines of a legend."""

    def __init__(self, figure: Figure, below: float, lines: int) -> None:
        self.log_x = figure.log_x
        self.log_y = figure.log_y
        self.right = WIDTH - 14.0
        self.x_ends = figure.x_axis()[0]
        self.y_ends = figure.y_axis()[0]
        self.left = 16.0 + max(map(len, figure.rows)) * 6.0 if figure.rows else 66.0
        self.top = below + _LINE * lines + 12.0
        self.bottom = self.top + (26.0 * len(figure.rows) if figure.rows else 232.0)

    def x(self, value: float) -> float:
        return self.left + _share(value, self.x_ends, self.log_x) * (self.right - self.left)

    def y(self, value: float) -> float:
        return self.bottom - _share(value, self.y_ends, self.log_y) * (self.bottom - self.top)


def _share(value: float, ends: Range, log: bool) -> float:
    if log:
        value = math.log(max(value, ends[0]))
        ends = (math.log(ends[0]), math.log(ends[1]))
    return min(1.0, max(0.0, (value - ends[0]) / (ends[1] - ends[0])))


_LINE = 17.0  # between lines of the heading and of the legend
_KEY = 30.0  # width of a legend's sample


def _lines(figure: Figure) -> list[list[tuple[float, Series]]]:
    """The entries of the legend with their places, in lines that fit."""
    lines: list[list[tuple[float, Series]]] = []
    x = WIDTH
    for series in figure.series:
        if not series.label:
            continue
        # Rough width of a character at the size of the legend.
        width = _KEY + 6.3 * len(series.label) + 20.0
        if x + width > WIDTH:
            lines.append([])
            x = 12.0
        lines[-1].append((x, series))
        x += width
    return lines


def _legend(
    lines: Sequence[Sequence[tuple[float, Series]]], bottom: float
) -> Iterator[Shape | Words]:
    for k, line in enumerate(lines):
        y = bottom - _LINE * (len(lines) - k) + 8.0
        for x, series in line:
            yield from sample(
                series.kind, series.tone, (x, y - 4.0), _KEY - 8.0, _mark_look(series)
            )
            yield Words("words", (x + _KEY - 2.0, y), series.label)


def sample(kind: str, tone: int, start: Place, width: float, mark: str = "mark") -> Iterator[Shape]:
    """The line and the mark of a tone, as a legend shows them."""
    (x, y) = start
    end = start[0] + width
    if kind != "points":
        yield Shape("line", ((x, y), (end, y)), tone, look(tone)[0])
    if kind in ("points", "both"):
        yield _mark(tone, (0.5 * (x + end), y), 4.0, kind=mark)


def _frame(figure: Figure, plane: _Plane) -> Iterator[Shape | Words]:
    left = plane.left
    right = plane.right
    top = plane.top
    bottom = plane.bottom
    if figure.zone_from is not None:
        x = plane.x(figure.zone_from)
        yield Shape("zone", ((x, top), (right, top), (right, bottom), (x, bottom)))
    for value, words in figure.y_axis()[1]:
        y = plane.y(value)
        yield Shape("grid", ((left, y), (right, y)))
        yield Words("tick", (left - 7.0, y + 4.0), words, "end")
    for value, words in figure.x_axis()[1]:
        x = plane.x(value)
        yield Shape("axis", ((x, bottom), (x, bottom + 4.0)))
        inside = min(x, WIDTH - 3.3 * len(words))
        yield Words("tick", (inside, bottom + 17.0), words, "middle")
    yield Shape("axis", ((left, top), (left, bottom), (right, bottom)))
    yield Words(
        "soft",
        (0.5 * ((0.0 if figure.rows else left) + right), bottom + 37.0),
        figure.x_label,
        "middle",
    )
    yield Words("soft", (14.0, 0.5 * (top + bottom)), figure.y_label, "middle", turned=True)


def _series(series: Series, plane: _Plane) -> Iterator[Shape]:
    places = tuple(_places(series.x, series.y, plane))
    low = _places(series.x, series.low, plane)
    high = _places(series.x, series.high, plane)
    if series.kind == "points":
        yield from (_whisker(*ends, series.owner) for ends in zip(low, high, strict=True))
    elif series.low:
        yield Shape("band", (*high, *reversed(low)), series.tone)
    dash = look(series.tone)[0]
    match series.kind:
        case "fit":
            yield Shape("fit", places, series.tone, owner=series.owner)
        case "steps":
            yield Shape(
                "line",
                (places[0], *_corners(places)),
                series.tone,
                dash,
                hint="|".join(_hints_of_steps(series.hints, places)),
                owner=series.owner,
            )
        case "line" | "both":
            yield Shape("line", places, series.tone, dash, owner=series.owner)
    if series.kind in ("points", "both"):
        for k, place in enumerate(places):
            radius = series.sizes[k] if series.sizes else 3.4
            hint = series.hints[k] if series.hints else ""
            behind = series.behind[k] if series.behind else -1
            yield _mark(series.tone, place, radius, hint, behind, series.owner, _mark_look(series))


def _places(x: Sequence[float], y: Sequence[float], plane: _Plane) -> list[Place]:
    """The places of points; none where the series has no such values."""
    return [(plane.x(right), plane.y(up)) for right, up in zip(x, y, strict=False)]


def _whisker(low: Place, high: Place, owner: str) -> Shape:
    (x, bottom) = low
    top = high[1]
    left = x - 5.0
    right = x + 5.0
    ends = ((left, bottom), (right, bottom), (x, bottom), (x, top), (left, top), (right, top))
    return Shape("whisker", ends, owner=owner)


def _corners(places: Sequence[Place]) -> Iterator[Place]:
    """The corners of a line that keeps its height until the next place."""
    for (_, before), (x, y) in pairwise(places):
        yield x, before
        yield x, y


def _hints_of_steps(hints: Sequence[str], places: Sequence[Place]) -> Iterator[str]:
    for (x, y), hint in zip(places, hints, strict=False):
        if hint:
            yield f"{x:.1f} {y:.1f} {hint}"


def _mark_look(series: Series) -> str:
    return "hollow" if series.hollow else "mark"


def _mark(
    tone: int,
    place: Place,
    r: float,
    hint: str = "",
    behind: int = -1,
    owner: str = "",
    kind: str = "mark",
) -> Shape:
    corners = [(place[0] + r * right, place[1] + r * down) for right, down in look(tone)[1]]
    return Shape(
        kind, tuple(corners or [place]), tone, "", 0.0 if corners else r, hint, owner, behind
    )
