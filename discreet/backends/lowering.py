"""What the lowerings to other solvers share: scaled losses, the privacy equations, one sparse program, its answers.

**Losses.** Only the differences L_il − min_k L_kl matter. So solvers get this *excess* loss, whose minimum is 0 at every
outcome, in units of the size of the answer. What is subtracted adds up to the Bayes rule's error probability.

**Variables** of `Program`, guess by guess: R_il = v_l P_il [m, N], and under a leakage constraint D_ij = (u_ij −
π_j s_i)/root [m, n] and s_i = Pr(Ŷ = y_i) [m], so that the leakage is a function of m·(n + 1) variables and its Hessian does
not fill up over the outcomes. The root is sqrt(ε) for mutual information.

**Equations**, in this order:

    Σ_i R_il = v_l  for every l,    D_ij = Σ_l (a_jl − π_j w_l) P_il / root,    s_i = Σ_l w_l P_il,

the last two only at a positive finite budget. At budget 0 the equations of perfect privacy, Φ P_i = 0, replace them:
no function of X may be predictable from the guess. With E over the outcomes, weights w_l, a
*feature* is f_rl = Σ_j c_rj a_jl / w_l, of mean 0 and variance 1, and the equations are Σ_l w_l f_rl P_il = 0. Two choices
of c:

- `whitened_rows`: orthonormal features, from the singular vectors of sqrt(π_j) φ_jl / sqrt(w_l). As well conditioned as the
  model allows; used by the solvers that take arrays.
- `rows_by_private_value`: one equation for each of an independent set of private values; the readable form.

Both drop implied equations (Σ_j π_j φ_j = 0; directions whose canonical correlation is rounding). The equations of the
last guess follow from those of the others, because Σ_i Φ P_i = Φ 1 = 0, so a lowering omits them: its tilt row is 0.

**Scales.** In a linear program v_l = sqrt(w_l). In measurements it beat P, whose small coefficients HiGHS drops (‖ΦP‖ 1e-8
at 20 sensors), and masses w_l P_il, whose columns lie below the tolerances (gap 4e-10 against 2e-11). Where the leakage is a
constraint, v_l = 1 was best for all solvers but QICS.

Source: the linear program is that of S. Asoodeh, F. Alajaji, T. Linder, "On maximal correlation, mutual information and data
privacy", CWIT 2015, and of the paper (docs/theory.md); the canonical correlations are H. O. Lancaster's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.backends.contract import Answer, Options
from discreet.backends.precision import Precision
from discreet.problems.errors import BackendError, Interrupted
from discreet.problems.measures.measure import Scope
from discreet.problems.measures.mutual_information import MUTUAL_INFORMATION
from discreet.problems.numerics.double_double import Array
from discreet.problems.numerics.rounding import UNIT
from discreet.problems.problem import Problem

if TYPE_CHECKING:
    from scipy.sparse import csc_array, sparray


_Model = TypeVar("_Model")
_Arguments = TypeVar("_Arguments")
Setting: TypeAlias = str | float | bool
"""A value of a solver's own setting."""


@dataclass(frozen=True)
class Lowered(Generic[_Model, _Arguments]):
    """A program in the form one solver takes: its model, and the settings or arguments to run it with."""

    program: Program
    model: _Model
    options: _Arguments


@dataclass(frozen=True)
class PrivacyRows:
    """Independent equations Σ_l w_l f_rl P_il = 0 equivalent to Φ P_i = 0.

    features        f_rl [r, N], mean 0 and variance 1 under w
    combination     c_rj [r, n] with w_l f_rl = Σ_j c_rj a_jl (so Σ_j π_j c_rj = 0)
    private_values  [r] the private value of each equation, or −1 where an equation mixes several
    """

    features: Array
    combination: Array
    private_values: NDArray[np.intp]

    def tilt(self, prices: Array, guesses: int) -> Array:
        """The tilt [m, n] of prices y [k, r] on the equations of the first k ≤ m guesses; Σ_j π_j t_ij = 0.

        Sign: y is the derivative of the optimal value by the right-hand side, as HiGHS and Pyomo report row duals, so
        the priced loss is L_il − Σ_r y_ir w_l f_rl = L_il + a_l·t_i.
        """
        tilt = np.zeros((guesses, self.combination.shape[1]))
        tilt[: prices.shape[0]] = -prices @ self.combination
        return tilt


