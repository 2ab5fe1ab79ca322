"""Waiting for another process: the only place where a test reads a clock.

The limit is a safety net, far above what any machine needs; no test passes or fails by the time it
took.
"""

import time


def within(seconds, condition):
    """Whether the condition becomes true within the limit; it is checked every 20 ms."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()
