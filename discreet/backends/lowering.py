"""What the lowerings to other solvers share: scaled losses, perfect privacy's equations, the linear program, its answers.

**Losses.** Only differences L_il − min_k L_kl decide anything, so solvers get the *excess* loss, whose minimum is 0 in
every outcome (what is subtracted is the Bayes rule's error probability), in units of the size of the answer.

**Equations.** Perfect privacy, Φ P_i = 0, says that every function of X that Z can predict must be unpredictable from the
guess. With E over the outcomes, weights w_l, a *feature* is f_rl = Σ_j c_rj a_jl / w_l, of mean 0 and variance 1, and the
equations are Σ_l w_l f_rl P_il = 0. Two choices of c:

- `whitened_rows`: orthonormal features, from the singular vectors of sqrt(π_j) φ_jl / sqrt(w_l). As well conditioned as the
  model allows; used by the solvers fed with arrays.
- `rows_by_private_value`: one equation for each of an independent set of private values; the readable form.

Both drop what is implied (Σ_j π_j φ_j = 0; directions whose canonical correlation is rounding). The equations of the
last guess follow from those of the others, because Σ_i Φ P_i = Φ 1 = 0, so a lowering omits them: its tilt row is 0.

**Variables.** In the linear program they are R_il = sqrt(w_l) P_il, measured better than P (whose small coefficients HiGHS
drops: ‖ΦP‖ 1e-8 at 20 sensors) and than masses w_l P_il (whose columns the tolerances hide: gap 4e-10 against 2e-11).

Source: the linear program is that of S. Asoodeh, F. Alajaji, T. Linder, "On maximal correlation, mutual information and data
privacy", CWIT 2015, and of the paper (docs/theory.md); the canonical correlations are H. O. Lancaster's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.backends.contract import Answer, Options
from discreet.problems.errors import BackendError, Interrupted
from discreet.problems.numerics.double_double import Array
from discreet.problems.problem import Problem

__all__ = [
    "LPPoint",
    "Lowered",
    "PrivacyRows",
    "PrivateLP",
    "loss_unit",
    "point_of",
    "rows_by_private_value",
    "whitened_rows",
]

_NO_CORRELATION = 1e-14  # canonical correlations under this are the rounding of the model's own numbers


_Program = TypeVar("_Program")


@dataclass(frozen=True)
class Lowered(Generic[_Program]):
    """A program of ours in the form one solver takes: its model, and the options or arguments to run it with."""

    program: _Program
    model: Any
    options: Any


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
class PrivateLP:
    """min ⟨cost, R⟩ with R ≥ 0, Σ_i R_il = root_l, Σ_l row_rl R_il = 0 for every r and every guess i but the last.

    cost  [m, N] excess losses by root mass, in `unit`s        root  [N] sqrt(w_l); P = R / root
    row   [r, N] = sqrt(w_l) f_rl; r = 0 at budget inf         unit  error probability per unit of cost
    """

    cost: Array
    root: Array
    row: Array
    rows: PrivacyRows
    unit: float

    @classmethod
    def of(cls, problem: Problem, equations: Callable[[Problem], PrivacyRows] | None = None) -> PrivateLP:
        """The program of a problem at budget 0 (by `whitened_rows` unless told otherwise) or inf, without zero masses."""
        rows = _no_rows(problem) if problem.constraint.oblivious else (equations or whitened_rows)(problem)
        root = np.sqrt(problem.p_z)
        unit = loss_unit(problem, 1e-5)  # costs above 1e6 cannot be priced to HiGHS's 1e-10
        excess = problem.loss - problem.loss.min(axis=0)
        return cls(excess / root / unit, root, rows.features * root, rows, unit)

    @property
    def guesses(self) -> int:
        """m."""
        return int(self.cost.shape[0])

    @property
    def right(self) -> Array:
        """Right-hand sides [N + (m − 1)·r] in the order of the rows of `columns`."""
        return np.concatenate([self.root, np.zeros((self.guesses - 1) * self.row.shape[0])])

    def columns(self) -> tuple[NDArray[np.int32], NDArray[np.int32], Array]:
        """The matrix by compressed columns, guess by guess: starts [m·N + 1], row numbers and values of the entries.

        Rows: first the N column sums, then r equations for each guess but the last, whose columns hold a sum only.
        """
        m, outcomes = self.cost.shape
        r = self.row.shape[0]
        long = (m - 1) * outcomes
        start = np.concatenate([np.arange(long) * (1 + r), long * (1 + r) + np.arange(outcomes + 1)])
        index = np.empty((m - 1, outcomes, 1 + r), dtype=np.int32)
        index[:, :, 0] = np.arange(outcomes)
        index[:, :, 1:] = outcomes + np.arange((m - 1) * r).reshape(m - 1, 1, r)
        value = np.ones((m - 1, outcomes, 1 + r))
        value[:, :, 1:] = self.row.T
        last = np.arange(outcomes, dtype=np.int32)
        return (
            start.astype(np.int32),
            np.concatenate([index.ravel(), last]),
            np.concatenate([value.ravel(), np.ones(outcomes)]),
        )

    def matrix(self) -> Any:
        """`columns` as a scipy.sparse.csc_matrix."""
        from scipy import sparse

        start, index, value = self.columns()
        return sparse.csc_matrix((value, index, start), shape=(self.right.size, self.cost.size))


@dataclass(frozen=True)
class LPPoint:
    """Where a solver left a `PrivateLP`.

    variables  R [m·N], guess by guess
    prices     row duals of the (m − 1)·r equations, in units of cost; empty or not finite where the solver has none
    """

    program: PrivateLP
    variables: Array
    prices: Array

    def answer(self) -> Answer:
        """P = R / root; the tilt from the prices, if there are any, and the multiplier inf (0 without equations)."""
        program = self.program
        estimator = self.variables.reshape(program.cost.shape) / program.root
        each, r = program.guesses - 1, program.row.shape[0]
        if self.prices.size != each * r or not np.isfinite(self.prices).all():
            return Answer(estimator)
        tilt = program.rows.tilt(self.prices.reshape(each, r) * program.unit, program.guesses)
        return Answer(estimator, tilt, math.inf if r else 0.0)


def point_of(solver: str, claimed: str, out_of_time: bool, options: Options, variables: Any) -> Array:
    """The point that a solver ended with; Interrupted if its time limit ended it, BackendError if it is no point."""
    if out_of_time:
        raise Interrupted(f"{solver} stopped at its time limit of {options.time_limit:g} s")
    if variables is None or not np.isfinite(variables).all():
        raise BackendError(f"{solver} ended with {claimed!r} and no point")
    return np.asarray(variables)


def loss_unit(problem: Problem, least: float) -> float:
    """The size of the answer, as far as known beforehand: the Bayes error, at least a share of the constant's error."""
    unit = max(problem.bayes_error, least * problem.constant_error)
    return unit if unit > 0.0 else 1.0


