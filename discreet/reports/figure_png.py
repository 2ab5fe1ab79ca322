"""Figures as PNG, by matplotlib (the extra `plots`), without its global state: no window, no `pyplot`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from discreet.problems.errors import Absent
from discreet.reports.drawing import COLOURS, LOOKS, WIDTH, Shape, Words, drawn
from discreet.reports.figure_svg import standalone
from discreet.reports.figures import LIGHT, Figure


def drawn_files(figures: Sequence[Figure]) -> tuple[dict[str, str | bytes], str]:
    """NAME.svg and NAME.png of every figure; without matplotlib no PNG, and the sentence that says why."""
    files: dict[str, str | bytes] = {f"{figure.name}.svg": standalone(figure) for figure in figures}
    try:
        return files | {f"{figure.name}.png": png(figure) for figure in figures}, ""
    except Absent as absent:
        return files, str(absent)


def png(figure: Figure) -> bytes:
    """The figure as the bytes of a PNG file, on a light ground. Raises Absent without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise Absent(f'PNG files need matplotlib, which does not import ({error}); pip install "discreet[plots]"') from error

    height, pieces = drawn(figure)
    canvas = Canvas(figsize=(WIDTH / 72.0, height / 72.0), dpi=172.8, facecolor=COLOURS["paper"][0])
    FigureCanvasAgg(canvas)
    axes = canvas.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0.0, WIDTH), ylim=(height, 0.0))
    axes.set_axis_off()
    for order, piece in enumerate(pieces):
        artist = _shape(piece) if isinstance(piece, Shape) else _words(piece)
        artist.set_zorder(order)
        axes.add_artist(artist)
    stream = io.BytesIO()
    canvas.savefig(stream, format="png", metadata={"Software": "discreet", "Title": figure.title})
    return stream.getvalue()


def _shape(shape: Shape) -> Any:
    from matplotlib.patches import Circle, PathPatch
    from matplotlib.path import Path

    look = LOOKS[shape.look]
    width, colours = look.get("stroke-width", 0.0), {"none": "none", "tone": LIGHT[shape.tone % len(LIGHT)]}
    fill, stroke = (colours.get(name) or COLOURS[name][0] for name in (look.get("fill", "none"), look.get("stroke", "none")))
    dashes = [float(length) / width for length in shape.dash.split()]  # matplotlib counts them in widths
    painted: dict[str, Any] = {
        "facecolor": fill, "edgecolor": stroke, "linewidth": width, "alpha": look.get("opacity"),
        "linestyle": (0, dashes) if dashes else "solid", "capstyle": "round", "joinstyle": "round",
    }  # fmt: skip
    if shape.radius:
        return Circle(shape.places[0], shape.radius, **painted)
    closed = "fill" in look
    return PathPatch(Path([*shape.places, shape.places[0]] if closed else shape.places, closed=closed), **painted)


def _words(words: Words) -> Any:
    from matplotlib.text import Text

    look = LOOKS[words.look]
    sides: dict[str, Any] = {"start": "left", "middle": "center", "end": "right"}
    return Text(
        *words.place, words.text, fontsize=look["font-size"], fontweight=look.get("font-weight", "normal"),
        color=COLOURS[look["fill"]][0], horizontalalignment=sides[words.anchor], rotation=90.0 if words.turned else 0.0,
        rotation_mode="anchor", parse_math=False,
    )  # fmt: skip
