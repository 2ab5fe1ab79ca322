"""Named, parametrised, seeded problems in one registry: `entries()`, `entry(name)`, `build(name,
...)`.

Every builder is a pure function of its parameters; it takes `budget` or `equivocation` (nats) or
`fraction` (of the leakage of the Bayes rule). Without any of them the budget is half of the leakage
of the Bayes rule, unless the docstring states otherwise. Another package adds builders with
`register`, in a module that an entry point of the group `discreet.problems` names.
"""

from discreet.problems.catalog import (
    adversarial,
    applications,
    disclosure,
    heterogeneous,
    paper,
    random_,
    surveys,
)
from discreet.problems.catalog.registry import (
    Entry,
    Number,
    Whole,
    build,
    entries,
    entry,
    register,
)

__all__ = ["Entry", "Number", "Whole", "build", "entries", "entry", "register"]