def whitened_rows(problem: Problem) -> PrivacyRows:
    """Orthonormal features of a problem without zero masses (rank r ≤ min(n − 1, N − 1))."""
    kernel = _kernel(problem)
    left, correlations, _ = np.linalg.svd(kernel, full_matrices=False)
    rank = int((correlations > _NO_CORRELATION).sum())
    mix = (left[:, :rank] / np.sqrt(problem.p_x)[:, None] / correlations[:rank]).T
    return _rows(problem, mix, np.full(rank, -1))


def rows_by_private_value(problem: Problem) -> PrivacyRows:
    """One feature per private value, φ_j / w scaled to variance 1, for an independent set of private values."""
    from scipy.linalg import qr

    kernel = _kernel(problem)
    triangle, order = qr(kernel.T, mode="r", pivoting=True)
    chosen = np.sort(order[: int((np.abs(np.diag(triangle)) > _NO_CORRELATION).sum())])
    spread = np.linalg.norm(kernel[chosen], axis=1)
    mix = np.zeros((chosen.size, problem.n))
    mix[np.arange(chosen.size), chosen] = 1.0 / (spread * np.sqrt(problem.p_x[chosen]))
    return _rows(problem, mix, chosen.astype(np.intp))


def _no_rows(problem: Problem) -> PrivacyRows:
    """No equations at all, for a problem without constraint."""
    return PrivacyRows(np.zeros((0, problem.N)), np.zeros((0, problem.n)), np.zeros(0, dtype=np.intp))


def _kernel(problem: Problem) -> Array:
    """sqrt(π_j) φ_jl / sqrt(w_l) [n, N]; its singular values are the canonical correlations of X and Z."""
    pi, w = problem.p_x[:, None], problem.p_z
    return np.asarray((problem.p_xz - pi * w) / np.sqrt(pi * w))


def _rows(problem: Problem, mix: Array, private_values: NDArray[np.intp]) -> PrivacyRows:
    features = mix @ (problem.p_xz / problem.p_z - problem.p_x[:, None])
    return PrivacyRows(features, mix - (mix @ problem.p_x)[:, None], private_values)
