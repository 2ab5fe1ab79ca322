"""Waiting for another process: the only place where a test reads a clock.

The limit is a safety net, far above what any machine needs; no test passes or fails by the time it
took.
"""

import os
import time
from pathlib import Path


def within(seconds, condition):
    """Whether the condition becomes true within the limit; it is checked every 20 ms."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def is_alive(pid):
    """Return whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")
