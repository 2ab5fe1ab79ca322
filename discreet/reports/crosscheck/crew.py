"""One backend through a list of instances, in as few processes as its behaviour allows.

Starting a process and importing a modelling library takes longer than solving a small instance, so one process serves the
whole list. A crash, or an attempt past its time limit, costs that attempt and a new process for the rest. A process that
is not even ready in time, or three deaths in a row, end the list: what is left is failed with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from discreet.backends.contract import Options
from discreet.backends.isolated import failed_start, next_attempt, spawn
from discreet.backends.run import Attempt
from discreet.backends.solution import Status
from discreet.problems.problem import Problem

NOT_REACHED = "not reached: the time given to this backend was over"
"""Message of an attempt that was never made."""


def attempts(backend: str, problems: Sequence[Problem], gap: float, time_limit: float, seconds: float) -> list[Attempt]:
    """What the backend made of each problem, not yet judged.

    time_limit   seconds per attempt, then its process is killed
    seconds      for all of them; those not begun by then are timed out with the message `NOT_REACHED`
    """
    ends = time.monotonic() + seconds
    done: list[Attempt] = []
    deaths, most = 0, 3
    while len(done) < len(problems) and deaths < most and (not done or time.monotonic() < ends):
        before = len(done)
        fault = _shift(backend, problems, done, Options(gap, time_limit), ends)
        deaths = 0 if len(done) > before or fault is None else deaths + 1
        if fault is not None:
            done.append(fault)
    rest = Attempt(backend, None, Status.TIMED_OUT, NOT_REACHED)
    if deaths == most:
        rest = Attempt(backend, None, Status.FAILED, f"given up after {most} processes ended")
    return [*done, *[rest] * (len(problems) - len(done))]


def _shift(backend: str, problems: Sequence[Problem], done: list[Attempt], options: Options, ends: float) -> Attempt | None:
    """Serve in one process until the list or the time is over (None), or until it ends early: the attempt that did it."""
    with spawn(problems[len(done) :], backend, options, threads=1) as child:  # several crews work at once
        fault = failed_start(child, backend)
        while fault is None and len(done) < len(problems) and time.monotonic() <= ends:
            found = next_attempt(child, backend, options.time_limit)
            if child.ended:
                return found
            done.append(found)
    return fault
