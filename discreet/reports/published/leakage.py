"""The picture that matters: what every answer called "optimal" really leaks, as a multiple of its budget, by backend.

One line a backend on a logarithmic axis; the budget is 1, and what lies right of it breaks the promise. Marks of one line
are spread vertically in a fixed pattern so that they do not hide one another; ratios under a hundredth sit on the left edge.
At budget 0 the ratio is ‖ΦP‖∞ ÷ what counts as zero, and the mark is hollow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from discreet.reports import wording
from discreet.reports.figure_svg import FIGURE_STYLE
from discreet.reports.statistics.claims import Leak

__all__ = ["leakage_picture"]

_WIDTH, _ROW, _TOP, _FOOT = 720.0, 30.0, 86.0, 50.0
_LEFT, _RIGHT = 168.0, 118.0
_LEAST = 1e-2
_LANES = (0.0, -5.0, 5.0, -9.0, 9.0)
_NAME = 23
_STYLE = """
.fig .zone{fill:#c2255c;opacity:.08}.fig .kept{fill:var(--t2);stroke:var(--t2)}.fig .broke{fill:#c2255c;stroke:#c2255c}
.fig .dot{fill-opacity:.6;stroke-width:1}.fig .hollow{fill-opacity:0;stroke-width:1.4}.fig .bad{fill:#c2255c;font-weight:600}
@media (prefers-color-scheme:dark){.fig .broke{fill:#ff7aa8;stroke:#ff7aa8}.fig .bad{fill:#ff7aa8}.fig .zone{fill:#ff7aa8}}
"""


def leakage_picture(leaks: Sequence[Leak]) -> str:
    """The text of an SVG file. `leaks` are of answers that their backends called solved."""
    names = sorted({leak.contestant for leak in leaks}, key=lambda name: (_worst(leaks, name), name))
    top = max(10.0, *(leak.ratio for leak in leaks if math.isfinite(leak.ratio))) if leaks else 10.0
    decades = (math.log10(_LEAST), math.ceil(math.log10(top)))
    height = _TOP + _ROW * len(names) + _FOOT

    def place(ratio: float) -> float:
        share = (math.log10(min(max(ratio, _LEAST), 10.0 ** decades[1])) - decades[0]) / (decades[1] - decades[0])
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    bottom = _TOP + _ROW * len(names)
    parts = [
        _text(12, 24, 'What answers called "optimal" really leak', "title"),
        _text(12, 44, "true leakage ÷ budget of every answer its backend called solved; 1 is the budget", "soft"),
        _text(12, 62, "hollow: perfect privacy, largest entry of ΦP ÷ what counts as zero", "soft"),
        f'<rect class="zone" x="{place(1.0):.1f}" y="{_TOP:g}" width="{_WIDTH - _RIGHT - place(1.0):.1f}" '
        f'height="{bottom - _TOP:g}"/>',
        *_axis(decades, place, bottom),
    ]
    for k, name in enumerate(names):
        parts += _line([leak for leak in leaks if leak.contestant == name], name, _TOP + _ROW * (k + 0.5), place)
    words = "; ".join(f"{name}: largest {_times(_worst(leaks, name))}" for name in names) or "nobody claimed a success"
    return (
        f'<svg class="fig" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {height:g}" width="{_WIDTH:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(f"True leakage over budget of claimed successes. {words}.")}">'
        f'<style>{FIGURE_STYLE}{_STYLE}</style><rect class="paper" width="100%" height="100%"/>{"".join(parts)}</svg>\n'
    )


def _axis(decades: tuple[float, float], place: Callable[[float], float], bottom: float) -> list[str]:
    low, high = int(decades[0]), int(decades[1])
    stride = max(1, math.ceil((high - low) / 9))
    parts = []
    for exponent in range(low, high + 1):
        if exponent % stride == 0:
            x = place(10.0**exponent)
            css = "axis" if exponent == 0 else "grid"
            words = (
                f"≤ {10.0**exponent:g}" if exponent == low else "1" if exponent == 0 else wording.scientific(10.0**exponent)
            )
            parts.append(f'<path class="{css}" d="M{x:.1f} {_TOP:g}V{bottom + 4:g}"/>')
            parts.append(_text(x, bottom + 18, words, "tick", "middle"))
    parts.append(_text(place(1.0) + 6, bottom + 38, "breaks the budget →", "soft"))
    parts.append(_text(place(1.0) - 6, bottom + 38, "← keeps it", "soft", "end"))
    parts.append(_text(_WIDTH - 12, _TOP - 7, "broken of claimed", "tick", "end"))
    return parts


def _line(own: Sequence[Leak], name: str, y: float, place: Callable[[float], float]) -> list[str]:
    broken = sum(leak.violated for leak in own)
    shown = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
    right = f"{_WIDTH - _RIGHT:g}"
    parts = [
        f'<path class="grid" d="M{_LEFT:g} {y:.1f}H{right}"/>',
        _text(_LEFT - 14, y + 4, shown, "", "end"),
        _text(_WIDTH - 12, y + 4, f"{broken} of {len(own)}", "bad" if broken else "soft", "end"),
    ]
    for k, leak in enumerate(sorted(own, key=lambda leak: leak.ratio)):
        css = f"{'broke' if leak.violated else 'kept'} {'hollow' if leak.regime == 'perfect' else 'dot'}"
        hint = f"{leak.contestant} on {leak.instance}: claimed {leak.claimed!r}, leaks {_times(leak.ratio)} the budget"
        parts.append(
            f'<circle class="{css}" cx="{place(leak.ratio):.1f}" cy="{y + _LANES[k % len(_LANES)]:.1f}" r="3.4">'
            f"<title>{escape(hint)}</title></circle>"
        )
    return parts


def _worst(leaks: Sequence[Leak], name: str) -> float:
    return max(leak.ratio for leak in leaks if leak.contestant == name)


def _times(ratio: float) -> str:
    return f"{wording.scientific(ratio)} ×"


def _text(x: float, y: float, words: str, css: str = "", anchor: str = "") -> str:
    place = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}"{place}>{escape(words)}</text>'
