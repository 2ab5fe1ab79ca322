"""The precision policy of the project's own methods: every safety factor, floor and share of the
gap, derived in one place.

With u = 2⁻⁵³ two facts justify all of it (docs/theory.md, section 10):

1. A certified gap has three parts: the gap between the solver's own bounds, the cost of stating the
answer as a rule, and the judge's allowance for rounding. With a quarter of the gap for each, a
quarter remains as a margin.

2. A law that leaks ε has log ratios of about √(2 ε). Rounding each of its masses once, with a
relative error u, changes the leakage by up to about u √(2 ε), that is by the share ρ = u √(2/ε) of
the budget; under a linear measure, whose budget B bounds the ratios themselves, by about ρ = 2 u/B.
If the budget binds, μ ε is of the size of the error probability, so lowering the budget by a share
s costs about s of the error probability.

A common factor of all masses has no effect, so effectively only the masses of values other than the
likeliest are rounded. If their total probability is c, rounding changes total variation by 2 u c
and the leakage ε of a smooth measure by 2 u √(2 c ε).
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
    """The targets of the solvers. Widths of brackets are relative to the upper end; "of the budget"
    means a share of it.

    gap         requested: certified (upper − lower) / upper ≤ gap
    bracket     width at which the solver's own bracket is narrow enough: gap/4 by fact 1, and at
                least 2⁻⁴³ = 1024 u, about the error of sums over 10⁸ outcomes, added up in chunks
    small       width of a bracket that leaves a margin for a second error: bracket/4. In the rounds
                the second error is the loss from aggregation; in sweeps rule and duals are both
                inexact; for densities it is the part that the subdivision leaves undecided
    rounding    ρ, of the budget: change of the leakage if a law is rounded once; 0 if the budget is
                0 or inf. The largest of all constraints
    undercuts   of each budget: reduction of the budget that iterations aim at. 8 ρ for the three
                roundings of an answer (its columns, its masses, their sums: each at most 2 ρ, and 2
                ρ as a margin), and 2⁻⁴⁰ for the excess that an iteration may leave when it stops.
                At most half of the budget. `undercut` is the largest
    summed      the reduction for tie classes of any number of outcomes: 16 ρ more, since the error
                of sums over many millions of outcomes, added up in chunks, is up to about 8 u
    vertex      the first reduction for a vertex: 4 ρ + 2⁻⁴⁴, since its masses are rounded and added
                up in plain sums. Then it computes a proven ceiling of its leakage, and increases
                the reduction while the ceiling exceeds the budget. 2 to 8 ρ: benchmarks/ablation.py
    inside      the first reduction for a vertex under linear measures: 2⁻⁴⁴ = 512 u, as the judge
                adds (n + m + 320) u
    raised      of a multiplier of Sibson's information in a bound: 2⁻⁴⁴ = 512 u, so that the tilt
                lies inside by more than rounding
    widened     of the terms of their pieces: 2⁻⁴⁹ = 16 u, by which these are widened for the
                rounding of an entry and of the number it is compared with; quadrupled while a
                vertex exceeds its budget
    sampled     width of the bracket of a sample of outcomes or draws: 10⁻⁵, as N draws leave an
                error of about 1/√N
    drawn       width for draws with known labels, whose tilts are accurate to a hundredth of the
                relevant margins: 10⁻⁷
    designed    gap of a quantiser design: 10⁻⁸. At a minimum, an error δ of the value moves the
                edges by about √δ
    compared    gap of the optima that a design compares: 10⁻¹⁰, a hundredth of `designed`, to
                distinguish them
    leak_free   largest |p(ŷ_i given x_j) − p(ŷ_i)| that counts as zero at budget 0: 2⁻⁴⁴ = 512 u,
                the rounding of sums over many outcomes
    private     largest |p(x_j given ŷ_i) / p(x_j) − 1| of an answer at budget 0: 2⁻⁴¹, about half
                of the judge's limit of 10⁻¹², since restoring the outcomes rounds once more
    felt        64: bound of the relative change of the laws of other secrets when the judge moves a
                secret to perfect privacy, relative to its distance from it: 2 to 43 on random
                problems
    contradicted  lead of another guess above which a label counts as wrong, relative to the sizes
                  summed into a tilted loss (and to μ w / 8, as tilts μ log r round r): 2⁻⁵⁰ = 8 u,
                  the rounding of n + 1 terms
    searched    width, relative to a budget or a bound, at which a search in one number ends: 2⁻³⁶ ≈
                1.5e-11, which by fact 2 costs as much of the error probability. A Newton step of a
                sweep is the last when it gains half its square
    off_budget  of the budget: tolerance of the leakage of a solved proximal sweep: 2⁻¹⁰. An excess
                is blended away
    longest     largest proximal step times the spread of costs: 2⁶⁰. Beyond it the rounding of an
                exponent exceeds 1
    settled     change of multiplier and shares that ends the search of a vertex: 2⁻⁴⁶ = 128 u,
                about the error of n·m sums; a thousand times as much once steps no longer shrink,
                and a million times after the last step. It is also the smallest initial share
    rank        2⁻⁴³ = 1024 u: singular values below this share of the largest count as rounding
                errors, as for `bracket`
    ridge       2⁻⁴⁶ = 128 u, added to a unit diagonal: more than the rounding error of a
                factorisation with about 100 unknowns
    lightest    of 1/N: 2⁻⁴⁰: lighter outcomes get this weight in the barrier, which would lose more
                digits otherwise
    ceiling     1.05: targets lie below the budget by 1.05 times the difference between a proven
                ceiling of a leakage and the leakage, as the difference may be slightly larger at
                another law; at most half of the budget below
    certain     2⁻²⁰, if a bound is proven afterwards: columns this close to a label count as
                certain, and losses this close, per mass, as tied
    unseen      2⁻³⁰: a guess of smaller mass has a posterior of at most 23 bits, and counts as
                never made
    no_mass     u²: giving up a guess of smaller mass at budget 0 costs less than rounding
    entry       2⁻⁵² = 2 u, for each of the m + 1 roundings of an entry of a blend and of its
                column, and of the law of a vertex
    no_evidence  −40, replaces log 0: below −53 log 2 ≈ −37, the least log r of a positive r
                 computed as 1 + (r − 1)
    nonzero     1e-300, replaces a divisor 0: a normal double, whose inverse is also normal
    stalled     0.9: a step that leaves more of the bracket counts as no progress, since a digit
                would take 22 such steps
    derived     certified gap up to which the loop derives no duals: the default gap 1e-9
    correlated  2⁻⁴⁶ = 128 u: smaller canonical correlations are rounding errors of the numbers of
                the model

    For lowerings to solvers of other projects, whose own limits are stated where they are called:

    unit        least unit of costs, as a share of the constant guess's error, so that no cost
                exceeds its inverse: 1e-3 with a leakage constraint, which loses digits next to
                larger costs; 1e-5 for linear programs, whose tolerances of 1e-10 resolve no finer
                prices; else 1e-8
    own_gap     tolerance for a solver's gap or, divided by N, for complementarities that add up to
                it: gap/10
    step        tolerance for a step, or for a leakage next to a small budget: gap/1000
    cone        gap/10⁴ for Clarabel, whose answers miss gap/10 by up to 100 times
    descent     gap/10⁶ for SLSQP, which ends at one small step

    Not included, intentionally: the allowances of the judge, which shares no tolerance with the
    answers it judges; the ends of searches in `problems`, at the last bits; thresholds for
    switching to a formula without cancellation; step rules (starts, lengths, when to try or give up
    something), which change the path but not the target; for `tilt` see benchmarks/ablation.py.
    """

    gap: float
    bracket: float
    small: float
    rounding: float
    undercuts: tuple[float, ...]
    summed: float
    vertex: float
    inside = 2.0**-44
    raised = 2.0**-44
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
        """Return the policy for a problem of any kind and the requested relative gap."""
        bracket = max(2.0**-43, gap / 4)
        roundings = [_rounding(term, problem.p_x) for term in problem.terms]
        undercuts = tuple([min(0.5, 2.0**-40 + 8.0 * each) for each in roundings])
        rounding = max(roundings)
        return cls(
            gap=gap,
            bracket=bracket,
            small=max(2.0**-43, bracket / 4),
            rounding=rounding,
            undercuts=undercuts,
            summed=min(0.5, 2.0**-40 + 24.0 * rounding),
            vertex=min(0.5, 2.0**-44 + 4.0 * rounding),
        )

    @property
    def undercut(self) -> float:
        """The largest reduction, which is the only one if there is one constraint."""
        return max(self.undercuts)

    @property
    def unresolved(self) -> bool:
        """True if the budget cannot be distinguished from 0: ρ > 2⁻⁹, that is ε < 2⁻⁸⁷ ≈ 6e-27
        nats, or less with rare values.

        Rounding would change the leakage by more than a five-hundredth of the budget; perfect
        privacy is solved instead.
        """
        return self.rounding > _UNRESOLVED

    @staticmethod
    def resolvable(problem: AnyConstrained) -> AnyConstrained:
        """Return the problem with budget 0 for budgets that cannot be distinguished from 0."""
        budgets = [
            term.budget if Precision.resolves(term, problem.p_x) else 0.0 for term in problem.terms
        ]
        return problem.with_budget(budgets)

    @staticmethod
    def resolves(term: Term, p_x: Array) -> bool:
        """Return True if the budget of a constraint can be distinguished from 0, for the prior π
        [n] of all rows.
        """
        return _rounding(term, p_x) <= _UNRESOLVED


def _rounding(term: Term, p_x: Array) -> float:
    """Return ρ of the budget of a constraint, for the prior π [n] of all rows."""
    level = term.level if term.budget.amount > 0.0 else math.inf
    others = float(sum(np.sort(p_x[group])[:-1].sum() for group in term.groups))
    if term.measure.name == TotalVariation.name:
        return _UNIT * 2.0 * others / level
    if term.measure.name in LINEAR:
        return _UNIT * 2.0 / level
    return _UNIT * math.sqrt(2.0 / level) * min(1.0, 2.0 * math.sqrt(others))


@dataclass(frozen=True)
class ShareOfGap:
    """A tolerance proportional to the requested gap: `share` of it, divided by N if the gap is a
    sum over the outcomes.
    """

    share: float
    least: float
    per_outcome: bool = False

    def of(self, gap: float, outcomes: int) -> float:
        """Return the tolerance for a gap and N outcomes."""
        return max(self.share * gap / (outcomes if self.per_outcome else 1), self.least)

    def __str__(self) -> str:
        return f"{self.share:g} × gap{' ÷ N' if self.per_outcome else ''}, at least {self.least:g}"
