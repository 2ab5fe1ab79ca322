"""Named, parametrised, seeded problems in one registry: `entries()`, `entry(name)`, `build(name, ...)`.

Every builder is a pure function of its parameters; it takes `budget` or `equivocation` (nats) or `fraction` (of what the
Bayes rule leaks), and without any of them uses half of the Bayes rule's leakage, unless its docstring says otherwise.
"""

from __future__ import annotations

from discreet.problems.catalog.adversarial import (
    duplicated,
    independent,
    near_deterministic,
    slack_budget,
    tiny_budget,
    x_equals_y,
    zero_mass,
)
from discreet.problems.catalog.applications import building, road, smart_meter
from discreet.problems.catalog.heterogeneous import multi_groups, multi_mixed
from discreet.problems.catalog.paper import paper_multi, paper_single
from discreet.problems.catalog.random_ import dirichlet, mixture, weighted_mixture
from discreet.problems.catalog.registry import DEFAULT_FRACTION, Entry, Parameter, build, entries, entry
from discreet.problems.catalog.surveys import anes96, fair

__all__ = [
    "DEFAULT_FRACTION",
    "Entry",
    "Parameter",
    "anes96",
    "build",
    "building",
    "dirichlet",
    "duplicated",
    "entries",
    "entry",
    "fair",
    "independent",
    "mixture",
    "multi_groups",
    "multi_mixed",
    "near_deterministic",
    "paper_multi",
    "paper_single",
    "road",
    "slack_budget",
    "smart_meter",
    "tiny_budget",
    "weighted_mixture",
    "x_equals_y",
    "zero_mass",
]
