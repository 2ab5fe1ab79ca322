"""Figures as data: what is drawn, apart from how, which `plane` decides.

Series differ by tone, dash and marker, never only by colour. Tones are six colours that
colour-blind people can tell apart, each with a lighter version for dark backgrounds.

Source of the colours: M. Okabe, K. Ito, "Color Universal Design" (2008), darkened or lightened for
contrast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike, fspath
from typing import Literal

from discreet.errors import InputError
from discreet.showing import numerals
from discreet.showing.svg import render_inline, standalone
from discreet.storage.writing import replacing

Tick = tuple[float, str]
Range = tuple[float, float]
Kind = Literal["line", "points", "both", "steps", "fit"]


@dataclass(frozen=True)
class Series:
    """One thing drawn. `low` and `high` are the ends of intervals: whiskers of points, a band
    around a line.

    kind    "line"; "points"; "both"; "steps": a line that keeps its height until the next x; "fit":
            a broad pale line
    tone    index of its colour, dash and marker; after six the colours repeat with other dashes and
            markers
    hints   words for each point, shown when pointed at; lines of them are separated by newlines
    owner   the name that shows and hides it on a page
    behind  numbers of the attempts behind the points, by which a page shows, hides and explains
            them
    hollow  marks are outlines
    sizes   radii of the marks; equal without them
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    kind: Kind = "line"
    tone: int = 0
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    hints: tuple[str, ...] = ()
    owner: str = ""
    behind: tuple[int, ...] = ()
    hollow: bool = False
    sizes: tuple[float, ...] = ()

    @classmethod
    def of(
        cls,
        label: str,
        points: Iterable[tuple[float, float, str, int]],
        tone: int,
        *,
        owner: str = "",
        hollow: bool = False,
    ) -> Series:
        """Points, each as x, y, its hint, and the number of the attempt behind it."""
        x, y, hints, behind = tuple(zip(*points, strict=True)) or ((),) * 4
        return cls(
            label, x, y, "points", tone, hints=hints, owner=owner, behind=behind, hollow=hollow
        )


@dataclass(frozen=True, repr=False)
class Figure:
    """A titled plane with series. `name` is the stem of its files, `description` its text for those
    who cannot see it.

    categories   words under the places 0, 1, 2, ... of the x axis, instead of numbers
    rows         words next to the places 0, 1, 2, ... of the y axis, from the top, instead of
                 numbers
    y_range      ends of the y axis; None: what the series need
    zone_from    the x from which on the ground is shaded
    """

    name: str
    title: str
    subtitle: str
    x_label: str
    y_label: str
    series: tuple[Series, ...] = ()
    description: str = ""
    log_x: bool = False
    log_y: bool = False
    categories: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    y_range: Range | None = None
    zone_from: float | None = None

    def save(self, path: str | PathLike[str]) -> None:
        """Write the figure as an SVG file, or as a PDF file if the name ends in `.pdf`, all or
        nothing. Raises FileError, and InputError for PDF without CairoSVG.
        """
        draw = pdf_writer() if fspath(path).endswith(".pdf") else _standalone_bytes
        content = draw(self)
        with replacing(path, overwrite=True) as stream:
            stream.write(content)

    def __bool__(self) -> bool:
        return bool(self.series)

    def __repr__(self) -> str:
        return f"Figure({self.title!r}, {len(self.series)} series)"

    def _repr_html_(self) -> str:
        return f"<h4>{escape(self.title)}</h4>{render_inline(self)}"

    def x_axis(self) -> tuple[Range, list[Tick]]:
        """Ends and ticks of the x axis."""
        if self.categories:
            return (-0.6, len(self.categories) - 0.4), [
                (float(k), words) for k, words in enumerate(self.categories)
            ]
        values = [value for series in self.series for value in series.x]
        if self.zone_from is not None:
            values += [self.zone_from, 10.0 * self.zone_from]
        ends = extent(values, self.log_x, padded=bool(self.rows))
        marks = ticks(ends, self.log_x)
        if not self.log_x and all(float(value).is_integer() for value in values):
            marks = _whole_ticks(marks)
        return ends, marks

    def y_axis(self) -> tuple[Range, list[Tick]]:
        """Ends and ticks of the y axis."""
        if self.rows:
            return (len(self.rows) - 0.5, -0.5), [
                (float(k), words) for k, words in enumerate(self.rows)
            ]
        values = [
            value for series in self.series for value in (*series.y, *series.low, *series.high)
        ]
        ends = self.y_range or extent(values, self.log_y, padded=True)
        return ends, ticks(ends, self.log_y)


