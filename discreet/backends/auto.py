"""`auto`: the best available backend, as a policy of the loop.

Backends are tried in the order of preference; those that cannot run here or do not serve the
problem are skipped. The first answer that the judge certifies within the requested gap is returned;
if there is none, the answer with the narrowest bracket. If a backend raises an exception, the next
is tried. The time limit covers all of them. `claimed` names the backend that answered.
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
    """In the order of certified accuracy, then of speed; without peers."""
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
