"""Named, parametrised, seeded problems in one registry: `entries()`, `entry(name)`, `build(name, ...)`.

Every builder is a pure function of its parameters; it takes `budget` or `equivocation` (nats) or `fraction` (of what the
Bayes rule leaks), and without any of them uses half of the Bayes rule's leakage.
"""

from __future__ import annotations

from discreet.problems.catalog.paper import paper_multi, paper_single
from discreet.problems.catalog.registry import DEFAULT_FRACTION, Entry, Parameter, build, entries, entry

__all__ = ["DEFAULT_FRACTION", "Entry", "Parameter", "build", "entries", "entry", "paper_multi", "paper_single"]