def _standalone_bytes(figure: Figure) -> bytes:
    """The figure as the bytes of an SVG file."""
    return standalone(figure).encode()


def pdf_writer() -> Callable[[Figure], bytes]:
    """What makes the bytes of a PDF file of a figure, in its light colours. Raises InputError
    without CairoSVG.
    """
    try:
        from cairosvg import svg2pdf
    except (ImportError, OSError) as error:  # OSError: without the library cairo
        raise InputError(f"PDF needs CairoSVG ({error}); pip install 'discreet[pdf]'") from None
    return lambda figure: bytes(svg2pdf(bytestring=_standalone_bytes(figure)))


def svg_files(figures: Iterable[Figure]) -> dict[str, str | bytes]:
    """NAME.svg and its text for each figure that shows anything."""
    return {f"{figure.name}.svg": standalone(figure) for figure in figures if figure}


def extent(values: Iterable[float], log: bool, *, padded: bool) -> Range:
    """Ends of an axis that shows all finite values (the positive ones on a logarithmic axis)."""
    shown = [value for value in values if math.isfinite(value) and (value > 0.0 or not log)]
    low = min(shown, default=1.0)
    high = max(shown, default=1.0)
    if log:
        reach = 0.04 * math.log(high / low) if high > low else math.log(2.0)
        return (
            (low * math.exp(-reach), high * math.exp(reach))
            if padded or high == low
            else (low, high)
        )
    if high == low:
        reach = 0.5 * abs(high) or 1.0
        return low - reach, high + reach
    reach = 0.05 * (high - low) if padded else 0.0
    return (low - reach if low != 0.0 else low), high + reach


def ticks(ends: Range, log: bool) -> list[Tick]:
    """Places and words of at most about six ticks inside the ends."""
    return _log_ticks(ends) if log else _linear_ticks(ends)


def _linear_ticks(ends: Range) -> list[Tick]:
    rough = (ends[1] - ends[0]) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(
        factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough * (1.0 - 1e-9)
    )
    first = math.ceil(ends[0] / step - 1e-9)
    places = [k * step for k in range(first, math.floor(ends[1] / step + 1e-9) + 1)]
    return [
        (place, words) for place, words in zip(places, _format_alike(places, step), strict=True)
    ]


def _whole_ticks(marks: Sequence[Tick]) -> list[Tick]:
    """The ticks at whole numbers, for axes that count, such as sensors."""
    places = [place for place, _ in marks if abs(place - round(place)) < 1e-9]
    if len(places) == len(marks):
        return [*marks]
    return [(place, f"{place:.0f}") for place in places]


def _format_alike(places: Sequence[float], step: float) -> list[str]:
    """Format all places with one number of decimals, or one power of ten."""
    largest = max(abs(place) for place in places)
    if largest == 0.0 or 1e-3 <= largest < 1e5:
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        return [f"{place:.{decimals}f}" for place in places]
    exponent = math.floor(math.log10(largest) + 1e-9)
    decimals = max(0, exponent - math.floor(math.log10(step) + 1e-9))
    power = numerals.scientific(10.0**exponent) if not -3 <= exponent < 3 else f"{10.0**exponent:g}"
    return [
        "0" if place == 0.0 else f"{place / 10.0**exponent:.{decimals}f}·{power}"
        for place in places
    ]


def _log_ticks(ends: Range) -> list[Tick]:
    low = math.log10(ends[0])
    high = math.log10(ends[1])
    decades = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
    if len(decades) >= 3:
        stride = math.ceil(len(decades) / 6)
        return [(10.0**e, numerals.scientific(10.0**e)) for e in decades if e % stride == 0]
    exponents = range(math.floor(low), math.ceil(high) + 1)
    for factors in ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        places = [factor * 10.0**e for e in exponents for factor in factors]
        inside = [
            place for place in places if ends[0] * (1.0 - 1e-9) <= place <= ends[1] * (1.0 + 1e-9)
        ]
        if len(inside) >= 3:
            return [(place, numerals.number(place, 2)) for place in inside]
    return _linear_ticks(ends)
