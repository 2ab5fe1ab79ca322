"""The precision policy of the project's own methods: every safety factor, floor and share of the
gap, made once.

With u = 2⁻⁵³ two facts justify all of it (docs/theory.md, section 10):

1. A certified gap has three parts: what the solver leaves between its own bounds, what stating the
   answer as a rule costs, and what the judge adds for rounding. A quarter of the gap for each
   leaves a quarter to spare.
2. A law that leaks ε has log ratios of about √(2 ε). Rounding each of its masses once, by u of
   itself, moves the leakage by up to about u √(2 ε), that is by the share ρ = u √(2/ε) of the
   budget; under a linear measure, whose budget B bounds the ratios themselves, by about ρ = 2 u/B.
   Where the budget binds, μ ε is of the size of the error probability, so aiming inside the budget
   by a share s of it costs about s of the error probability.

A common factor of all masses does not count, so only the masses of values other than the likeliest
are rounded in effect. If their total probability is c, rounding moves total variation by 2 u c and
the leakage ε of a smooth measure by 2 u √(2 c ε).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.measures.registry import LINEAR
from discreet.measures.total_variation import TotalVariation
from discreet.numerics.double_double import Array
from discreet.problems.constraint import AnyConstrained, Constrained, Term

_UNIT = 2.0**-53
_UNRESOLVED = 2.0**-9


@dataclass(frozen=True)
class Precision:
    """What the solver aims at. Widths of brackets are relative to the upper end; "of the budget"
    means a share of it.

    gap         asked for: certified (upper − lower) / upper ≤ gap
    bracket     width at which the solver's own bracket is narrow enough: gap/4 by fact 1, and at
                least 2⁻⁴³ = 1024 u, about the error of sums over 10⁸ outcomes, added up in chunks
    small       width of a bracket that leaves room for another error: bracket/4. In the rounds the
                other error is the waste of cells; in sweeps rule and duals are both off; for
                densities it is what the subdivision leaves undecided
    rounding    ρ, of the budget: by how much rounding a law once moves the leakage; 0 where the
                budget is 0 or inf
    undercut    of the budget: how far inside it iterations aim. 8 ρ for the three roundings of an
                answer (its columns, its masses, their sums: each at most 2 ρ, and 2 ρ to spare),
                and 2⁻⁴⁰ for the excess that an iteration may leave when it stops. At most half of
                the budget
    summed      the same for tie classes of any number of outcomes: 16 ρ more, since sums over many
                millions of outcomes, added up in chunks, err by up to about 8 u
    vertex      the same for a vertex, at first: 4 ρ + 2⁻⁴⁴, since its masses are rounded and added
                up in plain sums. Then it proves its own leakage, and aims further inside while that
                is above it. 2 to 8 ρ: benchmarks/ablation.py
    inside      the same for a vertex under linear measures, at first: 2⁻⁴⁴ = 512 u, as the judge
                adds (n + m + 320) u
    widened     of the terms of their pieces: 2⁻⁴⁹ = 16 u, by which these are widened for the
                roundings of an entry and of what it is compared with; quadrupled while a vertex
                exceeds its budget
    sampled     width of the bracket of a sample of outcomes or draws: 10⁻⁵, as N draws leave an
                error of about 1/√N
    drawn       the same of draws about known labels, whose tilts are nearer than a hundredth of the
                margins at stake: 10⁻⁷
    designed    gap of a quantiser design: 10⁻⁸. At a minimum, an error δ of the value moves the
                edges by about √δ
    compared    gap of the optima that a design compares: 10⁻¹⁰, a hundredth of `designed`, to tell
                them apart
    leak_free   largest |p(ŷ_i given x_j) − p(ŷ_i)| that counts as zero at budget 0: 2⁻⁴⁴ = 512 u,
                the rounding of sums over many outcomes
    private     largest |p(x_j given ŷ_i) / p(x_j) − 1| of an answer at budget 0: 2⁻⁴¹, about half
                of the 10⁻¹² that the judge allows, since restoring the outcomes rounds once more
    felt        64: how many times as much as a secret that must not leak is off exact privacy the
                laws of other secrets may change when the judge moves it there: 2 to 43 times on
                random problems
    contradicted  by how much another guess must be better before a label counts as wrong, relative
                  to the sizes summed into
                a tilted loss (and to μ w / 8, as tilts μ log r round r): 2⁻⁵⁰ = 8 u, the rounding
                of n + 1 terms
    searched    width, relative to a budget or a bound, at which a search in one number ends: 2⁻³⁶ ≈
                1.5e-11, which by fact 2 costs as much of the error probability. A Newton step of a
                sweep is the last when it gains half its square
    off_budget  of the budget: by how much a solved proximal sweep may miss it: 2⁻¹⁰. An excess is
                blended away
    longest     largest proximal step, or 1/μ of a plain sweep, times the spread of costs: 2⁶⁰.
                Beyond it the rounding of an exponent exceeds 1
    settled     change of multiplier and shares that ends the search of a vertex: 2⁻⁴⁶ = 128 u,
                about the error of n·m sums; a thousand times as much once steps no longer shrink,
                and a million times after the last step. Shares start no lower
    rank        2⁻⁴³ = 1024 u: singular values below this share of the largest are rounding, as for
                `bracket`
    ridge       2⁻⁴⁶ = 128 u, added to a unit diagonal: more than the factorisation of some 100
                unknowns rounds by
    lightest    of 1/N: 2⁻⁴⁰: lighter outcomes count as that much in the barrier, which would lose
                more digits otherwise
    ceiling     1.05: aims lie below the budget by 1.05 times the difference between a proven
                ceiling of a leakage and the leakage, as the difference may be a little larger at
                another law; at most half of the budget below
    certain     2⁻²⁰, where a bound is proven afterwards: columns this close to a label count as
                certain, and losses this close, per mass, as tied
    unseen      2⁻³⁰: a guess of less mass has a posterior of at most 23 bits, and counts as never
                made
    no_mass     u²: giving up a guess of less mass at budget 0 costs less than rounding
    entry       2⁻⁵² = 2 u, for each of the m + 1 roundings of an entry of a blend and of its
                column, and of a vertex's law
    no_evidence  −40, in place of log 0: below −53 log 2 ≈ −37, the least log r of a positive r
                 computed as 1 + (r − 1)
    log_zero    −700, in place of log 0 in sweeps, which take exponentials again: e⁻⁷⁰⁰ ≈ 1e-304 is
                a normal double
    nonzero     1e-300, in place of a divisor 0: a normal double, whose inverse is one too
    stalled     .9: a step that leaves more of the bracket counts as none, as at that pace a digit
                takes 22 steps
    derived     certified gap up to which the loop derives no duals: the default gap 1e-9
    correlated  2⁻⁴⁶ = 128 u: canonical correlations below it are the rounding of the model's
                numbers

    For lowerings to other projects' solvers, whose own limits stand where they are called:

    unit        least unit of costs, as a share of the constant guess's error, so that no cost
                exceeds its inverse: 1e-3 with a leakage, which loses digits beside larger costs;
                1e-5 of linear programs, whose tolerances of 1e-10 resolve no finer prices; else
                1e-8
    own_gap     what a solver compares with its gap, or, over N, with complementarities that add up
                to it: gap/10
    step        what it compares with a step, or with a leak beside a small budget: gap/1000.
                `cone`: gap/10⁴ of Clarabel, whose answers miss gap/10 by up to 100 times.
                `descent`: gap/10⁶ of SLSQP, which ends at one small step

    Not here, on purpose: the judge's allowances, as a judge shares no tolerance with what it
    judges; the ends of searches in `problems`, at the last bits; where a formula gives way to one
    that does not cancel; step rules (starts, lengths, when to try something or give up), which
    change the path but not the aim; for `tilt` see benchmarks/ablation.py.
    """

    gap: float
    bracket: float
    small: float
    rounding: float
    undercut: float
    summed: float
    vertex: float
    inside = 2.0**-44
    widened = 2.0**-49
    sampled = 1e-5
    drawn = 1e-7
    designed = 1e-8
    compared = 1e-10
    leak_free = 2.0**-44
    private = 2.0**-41
    felt = 64.0
    contradicted = 2.0**-50
    off_budget = 2.0**-10
    longest = 2.0**60
    settled = 2.0**-46
    rank = 2.0**-43
    ridge = 2.0**-46
    lightest = 2.0**-40
    ceiling = 1.05
    certain = 2.0**-20
    no_evidence = -40.0
    log_zero = -700.0
    nonzero = 1e-300
    stalled = 0.9
    unseen = 2.0**-30
    no_mass = _UNIT**2
    entry = 2.0**-52
    searched = 2.0**-36
    derived = 1e-9
    correlated = 2.0**-46
    unit = (1e-3, 1e-5, 1e-8)
    own_gap = 0.1
    step = 1e-3
    cone = 1e-4
    descent = 1e-6

    @classmethod
    def of(cls, problem: Constrained, gap: float) -> Precision:
        """The policy for a problem of any kind and the relative gap asked for."""
        return cls._rounded(max(_rounding(term, problem.p_x) for term in problem.terms), gap)

    @classmethod
    def at(cls, problem: Constrained, number: int, gap: float) -> Precision:
        """The policy for one of several constraints."""
        return cls._rounded(_rounding(problem.terms[number], problem.p_x), gap)

    @classmethod
    def _rounded(cls, rounding: float, gap: float) -> Precision:
        bracket = max(2.0**-43, gap / 4)
        return cls(
            gap=gap,
            bracket=bracket,
            small=max(2.0**-43, bracket / 4),
            rounding=rounding,
            undercut=min(0.5, 2.0**-40 + 8.0 * rounding),
            summed=min(0.5, 2.0**-40 + 24.0 * rounding),
            vertex=min(0.5, 2.0**-44 + 4.0 * rounding),
        )

    @property
    def unresolved(self) -> bool:
        """Whether the budget cannot be told from nothing: ρ > 2⁻⁹, that is ε < 2⁻⁸⁷ ≈ 6e-27 nats,
        or less with rare values.

        Rounding would move the leakage by more than a five-hundredth of the budget; perfect privacy
        is solved instead.
        """
        return self.rounding > _UNRESOLVED

    @staticmethod
    def resolvable(problem: AnyConstrained) -> AnyConstrained:
        """The problem with budget 0 in place of budgets that cannot be told from nothing."""
        tiny = [_rounding(term, problem.p_x) > _UNRESOLVED for term in problem.terms]
        budgets = [
            0.0 if is_tiny else term.budget
            for is_tiny, term in zip(tiny, problem.terms, strict=True)
        ]
        return problem.with_budget(budgets)


def _rounding(term: Term, p_x: Array) -> float:
    """ρ of the budget of a constraint, for the prior π [n] of all rows."""
    level = term.level if term.budget.amount > 0.0 else math.inf
    others = float(sum(np.sort(p_x[group])[:-1].sum() for group in term.groups))
    if term.measure.name == TotalVariation.name:
        return _UNIT * 2.0 * others / level
    if term.measure.name in LINEAR:
        return _UNIT * 2.0 / level
    return _UNIT * math.sqrt(2.0 / level) * min(1.0, 2.0 * math.sqrt(others))


@dataclass(frozen=True)
class ShareOfGap:
    """A tolerance that follows the gap asked for: `share` of it, over N where the gap is a sum over
    the outcomes.
    """

    share: float
    least: float
    per_outcome: bool = False

    def of(self, gap: float, outcomes: int) -> float:
        """The number for a gap and N outcomes."""
        return max(self.share * gap / (outcomes if self.per_outcome else 1), self.least)

    def __str__(self) -> str:
        return f"{self.share:g} × gap{' ÷ N' if self.per_outcome else ''}, at least {self.least:g}"
