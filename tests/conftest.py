"""What holds for every test: threads, Ctrl-C, and how Hypothesis looks for examples.

Numerical libraries get one thread, unless the environment says otherwise: the workers of pytest-xdist share the cores.

The tests start some hundred processes. Where PYTHONDONTWRITEBYTECODE is set, each of them would compile every module that it
imports; the cache of pytest keeps their bytecode instead, and the checkout and the environment stay as they are.

A process that was started in the background ignores Ctrl-C, and so would every process that a test starts and interrupts:
here it is heard again.

Hypothesis has no deadline, since machines differ, and takes the same examples on every run; HYPOTHESIS_PROFILE=search looks
for new ones, many more of them.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from hypothesis import settings

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
