"""`auto`: the best backend there is, as a policy of the loop.

Backends are asked in the order of preference, skipping those that cannot run here or do not serve
the problem. The first answer that the judge certifies within the asked gap is taken; if there is
none, the one with the narrowest bracket. If a backend raises an exception, the next is asked. The
time limit is for all together. `claimed` names the one that answered.
"""

from __future__ import annotations

from discreet.backends.contract import Capabilities, Kind, Policy, Regime
from discreet.measures.registry import CONDITIONAL, OTHERS


class Auto(Policy):
    """Chooses a backend for any kind of problem, budget and size that some available backend
    serves.
    """

    name = "auto"
    preference = ("tilt", "blahut-arimoto", "highs", "conic", "slsqp", "intervals", "sequence-form")
    """No peers; in the order of certified accuracy, then of speed."""
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=100_000_000,
        gives_duals=True,
        method="the first of " + ", ".join(preference) + " that is certified",
        citation="discreet, docs/reference/backends.md",
        kinds=frozenset(Kind),
        method_class="structured",
        measures=OTHERS.union(CONDITIONAL),
        several=True,
    )
