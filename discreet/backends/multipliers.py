"""Duals for an answer without duals, under any measure and several constraints: the multipliers
with the best bound.

At an optimum each tilt is a combination of few directions, which the law of the answer determines:

- μ ∇g(u_i) of a smooth measure, or λ_i (∇g(u_i) − B) if the budget bounds each posterior;
- Σ_k λ_ik R_k of a linear one, with Σ_k λ_ik = μ for each matrix R of its pieces;
- any vector of mean 0 for a secret under perfect privacy.

Each such tilt is feasible, so the bound Σ_l min_i F_il − Σ μ B is concave and piecewise linear in
the multipliers:

    maximise Σ_l w_l z_l − Σ μ B   subject to   z_l ≤ (L_il + t_i·a_l) / w_l for every i and l.

A guess that is never made has no gradient at first. The prices of the inequalities are an
estimator; the program is solved again with the gradients at its law, until the bound no longer
rises (column generation, the dual of J. E. Kelley, J. SIAM 8 (1960)).

Source: docs/theory.md, sections 6 and 22.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.backends.contract import Duals
from discreet.backends.precision import Precision
from discreet.measures.law import OutputLaw
from discreet.measures.measure import Scope
from discreet.numerics.double_double import Array
from discreet.numerics.estimators import normalise
from discreet.numerics.rounding import LARGEST_TILT
from discreet.problems.constraint import Term
from discreet.problems.duals import no_multipliers
from discreet.problems.laws import Law
from discreet.problems.problem import Problem

_LARGEST = 8_000
"""Largest number of losses for which a program is solved, which takes seconds. With fewer losses it
is solved more often, up to `_ROUNDS` times.
"""

_ROUNDS = 40


# Private values of subnormal probability may overflow.
@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def multipliers_of(problem: Problem, law: Law, seconds: float = math.inf) -> Duals | None:
    """Return duals for an answer of this law.

    Outcomes and private values need positive probability. Returns None if there are many outcomes,
    if a coefficient overflows, or if the linear program has no solution within the given seconds,
    which all its programs share.
    """
    if problem.loss.size > _LARGEST or seconds <= 0.0:
        return None
    program = _Program(problem, law)
    if not program.directions:
        return None
    best = None
    left = seconds
    deadline = time.perf_counter() + seconds
    for _ in range(max(1, min(_ROUNDS, _LARGEST // problem.loss.size))):
        solution = program.solve(left)
        if solution is None:
            break
        rise = math.inf if best is None else solution.bound - best.bound
        if rise > 0.0:
            best = solution
        if rise <= Precision.searched * abs(solution.bound):
            break
        if not program.add_gradients(problem.law(solution.estimator)):
            break
        left = deadline - time.perf_counter()
        if left <= 0.0:
            break
    return None if best is None else best.duals


@dataclass(frozen=True)
class _Solution:
    """Duals, the bound that they prove, and the prices of the inequalities as an estimator
    [m, N].
    """

    bound: float
    duals: Duals
    estimator: Array


@dataclass(frozen=True)
class _Tangent:
    """A guess whose tilt is a combination of gradients of a smooth measure, at laws of one group.

    members   the variables of its gradients; they add up to at most the multiplier
    """

    number: int
    place: int
    guess: int
    members: list[int]


class _Program:
    """Variables of the linear program, each with the tilt [m, n] of one unit, its cost and its
    lower bound.

    sums      variables that add up to another variable
    prices    the variable that is the multiplier of a constraint, by the number of the constraint
    tangents  of the guesses that the answer never makes, once its gradients are added
    """

    def __init__(self, problem: Problem, law: Law) -> None:
        self._problem = problem
        self.directions = list[Array]()
        self.costs = list[float]()
        self.least = list[float]()
        self.sums = list[tuple[list[int], int]]()
        self.prices = dict[int, int]()
        self.tangents = list[_Tangent]()
        for number, term in enumerate(problem.terms):
            if term.budget.perfect:
                self._equal(term)
            elif term.priced and math.isfinite(term.level):  # an infinite B excludes no posterior
                self._bounded(number, term, law.constraints[number])
        self.add_gradients(law)
        self.tangents = [each for each in self.tangents if len(each.members) == 1]

    def _new(
        self,
        rows: slice,
        tilt: Array,
        guess: int | slice = slice(None),
        cost: float = 0.0,
        least: float = 0.0,
    ) -> int:
        """Add a variable whose tilt is that of all guesses [m, ·], or of one guess [·], and return
        its index.
        """
        whole = np.zeros((self._problem.m, self._problem.n))
        whole[guess, rows] = tilt
        self.directions.append(whole)
        self.costs.append(cost)
        self.least.append(least)
        return len(self.directions) - 1

    def _equal(self, term: Term) -> None:
        """Add variables for perfect privacy: any vector of mean 0 for every guess except the last,
        since a change common to all guesses has no effect.
        """
        for group in term.groups:
            prior = self._problem.p_x[group] / self._problem.p_x[group].sum()
            for j in np.delete(np.arange(prior.size), prior.argmax()):
                own = (np.arange(prior.size) == j) / prior[j] - 1.0
                for guess in range(self._problem.m - 1):
                    self._new(group, own, guess, least=-math.inf)

    def _bounded(self, number: int, term: Term, laws: Sequence[OutputLaw]) -> None:
        """Add variables for a budget: its multiplier, and all pieces of a linear measure, or no
        gradient yet of a smooth one. 0 is an extreme point of V.
        """
        level = term.level
        scope = term.measure.scope
        total = None
        nothing = np.zeros(self._problem.p_x[term.rows].size)
        if scope is Scope.TOTAL:
            total = self.prices[number] = self._new(term.rows, nothing, cost=level)
        for guess in range(self._problem.m):
            if scope is Scope.SHARE:
                total = self._new(term.rows, nothing, cost=level)
            for place, (group, law) in enumerate(zip(term.groups, laws, strict=True)):
                pieces = term.measure.pieces(law.p_x, level)
                every = [np.zeros((1, law.p_x.size))] if pieces is None else pieces
                for rows in every:
                    members = [self._new(group, row, guess) for row in rows]
                    if pieces is None:
                        self.tangents.append(_Tangent(number, place, guess, members))
                    if total is not None:
                        self.sums.append((members, total))

    def add_gradients(self, law: Law) -> bool:
        """Add the gradients of smooth measures at the posteriors of the guesses that are made under
        a law; return False if there are none.
        """
        before = len(self.directions)
        for each in self.tangents:
            term = self._problem.terms[each.number]
            measure = term.measure
            own = law.constraints[each.number][each.place]
            if own.mass[each.guess] <= Precision.unseen * own.mass.sum():
                continue
            x = own.ratio_minus_one()[[each.guess]]
            slope = measure.slope(x, own.p_x)[0]
            # The normal of the level set of the leakage; its plane touches that of the budget.
            if measure.scope is Scope.POSTERIOR:
                slope = slope - (term.level - measure.excess(x, own.p_x))
            each.members.append(self._new(term.groups[each.place], slope, each.guess))
        return len(self.directions) > before

    def solve(self, seconds: float) -> _Solution | None:
        """Solve the linear program; None if it has no solution within the given seconds."""
        from scipy.optimize import linprog

        problem = self._problem
        unit = problem.constant_error or 1.0
        directions = np.array(self.directions)  # [P, m, n]
        moved = (directions @ (problem.p_xz / problem.p_z)).reshape(len(directions), -1)
        costs = np.array(self.costs)
        least = np.array(self.least)
        size = np.abs(moved).max(axis=1)
        # Scale so that multipliers have costs of about one, comparable with their members.
        scale = 1.0 / np.where(size > 0.0, size, np.maximum(costs, 1e-6))
        sums = np.zeros((len(self.sums), costs.size))
        for row, (members, total) in zip(sums, self.sums, strict=True):
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
        )
        if solution.x is None:
            return None
        weights = np.maximum(solution.x[problem.N :], least) * scale * unit
        multipliers = no_multipliers(problem.terms)
        for number, place in self.prices.items():
            multipliers[number] = min(weights[place], LARGEST_TILT)
        estimator = np.maximum(-solution.ineqlin.marginals, 0.0).reshape(problem.loss.shape)
        return _Solution(
            -solution.fun * unit,
            Duals(np.tensordot(weights, directions, 1), multipliers),
            normalise(estimator / problem.p_z),
        )
