"""The problem with the law of (X, Ŷ) as variables of its own, in sparse matrices: what the peers for every budget lower to.

Variables, guess by guess: R_il = v_l P_il [m, N], and at a positive finite budget D_ij = (u_ij − π_j s_i)/sqrt(ε) [m, n] and
s_i = Pr(Ŷ = y_i) [m], so that the leakage is a function of m·(n + 1) variables and its Hessian does not fill up over the
outcomes. The form is the `deviation` form of the backend `conic`. Equations E x = right, in this order:

    Σ_i R_il = v_l  for every l,    D_ij = Σ_l (a_jl − π_j w_l) P_il / sqrt(ε),    s_i = Σ_l w_l P_il,

the last two only at a positive finite budget; at budget 0 the whitened equations of `lowering` take their place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.backends.contract import Answer
from discreet.backends.lowering import PrivacyRows, loss_unit, whitened_rows
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = ["LinkedPoint", "LinkedProgram"]


@dataclass(frozen=True)
class LinkedProgram:
    """min cost·x with E x = right, R ≥ 0 and, at a positive finite budget, leakage(D, s)/ε ≤ 1.

    cost   [m, N] excess losses by unit of R, in `unit`s of error probability
    scale  [N] v_l, with R_il = v_l P_il
    rows   the whitened equations at budget 0, else None
    """

    problem: Problem
    cost: Array
    scale: Array
    unit: float
    rows: PrivacyRows | None

    @classmethod
    def of(cls, problem: Problem, power: float = 0.0) -> LinkedProgram:
        """Lower a problem without zero masses, with v_l = (N w_l)^power; 0, so R = P, measured best but for QICS."""
        scale = (problem.N * problem.p_z) ** power
        # larger objectives cost the answers their digits where there is a leakage constraint
        unit = loss_unit(problem, 1e-8 if problem.budget >= problem.entropy_x else 1e-3)
        cost = (problem.loss - problem.loss.min(axis=0)) / unit / scale
        return cls(problem, cost, scale, unit, whitened_rows(problem) if problem.constraint.perfect else None)

    @property
    def leaks(self) -> bool:
        """Whether there is a leakage constraint, and with it D and s; a budget of H(X) is none, as nothing leaks more."""
        return 0.0 < self.problem.budget < self.problem.entropy_x

    @property
    def root(self) -> float:
        """sqrt(ε), the unit of D."""
        return math.sqrt(self.problem.budget)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many variables R, D and s there are."""
        m, n = self.problem.m, self.problem.n
        return m * self.problem.N, m * n * self.leaks, m * self.leaks

    def privacy_equations(self) -> Any | None:
        """The whitened equations of every guess but the last, a scipy.sparse array [(m − 1)·r, m·N]; None without any."""
        from scipy import sparse

        m = self.problem.m
        if self.rows is None or self.rows.features.shape[0] == 0 or m == 1:
            return None
        block = self.rows.features * (self.problem.p_z / self.scale)
        empty = sparse.csc_array(((m - 1) * block.shape[0], self.problem.N))
        return sparse.csc_array(sparse.hstack([_diagonal(block, m - 1), empty]))

    def equations(self) -> tuple[Any, Array]:
        """(E, right): a scipy.sparse CSC array [equations, variables] and the right-hand sides."""
        from scipy import sparse

        problem, m = self.problem, self.problem.m
        sums = sparse.hstack([sparse.eye_array(problem.N)] * m)
        privacy = self.privacy_equations()
        if self.leaks:
            shifted = (problem.p_xz - problem.p_x[:, None] * problem.p_z) / self.root
            links, masses = (_diagonal(-row / self.scale, m) for row in (shifted, problem.p_z[None, :]))
            law: list[list[Any]] = [[links, sparse.eye_array(links.shape[0]), None], [masses, None, sparse.eye_array(m)]]
            matrix: Any = sparse.block_array([[sums, None, None], *law])
        else:
            matrix = sums if privacy is None else sparse.vstack([sums, privacy])
        return sparse.csc_array(matrix), np.concatenate([self.scale, np.zeros(matrix.shape[0] - problem.N)])

    def objective(self) -> Array:
        """The cost of every variable."""
        return np.concatenate([self.cost.ravel(), np.zeros(sum(self.sizes[1:]))])

    def uniform_start(self) -> Array:
        """All variables for the uniform guess, which leaks nothing and is off every bound."""
        problem, (masses, deviations, guesses) = self.problem, self.sizes
        start = np.concatenate([np.zeros(masses + deviations), np.full(guesses, 1.0 / problem.m)])
        start[:masses] = np.tile(self.scale / problem.m, problem.m)
        return start

    def lower_bounds(self) -> Array:
        """0 for R and s, −inf for D."""
        masses, deviations, guesses = self.sizes
        return np.concatenate([np.zeros(masses), np.full(deviations, -math.inf), np.zeros(guesses)])

    def duals(self, prices: Array, budget_price: float) -> tuple[Array, float]:
        """(tilt [m, n], multiplier) of the Lagrangian cost·x + prices·(E x − right) + budget_price·(leakage/ε − 1)."""
        problem = self.problem
        links = prices[problem.N :]
        if self.rows is None and not self.leaks:
            return np.zeros((problem.m, problem.n)), 0.0
        if self.rows is not None and problem.m == 1:
            return np.zeros((1, problem.n)), math.inf
        if self.rows is not None:
            return self.rows.tilt(-self.unit * links.reshape(problem.m - 1, -1), problem.m), math.inf
        slope = -self.unit / self.root * links[: problem.m * problem.n].reshape(problem.m, problem.n)
        shift = -self.unit * links[problem.m * problem.n :, None] - (slope @ problem.p_x)[:, None]
        return slope + shift, max(0.0, budget_price) * self.unit / problem.budget


@dataclass(frozen=True)
class LinkedPoint:
    """Where a solver left a `LinkedProgram`: the variables R first, the prices of the equations, and that of the budget."""

    program: LinkedProgram
    variables: Array
    prices: Array
    budget_price: float

    def answer(self) -> Answer:
        """P from R, not repaired; the duals, if they are numbers."""
        program = self.program
        estimator = self.variables[: program.cost.size].reshape(program.cost.shape) / program.scale
        if not (np.isfinite(self.prices).all() and math.isfinite(self.budget_price)):
            return Answer(estimator)
        return Answer(estimator, *program.duals(self.prices, self.budget_price))


def _diagonal(block: Array, times: int) -> Any:
    """The block repeated along the diagonal, sparse."""
    from scipy import sparse

    return sparse.block_diag([sparse.csc_array(block)] * times)
