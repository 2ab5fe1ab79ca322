"""Hypothesis for every test: no deadline, since machines differ, and the same examples on every run.

HYPOTHESIS_PROFILE=search looks for new examples, many more of them.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
