"""The bracket that a rule and a tilt prove together: the continuous counterpart of the judge.

`upper` is the error probability of a rule that keeps the budget: the rule's own partition is a discrete problem, and the
judge repairs and values it there. `lower` is the dual bound of the tilt, with the sum over outcomes replaced by an integral
that `bound` bounds from below. No rule whatever, on however many intervals, has an error probability under `lower`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.problems.continuous.bound import Sweep, sweep
from discreet.problems.continuous.density import midpoints
from discreet.problems.continuous.model import ContinuousProblem
from discreet.problems.continuous.rule import IntervalRule
from discreet.problems.errors import InputError
from discreet.problems.judge import certify
from discreet.problems.measures import mutual_information
from discreet.problems.measures.law import OutputLaw, phi_residual
from discreet.problems.numerics.double_double import Array

__all__ = ["ContinuousCertificate", "Judged", "certify_rule", "feasible_duals", "reached"]

_SLACK_SHARE = 0.02  # of the error probability × asked gap: what undecided intervals may cost
_AIMS = 6


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
    if tilt is None:
        tilt, multiplier = _derived(problem, rule)
    if np.shape(tilt) != (problem.m, problem.n):
        raise InputError(f"the tilt has shape {list(np.shape(tilt))} but the problem needs {[problem.m, problem.n]}")
    kept, law, error = reached(problem, rule, tilt, multiplier)
    upper = error * (1.0 + problem.accuracy)
    if error < 1e-290 and (problem.losses > 0.0).any():
        upper += kept.estimator.size * 2.0**-1070  # products may have vanished
    tilt, multiplier = feasible_duals(problem, tilt, multiplier)
    swept = sweep(problem, tilt, _SLACK_SHARE * gap * upper)
    lower = swept.value - problem.accuracy * float(np.abs(tilt).max())  # the prior is rounded, too
    if problem.constraint.perfect:  # hold for everything as private as the rule, not for Φ P = 0 alone
        lower -= float((np.abs(tilt) * np.abs(law.deviation)).sum()) * (1.0 + 1e-9)
    elif not problem.constraint.oblivious:
        lower -= multiplier * problem.budget * (1.0 + 1e-15)
    leakage = law.leakage()
    certificate = ContinuousCertificate(
        lower=max(0.0, lower) if lower <= upper else 0.0,
        upper=upper,
        leakage=leakage,
        leakage_ceiling=leakage if problem.constraint.perfect else law.leakage_ceiling(problem.accuracy),
        phi_residual=phi_residual(law),
        budget=problem.budget,
        undecided=swept.slack,
        allowance=swept.allowance,
        cells=swept.cells,
        assumes=_assumptions(problem),
    )
    return Judged(kept, tilt, multiplier, certificate, swept)


def _derived(problem: ContinuousProblem, rule: IntervalRule) -> tuple[Array, float]:
    """Duals for a rule that came without: those the judge finds for it on a fine partition."""
    inner = np.unique(np.concatenate([problem.quantiles, problem.breakpoints]))
    for _ in range(3):
        inner = np.unique(np.concatenate([inner, midpoints(inner[:-1], inner[1:])]))
    edges = np.unique(np.concatenate([rule.edges, inner]))
    verdict = certify(problem.on(edges), rule.probabilities(edges[1:]))
    return verdict.tilt, verdict.multiplier


def reached(
    problem: ContinuousProblem, rule: IntervalRule, tilt: Array, multiplier: float | None
) -> tuple[IntervalRule, OutputLaw, float]:
    """A rule that keeps the budget even if interval masses are only as accurate as assumed, its law and error."""
    discrete = rule.on(problem)
    aim = problem.budget
    for _ in range(_AIMS):
        verdict = certify(discrete.with_budget(aim), rule.estimator, tilt, multiplier)
        law = discrete.output_law(verdict.estimator)
        excess = law.leakage_ceiling(problem.accuracy) - problem.budget
        if problem.constraint.perfect or excess <= 0.0:
            return _with(rule, verdict.estimator), law, discrete.error_probability(verdict.estimator)
        aim = max(0.0, aim - 2.0 * excess)
    constant = np.zeros(rule.estimator.shape)
    constant[int(discrete.constant_errors.argmin())] = 1.0
    return _with(rule, constant), discrete.output_law(constant), discrete.constant_error


def _with(rule: IntervalRule, estimator: Array) -> IntervalRule:
    return rule if np.array_equal(rule.estimator, estimator) else IntervalRule(rule.edges, estimator)


def feasible_duals(problem: ContinuousProblem, tilt: Array, multiplier: float | None) -> tuple[Array, float]:
    """The nearest dual feasible pair; t = 0, μ = 0 (which proves the Bayes error) where the numbers are unusable."""
    price = math.inf if multiplier is None else multiplier
    repaired = mutual_information.feasible_duals(np.asarray(tilt, dtype=np.float64), price, problem.p_x, problem.budget)
    if repaired is None:
        return np.zeros((problem.m, problem.n)), math.inf if problem.constraint.perfect else 0.0
    return repaired


def _assumptions(problem: ContinuousProblem) -> tuple[str, ...]:
    always = f"densities, cdfs and survival functions are accurate to {problem.accuracy:g} relative"
    coarse = [each.what for each in problem.components if each.upper_floor > 0.0]
    located = [each.what for each in problem.components if each.located]
    sentences = [always]
    if coarse:
        sentences.append(f"upper tails without a survival function are accurate to 4e-16 absolute: {', '.join(coarse)}")
    if located:
        sentences.append(f"densities are monotone between turning points found numerically: {', '.join(located)}")
    return (*sentences, "other densities are monotone between their stated breakpoints")
