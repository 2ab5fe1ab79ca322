"""How numbers are written: the same words in the terminal, on pages and in figures."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

from discreet.checks import at_most

NOTHING = "–"
"""Stands for a number that there is not."""

_DIGITS = 12


def bracket(lower: float, upper: float) -> str:
    """A certified bracket with the digits both ends share written once: 0.0173763544[120, 390]; 12
    significant digits.
    """
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return NOTHING
    if upper == 0.0:
        return "0"
    decimals = _DIGITS - 1 - math.floor(math.log10(upper))
    if decimals > 2 * _DIGITS:
        low = f"{lower:.{_DIGITS - 1}e}"
        high = f"{upper:.{_DIGITS - 1}e}"
    else:
        low = f"{lower:.{decimals}f}"
        high = f"{upper:.{decimals}f}"
    if low == high:
        return high
    shared = next(
        (k for k, (a, b) in enumerate(zip(low, high, strict=False)) if a != b),
        min(len(low), len(high)),
    )
    if "e" in high or shared < 4:
        return f"[{lower:.4g}, {upper:.4g}]"
    end = min(len(low), len(high), shared + 3)  # digits after the first that differs say little
    return f"{high[:shared]}[{low[shared:end]}, {high[shared:end]}]"


def leakage(estimate: float, ceiling: float, unit: str = "nats") -> str:
    """A leakage and its proven upper bound, which is rounded up."""
    words = f"{estimate:.6g} {unit}".rstrip()
    if not math.isfinite(ceiling):
        return words
    return f"{words}, proven ≤ {at_most(ceiling, 9)}"


def outward(value: float | None, figures: int, *, up: bool) -> str:
    """A limit with `figures` significant figures, rounded outward; None is ∞."""
    if value is None:
        return "∞"
    direction = ROUND_CEILING if up else ROUND_FLOOR
    return number(
        float(Context(prec=figures, rounding=direction).create_decimal(repr(value))), figures
    )


def scientific(value: float, digits: int = 1) -> str:
    """3.2·10⁻⁷, without a mantissa that is one; plain figures between a thousandth
    and a thousand.
    """
    if value == 0.0 or not math.isfinite(value):
        return "0" if value == 0.0 else NOTHING
    if 1e-3 <= abs(value) < 1e3:
        return _plain(f"{value:.{digits + 1}g}")
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    superscript = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    power = f"10{str(int(exponent)).translate(superscript)}"
    return power if float(mantissa) == 1.0 else f"{mantissa}·{power}"


def number(value: float, figures: int) -> str:
    """A number with `figures` significant figures, with a power of ten where it is tiny."""
    if value == 0.0 or abs(value) >= 1e-4:
        return _plain(f"{value:.{figures}g}")
    return scientific(value, figures - 1)


def _plain(words: str) -> str:
    """1e+02 as 100; larger powers of ten stay as they are."""
    return f"{float(words):.0f}" if "e+0" in words and abs(float(words)) < 1e5 else words


def seconds(value: float) -> str:
    """Three significant digits; a dash for 0, the time of a step that was not reached."""
    return NOTHING if value == 0.0 else number(value, 3)


def span(seconds: float) -> str:
    """Seconds with two or three figures, down to microseconds."""
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        amount = seconds * factor
        if amount >= 0.995:
            return f"{amount:.2g} {unit}" if amount < 99.5 else f"{amount:.0f} {unit}"
    return f"{seconds * 1e6:.0f} µs"


def in_words(value: Any) -> Any:
    """Plain values with their numbers as words, whole ones in full, others in three figures; counts
    stay numbers.
    """
    match value:
        case dict():
            return {name: in_words(each) for name, each in value.items()}
        case list():
            return [in_words(each) for each in value]
        case float():
            in_full = value.is_integer() and abs(value) < 1e7
            return f"{value:,.0f}" if in_full else scientific(value, 2)
        case None:
            return NOTHING
        case _:
            return value


def information(nats: float) -> str:
    """An amount of information in nats and bits."""
    return f"{number(nats, 6)} nats ({number(nats / math.log(2.0), 4)} bits)"
