"""Two pictures of a comparison as plain SVG, drawn here so that a report needs no plotting library.

`leakage_charts`: what each answer claims to keep against what it leaks. `bracket_charts`: how far each contestant's
certified bracket reaches below and above the optimum. Both use strips on a *two-sided logarithmic* axis: the middle is the
budget (or the optimum) itself, each side counts decades away from it, and everything nearer than `floor` sits on the middle.
At budget 0 leakage is ‖Φ P‖∞ on a one-sided axis.

Status is told by shape as well as colour. Colours are CSS variables with a dark scheme, so the same fragment serves inside
the page and as a file of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from discreet.backends.solution import PERFECT_PRIVACY_TOLERANCE, PRIVACY_TOLERANCE, Status
from discreet.reports import wording
from discreet.reports.compare import CaseFacts, Comparison, Row

__all__ = ["PLOT_STYLE", "Axis", "Chart", "bracket_charts", "leakage_charts", "sheet"]

PLOT_STYLE = """
.dc{overflow:visible;--ink:#1b2430;--soft:#5b6775;--line:#d5dbe2;--paper:#ffffff;
--good:#0b7a75;--fair:#b25e00;--bad:#c2255c;--zone:#fbe9ef;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
.dc text{fill:var(--ink);font-size:12px}.dc .soft{fill:var(--soft);font-size:11px}.dc .tick{fill:var(--soft);font-size:10px}
.dc .head{font-size:13px;font-weight:600}.dc .grid{stroke:var(--line);stroke-width:1}
.dc .axis{stroke:var(--soft);stroke-width:1.4}
.dc .zone{fill:var(--zone)}
.dc .certified{fill:var(--good);stroke:var(--good)}.dc .inaccurate{fill:var(--fair);stroke:var(--fair)}
.dc .violated-privacy{fill:var(--bad);stroke:var(--bad)}.dc .bar{stroke-width:3;stroke-linecap:round;opacity:.55}
.dc .paper{fill:var(--paper)}
@media (prefers-color-scheme:dark){.dc{--ink:#e8edf3;--soft:#a3afbd;--line:#37414d;--paper:#161b22;--good:#4fd1c5;
--fair:#f6ad55;--bad:#ff7aa8;--zone:#3a2230}}
"""

_WIDTH = 372.0  # about a phone's, so that text keeps its size there
_GUTTER = 126.0  # for the names on the left
_MARGIN = 8.0
_REMARKS = 80.0  # for a remark at the end of every line
_TOP = 58.0
_ROW = 26.0
_FOOT = 30.0
_LONGEST_NAME = 17  # characters that fit there


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis from 10^floor to 10^ceiling; two-sided: mirrored about a middle that stands for zero."""

    floor: int
    ceiling: int
    two_sided: bool

    def place(self, value: float) -> float:
        """Position of a value in [0, 1]; values beyond an end sit on it, smaller ones on the middle (or the left end)."""
        share = 0.0
        if abs(value) > 10.0**self.floor:
            decades = math.log10(min(abs(value), 10.0**self.ceiling)) - self.floor
            share = decades / (self.ceiling - self.floor)
        if self.two_sided:
            return 0.5 + 0.5 * math.copysign(share, value)
        return share if value > 0.0 else 0.0

    def ticks(self, step: int = 4) -> list[tuple[float, str]]:
        """Positions and labels: powers that are multiples of `step` (2 · `step` when two-sided), and the middle."""
        top = step * (self.ceiling // step)
        exponents = [e for e in range(top, self.floor, -step) if e - self.floor >= step - 1]
        if self.two_sided:  # half as much room
            exponents = [e for e in exponents if e % (2 * step) == 0]
        signs = (-1.0, 1.0) if self.two_sided else (1.0,)
        marks = [(self.place(sign * 10.0**e), _power(e)) for e in exponents for sign in signs]
        return sorted([*marks, (0.5, "0")] if self.two_sided else marks)


@dataclass(frozen=True)
class _Strip:
    """One contestant's line: a mark, or a bar between two values, in the tone of its status; or only a remark."""

    name: str
    status: Status
    remark: str
    hint: str
    mark: float | None = None
    bar: tuple[float, float] | None = None


@dataclass(frozen=True)
class Chart:
    """One drawing for one case. `svg` is a complete <svg> element without style; see `PLOT_STYLE`.

    title      the case
    subject    what is drawn
    subtitle   how to read it
    """

    title: str
    subject: str
    subtitle: str
    description: str
    axis: Axis
    tolerance: float | None
    sides: tuple[str, str]
    strips: tuple[_Strip, ...]

    @property
    def height(self) -> float:
        """In the units of the view box, whose width is the same for every chart."""
        return _TOP + _ROW * len(self.strips) + _FOOT

    def svg(self, style: str = "") -> str:
        """The element; `style` is put inside when it is to stand alone."""
        inside = f"<style>{style}</style>" if style else ""
        return (
            f'<svg class="dc" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {self.height:g}" role="img" '
            f'aria-label="{escape(self.title)}. {escape(self.description)}">{inside}{self.body(self.subject)}</svg>'
        )

    def body(self, heading: str) -> str:
        """The drawing itself under a heading, for an <svg> or a <g>."""
        parts = [
            _text(_MARGIN, 18, heading, "head"),
            _text(_MARGIN, 35, self.subtitle, "soft"),
            self._zone(),
            self._grid(),
            *(self._strip(strip, _TOP + _ROW * (k + 0.5)) for k, strip in enumerate(self.strips)),
        ]
        return "".join(parts)

    def _x(self, share: float) -> float:
        return _GUTTER + share * (_WIDTH - _GUTTER - _REMARKS)

    def _zone(self) -> str:
        if self.tolerance is None:
            return ""
        left, right = self._x(self.axis.place(self.tolerance)), self._x(1.0)
        height = _ROW * len(self.strips)
        return f'<rect class="zone" x="{left:.1f}" y="{_TOP:g}" width="{right - left:.1f}" height="{height:g}"/>'

    def _grid(self) -> str:
        bottom = _TOP + _ROW * len(self.strips)
        parts = [
            _text(self._x(0.0), _TOP - 7, self.sides[0], "tick"),
            _text(self._x(1.0), _TOP - 7, self.sides[1], "tick", anchor="end"),
        ]
        for share, label in self.axis.ticks():
            middle = self.axis.two_sided and share == 0.5
            x = self._x(share)
            parts.append(f'<path class="{"axis" if middle else "grid"}" d="M{x:.1f} {_TOP:g}V{bottom + 4:g}"/>')
            parts.append(_text(x, bottom + 17, label, "tick", anchor="middle"))
        return "".join(parts)

    def _strip(self, strip: _Strip, y: float) -> str:
        name = strip.name if len(strip.name) <= _LONGEST_NAME else strip.name[: _LONGEST_NAME - 1] + "…"
        parts = [f"<title>{escape(strip.hint)}</title>", _text(_GUTTER - 10, y + 4, name, anchor="end")]
        parts.append(_text(_WIDTH - _MARGIN / 2, y + 4, strip.remark, "soft", anchor="end"))
        if strip.mark is None and strip.bar is None:
            return f"<g>{''.join(parts)}</g>"
        if strip.bar is not None:
            left, right = (self._x(self.axis.place(value)) for value in strip.bar)
            parts.append(f'<path class="bar {strip.status.value}" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
            parts.append(_symbol(left, y, strip.status, 3.2))
        else:
            right = self._x(self.axis.place(strip.mark or 0.0))
        parts.append(_symbol(right, y, strip.status, 5.2))
        return f"<g>{''.join(parts)}</g>"


def leakage_charts(comparison: Comparison) -> tuple[Chart, ...]:
    """Claimed against true leakage, one chart per case that has a budget."""
    return tuple(
        _leakage_chart(case, comparison.rows_of(case.title)) for case in comparison.cases if math.isfinite(case.budget_nats)
    )


def bracket_charts(comparison: Comparison) -> tuple[Chart, ...]:
    """The certified bracket of every contestant around the optimum, one chart per case."""
    return tuple(_bracket_chart(case, comparison.rows_of(case.title)) for case in comparison.cases)


def sheet(charts: Sequence[Chart], heading: str) -> str:
    """All charts as one standalone SVG file, two a row."""
    columns = min(2, max(1, len(charts)))
    places, y = [], 44.0
    for start in range(0, len(charts), columns):
        row = charts[start : start + columns]
        places += [(k * _WIDTH, y, chart) for k, chart in enumerate(row)]
        y += max(chart.height for chart in row) + 12
    body = "".join(f'<g transform="translate({x:g} {top:g})">{chart.body(chart.title)}</g>' for x, top, chart in places)
    width = columns * _WIDTH
    return (
        f'<svg class="dc" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {y:g}" width="{width:g}" height="{y:g}" '
        f'role="img" aria-label="{escape(heading)}"><style>{PLOT_STYLE}</style>'
        f'<rect class="paper" width="100%" height="100%"/>{_text(_MARGIN, 28, heading, "head")}{body}</svg>'
    )


def _leakage_chart(case: CaseFacts, rows: Sequence[Row]) -> Chart:
    perfect = case.budget_nats == 0.0
    largest = max((abs(row.excess) for row in rows if row.answered), default=1.0)
    ceiling = 0 if perfect else _decades(largest)
    words = [f"{row.contestant} {wording.excess(row)}" for row in rows if row.answered]
    return Chart(
        title=case.title,
        subject="Claimed against true leakage",
        subtitle="largest entry of ΦP, which perfect privacy makes 0" if perfect else "true leakage ÷ the budget, minus 1",
        description=f"True leakage against the budget: {_listed(words)}.",
        axis=Axis(-18 if perfect else -16, ceiling, not perfect),
        tolerance=PERFECT_PRIVACY_TOLERANCE if perfect else PRIVACY_TOLERANCE,
        sides=("leaks nothing", "leaks →") if perfect else ("← keeps it", "leaks more →"),
        strips=tuple(_strip_of(row, wording.excess(row), mark=row.excess) for row in rows),
    )


def _bracket_chart(case: CaseFacts, rows: Sequence[Row]) -> Chart:
    optimum = case.optimum
    reach = {row.contestant: _reach(row, optimum) for row in rows if row.answered}
    largest = max((max(-low, high) for low, high in reach.values()), default=1.0)
    words = [f"{row.contestant} relative gap {wording.scientific(row.relative_gap)}" for row in rows if row.answered]
    return Chart(
        title=case.title,
        subject="Certified brackets",
        subtitle=f"distance from the optimum {wording.bracket(case.lower_bound, case.upper_bound)}, relative",
        description=f"Certified brackets: {_listed(words)}.",
        axis=Axis(-16, _decades(largest), True),
        tolerance=None,
        sides=("← proven bound", "reached →"),
        strips=tuple(
            _strip_of(row, f"gap {wording.scientific(row.relative_gap)}", bar=reach.get(row.contestant)) for row in rows
        ),
    )


def _decades(largest: float) -> int:
    """The exponent of the power of ten at or above a value, 0 at least."""
    return max(0, math.ceil(math.log10(max(largest, 1.0)) - 1e-9))


def _reach(row: Row, optimum: float) -> tuple[float, float]:
    """How far the bracket reaches below (≤ 0) and above (≥ 0) the optimum, relative to it."""
    if optimum == 0.0:
        return 0.0, row.error_probability
    return min(0.0, row.lower_bound / optimum - 1.0), max(0.0, row.error_probability / optimum - 1.0)


def _strip_of(row: Row, remark: str, *, mark: float | None = None, bar: tuple[float, float] | None = None) -> _Strip:
    if not row.answered:
        return _Strip(row.contestant, row.status, row.status.value, f"{row.contestant}: {row.message}")
    claim = f", claimed {row.claimed}" if row.claimed else ""
    hint = f"{row.contestant}: {row.status.value}{claim}; {remark}"
    return _Strip(row.contestant, row.status, remark, hint, mark, bar)


def _symbol(x: float, y: float, status: Status, size: float) -> str:
    """A disc for certified, a diamond for inaccurate, a cross for violated privacy."""
    if status is Status.CERTIFIED:
        return f'<circle class="certified" cx="{x:.1f}" cy="{y:.1f}" r="{size:g}"/>'
    if status is Status.INACCURATE:
        corners = f"l{size:g} {size:g}l-{size:g} {size:g}l-{size:g} -{size:g}z"
        return f'<path class="inaccurate" d="M{x:.1f} {y - size:.1f}{corners}"/>'
    arm = 0.85 * size
    return (
        f'<path class="violated-privacy" style="fill:none;stroke-width:2.6;stroke-linecap:round" '
        f'd="M{x - arm:.1f} {y - arm:.1f}l{2 * arm:g} {2 * arm:g}m0 -{2 * arm:g}l-{2 * arm:g} {2 * arm:g}"/>'
    )


def _text(x: float, y: float, words: str, css: str = "", *, anchor: str = "") -> str:
    classes = f' class="{css}"' if css else ""
    place = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text{classes} x="{x:.1f}" y="{y:.1f}"{place}>{escape(words)}</text>'


def _power(exponent: int) -> str:
    return wording.scientific(10.0**exponent) if exponent < 0 else f"{10**exponent:,}"


def _listed(words: Iterable[str]) -> str:
    return "; ".join(words) or "nobody answered"
