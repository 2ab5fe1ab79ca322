"""Benchmarks of discreet for airspeed velocity (asv); see README.md in this folder.

Numerical libraries get one thread, unless the environment says otherwise: they read it once, when
they are loaded.
"""

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
