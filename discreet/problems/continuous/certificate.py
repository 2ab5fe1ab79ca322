"""A rule for densities as a case for the judge: the bracket that a rule and a tilt prove together.

`upper` is the error probability of a rule that keeps the budget: on the rule's own partition it is a matrix for a discrete
problem, added up, blended and valued as any matrix is, with the assumed inaccuracy of interval masses on top of rounding.
`lower` is the dual bound of the tilt, with the sum over outcomes replaced by an integral that `bound` bounds from below. No
rule whatever, on however many intervals, has an error probability under `lower`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from discreet.problems.continuous.bound import Sweep, sweep
from discreet.problems.continuous.density import midpoints
from discreet.problems.continuous.model import ContinuousProblem
from discreet.problems.continuous.rule import IntervalRule
from discreet.problems.errors import InputError
from discreet.problems.judge.conclusion import Duals, End, Worth, conclude
from discreet.problems.judge.matrix import MatrixCase
from discreet.problems.measures.mutual_information import feasible_duals
from discreet.problems.numerics.double_double import Array

__all__ = ["ContinuousCertificate", "DensityCase", "Judged", "certify_rule"]


@dataclass(frozen=True)
class ContinuousCertificate:
    """What is proven, under the assumptions listed.

    lower, upper       bracket of the least error probability of any rule; `upper` is reached by the rule
    leakage            of the rule, nats
    leakage_ceiling    what its exact leakage does not exceed if interval masses have the assumed accuracy; ≤ budget
                       (at budget 0 it is the computed leakage, and `phi_residual` says how private the rule is)
    phi_residual       max_ij |Pr(ŷ_i given x_j) − Pr(ŷ_i)| of the rule
    budget             ε, nats
    undecided          part of the gap lost to intervals whose label the subdivision left open
    allowance          part of the gap that pays for the assumed accuracy of densities and cdfs
    cells              intervals of the subdivision
    assumes            one sentence per assumption
    """

    lower: float
    upper: float
    leakage: float
    leakage_ceiling: float
    phi_residual: float
    budget: float
    undecided: float
    allowance: float
    cells: int
    assumes: tuple[str, ...]

    @property
    def gap(self) -> float:
        """upper − lower ≥ 0."""
        return self.upper - self.lower

    @property
    def relative_gap(self) -> float:
        """(upper − lower) / upper; 0 when both are 0."""
        return 0.0 if self.gap == 0.0 else self.gap / self.upper


@dataclass(frozen=True)
class Judged:
    """A rule that keeps the budget, feasible duals, the certificate of both, and the sweep behind the lower bound."""

    rule: IntervalRule
    tilt: Array
    multiplier: float
    certificate: ContinuousCertificate
    swept: Sweep


class DensityCase:
    """A rule on intervals with optional duals; gap: relative width that the subdivision should stay well under."""

    def __init__(
        self,
        problem: ContinuousProblem,
        rule: IntervalRule,
        tilt: Array | None = None,
        multiplier: float | None = None,
        gap: float = 1e-8,
    ) -> None:
        """Raises InputError for wrong shapes. Without duals they are derived from the rule on a fine partition."""
        self._problem, self._rule, self._gap = problem, rule, gap
        if tilt is None:
            tilt, multiplier = _derived(problem, rule)
        if np.shape(tilt) != (problem.m, problem.n):
            raise InputError(f"the tilt has shape {list(np.shape(tilt))} but the problem needs {[problem.m, problem.n]}")
        price = math.inf if multiplier is None else multiplier
        feasible = feasible_duals(np.asarray(tilt, dtype=np.float64), price, problem.p_x, problem.budget)
        if feasible is None:  # unusable numbers; no tilt proves the Bayes error
            feasible = np.zeros((problem.m, problem.n)), math.inf if problem.constraint.perfect else 0.0
        self._feasible = feasible
        self._matrix = MatrixCase(rule.on(problem), rule.estimator, None, None, ())
        self.constraint = problem.constraint
        kept = np.array_equal(rule.estimator, self._matrix.answer)
        self.answer = rule if kept else IntervalRule(rule.edges, self._matrix.answer)
        self.own = self._widened(self._matrix.own)
        self.constant_errors = self._matrix.constant_errors
        self.blended_doubt = self._matrix.blended_doubt + problem.accuracy
        self.swept: Sweep | None = None

    def _widened(self, worth: Worth) -> Worth:
        """Interval masses are only as accurate as assumed."""
        accuracy = self._problem.accuracy
        return replace(worth, rounding=worth.rounding + accuracy, doubt=worth.doubt + accuracy)

    def blended(self, share: float, end: End) -> tuple[IntervalRule, Worth]:
        """On the rule's own partition."""
        estimator, worth = self._matrix.blended(share, end)
        return IntervalRule(self._rule.edges, estimator), self._widened(worth)

    def leak_free(self) -> Iterator[End]:
        """Those of the matrix."""
        return (replace(end, worth=self._widened(end.worth)) for end in self._matrix.leak_free())

    def duals(self) -> Iterator[Duals]:
        """Those given or derived, with what a certified subdivision proves of their integral."""
        tilt, multiplier = self._feasible
        allowed = 0.02 * self._gap * (self.own.error or self._problem.constant_error)  # for undecided intervals
        self.swept = sweep(self._problem, tilt, allowed)
        rounded_prior = self._problem.accuracy * float(np.abs(tilt).max())
        yield Duals(tilt, multiplier, (self.swept.value, -rounded_prior))

    def derived_duals(self) -> Iterable[Duals]:
        """None but those that stand for duals that were not given."""
        return ()

    def worst_entry(self, answer: IntervalRule, tilt: Array) -> float:
        """Not known: it is a supremum over all measurements."""
        return math.inf


def certify_rule(
    problem: ContinuousProblem,
    rule: IntervalRule,
    tilt: Array | None = None,
    multiplier: float | None = None,
    *,
    gap: float = 1e-8,
) -> Judged:
    """Judge a rule and duals (tilt [m, n], multiplier μ), both repaired where they are not feasible.

    Without duals they are derived from the rule. gap: relative width that the lower bound's own subdivision should stay
    well under. Raises InputError only for wrong shapes.
    """
    case = DensityCase(problem, rule, tilt, multiplier, gap)
    found = conclude(case)
    judged, swept = found.certificate, case.swept
    assert swept is not None
    certificate = ContinuousCertificate(
        lower=judged.lower,
        upper=judged.upper,
        leakage=judged.leakage,
        leakage_ceiling=judged.leakage if problem.constraint.perfect else found.worth.law.leakage_ceiling(found.worth.doubt),
        phi_residual=judged.phi_residual,
        budget=problem.budget,
        undecided=swept.slack,
        allowance=swept.allowance,
        cells=swept.cells,
        assumes=problem.assumes,
    )
    return Judged(found.answer, found.duals.tilt, found.duals.multiplier, certificate, swept)


def _derived(problem: ContinuousProblem, rule: IntervalRule) -> tuple[Array, float]:
    """Duals for a rule that came without: those that are best for it on a fine partition."""
    inner = np.unique(np.concatenate([problem.quantiles, problem.breakpoints]))
    for _ in range(3):
        inner = np.unique(np.concatenate([inner, midpoints(inner[:-1], inner[1:])]))
    edges = np.unique(np.concatenate([rule.edges, inner]))
    found = conclude(MatrixCase(problem.on(edges), rule.probabilities(edges[1:]), None, None, ()))
    return found.duals.tilt, found.duals.multiplier
