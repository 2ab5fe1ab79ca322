"""`auto`: the best backend there is, as a policy of the loop.

Backends are asked in the order of their preference, each only if it can run here and serves the problem. The first answer
that the judge certifies within the asked gap is taken; if there is none, the one with the narrowest bracket. Whatever a
backend raises, the next one is asked; the time limit is for all of them together. `claimed` says which one answered.
"""

from __future__ import annotations

from discreet.backends.contract import Capabilities, Kind, Regime


class Auto:
    """Chooses for you; for any kind of problem, budget and size that some available backend serves."""

    name = "auto"
    preference = ("tilt", "blahut-arimoto", "conic", "highs", "slsqp", "intervals")
    """None of them a peer; in the order of certified accuracy, then speed, where published."""
    capabilities = Capabilities(
        regimes=frozenset(Regime),
        largest_outcomes=100_000_000,
        gives_duals=True,
        method="the first of " + ", ".join(preference) + " that is certified",
        citation="discreet, docs/reference/backends.md",
        kinds=frozenset(Kind),
        method_class="structured",
    )
