"""Waiting for what another process does: the only place where a test reads a clock.

A limit is a safety net, far above what any machine needs; nothing passes or fails by how long it took.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["within"]


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether the condition became true before the limit; asked every 20 ms."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()
