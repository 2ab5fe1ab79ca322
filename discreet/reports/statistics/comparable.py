"""Which times may be compared: those of attempts that ran alone, and of others whose control says
that nothing slowed them.

An attempt that ran beside others, or on a machine that may run other things, is *shared*. Its time
counts where the control, before and after it, took within 5 % of its median over the attempts that
ran alone, or over all where none did. Accuracy does not depend on any of this: what is certified
counts wherever it ran.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from discreet.reports.measurements import Measurement

WITHIN = 0.05
"""How far a control may be from the median, relative to it."""


def control_of(rows: Sequence[Measurement]) -> float:
    """The median seconds of the control over the rows that ran alone, or over all if none did; nan
    without a control.
    """
    own = [row for row in rows if not row.submitted]
    alone = [row for row in own if not row.shared]
    found = [seconds for row in alone or own for seconds in row.control_seconds]
    return median(found) if found else math.nan


def comparable(row: Measurement, control: float) -> bool:
    """Whether the time of a row may be set beside others, given the median of the control; nan: no
    control is known.
    """
    if not row.shared:
        return True
    return bool(row.control_seconds) and all(
        abs(each - control) <= WITHIN * control for each in row.control_seconds
    )
