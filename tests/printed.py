"""Compares what a program printed with what a page shows, without regard to the last digit of a
machine's arithmetic.

A value that lies near the middle between two printed numbers may be rounded either way by another
processor, BLAS or libm. So a number that is shown with a decimal point or an exponent stands for
itself and for both neighbours in its last digit. Pages show few digits, and only this
changes. Whole numbers and words must be equal, runs of blanks are equal, and `...` stands for
anything.
"""

import re
from decimal import Decimal

_TOKEN = re.compile(
    r"(?P<anything>\.\.\.)|(?P<number>(?<![\w.])(?:\d+\.\d+|\d+(?=e[-+]\d))(?!\d|\.\d|\.\.\.))"
)


def agrees(shown, printed):
    """Whether the printed text is the one that is shown, as described above."""
    wanted = " ".join(shown.split())
    pattern = []
    end = 0
    for token in _TOKEN.finditer(wanted):
        pattern.append(re.escape(wanted[end : token.start()]))
        pattern.append(".*?" if token["anything"] else _neighbours(token["number"]))
        end = token.end()
    pattern.append(re.escape(wanted[end:]))
    return re.fullmatch("".join(pattern), " ".join(printed.split()), re.DOTALL) is not None


def _neighbours(number):
    """A regular expression for a number and for those that differ from it by one unit of the last
    digit.
    """
    value = Decimal(number)
    unit = Decimal((0, (1,), int(value.as_tuple().exponent)))
    return (
        "(?:"
        + "|".join(re.escape(f"{each:f}") for each in (value, value + unit, value - unit))
        + ")"
    )
