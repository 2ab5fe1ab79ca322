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
    small       where something else takes its part of the bracket: bracket/4. Of small problems within the rounds, as cells
                waste the rest; of sweeps, as rule and duals are off alike; of what subdivisions leave undecided of a density
    rounding    ρ, of the budget: what rounding a law once moves; 0 where the budget is 0 or inf
    undercut    of the budget: how far inside it iterations aim. 8 ρ for the three roundings of an answer (its columns, its
                masses, their sums, each at most 2 ρ; 2 ρ to spare), and 2⁻⁴⁰ for what an iteration still leaks too much when
                it stops. At most half of the budget
    summed      of the budget: how far inside it tie classes of any number of outcomes aim: 16 ρ more, as sums over many
                millions of outcomes, added up in chunks, are off by up to about 8 u
    vertex      of the budget: how far inside it a vertex aims first, 5 ρ + 2⁻⁴⁴, as its masses are rounded and added up in
                plain sums; it proves its own leakage afterwards, and aims further inside while that is above the budget
    sampled     of the bracket of a sample of outcomes: 10⁻⁵, below what a sample of some thousand can tell
    leak_free   largest |p(ŷ_i given x_j) − p(ŷ_i)| that counts as none at budget 0: 2⁻⁴⁴, half of what the judge allows
                (1e-13), as restoring the outcomes rounds once more
    contradicted  of what is added up to a tilted loss, and of μ w / 8, as ratios r are rounded in tilts μ log r: by how much
                another guess must be better before a label is taken to be wrong: 2⁻⁵⁰ = 8 u, as n + 1 terms and a
                difference of two sums round by about that
    searched    of a budget or a bound: where a search in one number ends: 2⁻³⁶ ≈ 1.5e-11, which by fact 2 costs as much of
                the error probability. A Newton step of a sweep is the last when it gains half its square
    off_budget  of the budget: by how much a solved proximal sweep may miss it: 2⁻¹⁰; what it leaks too much is blended away
    longest     proximal step, or 1/μ of a plain sweep, times the costs' spread: 2⁶⁰; then u of an exponent is more than 1
    settled     2⁻⁴⁶ = 128 u: change of multiplier and shares that ends the search of a vertex, as n·m sums are off by
                that; a thousand times as much where steps shrink no more
    rank        2⁻⁴³ = 1024 u: singular values under this share of the largest are rounding, as sums in `bracket` are
    lightest    of 1/N: 2⁻⁴⁰: an outcome of less mass counts as that much in the barrier, which would else lose more digits
    ceiling     1.05: aims lie below the budget by so many times what a proven ceiling adds to a leakage: it may add a little
                more at another law
    certain     2⁻²⁰, of what is bounded afterwards: columns certain of a label, ties within this share of the mass
    unseen      2⁻³⁰: a guess of less mass has a posterior of 23 bits at most, and counts as never made
    no_evidence  −40, in place of log 0: e⁻⁴⁰ of a prior is less than u/25 of it
    derived     certified gap up to which the loop derives no duals: the 1e-9 that is asked for where no gap is named
    correlated  2⁻⁴⁶ = 128 u: canonical correlations under it are the rounding of the model's numbers

    Of lowerings to other projects' solvers, whose own limits stand where they are called:

    unit        the unit of costs by the constant's error, at least, so that no cost is over its inverse: 1e-3 by a leakage,
                whose digits larger costs take; 1e-5 of linear programs, as tolerances of 1e-10 price no more; else 1e-8
    own_gap     of what a solver compares with its gap or, over N, with the complementarities that add up to it: gap/10
    step        of what it compares with a step, or with a leak beside a small budget: gap/1000. `cone`: gap/10⁴ of Clarabel,
                whose answers miss gap/10 by up to 100 times. `descent`: gap/10⁶ of SLSQP, which ends at one small step
    """

    gap: float
    bracket: float
    small: float
    rounding: float
    undercut: float
    summed: float
    vertex: float
    sampled: float = 1e-5
    leak_free: float = 2.0**-44
    contradicted: float = 2.0**-50
    off_budget: float = 2.0**-10
    longest: float = 2.0**60
    settled: float = 2.0**-46
    rank: float = 2.0**-43
    lightest: float = 2.0**-40
    ceiling: float = 1.05
    certain: float = 2.0**-20
    no_evidence: float = -40.0
    unseen: float = 2.0**-30
    searched: float = 2.0**-36
    derived: float = 1e-9
    correlated: float = 2.0**-46
    unit: tuple[float, float, float] = (1e-3, 1e-5, 1e-8)
    own_gap: float = 0.1
    step: float = 1e-3
    cone: float = 1e-4
    descent: float = 1e-6

    @classmethod
    def of(cls, problem: Constrained, gap: float = 1e-9) -> Precision:
        """The policy for a problem of any kind and the relative gap asked for."""
        budget = problem.budget
        rounding = _UNIT * math.sqrt(2.0 / budget) if 0.0 < budget < math.inf else 0.0
        bracket = max(2.0**-43, gap / 4)
        return cls(
            gap=gap,
            bracket=bracket,
            small=max(2.0**-43, bracket / 4),
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


@dataclass(frozen=True)
class ShareOfGap:
    """A tolerance that follows the gap asked for: `share` of it, over N where the gap is a sum over the outcomes."""

    share: float
    least: float
    per_outcome: bool = False

    def of(self, gap: float, outcomes: int) -> float:
        """The number for a gap and N outcomes."""
        return max(self.share * gap / (outcomes if self.per_outcome else 1), self.least)

    def __str__(self) -> str:
        return f"{self.share:g} × gap{' ÷ N' if self.per_outcome else ''}, at least {self.least:g}"
