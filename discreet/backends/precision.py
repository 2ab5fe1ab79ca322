"""The precision policy of the project's own methods: every safety factor, floor and share of the gap, made once.

With u = 2⁻⁵³ two facts justify all of it (docs/theory.md, section 10):

1. A certified gap is what the solver leaves between its own bounds, plus what stating the answer as a rule costs, plus what
   the judge adds for rounding. A quarter of the gap for each leaves a quarter to spare.
2. A law that leaks ε has log ratios of about √(2 ε). Rounding each of its masses once, by u of itself, moves the leakage by
   up to u Σ |log r| ≈ u √(2 ε), that is by the share ρ = u √(2/ε) of the budget. Where the budget binds, μ ε is of the size
   of the error probability, so aiming inside the budget by a share s of it costs about s of the error probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.problems.constraint import Constrained

_UNIT = 2.0**-53


@dataclass(frozen=True)
class Precision:
    """What the solver aims at; relative to the error probability, or to the budget where a field says so.

    gap         asked for: certified (upper − lower) / upper ≤ gap
    bracket     of the solver's own bracket: gap/4 by fact 1; not below 2⁻⁴³ = 1024 u, as sums over up to 10⁸ outcomes, added
                up in chunks, keep about that many digits
    small       of the bracket of a small problem within the rounds: bracket/4, so that what cells waste may take the rest
    rare        mass of outcomes that may be merged, as a share of the Bayes rule's error probability: gap/64 (merging costs
                no more than the mass merged)
    rounding    ρ, of the budget: what rounding a law once moves; 0 where the budget is 0 or inf
    undercut    of the budget: how far inside it iterations aim. 8 ρ for the three roundings of an answer (its columns, its
                masses, their sums, each at most 2 ρ; 2 ρ to spare), and 2⁻⁴⁰ for what an iteration still leaks too much when
                it stops. At most half of the budget
    summed      of the budget: how far inside it tie classes of any number of outcomes aim: 16 ρ more, as sums over many
                millions of outcomes, added up in chunks, are off by up to about 8 u
    vertex      of the budget: how far inside it a vertex aims first, 5 ρ + 2⁻⁴⁴, as its masses are rounded and added up in
                plain sums; it proves its own leakage afterwards, and aims further inside while that is above the budget
    leak_free   largest |p(ŷ_i given x_j) − p(ŷ_i)| that counts as none at budget 0: 2⁻⁴⁴, half of what the judge allows
                (1e-13), as restoring the outcomes rounds once more
    contradicted  of what is added up to a tilted loss, and of μ w, as ratios r are rounded in tilts μ log r: by how much
                another guess must be better before a label is taken to be wrong: 2⁻⁵⁰ = 8 u, as n + 1 terms and a
                difference of two sums round by about that
    """

    gap: float
    bracket: float
    small: float
    rare: float
    rounding: float
    undercut: float
    summed: float
    vertex: float
    leak_free: float = 2.0**-44
    contradicted: float = 2.0**-50

    @classmethod
    def of(cls, problem: Constrained, gap: float) -> Precision:
        """The policy for a problem (of arrays or blocks) and the relative gap asked for."""
        budget = problem.budget
        rounding = _UNIT * math.sqrt(2.0 / budget) if 0.0 < budget < math.inf else 0.0
        bracket = max(2.0**-43, gap / 4)
        return cls(
            gap=gap,
            bracket=bracket,
            small=max(2.0**-43, bracket / 4),
            rare=gap / 64,
            rounding=rounding,
            undercut=min(0.5, 2.0**-40 + 8.0 * rounding),
            summed=min(0.5, 2.0**-40 + 24.0 * rounding),
            vertex=min(0.5, 2.0**-44 + 5.0 * rounding),
        )

    @property
    def unresolved(self) -> bool:
        """Whether the budget cannot be told from nothing: ρ > 2⁻⁹, that is ε < 2⁻⁸⁷ ≈ 6e-27 nats.

        Rounding would move the leakage by more than a five-hundredth of the budget; perfect privacy is solved instead.
        """
        return self.rounding > 2.0**-9