@dataclass(frozen=True)
class LinearProgram:
    """min cost·x with low ≤ matrix x ≤ high and x ≥ least."""

    cost: Array
    matrix: csc_array
    low: Array
    high: Array
    least: Array


@dataclass(frozen=True)
class Program:
    """min cost·x with equations x = right, R ≥ 0 and, under a leakage constraint, leakage(D, s)/B ≤ 1.

    cost   [m, N] excess losses by unit of R, in `unit`s of error probability
    scale  [N] v_l, with R_il = v_l P_il
    rows   the equations of perfect privacy, none of them at other budgets
    """

    problem: Problem
    cost: Array
    scale: Array
    unit: float
    rows: PrivacyRows

    @classmethod
    def of(cls, problem: Problem, power: float = 0.0, loose: float = Precision.unit[2]) -> Program:
        """The program of a problem without zero masses, with v_l = (N w_l)^power. loose: least unit without a leakage."""
        slack = problem.measure == MUTUAL_INFORMATION and problem.budget >= problem.entropy_x
        least = loose if slack or problem.constraint.oblivious else Precision.unit[0]
        return cls._scaled(problem, (problem.N * problem.p_z) ** power, least, whitened_rows)

    @classmethod
    def linear(cls, problem: Problem, equations: Equations | None = None) -> Program:
        """The linear program at budget 0 (by `whitened_rows` unless told otherwise) or inf, with v_l = sqrt(w_l)."""
        return cls._scaled(problem, np.sqrt(problem.p_z), Precision.unit[1], equations or whitened_rows)

    @classmethod
    def _scaled(cls, problem: Problem, scale: Array, least: float, equations: Equations) -> Program:
        """Costs in units of the Bayes error, or of a share `least` of the constant guess's error where that is larger."""
        unit = max(problem.bayes_error, least * problem.constant_error) or 1.0
        cost = (problem.loss - problem.loss.min(axis=0)) / scale / unit
        none = PrivacyRows(np.zeros((0, problem.N)), np.zeros((0, problem.n)), np.zeros(0, dtype=np.intp))
        return cls(problem, cost, scale, unit, equations(problem) if problem.constraint.perfect else none)

    @property
    def leaks(self) -> bool:
        """Whether there is a leakage constraint, and with it D and s. A budget of H(X) constrains nothing."""
        if self.problem.measure == MUTUAL_INFORMATION:
            return 0.0 < self.problem.budget < self.problem.entropy_x
        return not (self.problem.constraint.perfect or self.problem.constraint.oblivious)

    @property
    def root(self) -> float:
        """The unit of D: sqrt(B), or B where the measure is linear in D."""
        linear = self.problem.measure.pieces(self.problem.p_x, self.level) is not None
        return self.level if linear else math.sqrt(self.level)

    @property
    def level(self) -> float:
        """B, the unit of leakage; 1 at budget 0."""
        return self.problem.measure.level(self.problem.budget) if self.problem.budget > 0.0 else 1.0

    @cached_property
    def pieces(self) -> tuple[Array, ...]:
        """Matrices R [k, n + 1] of a linear measure: Σ_R max R (D_i, s_i) = g(u_i)/B, or R (D_i, s_i) ≤ 0 for posteriors."""
        measure, p_x = self.problem.measure, self.problem.p_x
        found = measure.pieces(p_x, measure.level(self.problem.budget)) if self.leaks else None
        means = [(each @ p_x, np.abs(each) @ p_x) for each in found or ()]  # of independence; rounding is not divided by B
        exact = [np.where(np.abs(mean) > 2 * (p_x.size + 2) * UNIT * size, mean, 0.0) for mean, size in means]
        return tuple(
            np.column_stack([each * self.root, mean]) / self.level for each, mean in zip(found or (), exact, strict=True)
        )

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many variables R, D and s there are."""
        m, n = self.problem.m, self.problem.n
        return m * self.problem.N, m * n * self.leaks, m * self.leaks

    @property
    def row(self) -> Array:
        """The privacy equations of one guess [r, N]: Σ_l row_rl R_il = 0."""
        return self.rows.features * (self.problem.p_z / self.scale)

    def privacy_equations(self) -> csc_array | None:
        """The privacy equations of every guess but the last [(m − 1)·r, m·N]; None without any."""
        from scipy import sparse

        block, guesses = self.row, self.problem.m - 1
        if block.size == 0 or guesses == 0:
            return None
        empty = sparse.csc_array((guesses * block.shape[0], self.problem.N))
        return sparse.csc_array(sparse.hstack([_diagonal(block, guesses), empty]))

    def equations(self) -> tuple[csc_array, Array]:
        """(E, right): the matrix [equations, variables] and the right-hand sides."""
        from scipy import sparse

        problem, m = self.problem, self.problem.m
        sums = sparse.hstack([sparse.eye_array(problem.N)] * m)
        privacy = self.privacy_equations()
        if self.leaks:
            shifted = (problem.p_xz - problem.p_x[:, None] * problem.p_z) / self.root
            links, masses = (_diagonal(-row / self.scale, m) for row in (shifted, problem.p_z[None, :]))
            law = sparse.block_array([[links, sparse.eye_array(m * problem.n), None], [masses, None, sparse.eye_array(m)]])
            empty = sparse.csc_array((problem.N, m * problem.n + m))
            matrix = sparse.csc_array(sparse.vstack([sparse.hstack([sums, empty]), law]))
        else:
            matrix = sparse.csc_array(sums if privacy is None else sparse.vstack([sums, privacy]))
        return matrix, np.concatenate([self.scale, np.zeros(matrix.shape[0] - problem.N)])

    def linear_program(self) -> LinearProgram:
        """The program as arrays. Under a linear measure a variable h_ik follows for each guess i and piece R_k.

        Its rows are the equations; R_k (D_i, s_i) ≤ h_ik; and Σ h_ik ≤ 1 over all guesses, or for each. A measure of each
        posterior has R_k (D_i, s_i) ≤ 0 only, and no h.
        """
        from scipy import sparse

        matrix, right = self.equations()
        if not self.pieces:
            return LinearProgram(self.objective(), matrix, right, right, self.lower_bounds())
        rows, limits = self._inequalities()
        heights, below = rows.shape[1] - matrix.shape[1], np.full(limits.size, -math.inf)
        whole = sparse.vstack([sparse.hstack([matrix, sparse.csc_array((right.size, heights))]), rows])
        return LinearProgram(
            np.append(self.objective(), np.zeros(heights)),
            sparse.csc_array(whole),
            np.append(right, below),
            np.append(right, limits),
            np.append(self.lower_bounds(), np.full(heights, -math.inf)),
        )

    def _inequalities(self) -> tuple[csc_array, Array]:
        from scipy import sparse

        m, scope, stacked = self.problem.m, self.problem.measure.scope, np.vstack(self.pieces)
        own = np.repeat(np.eye(len(self.pieces)), [len(each) for each in self.pieces], axis=0)  # the h of each row
        blocks = [_diagonal(stacked[:, :-1], m), _diagonal(stacked[:, -1:], m)]
        masses, zeros = sparse.csc_array((m * len(stacked), self.cost.size)), np.zeros(m * len(stacked))
        if scope is Scope.POSTERIOR:
            return sparse.csc_array(sparse.hstack([masses, *blocks])), zeros
        largest = sparse.hstack([masses, *blocks, _diagonal(-own, m)])
        sums = np.repeat(np.eye(m), own.shape[1], axis=1) if scope is Scope.SHARE else np.ones((1, m * own.shape[1]))
        within = sparse.hstack([sparse.csc_array((len(sums), sum(self.sizes))), sparse.csc_array(sums)])
        share = self.problem.measure.level(self.problem.budget) / self.level
        return sparse.csc_array(sparse.vstack([largest, within])), np.append(zeros, np.full(len(sums), share))

    def objective(self) -> Array:
        """The cost of every variable."""
        return np.concatenate([self.cost.ravel(), np.zeros(sum(self.sizes[1:]))])

    def uniform_start(self) -> Array:
        """All variables for the uniform guess, which leaks nothing and lies inside every bound."""
        problem, (masses, deviations, guesses) = self.problem, self.sizes
        start = np.concatenate([np.zeros(masses + deviations), np.full(guesses, 1.0 / problem.m)])
        start[:masses] = np.tile(self.scale / problem.m, problem.m)
        return start

    def lower_bounds(self) -> Array:
        """0 for R and s, −inf for D."""
        masses, deviations, guesses = self.sizes
        return np.concatenate([np.zeros(masses), np.full(deviations, -math.inf), np.zeros(guesses)])

    def answer(self, variables: Array, prices: Array, budget_price: float = 0.0) -> Answer:
        """P = R / v, not repaired, and its duals where they are numbers.

        variables   of which R come first
        prices      of the equations, in the Lagrangian cost·x + prices·(E x − right) + budget_price·(leakage/ε − 1);
                    of all rows of the `linear_program` under a linear measure
        """
        problem = self.problem
        estimator = variables[: self.cost.size].reshape(self.cost.shape) / self.scale
        expected = problem.N + (problem.m - 1) * len(self.rows.features) + sum(self.sizes[1:])
        if self.pieces and prices.size > expected:  # the last row is the budget, but where there are several or none
            budget_price, prices = float(prices[-1]), prices[:expected]
        if prices.size != expected or not (np.isfinite(prices).all() and math.isfinite(budget_price)):
            return Answer(estimator)
        return Answer(estimator, *self.duals(prices[problem.N :], budget_price))

    def duals(self, prices: Array, budget_price: float) -> tuple[Array, float]:
        """(tilt [m, n], multiplier) of the prices of all equations but the first N, and of the budget."""
        problem = self.problem
        if problem.constraint.perfect:
            each = prices.reshape(problem.m - 1, len(self.rows.features))
            return self.rows.tilt(-self.unit * each, problem.m), math.inf
        if not self.leaks:
            return np.zeros((problem.m, problem.n)), 0.0
        slope = -self.unit / self.root * prices[: problem.m * problem.n].reshape(problem.m, problem.n)
        shift = -self.unit * prices[problem.m * problem.n :, None] - (slope @ problem.p_x)[:, None]  # D holds u − π s
        return slope + shift, max(0.0, budget_price) * self.unit / self.level


def _diagonal(block: Array, times: int) -> sparray:
    """The block repeated along the diagonal, sparse."""
    from scipy import sparse

    return sparse.block_diag([sparse.csc_array(block)] * times)


Equations: TypeAlias = Callable[[Problem], PrivacyRows]
"""What finds the equations of perfect privacy of a problem without zero masses."""


def point_of(solver: str, claimed: str, out_of_time: bool, options: Options, variables: ArrayLike | None) -> Array:
    """The point that a solver ended with; Interrupted if its time limit ended it, BackendError if it is no point."""
    if out_of_time:
        raise Interrupted(f"{solver} stopped at its time limit of {options.time_limit:g} s")
    if variables is None or not np.isfinite(variables).all():
        raise BackendError(f"{solver} ended with {claimed!r} and no point")
    return np.asarray(variables)


def whitened_rows(problem: Problem) -> PrivacyRows:
    """Orthonormal features of a problem without zero masses (rank r ≤ min(n − 1, N − 1))."""
    kernel = _kernel(problem)
    left, correlations, _ = np.linalg.svd(kernel, full_matrices=False)
    rank = int((correlations > Precision.correlated).sum())
    mix = (left[:, :rank] / np.sqrt(problem.p_x)[:, None] / correlations[:rank]).T
    return _rows(problem, mix, np.full(rank, -1))


def rows_by_private_value(problem: Problem) -> PrivacyRows:
    """One feature per private value, φ_j / w scaled to variance 1, for an independent set of private values."""
    from scipy.linalg import qr

    kernel = _kernel(problem)
    triangle, order = qr(kernel.T, mode="r", pivoting=True)
    chosen = np.sort(order[: int((np.abs(np.diag(triangle)) > Precision.correlated).sum())])
    spread = np.linalg.norm(kernel[chosen], axis=1)
    mix = np.zeros((chosen.size, problem.n))
    mix[np.arange(chosen.size), chosen] = 1.0 / (spread * np.sqrt(problem.p_x[chosen]))
    return _rows(problem, mix, chosen.astype(np.intp))


def _kernel(problem: Problem) -> Array:
    """sqrt(π_j) φ_jl / sqrt(w_l) [n, N]; its singular values are the canonical correlations of X and Z."""
    pi, w = problem.p_x[:, None], problem.p_z
    return np.asarray((problem.p_xz - pi * w) / np.sqrt(pi * w))


def _rows(problem: Problem, mix: Array, private_values: NDArray[np.intp]) -> PrivacyRows:
    features = mix @ (problem.p_xz / problem.p_z - problem.p_x[:, None])
    return PrivacyRows(features, mix - (mix @ problem.p_x)[:, None], private_values)
