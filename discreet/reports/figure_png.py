"""Figures as PNG, by matplotlib (the extra `plots`), without its global state: no window, no `pyplot`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from discreet.problems.errors import Absent
from discreet.reports.figure_svg import standalone
from discreet.reports.figures import LIGHT, Figure, Series

_INK, _SOFT, _LINE = "#1b2430", "#55616f", "#dfe4ea"


def drawn_files(figures: Sequence[Figure]) -> tuple[dict[str, str | bytes], str]:
    """NAME.svg and NAME.png of every figure; without matplotlib no PNG, and the sentence that says why."""
    drawn: dict[str, str | bytes] = {f"{figure.name}.svg": standalone(figure) for figure in figures}
    try:
        return drawn | {f"{figure.name}.png": png(figure) for figure in figures}, ""
    except Absent as absent:
        return drawn, str(absent)


def png(figure: Figure) -> bytes:
    """The figure as the bytes of a PNG file, on a light ground. Raises Absent without matplotlib."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise Absent(f'PNG files need matplotlib, which does not import ({error}); pip install "discreet[plots]"') from error

    with mpl.rc_context({"font.size": 10, "text.color": _INK, "axes.edgecolor": _SOFT, "axes.labelcolor": _SOFT}):
        canvas = Canvas(figsize=(7.2, 5.0), dpi=160, layout="constrained", facecolor="white")
        FigureCanvasAgg(canvas)
        axes = canvas.add_subplot()
        _prepare(figure, axes)
        if figure.zone_from is not None:
            axes.axvspan(figure.zone_from, figure.x_axis()[0][1], color="#c2255c", alpha=0.08, linewidth=0)
        for series in figure.series:
            _draw(series, axes)
        labelled = [series for series in figure.series if series.label]
        canvas.suptitle(f"{figure.title}", x=0.02, ha="left", fontsize=13, fontweight="bold")
        axes.set_title(figure.subtitle, loc="left", fontsize=10, color=_SOFT, pad=10)
        if labelled:
            canvas.legend(loc="outside lower center", ncols=min(3, len(labelled)), frameon=False, fontsize=9)
        stream = io.BytesIO()
        canvas.savefig(stream, format="png", metadata={"Software": "discreet", "Title": figure.title})
    return stream.getvalue()


def _prepare(figure: Figure, axes: Any) -> None:
    """Scales, ends and ticks as in the SVG."""
    for log, axis, limit, (ends, marks) in (
        (figure.log_x, axes.xaxis, axes.set_xlim, figure.x_axis()),
        (figure.log_y, axes.yaxis, axes.set_ylim, figure.y_axis()),
    ):
        if log:
            (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
        limit(*ends)
        axis.set_ticks([place for place, _ in marks], labels=[words for _, words in marks])
        axis.set_ticks([], minor=True)
    axes.tick_params(colors=_SOFT, labelsize=9)
    axes.grid(axis="y", color=_LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)


def _draw(series: Series, axes: Any) -> None:
    colour = LIGHT[series.tone % len(LIGHT)]
    label = series.label or None
    mark = {"circle": "o", "diamond": "D", "square": "s", "triangle": "^", "cross": "P"}[series.marker]
    lengths = [0.5 * float(length) for length in series.dash.split()]
    dash: Any = (0, lengths) if lengths else "solid"
    if series.kind == "points":
        if series.low:
            reach = [[abs(end - y) for y, end in zip(series.y, ends, strict=True)] for ends in (series.low, series.high)]
            axes.errorbar(series.x, series.y, yerr=reach, fmt="none", ecolor=_INK, capsize=4, linewidth=1.2)
        axes.plot(series.x, series.y, linestyle="none", marker=mark, color=colour, markersize=5.5, label=label)
    else:
        if series.low:
            axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.28, linewidth=0.0)
        style = {"linewidth": 1.8, "linestyle": dash, "marker": mark if series.kind == "both" else "", "markersize": 4.5}
        steps = "steps-post" if series.kind == "steps" else "default"
        axes.plot(series.x, series.y, color=colour, label=label, drawstyle=steps, **style)
