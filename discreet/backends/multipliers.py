"""Duals for an answer without duals, under any measure and several constraints: the multipliers
with the best bound.

At an optimum each tilt is a combination of few directions, which the law of the answer determines:

- μ ∇g(u_i) of a smooth measure, or λ_i (∇g(u_i) − B) if the budget bounds each posterior;
- Σ_k λ_ik R_k of a linear one, with Σ_k λ_ik = μ for each matrix R of its pieces;
- any vector of mean 0 for a secret under perfect privacy.

Each such tilt is feasible, so the bound Σ_l min_i F_il − Σ μ B is concave and piecewise linear in
the multipliers:

    maximise Σ_l w_l z_l − Σ μ B   subject to   z_l ≤ (L_il + t_i·a_l) / w_l for every i and l.

A guess that is never made has no gradient. It may use the gradients at the posteriors of the
outcomes where its excess loss is smallest.

Source: docs/theory.md, sections 6 and 22.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.backends.precision import Precision
from discreet.measures.law import OutputLaw
from discreet.measures.measure import Scope
from discreet.numerics.double_double import Array
from discreet.numerics.rounding import LARGEST_TILT
from discreet.problems.constraint import Term
from discreet.problems.duals import no_multipliers
from discreet.problems.laws import Law
from discreet.problems.problem import Problem

_LARGEST = 8_000  # largest number of losses for which a program is solved: it takes seconds
# Number of outcomes, per private value, whose posteriors give gradients for a guess never made.
_TRIED = 16


# Private values of subnormal probability may overflow.
@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def multipliers_of(
    problem: Problem, law: Law, seconds: float = math.inf
) -> tuple[Array, Array] | None:
    """Return (tilt [m, n], multipliers [C]) for an answer of this law.

    Outcomes and private values need positive probability. Returns None if there are many outcomes,
    if a coefficient overflows, or if the linear program has no solution within the given seconds.
    """
    from scipy.optimize import linprog

    if problem.loss.size > _LARGEST or seconds <= 0.0:
        return None
    program = _Program(problem)
    for number, (term, groups) in enumerate(zip(problem.terms, law.constraints, strict=True)):
        if term.budget.perfect:
            program.equal(term)
        elif term.priced and math.isfinite(term.level):  # an infinite B excludes no posterior
            program.bounded(number, term, groups)
    if not program.directions:
        return None
    unit = problem.constant_error or 1.0
    directions = np.array(program.directions)  # [P, m, n]
    moved = (directions @ (problem.p_xz / problem.p_z)).reshape(len(directions), -1)  # [P, m N]
    costs = np.array(program.costs)
    least = np.array(program.least)
    size = np.abs(moved).max(axis=1)
    # Scale so that multipliers have costs of about one, comparable with their members.
    scale = 1.0 / np.where(size > 0.0, size, np.maximum(costs, 1e-6))
    sums = np.zeros((len(program.sums), costs.size))
    for row, (members, total) in zip(sums, program.sums, strict=True):
        row[members] = scale[members]
        row[total] = -scale[total]
        row /= np.abs(row).max()
    rows = np.hstack([np.tile(np.eye(problem.N), (problem.m, 1)), -(moved * scale[:, None]).T])
    objective = np.concatenate([-problem.p_z, costs * scale])
    losses = (problem.loss / problem.p_z).ravel() / unit
    if not all(np.isfinite(each).all() for each in (objective, rows, sums, losses)):
        return None
    run: Any = linprog  # its type stubs reject a plain dictionary of options
    solution = run(
        objective,
        rows,
        losses,
        np.hstack([np.zeros((len(sums), problem.N)), sums]) if len(sums) else None,
        np.zeros(len(sums)) if len(sums) else None,
        bounds=[(None, None)] * problem.N + [(each, None) for each in least.tolist()],
        options={
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
            "time_limit": seconds,
        },
    ).x
    if solution is None:
        return None
    weights = np.maximum(solution[problem.N :], least) * scale * unit
    tilt = np.tensordot(weights, directions, 1)
    prices = no_multipliers(problem.terms)
    for number, place in program.prices.items():
        prices[number] = min(weights[place], LARGEST_TILT)
    return tilt, prices


class _Program:
    """Variables of the linear program, each with the tilt [m, n] of one unit, its cost and its
    lower bound.

    sums    variables that add up to another variable
    prices  the variable that is the multiplier of a constraint, by the number of the constraint
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.directions = list[Array]()
        self.costs = list[float]()
        self.least = list[float]()
        self.sums = list[tuple[list[int], int]]()
        self.prices = dict[int, int]()

    def _new(
        self,
        rows: slice,
        tilt: Array,
        guess: int | None = None,
        cost: float = 0.0,
        least: float = 0.0,
    ) -> int:
        """Add a variable whose tilt is that of all guesses [m, ·], or of one guess [·], and return
        its index.
        """
        whole = np.zeros((self._problem.m, self._problem.n))
        if guess is None:
            whole[:, rows] = tilt
        else:
            whole[guess, rows] = tilt
        self.directions.append(whole)
        self.costs.append(cost)
        self.least.append(least)
        return len(self.directions) - 1

    def equal(self, term: Term) -> None:
        """Add variables for perfect privacy: any vector of mean 0 for every guess except the last,
        since a change common to all guesses has no effect.
        """
        for group in term.groups:
            prior = self._problem.p_x[group] / self._problem.p_x[group].sum()
            for j in np.delete(np.arange(prior.size), prior.argmax()):
                own = (np.arange(prior.size) == j) / prior[j] - 1.0
                for guess in range(self._problem.m - 1):
                    self._new(group, own, guess, least=-math.inf)

    def bounded(self, number: int, term: Term, laws: Sequence[OutputLaw]) -> None:
        """Add variables for a budget: all pieces of a linear measure, otherwise the gradients at
        the laws of the groups.
        """
        level = term.level
        scope = term.measure.scope
        total = None
        nothing = np.zeros((self._problem.m, self._problem.p_x[term.rows].size))
        if scope is Scope.TOTAL:
            total = self.prices[number] = self._new(term.rows, nothing, cost=level)
        for guess in range(self._problem.m):
            if scope is Scope.SHARE:
                total = self._new(term.rows, nothing, cost=level)
            for group, law in zip(term.groups, laws, strict=True):
                pieces = term.measure.pieces(law.p_x, level)
                for rows in self._gradients(term, group, law, guess) if pieces is None else pieces:
                    members = [self._new(group, row, guess) for row in rows]
                    if total is not None:
                        self.sums.append((members, total))

    def _gradients(self, term: Term, group: slice, law: OutputLaw, guess: int) -> list[Array]:
        """Return one matrix of the possible gradients [·, k] of a guess; for a guess that is never
        made it includes 0, an extreme point of V.
        """
        x = law.ratio_minus_one()[[guess]]
        measure = term.measure
        made = law.mass[guess] > Precision.unseen * law.mass.sum()
        if not made:
            mass = self._problem.p_xz[group].sum(axis=0)
            lost = (self._problem.loss[guess] - self._problem.loss.min(axis=0)) / self._problem.p_z
            nearest = np.argsort(np.where(mass > 0.0, lost, math.inf))[: _TRIED * law.p_x.size]
            nearest = nearest[mass[nearest] > 0.0]
            x = (self._problem.p_xz[group][:, nearest] / mass[nearest]).T / law.p_x - 1.0
        slopes = measure.slope(x, law.p_x)
        # The normal of the level set of the leakage; its plane touches the level set of the budget.
        if measure.scope is Scope.POSTERIOR:
            slopes = slopes - (term.level - measure.excess(x, law.p_x))[:, None]
        return [slopes if made else np.vstack([slopes, np.zeros(law.p_x.size)])]
