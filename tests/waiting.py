"""Waiting for another process: the only place where a test reads a clock.

The limit is a safety net, far above what any machine needs; no test passes or fails by the time it
took.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["within"]


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether the condition becomes true within the limit; it is checked every 20 ms."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()
